//! Whether a file still has the lines that fixes changed. No I/O.

use std::ops::Range;

use super::edits::{LineChange, moved_lines};
use crh_pipeline::fixer::{ChangedLines, changed_lines};

/// A file before the fixes, after them, and now.
pub(super) struct FixedFile<'t> {
    /// Lines before the fixes. `None` if the fixes created the file.
    original: Option<Vec<&'t [u8]>>,
    fixed: Option<Vec<&'t [u8]>>,
    /// Lines now. `None` if the file does not exist.
    now: Option<Vec<&'t [u8]>>,
    by_fixes: Vec<ChangedLines>,
    since_original: Vec<ChangedLines>,
    since_fixed: Vec<ChangedLines>,
}

/// What became of lines that a fix changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    Fixed,
    /// The original lines are back.
    Undone,
    Edited,
}

impl<'t> FixedFile<'t> {
    pub(super) fn new(
        original: Option<&'t [u8]>,
        fixed: Option<&'t [u8]>,
        now: Option<&'t [u8]>,
    ) -> Self {
        let lines = |text: Option<&'t [u8]>| -> Option<Vec<&'t [u8]>> {
            text.map(|text| text.split(|byte| *byte == b'\n').collect())
        };
        let (original, fixed, now) = (lines(original), lines(fixed), lines(now));
        let changes = |before: &Option<Vec<&[u8]>>, after: &Option<Vec<&[u8]>>| {
            before.as_ref().zip(after.as_ref()).map(|(before, after)| changed_lines(before, after))
        };
        let by_fixes = changes(&original, &fixed).unwrap_or_default();
        let since_original = changes(&original, &now).unwrap_or_default();
        let since_fixed = changes(&fixed, &now).unwrap_or_default();
        Self { original, fixed, now, by_fixes, since_original, since_fixed }
    }

    /// Whether all fixes are undone: the file is as before them, or all lines that they changed are.
    pub(super) fn is_undone(&self) -> bool {
        let is_original = self.now == self.original;
        let exists = self.original.is_some() && self.now.is_some() && !self.by_fixes.is_empty();
        is_original || exists && self.states().all(|(_, state)| state == LineState::Undone)
    }

    /// Whether each change of the fixes is either in place or undone, and nothing else changed.
    pub(super) fn is_partly_undone(&self) -> bool {
        let (Some(original), Some(fixed), Some(now)) = (&self.original, &self.fixed, &self.now)
        else {
            return false;
        };
        let (mut lines, mut end) = (Vec::new(), 0);
        for (edit, state) in self.states() {
            lines.extend_from_slice(&original[end..edit.before.start]);
            lines.extend_from_slice(match state {
                LineState::Fixed => &fixed[edit.after.clone()],
                LineState::Undone | LineState::Edited => &original[edit.before.clone()],
            });
            end = edit.before.end;
        }
        lines.extend_from_slice(&original[end..]);
        lines == *now
    }

    /// Whether the file no longer has the fix of an issue at these lines, from 1, or at unknown
    /// ones. `others` are the lines of other issues. If fixes changed the lines of the issue, only
    /// these changes count; otherwise those that are at no other issue. A file that a fix created
    /// counts as long as it exists.
    pub(super) fn lacks_fix(&self, lines: Option<(u32, u32)>, others: &[(u32, u32)]) -> bool {
        if self.now.is_none() || self.original.is_none() {
            return self.now.is_none() && self.fixed.is_some();
        }
        let is_own =
            |edit: &ChangedLines| lines.is_some_and(|lines| LineChange::from(edit).is_at(lines));
        let is_of_no_other =
            |edit: &ChangedLines| !others.iter().any(|lines| LineChange::from(edit).is_at(*lines));
        let has = |counts: &dyn Fn(&ChangedLines) -> bool| self.by_fixes.iter().any(counts);
        let counts: &dyn Fn(&ChangedLines) -> bool = match (has(&is_own), has(&is_of_no_other)) {
            (true, _) => &is_own,
            (false, true) => &is_of_no_other,
            (false, false) => &|_: &ChangedLines| true,
        };
        self.states().any(|(edit, state)| counts(edit) && state != LineState::Fixed)
    }

    /// The changes of the fixes, with what became of them.
    fn states(&self) -> impl Iterator<Item = (&ChangedLines, LineState)> {
        self.by_fixes.iter().map(|edit| (edit, self.state(edit)))
    }

