//! The lines of a diff around an issue, with their numbers, for a terminal.

use crh_review::cut;
use crh_review::diff::Diff;
use crh_review::diff::DiffLine;
use crh_review::diff::LineKind;
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_review::visible;

/// How many lines are shown before and after those that an issue is about: as many as leave room for the question on a
/// screen of 24 lines.
const AROUND: usize = 2;
/// The most lines that are shown of one issue.
const ROWS_MAX: usize = 8;
/// Numbers of lines take as much as files of ten thousand lines need.
const NUMBER: usize = 5;

/// The code of an issue, each line with its number, and those that it is about marked; its quote if the diff does not show it.
pub(super) fn text(issue: &Issue, diff: &Diff, width: usize) -> String {
    let location = &issue.location;
    let file = diff.files().iter().find(|file| file.path.shown() == location.file);
    let own = |line: &DiffLine<'_>| match location.side {
        Side::Old => line.kind.in_old() && is_within(line.old, issue),
        Side::New => line.kind.in_new() && is_within(line.new, issue),
    };
    let hunks = file.map(|file| file.hunks.as_slice()).unwrap_or_default();
    for hunk in hunks {
        let lines: Vec<DiffLine<'_>> =
            diff.lines(hunk).filter(|line| line.kind != LineKind::Remark).collect();
        let Some(first) = lines.iter().position(own) else { continue };
        let last = lines.iter().rposition(own).unwrap_or(first);
        let start = first.saturating_sub(AROUND);
        let end = lines.len().min(last + AROUND + 1).min(start + ROWS_MAX);
        let rows = lines[start..end].iter().map(|line| row(line, own(line), width));
        return rows.chain([String::from("\n")]).collect();
    }
    quote(issue, width)
}

fn is_within(line: u32, issue: &Issue) -> bool {
    (issue.location.line_start..=issue.location.line_end).contains(&line)
}

fn row(line: &DiffLine<'_>, is_own: bool, width: usize) -> String {
    let (number, sign) = match line.kind {
        LineKind::Added => (line.new, '+'),
        LineKind::Removed => (line.old, '-'),
        LineKind::Context | LineKind::Remark => (line.new, ' '),
    };
    shown(number, sign, &String::from_utf8_lossy(line.text()), is_own, width)
}

/// What the issue quotes, where it was found.
fn quote(issue: &Issue, width: usize) -> String {
    let Some(quote) = issue.evidence.iter().find(|quote| quote.file == issue.location.file) else {
        return String::new();
    };
    let numbers = quote.line..;
    let lines = numbers.zip(quote.snippet.lines().take(ROWS_MAX));
    let rows =
        lines.map(|(number, line)| shown(number, ' ', line, is_within(number, issue), width));
    rows.chain([String::from("\n")]).collect()
}

fn shown(number: u32, sign: char, text: &str, is_own: bool, width: usize) -> String {
    let mark = if is_own { '>' } else { ' ' };
    // A tab would be as wide as the terminal likes.
    let text = visible(text.trim_end_matches('\r')).replace('\t', "    ");
    let line = format!("{mark} {number:NUMBER$} {sign} {text}");
    format!("{}\n", cut(line.trim_end(), width))
}

#[cfg(test)]
mod tests;
