//! Evaluation of reviews: labelled cases, reports of a tool, and scores. Everything is a pure
//! function with reproducible results.

mod baselines;
mod bootstrap;
mod case;
mod compare;
mod evaluation;
mod matching;
mod noise;
mod problem;
#[cfg(test)]
mod properties;
pub mod render;
mod scores;
#[cfg(test)]
mod tests_support;

pub use baselines::{BaselineCase, every_hunk, nothing, random_lines};
pub use case::{Expected, KnownBad, LABELS_MAX, Labels, Span};
pub use compare::{Better, Comparison, Difference, Flip, Regression, compare, regressions};
pub use evaluation::{
    About, CaseRun, CaseRuns, Effort, Ending, Evaluation, JudgedBy, REPORTS_MAX, Reported,
    SCHEMA_VERSION,
};
pub use matching::{Rule, Sorted, sort};
pub use noise::{Apart, CommitRun, Noise, Sampled};
pub use scores::{Agreement, Baseline, ReviewerCounts, Scores, Sheet, score};
