//! Computes the scores: quality, calibration, stability, pairs, effort.

mod agreement;
mod calibration;
pub(super) mod effort;
mod funnel;
pub(super) mod graded;
mod pairs;
mod quality;
mod recall;
mod reviewers;
mod severity;
mod stability;
pub(super) mod tally;

use std::collections::BTreeMap;

use serde::Serialize;

use super::bootstrap::ResampledCounts;
use super::evaluation::Evaluation;
use super::funnel::FunnelCounts;
use crate::finding::Category;

/// An evaluation with its scores and the baselines. Stored as `eval.json`; scores are recomputed
/// when it is read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sheet {
    /// The evaluation.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Its scores.
    pub scores: Scores,
    /// Baselines on the same cases.
    pub baselines: Vec<Baseline>,
}

/// Scores of a baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// Name, such as `every hunk`.
    pub name: String,
    /// Quality.
    pub quality: Quality,
    /// Scores with the comment as the unit.
    pub comments: CommentScores,
    /// Paired recall; absent without twins.
    pub paired_recall: Option<Estimate>,
}

/// All scores of one evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    /// Numbers of cases and runs by outcome.
    pub runs: RunCounts,
    /// Precision, recall and F1, without twins.
    pub quality: Quality,
    /// The same with the published comment as the unit.
    pub comments: CommentScores,
    /// Findings, issues and comments at each step; empty if they are unknown.
    pub funnel: Vec<FunnelCounts>,
    /// Scores of pairs; absent without twins.
    pub paired: Option<Paired>,
    /// Recall by kind of issue.
    pub recall_by: RecallBy,
    /// Contribution of each reviewer of a panel; empty without a panel.
    pub reviewers: Vec<ReviewerCounts>,
    /// Calibration of the confidences; absent without confidences.
    pub avg_confidence_calibration: Option<Calibration>,
    /// Agreement of severities; absent without a match.
    pub severity_agreement: Option<SeverityAgreement>,
    /// Agreement of repeats; absent without repeats.
    pub stability: Option<Stability>,
    /// Reliability of the judge; absent without one.
    pub judge: Option<Agreement>,
    /// Cost and time.
    pub effort: EffortSums,
}

/// Numbers of runs by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunCounts {
    /// Cases without twins.
    pub cases: u32,
    /// Clean cases among them.
    pub clean: u32,
    /// Twins.
    pub twins: u32,
    /// Complete runs.
    pub reviewed: u32,
    /// Incomplete runs.
    pub incomplete: u32,
    /// Failed runs.
    pub failed: u32,
    /// Runs that were not started.
    pub not_run: u32,
}

/// A number with its 95 % interval. The value is absent if it is undefined, such as the precision
/// without reports. There is no interval with fewer than six contributing cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Value.
    pub value: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Quality of the reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Expected issues, over all runs.
    pub expected: u32,
    /// Reports, over all runs.
    pub reported: u32,
    /// Reports of expected issues.
    pub matched: u32,
    /// Duplicates.
    pub duplicates: u32,
    /// Reports known to be wrong.
    pub known_bad: u32,
    /// Reports on clean changes, except those known to be wrong.
    pub on_clean: u32,
    /// Unlabelled reports.
    pub unlabelled: u32,
    /// All reports on clean changes.
    pub clean_reported: u32,
    /// Matched reports per report.
    pub precision: Estimate,
    /// Matched reports per labelled report (matched, duplicate, known bad, on a clean change).
    pub precision_labelled: Estimate,
    /// Matched issues per expected issue.
    pub recall: Estimate,
    /// Harmonic mean of precision and recall.
    pub f1: Estimate,
    /// Reports per change.
    pub findings_per_change: Estimate,
    /// Share of clean changes with a report.
    pub clean_flagged: Estimate,
}

