//! Comparisons of two evaluations, as tables.

use std::fmt::Write as _;

use expect_test::expect;

use super::*;
use crate::eval::matching::Rule;
use crate::eval::tests_support::{evaluation, judge};

/// Whether a model was used or the result is deterministic.
#[derive(Clone, Copy)]
enum EvaluationKind {
    Model,
    Program,
}

fn evaluations(kind: EvaluationKind, before: &str, after: &str) -> [Evaluation; 2] {
    [before, after].map(|table| {
        let mut evaluation = evaluation(Rule::Category, table);
        evaluation.about.is_repeatable = match kind {
            EvaluationKind::Model => false,
            EvaluationKind::Program => true,
        };
        evaluation
    })
}

fn comparison_text(before: &str, after: &str) -> String {
    let [before, after] = evaluations(EvaluationKind::Program, before, after);
    let comparison = compare(&before, &after);
    let mut out = format!("{} cases\n", comparison.cases);
    for case in &comparison.left_out {
        writeln!(out, "without {case}").unwrap();
    }
    if comparison.runs_left_out > 0 {
        writeln!(out, "without {} runs", comparison.runs_left_out).unwrap();
    }
    for Flip { case, is_better, what } in &comparison.flips {
        writeln!(out, "{} {case}: {what}", if *is_better { "+" } else { "-" }).unwrap();
    }
    out
}

/// The metrics of both evaluations. Metrics of comments are left out: in these tables, they equal
/// those of reports.
fn differences_text(before: &str, after: &str) -> String {
    let [before, after] = evaluations(EvaluationKind::Model, before, after);
    let number = |value: Option<f64>| value.map_or("?".to_owned(), |value| value.to_string());
    let (by_comment, by_report): (Vec<_>, Vec<_>) = compare(&before, &after)
        .differences
        .into_iter()
        .partition(|difference| difference.metric.starts_with("comment_"));
    for difference in by_comment {
        let metric = &difference.metric["comment_".len()..];
        let same = by_report.iter().find(|other| other.metric == metric).unwrap();
        assert_eq!(difference.change, same.change, "{metric}");
    }
    let rows = by_report.into_iter().map(|difference| {
        let Estimate { value, low, high } = difference.change;
        format!(
            "{} {} -> {}: {} [{} {}]{}\n",
            difference.metric,
            number(difference.before),
            number(difference.after),
            number(value),
            number(low),
            number(high),
            if difference.is_real { " real" } else { "" },
        )
    });
    rows.collect()
}

fn regressions_text(by: EvaluationKind, before: &str, after: &str) -> String {
    let [before, after] = evaluations(by, before, after);
    let rows = regressions(&before, &after).into_iter();
    rows.map(|Regression { what, cases }| format!("{what}: {}\n", cases.join(", "))).collect()
}

/// Cases with one issue each, some of them found, and clean cases, some of them with a report.
fn suite(found: impl Fn(u32) -> bool, flagged: impl Fn(u32) -> bool) -> String {
    let mut table = String::new();
    for case in 0..40 {
        writeln!(table, "case c{case:02}\nexpect f:10 \"wrong\"").unwrap();
        if found(case) {
            table += "report f:10 bug\n";
        }
    }
    for case in 40..60 {
        writeln!(table, "case c{case:02}").unwrap();
        if flagged(case) {
            table += "report f:10 bug \"odd\"\n";
        }
    }
    table
}

