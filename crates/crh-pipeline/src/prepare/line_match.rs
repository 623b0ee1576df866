//! Which line of our own diff of a file is one that a forge's diff shows: told by what it says and by what stands around it, not by
//! its number, for the two may compare different commits. Pure.

use std::collections::BTreeMap;

use crh_review::diff::{Diff, DiffLine, FileDiff, LineKind};

/// How many lines before and after a line are compared: those that say the same differ long before that, or nobody can tell them
/// apart.
const AROUND_MAX: usize = 50;

/// The most lines of a file that say the same and are still told apart: a brace or an empty line of a long file is left alone, so
/// that a hostile diff does not cost the square of its length.
const SAME_MAX: usize = 200;

/// What a line of a diff is, and what it says.
type Says<'d> = (LineKind, &'d [u8]);

/// The same file in a forge's diff and in ours.
pub(super) struct BothDiffs<'d> {
    theirs: FileLines<'d>,
    ours: FileLines<'d>,
    /// Whether both show the same lines, whatever their numbers are.
    is_same: bool,
}

struct FileLines<'d> {
    /// Each with the number of its hunk. Remarks of git's are left out.
    lines: Vec<(usize, DiffLine<'d>)>,
    by_text: BTreeMap<Says<'d>, Vec<usize>>,
}

/// How far what stands before and after two lines is the same.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Around {
    before: usize,
    after: usize,
}

impl<'d> BothDiffs<'d> {
    pub(super) fn new(theirs: (&'d Diff, &FileDiff), ours: (&'d Diff, &FileDiff)) -> Self {
        let (theirs, ours) = (FileLines::of(theirs), FileLines::of(ours));
        let is_same = theirs.said().eq(ours.said());
        Self { theirs, ours, is_same }
    }

    /// The line of ours that shows what the line with this number in their diff shows; none unless there is no doubt.
    pub(super) fn ours(&self, number: u32) -> Option<&DiffLine<'d>> {
        let at = self.theirs.lines.binary_search_by_key(&number, |(_, line)| line.number).ok()?;
        let found = if self.is_same { at } else { self.told_apart(at)? };
        self.ours.lines.get(found).map(|(_, line)| line)
    }

    /// The line that has most of the same lines around it. If several have, there have to be as many in their diff: then their order
    /// tells.
    fn told_apart(&self, at: usize) -> Option<usize> {
        let text = says(&self.theirs.lines[at].1);
        let (here, there) = (self.ours.by_text.get(&text)?, self.theirs.by_text.get(&text)?);
        if here.len().max(there.len()) > SAME_MAX {
            return None;
        }
        let around = |found: &usize| self.theirs.around(at, &self.ours, *found);
        let widest = here.iter().map(around).max_by_key(|it| it.before + it.after)?;
        let is_best = |found: &&usize| {
            let it = around(found);
            it.before + it.after == widest.before + widest.after
        };
        let best: Vec<usize> = here.iter().filter(is_best).copied().collect();
        if best.iter().any(|found| around(found) != widest) {
            return None;
        }
        // What was not changed is told by the change that it stands beside: the rest of a file is full of the same lines.
        let window = &self.theirs.lines[at - widest.before..=at + widest.after];
        if window.iter().all(|(_, line)| line.kind == LineKind::Context) {
            return None;
        }
        let is_twin = |twin: &&usize| {
            let it = self.theirs.around(at, &self.theirs, **twin);
            it.before >= widest.before && it.after >= widest.after
        };
        let twins: Vec<usize> = there.iter().filter(is_twin).copied().collect();
        let rank = twins.iter().position(|twin| *twin == at)?;
        (best.len() == twins.len()).then(|| best[rank])
    }
}

