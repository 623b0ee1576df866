//! Rendering of exact fixes.

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

fn replacement(lines: (u32, u32), text: &str) -> Option<Replacement> {
    let mut issue = issue(1, "manual", "apply");
    (issue.location.line_start, issue.location.line_end) = lines;
    issue.replacement = Some(text.to_owned());
    Replacement::from_issue(&issue, Some(&Diff::read(DIFF.as_bytes().to_vec())))
}

fn check(lines: (u32, u32), text: &str, rows: usize, width: usize, expected: Expect) {
    let text = replacement(lines, text).unwrap().text("  ", rows, width);
    // The first line has no indent, so that the indents below are compared too.
    expected.assert_eq(&format!("shown:\n{text}"));
}

#[test]
fn only_lines_that_differ_are_shown() {
    check(
        (10, 13),
        "fn pay() {\n\tcharge(3);\n}\n",
        9,
        79,
        expect![[r#"
            shown:
              -     charge(1);
              -     charge(2);
              +     charge(3);
        "#]],
    );
    check(
        (12, 12),
        "",
        9,
        79,
        expect![[r#"
            shown:
              -     charge(2);
        "#]],
    );
    check(
        (12, 12),
        "\tcharge(2);\n\tlog();",
        9,
        79,
        expect![[r#"
            shown:
              +     log();
        "#]],
    );
    assert_eq!(replacement((12, 12), "\tcharge(2);\n"), None);
}

#[test]
fn lines_missing_in_the_diff_show_only_additions() {
    check(
        (13, 16),
        "}\n",
        9,
        79,
        expect![[r#"
            shown:
              + }
        "#]],
    );
}

#[test]
fn missing_lines_are_counted_and_both_sides_are_shown() {
    let long = "a\nb\nc\nd\ne\nf";
    check(
        (9, 14),
        long,
        5,
        79,
        expect![[r#"
            shown:
              - // once
              - fn pay() {
              + a
              + b
              … 8 more lines
        "#]],
    );
    check(
        (12, 12),
        long,
        5,
        79,
        expect![[r#"
            shown:
              -     charge(2);
              + a
              + b
              + c
              … 3 more lines
        "#]],
    );
    check(
        (9, 14),
        "a",
        5,
        12,
        expect![[r#"
            shown:
              - // once
              - fn pay(…
              -     cha…
              + a
              … 3 more …
        "#]],
    );
}

#[test]
fn unusable_replacement_is_not_shown() {
    assert_eq!(replacement((12, 12), "[redacted: a key]"), None);
}
