//! What crh needs of the operating system, and what differs between Unix and Windows.
//!
//! Each module has a half for each system. `docs/security.md` lists the checks that the half for
//! Windows cannot make.

pub mod environment;
pub mod files;
pub mod names;
pub mod process;
pub mod terminal;
