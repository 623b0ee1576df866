//! Renders an exact fix as a short diff for the terminal.

use super::code::hunks;
use crh_review::diff::{Diff, DiffLine};
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_review::{escape_invisible, truncate};

/// Maximum size of a fix that crh recommends. People cannot judge a larger one at a glance.
const READABLE_LINES: usize = 40;
const READABLE_COLUMNS: usize = 200;
/// Blanks that push the rest of a line out of sight.
const PADDING: &str = "                    ";

/// An exact fix: removed and added lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    /// Removed lines. Empty if the diff does not contain all of them.
    removed: Vec<String>,
    added: Vec<String>,
}

impl Replacement {
    /// The exact fix of an issue. `None` if the issue has no such fix, or if the fix changes
    /// nothing.
    pub(super) fn from_issue(issue: &Issue, diff: Option<&Diff>) -> Option<Self> {
        let text = issue.replacement.as_deref().filter(|_| issue.has_exact_fix())?;
        let mut removed = replaced(issue, diff);
        let mut added: Vec<String> = text.lines().map(str::to_owned).collect();
        let is_same = |(old, new): &(&String, &String)| old == new;
        let start = removed.iter().zip(&added).take_while(is_same).count();
        removed.drain(..start);
        added.drain(..start);
        let end = removed.iter().rev().zip(added.iter().rev()).take_while(is_same).count();
        removed.truncate(removed.len() - end);
        added.truncate(added.len() - end);
        (!removed.is_empty() || !added.is_empty()).then_some(Self { removed, added })
    }

    /// Whether a person can see at a glance what the text of a replacement adds.
    pub(super) fn is_readable(text: &str) -> bool {
        let is_short = |line: &str| {
            let line = line.trim();
            line.chars().count() <= READABLE_COLUMNS && !line.contains(PADDING)
        };
        text.lines().count() <= READABLE_LINES && text.lines().all(is_short)
    }

    pub(super) fn rows(&self) -> usize {
        self.removed.len() + self.added.len()
    }

    /// Renders the fix in at most `rows` rows. If it does not fit, `rows` must be at least three, and
    /// the last row says how many lines are missing.
    pub(super) fn text(&self, indent: &str, rows: usize, width: usize) -> String {
        let room = if self.rows() <= rows { self.rows() } else { rows.saturating_sub(1) };
        // Both sides get half of the room; the shorter side leaves its rest to the other.
        let half = (room / 2).max(room.saturating_sub(self.added.len()));
        let removed = self.removed.len().min(half);
        let added = self.added.len().min(room - removed);
        let line = |sign: char, line: &String| {
            // The width of a tab depends on the terminal.
            let line = escape_invisible(line).replace('\t', "    ");
            format!("{}\n", truncate(format!("{indent}{sign} {line}").trim_end(), width))
        };
        let removed_lines = self.removed.iter().take(removed).map(|it| line('-', it));
        let added_lines = self.added.iter().take(added).map(|it| line('+', it));
        let mut out: String = removed_lines.chain(added_lines).collect();
        let missing = self.rows() - removed - added;
        if missing > 0 {
            out.push_str(&format!(
                "{}\n",
                truncate(&format!("{indent}{}", more_lines(missing)), width)
            ));
        }
        out
    }
}

pub(super) fn more_lines(count: usize) -> String {
    format!("… {}", super::words::counted(count, "more line", "more lines"))
}

/// The lines of an issue in the diff. Empty unless the diff contains all of them.
fn replaced(issue: &Issue, diff: Option<&Diff>) -> Vec<String> {
    let location = &issue.location;
    let own = |line: &DiffLine<'_>| {
        line.kind.in_new() && (location.line_start..=location.line_end).contains(&line.new)
    };
    let hunks = hunks(diff, &location.file);
    let lines = hunks.flat_map(|(diff, hunk)| diff.lines(hunk)).filter(own);
    let text =
        |line: DiffLine<'_>| String::from_utf8_lossy(line.text()).trim_end_matches('\r').to_owned();
    let lines: Vec<String> = lines.map(text).collect();
    let wanted = usize::try_from(location.line_end - location.line_start).unwrap_or(usize::MAX);
    match (location.side, lines.len() == wanted.saturating_add(1)) {
        (Side::New, true) => lines,
        (Side::New, false) | (Side::Old, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
