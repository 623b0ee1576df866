//! Texts of a posting. Launchpad shows plain text.

use std::collections::{BTreeMap, BTreeSet};

use super::placement::MergeProposalPlacement;
use crh_review::escape_invisible;
use crh_review::finding::Side;
use crh_review::identity::{issue_marker, review_marker, summary_marker};
use crh_review::report::{Issue, Report};

/// Longest summary, in characters: Launchpad's limit for descriptions. Each is sent as a mail.
const SUMMARY_MAX: usize = 50_000;

/// Characters reserved for the signature. The keys of all listed issues need about thirteen
/// thousand.
const SIGNATURE_RESERVE: usize = 15_000;

/// Characters reserved for headings and notes about omissions.
const HEADINGS_RESERVE: usize = 500;

/// Most issues in a summary.
const ROWS_MAX: usize = 500;

/// Longest row of an issue, in characters: three lines of a mail.
const ROW_MAX: usize = 240;

/// Longest summary text and longest notes, in characters: a screen each.
const PARAGRAPHS_MAX: usize = 4_000;

/// Longest single text of a reviewer, in characters.
const PROSE_MAX: usize = 4_096;

/// Longest list of models, in characters.
const MODEL_MAX: usize = 200;

/// Most lines of a replacement text.
const REPLACEMENT_LINES_MAX: usize = 60;

/// First line of the signature. Launchpad folds the paragraph; mail programs recognise it.
const SIGNATURE: &str = "--";

/// An inline comment. The marker is its last line.
pub(super) fn inline(issue: &Issue, instance: &str) -> String {
    let marker = issue_marker(instance, &issue.dedupe_key);
    format!("{}: {}\n\n{}\n{marker}\n", issue.severity, safe_line(&issue.title), details(issue))
}

/// Visible part of a summary.
pub(super) struct SummaryBody {
    text: String,
    /// Keys of the listed issues.
    pub(super) keys: BTreeSet<String>,
}

type PlacementFilter = fn(&MergeProposalPlacement) -> bool;

/// Headings of a summary, with the placements below each.
const HEADINGS: [(&str, PlacementFilter); 3] = [
    ("Inline", |place| matches!(place, MergeProposalPlacement::Line(_))),
    ("Still open", |place| *place == MergeProposalPlacement::Existing),
    ("Not in the diff", is_in_summary),
];

/// Lists the issues. If space is short, titles come before details, and issues without an inline
/// comment before others.
pub(super) fn summary_body(report: &Report, placements: &[MergeProposalPlacement]) -> SummaryBody {
    let mut text = format!("{}: {}\n", report.verdict, safe_line(&report.verdict_reason));
    if !report.summary.is_empty() {
        let lines: Vec<String> = report.summary.lines().map(safe_line).collect();
        text.push_str(&format!(
            "\n{}",
            cut_to_lines(&format!("{}\n", lines.join("\n")), PARAGRAPHS_MAX)
        ));
    }
    let notes = report.warnings.iter().map(|warning| format!("\nNote: {}\n", safe_line(warning)));
    let notes = cut_to_lines(&notes.collect::<String>(), PARAGRAPHS_MAX);
    let taken = SIGNATURE_RESERVE + HEADINGS_RESERVE + length(&text) + length(&notes);
    let shown = issue_rows(report, placements, SUMMARY_MAX.saturating_sub(taken));
    for (heading, is_under) in HEADINGS {
        let under: Vec<&Issue> = issues_placed(report, placements, is_under).collect();
        if under.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{heading}:\n"));
        let rows: Vec<&String> =
            under.iter().filter_map(|issue| shown.get(issue.dedupe_key.as_str())).collect();
        text.extend(rows.iter().map(|row| row.as_str()));
        match under.len() - rows.len() {
            0 => {}
            more => text.push_str(&format!("  and {more} more (no space here)\n")),
        }
    }
    text.push_str(&notes);
    SummaryBody { text, keys: shown.keys().map(|key| (*key).to_owned()).collect() }
}

