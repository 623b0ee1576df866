//! Rendering of the code of an issue.

use expect_test::{Expect, expect};

use super::super::flow::tests::issue;
use super::*;

const DIFF: &str = "\
diff --git a/src/pay.rs b/src/pay.rs
--- a/src/pay.rs
+++ b/src/pay.rs
@@ -9,5 +9,6 @@
 // once
 fn pay() {
-\tcharge();
+\tcharge(1);
+\tcharge(2);
 }
 // done
";

fn check(side: Side, lines: (u32, u32), width: usize, expected: Expect) {
    check_rows(side, lines, (ROWS_MAX, width), expected);
}

fn check_rows(side: Side, lines: (u32, u32), (rows, width): (usize, usize), expected: Expect) {
    let mut issue = issue(1, "manual", "apply");
    issue.location.side = side;
    (issue.location.line_start, issue.location.line_end) = lines;
    expected.assert_eq(&text(&issue, Some(&Diff::read(DIFF.as_bytes().to_vec())), rows, width));
}

#[test]
fn lines_of_an_issue_are_marked_in_context() {
    check(
        Side::New,
        (12, 12),
        79,
        expect![[r#"
             11 -     charge();
             11 +     charge(1);
        >    12 +     charge(2);
             13   }
             14   // done

    "#]],
    );
    check(
        Side::Old,
        (11, 11),
        79,
        expect![[r#"
              9   // once
             10   fn pay() {
        >    11 -     charge();
             11 +     charge(1);
             12 +     charge(2);

    "#]],
    );
    check(
        Side::New,
        (9, 14),
        79,
        expect![[r#"
        >     9   // once
        >    10   fn pay() {
             11 -     charge();
        >    11 +     charge(1);
        >    12 +     charge(2);
        >    13   }
        >    14   // done

    "#]],
    );
    check(
        Side::New,
        (12, 12),
        16,
        expect![[r#"
             11 -     c…
             11 +     c…
        >    12 +     c…
             13   }
             14   // do…

    "#]],
    );
}

#[test]
fn little_room_drops_context_first_and_counts_the_rest() {
    check_rows(
        Side::New,
        (12, 12),
        (3, 79),
        expect![[r#"
             11 +     charge(1);
        >    12 +     charge(2);
             13   }

    "#]],
    );
    check_rows(
        Side::New,
        (12, 12),
        (1, 79),
        expect![[r#"
        >    12 +     charge(2);

    "#]],
    );
    check_rows(
        Side::New,
        (9, 14),
        (4, 79),
        expect![[r#"
        >     9   // once
        >    10   fn pay() {
             11 -     charge();
                … 4 more lines

    "#]],
    );
}

#[test]
fn lines_missing_in_the_diff_are_quoted() {
    let mut issue = issue(1, "manual", "apply");
    (issue.location.line_start, issue.location.line_end) = (90, 90);
    let shown = text(&issue, Some(&Diff::read(DIFF.as_bytes().to_vec())), ROWS_MAX, 79);
    assert_eq!(shown, "     12   charge();\n\n");
}
