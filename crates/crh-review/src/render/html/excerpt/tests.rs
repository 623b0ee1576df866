//! Which lines are shown around an issue, and how.

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

fn check(file: &str, own: Lines, quotes: &[Lines], diff: &str, expected: Expect) {
    let diff = Diff::read(diff);
    let excerpt = Excerpt::around(file, &own, quotes, &diff);
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let shown = excerpt.iter().flat_map(|excerpt| &excerpt.rows).map(|row| {
        let sign = match row.look {
            Look::Context => ' ',
            Look::Removed => '-',
            Look::Added => '+',
            Look::Gap => '~',
        };
        let mark = if row.cited { '>' } else { ' ' };
        let [start, middle, end] = &row.text;
        let middle = if middle.is_empty() { String::new() } else { format!("[{middle}]") };
        format!("{mark}{:>5}{:>5} {sign}{start}{middle}{end}\n", number(row.old), number(row.new))
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[test]
fn a_changed_line_stands_among_its_neighbours_and_shows_what_changed() {
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
fn a_removed_line_is_found_on_its_side_and_quotes_are_marked() {
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
fn lines_in_two_hunks_have_a_gap_between_them() {
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
fn what_the_diff_does_not_show_is_not_made_up() {
    check("a.rs", (Side::New, 20..=20), &[], DIFF, expect![""]);
    check("b.rs", (Side::New, 3..=3), &[], DIFF, expect![""]);
    check("a.rs", (Side::New, 3..=3), &[], "", expect![""]);
}

#[test]
fn of_many_lines_the_middle_is_left_out() {
    let lines: String = (1..=500).map(|line| format!("+line {line}\n")).collect();
    let diff = format!("--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1,500 @@\n{lines}");
    let excerpt = Excerpt::around("a.rs", &(Side::New, 1..=500), &[], &Diff::read(diff)).unwrap();
    assert_eq!(excerpt.rows.len(), ROWS_MAX + 1);
    assert_eq!(excerpt.rows[30].text[0], "460 lines left out");
    assert_eq!(excerpt.rows[31].new, Some(491));
}

#[test]
fn a_line_of_any_bytes_is_text_and_has_an_end() {
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
    let long = format!("--- a/a.rs\n+++ b/a.rs\n@@ -1,0 +1,1 @@\n+{}\n", "x".repeat(100_000));
    let excerpt = Excerpt::around("a.rs", &(Side::New, 1..=1), &[], &Diff::read(long)).unwrap();
    assert_eq!(excerpt.rows[0].text[0].chars().count(), LINE_MAX);
}

#[test]
fn a_quote_is_shown_if_all_its_lines_are() {
    let excerpt = Excerpt::around("a.rs", &(Side::New, 3..=3), &[], &Diff::read(DIFF)).unwrap();
    assert!(excerpt.shows("a.rs", Side::New, 3, "let x = price * 100;\nhere\n"));
    assert!(excerpt.shows("a.rs", Side::Old, 3, "let x = price * rate;"));
    assert!(!excerpt.shows("a.rs", Side::New, 30, "thirty"));
    assert!(!excerpt.shows("b.rs", Side::New, 3, "let x = price * 100;"));
}
