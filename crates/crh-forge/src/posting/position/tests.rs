//! Positions in GitHub's hunks, compared with a plain definition of what a diff shows.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const PATCH: &str = "@@ -10,7 +10,8 @@ fn f() {\n a\n b\n c\n-old one\n-old two\n+new one\n+new two\n+new three\n d\n e\n@@ -40,3 +41,4 @@\n x\n+y\n z\n w\n\\ No newline at end of file";

fn location(side: Side, line_start: u32, line_end: u32) -> Location {
    Location { file: "a.rs".to_owned(), side, line_start, line_end }
}

fn anchor_text(anchor: Option<Anchor>) -> String {
    let point_text = |point: DiffPoint| match point.side {
        Side::Old => format!("L{}", point.line),
        Side::New => format!("R{}", point.line),
    };
    match anchor {
        None => "nowhere".to_owned(),
        Some(Anchor { end, start: None, .. }) => point_text(end),
        Some(Anchor { end, start: Some(start), .. }) => {
            format!("{}..{}", point_text(start), point_text(end))
        }
    }
}

fn check(files: &[FilePatch], own_diff: &str, expected: &Expect) {
    let positions = positions(files, &Diff::read(own_diff));
    let ranges = [
        (Side::New, 9, 9),
        (Side::New, 10, 10),
        (Side::New, 13, 15),
        (Side::New, 17, 17),
        (Side::New, 18, 18),
        (Side::New, 15, 42),
        (Side::New, 30, 42),
        (Side::New, 30, 31),
        (Side::New, 15, 30),
        (Side::New, 44, 44),
        (Side::New, 45, 45),
        (Side::Old, 13, 13),
        (Side::Old, 13, 14),
        (Side::Old, 12, 14),
        (Side::Old, 15, 15),
        (Side::Old, 42, 42),
        (Side::Old, 43, 43),
    ];
    let lines: String = ranges
        .iter()
        .map(|(side, first, last)| {
            let anchor = positions.anchor(&location(*side, *first, *last));
            format!("{side:?} {first}-{last}: {}\n", anchor_text(anchor))
        })
        .collect();
    expected.assert_eq(&lines);
}

fn positions(files: &[FilePatch], own: &Diff) -> CommentPositions {
    CommentPositions::new(files, own, &BTreeSet::from(["a.rs"]))
}

fn file(patch: Option<&str>) -> FilePatch {
    FilePatch { path: "a.rs".to_owned(), previous: None, patch: patch.map(str::to_owned) }
}

