//! What becomes of reports, written as tables: what is expected and reported goes in, a line for each fate comes out.

use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::eval::tests_support::evaluation;

fn check(rule: Rule, table: &str, expected: Expect) {
    let evaluation = evaluation(rule, &format!("case c\n{table}"));
    let case = &evaluation.cases[0];
    expected.assert_eq(&shown(&sort(&case.labels, &case.runs[0], rule)));
}

fn shown(sorted: &Sorted) -> String {
    let Sorted { matched, duplicates, known_bad, on_clean, unlabelled, missed } = sorted;
    let pairs = |pairs: &[(usize, usize)]| {
        pairs.iter().map(|(left, right)| format!(" {left}-{right}")).collect::<String>()
    };
    let numbers =
        |numbers: &[usize]| numbers.iter().map(|number| format!(" {number}")).collect::<String>();
    let rows = [
        ("matched", pairs(matched)),
        ("duplicates", pairs(duplicates)),
        ("known bad", pairs(known_bad)),
        ("on clean", numbers(on_clean)),
        ("unlabelled", numbers(unlabelled)),
        ("missed", numbers(missed)),
    ];
    let rows = rows.iter().filter(|(_, what)| !what.is_empty());
    rows.map(|(name, what)| format!("{name}{what}\n")).collect()
}

