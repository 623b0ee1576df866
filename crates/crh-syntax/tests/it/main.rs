//! Integration tests: fixtures in every language, random text, and limits.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod bounds;
mod context;
mod fixtures;
mod guesses;
mod imports;
mod languages;
mod lookups;
mod mentions;
mod problems;
mod properties;
mod statements;

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
