//! Renders a comparison as text and Markdown.

use super::brief::{short_line, split_listed};
use super::figures::{count, defined, fine, format_or_undefined, signed};
use super::sections::{SectionTable, TableRow};
use super::{markdown, text};
use crate::eval::bootstrap::MIN_CASES;
use crate::eval::{Better, Comparison, Difference, Flip};
use crate::sanitise;

/// Maximum number of listed flipped or excluded cases.
const LISTED_MAX: usize = 50;

/// The comparison as text for a terminal.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut out = text::line("", &format!("Before: {}", short_line(&comparison.before)));
    out.push_str(&text::line("", &format!("After:  {}", short_line(&comparison.after))));
    out.push_str(&text::sentence(&cases_line(comparison)));
    out.push_str("\nWhat changed\n");
    out.push_str(&text::table(&differences(comparison)));
    let (flips, omitted) = listed_flips(comparison, LISTED_MAX);
    out.push_str("\nCases that flipped\n");
    for flip in &flips {
        let line_text = format!(
            "{:<6}  {}: {}",
            flip_word(flip),
            short_line(&flip.case),
            short_line(&flip.what)
        );
        out.push_str(&text::line("  ", &line_text));
    }
    out.push_str(&text_rest(flips.len(), omitted));
    if !comparison.left_out.is_empty() {
        let (excluded, omitted) = split_listed(&comparison.left_out, LISTED_MAX);
        out.push_str(&format!("\n{EXCLUDED_TITLE}\n"));
        for case in excluded {
            out.push_str(&text::line("  ", &short_line(case)));
        }
        out.push_str(&text_rest(1, omitted));
    }
    out
}

/// The comparison as Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = format!(
        "## Evaluations compared\n\n**Before:** {}<br>\n**After:** {}\n\n{}\n\n### What changed\n\n{}",
        markdown::prose(&short_line(&comparison.before)),
        markdown::prose(&short_line(&comparison.after)),
        cases_line(comparison),
        markdown::table(&differences(comparison)),
    );
    let (flips, omitted) = listed_flips(comparison, LISTED_MAX);
    out.push_str("\n### Cases that flipped\n\n");
    for flip in &flips {
        let case = sanitise::code_span(&short_line(&flip.case));
        out.push_str(&format!(
            "- {}: {case}: {}\n",
            flip_word(flip),
            markdown::prose(&short_line(&flip.what))
        ));
    }
    out.push_str(&markdown_rest(flips.len(), omitted));
    if !comparison.left_out.is_empty() {
        let (excluded, omitted) = split_listed(&comparison.left_out, LISTED_MAX);
        out.push_str(&format!("\n### {EXCLUDED_TITLE}\n\n"));
        for case in excluded {
            out.push_str(&format!("- {}\n", sanitise::code_span(&short_line(case))));
        }
        out.push_str(&markdown_rest(1, omitted));
    }
    out
}

/// Heading of the list of excluded cases.
pub(super) const EXCLUDED_TITLE: &str =
    "Excluded: in only one evaluation, labelled differently, or without a common repeat";

fn text_rest(listed_count: usize, omitted_count: usize) -> String {
    remainder_text(listed_count, omitted_count)
        .map(|rest| format!("  {rest}\n"))
        .unwrap_or_default()
}

fn markdown_rest(listed_count: usize, omitted_count: usize) -> String {
    remainder_text(listed_count, omitted_count)
        .map(|rest| format!("- {rest}\n"))
        .unwrap_or_default()
}

fn remainder_text(listed_count: usize, omitted_count: usize) -> Option<String> {
    match (listed_count, omitted_count) {
        (0, _) => Some("none".to_owned()),
        (_, 0) => None,
        (_, omitted_count) => Some(format!("and {omitted_count} more")),
    }
}

/// Number of compared cases.
pub(super) fn cases_line(comparison: &Comparison) -> String {
    let excluded_text = match comparison.left_out.len() {
        0 => String::new(),
        excluded_count => format!(", {excluded_count} excluded"),
    };
    let runs_text = match comparison.runs_left_out {
        0 => String::new(),
        run_count => format!(", without {} in only one of them", count(run_count as usize, "run")),
    };
    format!(
        "{} in both{excluded_text}{runs_text}. A difference is significant if its interval excludes zero \
         and at least {MIN_CASES} cases differ.",
        count(comparison.cases as usize, "case")
    )
}

/// Metrics of both evaluations.
pub(super) fn differences(comparison: &Comparison) -> SectionTable {
    let rows = comparison.differences.iter().map(|difference| TableRow {
        name: metric_name(&difference.metric),
        cells: vec![
            format_or_undefined(difference.before, fine),
            format_or_undefined(difference.after, fine),
            format_or_undefined(difference.change.value, signed),
            change_interval(difference),
            meaning(difference).words().to_owned(),
        ],
    });
    SectionTable {
        columns: vec!["Number", "Before", "After", "Change", "95 % interval", "Meaning"],
        rows: rows.collect(),
    }
}

/// Display name of a metric.
fn metric_name(name: &str) -> String {
    match name {
        "f1" => "F1".to_owned(),
        "comment_f1" => "comment F1".to_owned(),
        "clean_flagged" => "clean changes flagged".to_owned(),
        "cost_usd_per_run" => "cost per run, USD".to_owned(),
        "latency_seconds_median" => "median time per run, s".to_owned(),
        other_name => short_line(other_name).replace('_', " "),
    }
}

fn change_interval(difference: &Difference) -> String {
    let interval_ends = defined(difference.change.low).zip(defined(difference.change.high));
    interval_ends
        .map_or_else(String::new, |(low, high)| format!("{} to {}", signed(low), signed(high)))
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

    /// CSS class of the colour.
    pub(super) fn css_class(self) -> &'static str {
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
    let has_risen = change > 0.0;
    match (difference.is_real, difference.better) {
        (true, Better::More) if has_risen => Meaning::Better,
        (true, Better::Less) if !has_risen => Meaning::Better,
        (true, Better::More | Better::Less) => Meaning::Worse,
        (true, Better::Neither) => Meaning::Other,
        (false, _) if change == 0.0 => Meaning::Same,
        (false, _) => Meaning::Chance,
    }
}

/// The listed flips, regressions first, and the number of the others.
pub(super) fn listed_flips(comparison: &Comparison, max_flips: usize) -> (Vec<&Flip>, usize) {
    let flips = &comparison.flips;
    let regressions = flips.iter().filter(|flip| !flip.is_better);
    let improvements = flips.iter().filter(|flip| flip.is_better);
    let listed = regressions.chain(improvements).take(max_flips).collect();
    (listed, flips.len().saturating_sub(max_flips))
}

fn flip_word(flip: &Flip) -> &'static str {
    if flip.is_better { "better" } else { "worse" }
}