#[test]
fn lines_in_github_hunks_are_valid_positions() {
    check(
        &[file(Some(PATCH))],
        "",
        &expect![[r#"
            New 9-9: nowhere
            New 10-10: R10
            New 13-15: R13..R15
            New 17-17: R17
            New 18-18: nowhere
            New 15-42: R15
            New 30-42: R42
            New 30-31: nowhere
            New 15-30: R15
            New 44-44: R44
            New 45-45: nowhere
            Old 13-13: L13
            Old 13-14: L13..L14
            Old 12-14: L14
            Old 15-15: R16
            Old 42-42: R44
            Old 43-43: nowhere
        "#]],
    );
}

#[test]
fn own_diff_is_used_where_github_has_no_hunks() {
    let many: String = (1..=9).map(|n| format!(" line {n}\n")).collect();
    let own = format!(
        "--- a/a.rs\n+++ b/a.rs\n@@ -4,20 +4,21 @@\n{many}-old one\n-old two\n+new one\n+new two\n+new three\n{many}"
    );
    check(
        &[file(None)],
        &own,
        &expect![[r#"
            New 9-9: nowhere
            New 10-10: R10
            New 13-15: R13..R15
            New 17-17: R17
            New 18-18: R18
            New 15-42: R15
            New 30-42: nowhere
            New 30-31: nowhere
            New 15-30: R15
            New 44-44: nowhere
            New 45-45: nowhere
            Old 13-13: L13
            Old 13-14: L13..L14
            Old 12-14: L14
            Old 15-15: R16
            Old 42-42: nowhere
            Old 43-43: nowhere
        "#]],
    );
}

#[test]
fn unlisted_file_has_no_positions_unless_list_is_full() {
    let own = "--- a/a.rs\n+++ b/a.rs\n@@ -9,1 +9,2 @@\n x\n+y\n";
    let other = FilePatch { path: "b.rs".to_owned(), ..FilePatch::default() };
    let at = location(Side::New, 10, 10);
    let few = positions(std::slice::from_ref(&other), &Diff::read(own));
    assert_eq!(few.anchor(&at), None);
    let full = positions(&vec![other; LISTED_FILES_MAX], &Diff::read(own));
    assert_eq!(anchor_text(full.anchor(&at)), "R10");
}

/// Lines of a file with their change.
fn edits() -> impl Strategy<Value = Vec<LineKind>> {
    let kind = prop_oneof![
        5 => Just(LineKind::Context), 1 => Just(LineKind::Added), 1 => Just(LineKind::Removed)
    ];
    proptest::collection::vec(kind, 0..60)
}

fn numbered(kinds: &[LineKind]) -> Vec<PositionLine> {
    let (mut old, mut new) = (0, 0);
    kinds
        .iter()
        .map(|kind| {
            old += u32::from(kind.in_old());
            new += u32::from(kind.in_new());
            PositionLine { kind: *kind, old, new, numbers: (old, new) }
        })
        .collect()
}

fn whole_diff(kinds: &[LineKind]) -> String {
    let count = |is: fn(LineKind) -> bool| kinds.iter().filter(|kind| is(**kind)).count();
    let (old, new) = (count(LineKind::in_old), count(LineKind::in_new));
    let sign = |kind: &LineKind| match kind {
        LineKind::Context | LineKind::Remark => " x\n",
        LineKind::Added => "+x\n",
        LineKind::Removed => "-x\n",
    };
    let body: String = kinds.iter().map(sign).collect();
    format!("--- a/a.rs\n+++ b/a.rs\n@@ -1,{old} +1,{new} @@\n{body}")
}

proptest! {
    /// By definition, a line is shown if at most three lines separate it from a change, and two
    /// lines are in one hunk if all lines between them are shown.
    #[test]
    fn anchors_match_a_simple_definition(kinds in edits(), old in any::<bool>(), first in 1_u32..50, more in 0_u32..12) {
        let side = if old { Side::Old } else { Side::New };
        let lines = numbered(&kinds);
        let changed = |at: usize| lines[at].kind != LineKind::Context;
        let is_shown = |at: usize| (0..lines.len()).any(|other| changed(other) && other.abs_diff(at) <= CONTEXT_LINES);
        let at = |line| (0..lines.len()).find(|at| lines[*at].is_at(side, line)).filter(|at| is_shown(*at));
        let (start, end) = (at(first), at(first + more));
        let expected = match (start, end) {
            (Some(start), Some(end)) if start == end => word_of(&lines[start], None),
            (Some(start), Some(end)) if (start..=end).all(is_shown) => {
                let (from, to) = (&lines[start], &lines[end]);
                let removed = |line: &PositionLine| line.kind == LineKind::Removed;
                match (removed(from), removed(to)) {
                    (true, true) | (false, false) => word_of(to, Some(from)),
                    // Only positions on the old side can be removed lines.
                    (true, false) => word_of(from, None),
                    (false, true) => word_of(to, None),
                }
            }
            (Some(one), _) | (None, Some(one)) => word_of(&lines[one], None),
            (None, None) => "nowhere".to_owned(),
        };
        let positions = positions(&[file(None)], &Diff::read(whole_diff(&kinds)));
        let anchor = positions.anchor(&location(side, first, first + more));
        prop_assert_eq!(anchor_text(anchor), expected);
    }
}

fn word_of(end: &PositionLine, start: Option<&PositionLine>) -> String {
    let anchor = Anchor {
        path: String::new(),
        old_path: None,
        end: end.point(),
        start: start.map(PositionLine::point),
    };
    anchor_text(Some(anchor))
}