/// Scores with the published comment as the unit, counted as public benchmarks do: an expected
/// issue is found if at least one comment matches it, and a comment is wrong if it matches none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CommentScores {
    /// Comments, over all runs.
    pub comments: u32,
    /// Comments that match no expected issue.
    pub unmatched: u32,
    /// Expected issues, over all runs.
    pub expected: u32,
    /// Expected issues that at least one comment matches.
    pub found: u32,
    /// Found issues per found issue or unmatched comment.
    pub precision: Estimate,
    /// Found issues per expected issue.
    pub recall: Estimate,
    /// Harmonic mean of the two.
    pub f1: Estimate,
}

/// Recall by kind of issue: matched and expected, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecallBy {
    /// `P0` to `P3`.
    pub severity: BTreeMap<String, Share>,
    /// The categories.
    pub category: BTreeMap<String, Share>,
    /// The languages.
    pub language: BTreeMap<String, Share>,
    /// By size of the change in lines: `1–10`, `11–50`, `51–200`, `over 200`, in this order.
    pub size: Vec<(String, Share)>,
    /// By omission or presence: `omission`, `present`.
    pub kind: BTreeMap<String, Share>,
    /// Missed issues, over all runs.
    pub missed: u32,
    /// Missed issues with a report at their place that does not match the rule, for example in
    /// another category.
    pub misnamed: u32,
}

/// Contribution of one reviewer of a panel, over all runs. A report of several reviewers counts for
/// each, so the numbers do not add up to those of the panel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReviewerCounts {
    /// Name of the reviewer.
    pub name: String,
    /// Its category, if it is specialised.
    pub category: Option<Category>,
    /// Matches among the expected issues of its category.
    pub own: Share,
    /// Matches in other categories.
    pub others: u32,
    /// Duplicates.
    pub duplicates: u32,
    /// Reports known to be wrong.
    pub known_bad: u32,
    /// Reports on clean changes, except those known to be wrong.
    pub on_clean: u32,
    /// Unlabelled reports.
    pub unlabelled: u32,
    /// Reports on twins, which are not in the other counts.
    pub on_twins: u32,
}

/// A share of a total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Numerator.
    pub matched: u32,
    /// Denominator.
    pub expected: u32,
}

/// Scores of changes with a twin: an issue counts only if it is not reported on the twin as well.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Paired {
    /// Pairs with a common repeat.
    pub pairs: u32,
    /// Expected issues over these repeats.
    pub expected: u32,
    /// Reported on the change.
    pub matched: u32,
    /// Also reported on the twin.
    pub also_on_twin: u32,
    /// Reports on change and twin together.
    pub reported: u32,
    /// Reports on twins.
    pub on_twins: u32,
    /// Credited (matched, and not on the twin) per expected issue.
    pub recall: Estimate,
    /// Credited per report on both.
    pub precision: Estimate,
    /// Harmonic mean of the two.
    pub f1: Estimate,
}

/// Calibration of the confidences.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Calibration {
    /// Reports with a confidence.
    pub reports: u32,
    /// Brier score: mean squared difference between confidence and outcome.
    pub brier: f64,
    /// Expected calibration error over ten bins.
    pub expected_calibration_error: f64,
    /// Non-empty bins.
    pub bins: Vec<Bin>,
}

/// One bin of confidences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Bin {
    /// Lower bound.
    pub from: f64,
    /// Upper bound, exclusive except in the last bin.
    pub to: f64,
    /// Number of reports.
    pub reports: u32,
    /// Mean confidence.
    pub confidence: f64,
    /// Share of matched reports.
    pub matched: f64,
}

/// Agreement of severities.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SeverityAgreement {
    /// Matches with a severity.
    pub matches: u32,
    /// Share with the same severity.
    pub same: f64,
    /// Share at most one level off.
    pub within_one: f64,
    /// Mean number of levels by which the tool is milder (negative: harsher).
    pub milder_by: f64,
    /// Confusion matrix: rows expected, columns reported, `P0` to `P3`.
    pub table: [[u32; 4]; 4],
}

