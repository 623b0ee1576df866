//! Evaluation of reviews: labelled cases, reports of a tool, and scores. Everything is a pure
//! function with reproducible results.
//!
//! A case is a change with labels: its real issues, and findings that would be wrong. A clean
//! change has no real issues. The twin of a case is the reversed change, on which the tool should
//! report nothing. A tool can review a case several times; each run is a repeat. The judge is a
//! model that decides which reports match which issues.

mod baselines;
mod bootstrap;
mod case;
mod compare;
mod evaluation;
mod funnel;
mod matching;
mod noise;
mod problem;
#[cfg(test)]
mod properties;
pub mod render;
mod scores;
#[cfg(test)]
mod tests_support;

pub use baselines::{BaselineCase, every_hunk, random_lines, without_reports};
pub use bootstrap::{Counts, ResampledCounts};
pub use case::{Expected, KnownBad, LABELS_MAX, Labels, Span};
pub use compare::{Better, Comparison, Difference, Flip, Regression, compare, regressions};
pub use evaluation::{
    About, CaseRun, CaseRuns, Effort, Ending, Evaluation, JudgedBy, REPORTS_MAX, Reported,
    SCHEMA_VERSION,
};
pub use funnel::{Funnel, FunnelCounts, FunnelReport, FunnelStep, RaisedFinding};
pub use matching::{ReportClasses, Rule, classify_reports};
pub use noise::{CommitRun, DistinctFindings, Noise, SampledFinding};
pub use scores::{Agreement, Baseline, Estimate, ReviewerCounts, Scores, Sheet, score};
