//! What a review is, as values and pure functions: the diff, the findings, how findings become issues,
//! the report, and every way to show it.
//!
//! Invariant: nothing here does I/O, reads a clock, or waits. What a model or a file system would have to
//! answer comes in as a value.

#[path = "shape.rs"]
mod check;
#[path = "sanitise.rs"]
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
#[path = "protected_docs.rs"]
mod protect;
pub mod render;
pub mod report;
mod returns;
mod route;
pub mod schema;
mod soften;
#[path = "strict_json.rs"]
mod strict;
pub mod verdict;
mod width;
mod words;

pub use clean::visible;
pub use cluster::{CandidatePair, PairSide};
pub use evidence::{Sources, SymbolSpan};
pub use grade::severity_cap;
pub use issue::AGREEMENT;
pub use json::{stable_json, stable_json_line};
pub use merge::{
    About, Judged, Judgement, Merged, Remembered, conclude, consolidate, into_report, settle,
};
pub use place::{Location, Quote, Tier};
pub use returns::{Dialect, Parsed, ReturnError, parse_return, read_return};
pub use strict::Strict;
pub use width::{columns, cut, cut_inside, wrapped};
pub use words::{normal_posted_title, normal_title};

/// Lower-case hexadecimal, as every identity here is written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
