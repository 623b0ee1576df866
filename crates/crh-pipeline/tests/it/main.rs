//! The crate against real folders and real repositories.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod agent_files;
mod assemble;
mod checks;
mod confinement;
mod consolidate;
mod delegate;
mod fixer;
mod judge;
mod one_fate;
#[path = "repo_config.rs"]
mod own_files;
mod panel;
mod refute;
mod repo_tools;
mod samples;
mod scope;
mod single;
#[path = "test_change.rs"]
mod staged;
mod telemetry;
mod tools;
mod validate;
mod workspace;

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
