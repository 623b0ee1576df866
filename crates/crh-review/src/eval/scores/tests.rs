//! Scores of small evaluations, computed by hand.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::eval::matching::Rule;
use crate::eval::tests_support::{evaluation, input_lines, judge, snapshot_input};

/// Scores the evaluation of a snapshot, its lines with `> `.
fn check(expected: Expect) {
    let table = snapshot_input(&expected);
    let scores = score(&evaluation(Rule::Category, &table));
    expected.assert_eq(&(input_lines(&table) + &scores_text(&scores)));
}

fn check_by(rule: Rule, table: &str, expected: Expect) {
    expected.assert_eq(&scores_text(&score(&evaluation(rule, table))));
}

/// All scores except intervals, effort and the counts that are zero. Absent scores are left out.
fn scores_text(scores: &Scores) -> String {
    let scores = serde_json::to_value(scores).unwrap();
    let sections = [
        "runs",
        "quality",
        "paired",
        "recall_by",
        "avg_confidence_calibration",
        "severity_agreement",
        "stability",
    ];
    let sections = sections.iter().filter(|name| !scores[**name].is_null());
    sections.map(|name| format!("{name}:{}\n", fields_text(&scores[*name]))).collect()
}

fn fields_text(fields: &Value) -> String {
    // The order of a JSON object depends on the features of serde_json.
    let fields: BTreeMap<_, _> = fields.as_object().unwrap().iter().collect();
    let is_empty = |value: &Value| [json!(0), json!({}), json!([])].contains(value);
    let fields = fields.into_iter().filter(|(_, value)| !is_empty(value));
    fields.map(|(name, value)| format!(" {name} {}", value_text(value))).collect()
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Object(fields) if fields.contains_key("low") => value_text(&value["value"]),
        Value::Object(fields) if fields.contains_key("expected") => {
            format!("{}/{}", value["matched"], value["expected"])
        }
        Value::Object(_) => format!("({})", fields_text(value).trim_start()),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(value_text).collect();
            format!("[{}]", values.join(" "))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string().replace('"', ""),
    }
}

