//! Excerpts of a diff around an issue, with the cited lines marked.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::diff::{Diff, DiffLine, FileDiff, LineKind};
use crate::finding::Side;
use crate::report::Issue;
use crate::sanitise::{escape_invisible, path};
use crate::width::truncate;

/// Context lines before and after the cited lines.
const CONTEXT_LINES: usize = 5;
/// Maximum number of lines per issue.
const MAX_ROWS: usize = 40;
/// Maximum columns of a line.
const MAX_COLUMNS: usize = 300;

/// Lines of a file on one side.
type SideLines = (Side, RangeInclusive<u32>);

/// Lines of a diff around an issue.
#[derive(Debug, Serialize)]
pub(super) struct Excerpt {
    file: String,
    rows: Vec<ExcerptRow>,
}

/// A line, or a gap between lines.
#[derive(Debug, Serialize)]
struct ExcerptRow {
    look: ExcerptRowKind,
    /// Line number before the change.
    old: Option<u32>,
    /// Line number after the change.
    new: Option<u32>,
    /// Whether the issue cites or quotes this line.
    cited: bool,
    /// Start, changed middle and end of the line.
    text: [String; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ExcerptRowKind {
    Context,
    Removed,
    Added,
    Gap,
}

/// A line of the diff and its hunk.
struct ExcerptLine<'a> {
    hunk: usize,
    line: DiffLine<'a>,
    cited: bool,
}

impl Excerpt {
    /// The lines around an issue; `None` if the diff does not show its line.
    pub(super) fn for_issue(issue: &Issue, diff: &Diff) -> Option<Self> {
        let location = &issue.location;
        let quotes = issue.evidence.iter().filter(|quote| quote.file == location.file);
        let quotes = quotes.map(|quote| (quote.side, quoted_lines(quote.line, &quote.snippet)));
        let issue_lines = (location.side, location.line_start..=location.line_end);
        Self::around(&location.file, &issue_lines, &quotes.collect::<Vec<_>>(), diff)
    }

    /// The lines around `issue_lines`, with the lines of quotes marked.
    fn around(
        file: &str,
        issue_lines: &SideLines,
        quotes: &[SideLines],
        diff: &Diff,
    ) -> Option<Self> {
        let file_diff = diff.files().iter().find(|file_diff| file_diff.path.shown() == file)?;
        let is_cited = |line: &DiffLine<'_>| {
            is_within(line, issue_lines) || quotes.iter().any(|quote| is_within(line, quote))
        };
        let lines = diff_lines(diff, file_diff, is_cited);
        let first =
            lines.iter().position(|excerpt_line| is_within(&excerpt_line.line, issue_lines))?;
        let last =
            lines.iter().rposition(|excerpt_line| is_within(&excerpt_line.line, issue_lines))?;
        Some(Self { file: path(file), rows: excerpt_rows(&lines, first, last) })
    }

    /// Whether every line of a quote is shown.
    pub(super) fn shows(&self, file: &str, side: Side, line: u32, snippet: &str) -> bool {
        let number = |row: &ExcerptRow| match side {
            Side::Old => row.old,
            Side::New => row.new,
        };
        path(file) == self.file
            && quoted_lines(line, snippet)
                .all(|line| self.rows.iter().any(|row| number(row) == Some(line)))
    }
}

/// The lines that a quote covers.
fn quoted_lines(line: u32, snippet: &str) -> RangeInclusive<u32> {
    let extra_lines = snippet.trim_end().lines().count().saturating_sub(1);
    line..=line.saturating_add(u32::try_from(extra_lines).unwrap_or(u32::MAX))
}

fn diff_lines<'a>(
    diff: &'a Diff,
    file: &FileDiff,
    is_cited: impl Fn(&DiffLine<'_>) -> bool,
) -> Vec<ExcerptLine<'a>> {
    let hunks = file.hunks.iter().enumerate();
    let lines = hunks.flat_map(|(hunk, lines)| diff.lines(lines).map(move |line| (hunk, line)));
    lines
        .filter(|(_, line)| line.kind != LineKind::Remark)
        .map(|(hunk, line)| ExcerptLine { hunk, cited: is_cited(&line), line })
        .collect()
}

/// Whether a diff line is within `lines`.
fn is_within(line: &DiffLine<'_>, (side, lines): &SideLines) -> bool {
    match side {
        Side::Old => line.kind.in_old() && lines.contains(&line.old),
        Side::New => line.kind.in_new() && lines.contains(&line.new),
    }
}

