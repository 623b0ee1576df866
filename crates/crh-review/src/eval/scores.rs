//! From what was said about every case to the numbers: quality, calibration, stability, pairs, effort.

mod agreement;
mod calibration;
pub(super) mod effort;
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

use super::bootstrap::Resampled;
use super::evaluation::Evaluation;
use crate::finding::Category;

/// An evaluation with its numbers, beside what trivial reviewers get on the same cases. This is what is stored as `eval.json`; only
/// the evaluation is read again, the numbers follow from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sheet {
    /// What was said.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// The numbers.
    pub scores: Scores,
    /// Trivial reviewers on the same cases.
    pub baselines: Vec<Baseline>,
}

/// A trivial reviewer's numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// What it does, such as `every hunk`.
    pub name: String,
    /// Its numbers.
    pub quality: Quality,
    /// Credited over expected, of pairs; none without twins.
    pub paired_recall: Option<Estimate>,
}

/// All numbers of one evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    /// How many cases were reviewed, failed, and were never begun.
    pub runs: RunCounts,
    /// Precision, recall and F1, and what they are made of. Twins are not in it.
    pub quality: Quality,
    /// Pairs of a change and its twin; none without twins.
    pub paired: Option<Paired>,
    /// Recall by what the expected issues are.
    pub recall_by: RecallBy,
    /// What each reviewer of a panel had a part in, by name; empty without a panel.
    pub reviewers: Vec<ReviewerCounts>,
    /// How well the confidences fit; none without a confidence.
    pub avg_confidence_calibration: Option<Calibration>,
    /// How well severities agree; none without a match.
    pub severity_agreement: Option<SeverityAgreement>,
    /// How much repeats agree; none without repeats.
    pub stability: Option<Stability>,
    /// How far the judge can be trusted; none without one.
    pub judge: Option<Agreement>,
    /// What it took.
    pub effort: EffortSums,
}

/// How runs ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunCounts {
    /// Cases, without twins.
    pub cases: u32,
    /// Of these, cases in which nothing is expected.
    pub clean: u32,
    /// Twins.
    pub twins: u32,
    /// Runs that came to their end.
    pub reviewed: u32,
    /// Runs that saw only a part.
    pub incomplete: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Runs that were never begun.
    pub not_run: u32,
}

/// A number with its interval: 95 % of resampled suites lie in it. None where it is not defined, such as the precision of
/// silence. Without an interval where fewer than six cases have a part in the number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: Option<f64>,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// How good the reports are.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Expected issues, over all runs.
    pub expected: u32,
    /// Reports, over all runs.
    pub reported: u32,
    /// Reports of expected issues.
    pub matched: u32,
    /// Further reports of the same issues.
    pub duplicates: u32,
    /// Reports that are known to be wrong.
    pub known_bad: u32,
    /// Reports on clean changes that no label names as known to be wrong: those count above.
    pub on_clean: u32,
    /// Other reports.
    pub unlabelled: u32,
    /// All reports on clean changes, whether or not a label names them.
    pub clean_reported: u32,
    /// Matched of all reports: whatever is not matched counts as wrong.
    pub precision: Estimate,
    /// Matched of those reports that somebody has judged: matched, duplicates, known bad, on clean changes.
    pub precision_labelled: Estimate,
    /// Matched of the expected.
    pub recall: Estimate,
    /// Of precision and recall.
    pub f1: Estimate,
    /// Reports for each change.
    pub findings_per_change: Estimate,
    /// The share of clean changes on which something was reported.
    pub clean_flagged: Estimate,
}

/// Recall by what the expected issues are: matched and expected, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecallBy {
    /// `P0` to `P3`.
    pub severity: BTreeMap<String, Share>,
    /// The categories.
    pub category: BTreeMap<String, Share>,
    /// The languages.
    pub language: BTreeMap<String, Share>,
    /// The size of the change in lines: `1–10`, `11–50`, `51–200`, `over 200`, in this order.
    pub size: Vec<(String, Share)>,
    /// Something missing, or something there: `omission`, `present`.
    pub kind: BTreeMap<String, Share>,
    /// Expected issues that were not matched, over all runs.
    pub missed: u32,
    /// Of these, issues at whose place something was reported that the rule does not take for them, such as the same defect in
    /// another category.
    pub misnamed: u32,
}

/// What one reviewer of a panel had a part in, over all runs. A report of several reviewers counts for each of them, so that
/// these numbers do not add up to those of the panel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReviewerCounts {
    /// The reviewer.
    pub name: String,
    /// What it looks for; none if it has no lens.
    pub category: Option<Category>,
    /// Of the expected issues of exactly this category: how many of its reports are matched with one.
    pub own: Share,
    /// Its reports that are matched with issues of other categories.
    pub others: u32,
    /// Its further reports of issues that are matched already.
    pub duplicates: u32,
    /// Its reports that are known to be wrong.
    pub known_bad: u32,
    /// Its reports on clean changes that no label names as known to be wrong: those count above.
    pub on_clean: u32,
    /// Its other reports.
    pub unlabelled: u32,
    /// Its reports on twins, which stand in none of the counts above.
    pub on_twins: u32,
}