    fn state(&self, edit: &ChangedLines) -> LineState {
        let has_fixed = match edit.after.is_empty() {
            true => !self.brings_back(edit),
            false => !self.since_fixed.iter().any(|later| replaces(later, &edit.after)),
        };
        if has_fixed {
            return LineState::Fixed;
        }
        let (Some(original), Some(now)) = (&self.original, &self.now) else {
            return LineState::Edited;
        };
        let mut later = with_slack(&self.since_original, original, now);
        let is_edited = match edit.before.is_empty() {
            // The inserted lines may have become other lines, or the user has moved them.
            true => {
                self.adds_line_of(edit)
                    || later.any(|it| !it.after.is_empty() && is_beside(&it, edit.before.start))
            }
            false => later.any(|later| replaces(&later, &edit.before)),
        };
        if is_edited { LineState::Edited } else { LineState::Undone }
    }

    /// Whether the file has more lines than before the fixes that are equal to a line of this fix,
    /// anywhere. Blank lines do not count.
    fn adds_line_of(&self, edit: &ChangedLines) -> bool {
        let (Some(fixed), Some(now)) = (&self.fixed, &self.now) else { return false };
        let lines = &fixed[edit.after.clone()];
        let mut added = self.since_original.iter().flat_map(|later| &now[later.after.clone()]);
        added.any(|line| !is_blank(line) && lines.contains(line))
    }