#[test]
fn three_lines_apart_is_near_and_four_is_not() {
    check(
        Rule::Category,
        "
        expect f:10-12
        expect g:10-12
        expect h:10-12
        expect i:10-12
        report f:15 bug
        report g:16 bug
        report h:7 bug
        report i:6 bug
        ",
        expect![[r#"
            matched 0-0 2-2
            unlabelled 1 3
            missed 1 3
        "#]],
    );
}

#[test]
fn any_overlap_is_near() {
    check(
        Rule::Category,
        "
        expect f:10-20
        expect g:10-20
        expect h:15
        report f:12-13 bug
        report g:1-10 bug
        report h:1-400 bug
        ",
        expect![[r#"
            matched 0-0 1-1 2-2
        "#]],
    );
}

#[test]
fn the_most_matches_win_over_the_nearest_pair() {
    // The nearest pair is 0-0, one line apart. It would leave nothing for the second issue.
    check(
        Rule::Category,
        "
        expect f:10
        expect f:14
        report f:11 bug
        report f:8 bug
        ",
        expect![[r#"
            matched 0-1 1-0
        "#]],
    );
}

#[test]
fn of_equally_many_matches_the_closest_in_total_win() {
    // 0-0 and 1-1 are 1 and 0 apart; the other way round it would be 2 and 3.
    check(
        Rule::Category,
        "
        expect f:10
        expect f:13
        report f:11 bug
        report f:13 bug
        ",
        expect![[r#"
            matched 0-0 1-1
        "#]],
    );
}

#[test]
fn the_exact_lines_come_before_lines_that_overlap_and_these_before_near_ones() {
    check(
        Rule::Category,
        r#"
        expect f:10-12
        report f:14 bug "near"
        report f:1-90 bug "over all"
        report f:10-12 bug "exact"
        "#,
        expect![[r#"
            matched 0-2
            duplicates 0-0 0-1
        "#]],
    );
    check(
        Rule::Category,
        r#"
        expect f:10-12
        report f:13 bug "near"
        report f:1-90 bug "over all"
        "#,
        expect![[r#"
            matched 0-1
            duplicates 0-0
        "#]],
    );
}

#[test]
fn at_one_place_the_words_decide() {
    check(
        Rule::Category,
        r#"
        expect f:10 "the file is never closed"
        expect f:10 "the index is off by one"
        report f:10 bug "index is off by one"
        report f:10 bug "file stays open, it is never closed"
        "#,
        expect![[r#"
            matched 0-1 1-0
        "#]],
    );
}

#[test]
fn of_reports_that_are_the_same_the_first_is_the_match() {
    check(
        Rule::Category,
        "
        expect f:10
        report f:10 bug
        report f:10 bug
        ",
        expect![[r#"
            matched 0-0
            duplicates 0-1
        "#]],
    );
}

#[test]
fn what_fits_two_matched_issues_is_a_duplicate_of_the_closer_one() {
    check(
        Rule::Category,
        "
        expect f:10
        expect f:14
        report f:10 bug
        report f:14 bug
        report f:13 bug
        ",
        expect![[r#"
            matched 0-0 1-1
            duplicates 1-2
        "#]],
    );
}

#[test]
fn several_spans_are_one_issue() {
    check(
        Rule::Category,
        "
        expect f:10,g:40-42,f:90
        expect f:70
        report g:45 bug
        report f:91 bug
        report f:50 bug
        ",
        expect![[r#"
            matched 0-1
            duplicates 0-0
            unlabelled 2
            missed 1
        "#]],
    );
}

#[test]
fn lines_of_the_old_file_are_not_lines_of_the_new_one() {
    check(
        Rule::FileLine,
        "
        expect f:-10
        expect f:50,f:-48
        report f:10 bug
        report f:-48 bug
        report f:-11 bug
        ",
        expect![[r#"
            matched 0-2 1-1
            unlabelled 0
        "#]],
    );
}

#[test]
fn each_rule_says_how_much_the_category_counts() {
    let table = "
        expect f:10 logic
        expect f:30 logic
        expect f:50 logic
        expect f:70 logic
        report f:10 logic
        report f:30 bug
        report f:50 security
        report f:70
    ";
    check(
        Rule::Category,
        table,
        expect![[r#"
            matched 0-0
            unlabelled 1 2 3
            missed 1 2 3
        "#]],
    );
    check(
        Rule::Family,
        table,
        expect![[r#"
            matched 0-0 1-1
            unlabelled 2 3
            missed 2 3
        "#]],
    );
    check(
        Rule::FileLine,
        table,
        expect![[r#"
            matched 0-0 1-1 2-2 3-3
        "#]],
    );
}

#[test]
fn where_any_category_fits_the_right_one_is_closer() {
    check(
        Rule::FileLine,
        "
        expect f:10 security
        expect f:10 logic
        report f:10 logic
        ",
        expect![[r#"
            matched 1-0
            missed 0
        "#]],
    );
}

#[test]
fn the_severity_has_no_part_in_it() {
    check(
        Rule::Category,
        "
        expect f:10 P0
        report f:10 bug P3
        ",
        expect![[r#"
            matched 0-0
        "#]],
    );
}

#[test]
fn a_report_is_known_bad_by_its_place_only_if_it_is_no_report_of_an_issue() {
    check(
        Rule::Category,
        "
        expect f:10
        bad f:12
        bad f:30-31
        bad f:-50
        report f:12 bug
        report f:12 style
        report f:34 style
        report f:35 style
        report f:50 style
        ",
        expect![[r#"
            matched 0-0
            known bad 0-1 1-2
            unlabelled 3 4
        "#]],
    );
}

#[test]
fn on_a_clean_change_what_is_not_known_bad_is_on_clean() {
    check(
        Rule::Category,
        "
        bad f:10
        report f:11 bug
        report f:40 bug
        ",
        expect![[r#"
            known bad 0-0
            on clean 1
        "#]],
    );
}

#[test]
fn by_words_the_line_does_not_matter_but_the_file_does() {
    check(
        Rule::Text,
        r#"
        expect f:10 "The file is closed twice when reading fails, so the second close raises"
        report f:400 "Double close: the file is closed twice if reading fails"
        report g:10 "Double close: the file is closed twice if reading fails"
        report f:10 "Names of loop variables are too short"
        "#,
        expect![[r#"
            matched 0-0
            unlabelled 1 2
        "#]],
    );
}

#[test]
fn by_words_two_issues_of_a_file_are_told_apart() {
    check(
        Rule::Text,
        r#"
        expect f:10 "Readers see half of an update, since the lock is released between the two writes"
        expect f:12 "The retry loop never ends when the server answers with an empty body"
        report f:11 "An empty answer of the server makes the retry loop spin for ever"
        report f:11 "The lock is given up between both writes, readers may see half an update"
        "#,
        expect![[r#"
            matched 0-1 1-0
        "#]],
    );
}

#[test]
fn keywords_tip_the_scale() {
    let table = |keywords: &str| {
        format!(
            r#"
            expect f:10 "Money is lost when two transfers run at once" keywords={keywords}
            report f:10 "Data race on the balance: transfers are not atomic"
            "#
        )
    };
    check(
        Rule::Text,
        &table("overdraft"),
        expect![[r#"
            unlabelled 0
            missed 0
        "#]],
    );
    check(
        Rule::Text,
        &table("data+race,atomic"),
        expect![[r#"
            matched 0-0
        "#]],
    );
}

#[test]
fn by_words_a_finding_is_known_bad_by_its_words() {
    check(
        Rule::Text,
        r#"
        bad f:10 "Says that the map is modified while it is iterated: deleting the current entry is safe"
        report f:90 "The map is modified during iteration by deleting an entry"
        report f:10 "Use a constant for the number of seconds"
        "#,
        expect![[r#"
            known bad 0-0
            on clean 1
        "#]],
    );
}

#[test]
fn a_judge_is_believed_and_words_stand_in_for_one_that_was_not_asked() {
    let table = r#"
        expect f:10 "The list is sorted in place, so that the caller's order is lost"
        expect g:10 "Division by zero for an empty basket"
        report f:10 "Sorting in place changes the order of the caller's list"
        report h:5 "something else altogether"
    "#;
    check(
        Rule::Judge,
        table,
        expect![[r#"
            matched 0-0
            unlabelled 1
            missed 1
        "#]],
    );
    check(
        Rule::Judge,
        &format!("{table}\njudged 1-1 7-1 1-9"),
        expect![[r#"
            matched 1-1
            unlabelled 0
            missed 0
        "#]],
    );
}

#[test]
fn by_text_the_file_and_the_words_have_to_be_the_same() {
    let fits = |description: &str, title: &str| {
        let table = format!(
            "case c\nexpect f:1 \"{description}\"\nreport g:1 \"{title}\"\nreport f:9 \"{title}\""
        );
        let case = evaluation(Rule::Text, &table).cases.remove(0);
        let pairs = fitting_by_text(&case.labels, &case.runs[0]);
        assert!(!pairs.contains(&(0, 0)), "it is in another file");
        pairs.contains(&(0, 1))
    };
    assert!(fits("the cache is never emptied", "nobody empties the cache, it is never cleaned"));
    assert!(!fits("the cache is never emptied", "the query is built from user input"));
    assert!(!fits("", ""));
}

/// Every way to pair rows and columns: the best is the one with the most pairs, then with the least cost.
fn brute_force(costs: &[Vec<Option<u32>>], taken: &mut Vec<usize>) -> (usize, u64) {
    let Some((row, rest)) = costs.split_first() else { return (0, 0) };
    let (mut most, mut least) = brute_force(rest, taken);
    for (column, cost) in row.iter().enumerate() {
        let Some(cost) = cost else { continue };
        if taken.contains(&column) {
            continue;
        }
        taken.push(column);
        let (pairs, sum) = brute_force(rest, taken);
        taken.pop();
        let (pairs, sum) = (pairs + 1, sum + u64::from(*cost));
        if pairs > most || pairs == most && sum < least {
            (most, least) = (pairs, sum);
        }
    }
    (most, least)
}

fn costs() -> impl Strategy<Value = Vec<Vec<Option<u32>>>> {
    (0..6_usize, 0..6_usize).prop_flat_map(|(rows, columns)| {
        // Few different costs, so that there are ties; and now and then the largest there is.
        let cost = prop_oneof![8 => 0..4_u32, 1 => Just(u32::MAX)];
        vec(vec(option::weighted(0.6, cost), columns), rows)
    })
}

proptest! {
    #[test]
    fn the_assignment_is_as_good_as_the_best_of_all(costs in costs()) {
        let pairs = assignment(&costs);
        let sum: u64 = pairs.iter().map(|(row, column)| u64::from(costs[*row][*column].unwrap())).sum();
        let mut columns: Vec<_> = pairs.iter().map(|(_, column)| column).collect();
        columns.sort();
        columns.dedup();
        prop_assert_eq!(columns.len(), pairs.len());
        prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0));
        prop_assert_eq!((pairs.len(), sum), brute_force(&costs, &mut Vec::new()));
    }
}