/// A part of a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// How many fit.
    pub matched: u32,
    /// Of how many.
    pub expected: u32,
}

/// A change and its twin: a report counts only if it is not made of the twin as well.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Paired {
    /// Pairs of which both were seen in the same repeat.
    pub pairs: u32,
    /// Expected issues of these, over all such repeats.
    pub expected: u32,
    /// Of these, reported on the change.
    pub matched: u32,
    /// Of these, reported on the twin as well.
    pub also_on_twin: u32,
    /// Reports on the change and on the twin together.
    pub reported: u32,
    /// Reports on twins.
    pub on_twins: u32,
    /// Credited (matched and not on the twin) of the expected.
    pub recall: Estimate,
    /// Credited of all reports of both.
    pub precision: Estimate,
    /// Of the two.
    pub f1: Estimate,
}

/// How well confidences fit what was matched.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Calibration {
    /// Reports with a confidence.
    pub reports: u32,
    /// The mean of the squared difference of confidence and outcome.
    pub brier: f64,
    /// The mean difference of confidence and share matched over ten bins, weighted by their reports.
    pub expected_calibration_error: f64,
    /// The bins that have a report.
    pub bins: Vec<Bin>,
}

/// One bin of confidences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Bin {
    /// From this confidence,
    pub from: f64,
    /// up to this one, which is in it in the last bin only.
    pub to: f64,
    /// How many.
    pub reports: u32,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share that was matched.
    pub matched: f64,
}

/// How well severities agree.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SeverityAgreement {
    /// Matches in which the tool gave a severity.
    pub matches: u32,
    /// The share in which it is the same.
    pub same: f64,
    /// The share in which it is at most one step off.
    pub within_one: f64,
    /// The mean number of steps by which the tool is milder (below zero: harsher).
    pub milder_by: f64,
    /// How often which was reported for which: rows expected, columns reported, `P0` to `P3`.
    pub table: [[u32; 4]; 4],
}

/// How much repeats agree.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stability {
    /// How often every case was to be reviewed.
    pub repeats: u32,
    /// Cases that were: all repeats of them were begun.
    pub complete_cases: u32,
    /// The chance that what one run of a case reports is reported by another one too, at the same place whatever it is called.
    pub returns: Option<f64>,
    /// The variance of "was it found" from run to run, on average over the expected issues: 0 if always or never; 0.25 is what a coin
    /// comes to in the long run, though of two runs of one issue it may be as much as 0.5.
    pub hit_variance: Option<f64>,
    /// The chance that two runs that report the same differ in its severity or category.
    pub class_changes: Option<f64>,
    /// The standard deviation of F1 over the repeats, of the cases that have all of them: other cases would make it that of the mix.
    pub f1_deviation: Option<f64>,
}

/// How far a judge and the text rule agree about the pairs of a report and an expected issue that the judge was asked about.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Pairs.
    pub pairs: u64,
    /// Of these, pairs about which both say the same.
    pub agreed: u64,
    /// Pairs that the judge alone calls the same.
    pub judge_alone: u64,
    /// Pairs that the text rule alone calls the same.
    pub text_alone: u64,
    /// Cohen's kappa of the agreement: 0 what chance would bring, 1 everywhere; none where it is not defined.
    pub kappa: Option<f64>,
}

/// What everything took, twins included.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EffortSums {
    /// Money for all runs, in US dollars.
    pub cost_usd: f64,
    /// Money for one run, on average.
    pub cost_usd_per_run: f64,
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens received.
    pub tokens_out: u64,
    /// Of those sent, from the provider's cache.
    pub tokens_cached: u64,
    /// Calls of models.
    pub llm_calls: u64,
    /// Half of the runs took at most this long.
    pub latency_seconds_median: f64,
    /// Of a hundred runs, 95 took at most this long.
    pub latency_seconds_p95: f64,
}

/// Scores an evaluation.
///
/// Numbers are over all runs of all cases together. A run that failed counts as one that found nothing; one that was never
/// begun does not count. Twins count in pairs, in what reviewers said of them, and in the effort alone.
///
/// So a case weighs as much as it has runs that were begun. Every number is then the quotient of counts that stand beside it, nothing is
/// made up for what was not looked at, and where all repeats were begun all cases weigh the same. Where some were not, the numbers are of
/// another mix of cases than the suite's: they are not to be held against those of another evaluation, which `compare` does repeat by
/// repeat.
pub fn score(evaluation: &Evaluation) -> Scores {
    let graded = graded::graded(evaluation, evaluation.rule);
    let resampled = Resampled::new(&tally::tallies(&graded, evaluation.rule));
    let cases: Vec<_> = graded.iter().filter(|case| !case.is_twin()).collect();
    Scores {
        runs: effort::run_counts(evaluation),
        quality: quality::quality(&resampled),
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
    /// Scores an evaluation and trivial reviewers of the same cases, each under its name.
    pub fn new(evaluation: Evaluation, baselines: &[(String, Evaluation)]) -> Self {
        let baselines = baselines.iter().map(|(name, evaluation)| {
            let Scores { quality, paired, .. } = score(evaluation);
            Baseline {
                name: name.clone(),
                quality,
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