/// Agreement of repeats.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stability {
    /// Requested repeats per case.
    pub repeats: u32,
    /// Cases with all repeats started.
    pub complete_cases: u32,
    /// Probability that a report of one run occurs in another run at the same place.
    pub returns: Option<f64>,
    /// Comments of the complete cases by the number of runs that have them: first those of one run,
    /// then those of two, and so on. Comments at most 3 lines apart are the same.
    pub by_runs: Vec<u32>,
    /// Mean variance of "found" over the expected issues: 0 if each issue is always or never found.
    /// An issue that half of many runs find has 0.25. One that a single run of two finds has 0.5.
    pub hit_variance: Option<f64>,
    /// Probability that two runs with the same report differ in severity or category.
    pub class_changes: Option<f64>,
    /// Standard deviation of F1 over the repeats, for cases with all repeats.
    pub f1_deviation: Option<f64>,
}

/// Agreement of the judge with the text rule, over the pairs that the judge answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of pairs.
    pub pairs: u64,
    /// Pairs with the same answer.
    pub agreed: u64,
    /// Pairs that only the judge matches.
    pub judge_alone: u64,
    /// Pairs that only the text rule matches.
    pub text_alone: u64,
    /// Cohen's kappa: 0 for chance agreement, 1 for full agreement; absent if undefined.
    pub kappa: Option<f64>,
}

/// Cost and time of all runs, including twins.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EffortSums {
    /// Total cost in US dollars.
    pub cost_usd: f64,
    /// Mean cost per run.
    pub cost_usd_per_run: f64,
    /// Input tokens.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Input tokens from the provider's cache.
    pub tokens_cached: u64,
    /// Model calls.
    pub llm_calls: u64,
    /// Median latency.
    pub latency_seconds_median: f64,
    /// 95th percentile of the latency.
    pub latency_seconds_p95: f64,
}

/// Scores an evaluation.
///
/// Numbers are over all started runs of all cases. A failed run counts as one without findings; a
/// run that was not started does not count. Twins count only in pairs, per-reviewer numbers and
/// effort.
///
/// So a case weighs as much as its started runs, and every number is a quotient of the counts next
/// to it. If all repeats were started, all cases weigh the same. Otherwise do not compare the
/// numbers with those of another evaluation; `compare` works repeat by repeat.
pub fn score(evaluation: &Evaluation) -> Scores {
    let graded = graded::grade_cases(evaluation, evaluation.rule);
    let resampled = ResampledCounts::new(&tally::tallies(&graded, evaluation.rule));
    let cases: Vec<_> = graded.iter().filter(|case| !case.is_twin()).collect();
    Scores {
        runs: effort::run_counts(evaluation),
        quality: quality::quality(&resampled),
        comments: quality::comment_scores(&resampled),
        funnel: funnel::funnel_counts(&cases, evaluation.rule),
        paired: pairs::paired(&resampled),
        recall_by: recall::recall_by(&cases),
        reviewers: reviewers::reviewers(&evaluation.about, &graded),
        avg_confidence_calibration: calibration::calibration(&cases),
        severity_agreement: severity::severity_agreement(&cases),
        stability: stability::stability(evaluation, &cases),
        judge: evaluation.judged_by.as_ref().map(|_| agreement::agreement(&cases)),
        effort: effort::effort(evaluation),
    }
}

impl Sheet {
    /// Scores an evaluation and its baselines.
    pub fn new(evaluation: Evaluation, baselines: &[(String, Evaluation)]) -> Self {
        let baselines = baselines.iter().map(|(name, evaluation)| {
            let Scores { quality, comments, paired, .. } = score(evaluation);
            Baseline {
                name: name.clone(),
                quality,
                comments,
                paired_recall: paired.map(|paired| paired.recall),
            }
        });
        let baselines = baselines.collect();
        let scores = score(&evaluation);
        Self { evaluation, scores, baselines }
    }
}

#[cfg(test)]
mod tests;