#[test]
fn matched_missed_duplicate_and_unlabelled_reports() {
    // Four reports, two of the three issues: precision 2/4, recall 2/3, F1 4/7. One is unlabelled: 2/3 of the labelled.
    check(expect![[r#"
        > case a python 40 lines
        > expect f:10 P0
        > expect f:30 P1 security omission
        > report f:10 bug
        > report f:12 bug
        > report f:90 bug
        > case b rust 300 lines
        > expect g:5 P2 logic
        > report g:5 logic
        runs: cases 2 reviewed 2
        quality: clean_flagged - duplicates 1 expected 3 f1 0.571429 findings_per_change 2.0 matched 2 precision 0.5 precision_labelled 0.666667 recall 0.666667 reported 4 unlabelled 1
        recall_by: category (bug 1/1 logic 1/1 security 0/1) kind (omission 0/1 present 2/2) language (python 1/2 rust 1/1) missed 1 severity (P0 1/1 P1 0/1 P2 1/1) size [[11–50 1/2] [over 200 1/1]]
    "#]]);
}

#[test]
fn clean_changes_count_in_precision_and_separately() {
    // One match of four reports. Two of three clean changes have a report, one of which is known to be wrong.
    check(expect![[r#"
        > case a
        > expect f:10
        > report f:10 bug
        > case b
        > report f:10 bug
        > report f:50 bug
        > case c
        > case d
        > bad f:10
        > report f:11 style
        runs: cases 4 clean 3 reviewed 4
        quality: clean_flagged 0.666667 clean_reported 3 expected 1 f1 0.4 findings_per_change 1.0 known_bad 1 matched 1 on_clean 2 precision 0.25 precision_labelled 0.25 recall 1.0 reported 4
        recall_by: category (bug 1/1) kind (present 1/1) language (any 1/1) severity (P1 1/1) size [[1–10 1/1]]
    "#]]);
}

#[test]
fn no_reports_have_no_precision_and_zero_recall() {
    check(expect![[r#"
        > case a
        > expect f:10
        > case b
        runs: cases 2 clean 1 reviewed 2
        quality: clean_flagged 0.0 expected 1 f1 0.0 findings_per_change 0.0 precision - precision_labelled - recall 0.0
        recall_by: category (bug 0/1) kind (present 0/1) language (any 0/1) missed 1 severity (P1 0/1) size [[1–10 0/1]]
    "#]]);
}

#[test]
fn no_expected_issues_have_no_recall() {
    check(expect![[r#"
        > case a
        > report f:1
        runs: cases 1 clean 1 reviewed 1
        quality: clean_flagged 1.0 clean_reported 1 f1 - findings_per_change 1.0 on_clean 1 precision 0.0 precision_labelled 0.0 recall - reported 1
        recall_by:
    "#]]);
}

#[test]
fn empty_evaluation_has_no_scores() {
    check(expect![[r#"
        runs:
        quality: clean_flagged - f1 - findings_per_change - precision - precision_labelled - recall -
        recall_by:
    "#]]);
}

#[test]
fn failed_run_counts_as_silent_unstarted_run_does_not() {
    // Three runs count, and the first finds it. The report of the failed run does not count.
    check(expect![[r#"
        > case a
        > expect f:10
        > run
        > report f:10 bug
        > run failed
        > report f:10 bug
        > run not-run
        > report f:10 bug
        > run incomplete
        > case b
        > run not-run
        runs: cases 2 clean 1 failed 1 incomplete 1 not_run 2 reviewed 1
        quality: clean_flagged - expected 3 f1 0.5 findings_per_change 0.333333 matched 1 precision 1.0 precision_labelled 1.0 recall 0.333333 reported 1
        recall_by: category (bug 1/3) kind (present 1/3) language (any 1/3) missed 2 severity (P1 1/3) size [[1–10 1/3]]
        stability: by_runs [0 0 0 0] class_changes - f1_deviation - hit_variance 0.333333 repeats 4 returns 0.0
    "#]]);
}

#[test]
fn repeats_are_summed_and_compared() {
    // Found in 2 of 4 runs: variance 1/4 · 4/3. The issue is in 2 runs and the report at line 50 in
    // 3, each with 3 other runs: (2 · 1 + 3 · 2) / (2 · 3 + 3 · 3). The report is a bug twice and
    // style once, so 2 of 3 pairs differ; the issue is the same both times: 2/4. F1 of the repeats:
    // 2/3, 2/3, 0, 0; mean 1/3, deviation sqrt(4/9 / 3).
    check(expect![[r#"
        > case a
        > expect f:10
        > run
        > report f:10 bug P1
        > report f:50 bug P1 key=k
        > run
        > report f:11 bug P1
        > report f:50 style P1 key=l
        > run
        > report f:50 bug P1 key=k
        > run
        runs: cases 1 reviewed 4
        quality: clean_flagged - expected 4 f1 0.444444 findings_per_change 1.25 matched 2 precision 0.4 precision_labelled 1.0 recall 0.5 reported 5 unlabelled 3
        recall_by: category (bug 2/4) kind (present 2/4) language (any 2/4) missed 2 severity (P1 2/4) size [[1–10 2/4]]
        severity_agreement: matches 2 milder_by 0.0 same 1.0 table [[0 0 0 0] [0 2 0 0] [0 0 0 0] [0 0 0 0]] within_one 1.0
        stability: by_runs [0 1 1 0] class_changes 0.5 complete_cases 1 f1_deviation 0.3849 hit_variance 0.333333 repeats 4 returns 0.533333
    "#]]);
}

#[test]
fn reports_starting_at_one_line_are_the_same() {
    // Two places, f:9 in both runs: (2 · 1 + 0) / (2 + 1). There the more severe report of the
    // first run, a P1 bug, is style in the second.
    check(expect![[r#"
        > case a
        > run
        > report f:9 bug P1
        > report f:9 style P2
        > run
        > report f:9-12 style P1
        > report f:10 bug P1
        runs: cases 1 clean 1 reviewed 2
        quality: clean_flagged 1.0 clean_reported 4 f1 - findings_per_change 2.0 on_clean 4 precision 0.0 precision_labelled 0.0 recall - reported 4
        recall_by:
        stability: by_runs [0 1] class_changes 1.0 complete_cases 1 f1_deviation - hit_variance - repeats 2 returns 0.666667
    "#]]);
}

#[test]
fn other_category_changes_class_but_not_issue() {
    // By the rule it is found once. It occurs in both runs with different categories, so it recurs
    // and changes its class. The same holds for unexpected reports.
    check(expect![[r#"
        > case a
        > expect f:10
        > run
        > report f:10 bug
        > report f:50 security
        > run
        > report f:11 logic
        > report f:50 bug
        runs: cases 1 reviewed 2
        quality: clean_flagged - expected 2 f1 0.333333 findings_per_change 2.0 matched 1 precision 0.25 precision_labelled 1.0 recall 0.5 reported 4 unlabelled 3
        recall_by: category (bug 1/2) kind (present 1/2) language (any 1/2) misnamed 1 missed 1 severity (P1 1/2) size [[1–10 1/2]]
        stability: by_runs [0 2] class_changes 1.0 complete_cases 1 f1_deviation 0.471405 hit_variance 0.5 repeats 2 returns 1.0
    "#]]);
}

#[test]
fn stability_does_not_depend_on_run_count() {
    // Every possible outcome of a coin per issue, each once.
    for runs in 2..6 {
        let mut table = String::new();
        for fall in 0..1 << runs {
            table += &format!("case c{fall:02}\nexpect f:10\n");
            for run in 0..runs {
                table += if fall >> run & 1 == 1 { "run\nreport f:10 bug\n" } else { "run\n" };
            }
        }
        let stability = score(&evaluation(Rule::Category, &table)).stability.unwrap();
        let numbers = (stability.returns, stability.hit_variance);
        assert_eq!(numbers, (Some(0.5), Some(0.25)), "{runs} runs");
    }
}

#[test]
fn f1_deviation_ignores_case_mix() {
    // The first case is always found; the second is never found and started once. Only complete
    // cases count, so the first repeat must not differ.
    check(expect![[r#"
        > case a
        > expect f:10
        > run
        > report f:10 bug
        > run
        > report f:10 bug
        > case b
        > expect f:10
        > run
        > run not-run
        runs: cases 2 not_run 1 reviewed 3
        quality: clean_flagged - expected 3 f1 0.8 findings_per_change 0.666667 matched 2 precision 1.0 precision_labelled 1.0 recall 0.666667 reported 2
        recall_by: category (bug 2/3) kind (present 2/3) language (any 2/3) missed 1 severity (P1 2/3) size [[1–10 2/3]]
        stability: by_runs [0 1] class_changes 0.0 complete_cases 1 f1_deviation 0.0 hit_variance 0.0 repeats 2 returns 1.0
    "#]]);
}

#[test]
fn repeats_without_reports_have_no_return_rate() {
    check(expect![[r#"
        > case a
        > run
        > run
        runs: cases 1 clean 1 reviewed 2
        quality: clean_flagged 0.0 f1 - findings_per_change 0.0 precision - precision_labelled - recall -
        recall_by:
        stability: by_runs [0 0] class_changes - complete_cases 1 f1_deviation - hit_variance - repeats 2 returns -
    "#]]);
}

#[test]
fn issue_is_credited_if_not_reported_on_twin() {
    // 0 is found and not on the twin; 1 is found and on the twin, three lines off; 2 is missed; 3
    // is found, and the twin's report there has another category. Credited 2 of 4, with 3 reports
    // on the change and 3 on the twin.
    check(expect![[r#"
        > case a
        > expect f:10 on-twin=f:10
        > expect f:30 on-twin=f:-30,f:40
        > expect f:50 on-twin=f:50
        > expect f:70 on-twin=f:70
        > report f:10 bug
        > report f:30 bug
        > report f:70 bug
        > case a~ twin of a
        > report f:43 bug
        > report f:90 bug
        > report f:70 style
        runs: cases 1 reviewed 2 twins 1
        quality: clean_flagged - expected 4 f1 0.857143 findings_per_change 3.0 matched 3 precision 1.0 precision_labelled 1.0 recall 0.75 reported 3
        paired: also_on_twin 1 expected 4 f1 0.4 matched 3 on_twins 3 pairs 1 precision 0.333333 recall 0.5 reported 6
        recall_by: category (bug 3/4) kind (present 3/4) language (any 3/4) missed 1 severity (P1 3/4) size [[1–10 3/4]]
    "#]]);
}

#[test]
fn text_rule_also_matches_on_the_twin() {
    check_by(
        Rule::Text,
        r#"
        case a
        expect f:10 "The lock is released before the counter is written" on-twin=f:10
        report f:10 "lock released before the counter is written"
        case a~ twin of a
        report f:300 "the counter is written after the lock is released"
        case b
        expect f:10 "The lock is released before the counter is written" on-twin=f:10
        report f:10 "lock released before the counter is written"
        case b~ twin of b
        report f:10 "a comment is out of date"
        "#,
        expect![[r#"
            runs: cases 2 reviewed 4 twins 2
            quality: clean_flagged - expected 2 f1 1.0 findings_per_change 1.0 matched 2 precision 1.0 precision_labelled 1.0 recall 1.0 reported 2
            paired: also_on_twin 1 expected 2 f1 0.333333 matched 2 on_twins 2 pairs 2 precision 0.25 recall 0.5 reported 4
            recall_by: category (bug 2/2) kind (present 2/2) language (any 2/2) severity (P1 2/2) size [[1–10 2/2]]
        "#]],
    );
}

#[test]
fn judge_or_else_text_rule_matches_on_the_twin() {
    let case = |id: &str, twin: &str| {
        format!(
            r#"
            case {id}
            expect f:10 "The lock is released before the counter is written" on-twin=f:10
            report f:10 "in other words"
            judged 0-0
            case {id}~ twin of {id}
            report f:10 {twin}
            "#
        )
    };
    let table = [
        case("a", "\"in other words\"\njudged 0-0"),
        case("b", "\"lock is released before the counter is written\"\njudged"),
        case("c", "\"lock is released before the counter is written\""),
        case("d", "\"in other words\""),
    ];
    check_by(
        Rule::Judge,
        &table.concat(),
        expect![[r#"
            runs: cases 4 reviewed 8 twins 4
            quality: clean_flagged - expected 4 f1 1.0 findings_per_change 1.0 matched 4 precision 1.0 precision_labelled 1.0 recall 1.0 reported 4
            paired: also_on_twin 2 expected 4 f1 0.333333 matched 4 on_twins 4 pairs 4 precision 0.25 recall 0.5 reported 8
            recall_by: category (bug 4/4) kind (present 4/4) language (any 4/4) severity (P1 4/4) size [[1–10 4/4]]
        "#]],
    );
}

#[test]
fn each_repeat_is_paired_with_same_repeat_of_twin() {
    // Repeat 0 is credited. Repeat 1 is not, because the twin reports it, too. The twin failed in
    // repeat 2, so there is no pair.
    check(expect![[r#"
        > case a
        > expect f:10 on-twin=f:10
        > run
        > report f:10 bug
        > run
        > report f:10 bug
        > run
        > report f:10 bug
        > case a~ twin of a
        > run
        > run
        > report f:10 bug
        > run failed
        runs: cases 1 failed 1 reviewed 5 twins 1
        quality: clean_flagged - expected 3 f1 1.0 findings_per_change 1.0 matched 3 precision 1.0 precision_labelled 1.0 recall 1.0 reported 3
        paired: also_on_twin 1 expected 2 f1 0.4 matched 2 on_twins 1 pairs 1 precision 0.333333 recall 0.5 reported 3
        recall_by: category (bug 3/3) kind (present 3/3) language (any 3/3) severity (P1 3/3) size [[1–10 3/3]]
        stability: by_runs [0 0 1] class_changes 0.0 complete_cases 1 f1_deviation 0.0 hit_variance 0.0 repeats 3 returns 1.0
    "#]]);
}

#[test]
fn unreviewed_twin_makes_no_pair() {
    check(expect![[r#"
        > case a
        > expect f:10 on-twin=f:10
        > report f:10 bug
        > case a~ twin of a
        > run failed
        > case b
        > expect f:10 on-twin=f:10
        > report f:10 bug
        > case b~ twin of b
        > run not-run
        runs: cases 2 failed 1 not_run 1 reviewed 2 twins 2
        quality: clean_flagged - expected 2 f1 1.0 findings_per_change 1.0 matched 2 precision 1.0 precision_labelled 1.0 recall 1.0 reported 2
        recall_by: category (bug 2/2) kind (present 2/2) language (any 2/2) severity (P1 2/2) size [[1–10 2/2]]
    "#]]);
}

#[test]
fn calibration_compares_confidence_with_matches() {
    // Brier: (0.1² + 0.2² + 0.7² + 0.05² + 1²) / 5. The last bin has 0.9, matched, and 1.0, not
    // matched: off by 0.45, with weight two. Error: (0.05 + 0.7 + 0.2 + 2 · 0.45) / 5.
    check(expect![[r#"
        > case a
        > expect f:10
        > expect f:30
        > report f:10 bug 0.9
        > report f:30 bug 0.8
        > report f:50 bug 0.7
        > report f:70 bug
        > case b
        > report f:10 bug 0.05
        > report f:30 bug 1.0
        runs: cases 2 clean 1 reviewed 2
        quality: clean_flagged 1.0 clean_reported 2 expected 2 f1 0.5 findings_per_change 3.0 matched 2 on_clean 2 precision 0.333333 precision_labelled 0.5 recall 1.0 reported 6 unlabelled 2
        recall_by: category (bug 2/2) kind (present 2/2) language (any 2/2) severity (P1 2/2) size [[1–10 2/2]]
        avg_confidence_calibration: bins [(confidence 0.05 from 0.0 matched 0.0 reports 1 to 0.1) (confidence 0.7 from 0.7 matched 0.0 reports 1 to 0.8) (confidence 0.8 from 0.8 matched 1.0 reports 1 to 0.9) (confidence 0.95 from 0.9 matched 0.5 reports 2 to 1.0)] brier 0.3085 expected_calibration_error 0.37 reports 5
    "#]]);
}

#[test]
fn severities_are_compared_for_matched_issues() {
    // P0 as P0, P0 as P2, P1 as P2, P3 as P2; the fifth has no severity. Same 1/4, within one level
    // 3/4, milder by (0 + 2 + 1 - 1) / 4.
    check(expect![[r#"
        > case a
        > expect f:10 P0
        > expect f:30 P0
        > expect f:50 P1
        > expect f:70 P3
        > expect f:90 P1
        > report f:10 bug P0
        > report f:30 bug P2
        > report f:50 bug P2
        > report f:70 bug P2
        > report f:90 bug
        runs: cases 1 reviewed 1
        quality: clean_flagged - expected 5 f1 1.0 findings_per_change 5.0 matched 5 precision 1.0 precision_labelled 1.0 recall 1.0 reported 5
        recall_by: category (bug 5/5) kind (present 5/5) language (any 5/5) severity (P0 2/2 P1 2/2 P3 1/1) size [[1–10 5/5]]
        severity_agreement: matches 4 milder_by 0.5 same 0.25 table [[1 0 1 0] [0 0 1 0] [0 0 0 0] [0 0 1 0]] within_one 0.75
    "#]]);
}

#[test]
fn effort_is_summed_over_started_runs() {
    let table = "
        case a
        run $0.5 100ms
        run $0.25 300ms
        run failed $0.25 9000ms
        run not-run $7 7ms
        case a~ twin of a
        run $0.2 200ms
    ";
    let effort = score(&evaluation(Rule::Category, table)).effort;
    let expected = EffortSums {
        cost_usd: 1.2,
        cost_usd_per_run: 0.3,
        latency_seconds_median: 0.2,
        latency_seconds_p95: 9.0,
        ..EffortSums::default()
    };
    assert_eq!(effort, expected);
}

#[test]
fn huge_stored_numbers_do_not_overflow() {
    let mut evaluation = evaluation(Rule::Category, "case a\nrun\nrun");
    for run in &mut evaluation.cases[0].runs {
        run.effort.cost_usd = crate::report::Decimal(u64::MAX);
        run.effort.tokens =
            crate::report::TokensUsed { input: u64::MAX, output: u64::MAX, cached: u64::MAX };
        run.effort.llm_calls = u32::MAX;
        run.effort.latency_ms = u64::MAX;
    }
    let effort = score(&evaluation).effort;
    assert_eq!(
        (effort.tokens_in, effort.tokens_out, effort.tokens_cached),
        (u64::MAX, u64::MAX, u64::MAX)
    );
    assert!(effort.cost_usd.is_finite());
}

#[test]
fn few_cases_have_no_interval() {
    // One of six cases has a report, and all of them have an issue.
    let table = |cases: u32| {
        let cases = (0..cases).map(|case| format!("case c{case}\nexpect f:10\n"));
        cases.collect::<String>() + "report f:10 bug\n"
    };
    let quality = score(&evaluation(Rule::Category, &table(6))).quality;
    assert_eq!(quality.precision, Estimate { value: Some(1.0), low: None, high: None });
    assert!(quality.recall.low.is_some() && quality.f1.high.is_some(), "{quality:?}");
    let recall = score(&evaluation(Rule::Category, &table(5))).quality.recall;
    assert_eq!(recall, Estimate { value: Some(0.2), low: None, high: None });
}

#[test]
fn judge_agreement_is_counted_if_judged() {
    let table = "case a\nexpect f:10 \"the loop never ends\"\nreport f:10 \"other\"\njudged 0-0";
    let mut evaluation = evaluation(Rule::Judge, table);
    assert_eq!(score(&evaluation).judge, None);
    evaluation.judged_by = Some(judge());
    let expected =
        Agreement { pairs: 1, agreed: 0, judge_alone: 1, text_alone: 0, kappa: Some(0.0) };
    assert_eq!(score(&evaluation).judge, Some(expected));
}
