//! Differences between metrics and their significance.

use std::collections::{BTreeMap, BTreeSet};

use super::common::Common;
use super::{Better, Difference};
use crate::eval::bootstrap::{Counts, LEAST_CASES, Resampled, rounded, share};
use crate::eval::scores::graded::Graded;
use crate::eval::scores::tally::{Tally, tallies};
use crate::eval::scores::{Estimate, effort};

/// A metric of one evaluation.
type Number = fn(&Tally) -> Option<f64>;

/// Metrics whose loss is a regression. More reports alone are not a regression.
const QUALITY: [(&str, Number, Better); 6] = [
    ("precision", Tally::precision, Better::More),
    ("recall", Tally::recall, Better::More),
    ("f1", Tally::f1, Better::More),
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
struct Spent {
    runs: u64,
    micros: u64,
}

impl Differences {
    /// Differences between two evaluations of the same cases with the same rule.
    pub(super) fn of<'a>(
        common: &Common,
        mut before: Vec<Graded<'a>>,
        mut after: Vec<Graded<'a>>,
    ) -> Self {
        let spent: Vec<_> = spent(&before).into_iter().zip(spent(&after)).collect();
        let cost = difference(
            "cost_usd_per_run",
            &spent,
            &Resampled::new(&spent),
            |spent| share(spent.micros, spent.runs).map(|micros| micros / 1e6),
            Better::Less,
        );
        keep_seen_twins(&mut before, &mut after);
        let rule = common.after.rule;
        let cases: Vec<_> = tallies(&before, rule).into_iter().zip(tallies(&after, rule)).collect();
        let resampled = Resampled::new(&cases);
        let quality = QUALITY.iter().map(|(metric, number, better)| {
            difference(metric, &cases, &resampled, *number, *better)
        });
        let is_there =
            |difference: &Difference| difference.before.is_some() || difference.after.is_some();
        // Skip cost and time if both are zero.
        let is_spent = |difference: &Difference| {
            [difference.before, difference.after].iter().flatten().any(|spent| *spent > 0.0)
        };
        Self {
            quality: quality.filter(is_there).collect(),
            effort: [cost, latency(common)].into_iter().filter(is_spent).collect(),
        }
    }
}

/// Keeps the repeats of every twin that succeeded in both evaluations. Otherwise the two would
/// score a different mix of pairs.
fn keep_seen_twins<'a>(before: &mut [Graded<'a>], after: &mut [Graded<'a>]) {
    for (before, after) in before.iter_mut().zip(after).filter(|(before, _)| before.is_twin()) {
        let seen = |twin: &Graded<'_>| -> BTreeSet<usize> {
            let runs = twin.runs.iter().filter(|run| run.saw_something());
            runs.map(|run| run.repeat).collect()
        };
        let seen = &seen(before) & &seen(after);
        for twin in [before, after] {
            twin.runs.retain(|run| seen.contains(&run.repeat));
        }
    }
}

fn difference<C: Counts>(
    metric: &str,
    cases: &[(C, C)],
    resampled: &Resampled<(C, C)>,
    number: impl Fn(&C) -> Option<f64>,
    better: Better,
) -> Difference {
    let change = resampled.estimate_over(
        |(before, after)| number(before).is_some() || number(after).is_some(),
        |(before, after)| Some(number(after)? - number(before)?),
    );
    let excludes_zero =
        change.low.is_some_and(|low| low > 0.0) || change.high.is_some_and(|high| high < 0.0);
    let (before, after) = &resampled.whole;
    let mut all = *before;
    all.add(after, 1);
    // A case differs if replacing its counts changes the total.
    let with = |counts: &C| {
        let mut all = all;
        all.add(counts, 1);
        number(&all)
    };
    let different = cases.iter().filter(|(before, after)| with(before) != with(after)).count();
    Difference {
        metric: metric.to_owned(),
        before: number(before).map(rounded),
        after: number(after).map(rounded),
        change,
        is_real: excludes_zero && different >= LEAST_CASES,
        better,
    }
}

/// Median latencies, without an interval: they also depend on the machine and the day, so they are
/// never significant.
fn latency(common: &Common) -> Difference {
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
fn spent(graded: &[Graded<'_>]) -> Vec<Spent> {
    let mut spent: BTreeMap<&str, Spent> = BTreeMap::new();
    for case in graded {
        let labels = &case.case.labels;
        let spent = spent.entry(labels.twin_of.as_ref().unwrap_or(&labels.id)).or_default();
        for run in &case.runs {
            spent.runs += 1;
            spent.micros = spent.micros.saturating_add(run.run.effort.cost_usd.0);
        }
    }
    spent.into_values().collect()
}

impl Counts for Spent {
    fn add(&mut self, other: &Self, times: u64) {
        self.runs += times * other.runs;
        self.micros = self.micros.saturating_add(times.saturating_mul(other.micros));
    }
}

impl Difference {
    /// The regression, if the difference is a significant loss.
    pub(super) fn loss(&self) -> Option<String> {
        let is_less = self.change.value? < 0.0;
        let word = match (self.better, is_less) {
            (Better::More, true) => "fell",
            (Better::Less, false) => "rose",
            (Better::More, false) | (Better::Less, true) | (Better::Neither, _) => return None,
        };
        self.is_real.then_some(())?;
        Some(format!("{} {word} from {:.3} to {:.3}", self.metric, self.before?, self.after?))
    }
}
