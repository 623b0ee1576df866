//! How good a review is: cases with what is known to be wrong in them, what a tool said about each, and the scores that
//! follow. Everything is a pure function of the two; the same input gives the same numbers on every machine.

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

pub use baselines::BaselineCase;
pub use baselines::every_hunk;
pub use baselines::nothing;
pub use baselines::random_lines;
pub use case::Expected;
pub use case::KnownBad;
pub use case::LABELS_MAX;
pub use case::Labels;
pub use case::Span;
pub use compare::Better;
pub use compare::Comparison;
pub use compare::Difference;
pub use compare::Flip;
pub use compare::Regression;
pub use compare::compare;
pub use compare::regressions;
pub use evaluation::About;
pub use evaluation::CaseRun;
pub use evaluation::CaseRuns;
pub use evaluation::Effort;
pub use evaluation::Ending;
pub use evaluation::Evaluation;
pub use evaluation::JudgedBy;
pub use evaluation::REPORTS_MAX;
pub use evaluation::Reported;
pub use evaluation::SCHEMA_VERSION;
pub use matching::Rule;
pub use matching::Sorted;
pub use matching::sort;
pub use noise::Apart;
pub use noise::CommitRun;
pub use noise::Noise;
pub use noise::Sampled;
pub use scores::Agreement;
pub use scores::Baseline;
pub use scores::ReviewerCounts;
pub use scores::Scores;
pub use scores::Sheet;
pub use scores::score;
