//! Excerpts around an issue.

use expect_test::{Expect, expect};

use super::*;

const DIFF: &str = "\
diff --git a/a.rs b/a.rs
--- a/a.rs
+++ b/a.rs
@@ -1,7 +1,7 @@ fn a() {
 one
 two
-let x = price * rate;
-gone
+let x = price * 100;
+here
 five
 six
 seven
@@ -30,3 +30,4 @@ fn b() {
 thirty
+added
 thirty-one
 thirty-two
";

fn check(file: &str, own: SideLines, quotes: &[SideLines], diff: &str, expected: Expect) {
    let diff = Diff::read(diff);
    let excerpt = Excerpt::around(file, &own, quotes, &diff);
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let lines = excerpt.iter().flat_map(|excerpt| &excerpt.rows).map(|row| {
        let sign = match row.look {
            ExcerptRowKind::Context => ' ',
            ExcerptRowKind::Removed => '-',
            ExcerptRowKind::Added => '+',
            ExcerptRowKind::Gap => '~',
        };
        let mark = if row.cited { '>' } else { ' ' };
        let [start, middle, end] = &row.text;
        let middle = if middle.is_empty() { String::new() } else { format!("[{middle}]") };
        format!("{mark}{:>5}{:>5} {sign}{start}{middle}{end}\n", number(row.old), number(row.new))
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn changed_line_has_context_and_marked_difference() {
    check(
        "a.rs",
        (Side::New, 3..=3),
        &[],
        DIFF,
        expect![[r#"
             1    1  one
             2    2  two
             3      -let x = price * [rate];
             4      -gone
        >         3 +let x = price * [100];
                  4 +here
             5    5  five
             6    6  six
             7    7  seven
    "#]],
    );
}

#[test]
fn removed_line_and_quotes_are_marked() {
    check(
        "a.rs",
        (Side::Old, 4..=4),
        &[(Side::New, 5..=6)],
        DIFF,
        expect![[r#"
             1    1  one
             2    2  two
             3      -let x = price * [rate];
        >    4      -gone
                  3 +let x = price * [100];
                  4 +here
        >    5    5  five
        >    6    6  six
             7    7  seven
    "#]],
    );
}

#[test]
fn lines_in_two_hunks_have_a_gap() {
    check(
        "a.rs",
        (Side::New, 7..=31),
        &[],
        DIFF,
        expect![[r#"
             4      -gone
                  3 +let x = price * 100;
                  4 +here
             5    5  five
             6    6  six
        >    7    7  seven
                    ~
        >   30   30  thirty
        >        31 +added
            31   32  thirty-one
            32   33  thirty-two
    "#]],
    );
}

#[test]
fn line_outside_the_diff_has_no_excerpt() {
    check("a.rs", (Side::New, 20..=20), &[], DIFF, expect![""]);
    check("b.rs", (Side::New, 3..=3), &[], DIFF, expect![""]);
    check("a.rs", (Side::New, 3..=3), &[], "", expect![""]);
}

#[test]
fn long_excerpt_omits_the_middle() {
    let lines: String = (1..=500).map(|line| format!("+line {line}\n")).collect();
    let diff = format!("--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1,500 @@\n{lines}");
    let excerpt = Excerpt::around("a.rs", &(Side::New, 1..=500), &[], &Diff::read(diff)).unwrap();
    assert_eq!(excerpt.rows.len(), MAX_ROWS + 1);
    assert_eq!(excerpt.rows[30].text[0], "460 lines left out");
    assert_eq!(excerpt.rows[31].new, Some(491));
}

#[test]
fn excerpt_line_is_escaped_and_truncated() {
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,1 +1,2 @@\n same\r\n+\u{1b}[2J\u{202e}\tx\r\n";
    check(
        "a.rs",
        (Side::New, 2..=2),
        &[],
        diff,
        expect![[r#"
             1    1  same␍
        >         2 +\u{1b}[2J\u{202e}	x␍
    "#]],
    );
    let long_diff = format!("--- a/a.rs\n+++ b/a.rs\n@@ -1,0 +1,1 @@\n+{}\n", "x".repeat(100_000));
    let excerpt =
        Excerpt::around("a.rs", &(Side::New, 1..=1), &[], &Diff::read(long_diff)).unwrap();
    assert_eq!(excerpt.rows[0].text[0].chars().count(), MAX_COLUMNS);
}

#[test]
fn quote_is_shown_if_all_its_lines_are() {
    let excerpt = Excerpt::around("a.rs", &(Side::New, 3..=3), &[], &Diff::read(DIFF)).unwrap();
    assert!(excerpt.shows("a.rs", Side::New, 3, "let x = price * 100;\nhere\n"));
    assert!(excerpt.shows("a.rs", Side::Old, 3, "let x = price * rate;"));
    assert!(!excerpt.shows("a.rs", Side::New, 30, "thirty"));
    assert!(!excerpt.shows("b.rs", Side::New, 3, "let x = price * 100;"));
}
