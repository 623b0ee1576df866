//! Finds the line of our diff that corresponds to a line of the forge's diff. The two diffs may
//! compare different commits, so lines are matched by content and context. Pure code without I/O.

use std::collections::BTreeMap;

use crh_review::diff::{Diff, DiffLine, FileDiff, LineKind};

/// How many lines to compare before and after two equal lines. Their surroundings usually differ
/// much sooner.
const CONTEXT_LINES_MAX: usize = 50;

/// Lines that occur more often than this, such as lone braces, are not matched. This limits the
/// cost for hostile diffs.
const CANDIDATES_MAX: usize = 200;

type LineContent<'d> = (LineKind, &'d [u8]);

/// One file in the forge's diff and in ours.
pub(super) struct LineMatcher<'d> {
    theirs: FileLines<'d>,
    ours: FileLines<'d>,
    /// Whether both diffs have the same lines, apart from the line numbers.
    is_identical: bool,
}

struct FileLines<'d> {
    /// Lines with the index of their hunk, without git's remarks.
    lines: Vec<(usize, DiffLine<'d>)>,
    by_text: BTreeMap<LineContent<'d>, Vec<usize>>,
}

/// How many lines before and after two lines are equal.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SharedContext {
    before: usize,
    after: usize,
}

impl<'d> LineMatcher<'d> {
    pub(super) fn new(theirs: (&'d Diff, &FileDiff), ours: (&'d Diff, &FileDiff)) -> Self {
        let (theirs, ours) = (FileLines::from_file(theirs), FileLines::from_file(ours));
        let is_identical = theirs.contents().eq(ours.contents());
        Self { theirs, ours, is_identical }
    }

    /// The line of our diff for a line number of the forge's diff. `None` if no match is certain.
    pub(super) fn our_line(&self, number: u32) -> Option<&DiffLine<'d>> {
        let their_index =
            self.theirs.lines.binary_search_by_key(&number, |(_, line)| line.number).ok()?;
        let our_index = if self.is_identical { their_index } else { self.best_match(their_index)? };
        self.ours.lines.get(our_index).map(|(_, line)| line)
    }

    /// Index of our line with the same content and the most context in common with their line. If
    /// several of our lines are equally good, the forge's diff must have equally many such lines.
    /// Then the n-th such line of the forge's diff matches our n-th.
    fn best_match(&self, their_index: usize) -> Option<usize> {
        let text = content(&self.theirs.lines[their_index].1);
        let (our_candidates, their_candidates) =
            (self.ours.by_text.get(&text)?, self.theirs.by_text.get(&text)?);
        if our_candidates.len().max(their_candidates.len()) > CANDIDATES_MAX {
            return None;
        }
        let context =
            |our_index: &usize| self.theirs.shared_context(their_index, &self.ours, *our_index);
        let widest =
            our_candidates.iter().map(context).max_by_key(|shared| shared.before + shared.after)?;
        let is_best = |our_index: &&usize| {
            let shared = context(our_index);
            shared.before + shared.after == widest.before + widest.after
        };
        let best_candidates: Vec<usize> = our_candidates.iter().filter(is_best).copied().collect();
        if best_candidates.iter().any(|our_index| context(our_index) != widest) {
            return None;
        }
        // A context line matches only if its shared context contains a changed line, since
        // unchanged code has many equal lines.
        let window = &self.theirs.lines[their_index - widest.before..=their_index + widest.after];
        if window.iter().all(|(_, line)| line.kind == LineKind::Context) {
            return None;
        }
        let is_equal = |their_line: &&usize| {
            let shared = self.theirs.shared_context(their_index, &self.theirs, **their_line);
            shared.before >= widest.before && shared.after >= widest.after
        };
        let equal_lines: Vec<usize> = their_candidates.iter().filter(is_equal).copied().collect();
        let rank = equal_lines.iter().position(|their_line| *their_line == their_index)?;
        (best_candidates.len() == equal_lines.len()).then(|| best_candidates[rank])
    }
}

