//! Texts of a posting. Launchpad shows plain text.

use std::collections::{BTreeMap, BTreeSet};

use super::placement::MergeProposalPlacement;
use crh_review::escape_invisible;
use crh_review::finding::Side;
use crh_review::identity::{issue_marker, review_marker, summary_marker};
use crh_review::report::{Issue, Report};

/// Longest summary, in characters: Launchpad's limit for descriptions.
const SUMMARY_MAX: usize = 50_000;

/// Characters reserved for the signature, which contains the keys of all listed issues.
/// [`ROWS_MAX`] keys need about thirteen thousand.
const SIGNATURE_RESERVE: usize = 15_000;

/// Characters reserved for headings and notes about omissions.
const HEADINGS_RESERVE: usize = 500;

/// Maximum number of issues in a summary. Their keys must fit into [`SIGNATURE_RESERVE`].
const ROWS_MAX: usize = 500;

/// Longest row of an issue, in characters: three lines of a mail.
const ROW_MAX: usize = 240;

/// Longest summary text and longest notes, in characters: a screen of text each.
const PARAGRAPHS_MAX: usize = 4_000;

/// Longest text of a reviewer, such as a title or an explanation, in characters: about a screen of
/// text.
const PROSE_MAX: usize = 4_096;

/// Longest list of models, in characters: three lines of a mail.
const MODEL_MAX: usize = 200;

/// Maximum number of lines of a replacement text: about a screen.
const REPLACEMENT_LINES_MAX: usize = 60;

/// First line of the signature. Launchpad collapses the signature, and mail programs recognise it.
const SIGNATURE: &str = "--";

/// An inline comment. Its last line is a marker: an HTML comment with the key of the issue.
pub(super) fn inline_comment(issue: &Issue, instance: &str) -> String {
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

/// Headings of a summary, each with a filter for the placements of the issues below it.
const HEADINGS: [(&str, PlacementFilter); 3] = [
    ("Inline", |placement| matches!(placement, MergeProposalPlacement::Row(_))),
    ("Still open", |placement| *placement == MergeProposalPlacement::Existing),
    ("Not in the diff", is_in_summary),
];

/// Lists the issues. If space is short, titles take precedence over details, and issues without an
/// inline comment over others.
pub(super) fn summary_body(report: &Report, placements: &[MergeProposalPlacement]) -> SummaryBody {
    let mut text = format!("{}: {}\n", report.verdict, safe_line(&report.verdict_reason));
    if !report.summary.is_empty() {
        let lines: Vec<String> = report.summary.lines().map(safe_line).collect();
        text.push_str(&format!(
            "\n{}",
            cut_to_lines(&format!("{}\n", lines.join("\n")), PARAGRAPHS_MAX)
        ));
    }
    let notes = report.all_warnings().map(|warning| format!("\nNote: {}\n", safe_line(warning)));
    let notes = cut_to_lines(&notes.collect::<String>(), PARAGRAPHS_MAX);
    let reserved = SIGNATURE_RESERVE + HEADINGS_RESERVE + length(&text) + length(&notes);
    let rows_by_key = issue_rows(report, placements, SUMMARY_MAX.saturating_sub(reserved));
    for (heading, is_in_section) in HEADINGS {
        let issues: Vec<&Issue> = issues_in_section(report, placements, is_in_section).collect();
        if issues.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{heading}:\n"));
        let rows: Vec<&String> =
            issues.iter().filter_map(|issue| rows_by_key.get(issue.dedupe_key.as_str())).collect();
        text.extend(rows.iter().map(|row| row.as_str()));
        match issues.len() - rows.len() {
            0 => {}
            omitted => text.push_str(&format!("  and {omitted} more (no space here)\n")),
        }
    }
    text.push_str(&notes);
    SummaryBody { text, keys: rows_by_key.keys().map(|key| (*key).to_owned()).collect() }
}

/// Rows of the issues that fit into `chars_left`, by issue key.
fn issue_rows<'r>(
    report: &'r Report,
    placements: &[MergeProposalPlacement],
    mut chars_left: usize,
) -> BTreeMap<&'r str, String> {
    let mut rows_by_key: BTreeMap<&str, String> = BTreeMap::new();
    let [is_new_inline, is_still_open, is_only_in_summary] =
        HEADINGS.map(|(_, is_in_section)| is_in_section);
    for is_in_section in [is_only_in_summary, is_new_inline, is_still_open] {
        for issue in issues_in_section(report, placements, is_in_section) {
            let row = format!("  {}\n", issue_row(issue));
            let Some(remaining) =
                chars_left.checked_sub(length(&row)).filter(|_| rows_by_key.len() < ROWS_MAX)
            else {
                break;
            };
            chars_left = remaining;
            rows_by_key.insert(&issue.dedupe_key, row);
        }
    }
    for issue in issues_in_section(report, placements, is_only_in_summary) {
        let Some(row) = rows_by_key.get_mut(issue.dedupe_key.as_str()) else { continue };
        let indent = |line: &str| format!("{}\n", format!("    {line}").trim_end());
        let details: String = details(issue).lines().map(indent).collect();
        if let Some(remaining) = chars_left.checked_sub(length(&details)) {
            chars_left = remaining;
            row.push_str(&details);
        }
    }
    rows_by_key
}