/// The cited lines with context. If there are too many, the middle is left out.
fn excerpt_rows(lines: &[ExcerptLine<'_>], first: usize, last: usize) -> Vec<ExcerptRow> {
    let same_hunk = |index: &usize, other: usize| lines[*index].hunk == lines[other].hunk;
    let start = (first.saturating_sub(CONTEXT_LINES)..=first).find(|index| same_hunk(index, first));
    let end =
        (last..lines.len().min(last + CONTEXT_LINES + 1)).rfind(|index| same_hunk(index, last));
    let (start, end) = (start.unwrap_or(first), end.unwrap_or(last));
    let shown_indices: Vec<usize> = match end - start < MAX_ROWS {
        true => (start..=end).collect(),
        false => {
            let tail_length = CONTEXT_LINES * 2;
            (start..start + MAX_ROWS - tail_length).chain(end + 1 - tail_length..=end).collect()
        }
    };
    let mut rows: Vec<ExcerptRow> = Vec::new();
    let mut previous: Option<usize> = None;
    for index in shown_indices {
        match previous {
            Some(previous) if previous + 1 != index => {
                rows.push(ExcerptRow::gap(&gap_label(index - previous - 1)));
            }
            Some(previous) if lines[previous].hunk != lines[index].hunk => {
                rows.push(ExcerptRow::gap(""));
            }
            Some(_) | None => {}
        }
        rows.push(ExcerptRow::new(&lines[index]));
        previous = Some(index);
    }
    mark_differences(&mut rows);
    rows
}

fn gap_label(lines: usize) -> String {
    if lines == 1 { "1 line left out".to_owned() } else { format!("{lines} lines left out") }
}

impl ExcerptRow {
    fn new(excerpt_line: &ExcerptLine<'_>) -> Self {
        let line = &excerpt_line.line;
        let look = match line.kind {
            LineKind::Context | LineKind::Remark => ExcerptRowKind::Context,
            LineKind::Removed => ExcerptRowKind::Removed,
            LineKind::Added => ExcerptRowKind::Added,
        };
        let number = |number: u32| (number > 0).then_some(number);
        let text = String::from_utf8_lossy(line.text());
        // Show a carriage return as a short symbol: a file with CRLF has one on every line.
        let text = match text.strip_suffix('\r') {
            Some(text) => format!("{}␍", escape_invisible(text)),
            None => escape_invisible(&text),
        };
        Self {
            look,
            old: number(line.old),
            new: number(line.new),
            cited: excerpt_line.cited,
            text: [truncate(&text, MAX_COLUMNS), String::new(), String::new()],
        }
    }

    fn gap(text: &str) -> Self {
        let text = [text.to_owned(), String::new(), String::new()];
        Self { look: ExcerptRowKind::Gap, old: None, new: None, cited: false, text }
    }
}

/// Marks the differences between removed lines and the same number of added lines after them.
fn mark_differences(rows: &mut [ExcerptRow]) {
    let mut index = 0;
    while index < rows.len() {
        let run_length = |start: usize, kind: ExcerptRowKind| {
            rows[start..].iter().take_while(|row| row.look == kind).count()
        };
        let removed_count = run_length(index, ExcerptRowKind::Removed);
        let added_count = run_length(index + removed_count, ExcerptRowKind::Added);
        if removed_count == added_count {
            for pair in index..index + removed_count {
                if let Some((old, new)) =
                    split_at_difference(&rows[pair].text[0], &rows[pair + removed_count].text[0])
                {
                    rows[pair].text = old;
                    rows[pair + removed_count].text = new;
                }
            }
        }
        index += (removed_count + added_count).max(1);
    }
}

/// Splits two lines into common start, difference and common end; `None` if they have little in
/// common.
fn split_at_difference(old: &str, new: &str) -> Option<([String; 3], [String; 3])> {
    let is_equal = |(a, b): &(char, char)| a == b;
    let start = old.chars().zip(new.chars()).take_while(is_equal).count();
    let shorter_length = old.chars().count().min(new.chars().count());
    let end = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(is_equal)
        .count()
        .min(shorter_length - start);
    let indent_length = old.chars().take(start).take_while(|char| char.is_whitespace()).count();
    if (start - indent_length + end) * 2 < shorter_length - indent_length {
        return None;
    }
    let parts = |line: &str| {
        let chars: Vec<char> = line.chars().collect();
        let middle = start..chars.len() - end;
        [&chars[..start], &chars[middle.clone()], &chars[middle.end..]]
            .map(|part| part.iter().collect::<String>())
    };
    Some((parts(old), parts(new)))
}

#[cfg(test)]
mod tests;
