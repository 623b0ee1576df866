//! Headline numbers, with interval and best baseline.

use serde::Serialize;

use crate::eval::render::brief::brief;
use crate::eval::render::figures::{
    UNDEFINED, amount, count, defined, interval, or_undefined, share,
};
use crate::eval::scores::Estimate;
use crate::eval::{Baseline, Sheet};

/// Length of a meter.
const METER: f64 = 200.0;
/// Width of its mark.
const METER_MARK: f64 = 3.0;

/// One headline number.
#[derive(Serialize)]
pub(super) struct Card {
    name: &'static str,
    value: String,
    interval: Option<String>,
    /// What the number is based on, and the best baseline.
    notes: Vec<String>,
    /// Positions of number and interval on the meter; `None` if it is not a share.
    meter: Option<Meter>,
}

#[derive(Serialize)]
struct Meter {
    at: String,
    from: String,
    width: String,
}

pub(super) fn cards(sheet: &Sheet) -> Vec<Card> {
    let quality = &sheet.scores.quality;
    let trivial = |of: fn(&Baseline) -> Option<&Estimate>| trivial(&sheet.baselines, of);
    let judged = or_undefined(quality.precision_labelled.value, share);
    let mut cards = vec![
        Card::share("F1", &quality.f1)
            .noted(["of precision and recall".to_owned()])
            .noted(trivial(|baseline| Some(&baseline.quality.f1))),
        Card::share("Precision", &quality.precision)
            .noted([
                format!("{} of {} reports matched", quality.matched, quality.reported),
                format!("{judged} of the labelled reports"),
            ])
            .noted(trivial(|baseline| Some(&baseline.quality.precision))),
        Card::share("Recall", &quality.recall)
            .noted([format!("{} of {} expected issues", quality.matched, quality.expected)])
            .noted(trivial(|baseline| Some(&baseline.quality.recall))),
    ];
    cards.extend(sheet.scores.paired.as_ref().map(|paired| {
        let credited = paired.matched.saturating_sub(paired.also_on_twin);
        Card::share("Paired recall", &paired.recall)
            .noted([format!("{credited} of {} on the change alone", paired.expected)])
            .noted(trivial(|baseline| baseline.paired_recall.as_ref()))
    }));
    let on_clean = count(quality.clean_reported as usize, "report");
    cards.push(
        Card::share("Clean changes flagged", &quality.clean_flagged)
            .noted([format!("{on_clean} on clean changes")]),
    );
    cards.push(Card {
        name: "Findings per change",
        value: or_undefined(quality.findings_per_change.value, amount),
        interval: interval(&quality.findings_per_change, amount),
        notes: vec![count(quality.reported as usize, "report")],
        meter: None,
    });
    cards
}

impl Card {
    fn share(name: &'static str, estimate: &Estimate) -> Self {
        let value = or_undefined(estimate.value, share);
        let is_defined = value != UNDEFINED;
        Self {
            name,
            interval: interval(estimate, share).filter(|_| is_defined),
            meter: Meter::of(estimate),
            value,
            notes: Vec::new(),
        }
    }

    fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

impl Meter {
    fn of(estimate: &Estimate) -> Option<Self> {
        let value = defined(estimate.value)?.clamp(0.0, 1.0);
        let end = |end: Option<f64>| defined(end).map_or(value, |end| end.clamp(0.0, 1.0));
        let (low, high) = (end(estimate.low), end(estimate.high));
        let shown = |length: f64| format!("{length:.1}");
        Some(Self {
            at: shown(value * (METER - METER_MARK)),
            from: shown(low * METER),
            width: shown((high - low).max(0.0) * METER),
        })
    }
}

/// The best baseline and its name.
fn trivial(baselines: &[Baseline], of: fn(&Baseline) -> Option<&Estimate>) -> Option<String> {
    let named = baselines.iter().filter_map(|baseline| {
        let value = of(baseline).and_then(|estimate| defined(estimate.value))?;
        Some((value, &baseline.name))
    });
    // The first wins on a tie.
    let best = named.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    Some(format!("best baseline: {} ({})", share(best.0), brief(best.1)))
}
