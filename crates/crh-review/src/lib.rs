//! What a review is, as values and pure functions.
//!
//! Invariant: nothing here does I/O, reads a clock, or waits. What a model or a file system would have to
//! answer comes in as a value.

pub mod diff;
pub mod finding;
mod json;

pub use json::stable_json;
pub use json::stable_json_line;

/// Lower-case hexadecimal, as every identity here is written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
