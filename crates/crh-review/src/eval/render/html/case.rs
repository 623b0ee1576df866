//! The view of one case: its expected issues and the reports of each run.

use serde::Serialize;

use super::cases::{Anchors, CaseLink, Room, anchor};
use super::outcome::Told;
use crate::eval::render::brief;
use crate::eval::render::brief::{brief, first};
use crate::eval::render::figures::{count, money, seconds};
use crate::eval::render::trouble::{ending_reason, ending_word};
use crate::eval::{CaseRun, Effort, Ending, Expected, KnownBad, Reported, Sorted, Span};
use crate::finding::Side;
use crate::render::html::prose::{Prose, paragraphs, prose};
use crate::render::html::with_thousands;
use crate::report::Decimal;
use crate::sanitise::{escape_invisible, path};

/// Maximum number of runs per case on the page.
const RUNS_MAX: usize = 5;
/// Maximum number of places per issue and reviewers per report.
const NAMED_MAX: usize = 10;

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
    expected: Vec<ExpectedView>,
    expected_more: usize,
    known_bad: Vec<KnownBadView>,
    known_bad_more: usize,
    runs: Vec<RunView>,
    runs_more: usize,
}

/// A word with a colour.
#[derive(Serialize)]
struct Badge {
    mood: &'static str,
    text: String,
}

#[derive(Serialize)]
struct ExpectedView {
    state: Badge,
    severity: String,
    category: String,
    places: Vec<String>,
    places_more: usize,
    description: Vec<Prose>,
    is_omission: bool,
}

#[derive(Serialize)]
struct KnownBadView {
    place: String,
    description: Vec<Prose>,
}

#[derive(Serialize)]
struct RunView {
    title: Option<String>,
    state: Badge,
    why: Option<Prose>,
    verdict: String,
    summary: Vec<Prose>,
    /// Cost and time, if it was started.
    took: Option<String>,
    /// Whether it completed without reports.
    is_silent: bool,
    reports: Vec<ReportView>,
    reports_more: usize,
}

#[derive(Serialize)]
struct ReportView {
    state: Badge,
    severity: Option<String>,
    category: Option<String>,
    place: String,
    title: Prose,
    text: Vec<Prose>,
    evidence: String,
    confidence: Option<String>,
    reviewers: String,
}

fn badge(mood: &'static str, text: impl Into<String>) -> Badge {
    Badge { mood, text: text.into() }
}

impl CaseView {
    /// The view of a case. Takes its share of the remaining room on the page.
    pub(super) fn of(
        told: &Told<'_>,
        anchors: &Anchors,
        language: Option<usize>,
        room: &mut Room,
    ) -> Self {
        let labels = &told.case.labels;
        let (expected, expected_more) = Room::take(&mut room.labels, &labels.expected);
        let (known_bad, known_bad_more) = Room::take(&mut room.labels, &labels.known_bad);
        let runs = told.case.runs.iter().zip(&told.sorted).enumerate().take(RUNS_MAX);
        let of = told.case.runs.len();
        let runs = runs.map(|(at, (run, sorted))| {
            let title = (of > 1).then(|| format!("Run {} of {of}", at + 1));
            RunView::of(title, run, sorted, room)
        });
        let lines = count(labels.lines as usize, "changed line");
        Self {
            anchor: anchor(&labels.id),
            id: brief(&labels.id),
            title: prose(&brief::line(&told.case.title)),
            about: vec![brief(&labels.language), lines],
            twin_of: labels.twin_of.as_deref().map(|id| anchors.link(id)),
            language,
            outcomes: told.outcomes().into_iter().map(super::outcome::Outcome::class).collect(),
            badges: badges(told),
            expected: expected
                .iter()
                .enumerate()
                .map(|(at, expected)| ExpectedView::of(expected, found_in(told, at)))
                .collect(),
            expected_more,
            known_bad: known_bad.iter().map(KnownBadView::of).collect(),
            known_bad_more,
            runs: runs.collect(),
            runs_more: of.saturating_sub(RUNS_MAX),
        }
    }

    /// Number of labels that are not on the page.
    pub(super) fn labels_left_out(&self) -> usize {
        self.expected_more + self.known_bad_more
    }

    /// Number of reports of the shown runs that are not on the page.
    pub(super) fn reports_left_out(&self) -> usize {
        self.runs.iter().map(|run| run.reports_more).sum()
    }
}

