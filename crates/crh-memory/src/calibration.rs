//! The probability that a maintainer acts on an issue: a logistic regression over facts that code
//! knows. It is used only if enough labels show that it orders issues better than severity and
//! confidence do.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::history::{History, IssueEntry};
use crate::outcome::Reception;
use crh_review::eval::{
    CaseRun, Counts, Estimate, Evaluation, FunnelStep, Reported, ResampledCounts, classify_reports,
};
use crh_review::finding::{Confidence, Severity};
use crh_review::identity::content_id;
use crh_review::report::Issue;

/// Minimum number of labels. With fewer, the confidence interval of the gain is too wide.
pub const MIN_LABELS: usize = 200;
/// Maximum expected calibration error of a usable fit.
pub const MAX_CALIBRATION_ERROR: f64 = 0.10;
/// Number of comments of a review that a reader is assumed to read.
pub const COMMENT_BUDGET: usize = 4;

/// Format version of stored weights.
const VERSION: u32 = 1;
/// Number of folds of the cross-validation.
const FOLDS: usize = 5;
/// Bins of the calibration error.
const BINS: usize = 10;
/// Strength of the L2 penalty. Rare features, such as a model that was used once, stay near zero.
const PENALTY: f64 = 1.0;
/// Steps of the gradient descent. More steps change no digit that is printed.
const STEPS: usize = 400;
/// Name of the constant feature, which has no penalty.
const BIAS: &str = "bias";

/// Facts about an issue, by name. Most are 0 or 1.
pub type Features = BTreeMap<String, f64>;

/// An issue with its label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledIssue {
    /// The proposal or evaluation case that it belongs to. Issues of one group are not independent.
    pub group: String,
    /// Facts about the issue.
    pub features: Features,
    /// Severity, for the ordering without calibration.
    pub severity: Severity,
    /// Probability by the model that edits the issues, or confidence of the reviewers.
    pub confidence: Confidence,
    /// Whether a maintainer acted on it, or it matches an expected issue of an evaluation.
    pub is_positive: bool,
}

/// Fitted weights, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Format version.
    pub version: u32,
    /// Number of labels of the fit.
    pub labels: usize,
    /// Weights by feature.
    pub weights: BTreeMap<String, f64>,
}

/// How good a fit is, by cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationReport {
    /// Number of labels.
    pub labels: usize,
    /// Number of positive labels.
    pub positives: usize,
    /// Number of groups: proposals and evaluation cases.
    pub reviews: usize,
    /// Expected calibration error.
    pub calibration_error: Estimate,
    /// F1 of the first [`COMMENT_BUDGET`] comments of each group, ordered by probability.
    pub f1_by_probability: Estimate,
    /// The same, ordered by severity and confidence.
    pub f1_by_severity: Estimate,
    /// `f1_by_probability` minus `f1_by_severity`.
    pub gain: Estimate,
    /// Why the fit is not used. Empty if it may be used.
    pub reasons_against: Vec<String>,
}

/// Facts about a stored issue.
fn entry_features(issue: &IssueEntry, models: &str) -> Features {
    let mut features = common_features(
        issue.severity,
        Some(issue.category.to_string()),
        &issue.reviewers,
        issue.confidence,
        &issue.file,
        models,
    );
    features.insert(format!("validation:{}", issue.validation), 1.0);
    features.insert(format!("tier:{}", issue.tier), 1.0);
    if let Some(probability) = issue.probability {
        features.insert("probability".to_owned(), probability.value());
    }
    features
}

/// Facts about an issue of a running review.
pub fn issue_features(issue: &Issue, models: &str) -> Features {
    entry_features(&IssueEntry::new(issue), models)
}

fn common_features(
    severity: Severity,
    category: Option<String>,
    reviewers: &[String],
    confidence: Confidence,
    file: &str,
    models: &str,
) -> Features {
    let flag = |name: String| (name, 1.0);
    let mut features: Features = BTreeMap::from([
        (BIAS.to_owned(), 1.0),
        flag(format!("severity:{severity}")),
        flag(format!("file:{}", file_kind(file))),
        ("confidence".to_owned(), confidence.value()),
        ("agreement".to_owned(), (reviewers.len().max(1) as f64).ln()),
    ]);
    features.extend(category.map(|category| flag(format!("category:{category}"))));
    features.extend(reviewers.iter().map(|name| flag(format!("reviewer:{name}"))));
    features.extend(Some(models).filter(|it| !it.is_empty()).map(|it| flag(format!("model:{it}"))));
    features
}

