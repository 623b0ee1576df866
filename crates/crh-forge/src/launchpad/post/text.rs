//! The texts of a posting. Launchpad shows them as they are, without any form: so they are plain. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::places::Place;
use crh_review::finding::Side;
use crh_review::identity::{issue_marker, review_marker, summary_marker};
use crh_review::report::{Issue, Report};
use crh_review::visible;

/// The longest summary, in characters: as long as Launchpad lets a description be. Each is sent as a mail.
const SUMMARY_MAX: usize = 50_000;

/// How much of that is for the signature, in characters: the keys of as many issues as have a row are some thirteen thousand.
const SIGNATURE_ROOM: usize = 15_000;

/// How much is for headings, and for what is said of what does not fit, in characters.
const HEADINGS_ROOM: usize = 500;

/// The most issues that a summary names: more than a report shows.
const ROWS_MAX: usize = 500;

/// How long the row of an issue is, in characters: three lines of a mail.
const ROW_MAX: usize = 240;

/// How long the words about the whole are, and the notes together, in characters: a screen of each.
const WHOLE_MAX: usize = 4_000;

/// How much of one text of a reviewer is shown, in characters.
const PROSE_MAX: usize = 4_096;

/// How much of the names of the models is shown, in characters.
const MODEL_MAX: usize = 200;

/// The most lines of new text that are shown: more are read in a patch, not in a comment.
const REPLACEMENT_LINES: usize = 60;

/// The line that begins a signature: Launchpad folds the paragraph, and readers of mail take it for what it is.
const SIGNATURE: &str = "--";

/// The text beside a line. Its last line is the marker.
pub(super) fn inline(issue: &Issue, instance: &str) -> String {
    let marker = issue_marker(instance, &issue.dedupe_key);
    format!("{}: {}\n\n{}\n{marker}\n", issue.severity, prose(&issue.title), details(issue))
}

/// What people read of a summary.
pub(super) struct Body {
    text: String,
    /// The keys of the issues that it names.
    pub(super) keys: BTreeSet<String>,
}

/// Whether an issue with this place is meant.
type IsUnder = fn(&Place) -> bool;

/// The headings of a summary, with the places of what is under each.
const HEADINGS: [(&str, IsUnder); 3] = [
    ("Beside their lines", |place| matches!(place, Place::Line(_))),
    ("Said before, and still open", |place| *place == Place::Stands),
    ("Not on a line of the diff", is_here),
];

/// What is said of the issues. If there is no room for all of it, the names come before what is known of each, and what is said
/// nowhere else before the rest.
pub(super) fn body(report: &Report, places: &[Place]) -> Body {
    let mut text = format!("{}: {}\n", report.verdict, prose(&report.verdict_reason));
    if !report.summary.is_empty() {
        let lines: Vec<String> = report.summary.lines().map(prose).collect();
        text.push_str(&format!("\n{}", within(&format!("{}\n", lines.join("\n")), WHOLE_MAX)));
    }
    let notes = report.warnings.iter().map(|warning| format!("\nNote: {}\n", prose(warning)));
    let notes = within(&notes.collect::<String>(), WHOLE_MAX);
    let taken = SIGNATURE_ROOM + HEADINGS_ROOM + length(&text) + length(&notes);
    let shown = shown(report, places, SUMMARY_MAX.saturating_sub(taken));
    for (heading, is_under) in HEADINGS {
        let under: Vec<&Issue> = of(report, places, is_under).collect();
        if under.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{heading}:\n"));
        let rows: Vec<&String> =
            under.iter().filter_map(|issue| shown.get(issue.dedupe_key.as_str())).collect();
        text.extend(rows.iter().map(|row| row.as_str()));
        match under.len() - rows.len() {
            0 => {}
            more => text.push_str(&format!("  and {more} more, for which there is no room here\n")),
        }
    }
    text.push_str(&notes);
    Body { text, keys: shown.keys().map(|key| (*key).to_owned()).collect() }
}

/// What is shown of each issue for which there is room, by its key.
fn shown<'r>(report: &'r Report, places: &[Place], mut room: usize) -> BTreeMap<&'r str, String> {
    let mut shown: BTreeMap<&str, String> = BTreeMap::new();
    let [beside, stands, here] = HEADINGS.map(|(_, is_under)| is_under);
    for is_under in [here, beside, stands] {
        for issue in of(report, places, is_under) {
            let row = format!("  {}\n", row(issue));
            let Some(left) = room.checked_sub(length(&row)).filter(|_| shown.len() < ROWS_MAX)
            else {
                break;
            };
            room = left;
            shown.insert(&issue.dedupe_key, row);
        }
    }
    for issue in of(report, places, here) {
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

fn is_here(place: &Place) -> bool {
    matches!(place, Place::Summary(_))
}

/// The issues with places of a kind.
fn of<'r>(
    report: &'r Report,
    places: &[Place],
    is_under: IsUnder,
) -> impl Iterator<Item = &'r Issue> {
    let issues = report.issues.iter().zip(places);
    issues.filter(move |(_, place)| is_under(place)).map(|(issue, _)| issue)
}

/// The summary. People read it as plain text, so that what is for programs comes last and in a signature: the last three lines say
/// which review it is, whose, and what the next one has to know.
pub(super) fn summary(report: &Report, body: &Body, instance: &str, last: &str) -> String {
    let model = if report.model_used.is_empty() { "no model" } else { &report.model_used };
    let model = cut(&prose(model), MODEL_MAX);
    let marks = [review_marker(&report.review_id), summary_marker(instance), last.to_owned()];
    // One paragraph: an empty line would end the fold.
    format!("{}\n{SIGNATURE}\ncrh, {model}\n{}\n", body.text, marks.join("\n"))
}

/// Whether a comment is a summary of any instance of crh's.
pub(super) fn is_of_crh(text: &str) -> bool {
    let whose = text.trim_end().lines().rev().nth(1).unwrap_or_default();
    whose.starts_with("<!-- crh:") && whose.ends_with(":summary -->")
}

/// The last three lines of a summary of this instance: which review it is, whose, and what it keeps; none if it is no such.
pub(super) fn marks<'t>(instance: &str, text: &'t str) -> Option<[&'t str; 3]> {
    let mut lines = text.trim_end().lines().rev();
    let (kept, whose, which) = (lines.next()?, lines.next()?, lines.next()?);
    (whose == summary_marker(instance)).then_some([which, whose, kept])
}

/// As many whole lines of a text as there is room for.
fn within(text: &str, room: usize) -> String {
    const LEFT_OUT: &str = "\nMore does not fit here.\n";
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
    let (file, line) = (prose(&place.file), place.line_start);
    let row = format!("#{number} {severity} {file}:{line}{side}: {}", prose(&issue.title));
    cut(&row, ROW_MAX)
}

fn details(issue: &Issue) -> String {
    let mut text = format!("{}\n", prose(&issue.why_it_matters));
    if let Some(fix) = &issue.suggested_fix {
        text.push_str(&format!("\nFix: {}\n", prose(fix)));
    }
    if let Some(new) = &issue.replacement {
        text.push_str("\nReplace with:\n");
        for line in visible(new).lines().take(REPLACEMENT_LINES) {
            // Never at the start of a line, where a marker would be.
            text.push_str(&format!("    {}\n", cut(line, PROSE_MAX)));
        }
    }
    let by = prose(&issue.reviewers.join(", "));
    text.push_str(&format!("\n({by}, confidence {})\n", issue.confidence));
    text
}

/// A text of a reviewer's as one line in which nothing hides, acts or passes for a marker of ours.
fn prose(text: &str) -> String {
    let shown = visible(text);
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
