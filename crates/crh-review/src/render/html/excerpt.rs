//! The lines of a diff around an issue, with the lines that it is about marked.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::clean::{path, visible};
use crate::diff::{Diff, DiffLine, FileDiff, LineKind};
use crate::finding::Side;
use crate::report::Issue;
use crate::width::cut;

/// How many lines are shown before and after those that an issue is about: as many as show where one is.
const AROUND: usize = 5;
/// The most lines that are shown of one issue; the file is at hand.
const ROWS_MAX: usize = 40;
/// A line longer than this is not read but recognised.
const LINE_MAX: usize = 300;

/// Lines of a file on one side.
type Lines = (Side, RangeInclusive<u32>);

/// Lines of a diff around an issue.
#[derive(Debug, Serialize)]
pub(super) struct Excerpt {
    /// The file they are from.
    file: String,
    /// The lines, from the top.
    rows: Vec<Row>,
}

/// A line, or a gap between lines.
#[derive(Debug, Serialize)]
struct Row {
    look: Look,
    /// Its line before the change.
    old: Option<u32>,
    /// Its line after the change.
    new: Option<u32>,
    /// Whether the issue is about this line or quotes it.
    cited: bool,
    /// The line in three parts, of which the middle one is what is new in it.
    text: [String; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Look {
    Context,
    Removed,
    Added,
    Gap,
}

/// A line of the diff with the hunk it is in.
struct Found<'a> {
    hunk: usize,
    line: DiffLine<'a>,
    cited: bool,
}

impl Excerpt {
    /// The lines around an issue; none if the diff does not show the line it is on.
    pub(super) fn of(issue: &Issue, diff: &Diff) -> Option<Self> {
        let location = &issue.location;
        let quotes = issue.evidence.iter().filter(|quote| quote.file == location.file);
        let quotes = quotes.map(|quote| (quote.side, lines_of(quote.line, &quote.snippet)));
        let own = (location.side, location.line_start..=location.line_end);
        Self::around(&location.file, &own, &quotes.collect::<Vec<_>>(), diff)
    }

    /// The lines around some lines of a file; quotes are marked where they are in sight.
    fn around(file: &str, own: &Lines, quotes: &[Lines], diff: &Diff) -> Option<Self> {
        let found_file = diff.files().iter().find(|in_diff| in_diff.path.shown() == file)?;
        let cited =
            |line: &DiffLine<'_>| is_at(line, own) || quotes.iter().any(|quote| is_at(line, quote));
        let found = found(diff, found_file, cited);
        let first = found.iter().position(|found| is_at(&found.line, own))?;
        let last = found.iter().rposition(|found| is_at(&found.line, own))?;
        Some(Self { file: path(file), rows: rows(&found, first, last) })
    }