/// Kind of a file: tests, documentation, configuration or code.
fn file_kind(file: &str) -> &'static str {
    let lower = file.to_lowercase();
    let extension = lower.rsplit_once('.').map_or("", |(_, extension)| extension);
    if lower.split(['/', '_', '.', '-']).any(|part| ["test", "tests", "spec"].contains(&part)) {
        return "test";
    }
    match extension {
        "md" | "rst" | "txt" | "adoc" => "docs",
        "json" | "toml" | "yaml" | "yml" | "ini" | "cfg" | "lock" => "configuration",
        _ => "code",
    }
}

/// Labels from the outcomes of a repository.
pub fn labels_from_history(history: &History) -> Vec<LabelledIssue> {
    let mut labels = Vec::new();
    for proposal in history.proposals() {
        for (review, issue) in history.issues_of(proposal) {
            let outcome = history.outcome_of(proposal, &issue.key);
            let is_positive = match outcome.map(|outcome| outcome.kind.reception()) {
                Some(Reception::ActedOn) => true,
                Some(Reception::Rejected | Reception::LeftAlone) => false,
                Some(Reception::Undecided) | None => continue,
            };
            labels.push(LabelledIssue {
                group: format!("{}#{proposal}", review.repo),
                features: entry_features(issue, &review.models),
                severity: issue.severity,
                confidence: issue.probability.unwrap_or(issue.confidence),
                is_positive,
            });
        }
    }
    labels
}

/// Labels from a stored evaluation: the merged issues before a model edits them, or the published
/// issues if no merged ones are stored. An issue is positive if it matches an expected issue of its
/// case.
pub fn labels_from_evaluation(evaluation: &Evaluation) -> Vec<LabelledIssue> {
    let mut labels = Vec::new();
    for case in &evaluation.cases {
        let case_name = case.labels.twin_of.as_ref().unwrap_or(&case.labels.id);
        for run in &case.runs {
            let merged: Vec<Reported> = run
                .funnel
                .iter()
                .flat_map(|funnel| &funnel.reports)
                .filter(|report| report.steps.contains(&FunnelStep::Merged))
                .map(|report| report.reported.clone())
                .collect();
            // The judge of the evaluation saw only the published issues.
            let judged_run = match merged.is_empty() {
                true => run.clone(),
                false => CaseRun { reported: merged, judged: None, ..run.clone() },
            };
            let classes = classify_reports(&case.labels, &judged_run, evaluation.rule);
            // A duplicate of a right report is right, too.
            let right: BTreeSet<usize> = classes
                .matched
                .iter()
                .chain(&classes.duplicates)
                .map(|(_, reported)| *reported)
                .collect();
            for (index, reported) in judged_run.reported.iter().enumerate() {
                let (Some(severity), Some(confidence)) = (reported.severity, reported.confidence)
                else {
                    continue;
                };
                let features = common_features(
                    severity,
                    reported.category.map(|category| category.to_string()),
                    &reported.reviewers,
                    confidence,
                    reported.span.file(),
                    &evaluation.about.model,
                );
                labels.push(LabelledIssue {
                    group: format!("{case_name}@{}", evaluation.about.name()),
                    features,
                    severity,
                    confidence,
                    is_positive: right.contains(&index),
                });
            }
        }
    }
    labels
}

/// Fits weights by gradient descent with an L2 penalty. Deterministic.
pub fn fit(labels: &[LabelledIssue]) -> Weights {
    let references: Vec<&LabelledIssue> = labels.iter().collect();
    fit_references(&references)
}