    /// Whether lines that a fix deleted are back where they were. Blank lines count only if the fix
    /// deleted nothing else.
    fn brings_back(&self, edit: &ChangedLines) -> bool {
        let (Some(original), Some(now)) = (&self.original, &self.now) else { return false };
        let deleted = &original[edit.before.clone()];
        let is_about_blank = deleted.iter().all(|line| is_blank(line));
        let counts = |line: &&[u8]| deleted.contains(line) && (is_about_blank || !is_blank(line));
        self.since_fixed.iter().any(|later| {
            is_beside(later, edit.after.start) && now[later.after.clone()].iter().any(counts)
        })
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Whether a change replaces or deletes one of these lines, from 0.
fn replaces(change: &ChangedLines, lines: &Range<usize>) -> bool {
    let Range { start, end } = change.before;
    start < end && start < lines.end && lines.start < end
}

/// Whether a change begins or ends at this place, or contains it.
fn is_beside(change: &ChangedLines, at: usize) -> bool {
    (change.before.start..=change.before.end).contains(&at)
}

/// The place of these lines, from 1, in another text. Lines that it replaces become the new lines.
pub(super) fn lines_in(before: &[u8], after: &[u8], lines: (u32, u32)) -> (u32, u32) {
    let split = |text| <[u8]>::split(text, |byte| *byte == b'\n').collect::<Vec<_>>();
    let changes = changed_lines(&split(before), &split(after));
    moved_lines(changes.iter().map(LineChange::from), lines)
}

/// The changes, each with all places where it may be: a line that is added beside an equal one may
/// be either of the two, and so may a deleted line.
fn with_slack<'c>(
    changes: &'c [ChangedLines],
    before: &'c [&[u8]],
    after: &'c [&[u8]],
) -> impl Iterator<Item = ChangedLines> {
    changes.iter().map(move |change| {
        let ChangedLines { before: old, after: new } = change.clone();
        // The text that has the lines, and where they are in it.
        let (text, lines) = match (old.is_empty(), new.is_empty()) {
            (true, _) => (after, &new),
            (_, true) => (before, &old),
            _ => return change.clone(),
        };
        let is_same = |one: usize, other: usize| text.get(one) == text.get(other);
        let (start, end) = (lines.start, lines.end);
        let up = (1..=start).take_while(|step| is_same(start - step, end - step)).count();
        let down = (0..text.len() - end).take_while(|step| is_same(start + step, end + step));
        let (up, down) = (up.min(old.start), down.count());
        ChangedLines { before: old.start - up..old.end + down, after: new }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'t>(original: &'t str, fixed: &'t str, now: &'t str) -> FixedFile<'t> {
        let bytes = |text: &'t str| Some(text.as_bytes());
        FixedFile::new(bytes(original), bytes(fixed), bytes(now))
    }

    /// A text with one line for each letter. A dot is a blank line.
    fn text(letters: &str) -> String {
        letters.chars().map(|letter| format!("{letter}\n").replace('.', "")).collect()
    }

    #[test]
    fn fix_is_undone_if_its_original_lines_are_back() {
        let check = |original: &str, fixed: &str, now: &str, expected: bool| {
            let (original, fixed, now) = (text(original), text(fixed), text(now));
            assert_eq!(file(&original, &fixed, &now).is_undone(), expected, "{now:?}");
        };
        // Two replaced lines. Git has also removed the line of the user.
        check("abc.m", "AbC.m", "abc", true);
        check("abc.m", "AbC.m", "abc.n", true);
        check("abc.m", "AbC.m", "abC", false);
        check("abc.m", "AbC.m", "AbC", false);
        check("abc.m", "AbC.m", "o", false);
        // An inserted line.
        check("am", "abm", "a", true);
        check("am", "abm", "ab", false);
        check("am", "abm", "aem", false);
        check("am", "abm", "amm", false);
        check("axym", "abxym", "axyn", true);
        // The user has moved it.
        check("am", "abm", "amb", false);
        check("abcm", "abxcm", "abcxm", false);
        check("abcd", "axbcd", "abcdx", false);
        check("am", "a.bm", "ab.m", false);
        // It is only blank now, or it is a blank line.
        check("am", "abm", "a.n", false);
        check("axym", "abxym", "a.xyn", false);
        check("axym", "a.xym", "a.xyn", false);
        check("axym", "a.xym", "axyn", true);
        check("axym", "a.xym", "abxym", false);
        // A deleted line.
        check("aam", "am", "aa", true);
        check("aam", "am", "a", false);
        check("axm", "am", "axn", true);
        check("axm", "am", "an", false);
        check("xx", "yx", "x", false);
        // A moved line.
        check("abm", "bam", "ba", false);
    }

    #[test]
    fn fix_is_partly_undone_if_all_other_lines_are_unchanged() {
        let check = |now: &str, expected: bool| {
            let (original, fixed, now) = (text("abcdefghij"), text("abCdefgXhj"), text(now));
            let found = file(&original, &fixed, &now).is_partly_undone();
            assert_eq!(found, expected, "{now:?}");
        };
        check("abcdefgXhj", true);
        check("abCdefghij", true);
        check("abCdefgXhj", true);
        check("abcdefghij", true);
        check("abYdefgXhj", false);
        check("aZcdefgXhj", false);
        check("abcdefgXhjk", false);
    }

    #[test]
    fn fix_is_missing_if_a_later_edit_changes_its_lines() {
        let check = |now: &str, lines, expected: bool| {
            // One fix replaces line 3 by two lines, another deletes lines 11 and 12.
            let (original, fixed) = (text("abcdefghijklmn"), text("abCDdefghijmn"));
            let now = text(now);
            let file = file(&original, &fixed, &now);
            assert_eq!(file.lacks_fix(lines, &[]), expected, "{now:?}");
        };
        let (first, second) = (Some((3, 3)), Some((11, 12)));
        check("abCDdefghijmn", None, false);
        check("abcdefghijmn", first, true);
        check("abcdefghijmn", None, true);
        check("abcdefghijmn", second, false);
        check("abCXdefghijmn", first, true);
        // Edits elsewhere, also beside the fixes, and a line inserted between the two lines.
        check("aBCDdefghijmn", first, false);
        check("abCDdefghXmn", None, false);
        check("abCDdefghijXYn", second, false);
        check("abCXDdefghijmn", None, false);
        // The deleted lines, or one of them, are back.
        check("abCDdefghijklmn", second, true);
        check("abCDdefghijXlMn", second, true);
        check("abCDdefghijklmn", first, false);
    }

    #[test]
    fn change_at_another_issue_is_not_the_missing_fix() {
        // The fix of the issue at line 2 is at line 8, that of another issue at line 4.
        let (original, fixed) = (text("abcdefghi"), text("abcDefgHi"));
        let check = |now: &str, others: &[(u32, u32)], expected: bool| {
            let now = text(now);
            let file = file(&original, &fixed, &now);
            assert_eq!(file.lacks_fix(Some((2, 2)), others), expected, "{now:?}");
        };
        check("abcdefgHi", &[], true);
        check("abcdefgHi", &[(4, 4)], false);
        check("abcDefghi", &[(4, 4)], true);
        check("abcDefghi", &[(4, 4), (8, 8)], true);
    }

    #[test]
    fn created_file_has_the_fix_while_it_exists() {
        let check = |now: Option<&str>, expected: bool| {
            let file = FixedFile::new(None, Some(b"a\n"), now.map(str::as_bytes));
            assert_eq!(file.lacks_fix(None, &[]), expected, "{now:?}");
        };
        check(Some("b\n"), false);
        check(None, true);
        assert!(FixedFile::new(None, Some(b"a\n"), None).is_undone());
        assert!(!FixedFile::new(None, Some(b"a\n"), Some(b"b\n")).is_undone());
    }
}
