//! Which lines of one side of a change stand for lines of the other.

use super::{Diff, FileChange, FileDiff, LineKind};
use crate::finding::Side;

/// A run of lines that is in one place on both sides. Ranges are half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    old: (u32, u32),
    new: (u32, u32),
    kind: StretchKind,
}

/// How the two sides of a stretch are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StretchKind {
    /// They are the same lines.
    Same,
    /// One is in the place of the other.
    Replaced,
}

impl Diff {
    /// The lines on the other side that stand for lines `first` to `last` of `side`: the same lines, all of those that
    /// were changed together with them, or, where nothing is in their place, the line before it (the first line, if none
    /// is before). None if the file is not there on the other side.
    pub fn counterpart(
        &self,
        file: &FileDiff,
        side: Side,
        (first, last): (u32, u32),
    ) -> Option<(u32, u32)> {
        let is_alone = match side {
            Side::Old => file.change == FileChange::Deleted,
            Side::New => file.change == FileChange::Added,
        };
        let (mut low, mut high) = (u32::MAX, 0);
        for Stretch { old, new, kind } in self.stretches(file) {
            let (here, there) = match side {
                Side::Old => (old, new),
                Side::New => (new, old),
            };
            let (from, to) = (first.max(here.0), last.min(here.1.saturating_sub(1)));
            if from > to {
                continue;
            }
            let (from, to) = match kind {
                StretchKind::Same => {
                    let moved = |line: u32| there.0.saturating_add(line - here.0);
                    (moved(from), moved(to))
                }
                StretchKind::Replaced if there.0 < there.1 => (there.0, there.1 - 1),
                StretchKind::Replaced => {
                    let before = there.0.saturating_sub(1).max(1);
                    (before, before)
                }
            };
            (low, high) = (low.min(from), high.max(to));
        }
        (high > 0 && !is_alone).then_some((low, high))
    }

    /// The whole file, taken apart where its sides part and meet.
    fn stretches(&self, file: &FileDiff) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let (mut old, mut new) = (1_u32, 1_u32);
        for line in file.hunks.iter().flat_map(|hunk| self.lines(hunk)) {
            let kind = match line.kind {
                LineKind::Context => StretchKind::Same,
                LineKind::Added | LineKind::Removed => StretchKind::Replaced,
                LineKind::Remark => continue,
            };
            // What lies between two hunks is the same on both sides.
            let shown = if line.kind.in_old() { line.old } else { old };
            let skipped = match line.kind {
                LineKind::Added => line.new.saturating_sub(new),
                LineKind::Context | LineKind::Removed | LineKind::Remark => {
                    shown.saturating_sub(old)
                }
            };
            if skipped > 0 {
                let (from_old, from_new) = (old, new);
                (old, new) = (old.saturating_add(skipped), new.saturating_add(skipped));
                let same = StretchKind::Same;
                stretches.push(Stretch { old: (from_old, old), new: (from_new, new), kind: same });
            }
            let (old_end, new_end) = (
                old.saturating_add(u32::from(line.kind.in_old())),
                new.saturating_add(u32::from(line.kind.in_new())),
            );
            match stretches.last_mut() {
                Some(last) if last.kind == kind => (last.old.1, last.new.1) = (old_end, new_end),
                _ => stretches.push(Stretch { old: (old, old_end), new: (new, new_end), kind }),
            }
            (old, new) = (old_end, new_end);
        }
        let rest = u32::MAX - old.max(new);
        let rest = ((old, old + rest), (new, new + rest));
        stretches.push(Stretch { old: rest.0, new: rest.1, kind: StretchKind::Same });
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve lines, of which 3 is replaced by two, 6 is gone, and one comes before 10.
    const DIFF: &str = "\
--- a/f
+++ b/f
@@ -2,5 +2,5 @@
 b
-c
+C1
+C2
 d
 e
-f
@@ -9,2 +9,3 @@
 i
+new
 j
";

    fn check(diff: &str, side: Side, lines: (u32, u32), expected: Option<(u32, u32)>) {
        let diff = Diff::read(diff);
        let found = diff.counterpart(&diff.files()[0], side, lines);
        assert_eq!(found, expected, "{side:?} {lines:?}");
    }

    #[test]
    fn lines_that_stay_are_followed() {
        for (old, new) in [(1, 1), (2, 2), (4, 5), (5, 6), (8, 8), (9, 9), (10, 11), (12, 13)] {
            check(DIFF, Side::Old, (old, old), Some((new, new)));
            check(DIFF, Side::New, (new, new), Some((old, old)));
        }
    }

    #[test]
    fn lines_that_were_changed_together_stand_for_each_other() {
        check(DIFF, Side::New, (3, 3), Some((3, 3)));
        check(DIFF, Side::New, (4, 4), Some((3, 3)));
        check(DIFF, Side::Old, (3, 3), Some((3, 4)));
        check(DIFF, Side::New, (4, 6), Some((3, 5)));
    }

    #[test]
    fn where_nothing_is_in_their_place_the_line_before_stands_for_them() {
        check(DIFF, Side::Old, (6, 6), Some((6, 6)));
        check(DIFF, Side::New, (10, 10), Some((9, 9)));
        check("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", Side::New, (1, 1), Some((1, 1)));
    }

    #[test]
    fn a_file_that_is_on_one_side_only_has_no_counterpart() {
        let added =
            "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n";
        check(added, Side::New, (1, 1), None);
    }
}
