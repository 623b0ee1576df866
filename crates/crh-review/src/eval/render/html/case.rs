//! The view of one case: its expected issues and the reports of each run.

use serde::Serialize;
use serde_json::{Value, json};

use super::cases::{Anchors, CaseLink, PageBudget, anchor};
use super::outcome::ClassifiedCase;
use crate::eval::render::brief;
use crate::eval::render::brief::{short_line, split_listed};
use crate::eval::render::figures::{count, money, seconds};
use crate::eval::render::run_problems::{ending_reason, ending_word};
use crate::eval::{CaseRun, Effort, Ending, Expected, KnownBad, ReportClasses, Reported, Span};
use crate::finding::Side;
use crate::render::html::prose::{Prose, paragraphs, prose};
use crate::render::html::with_thousands;
use crate::report::Decimal;
use crate::sanitise::{escape_invisible, path};

/// Maximum number of runs per case on the page.
const RUNS_MAX: usize = 5;
/// Maximum number of places per issue and reviewers per report.
const LISTED_MAX: usize = 10;

#[derive(Serialize)]
pub(super) struct CaseView {
    anchor: String,
    id: String,
    title: Prose,
    about: Vec<String>,
    twin_of: Option<CaseLink>,
    /// Index of its language in the filter.
    language: Option<usize>,
    outcomes: Vec<&'static str>,
    badges: Vec<Badge>,
    expected: Vec<Value>,
    expected_more: usize,
    known_bad: Vec<Value>,
    known_bad_more: usize,
    runs: Vec<RunView>,
    runs_more: usize,
}

/// A word with a colour.
#[derive(Serialize)]
struct Badge {
    /// CSS class of the colour: `good`, `fair`, `bad` or `calm`.
    mood: &'static str,
    text: String,
}

#[derive(Serialize)]
struct RunView {
    title: Option<String>,
    state: Badge,
    why: Option<Prose>,
    verdict: String,
    summary: Vec<Prose>,
    /// Cost and time, if the run was started.
    took: Option<String>,
    /// Whether the run reviewed the change and reported nothing.
    is_silent: bool,
    reports: Vec<Value>,
    reports_more: usize,
}

fn badge(mood: &'static str, text: impl Into<String>) -> Badge {
    Badge { mood, text: text.into() }
}

impl CaseView {
    /// The view of a case, with as many labels and reports as the page budget allows.
    pub(super) fn new(
        classified: &ClassifiedCase<'_>,
        anchors: &Anchors,
        language: Option<usize>,
        budget: &mut PageBudget,
    ) -> Self {
        let labels = &classified.case.labels;
        let (expected, expected_more) = PageBudget::take(&mut budget.labels, &labels.expected);
        let (known_bad, known_bad_more) = PageBudget::take(&mut budget.labels, &labels.known_bad);
        let runs = classified.case.runs.iter().zip(&classified.classes).enumerate().take(RUNS_MAX);
        let run_count = classified.case.runs.len();
        let runs = runs.map(|(index, (run, classes))| {
            let title = (run_count > 1).then(|| format!("Run {} of {run_count}", index + 1));
            RunView::new(title, run, classes, budget)
        });
        let lines = count(labels.lines as usize, "changed line");
        Self {
            anchor: anchor(&labels.id),
            id: short_line(&labels.id),
            title: prose(&brief::line(&classified.case.title)),
            about: vec![short_line(&labels.language), lines],
            twin_of: labels.twin_of.as_deref().map(|id| anchors.link(id)),
            language,
            outcomes: classified
                .outcomes()
                .into_iter()
                .map(super::outcome::CaseOutcome::class)
                .collect(),
            badges: badges(classified),
            expected: expected
                .iter()
                .enumerate()
                .map(|(index, expected)| expected_view(expected, &found_badge(classified, index)))
                .collect(),
            expected_more,
            known_bad: known_bad.iter().map(known_bad_view).collect(),
            known_bad_more,
            runs: runs.collect(),
            runs_more: run_count.saturating_sub(RUNS_MAX),
        }
    }

    /// Number of labels that are not on the page.
    pub(super) fn omitted_labels(&self) -> usize {
        self.expected_more + self.known_bad_more
    }

    /// Number of reports of the shown runs that are not on the page.
    pub(super) fn omitted_reports(&self) -> usize {
        self.runs.iter().map(|run| run.reports_more).sum()
    }
}

/// Outcomes of a case, in a few words each.
fn badges(classified: &ClassifiedCase<'_>) -> Vec<Badge> {
    let runs = || classified.case.runs.iter().zip(&classified.classes);
    let sum = |count_in: fn(&ReportClasses) -> usize| {
        classified.classes.iter().map(count_in).sum::<usize>()
    };
    let mut badges = Vec::new();
    for ending in ["failed", "not run", "incomplete"] {
        let number = runs().filter(|(run, _)| ending_word(&run.ending) == ending).count();
        let times =
            if classified.case.runs.len() > 1 { format!("{number} ") } else { String::new() };
        if number > 0 {
            badges.push(badge("bad", format!("{times}{ending}")));
        }
    }
    let numbers = [
        ("good", sum(|classes| classes.matched.len()), "found"),
        ("fair", sum(|classes| classes.missed.len()), "missed"),
        ("bad", sum(|classes| classes.known_bad.len() + classes.on_clean.len()), "false alarm"),
        ("fair", sum(|classes| classes.duplicates.len()), "duplicate"),
        ("calm", sum(|classes| classes.unlabelled.len()), "unlabelled"),
    ];
    for (mood, number, word) in numbers {
        if number > 0 {
            let ending = if number > 1 && word == "false alarm" { "s" } else { "" };
            badges.push(badge(mood, format!("{number} {word}{ending}")));
        }
    }
    if badges.is_empty() {
        badges.push(badge("good", "quiet"));
    }
    badges
}