    /// Whether every line of a quote is shown.
    pub(super) fn shows(&self, file: &str, side: Side, line: u32, snippet: &str) -> bool {
        let number = |row: &Row| match side {
            Side::Old => row.old,
            Side::New => row.new,
        };
        path(file) == self.file
            && lines_of(line, snippet)
                .all(|line| self.rows.iter().any(|row| number(row) == Some(line)))
    }
}

/// The lines that a quote takes.
fn lines_of(line: u32, snippet: &str) -> RangeInclusive<u32> {
    let more = snippet.trim_end().lines().count().saturating_sub(1);
    line..=line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

fn found<'a>(
    diff: &'a Diff,
    file: &FileDiff,
    cited: impl Fn(&DiffLine<'_>) -> bool,
) -> Vec<Found<'a>> {
    let hunks = file.hunks.iter().enumerate();
    let lines = hunks.flat_map(|(hunk, lines)| diff.lines(lines).map(move |line| (hunk, line)));
    lines
        .filter(|(_, line)| line.kind != LineKind::Remark)
        .map(|(hunk, line)| Found { hunk, cited: cited(&line), line })
        .collect()
}

/// Whether a line of the diff is one of some lines.
fn is_at(line: &DiffLine<'_>, (side, lines): &Lines) -> bool {
    match side {
        Side::Old => line.kind.in_old() && lines.contains(&line.old),
        Side::New => line.kind.in_new() && lines.contains(&line.new),
    }
}

/// The lines from the first to the last that the issue is about and some around them. Of too many, the middle is left out.
fn rows(found: &[Found<'_>], first: usize, last: usize) -> Vec<Row> {
    let in_hunk = |at: &usize, of: usize| found[*at].hunk == found[of].hunk;
    let start = (first.saturating_sub(AROUND)..=first).find(|at| in_hunk(at, first));
    let end = (last..found.len().min(last + AROUND + 1)).rfind(|at| in_hunk(at, last));
    let (start, end) = (start.unwrap_or(first), end.unwrap_or(last));
    let shown: Vec<usize> = match end - start < ROWS_MAX {
        true => (start..=end).collect(),
        false => {
            let last_few = AROUND * 2;
            (start..start + ROWS_MAX - last_few).chain(end + 1 - last_few..=end).collect()
        }
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut before: Option<usize> = None;
    for at in shown {
        match before {
            Some(before) if before + 1 != at => rows.push(Row::gap(&left_out(at - before - 1))),
            Some(before) if found[before].hunk != found[at].hunk => rows.push(Row::gap("")),
            Some(_) | None => {}
        }
        rows.push(Row::of(&found[at]));
        before = Some(at);
    }
    emphasise(&mut rows);
    rows
}

fn left_out(lines: usize) -> String {
    if lines == 1 { "1 line left out".to_owned() } else { format!("{lines} lines left out") }
}

impl Row {
    fn of(found: &Found<'_>) -> Self {
        let line = &found.line;
        let look = match line.kind {
            LineKind::Context | LineKind::Remark => Look::Context,
            LineKind::Removed => Look::Removed,
            LineKind::Added => Look::Added,
        };
        let number = |number: u32| (number > 0).then_some(number);
        let text = String::from_utf8_lossy(line.text());
        // A file may have such line endings throughout; they are shown, but not as a stranger among the characters.
        let text = match text.strip_suffix('\r') {
            Some(text) => format!("{}␍", visible(text)),
            None => visible(&text),
        };
        Self {
            look,
            old: number(line.old),
            new: number(line.new),
            cited: found.cited,
            text: [cut(&text, LINE_MAX), String::new(), String::new()],
        }
    }

    fn gap(text: &str) -> Self {
        let text = [text.to_owned(), String::new(), String::new()];
        Self { look: Look::Gap, old: None, new: None, cited: false, text }
    }
}

/// Where as many lines are added as are removed before them, each pair shows what is different in it.
fn emphasise(rows: &mut [Row]) {
    let mut at = 0;
    while at < rows.len() {
        let run = |from: usize, look: Look| {
            rows[from..].iter().take_while(|row| row.look == look).count()
        };
        let removed = run(at, Look::Removed);
        let added = run(at + removed, Look::Added);
        if removed == added {
            for pair in at..at + removed {
                if let Some((old, new)) =
                    differing(&rows[pair].text[0], &rows[pair + removed].text[0])
                {
                    rows[pair].text = old;
                    rows[pair + removed].text = new;
                }
            }
        }
        at += (removed + added).max(1);
    }
}

/// Two lines, each as what both begin with, what is different, and what both end with; none if they have little in common.
fn differing(old: &str, new: &str) -> Option<([String; 3], [String; 3])> {
    let same = |(a, b): &(char, char)| a == b;
    let start = old.chars().zip(new.chars()).take_while(same).count();
    let shorter = old.chars().count().min(new.chars().count());
    let end =
        old.chars().rev().zip(new.chars().rev()).take_while(same).count().min(shorter - start);
    let blank = old.chars().take(start).take_while(|char| char.is_whitespace()).count();
    if (start - blank + end) * 2 < shorter - blank {
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
