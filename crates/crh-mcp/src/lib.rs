//! Servers that offer crh to coding agents (MCP) and editors (LSP). This crate runs the program crh
//! as a child process and knows nothing about how crh reviews.
//!
//! Invariants:
//! - No child outlives the server, and a stopped call makes no further model call.

pub mod lsp;
pub mod mcp;
pub mod program;

/// Texts that replace a credential: the first one in texts of models and in diffs, the second one
/// in findings of static checks.
const MASKS: [&str; 2] = ["[redacted]", "****"];

/// Whether a line contains a quote of a report. A mask in the quote matches any text.
fn contains_quote(line: &str, quote: &str) -> bool {
    let mut rest = line;
    quote.split(MASKS[0]).flat_map(|part| part.split(MASKS[1])).all(|part| match rest.find(part) {
        Some(start) => {
            rest = &rest[start + part.len()..];
            true
        }
        None => false,
    })
}
