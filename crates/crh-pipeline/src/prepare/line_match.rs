//! Finds the line of our diff that a line of the forge's diff shows. Matches by content and
//! context, since the two diffs may compare different commits. Pure.

use std::collections::BTreeMap;

use crh_review::diff::{Diff, DiffLine, FileDiff, LineKind};

/// How many context lines to compare on each side. Equal lines usually differ much sooner.
const CONTEXT_LINES_MAX: usize = 50;

/// Do not match lines that occur more often than this, such as lone braces. Bounds the cost for
/// hostile diffs.
const CANDIDATES_MAX: usize = 200;

/// Kind and text of a line.
type LineContent<'d> = (LineKind, &'d [u8]);

/// One file in the forge's diff and in ours.
pub(super) struct LineMatcher<'d> {
    theirs: FileLines<'d>,
    ours: FileLines<'d>,
    /// Whether both diffs have the same lines, apart from their numbers.
    is_same: bool,
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
        let is_same = theirs.contents().eq(ours.contents());
        Self { theirs, ours, is_same }
    }

    /// Our line for a line number of their diff. `None` if the match is ambiguous.
    pub(super) fn our_line(&self, number: u32) -> Option<&DiffLine<'d>> {
        let at = self.theirs.lines.binary_search_by_key(&number, |(_, line)| line.number).ok()?;
        let found = if self.is_same { at } else { self.best_match(at)? };
        self.ours.lines.get(found).map(|(_, line)| line)
    }

    /// The candidate with the most context in common. If several are equally good, their number
    /// must be the same in both diffs; then the order decides.
    fn best_match(&self, at: usize) -> Option<usize> {
        let text = content(&self.theirs.lines[at].1);
        let (here, there) = (self.ours.by_text.get(&text)?, self.theirs.by_text.get(&text)?);
        if here.len().max(there.len()) > CANDIDATES_MAX {
            return None;
        }
        let around = |found: &usize| self.theirs.shared_context(at, &self.ours, *found);
        let widest = here.iter().map(around).max_by_key(|it| it.before + it.after)?;
        let is_best = |found: &&usize| {
            let it = around(found);
            it.before + it.after == widest.before + widest.after
        };
        let best: Vec<usize> = here.iter().filter(is_best).copied().collect();
        if best.iter().any(|found| around(found) != widest) {
            return None;
        }
        // A context line is identified only by a changed line near it: the rest of a file is full
        // of equal lines.
        let window = &self.theirs.lines[at - widest.before..=at + widest.after];
        if window.iter().all(|(_, line)| line.kind == LineKind::Context) {
            return None;
        }
        let is_twin = |twin: &&usize| {
            let it = self.theirs.shared_context(at, &self.theirs, **twin);
            it.before >= widest.before && it.after >= widest.after
        };
        let twins: Vec<usize> = there.iter().filter(is_twin).copied().collect();
        let rank = twins.iter().position(|twin| *twin == at)?;
        (best.len() == twins.len()).then(|| best[rank])
    }
}

impl<'d> FileLines<'d> {
    fn from_file((diff, file): (&'d Diff, &FileDiff)) -> Self {
        let hunks = file.hunks.iter().enumerate();
        let lines = hunks.flat_map(|(hunk, it)| diff.lines(it).map(move |line| (hunk, line)));
        let lines: Vec<(usize, DiffLine<'d>)> =
            lines.filter(|(_, line)| line.kind != LineKind::Remark).collect();
        let mut by_text: BTreeMap<LineContent<'d>, Vec<usize>> = BTreeMap::new();
        for (at, (_, line)) in lines.iter().enumerate() {
            by_text.entry(content(line)).or_default().push(at);
        }
        Self { lines, by_text }
    }

    fn contents(&self) -> impl Iterator<Item = LineContent<'d>> {
        self.lines.iter().map(|(_, line)| content(line))
    }

    /// How many lines around two lines are equal, within their hunks.
    fn shared_context(&self, at: usize, other: &Self, there: usize) -> SharedContext {
        let is_same = |(one, two): &(Option<usize>, Option<usize>)| {
            let one = one.and_then(|it| self.content_in_hunk(at, it));
            one.is_some() && one == two.and_then(|it| other.content_in_hunk(there, it))
        };
        let back = (1..=CONTEXT_LINES_MAX).map(|by| (at.checked_sub(by), there.checked_sub(by)));
        let on = (1..=CONTEXT_LINES_MAX).map(|by| (at.checked_add(by), there.checked_add(by)));
        SharedContext {
            before: back.take_while(is_same).count(),
            after: on.take_while(is_same).count(),
        }
    }

    /// Content of another line, if it is in the same hunk.
    fn content_in_hunk(&self, at: usize, other: usize) -> Option<LineContent<'d>> {
        let (hunk, line) = self.lines.get(other)?;
        (*hunk == self.lines[at].0).then(|| content(line))
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
        let both = LineMatcher::new((&theirs, &theirs.files()[0]), (&ours, &ours.files()[0]));
        let row = |(_, line): &(usize, DiffLine<'_>)| {
            let text = String::from_utf8_lossy(line.raw).trim_end().to_owned();
            let found =
                both.our_line(line.number).map_or_else(String::new, |it| it.number.to_string());
            format!("{text}: {found}").trim_end().to_owned()
        };
        both.theirs.lines.iter().map(row).collect::<Vec<_>>().join("\n")
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
        let said = check(&added(CANDIDATES_MAX + 1), &added(CANDIDATES_MAX + 2));
        assert!(said.lines().all(|line| line == "+x:"), "{said}");
    }
}