fn fit_references(labels: &[&LabelledIssue]) -> Weights {
    let names: BTreeSet<&str> =
        labels.iter().flat_map(|label| label.features.keys().map(String::as_str)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let index_of = |name: &str| names.binary_search(&name).ok();
    let rows: Vec<(Vec<(usize, f64)>, f64)> = labels
        .iter()
        .map(|label| {
            let row = label.features.iter();
            let row = row.filter_map(|(name, value)| Some((index_of(name)?, *value)));
            (row.collect(), f64::from(u8::from(label.is_positive)))
        })
        .collect();
    let count = rows.len().max(1) as f64;
    // Without the penalty, the largest eigenvalue of the Hessian is at most a quarter of the
    // largest squared norm of a row.
    let largest_row = rows.iter().map(|(row, _)| row.iter().map(|(_, it)| it * it).sum::<f64>());
    let rate = 1.0 / (largest_row.fold(1.0, f64::max) / 4.0 + PENALTY / count);
    let bias = index_of(BIAS);
    let mut weights = vec![0.0; names.len()];
    let mut before = weights.clone();
    for step in 0..STEPS {
        // Nesterov's momentum makes few steps enough.
        let momentum = step as f64 / (step as f64 + 3.0);
        let ahead: Vec<f64> =
            weights.iter().zip(&before).map(|(now, old)| now + momentum * (now - old)).collect();
        let mut gradient: Vec<f64> = ahead
            .iter()
            .enumerate()
            .map(|(index, it)| if Some(index) == bias { 0.0 } else { PENALTY * it / count })
            .collect();
        for (row, label) in &rows {
            let sum: f64 = row.iter().map(|(index, value)| ahead[*index] * value).sum();
            let error = (sigmoid(sum) - label) / count;
            for (index, value) in row {
                gradient[*index] += error * value;
            }
        }
        before = weights;
        weights = ahead.iter().zip(&gradient).map(|(it, slope)| it - rate * slope).collect();
    }
    let rounded = weights.iter().map(|weight| (weight * 1e6).round() / 1e6 + 0.0);
    let weights = names.iter().map(|name| (*name).to_owned()).zip(rounded).collect();
    Weights { version: VERSION, labels: labels.len(), weights }
}

fn sigmoid(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

impl Weights {
    /// Parses stored weights. `None` if the format or its version differs, there are too few
    /// labels, or a weight is not finite.
    pub fn parse(text: &str) -> Option<Self> {
        let weights: Self = serde_json::from_str(text).ok()?;
        let is_usable = weights.version == VERSION
            && weights.labels >= MIN_LABELS
            && weights.weights.values().all(|weight| weight.is_finite());
        is_usable.then_some(weights)
    }

    /// The probability that a maintainer acts on an issue. Facts without a weight do not count.
    pub fn predict(&self, features: &Features) -> f64 {
        let known = features.iter().filter_map(|(name, it)| Some(self.weights.get(name)? * it));
        sigmoid(known.sum())
    }

    /// The probability in thousandths.
    pub fn probability(&self, features: &Features) -> Confidence {
        let thousandths = (self.predict(features) * 1000.0).round().clamp(0.0, 1000.0);
        Confidence::thousandths(thousandths as u16)
    }
}

/// Measures a fit by cross-validation: no label takes part in the fit that predicts it, and neither
/// does another label of its group.
pub fn cross_validate(labels: &[LabelledIssue]) -> CalibrationReport {
    let fold = |label: &LabelledIssue| {
        let hash = content_id(label.group.as_bytes());
        usize::from_str_radix(&hash[..8], 16).unwrap_or_default() % FOLDS
    };
    let folds: Vec<usize> = labels.iter().map(fold).collect();
    let mut predictions = vec![0.0; labels.len()];
    for held_out in 0..FOLDS {
        let training: Vec<&LabelledIssue> = labels
            .iter()
            .zip(&folds)
            .filter(|(_, fold)| **fold != held_out)
            .map(|(label, _)| label)
            .collect();
        let weights = fit_references(&training);
        for index in (0..labels.len()).filter(|index| folds[*index] == held_out) {
            predictions[index] = weights.predict(&labels[index].features);
        }
    }
    report(labels, &predictions)
}

fn report(labels: &[LabelledIssue], predictions: &[f64]) -> CalibrationReport {
    let mut by_group: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, label) in labels.iter().enumerate() {
        by_group.entry(&label.group).or_default().push(index);
    }
    let by_probability = |indexes: &[usize]| {
        let mut order = indexes.to_vec();
        order.sort_by(|a, b| predictions[*b].total_cmp(&predictions[*a]).then(a.cmp(b)));
        order
    };
    let by_severity = |indexes: &[usize]| {
        let mut order = indexes.to_vec();
        order.sort_by_key(|index| {
            (labels[*index].severity, Reverse(labels[*index].confidence), *index)
        });
        order
    };
    let pairs: Vec<(BudgetCounts, BudgetCounts)> = by_group
        .values()
        .map(|indexes| {
            let count = |order: Vec<usize>| BudgetCounts::new(labels, &order);
            (count(by_probability(indexes)), count(by_severity(indexes)))
        })
        .collect();
    let bins: Vec<BinCounts> =
        by_group.values().map(|indexes| BinCounts::new(labels, predictions, indexes)).collect();
    let resampled = ResampledCounts::new(&pairs);
    let calibration_error = ResampledCounts::new(&bins).estimate(BinCounts::error);
    let f1_by_probability = resampled.estimate(|(it, _)| it.f1());
    let f1_by_severity = resampled.estimate(|(_, it)| it.f1());
    let gain = resampled.estimate(|(new, old)| Some(new.f1()? - old.f1()?));
    let positives = labels.iter().filter(|label| label.is_positive).count();
    let mut reasons_against = Vec::new();
    if labels.len() < MIN_LABELS {
        reasons_against.push(format!("{} labels, fewer than {MIN_LABELS}", labels.len()));
    }
    match calibration_error.value {
        Some(error) if error <= MAX_CALIBRATION_ERROR => {}
        Some(_) => {
            reasons_against.push(format!("the calibration error is above {MAX_CALIBRATION_ERROR}"));
        }
        None => reasons_against.push("the calibration error is unknown".to_owned()),
    }
    if gain.low.is_none_or(|low| low <= 0.0) {
        reasons_against.push("the confidence interval of the F1 gain is not above zero".to_owned());
    }
    CalibrationReport {
        labels: labels.len(),
        positives,
        reviews: by_group.len(),
        calibration_error,
        f1_by_probability,
        f1_by_severity,
        gain,
        reasons_against,
    }
}

/// Number of comments within [`COMMENT_BUDGET`], number of positive labels among them, and number
/// of all positive labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct BudgetCounts {
    shown: u64,
    shown_positives: u64,
    positives: u64,
}

