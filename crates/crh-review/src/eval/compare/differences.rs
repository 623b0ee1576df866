//! Differences between metrics and their significance.

use std::collections::{BTreeMap, BTreeSet};

use super::common::CommonCases;
use super::{Better, Difference};
use crate::eval::bootstrap::{Counts, MIN_CASES, ResampledCounts, ratio, rounded};
use crate::eval::scores::graded::GradedCase;
use crate::eval::scores::tally::{Tally, tallies};
use crate::eval::scores::{Estimate, effort};

/// A metric of one evaluation.
type Metric = fn(&Tally) -> Option<f64>;

/// Metrics whose loss is a regression. More reports alone are not a regression.
const QUALITY: [(&str, Metric, Better); 9] = [
    ("precision", Tally::precision, Better::More),
    ("recall", Tally::recall, Better::More),
    ("f1", Tally::f1, Better::More),
    ("comment_precision", Tally::comment_precision, Better::More),
    ("comment_recall", Tally::comment_recall, Better::More),
    ("comment_f1", Tally::comment_f1, Better::More),
    ("paired_recall", Tally::paired_recall, Better::More),
    ("clean_flagged", Tally::clean_flagged, Better::Less),
    ("findings_per_change", Tally::findings_per_change, Better::Neither),
];

/// All metrics that at least one of two evaluations has.
pub(super) struct Differences {
    /// Quality metrics. A significant loss is a regression.
    pub(super) quality: Vec<Difference>,
    /// Cost and time.
    pub(super) effort: Vec<Difference>,
}

/// Cost of a case and its twin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CaseCost {
    runs: u64,
    /// Millionths of a US dollar.
    micros: u64,
}

impl Differences {
    /// Differences between two evaluations of the same cases with the same rule.
    pub(super) fn new<'a>(
        common: &CommonCases,
        mut before: Vec<GradedCase<'a>>,
        mut after: Vec<GradedCase<'a>>,
    ) -> Self {
        let costs: Vec<_> = case_costs(&before).into_iter().zip(case_costs(&after)).collect();
        let cost = difference(
            "cost_usd_per_run",
            &costs,
            &ResampledCounts::new(&costs),
            |cost| ratio(cost.micros, cost.runs).map(|micros| micros / 1e6),
            Better::Less,
        );
        keep_twins_reviewed_in_both(&mut before, &mut after);
        let rule = common.after.rule;
        let cases: Vec<_> = tallies(&before, rule).into_iter().zip(tallies(&after, rule)).collect();
        let resampled = ResampledCounts::new(&cases);
        let quality = QUALITY.iter().map(|(metric, metric_value, better)| {
            difference(metric, &cases, &resampled, *metric_value, *better)
        });
        let is_defined =
            |difference: &Difference| difference.before.is_some() || difference.after.is_some();
        // Skip cost and time that are zero in both evaluations.
        let is_nonzero = |difference: &Difference| {
            [difference.before, difference.after].iter().flatten().any(|value| *value > 0.0)
        };
        Self {
            quality: quality.filter(is_defined).collect(),
            effort: [cost, latency(common)].into_iter().filter(is_nonzero).collect(),
        }
    }
}

/// For every twin, keeps the repeats that both evaluations reviewed. Otherwise the two evaluations
/// would score different pairs.
fn keep_twins_reviewed_in_both<'a>(before: &mut [GradedCase<'a>], after: &mut [GradedCase<'a>]) {
    for (before, after) in before.iter_mut().zip(after).filter(|(before, _)| before.is_twin()) {
        let reviewed_repeats = |twin: &GradedCase<'_>| -> BTreeSet<usize> {
            let runs = twin.runs.iter().filter(|run| run.is_reviewed());
            runs.map(|run| run.repeat).collect()
        };
        let common_repeats = &reviewed_repeats(before) & &reviewed_repeats(after);
        for twin in [before, after] {
            twin.runs.retain(|run| common_repeats.contains(&run.repeat));
        }
    }
}

fn difference<C: Counts>(
    metric: &str,
    cases: &[(C, C)],
    resampled: &ResampledCounts<(C, C)>,
    metric_value: impl Fn(&C) -> Option<f64>,
    better: Better,
) -> Difference {
    let change = resampled.estimate_over(
        |(before, after)| metric_value(before).is_some() || metric_value(after).is_some(),
        |(before, after)| Some(metric_value(after)? - metric_value(before)?),
    );
    let excludes_zero =
        change.low.is_some_and(|low| low > 0.0) || change.high.is_some_and(|high| high < 0.0);
    let (before, after) = &resampled.total;
    let mut total = *before;
    total.add(after, 1);
    // A case differs if its counts before and its counts after, added to the same total, give
    // different values.
    let value_with = |counts: &C| {
        let mut total = total;
        total.add(counts, 1);
        metric_value(&total)
    };
    let differing_cases =
        cases.iter().filter(|(before, after)| value_with(before) != value_with(after)).count();
    Difference {
        metric: metric.to_owned(),
        before: metric_value(before).map(rounded),
        after: metric_value(after).map(rounded),
        change,
        is_real: excludes_zero && differing_cases >= MIN_CASES,
        better,
    }
}

/// Median latencies, without an interval: they also depend on the machine and the day, so they are
/// never significant.
fn latency(common: &CommonCases) -> Difference {
    let [before, after] = [&common.before, &common.after]
        .map(|evaluation| Some(effort::effort(evaluation).latency_seconds_median));
    let change = before.zip(after).map(|(before, after)| rounded(after - before));
    Difference {
        metric: "latency_seconds_median".to_owned(),
        before,
        after,
        change: Estimate { value: change, low: None, high: None },
        is_real: false,
        better: Better::Less,
    }
}

/// Cost of each case with its twin.
fn case_costs(graded: &[GradedCase<'_>]) -> Vec<CaseCost> {
    let mut costs: BTreeMap<&str, CaseCost> = BTreeMap::new();
    for case in graded {
        let labels = &case.case.labels;
        let cost = costs.entry(labels.twin_of.as_ref().unwrap_or(&labels.id)).or_default();
        for run in &case.runs {
            cost.runs += 1;
            cost.micros = cost.micros.saturating_add(run.run.effort.cost_usd.0);
        }
    }
    costs.into_values().collect()
}

impl Counts for CaseCost {
    fn add(&mut self, other: &Self, times: u64) {
        self.runs += times * other.runs;
        self.micros = self.micros.saturating_add(times.saturating_mul(other.micros));
    }
}

impl Difference {
    /// The regression, if the difference is a significant loss.
    pub(super) fn regression(&self) -> Option<String> {
        let has_fallen = self.change.value? < 0.0;
        let word = match (self.better, has_fallen) {
            (Better::More, true) => "fell",
            (Better::Less, false) => "rose",
            (Better::More, false) | (Better::Less, true) | (Better::Neither, _) => return None,
        };
        self.is_real.then_some(())?;
        Some(format!("{} {word} from {:.3} to {:.3}", self.metric, self.before?, self.after?))
    }
}
