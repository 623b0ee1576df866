//! Tests against servers on the loopback interface.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod cassette;
mod live;
mod live_answers;
mod live_errors;
mod live_network;
mod live_pitfalls;
mod live_questions;
mod live_setup;

/// A test file without a `mod` line would never run.
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