#[test]
fn issue_found_by_only_one_is_a_flip() {
    expect![[r#"
            3 cases
            - a: no longer found: the loop never ends
            + a: found: the file stays open
            - b: a new report that is known to be wrong: a trap
            + b: no longer reported on a clean change: was there
            - b: a new report on a clean change: and once more
            - c: the review failed: for a reason
        "#]]
    .assert_eq(&comparison_text(
        r#"
        case a
        expect f:10 "the loop never ends"
        expect f:50 "the file stays open"
        report f:10 bug
        report f:70 bug "unlabelled, gone"
        case b
        bad f:10
        report f:30 bug "was there" key=k
        report f:60 bug "stays" key=l
        case c
        report f:1 bug
        "#,
        r#"
        case a
        expect f:10 "the loop never ends"
        expect f:50 "the file stays open"
        report f:50 bug
        case b
        bad f:10
        report f:10 bug "a trap"
        report f:61 bug "stays, in other words" key=l
        report f:61 bug "and once more" key=l
        case c
        run failed
        "#,
    ));
}

#[test]
fn majority_of_repeats_decides() {
    let table = |reports: [&str; 3]| {
        let runs = reports.map(|report| format!("run\n{report}\n")).concat();
        format!("case a\nexpect f:10 \"wrong\"\n{runs}")
    };
    let [hit, miss] = ["report f:10 bug", ""];
    expect![[r#"
        1 cases
    "#]]
    .assert_eq(&comparison_text(&table([hit, hit, miss]), &table([miss, hit, hit])));
    expect![[r#"
        1 cases
        - a: no longer found: wrong
    "#]]
    .assert_eq(&comparison_text(&table([hit, hit, miss]), &table([miss, miss, hit])));
}

/// Twenty cases with three repeats; the first ten find their issue. `is_begun` selects the started
/// repeats.
fn repeated(is_begun: impl Fn(u32, u32) -> bool) -> String {
    let mut table = String::new();
    for case in 0..20 {
        writeln!(table, "case c{case:02}\nexpect f:10 \"wrong\"").unwrap();
        for repeat in 0..3 {
            table += if is_begun(case, repeat) { "run\n" } else { "run not-run\n" };
            if case < 10 {
                table += "report f:10 bug\n";
            }
        }
    }
    table
}

#[test]
fn unstarted_repeats_do_not_shift_scores() {
    let all = repeated(|_, _| true);
    let some = repeated(|case, repeat| case >= 10 || repeat == 0);
    expect![[r#"
            precision 1 -> 1: 0 [0 0]
            recall 0.25 -> 0.25: 0 [0 0]
            f1 0.4 -> 0.4: 0 [0 0]
            findings_per_change 0.25 -> 0.25: 0 [0 0]
        "#]]
    .assert_eq(&differences_text(&all, &some));
    assert_eq!(differences_text(&some, &all), differences_text(&all, &some));
    assert_eq!(regressions_text(EvaluationKind::Model, &all, &some), "");
    expect![[r#"
        20 cases
        without 20 runs
    "#]]
    .assert_eq(&comparison_text(&all, &some));
}

#[test]
fn case_without_common_repeat_is_excluded() {
    let [before, after] =
        ["run not-run\nrun", "run\nrun not-run"].map(|runs| format!("case a\n{runs}\ncase b"));
    expect![[r#"
        1 cases
        without a
    "#]]
    .assert_eq(&comparison_text(&before, &after));
    expect![[r#"
        cases have no common repeat and cannot be compared: a
    "#]]
    .assert_eq(&regressions_text(EvaluationKind::Model, &before, &after));
}

#[test]
fn twin_that_failed_on_one_side_makes_no_pair() {
    // Without their twins, the second evaluation would lose the first six pairs, the only ones with
    // credit.
    let table = |failed: &str| {
        let cases = (0..12).map(|case| {
            let [report, run] = if case < 6 { ["report f:10 bug", failed] } else { ["", ""] };
            format!(
                "case c{case:02}\nexpect f:10 on-twin=f:10\n{report}
                case c{case:02}~ twin of c{case:02}\nrun {run}\n"
            )
        });
        cases.collect::<String>()
    };
    expect![[r#"
            precision 1 -> 1: 0 [0 0]
            recall 0.5 -> 0.5: 0 [0 0]
            f1 0.666667 -> 0.666667: 0 [0 0]
            paired_recall 0 -> 0: 0 [0 0]
            findings_per_change 0.5 -> 0.5: 0 [0 0]
        "#]]
    .assert_eq(&differences_text(&table(""), &table("failed")));
}

#[test]
fn second_known_bad_report_is_a_flip() {
    let table = |times: usize| {
        format!("case a\nexpect f:90\nbad f:10\n{}", "report f:11 bug \"odd\"\n".repeat(times))
    };
    expect![[r#"
        1 cases
        - a: a new report that is known to be wrong: odd
        - a: a new report that is known to be wrong: odd
    "#]]
    .assert_eq(&comparison_text(&table(1), &table(3)));
}

#[test]
fn number_of_reports_has_no_direction() {
    let better = |difference: &Difference| (difference.metric.clone(), difference.better);
    let [before, after] =
        evaluations(EvaluationKind::Model, &suite(|_| true, |_| true), &suite(|_| true, |_| true));
    let all: Vec<_> = compare(&before, &after).differences.iter().map(better).collect();
    let expected = [
        ("precision", Better::More),
        ("recall", Better::More),
        ("f1", Better::More),
        ("comment_precision", Better::More),
        ("comment_recall", Better::More),
        ("comment_f1", Better::More),
        ("clean_flagged", Better::Less),
        ("findings_per_change", Better::Neither),
    ];
    assert_eq!(all, expected.map(|(metric, better)| (metric.to_owned(), better)));
    // Every change is clean and has a report in both; the second reports three times as much.
    let loud = |more: &str| {
        let cases = (0..10).map(|case| format!("case c{case}\nrun\n{more}\n"));
        cases.collect::<String>()
    };
    let [quiet, loud] = [loud("report f:1"), loud("report f:1\nreport f:50\nreport f:90")];
    expect![[r#"
            precision 0 -> 0: 0 [0 0]
            clean_flagged 1 -> 1: 0 [0 0]
            findings_per_change 1 -> 3: 2 [2 2] real
        "#]]
    .assert_eq(&differences_text(&quiet, &loud));
    assert_eq!(regressions_text(EvaluationKind::Model, &quiet, &loud), "");
}

#[test]
fn reports_on_twins_can_flip() {
    expect![[r#"
        2 cases
        - a~: a new report on a reversed change: seen everywhere
    "#]]
    .assert_eq(&comparison_text(
        "
        case a
        expect f:10 on-twin=f:10
        case a~ twin of a
        ",
        r#"
        case a
        expect f:10 on-twin=f:10
        case a~ twin of a
        report f:10 bug "seen everywhere"
        "#,
    ));
}

#[test]
fn only_common_cases_with_equal_labels_are_compared() {
    let before = "
        case gone
        case labels
        expect f:10
        case same
        expect f:10
        case skipped
    ";
    let after = "
        case labels
        expect f:11
        case new
        report f:1 bug
        case same
        expect f:10
        bad f:20
        case skipped
        run not-run
    ";
    expect![[r#"
        1 cases
        without gone
        without labels
        without new
        without skipped
    "#]]
    .assert_eq(&comparison_text(before, after));
    expect![[r#"
        cases were removed: gone
        cases are no longer reviewed: skipped
        cases are labelled differently and cannot be compared: labels
    "#]]
    .assert_eq(&regressions_text(EvaluationKind::Program, before, after));
}

#[test]
fn missing_case_is_always_a_regression() {
    expect![[r#"
        cases were removed: b
    "#]]
    .assert_eq(&regressions_text(EvaluationKind::Model, "case a\ncase b", "case a"));
}

#[test]
fn difference_is_significant_if_interval_excludes_zero() {
    // Ten more of 40 issues are found, and one more of 20 clean changes has a report.
    expect![[r#"
            precision 0.666667 -> 0.769231: 0.102564 [-0.033333 0.257143]
            recall 0.25 -> 0.5: 0.25 [0.117647 0.391304] real
            f1 0.363636 -> 0.606061: 0.242424 [0.10538 0.388889] real
            clean_flagged 0.25 -> 0.3: 0.05 [0 0.166667]
            findings_per_change 0.25 -> 0.433333: 0.183333 [0.083333 0.283333] real
        "#]]
    .assert_eq(&differences_text(
        &suite(|case| case < 10, |case| case < 45),
        &suite(|case| case < 20, |case| case < 46),
    ));
}

#[test]
fn cost_and_pairs_are_compared_if_present() {
    let table = |cases: u32, cost: &str, latency: &str, twin: &str| {
        let cases = (0..cases).map(|case| {
            format!(
                "case c{case}\nexpect f:10 on-twin=f:10\nrun {cost} {latency}\nreport f:10 bug
                case c{case}~ twin of c{case}\nrun {cost} {latency}\n{twin}\n"
            )
        });
        cases.collect::<String>()
    };
    expect![[r#"
            precision 1 -> 1: 0 [0 0]
            recall 1 -> 1: 0 [0 0]
            f1 1 -> 1: 0 [0 0]
            paired_recall 1 -> 0: -1 [-1 -1] real
            findings_per_change 1 -> 1: 0 [0 0]
            cost_usd_per_run 0.5 -> 0.75: 0.25 [0.25 0.25] real
            latency_seconds_median 0.1 -> 0.05: -0.05 [? ?]
        "#]]
    .assert_eq(&differences_text(
        &table(6, "$0.5", "100ms", ""),
        &table(6, "$0.75", "50ms", "report f:10 bug"),
    ));
}

#[test]
fn five_differing_cases_are_not_significant() {
    let before = suite(|case| case < 10, |_| false);
    expect![[r#"
            precision 1 -> 1: 0 [0 0]
            recall 0.25 -> 0.375: 0.125 [0.026316 0.241379]
            f1 0.4 -> 0.545455: 0.145455 [0.031837 0.2746]
            clean_flagged 0 -> 0: 0 [0 0]
            findings_per_change 0.166667 -> 0.25: 0.083333 [0.016667 0.166667]
        "#]]
    .assert_eq(&differences_text(&before, &suite(|case| case < 15, |_| false)));
    expect![[r#"
            precision 1 -> 1: 0 [0 0]
            recall 0.25 -> 0.4: 0.15 [0.047619 0.27027] real
            f1 0.4 -> 0.571429: 0.171429 [0.055556 0.315928] real
            clean_flagged 0 -> 0: 0 [0 0]
            findings_per_change 0.166667 -> 0.266667: 0.1 [0.033333 0.183333] real
        "#]]
    .assert_eq(&differences_text(&before, &suite(|case| case < 16, |_| false)));
}

#[test]
fn deterministic_loss_is_always_a_regression() {
    let before = suite(|case| case < 10, |case| case < 45);
    let after = suite(|case| (1..11).contains(&case), |case| (41..46).contains(&case));
    expect![[r#"
        no longer found: wrong: c00
        a new report on a clean change: odd: c45
    "#]]
    .assert_eq(&regressions_text(EvaluationKind::Program, &before, &after));
    assert_eq!(regressions_text(EvaluationKind::Program, &before, &before), "");
}

#[test]
fn model_loss_is_a_regression_only_if_significant() {
    let before = suite(|case| case < 20, |case| case < 45);
    let little = suite(|case| case < 19, |case| case < 46);
    assert_eq!(regressions_text(EvaluationKind::Model, &before, &little), "");
    let much = suite(|case| case < 10, |case| case < 45);
    expect![[r#"
            precision fell from 0.800 to 0.667: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19
            recall fell from 0.500 to 0.250: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19
            f1 fell from 0.615 to 0.364: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19
            comment_precision fell from 0.800 to 0.667: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19
            comment_recall fell from 0.500 to 0.250: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19
            comment_f1 fell from 0.615 to 0.364: c10, c11, c12, c13, c14, c15, c16, c17, c18, c19
        "#]].assert_eq(&regressions_text(EvaluationKind::Model, &before, &much));
    let noisy = suite(|case| case < 20, |case| case < 58);
    expect![[r#"
            precision fell from 0.800 to 0.526: c45, c46, c47, c48, c49, c50, c51, c52, c53, c54, c55, c56, c57
            f1 fell from 0.615 to 0.513: c45, c46, c47, c48, c49, c50, c51, c52, c53, c54, c55, c56, c57
            comment_precision fell from 0.800 to 0.526: c45, c46, c47, c48, c49, c50, c51, c52, c53, c54, c55, c56, c57
            comment_f1 fell from 0.615 to 0.513: c45, c46, c47, c48, c49, c50, c51, c52, c53, c54, c55, c56, c57
            clean_flagged rose from 0.250 to 0.900: c45, c46, c47, c48, c49, c50, c51, c52, c53, c54, c55, c56, c57
        "#]].assert_eq(&regressions_text(EvaluationKind::Model, &before, &noisy));
}

#[test]
fn judged_and_unjudged_are_compared_by_text() {
    let table =
        "case a\nexpect f:10 \"the loop never ends\"\nreport f:10 \"other words\"\njudged 0-0";
    let [mut before, mut after] = evaluations(EvaluationKind::Model, table, table);
    before.rule = Rule::Judge;
    after.rule = Rule::Judge;
    let recall = |before: &Evaluation, after: &Evaluation| {
        let all = compare(before, after).differences;
        let recall = all.into_iter().find(|difference| difference.metric == "recall");
        recall.map(|recall| (recall.before, recall.after))
    };
    let judged_by = judge();
    after.judged_by = Some(judged_by.clone());
    assert_eq!(recall(&before, &after), Some((Some(0.0), Some(0.0))));
    before.judged_by = Some(judged_by);
    assert_eq!(recall(&before, &after), Some((Some(1.0), Some(1.0))));
}

#[test]
fn more_unlabelled_reports_are_a_regression() {
    let table = "case a\nexpect f:10 \"wrong\"\nreport f:10 bug\nreport f:50 bug \"odd\"";
    let two = format!("{table}\nreport f:90 bug \"odder\"");
    expect![[r#"
        more unlabelled reports: read and label them, or write a new baseline: a
    "#]]
    .assert_eq(&regressions_text(EvaluationKind::Program, table, &two));
    assert_eq!(regressions_text(EvaluationKind::Program, &two, table), "");
    assert_eq!(regressions_text(EvaluationKind::Model, table, &two), "");
}