/// In how many of the started runs an expected issue was found.
fn found_badge(classified: &ClassifiedCase<'_>, issue_index: usize) -> Badge {
    let runs = classified.case.runs.iter().zip(&classified.classes);
    let started_runs = runs.filter(|(run, _)| run.ending.is_started());
    let found_in_runs: Vec<bool> = started_runs
        .map(|(_, classes)| classes.matched.iter().any(|(expected, _)| *expected == issue_index))
        .collect();
    let times = found_in_runs.iter().filter(|is_found| **is_found).count();
    match (times, found_in_runs.len()) {
        (_, 0) => badge("bad", "not run"),
        (0, _) => badge("fair", "missed"),
        (_, 1) => badge("good", "found"),
        (times, run_count) => {
            let mood = if times == run_count { "good" } else { "fair" };
            badge(mood, format!("found in {times} of {run_count} runs"))
        }
    }
}

fn expected_view(expected: &Expected, state: &Badge) -> Value {
    let (places, places_more) = split_listed(&expected.spans, LISTED_MAX);
    json!({
        "state": state,
        "severity": expected.severity,
        "category": expected.category.map(|category| with_spaces(&category)),
        "places": places.iter().map(location_text).collect::<Vec<_>>(),
        "places_more": places_more,
        "description": text(&expected.description),
        "is_omission": expected.omission,
    })
}

fn known_bad_view(label: &KnownBad) -> Value {
    json!({ "place": location_text(&label.span), "description": text(&label.description) })
}

impl RunView {
    fn new(
        title: Option<String>,
        run: &CaseRun,
        classes: &ReportClasses,
        budget: &mut PageBudget,
    ) -> Self {
        let (mood, is_counted) = match run.ending {
            Ending::Reviewed => ("good", true),
            Ending::Incomplete(_) => ("fair", true),
            Ending::Failed(_) | Ending::NotRun(_) => ("bad", false),
        };
        let badge_for = |report_index| match is_counted {
            true => report_badge(classes, report_index),
            false => badge("calm", "does not count"),
        };
        let (reports, reports_more) = PageBudget::take(&mut budget.reports, &run.reported);
        let reports = reports.iter().enumerate();
        Self {
            title,
            state: badge(mood, ending_word(&run.ending)),
            why: ending_reason(&run.ending).map(|reason| prose(&brief::text(reason))),
            verdict: short_line(&run.verdict),
            summary: text(&run.summary),
            took: run.ending.is_started().then(|| effort_text(&run.effort)),
            is_silent: is_counted && run.reported.is_empty(),
            reports: reports
                .map(|(report_index, report)| report_view(report, &badge_for(report_index)))
                .collect(),
            reports_more,
        }
    }
}

/// Cost and time of a run; model numbers only if a model was used.
fn effort_text(effort: &Effort) -> String {
    let time = seconds(effort.latency_ms as f64 / 1e3);
    if effort.llm_calls == 0 && effort.cost_usd == Decimal(0) {
        return time;
    }
    let parts = [
        money(effort.cost_usd.0 as f64 / 1e6),
        time,
        count(effort.llm_calls as usize, "model call"),
        format!("{} tokens sent", with_thousands(effort.tokens.input)),
        format!("{} received", with_thousands(effort.tokens.output)),
    ];
    parts.join(" · ")
}

/// Outcome of a report.
fn report_badge(classes: &ReportClasses, report_index: usize) -> Badge {
    let label_number = |pairs: &[(usize, usize)]| {
        pairs.iter().find(|(_, reported)| *reported == report_index).map(|(label, _)| label + 1)
    };
    if let Some(expected) = label_number(&classes.matched) {
        badge("good", format!("found issue {expected}"))
    } else if let Some(expected) = label_number(&classes.duplicates) {
        badge("fair", format!("issue {expected} again"))
    } else if label_number(&classes.known_bad).is_some() {
        badge("bad", "known to be wrong")
    } else if classes.on_clean.contains(&report_index) {
        badge("bad", "on a clean change")
    } else {
        badge("calm", "unlabelled")
    }
}

fn report_view(reported: &Reported, state: &Badge) -> Value {
    json!({
        "state": state,
        "severity": reported.severity,
        "category": reported.category.map(|category| with_spaces(&category)),
        "place": location_text(&reported.span),
        "title": prose(&brief::line(&reported.title)),
        "text": text(&reported.text),
        "evidence": escape_invisible(&brief::text(&reported.evidence)),
        "confidence": reported.confidence.map(|confidence| confidence.to_string()),
        "reviewers": reviewer_names(&reported.reviewers),
    })
}

/// Reviewers of a report.
fn reviewer_names(names: &[String]) -> String {
    let (listed, omitted) = split_listed(names, LISTED_MAX);
    let listed: Vec<String> = listed.iter().map(|name| short_line(name)).collect();
    match omitted {
        0 => listed.join(", "),
        omitted => format!("{} and {omitted} more", listed.join(", ")),
    }
}

fn location_text(span: &Span) -> String {
    let (start, end) = (span.line_start(), span.line_end());
    let lines = if start == end { start.to_string() } else { format!("{start}–{end}") };
    let side_note = match span.side() {
        Side::New => "",
        Side::Old => " (before the change)",
    };
    format!("{}:{lines}{side_note}", path(&brief::line(span.file())))
}

/// The start of a text, line by line.
fn text(text: &str) -> Vec<Prose> {
    paragraphs(&brief::text(text))
}

/// A name with spaces instead of underscores.
fn with_spaces(word: &impl ToString) -> String {
    word.to_string().replace('_', " ")
}
