//! crh inside coding agents and editors. This crate runs the program crh as a child process and
//! knows nothing about how crh reviews.
//!
//! Invariants:
//! - No child outlives the server, and a stopped call makes no further model call.

pub mod lsp;
pub mod mcp;
pub mod program;