fn is_in_summary(placement: &MergeProposalPlacement) -> bool {
    matches!(placement, MergeProposalPlacement::Summary(_))
}

/// Issues whose placement passes the filter.
fn issues_in_section<'r>(
    report: &'r Report,
    placements: &[MergeProposalPlacement],
    is_in_section: PlacementFilter,
) -> impl Iterator<Item = &'r Issue> {
    let issues = report.issues.iter().zip(placements);
    issues.filter(move |(_, placement)| is_in_section(placement)).map(|(issue, _)| issue)
}

/// The summary. Its signature ends with three marker lines, which identify the review and the
/// installation and contain the state for the next posting.
pub(super) fn summary(
    report: &Report,
    body: &SummaryBody,
    instance: &str,
    state_line: &str,
) -> String {
    let model = if report.model_used.is_empty() { "no model" } else { &report.model_used };
    let model = cut(&safe_line(model), MODEL_MAX);
    let author = format!("crh, {model}");
    signed(&body.text, &author, [&review_marker(&report.review_id), state_line], instance)
}

/// A comment that withdraws a vote, with the review marker of the vote and a state line.
pub(super) fn withdrawal(message: &str, markers: [&str; 2], instance: &str) -> String {
    signed(&format!("{message}\n"), "crh", markers, instance)
}

fn signed(text: &str, author: &str, markers: [&str; 2], instance: &str) -> String {
    let [review_line, state_line] = markers;
    let instance_line = summary_marker(instance);
    // The signature has no empty line, because an empty line would end the collapsed part.
    format!("{text}\n{SIGNATURE}\n{author}\n{review_line}\n{instance_line}\n{state_line}\n")
}

/// Whether a comment is a summary of any instance of crh.
pub(super) fn is_crh_summary(text: &str) -> bool {
    let instance_line = text.trim_end().lines().rev().nth(1).unwrap_or_default();
    instance_line.starts_with("<!-- crh:") && instance_line.ends_with(":summary -->")
}

/// Marker lines of a summary of this installation: review, installation, state.
pub(super) fn marker_lines<'t>(instance: &str, text: &'t str) -> Option<[&'t str; 3]> {
    let mut lines = text.trim_end().lines().rev();
    let (state_line, instance_line, review_line) = (lines.next()?, lines.next()?, lines.next()?);
    (instance_line == summary_marker(instance)).then_some([review_line, instance_line, state_line])
}

/// Cuts a long text at the end of a line.
fn cut_to_lines(text: &str, max_chars: usize) -> String {
    const SHORTENED: &str = "\n(Shortened.)\n";
    if length(text) <= max_chars {
        return text.to_owned();
    }
    let mut chars_left = max_chars.saturating_sub(SHORTENED.len());
    let mut shortened = String::new();
    for line in text.split_inclusive('\n') {
        let Some(remaining) = chars_left.checked_sub(length(line)) else { break };
        chars_left = remaining;
        shortened.push_str(line);
    }
    shortened.push_str(SHORTENED);
    shortened
}

fn issue_row(issue: &Issue) -> String {
    let location = &issue.location;
    let side = match location.side {
        Side::Old => " (removed)",
        Side::New => "",
    };
    let (number, severity) = (issue.number, issue.severity);
    let (file, line) = (safe_line(&location.file), location.line_start);
    let row = format!("#{number} {severity} {file}:{line}{side}: {}", safe_line(&issue.title));
    cut(&row, ROW_MAX)
}

fn details(issue: &Issue) -> String {
    let mut text = format!("{}\n", safe_line(&issue.why_it_matters));
    if let Some(fix) = &issue.suggested_fix {
        text.push_str(&format!("\nFix: {}\n", safe_line(fix)));
    }
    if let Some(replacement) = &issue.replacement {
        text.push_str("\nReplace with:\n");
        for line in escape_invisible(replacement).lines().take(REPLACEMENT_LINES_MAX) {
            // The indentation prevents a quoted marker from counting: markers are at the start of a
            // line.
            text.push_str(&format!("    {}\n", cut(line, PROSE_MAX)));
        }
    }
    let reviewers = safe_line(&issue.reviewers.join(", "));
    text.push_str(&format!("\n({reviewers}, confidence {})\n", issue.confidence));
    text
}

/// Makes a reviewer's text one line without invisible characters or markers.
fn safe_line(text: &str) -> String {
    let visible = escape_invisible(text);
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line.replace("<!--", "<! --"), PROSE_MAX)
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}