/// Rows of the issues that fit, by key.
fn issue_rows<'r>(
    report: &'r Report,
    placements: &[MergeProposalPlacement],
    mut room: usize,
) -> BTreeMap<&'r str, String> {
    let mut shown: BTreeMap<&str, String> = BTreeMap::new();
    let [beside, stands, here] = HEADINGS.map(|(_, is_under)| is_under);
    for is_under in [here, beside, stands] {
        for issue in issues_placed(report, placements, is_under) {
            let row = format!("  {}\n", row(issue));
            let Some(left) = room.checked_sub(length(&row)).filter(|_| shown.len() < ROWS_MAX)
            else {
                break;
            };
            room = left;
            shown.insert(&issue.dedupe_key, row);
        }
    }
    for issue in issues_placed(report, placements, here) {
        let Some(row) = shown.get_mut(issue.dedupe_key.as_str()) else { continue };
        let indented = |line: &str| format!("{}\n", format!("    {line}").trim_end());
        let details: String = details(issue).lines().map(indented).collect();
        if let Some(left) = room.checked_sub(length(&details)) {
            room = left;
            row.push_str(&details);
        }
    }
    shown
}

fn is_in_summary(placement: &MergeProposalPlacement) -> bool {
    matches!(placement, MergeProposalPlacement::Summary(_))
}

/// Issues with a placement of this kind.
fn issues_placed<'r>(
    report: &'r Report,
    placements: &[MergeProposalPlacement],
    is_under: PlacementFilter,
) -> impl Iterator<Item = &'r Issue> {
    let issues = report.issues.iter().zip(placements);
    issues.filter(move |(_, place)| is_under(place)).map(|(issue, _)| issue)
}

/// The summary. Its signature ends with three marker lines for programs: the review, the instance,
/// and the state for the next posting.
pub(super) fn summary(report: &Report, body: &SummaryBody, instance: &str, last: &str) -> String {
    let model = if report.model_used.is_empty() { "no model" } else { &report.model_used };
    let model = cut(&safe_line(model), MODEL_MAX);
    let marks = [review_marker(&report.review_id), summary_marker(instance), last.to_owned()];
    // One paragraph: an empty line would end the fold.
    format!("{}\n{SIGNATURE}\ncrh, {model}\n{}\n", body.text, marks.join("\n"))
}

/// Whether a comment is a summary of any instance of crh.
pub(super) fn is_crh_summary(text: &str) -> bool {
    let whose = text.trim_end().lines().rev().nth(1).unwrap_or_default();
    whose.starts_with("<!-- crh:") && whose.ends_with(":summary -->")
}

/// Marker lines of a summary of this instance: review, instance, state.
pub(super) fn marker_lines<'t>(instance: &str, text: &'t str) -> Option<[&'t str; 3]> {
    let mut lines = text.trim_end().lines().rev();
    let (kept, whose, which) = (lines.next()?, lines.next()?, lines.next()?);
    (whose == summary_marker(instance)).then_some([which, whose, kept])
}

/// Cuts a text to whole lines.
fn cut_to_lines(text: &str, room: usize) -> String {
    const LEFT_OUT: &str = "\n(Shortened.)\n";
    if length(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(LEFT_OUT.len());
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let Some(rest) = left.checked_sub(length(line)) else { break };
        left = rest;
        out.push_str(line);
    }
    out.push_str(LEFT_OUT);
    out
}

fn row(issue: &Issue) -> String {
    let place = &issue.location;
    let side = match place.side {
        Side::Old => " (removed)",
        Side::New => "",
    };
    let (number, severity) = (issue.number, issue.severity);
    let (file, line) = (safe_line(&place.file), place.line_start);
    let row = format!("#{number} {severity} {file}:{line}{side}: {}", safe_line(&issue.title));
    cut(&row, ROW_MAX)
}

fn details(issue: &Issue) -> String {
    let mut text = format!("{}\n", safe_line(&issue.why_it_matters));
    if let Some(fix) = &issue.suggested_fix {
        text.push_str(&format!("\nFix: {}\n", safe_line(fix)));
    }
    if let Some(new) = &issue.replacement {
        text.push_str("\nReplace with:\n");
        for line in escape_invisible(new).lines().take(REPLACEMENT_LINES_MAX) {
            // Indented, because markers are at the start of a line.
            text.push_str(&format!("    {}\n", cut(line, PROSE_MAX)));
        }
    }
    let by = safe_line(&issue.reviewers.join(", "));
    text.push_str(&format!("\n({by}, confidence {})\n", issue.confidence));
    text
}

/// Makes a reviewer's text one line without invisible characters or markers.
fn safe_line(text: &str) -> String {
    let shown = escape_invisible(text);
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line.replace("<!--", "<! --"), PROSE_MAX)
}

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}
