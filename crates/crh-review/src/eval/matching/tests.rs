//! Matching, as tables: expected issues and reports in, one line per outcome out.

use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::eval::tests_support::{evaluation, input_lines, snapshot_input};

fn classes(rule: Rule, table: &str) -> String {
    let evaluation = evaluation(rule, &format!("case c\n{table}"));
    let case = &evaluation.cases[0];
    classes_text(&classify_reports(&case.labels, &case.runs[0], rule))
}

impl Rule {
    /// Classifies the reports of a snapshot, its lines with `> `.
    fn check(self, expected: Expect) {
        let table = snapshot_input(&expected);
        expected.assert_eq(&(input_lines(&table) + &classes(self, &table)));
    }
}

fn classes_text(classes: &ReportClasses) -> String {
    let ReportClasses { matched, duplicates, known_bad, on_clean, unlabelled, missed } = classes;
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
    let rows = rows.iter().filter(|(_, numbers)| !numbers.is_empty());
    rows.map(|(name, numbers)| format!("{name}{numbers}\n")).collect()
}

#[test]
fn three_lines_apart_is_near_four_is_not() {
    Rule::Category.check(expect![[r#"
        > expect f:10-12
        > expect g:10-12
        > expect h:10-12
        > expect i:10-12
        > report f:15 bug
        > report g:16 bug
        > report h:7 bug
        > report i:6 bug
        matched 0-0 2-2
        unlabelled 1 3
        missed 1 3
    "#]]);
}

#[test]
fn any_overlap_is_near() {
    Rule::Category.check(expect![[r#"
        > expect f:10-20
        > expect g:10-20
        > expect h:15
        > report f:12-13 bug
        > report g:1-10 bug
        > report h:1-400 bug
        matched 0-0 1-1 2-2
    "#]]);
}

#[test]
fn most_matches_win_over_nearest_pair() {
    // The nearest pair is 0-0, but it would leave nothing for the second issue.
    Rule::Category.check(expect![[r#"
        > expect f:10
        > expect f:14
        > report f:11 bug
        > report f:8 bug
        matched 0-1 1-0
    "#]]);
}

#[test]
fn equal_match_counts_prefer_smallest_distance() {
    // 0-0 and 1-1 are 1 and 0 lines apart; the other assignment 2 and 3.
    Rule::Category.check(expect![[r#"
        > expect f:10
        > expect f:13
        > report f:11 bug
        > report f:13 bug
        matched 0-0 1-1
    "#]]);
}

#[test]
fn exact_lines_win_over_overlap_and_overlap_over_near() {
    Rule::Category.check(expect![[r#"
        > expect f:10-12
        > report f:14 bug "near"
        > report f:1-90 bug "over all"
        > report f:10-12 bug "exact"
        matched 0-2
        duplicates 0-0 0-1
    "#]]);
    Rule::Category.check(expect![[r#"
        > expect f:10-12
        > report f:13 bug "near"
        > report f:1-90 bug "over all"
        matched 0-1
        duplicates 0-0
    "#]]);
}

#[test]
fn text_decides_at_the_same_place() {
    Rule::Category.check(expect![[r#"
        > expect f:10 "the file is never closed"
        > expect f:10 "the index is off by one"
        > report f:10 bug "index is off by one"
        > report f:10 bug "file stays open, it is never closed"
        matched 0-1 1-0
    "#]]);
}

#[test]
fn first_of_identical_reports_is_the_match() {
    Rule::Category.check(expect![[r#"
        > expect f:10
        > report f:10 bug
        > report f:10 bug
        matched 0-0
        duplicates 0-1
    "#]]);
}

#[test]
fn input_order_does_not_decide_whose_report_is_the_match() {
    let table = "case c\nexpect f:10\nreport f:10 bug\nreport f:10 bug";
    let mut case = evaluation(Rule::Category, table).cases.remove(0);
    for names in [["a", "b"], ["b", "a"]] {
        for (reported, name) in case.runs[0].reported.iter_mut().zip(names) {
            reported.reviewers = vec![name.to_owned()];
        }
        let classes = classify_reports(&case.labels, &case.runs[0], Rule::Category);
        let (_, report) = classes.matched[0];
        assert_eq!(case.runs[0].reported[report].reviewers, ["a"]);
    }
}

#[test]
fn extra_report_is_duplicate_of_the_closer_issue() {
    Rule::Category.check(expect![[r#"
        > expect f:10
        > expect f:14
        > report f:10 bug
        > report f:14 bug
        > report f:13 bug
        matched 0-0 1-1
        duplicates 1-2
    "#]]);
}

#[test]
fn issue_with_several_spans_counts_once() {
    Rule::Category.check(expect![[r#"
        > expect f:10,g:40-42,f:90
        > expect f:70
        > report g:45 bug
        > report f:91 bug
        > report f:50 bug
        matched 0-1
        duplicates 0-0
        unlabelled 2
        missed 1
    "#]]);
}

#[test]
fn old_lines_do_not_match_new_lines() {
    Rule::FileLine.check(expect![[r#"
        > expect f:-10
        > expect f:50,f:-48
        > report f:10 bug
        > report f:-48 bug
        > report f:-11 bug
        matched 0-2 1-1
        unlabelled 0
    "#]]);
}

#[test]
fn category_weight_depends_on_the_rule() {
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
    expect![[r#"
            matched 0-0
            unlabelled 1 2 3
            missed 1 2 3
        "#]]
    .assert_eq(&classes(Rule::Category, table));
    expect![[r#"
            matched 0-0 1-1
            unlabelled 2 3
            missed 2 3
        "#]]
    .assert_eq(&classes(Rule::Family, table));
    expect![[r#"
            matched 0-0 1-1 2-2 3-3
        "#]]
    .assert_eq(&classes(Rule::FileLine, table));
}

#[test]
fn equal_category_is_closer_if_any_category_matches() {
    Rule::FileLine.check(expect![[r#"
        > expect f:10 security
        > expect f:10 logic
        > report f:10 logic
        matched 1-0
        missed 0
    "#]]);
}

#[test]
fn severity_does_not_affect_matching() {
    Rule::Category.check(expect![[r#"
        > expect f:10 P0
        > report f:10 bug P3
        matched 0-0
    "#]]);
}

#[test]
fn matched_report_is_not_known_bad() {
    Rule::Category.check(expect![[r#"
        > expect f:10
        > bad f:12
        > bad f:30-31
        > bad f:-50
        > report f:12 bug
        > report f:12 style
        > report f:34 style
        > report f:35 style
        > report f:50 style
        matched 0-0
        known bad 0-1 1-2
        unlabelled 3 4
    "#]]);
}

#[test]
fn other_reports_on_clean_changes_are_on_clean() {
    Rule::Category.check(expect![[r#"
        > bad f:10
        > report f:11 bug
        > report f:40 bug
        known bad 0-0
        on clean 1
    "#]]);
}

#[test]
fn text_rule_ignores_lines_but_not_files() {
    Rule::Text.check(expect![[r#"
        > expect f:10 "The file is closed twice when reading fails, so the second close raises"
        > report f:400 "Double close: the file is closed twice if reading fails"
        > report g:10 "Double close: the file is closed twice if reading fails"
        > report f:10 "Names of loop variables are too short"
        matched 0-0
        unlabelled 1 2
    "#]]);
}

#[test]
fn text_rule_separates_issues_of_one_file() {
    Rule::Text.check(expect![[r#"
        > expect f:10 "Readers see half of an update, since the lock is released between the two writes"
        > expect f:12 "The retry loop never ends when the server answers with an empty body"
        > report f:11 "An empty answer of the server makes the retry loop spin for ever"
        > report f:11 "The lock is given up between both writes, readers may see half an update"
        matched 0-1 1-0
    "#]]);
}

#[test]
fn keywords_raise_text_similarity() {
    let table = |keywords: &str| {
        format!(
            r#"
            expect f:10 "Money is lost when two transfers run at once" keywords={keywords}
            report f:10 "Data race on the balance: transfers are not atomic"
            "#
        )
    };
    expect![[r#"
            unlabelled 0
            missed 0
        "#]]
    .assert_eq(&classes(Rule::Text, &table("overdraft")));
    expect![[r#"
            matched 0-0
        "#]]
    .assert_eq(&classes(Rule::Text, &table("data+race,atomic")));
}

#[test]
fn text_rule_finds_known_bad_reports() {
    Rule::Text.check(expect![[r#"
        > bad f:10 "Says that the map is modified while it is iterated: deleting the current entry is safe"
        > report f:90 "The map is modified during iteration by deleting an entry"
        > report f:10 "Use a constant for the number of seconds"
        known bad 0-0
        on clean 1
    "#]]);
}

#[test]
fn text_rule_replaces_missing_verdicts() {
    let table = r#"
        expect f:10 "The list is sorted in place, so that the caller's order is lost"
        expect g:10 "Division by zero for an empty basket"
        report f:10 "Sorting in place changes the order of the caller's list"
        report h:5 "something else altogether"
    "#;
    expect![[r#"
            matched 0-0
            unlabelled 1
            missed 1
        "#]]
    .assert_eq(&classes(Rule::Judge, table));
    expect![[r#"
            matched 1-1
            unlabelled 0
            missed 0
        "#]]
    .assert_eq(&classes(Rule::Judge, &format!("{table}\njudged 1-1 7-1 1-9")));
}

#[test]
fn text_rule_requires_same_file_and_words() {
    let is_match = |description: &str, title: &str| {
        let table = format!(
            "case c\nexpect f:1 \"{description}\"\nreport g:1 \"{title}\"\nreport f:9 \"{title}\""
        );
        let case = evaluation(Rule::Text, &table).cases.remove(0);
        let pairs = matching_pairs(&case.labels, &case.runs[0], Rule::Text);
        assert!(!pairs.contains(&(0, 0)), "it is in another file");
        pairs.contains(&(0, 1))
    };
    assert!(is_match(
        "the cache is never emptied",
        "the cache is not emptied, it is never cleaned"
    ));
    assert!(!is_match("the cache is never emptied", "the query is built from user input"));
    assert!(!is_match("", ""));
}

/// Brute force: the assignment with the most pairs, then the lowest cost.
fn brute_force(costs: &[Vec<Option<u32>>], used_columns: &mut Vec<usize>) -> (usize, u64) {
    let Some((row, rest)) = costs.split_first() else { return (0, 0) };
    let (mut max_pairs, mut min_cost) = brute_force(rest, used_columns);
    for (column, cost) in row.iter().enumerate() {
        let Some(cost) = cost else { continue };
        if used_columns.contains(&column) {
            continue;
        }
        used_columns.push(column);
        let (pairs, sum) = brute_force(rest, used_columns);
        used_columns.pop();
        let (pairs, sum) = (pairs + 1, sum + u64::from(*cost));
        if pairs > max_pairs || pairs == max_pairs && sum < min_cost {
            (max_pairs, min_cost) = (pairs, sum);
        }
    }
    (max_pairs, min_cost)
}

fn costs() -> impl Strategy<Value = Vec<Vec<Option<u32>>>> {
    (0..6_usize, 0..6_usize).prop_flat_map(|(rows, columns)| {
        // Few different costs, to get ties; sometimes the maximum.
        let cost = prop_oneof![8 => 0..4_u32, 1 => Just(u32::MAX)];
        vec(vec(option::weighted(0.6, cost), columns), rows)
    })
}

proptest! {
    #[test]
    fn assignment_equals_brute_force_optimum(costs in costs()) {
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
