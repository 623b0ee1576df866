//! The crate against real repositories.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod address;
#[path = "amend.rs"]
mod amended;
mod attributes;
mod base;
mod bundle;
mod history;
mod identity;
#[path = "change_repository.rs"]
mod laid_out;
mod objects;
mod process;
mod remote;
mod search;
mod store;
#[path = "temp_checkout.rs"]
mod work_tree;

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
