//! The crate against servers on loopback.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod cassette;
mod live;
mod live_answers;
#[path = "live_setup.rs"]
mod live_asking;
mod live_errors;
mod live_network;
mod live_questions;
mod live_traps;

/// A test file that nobody lists is never run.
#[test]
fn every_file_is_listed() {
    let source = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || source.contains(&format!("mod {module};")), "{name}");
    }
}
