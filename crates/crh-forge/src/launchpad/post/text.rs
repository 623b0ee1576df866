//! The texts of a posting. Launchpad shows them as they are, without any form: so they are plain. Pure.

use crh_review::finding::Side;
use crh_review::identity::issue_marker;
use crh_review::identity::review_marker;
use crh_review::identity::summary_marker;
use crh_review::report::Issue;
use crh_review::report::Report;
use crh_review::visible;

use super::plan::Place;

/// The longest summary, in characters: as long as Launchpad lets a description be. Each is sent as a mail.
const SUMMARY_MAX: usize = 50_000;

/// How much of one text of a reviewer is shown, in characters.
const PROSE_MAX: usize = 4_096;

/// The most lines of new text that are shown: more are read in a patch, not in a comment.
const REPLACEMENT_LINES: usize = 60;

/// The line that begins a signature: Launchpad folds the paragraph, and readers of mail take it for what it is.
const SIGNATURE: &str = "--";

/// The text beside a line. Its last line is the marker.
pub(super) fn inline(issue: &Issue, instance: &str) -> String {
    let marker = issue_marker(instance, &issue.dedupe_key);
    format!("{}: {}\n\n{}\n{marker}\n", issue.severity, prose(&issue.title), details(issue))
}

/// The summary. People read it as plain text, so that what is for programs comes last and in a signature: the last three lines say
/// which review it is, whose, and what the next one has to know.
pub(super) fn summary(report: &Report, places: &[Place], instance: &str, last: &str) -> String {
    let mut text = format!("{}: {}\n", report.verdict, prose(&report.verdict_reason));
    if !report.summary.is_empty() {
        let lines: Vec<String> = report.summary.lines().map(prose).collect();
        text.push_str(&format!("\n{}\n", lines.join("\n")));
    }
    let of = |wanted: fn(&Place) -> bool| {
        report.issues.iter().zip(places).filter(move |(_, place)| wanted(place))
    };
    let heading = |text: &mut String, heading: &str, count: usize| {
        if count > 0 {
            text.push_str(&format!("\n{heading}:\n"));
        }
    };
    let beside = |place: &Place| matches!(place, Place::Line(_));
    heading(&mut text, "Beside their lines", of(beside).count());
    for (issue, _) in of(beside) {
        text.push_str(&format!("  {}\n", row(issue)));
    }
    let stands = |place: &Place| *place == Place::Stands;
    heading(&mut text, "Said before, and still open", of(stands).count());
    for (issue, _) in of(stands) {
        text.push_str(&format!("  {}\n", row(issue)));
    }
    let here = |place: &Place| matches!(place, Place::Summary(_));
    heading(&mut text, "Not on a line of the diff", of(here).count());
    for (issue, _) in of(here) {
        let details = details(issue);
        let indented = |line: &str| format!("    {line}").trim_end().to_owned();
        let details: Vec<String> = details.lines().map(indented).collect();
        text.push_str(&format!("  {}\n{}\n", row(issue), details.join("\n")));
    }
    for warning in &report.warnings {
        text.push_str(&format!("\nNote: {}\n", prose(warning)));
    }
    let model = if report.model_used.is_empty() { "no model" } else { &report.model_used };
    let marks = [review_marker(&report.review_id), summary_marker(instance), last.to_owned()];
    // One paragraph: an empty line would end the fold.
    let end = format!("\n{SIGNATURE}\ncrh, {}\n{}\n", prose(model), marks.join("\n"));
    format!("{}{end}", within(&text, SUMMARY_MAX.saturating_sub(end.len())))
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
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(LEFT_OUT.len());
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let Some(rest) = left.checked_sub(line.chars().count()) else { break };
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
    format!("#{number} {severity} {file}:{line}{side}: {}", prose(&issue.title))
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
            text.push_str(&format!("    {}\n", cut(line)));
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
    cut(&line.replace("<!--", "<! --"))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(PROSE_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