impl<'d> FileLines<'d> {
    fn of((diff, file): (&'d Diff, &FileDiff)) -> Self {
        let hunks = file.hunks.iter().enumerate();
        let lines = hunks.flat_map(|(hunk, it)| diff.lines(it).map(move |line| (hunk, line)));
        let lines: Vec<(usize, DiffLine<'d>)> =
            lines.filter(|(_, line)| line.kind != LineKind::Remark).collect();
        let mut by_text: BTreeMap<Says<'d>, Vec<usize>> = BTreeMap::new();
        for (at, (_, line)) in lines.iter().enumerate() {
            by_text.entry(says(line)).or_default().push(at);
        }
        Self { lines, by_text }
    }

    fn said(&self) -> impl Iterator<Item = Says<'d>> {
        self.lines.iter().map(|(_, line)| says(line))
    }

    /// How far the lines around one are those around another, each inside of its hunk.
    fn around(&self, at: usize, other: &Self, there: usize) -> Around {
        let is_same = |(one, two): &(Option<usize>, Option<usize>)| {
            let one = one.and_then(|it| self.beside(at, it));
            one.is_some() && one == two.and_then(|it| other.beside(there, it))
        };
        let back = (1..=AROUND_MAX).map(|by| (at.checked_sub(by), there.checked_sub(by)));
        let on = (1..=AROUND_MAX).map(|by| (at.checked_add(by), there.checked_add(by)));
        Around { before: back.take_while(is_same).count(), after: on.take_while(is_same).count() }
    }

    /// What a line of the same hunk says.
    fn beside(&self, at: usize, other: usize) -> Option<Says<'d>> {
        let (hunk, line) = self.lines.get(other)?;
        (*hunk == self.lines[at].0).then(|| says(line))
    }
}

fn says<'d>(line: &DiffLine<'d>) -> Says<'d> {
    (line.kind, line.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every line of their hunks what it says, and the number of ours.
    fn check(theirs: &str, ours: &str) -> String {
        let header = "diff --git a/f b/f\n--- a/f\n+++ b/f\n";
        let [theirs, ours] = [theirs, ours].map(|text| Diff::read(format!("{header}{text}")));
        let both = BothDiffs::new((&theirs, &theirs.files()[0]), (&ours, &ours.files()[0]));
        let row = |(_, line): &(usize, DiffLine<'_>)| {
            let text = String::from_utf8_lossy(line.raw).trim_end().to_owned();
            let found = both.ours(line.number).map_or_else(String::new, |it| it.number.to_string());
            format!("{text}: {found}").trim_end().to_owned()
        };
        both.theirs.lines.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_same_lines_are_the_same_wherever_they_are_counted() {
        let hunk = " a\n-b\n+c\n a\n";
        let moved =
            check(&format!("@@ -21,3 +21,3 @@\n{hunk}"), &format!("@@ -1,3 +1,3 @@\n{hunk}"));
        assert_eq!(moved, " a: 5\n-b: 6\n+c: 7\n a: 8");
    }

    #[test]
    fn what_the_target_has_changed_is_not_ours_and_what_is_left_is_told_by_the_change_beside_it() {
        let ours = "@@ -1,4 +1,4 @@\n a\n b\n-c\n+d\n e\n";
        let theirs = "@@ -1,5 +1,5 @@\n a\n target\n b\n-c\n+d\n e\n";
        assert_eq!(check(theirs, ours), " a:\n target:\n b: 6\n-c: 7\n+d: 8\n e: 9");
    }

    #[test]
    fn a_conflict_keeps_the_lines_of_the_source_and_its_markers_are_nobodys() {
        let ours = "@@ -1,3 +1,3 @@\n a\n-b\n+source\n c\n";
        let theirs =
            "@@ -1,3 +1,7 @@\n a\n+<<<<<<< x\n target\n+=======\n+source\n+>>>>>>> y\n c\n";
        let expected = " a:\n+<<<<<<< x:\n target:\n+=======:\n+source: 7\n+>>>>>>> y:\n c:";
        assert_eq!(check(theirs, ours), expected);
    }

    #[test]
    fn twins_are_told_by_their_order_if_all_of_them_are_there() {
        let twice = "@@ -1,2 +1,2 @@\n-a\n+b\n@@ -9,2 +9,2 @@\n-a\n+b\n";
        let more = format!("{twice}@@ -20 +20,2 @@\n c\n+d\n");
        assert_eq!(check(twice, &more), "-a: 5\n+b: 6\n-a: 8\n+b: 9");
        let thrice = format!("{twice}@@ -30,2 +30,2 @@\n-a\n+b\n");
        assert_eq!(check(twice, &thrice), "-a:\n+b:\n-a:\n+b:", "which two of three?");
        assert_eq!(check(&thrice, twice), "-a:\n+b:\n-a:\n+b:\n-a:\n+b:");
    }

    #[test]
    fn lines_without_end_that_say_the_same_are_left_alone() {
        let added = |count: usize| format!("@@ -0,0 +1,{count} @@\n{}", "+x\n".repeat(count));
        let said = check(&added(SAME_MAX + 1), &added(SAME_MAX + 2));
        assert!(said.lines().all(|line| line == "+x:"), "{said}");
    }
}
