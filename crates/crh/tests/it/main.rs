//! Runs the real binary with real files and compares whole outputs.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod base;
mod config;
mod demo;
mod diff;
mod docs;
mod eval;
mod fixing;
mod github;
mod help;
mod hostile;
mod hostile_branch;
mod hostile_changes;
mod injection;
mod interactive;
mod launchpad;
mod layers;
mod live_check;
mod lsp;
mod mcp;
mod merge;
mod models;
mod pages;
mod prepare;
mod prepare_determinism;
mod prepare_refused;
mod proof;
mod read_only;
mod render;
mod rest_forges;
pub(crate) mod review;
mod runs;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod server_demo;
#[cfg(feature = "server")]
mod server_rest;
mod suppression;
mod tool;
mod tool_refused;
mod type_checkers;
mod user;

use std::path::{Path, PathBuf};

use crh_testkit::Program;

/// Runs crh in the root of the repository.
fn crh(args: &[&str]) -> Program {
    Program::new(env!("CARGO_BIN_EXE_crh"), &root()).args(args)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Reads a file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A test file without a `mod` line would never run.
#[test]
fn every_test_file_is_a_module() {
    let of = |folder: &str, source: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(folder);
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Some(module) = name.strip_suffix(".rs") else { continue };
            assert!(module == "main" || source.contains(&format!("mod {module};")), "{name}");
        }
    };
    of("", include_str!("main.rs"));
    of("eval", include_str!("eval.rs"));
    of("fixing", include_str!("fixing.rs"));
    of("github", include_str!("github.rs"));
    of("hostile_changes", include_str!("hostile_changes.rs"));
    of("interactive", include_str!("interactive.rs"));
    of("launchpad", include_str!("launchpad.rs"));
    of("launchpad/reading", include_str!("launchpad/reading.rs"));
    of("review", include_str!("review.rs"));
}
