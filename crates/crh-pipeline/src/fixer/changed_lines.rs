//! The lines that an edit of a fixer changes, to tell for which issue it was made.

use std::ops::Range;

use super::FileEdit;
use crh_review::Location;
use crh_review::finding::Side;
use crh_review::report::Issue;

/// How far from the lines of an issue its fix may begin. Models cite lines imprecisely.
const MARGIN: usize = 3;

/// Maximum cells of the comparison table: 2,000 by 2,000 lines between the first and the last
/// change. More lines count as one change.
const CELLS_MAX: usize = 4_000_000;

/// Lines that an edit replaces. Both ranges count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedLines {
    before: Range<usize>,
    after: Range<usize>,
}

/// The changes of one file.
pub(super) struct FileChanges<'e> {
    path: &'e str,
    before: Vec<String>,
    after: Vec<String>,
    changes: Vec<ChangedLines>,
}

impl<'e> FileChanges<'e> {
    pub(super) fn new(edit: &'e FileEdit) -> Self {
        let lines = |bytes: &Option<Vec<u8>>| -> Vec<String> {
            let bytes = bytes.as_deref().unwrap_or_default();
            String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
        };
        let (before, after) = (lines(&edit.before), lines(&edit.after));
        let changes = changed_lines(&before, &after);
        Self { path: &edit.path, before, after, changes }
    }

    /// The changes that may fix this issue. Blank lines and trailing white space count only if the
    /// issue is about them.
    pub(super) fn substantial(&self, issue: &Issue) -> Vec<&ChangedLines> {
        let is_about_space = self.is_about_blank_space(issue);
        self.changes.iter().filter(|change| is_about_space || !self.is_blank(change)).collect()
    }

    /// Whether a change is at a place of an issue.
    pub(super) fn touches(&self, issue: &Issue, change: &ChangedLines) -> bool {
        let quotes = issue.evidence.iter().map(|quote| Location {
            file: quote.file.clone(),
            side: quote.side,
            line_start: quote.line,
            line_end: quote.line.saturating_add(
                u32::try_from(quote.snippet.lines().count().saturating_sub(1)).unwrap_or(u32::MAX),
            ),
        });
        let places = std::iter::once(&issue.location).chain(&issue.other_places).cloned();
        let is_there = |place: Location| {
            let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
            place.file == self.path
                && place.side == Side::New
                && change.before.start < index(place.line_end).saturating_add(MARGIN)
                && change.before.end + MARGIN + 1 >= index(place.line_start)
        };
        places.chain(quotes).any(is_there)
    }

    /// Whether a change is only about blank lines and trailing white space.
    fn is_blank(&self, change: &ChangedLines) -> bool {
        visible_lines(&self.before[change.before.clone()])
            == visible_lines(&self.after[change.after.clone()])
    }

    /// Whether a replacement of the issue changes only blank lines and trailing white space.
    fn is_about_blank_space(&self, issue: &Issue) -> bool {
        let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let Location { file, line_start, line_end, .. } = &issue.location;
        let lines = self.before.get(index(*line_start).saturating_sub(1)..index(*line_end));
        let of_members = issue.members.iter().map(|member| &member.finding.replacement);
        let mut replacements = of_members.chain([&issue.replacement]).flatten();
        file == self.path
            && lines.is_some_and(|lines| {
                replacements.any(|text| {
                    let text: Vec<String> = text.lines().map(str::to_owned).collect();
                    text != lines && visible_lines(&text) == visible_lines(lines)
                })
            })
    }
}

/// The lines without blank ones and without trailing white space. Indentation and spaces inside a
/// line stay, since they can be the defect.
fn visible_lines(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect()
}

/// The changed lines between two texts, by a longest common subsequence.
fn changed_lines(before: &[String], after: &[String]) -> Vec<ChangedLines> {
    let start = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let rest = before[start..].iter().rev().zip(after[start..].iter().rev());
    let end = rest.take_while(|(old, new)| old == new).count();
    let (old, new) = (&before[start..before.len() - end], &after[start..after.len() - end]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > CELLS_MAX {
        let (before, after) = (start..before.len() - end, start..after.len() - end);
        return vec![ChangedLines { before, after }];
    }
    // Length of the longest common subsequence of the lines from here on.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            common[row * width + column] = match old[row] == new[column] {
                true => common[(row + 1) * width + column + 1] + 1,
                false => common[(row + 1) * width + column].max(common[row * width + column + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut changes: Vec<ChangedLines> = Vec::new();
    while row < old.len() || column < new.len() {
        if row < old.len() && column < new.len() && old[row] == new[column] {
            (row, column) = (row + 1, column + 1);
            continue;
        }
        let from = (row, column);
        while row < old.len() || column < new.len() {
            let is_old_next = column == new.len()
                || row < old.len()
                    && common[(row + 1) * width + column] >= common[row * width + column + 1];
            if row < old.len() && column < new.len() && old[row] == new[column] {
                break;
            }
            if is_old_next { row += 1 } else { column += 1 }
        }
        let (before, after) = (start + from.0..start + row, start + from.1..start + column);
        changes.push(ChangedLines { before, after });
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_blank_lines_and_trailing_space_are_blank() {
        let check = |before: &str, after: &str, expected: bool| {
            let bytes = |text: &str| Some(text.as_bytes().to_vec());
            let (before, after) = (bytes(before), bytes(after));
            let edit = FileEdit { path: "a.py".to_owned(), before, after, issues: BTreeSet::new() };
            let file_changes = FileChanges::new(&edit);
            let blank = file_changes.changes.iter().map(|change| file_changes.is_blank(change));
            assert_eq!(blank.collect::<Vec<_>>(), [expected], "{edit:?}");
        };
        check("for x in y:\n    return x\n", "for x in y:\nreturn x\n", false);
        check("\"Paid\"+name\n", "\"Paid \"+name\n", false);
        check("a\nb\n", "a  \n\nb\n", true);
        check("a\n\t\nb\n", "a\nb\n", true);
    }

    #[test]
    fn changes_are_found_by_line() {
        let check = |before: &str, after: &str, expected: &[(Range<usize>, Range<usize>)]| {
            let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let found = changed_lines(&lines(before), &lines(after));
            let found: Vec<_> = found.into_iter().map(|it| (it.before, it.after)).collect();
            assert_eq!(found, expected, "{before} -> {after}");
        };
        check("a b c", "a b c", &[]);
        check("a b c", "a B c", &[(1..2, 1..2)]);
        check("a b c d e", "A b c d E", &[(0..1, 0..1), (4..5, 4..5)]);
        check("a b c", "a x b c", &[(1..1, 1..2)]);
        check("a b c d", "a d", &[(1..3, 1..1)]);
        check("a b c d e f", "a x c d f", &[(1..2, 1..2), (4..5, 4..4)]);
    }
}
