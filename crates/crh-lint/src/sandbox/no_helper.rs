//! The sandbox helper of systems without a sandbox: it runs nothing and says why.

use std::io::Read;

use super::NOT_SANDBOXED;

/// Implements `crh __sandbox`.
pub fn run_helper(_: Option<&str>, _: impl Read) -> (u8, Option<String>) {
    (NOT_SANDBOXED, Some("only Linux has the sandbox that crh needs".to_owned()))
}