/// Outcomes of a case, in a few words each.
fn badges(told: &Told<'_>) -> Vec<Badge> {
    let runs = || told.case.runs.iter().zip(&told.sorted);
    let sum = |of: fn(&Sorted) -> usize| told.sorted.iter().map(of).sum::<usize>();
    let mut badges = Vec::new();
    for ending in ["failed", "not run", "incomplete"] {
        let number = runs().filter(|(run, _)| ending_word(&run.ending) == ending).count();
        let times = if told.case.runs.len() > 1 { format!("{number} ") } else { String::new() };
        if number > 0 {
            badges.push(badge("bad", format!("{times}{ending}")));
        }
    }
    let numbers = [
        ("good", sum(|sorted| sorted.matched.len()), "found"),
        ("fair", sum(|sorted| sorted.missed.len()), "missed"),
        ("bad", sum(|sorted| sorted.known_bad.len() + sorted.on_clean.len()), "false alarm"),
        ("fair", sum(|sorted| sorted.duplicates.len()), "duplicate"),
        ("calm", sum(|sorted| sorted.unlabelled.len()), "unlabelled"),
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
fn found_in(told: &Told<'_>, at: usize) -> Badge {
    let runs = told.case.runs.iter().zip(&told.sorted);
    let begun = runs.filter(|(run, _)| run.ending.is_begun());
    let found: Vec<bool> = begun
        .map(|(_, sorted)| sorted.matched.iter().any(|(expected, _)| *expected == at))
        .collect();
    let times = found.iter().filter(|is_found| **is_found).count();
    match (times, found.len()) {
        (_, 0) => badge("bad", "not run"),
        (0, _) => badge("fair", "missed"),
        (_, 1) => badge("good", "found"),
        (times, of) => {
            let mood = if times == of { "good" } else { "fair" };
            badge(mood, format!("found in {times} of {of} runs"))
        }
    }
}

impl ExpectedView {
    fn of(expected: &Expected, state: Badge) -> Self {
        let (places, places_more) = first(&expected.spans, NAMED_MAX);
        Self {
            state,
            severity: expected.severity.to_string(),
            category: spaced(&expected.category),
            places: places.iter().map(place).collect(),
            places_more,
            description: text(&expected.description),
            is_omission: expected.omission,
        }
    }
}

impl KnownBadView {
    fn of(known: &KnownBad) -> Self {
        Self { place: place(&known.span), description: text(&known.description) }
    }
}

impl RunView {
    fn of(title: Option<String>, run: &CaseRun, sorted: &Sorted, room: &mut Room) -> Self {
        let (mood, is_ended) = match run.ending {
            Ending::Reviewed => ("good", true),
            Ending::Incomplete(_) => ("fair", true),
            Ending::Failed(_) | Ending::NotRun(_) => ("bad", false),
        };
        let became = |at| match is_ended {
            true => became(sorted, at),
            false => badge("calm", "does not count"),
        };
        let (reports, reports_more) = Room::take(&mut room.reports, &run.reported);
        let reports = reports.iter().enumerate();
        Self {
            title,
            state: badge(mood, ending_word(&run.ending)),
            why: ending_reason(&run.ending).map(|why| prose(&brief::text(why))),
            verdict: brief(&run.verdict),
            summary: text(&run.summary),
            took: run.ending.is_begun().then(|| took(&run.effort)),
            is_silent: is_ended && run.reported.is_empty(),
            reports: reports.map(|(at, of)| ReportView::of(of, became(at))).collect(),
            reports_more,
        }
    }
}

/// Cost and time of a run; model numbers only if a model was used.
fn took(effort: &Effort) -> String {
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
fn became(sorted: &Sorted, at: usize) -> Badge {
    let of = |pairs: &[(usize, usize)]| {
        pairs.iter().find(|(_, reported)| *reported == at).map(|(other, _)| other + 1)
    };
    if let Some(expected) = of(&sorted.matched) {
        badge("good", format!("found issue {expected}"))
    } else if let Some(expected) = of(&sorted.duplicates) {
        badge("fair", format!("issue {expected} again"))
    } else if of(&sorted.known_bad).is_some() {
        badge("bad", "known to be wrong")
    } else if sorted.on_clean.contains(&at) {
        badge("bad", "on a clean change")
    } else {
        badge("calm", "unlabelled")
    }
}

impl ReportView {
    fn of(reported: &Reported, state: Badge) -> Self {
        Self {
            state,
            severity: reported.severity.map(|severity| severity.to_string()),
            category: reported.category.map(|category| spaced(&category)),
            place: place(&reported.span),
            title: prose(&brief::line(&reported.title)),
            text: text(&reported.text),
            evidence: escape_invisible(&brief::text(&reported.evidence)),
            confidence: reported.confidence.map(|confidence| confidence.to_string()),
            reviewers: reviewers(&reported.reviewers),
        }
    }
}

/// Reviewers of a report.
fn reviewers(all: &[String]) -> String {
    let (named, more) = first(all, NAMED_MAX);
    let named: Vec<String> = named.iter().map(|name| brief(name)).collect();
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn place(span: &Span) -> String {
    let (start, end) = (span.line_start(), span.line_end());
    let lines = if start == end { start.to_string() } else { format!("{start}–{end}") };
    let before = match span.side() {
        Side::New => "",
        Side::Old => " (before the change)",
    };
    format!("{}:{lines}{before}", path(&brief::line(span.file())))
}

/// The start of a text, line by line.
fn text(text: &str) -> Vec<Prose> {
    paragraphs(&brief::text(text))
}

/// A name with spaces instead of underscores.
fn spaced(word: &impl ToString) -> String {
    word.to_string().replace('_', " ")
}
