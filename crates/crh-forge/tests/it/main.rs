//! Tests against a fake GitHub and a fake Launchpad.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod apps;
mod asking;
mod filing;
mod flood;
mod forges;
mod launchpad_login;
mod launchpad_posting;
mod launchpad_reading;
mod launchpad_scene;
mod live;
mod opening;
mod posting;
mod reading;
mod scene;

/// A test file that is not listed never runs.
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
