//! The lines of a diff around an issue, with their numbers, for a terminal.

use super::replacement::more_lines;
use crh_review::diff::{Diff, DiffLine, Hunk, LineKind};
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_review::{escape_invisible, truncate};

/// Context lines before and after the lines of an issue, if there is room.
const AROUND: usize = 2;
/// Maximum rows of code per issue: enough to recognise it.
pub(super) const ROWS_MAX: usize = 8;
/// Width of line numbers.
const NUMBER: usize = 5;

/// The code of an issue in at most `rows` rows, with line numbers and the issue's lines marked.
/// Falls back to the quote if the diff does not contain the lines. Ends with an empty line, or is
/// empty if there is no quote either.
pub(super) fn text(issue: &Issue, diff: Option<&Diff>, rows: usize, width: usize) -> String {
    let location = &issue.location;
    let own = |line: &DiffLine<'_>| match location.side {
        Side::Old => line.kind.in_old() && is_within(line.old, issue),
        Side::New => line.kind.in_new() && is_within(line.new, issue),
    };
    for (diff, hunk) in hunks(diff, &location.file) {
        let lines: Vec<DiffLine<'_>> =
            diff.lines(hunk).filter(|line| line.kind != LineKind::Remark).collect();
        let Some(first) = lines.iter().position(own) else { continue };
        let last = lines.iter().rposition(own).unwrap_or(first);
        let around = AROUND.min(rows.saturating_sub(last + 1 - first) / 2);
        let shown = &lines[first.saturating_sub(around)..lines.len().min(last + around + 1)];
        let shown = shown.iter().map(|line| row(line, own(line), width));
        return bounded(shown.collect(), rows, width);
    }
    quote(issue, rows, width)
}

pub(super) fn hunks<'d>(
    diff: Option<&'d Diff>,
    path: &str,
) -> impl Iterator<Item = (&'d Diff, &'d Hunk)> {
    let file =
        diff.and_then(|diff| Some((diff, diff.files().iter().find(|it| it.path.shown() == path)?)));
    file.into_iter().flat_map(|(diff, file)| file.hunks.iter().map(move |hunk| (diff, hunk)))
}

/// Cuts lines to `rows` rows. The last row says how many lines are missing. Ends with an empty
/// line.
fn bounded(lines: Vec<String>, rows: usize, width: usize) -> String {
    let missing = match lines.len() > rows {
        true => lines.len() - rows.saturating_sub(1),
        false => 0,
    };
    let mut out: String = lines[..lines.len() - missing].concat();
    if missing > 0 {
        let blank = " ".repeat(NUMBER + 2);
        out.push_str(&format!(
            "{}\n",
            truncate(&format!("{blank} {}", more_lines(missing)), width)
        ));
    }
    out.push('\n');
    out
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
    numbered_line(number, sign, &String::from_utf8_lossy(line.text()), is_own, width)
}

/// The quoted code of an issue.
fn quote(issue: &Issue, rows: usize, width: usize) -> String {
    let Some(quote) = issue.evidence.iter().find(|quote| quote.file == issue.location.file) else {
        return String::new();
    };
    let numbers = quote.line..;
    let lines = numbers.zip(quote.snippet.lines());
    let lines = lines
        .map(|(number, line)| numbered_line(number, ' ', line, is_within(number, issue), width));
    bounded(lines.collect(), rows, width)
}

fn numbered_line(number: u32, sign: char, text: &str, is_own: bool, width: usize) -> String {
    let mark = if is_own { '>' } else { ' ' };
    // The width of a tab depends on the terminal.
    let text = escape_invisible(text.trim_end_matches('\r')).replace('\t', "    ");
    let line = format!("{mark} {number:NUMBER$} {sign} {text}");
    format!("{}\n", truncate(line.trim_end(), width))
}

#[cfg(test)]
mod tests;
