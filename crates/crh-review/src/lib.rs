//! The pure core of a review: the diff, findings, merging findings into issues, the report, and its
//! renderings.
//!
//! Invariant: no I/O, no clock, no waiting. Callers pass in everything that comes from a model or a
//! file.

mod cluster;
pub mod diff;
mod edit;
pub mod eval;
mod evidence;
pub mod finding;
mod grade;
pub mod identity;
mod issue;
mod json;
mod merge;
mod place;
mod precheck;
mod protected_docs;
pub mod render;
pub mod report;
mod returns;
mod route;
mod sanitise;
pub mod schema;
mod shape;
mod soften;
mod strict_json;
pub mod verdict;
mod width;
mod words;

pub use cluster::{CandidatePair, PairSide};
pub use edit::{
    EditedGroup, EditorJudgement, ProposedTest, PublishRules, apply_edit, join_copies,
    split_rejected,
};
pub use evidence::{Sources, SymbolSpan};
pub use grade::severity_cap;
pub use issue::{AGREEMENT_BONUS, add_places, narrow_to_places, set_other_places};
pub use json::{stable_json, stable_json_line};
pub use merge::{
    DismissedIssue, Grouping, Judgement, JudgementResult, MergeResult, PastDecisions,
    apply_judgements, consolidate, consolidate_for_editor, into_report, refresh_verdict,
};
pub use place::{Location, Quote, Tier};
pub use precheck::{FindingCheck, FindingProblem, check_findings, cited_locations};
pub use returns::{Dialect, ReturnError, ReviewerReturn, parse_return, parse_return_value};
pub use sanitise::{escape_invisible, has_command, one_line};
pub use shape::{drop_diff_prefixes, repair_whole_numbers};
pub use strict_json::{StrictJson, json_problem};
pub use width::{columns, truncate, truncate_middle, wrap};
pub use words::{normalise_posted_title, normalise_title};

/// Lower-case hexadecimal, the form of all ids.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
