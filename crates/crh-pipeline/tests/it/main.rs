//! Integration tests with real folders and repositories.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod agent_files;
mod assemble;
mod behaviours;
mod checks;
mod confinement;
mod consolidate;
mod context_pack;
mod delegate;
mod fixer;
mod judge;
mod one_fate;
mod panel;
mod refute;
mod repo_config;
mod repo_tools;
mod samples;
mod scope;
mod telemetry;
mod test_change;
mod tools;
mod validate;
mod workspace;

/// A test file that is not listed above never runs.
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
