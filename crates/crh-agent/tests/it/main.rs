//! Complete runs against a fake model on the loopback interface.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod budget;
mod failures;
mod killed;
mod protocols;
mod secrets;
mod setup;
mod tools;

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
