//! Headline numbers, with interval and best baseline.

use serde::Serialize;

use crate::eval::render::brief::short_line;
use crate::eval::render::figures::{
    UNDEFINED, amount, count, defined, format_or_undefined, interval, share,
};
use crate::eval::scores::Estimate;
use crate::eval::{Baseline, Sheet};

/// Length of a meter.
const METER_LENGTH: f64 = 200.0;
/// Width of its mark.
const METER_MARK_WIDTH: f64 = 3.0;

/// One headline number.
#[derive(Serialize)]
pub(super) struct Card {
    name: &'static str,
    value: String,
    interval: Option<String>,
    /// What the number is based on, and the best baseline.
    notes: Vec<String>,
    /// Positions of number and interval on the meter; `None` if the number is not a share, or not
    /// defined.
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
    let baseline_note =
        |metric: fn(&Baseline) -> Option<&Estimate>| best_baseline(&sheet.baselines, metric);
    let labelled_share = format_or_undefined(quality.precision_labelled.value, share);
    let mut cards = vec![
        Card::share("F1", &quality.f1)
            .with_notes(["of precision and recall".to_owned()])
            .with_notes(baseline_note(|baseline| Some(&baseline.quality.f1))),
        Card::share("Precision", &quality.precision)
            .with_notes([
                format!("{} of {} reports matched", quality.matched, quality.reported),
                format!("{labelled_share} of the labelled reports"),
            ])
            .with_notes(baseline_note(|baseline| Some(&baseline.quality.precision))),
        Card::share("Recall", &quality.recall)
            .with_notes([format!("{} of {} expected issues", quality.matched, quality.expected)])
            .with_notes(baseline_note(|baseline| Some(&baseline.quality.recall))),
    ];
    cards.extend(sheet.scores.paired.as_ref().map(|paired| {
        let credited = paired.matched.saturating_sub(paired.also_on_twin);
        Card::share("Paired recall", &paired.recall)
            .with_notes([format!("{credited} of {} on the change alone", paired.expected)])
            .with_notes(baseline_note(|baseline| baseline.paired_recall.as_ref()))
    }));
    let on_clean = count(quality.clean_reported as usize, "report");
    cards.push(
        Card::share("Clean changes flagged", &quality.clean_flagged)
            .with_notes([format!("{on_clean} on clean changes")]),
    );
    cards.push(Card {
        name: "Findings per change",
        value: format_or_undefined(quality.findings_per_change.value, amount),
        interval: interval(&quality.findings_per_change, amount),
        notes: vec![count(quality.reported as usize, "report")],
        meter: None,
    });
    cards
}

impl Card {
    fn share(name: &'static str, estimate: &Estimate) -> Self {
        let value = format_or_undefined(estimate.value, share);
        let is_defined = value != UNDEFINED;
        Self {
            name,
            interval: interval(estimate, share).filter(|_| is_defined),
            meter: Meter::new(estimate),
            value,
            notes: Vec::new(),
        }
    }

    fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

impl Meter {
    fn new(estimate: &Estimate) -> Option<Self> {
        let value = defined(estimate.value)?.clamp(0.0, 1.0);
        let clamped_end = |end: Option<f64>| defined(end).map_or(value, |end| end.clamp(0.0, 1.0));
        let (low, high) = (clamped_end(estimate.low), clamped_end(estimate.high));
        let format_length = |length: f64| format!("{length:.1}");
        Some(Self {
            at: format_length(value * (METER_LENGTH - METER_MARK_WIDTH)),
            from: format_length(low * METER_LENGTH),
            width: format_length((high - low).max(0.0) * METER_LENGTH),
        })
    }
}

/// The best baseline and its name.
fn best_baseline(
    baselines: &[Baseline],
    metric: fn(&Baseline) -> Option<&Estimate>,
) -> Option<String> {
    let values = baselines.iter().filter_map(|baseline| {
        let value = metric(baseline).and_then(|estimate| defined(estimate.value))?;
        Some((value, &baseline.name))
    });
    // The first wins on a tie.
    let best = values.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    Some(format!("best baseline: {} ({})", share(best.0), short_line(best.1)))
}