impl BudgetCounts {
    fn new(labels: &[LabelledIssue], order: &[usize]) -> Self {
        let positives = |indexes: &[usize]| {
            indexes.iter().filter(|index| labels[**index].is_positive).count() as u64
        };
        let shown = &order[..order.len().min(COMMENT_BUDGET)];
        Self {
            shown: shown.len() as u64,
            shown_positives: positives(shown),
            positives: positives(order),
        }
    }

    fn f1(&self) -> Option<f64> {
        let sum = self.shown + self.positives;
        (sum > 0).then(|| 2.0 * self.shown_positives as f64 / sum as f64)
    }
}

impl Counts for BudgetCounts {
    fn add(&mut self, other: &Self, times: u64) {
        self.shown += times * other.shown;
        self.shown_positives += times * other.shown_positives;
        self.positives += times * other.positives;
    }
}

/// Sums of predictions in millionths and numbers of positive labels, by bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct BinCounts {
    predicted: [u64; BINS],
    positive: [u64; BINS],
    labels: u64,
}

/// Predictions are summed in millionths, so that sums are exact.
const PREDICTION_UNIT: f64 = 1e6;

impl BinCounts {
    fn new(labels: &[LabelledIssue], predictions: &[f64], indexes: &[usize]) -> Self {
        let mut counts = Self { labels: indexes.len() as u64, ..Self::default() };
        for index in indexes {
            let bin = ((predictions[*index] * BINS as f64) as usize).min(BINS - 1);
            counts.predicted[bin] += (predictions[*index] * PREDICTION_UNIT).round() as u64;
            counts.positive[bin] += u64::from(labels[*index].is_positive);
        }
        counts
    }

    fn error(&self) -> Option<f64> {
        let distance = |bin: usize| {
            (self.predicted[bin] as f64 / PREDICTION_UNIT - self.positive[bin] as f64).abs()
        };
        let sum: f64 = (0..BINS).map(distance).sum();
        (self.labels > 0).then(|| sum / self.labels as f64)
    }
}

impl Counts for BinCounts {
    fn add(&mut self, other: &Self, times: u64) {
        self.labels += times * other.labels;
        for bin in 0..BINS {
            self.predicted[bin] += times * other.predicted[bin];
            self.positive[bin] += times * other.positive[bin];
        }
    }
}

impl CalibrationReport {
    /// The report as text.
    pub fn to_text(&self) -> String {
        let shown = |estimate: &Estimate| {
            let number =
                |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{it:.3}"));
            let Estimate { value, low, high } = estimate;
            format!("{} [{}, {}]", number(*value), number(*low), number(*high))
        };
        let decision = match self.reasons_against.as_slice() {
            [] => "usable".to_owned(),
            reasons => format!("not usable: {}", reasons.join("; ")),
        };
        format!(
            "labels                                      {} ({} positive) of {} reviews\n\
             expected calibration error                  {}\n\
             F1 of the first {COMMENT_BUDGET} comments, by probability  {}\n\
             F1 of the first {COMMENT_BUDGET} comments, by severity     {}\n\
             gain in F1                                  {}\n\
             calibration                                 {decision}\n",
            self.labels,
            self.positives,
            self.reviews,
            shown(&self.calibration_error),
            shown(&self.f1_by_probability),
            shown(&self.f1_by_severity),
            shown(&self.gain),
        )
    }
}

#[cfg(test)]
mod tests;