impl<'d> FileLines<'d> {
    fn from_file((diff, file): (&'d Diff, &FileDiff)) -> Self {
        let hunks = file.hunks.iter().enumerate();
        let lines = hunks.flat_map(|(hunk, it)| diff.lines(it).map(move |line| (hunk, line)));
        let lines: Vec<(usize, DiffLine<'d>)> =
            lines.filter(|(_, line)| line.kind != LineKind::Remark).collect();
        let mut by_text: BTreeMap<LineContent<'d>, Vec<usize>> = BTreeMap::new();
        for (index, (_, line)) in lines.iter().enumerate() {
            by_text.entry(content(line)).or_default().push(index);
        }
        Self { lines, by_text }
    }

    fn contents(&self) -> impl Iterator<Item = LineContent<'d>> {
        self.lines.iter().map(|(_, line)| content(line))
    }

    /// How many lines around two lines are equal, within their hunks.
    fn shared_context(&self, index: usize, other: &Self, other_index: usize) -> SharedContext {
        let is_equal = |(one, two): &(Option<usize>, Option<usize>)| {
            let one = one.and_then(|line| self.content_in_hunk(index, line));
            one.is_some() && one == two.and_then(|line| other.content_in_hunk(other_index, line))
        };
        let before =
            (1..=CONTEXT_LINES_MAX).map(|by| (index.checked_sub(by), other_index.checked_sub(by)));
        let after =
            (1..=CONTEXT_LINES_MAX).map(|by| (index.checked_add(by), other_index.checked_add(by)));
        SharedContext {
            before: before.take_while(is_equal).count(),
            after: after.take_while(is_equal).count(),
        }
    }

    /// Content of another line, if it is in the same hunk.
    fn content_in_hunk(&self, index: usize, other: usize) -> Option<LineContent<'d>> {
        let (hunk, line) = self.lines.get(other)?;
        (*hunk == self.lines[index].0).then(|| content(line))
    }
}

fn content<'d>(line: &DiffLine<'d>) -> LineContent<'d> {
    (line.kind, line.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line of their diff with the number of our line.
    fn check(theirs: &str, ours: &str) -> String {
        let header = "diff --git a/f b/f\n--- a/f\n+++ b/f\n";
        let [theirs, ours] = [theirs, ours].map(|text| Diff::read(format!("{header}{text}")));
        let matcher = LineMatcher::new((&theirs, &theirs.files()[0]), (&ours, &ours.files()[0]));
        let row = |(_, line): &(usize, DiffLine<'_>)| {
            let text = String::from_utf8_lossy(line.raw).trim_end().to_owned();
            let our_number =
                matcher.our_line(line.number).map_or_else(String::new, |it| it.number.to_string());
            format!("{text}: {our_number}").trim_end().to_owned()
        };
        matcher.theirs.lines.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn equal_hunks_match_despite_other_line_numbers() {
        let hunk = " a\n-b\n+c\n a\n";
        let moved =
            check(&format!("@@ -21,3 +21,3 @@\n{hunk}"), &format!("@@ -1,3 +1,3 @@\n{hunk}"));
        assert_eq!(moved, " a: 5\n-b: 6\n+c: 7\n a: 8");
    }

    #[test]
    fn context_lines_match_only_near_a_change() {
        let ours = "@@ -1,4 +1,4 @@\n a\n b\n-c\n+d\n e\n";
        let theirs = "@@ -1,5 +1,5 @@\n a\n target\n b\n-c\n+d\n e\n";
        assert_eq!(check(theirs, ours), " a:\n target:\n b: 6\n-c: 7\n+d: 8\n e: 9");
    }

    #[test]
    fn conflict_markers_match_no_line() {
        let ours = "@@ -1,3 +1,3 @@\n a\n-b\n+source\n c\n";
        let theirs =
            "@@ -1,3 +1,7 @@\n a\n+<<<<<<< x\n target\n+=======\n+source\n+>>>>>>> y\n c\n";
        let expected = " a:\n+<<<<<<< x:\n target:\n+=======:\n+source: 7\n+>>>>>>> y:\n c:";
        assert_eq!(check(theirs, ours), expected);
    }

    #[test]
    fn equal_lines_match_by_order_if_counts_agree() {
        let twice = "@@ -1,2 +1,2 @@\n-a\n+b\n@@ -9,2 +9,2 @@\n-a\n+b\n";
        let more = format!("{twice}@@ -20 +20,2 @@\n c\n+d\n");
        assert_eq!(check(twice, &more), "-a: 5\n+b: 6\n-a: 8\n+b: 9");
        let thrice = format!("{twice}@@ -30,2 +30,2 @@\n-a\n+b\n");
        assert_eq!(check(twice, &thrice), "-a:\n+b:\n-a:\n+b:", "which two of three?");
        assert_eq!(check(&thrice, twice), "-a:\n+b:\n-a:\n+b:\n-a:\n+b:");
    }

    #[test]
    fn too_many_equal_lines_are_not_matched() {
        let added = |count: usize| format!("@@ -0,0 +1,{count} @@\n{}", "+x\n".repeat(count));
        let actual = check(&added(CANDIDATES_MAX + 1), &added(CANDIDATES_MAX + 2));
        assert!(actual.lines().all(|line| line == "+x:"), "{actual}");
    }
}
