//! What a review is, as values and pure functions: the diff, the findings, how findings become issues,
//! the report, and every way to show it.
//!
//! Invariant: nothing here does I/O, reads a clock, or waits. What a model or a file system would have to
//! answer comes in as a value.

mod check;
mod clean;
mod cluster;
pub mod diff;
pub mod eval;
mod evidence;
pub mod finding;
mod grade;
pub mod identity;
mod issue;
mod json;
mod merge;
mod place;
mod protect;
pub mod render;
pub mod report;
mod returns;
mod route;
pub mod schema;
mod soften;
mod strict;
pub mod verdict;
mod width;
mod words;

pub use clean::visible;
pub use cluster::CandidatePair;
pub use cluster::PairSide;
pub use evidence::Sources;
pub use evidence::SymbolSpan;
pub use grade::severity_cap;
pub use issue::AGREEMENT;
pub use json::stable_json;
pub use json::stable_json_line;
pub use merge::About;
pub use merge::Judged;
pub use merge::Judgement;
pub use merge::Merged;
pub use merge::Remembered;
pub use merge::conclude;
pub use merge::consolidate;
pub use merge::into_report;
pub use merge::settle;
pub use place::Location;
pub use place::Quote;
pub use place::Tier;
pub use returns::Dialect;
pub use returns::Parsed;
pub use returns::ReturnError;
pub use returns::parse_return;
pub use returns::read_return;
pub use strict::Strict;
pub use width::columns;
pub use width::cut;
pub use width::cut_inside;
pub use width::wrapped;
pub use words::normal_posted_title;
pub use words::normal_title;

/// Lower-case hexadecimal, as every identity here is written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
