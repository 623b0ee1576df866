//! Tests against real repositories.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod address;
mod amend;
mod attributes;
mod base;
mod bundle;
mod change_repository;
mod checkout_state;
mod history;
mod identity;
mod objects;
mod process;
mod remote;
mod repository;
mod search;
mod store;
mod temp_checkout;

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
