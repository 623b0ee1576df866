//! Maps lines of one side of a change to lines of the other side.

use super::{Diff, FileChange, FileDiff, LineKind};
use crate::finding::Side;

/// Consecutive lines, with their ranges on both sides. Ranges are half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    old: (u32, u32),
    new: (u32, u32),
    kind: StretchKind,
}

/// Relation between the two sides of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StretchKind {
    /// Same lines.
    Same,
    /// One side replaces the other.
    Replaced,
}

impl Diff {
    /// The lines on the other side for lines `first` to `last` of `side`: unchanged lines map to
    /// the same lines there, changed lines to all lines that they replace or that replace them, and
    /// lines without a counterpart to the line before (or the first line). `None` if the file does
    /// not exist on the other side.
    pub fn counterpart(
        &self,
        file: &FileDiff,
        side: Side,
        (first, last): (u32, u32),
    ) -> Option<(u32, u32)> {
        let has_no_other_side = match side {
            Side::Old => file.change == FileChange::Deleted,
            Side::New => file.change == FileChange::Added,
        };
        let (mut low, mut high) = (u32::MAX, 0);
        for Stretch { old, new, kind } in self.stretches(file) {
            let (own_range, other_range) = match side {
                Side::Old => (old, new),
                Side::New => (new, old),
            };
            let (from, to) = (first.max(own_range.0), last.min(own_range.1.saturating_sub(1)));
            if from > to {
                continue;
            }
            let (from, to) = match kind {
                StretchKind::Same => {
                    let other_line = |line: u32| other_range.0.saturating_add(line - own_range.0);
                    (other_line(from), other_line(to))
                }
                StretchKind::Replaced if other_range.0 < other_range.1 => {
                    (other_range.0, other_range.1 - 1)
                }
                StretchKind::Replaced => {
                    let line_before = other_range.0.saturating_sub(1).max(1);
                    (line_before, line_before)
                }
            };
            (low, high) = (low.min(from), high.max(to));
        }
        (high > 0 && !has_no_other_side).then_some((low, high))
    }

    /// The whole file as alternating unchanged and replaced stretches.
    fn stretches(&self, file: &FileDiff) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let (mut old, mut new) = (1_u32, 1_u32);
        for line in file.hunks.iter().flat_map(|hunk| self.lines(hunk)) {
            let kind = match line.kind {
                LineKind::Context => StretchKind::Same,
                LineKind::Added | LineKind::Removed => StretchKind::Replaced,
                LineKind::Remark => continue,
            };
            // Lines between two hunks are unchanged.
            let old_line = if line.kind.in_old() { line.old } else { old };
            let skipped_lines = match line.kind {
                LineKind::Added => line.new.saturating_sub(new),
                LineKind::Context | LineKind::Removed | LineKind::Remark => {
                    old_line.saturating_sub(old)
                }
            };
            if skipped_lines > 0 {
                let (from_old, from_new) = (old, new);
                (old, new) = (old.saturating_add(skipped_lines), new.saturating_add(skipped_lines));
                let kind = StretchKind::Same;
                stretches.push(Stretch { old: (from_old, old), new: (from_new, new), kind });
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

    /// Line 3 is replaced by two lines, line 6 is removed, and a line is added before line 10 of
    /// twelve.
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
        let other_lines = diff.counterpart(&diff.files()[0], side, lines);
        assert_eq!(other_lines, expected, "{side:?} {lines:?}");
    }

    #[test]
    fn unchanged_lines_map_to_themselves() {
        for (old, new) in [(1, 1), (2, 2), (4, 5), (5, 6), (8, 8), (9, 9), (10, 11), (12, 13)] {
            check(DIFF, Side::Old, (old, old), Some((new, new)));
            check(DIFF, Side::New, (new, new), Some((old, old)));
        }
    }

    #[test]
    fn lines_changed_together_map_to_each_other() {
        check(DIFF, Side::New, (3, 3), Some((3, 3)));
        check(DIFF, Side::New, (4, 4), Some((3, 3)));
        check(DIFF, Side::Old, (3, 3), Some((3, 4)));
        check(DIFF, Side::New, (4, 6), Some((3, 5)));
    }

    #[test]
    fn removed_lines_map_to_the_line_before() {
        check(DIFF, Side::Old, (6, 6), Some((6, 6)));
        check(DIFF, Side::New, (10, 10), Some((9, 9)));
        check("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", Side::New, (1, 1), Some((1, 1)));
    }

    #[test]
    fn added_file_has_no_counterpart() {
        let added =
            "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n";
        check(added, Side::New, (1, 1), None);
    }
}
