//! Renders a comparison as text and Markdown.

use super::brief::{brief, first};
use super::figures::{count, defined, fine, or_undefined, signed};
use super::sections::{Row, Table};
use super::{markdown, text};
use crate::eval::bootstrap::LEAST_CASES;
use crate::eval::{Better, Comparison, Difference, Flip};
use crate::sanitise;

/// Maximum number of listed flipped or excluded cases.
const LISTED_MAX: usize = 50;

/// The comparison as text for a terminal.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut out = text::line("", &format!("Before: {}", brief(&comparison.before)));
    out.push_str(&text::line("", &format!("After:  {}", brief(&comparison.after))));
    out.push_str(&text::sentence(&cases_line(comparison)));
    out.push_str("\nWhat changed\n");
    out.push_str(&text::table(&differences(comparison)));
    let (flips, more) = flips(comparison, LISTED_MAX);
    out.push_str("\nCases that flipped\n");
    for flip in &flips {
        let what = format!("{:<6}  {}: {}", word(flip), brief(&flip.case), brief(&flip.what));
        out.push_str(&text::line("  ", &what));
    }
    out.push_str(&text_rest(flips.len(), more));
    if !comparison.left_out.is_empty() {
        let (left_out, more) = first(&comparison.left_out, LISTED_MAX);
        out.push_str(&format!("\n{LEFT_OUT}\n"));
        for case in left_out {
            out.push_str(&text::line("  ", &brief(case)));
        }
        out.push_str(&text_rest(1, more));
    }
    out
}

/// The comparison as Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = format!(
        "## Evaluations compared\n\n**Before:** {}<br>\n**After:** {}\n\n{}\n\n### What changed\n\n{}",
        markdown::prose(&brief(&comparison.before)),
        markdown::prose(&brief(&comparison.after)),
        cases_line(comparison),
        markdown::table(&differences(comparison)),
    );
    let (flips, more) = flips(comparison, LISTED_MAX);
    out.push_str("\n### Cases that flipped\n\n");
    for flip in &flips {
        let case = sanitise::code_span(&brief(&flip.case));
        out.push_str(&format!(
            "- {}: {case}: {}\n",
            word(flip),
            markdown::prose(&brief(&flip.what))
        ));
    }
    out.push_str(&markdown_rest(flips.len(), more));
    if !comparison.left_out.is_empty() {
        let (left_out, more) = first(&comparison.left_out, LISTED_MAX);
        out.push_str(&format!("\n### {LEFT_OUT}\n\n"));
        for case in left_out {
            out.push_str(&format!("- {}\n", sanitise::code_span(&brief(case))));
        }
        out.push_str(&markdown_rest(1, more));
    }
    out
}

/// Why a case is excluded.
pub(super) const LEFT_OUT: &str =
    "Excluded: in only one evaluation, labelled differently, or without a common repeat";

fn text_rest(listed: usize, more: usize) -> String {
    rest(listed, more).map(|rest| format!("  {rest}\n")).unwrap_or_default()
}

fn markdown_rest(listed: usize, more: usize) -> String {
    rest(listed, more).map(|rest| format!("- {rest}\n")).unwrap_or_default()
}

fn rest(listed: usize, more: usize) -> Option<String> {
    match (listed, more) {
        (0, _) => Some("none".to_owned()),
        (_, 0) => None,
        (_, more) => Some(format!("and {more} more")),
    }
}

/// Number of compared cases.
pub(super) fn cases_line(comparison: &Comparison) -> String {
    let left_out = match comparison.left_out.len() {
        0 => String::new(),
        left_out => format!(", {left_out} excluded"),
    };
    let runs = match comparison.runs_left_out {
        0 => String::new(),
        runs => format!(", without {} in only one of them", count(runs as usize, "run")),
    };
    format!(
        "{} in both{left_out}{runs}. A difference is significant if its interval excludes zero \
         and at least {LEAST_CASES} cases differ.",
        count(comparison.cases as usize, "case")
    )
}

/// Metrics of both evaluations.
pub(super) fn differences(comparison: &Comparison) -> Table {
    let rows = comparison.differences.iter().map(|difference| Row {
        name: metric(&difference.metric),
        cells: vec![
            or_undefined(difference.before, fine),
            or_undefined(difference.after, fine),
            or_undefined(difference.change.value, signed),
            change_interval(difference),
            meaning(difference).words().to_owned(),
        ],
    });
    Table {
        columns: vec!["Number", "Before", "After", "Change", "95 % interval", "Meaning"],
        rows: rows.collect(),
    }
}

/// Display name of a metric.
fn metric(name: &str) -> String {
    match name {
        "f1" => "F1".to_owned(),
        "clean_flagged" => "clean changes flagged".to_owned(),
        "cost_usd_per_run" => "cost per run, USD".to_owned(),
        "latency_seconds_median" => "median time per run, s".to_owned(),
        other => brief(other).replace('_', " "),
    }
}

fn change_interval(difference: &Difference) -> String {
    let ends = defined(difference.change.low).zip(defined(difference.change.high));
    ends.map_or_else(String::new, |(low, high)| format!("{} to {}", signed(low), signed(high)))
}

/// What a difference means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Better,
    Worse,
    Other,
    Chance,
    Same,
    Unknown,
}

impl Meaning {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Better => "significantly better",
            Self::Worse => "significantly worse",
            Self::Other => "significantly different",
            Self::Chance => "not significant",
            Self::Same => "the same",
            Self::Unknown => "not defined",
        }
    }

    /// Its CSS class.
    pub(super) fn mood(self) -> &'static str {
        match self {
            Self::Better => "good",
            Self::Worse => "bad",
            Self::Other | Self::Chance | Self::Same | Self::Unknown => "calm",
        }
    }
}

/// What a difference means.
pub(super) fn meaning(difference: &Difference) -> Meaning {
    let Some(change) = defined(difference.change.value) else { return Meaning::Unknown };
    let is_more = change > 0.0;
    match (difference.is_real, difference.better) {
        (true, Better::More) if is_more => Meaning::Better,
        (true, Better::Less) if !is_more => Meaning::Better,
        (true, Better::More | Better::Less) => Meaning::Worse,
        (true, Better::Neither) => Meaning::Other,
        (false, _) if change == 0.0 => Meaning::Same,
        (false, _) => Meaning::Chance,
    }
}

/// The listed flips, regressions first, and the number of the others.
pub(super) fn flips(comparison: &Comparison, most: usize) -> (Vec<&Flip>, usize) {
    let flips = &comparison.flips;
    let worse = flips.iter().filter(|flip| !flip.is_better);
    let better = flips.iter().filter(|flip| flip.is_better);
    let listed = worse.chain(better).take(most).collect();
    (listed, flips.len().saturating_sub(most))
}

fn word(flip: &Flip) -> &'static str {
    if flip.is_better { "better" } else { "worse" }
}
