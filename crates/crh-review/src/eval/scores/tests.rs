//! Scores of small evaluations, computed by hand.

use expect_test::{Expect, expect};

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

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// All scores except intervals and effort, without absent ones.
fn scores_text(scores: &Scores) -> String {
    let Scores { runs, quality, paired, recall_by, .. } = scores;
    let mut out = format!(
        "cases {} clean {} twins {} runs {}+{}+{}+{}\n",
        runs.cases,
        runs.clean,
        runs.twins,
        runs.reviewed,
        runs.incomplete,
        runs.failed,
        runs.not_run
    );
    out += &format!(
        "expected {} reported {} matched {} duplicates {} bad {} clean {} unlabelled {} on clean in all {}\n",
        quality.expected,
        quality.reported,
        quality.matched,
        quality.duplicates,
        quality.known_bad,
        quality.on_clean,
        quality.unlabelled,
        quality.clean_reported,
    );
    out += &format!(
        "precision {} labelled {} recall {} f1 {} per change {} flagged {}\n",
        number(quality.precision.value),
        number(quality.precision_labelled.value),
        number(quality.recall.value),
        number(quality.f1.value),
        number(quality.findings_per_change.value),
        number(quality.clean_flagged.value),
    );
    if let Some(paired) = paired {
        out += &format!(
            "pairs {} expected {} matched {} also on twin {} reported {} on twins {} recall {} precision {} f1 {}\n",
            paired.pairs,
            paired.expected,
            paired.matched,
            paired.also_on_twin,
            paired.reported,
            paired.on_twins,
            number(paired.recall.value),
            number(paired.precision.value),
            number(paired.f1.value),
        );
    }
    let RecallBy { severity, category, language, size, kind, missed, misnamed } = recall_by;
    let by_name = [severity, category, language, kind];
    let shares = by_name.iter().flat_map(|shares| shares.iter());
    let shares = shares.chain(size.iter().map(|(name, share)| (name, share)));
    let shares =
        shares.map(|(name, share)| format!(" {name} {}/{}", share.matched, share.expected));
    out += &format!("by{}\n", shares.collect::<String>());
    if *missed > 0 {
        out += &format!("missed {missed}, of these misnamed {misnamed}\n");
    }
    out + &shown_rest(scores)
}

fn shown_rest(scores: &Scores) -> String {
    let mut out = String::new();
    if let Some(calibration) = &scores.avg_confidence_calibration {
        let bins = calibration.bins.iter().map(|bin| {
            format!(
                " [{} {} {}: {} {}]",
                bin.from, bin.to, bin.reports, bin.confidence, bin.matched
            )
        });
        out += &format!(
            "calibration {} brier {} error {}{}\n",
            calibration.reports,
            calibration.brier,
            calibration.expected_calibration_error,
            bins.collect::<String>(),
        );
    }
    if let Some(severity) = &scores.severity_agreement {
        out += &format!(
            "severity {} same {} within one {} milder {} {:?}\n",
            severity.matches,
            severity.same,
            severity.within_one,
            severity.milder_by,
            severity.table
        );
    }
    if let Some(stability) = &scores.stability {
        out += &format!(
            "stability {} of {} cases returns {} variance {} class {} f1 {}\n",
            stability.repeats,
            stability.complete_cases,
            number(stability.returns),
            number(stability.hit_variance),
            number(stability.class_changes),
            number(stability.f1_deviation),
        );
    }
    out
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
        cases 2 clean 0 twins 0 runs 2+0+0+0
        expected 3 reported 4 matched 2 duplicates 1 bad 0 clean 0 unlabelled 1 on clean in all 0
        precision 0.5 labelled 0.666667 recall 0.666667 f1 0.571429 per change 2 flagged -
        by P0 1/1 P1 0/1 P2 1/1 bug 1/1 logic 1/1 security 0/1 python 1/2 rust 1/1 omission 0/1 present 2/2 11–50 1/2 over 200 1/1
        missed 1, of these misnamed 0
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
        cases 4 clean 3 twins 0 runs 4+0+0+0
        expected 1 reported 4 matched 1 duplicates 0 bad 1 clean 2 unlabelled 0 on clean in all 3
        precision 0.25 labelled 0.25 recall 1 f1 0.4 per change 1 flagged 0.666667
        by P1 1/1 bug 1/1 any 1/1 present 1/1 1–10 1/1
    "#]]);
}

#[test]
fn no_reports_have_no_precision_and_zero_recall() {
    check(expect![[r#"
        > case a
        > expect f:10
        > case b
        cases 2 clean 1 twins 0 runs 2+0+0+0
        expected 1 reported 0 matched 0 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision - labelled - recall 0 f1 0 per change 0 flagged 0
        by P1 0/1 bug 0/1 any 0/1 present 0/1 1–10 0/1
        missed 1, of these misnamed 0
    "#]]);
}

#[test]
fn no_expected_issues_have_no_recall() {
    check(expect![[r#"
        > case a
        > report f:1
        cases 1 clean 1 twins 0 runs 1+0+0+0
        expected 0 reported 1 matched 0 duplicates 0 bad 0 clean 1 unlabelled 0 on clean in all 1
        precision 0 labelled 0 recall - f1 - per change 1 flagged 1
        by
    "#]]);
}

#[test]
fn empty_evaluation_has_no_scores() {
    check(expect![[r#"
        cases 0 clean 0 twins 0 runs 0+0+0+0
        expected 0 reported 0 matched 0 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision - labelled - recall - f1 - per change - flagged -
        by
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
        cases 2 clean 1 twins 0 runs 1+1+1+2
        expected 3 reported 1 matched 1 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision 1 labelled 1 recall 0.333333 f1 0.5 per change 0.333333 flagged -
        by P1 1/3 bug 1/3 any 1/3 present 1/3 1–10 1/3
        missed 2, of these misnamed 0
        stability 4 of 0 cases returns 0 variance 0.333333 class - f1 -
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
        cases 1 clean 0 twins 0 runs 4+0+0+0
        expected 4 reported 5 matched 2 duplicates 0 bad 0 clean 0 unlabelled 3 on clean in all 0
        precision 0.4 labelled 1 recall 0.5 f1 0.444444 per change 1.25 flagged -
        by P1 2/4 bug 2/4 any 2/4 present 2/4 1–10 2/4
        missed 2, of these misnamed 0
        severity 2 same 1 within one 1 milder 0 [[0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
        stability 4 of 1 cases returns 0.533333 variance 0.333333 class 0.5 f1 0.3849
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
        cases 1 clean 1 twins 0 runs 2+0+0+0
        expected 0 reported 4 matched 0 duplicates 0 bad 0 clean 4 unlabelled 0 on clean in all 4
        precision 0 labelled 0 recall - f1 - per change 2 flagged 1
        by
        stability 2 of 1 cases returns 0.666667 variance - class 1 f1 -
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
        cases 1 clean 0 twins 0 runs 2+0+0+0
        expected 2 reported 4 matched 1 duplicates 0 bad 0 clean 0 unlabelled 3 on clean in all 0
        precision 0.25 labelled 1 recall 0.5 f1 0.333333 per change 2 flagged -
        by P1 1/2 bug 1/2 any 1/2 present 1/2 1–10 1/2
        missed 1, of these misnamed 1
        stability 2 of 1 cases returns 1 variance 0.5 class 1 f1 0.471405
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
        cases 2 clean 0 twins 0 runs 3+0+0+1
        expected 3 reported 2 matched 2 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision 1 labelled 1 recall 0.666667 f1 0.8 per change 0.666667 flagged -
        by P1 2/3 bug 2/3 any 2/3 present 2/3 1–10 2/3
        missed 1, of these misnamed 0
        stability 2 of 1 cases returns 1 variance 0 class 0 f1 0
    "#]]);
}

#[test]
fn repeats_without_reports_have_no_return_rate() {
    check(expect![[r#"
        > case a
        > run
        > run
        cases 1 clean 1 twins 0 runs 2+0+0+0
        expected 0 reported 0 matched 0 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision - labelled - recall - f1 - per change 0 flagged 0
        by
        stability 2 of 1 cases returns - variance - class - f1 -
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
        cases 1 clean 0 twins 1 runs 2+0+0+0
        expected 4 reported 3 matched 3 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision 1 labelled 1 recall 0.75 f1 0.857143 per change 3 flagged -
        pairs 1 expected 4 matched 3 also on twin 1 reported 6 on twins 3 recall 0.5 precision 0.333333 f1 0.4
        by P1 3/4 bug 3/4 any 3/4 present 3/4 1–10 3/4
        missed 1, of these misnamed 0
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
            cases 2 clean 0 twins 2 runs 4+0+0+0
            expected 2 reported 2 matched 2 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
            precision 1 labelled 1 recall 1 f1 1 per change 1 flagged -
            pairs 2 expected 2 matched 2 also on twin 1 reported 4 on twins 2 recall 0.5 precision 0.25 f1 0.333333
            by P1 2/2 bug 2/2 any 2/2 present 2/2 1–10 2/2
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
            cases 4 clean 0 twins 4 runs 8+0+0+0
            expected 4 reported 4 matched 4 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
            precision 1 labelled 1 recall 1 f1 1 per change 1 flagged -
            pairs 4 expected 4 matched 4 also on twin 2 reported 8 on twins 4 recall 0.5 precision 0.25 f1 0.333333
            by P1 4/4 bug 4/4 any 4/4 present 4/4 1–10 4/4
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
        cases 1 clean 0 twins 1 runs 5+0+1+0
        expected 3 reported 3 matched 3 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision 1 labelled 1 recall 1 f1 1 per change 1 flagged -
        pairs 1 expected 2 matched 2 also on twin 1 reported 3 on twins 1 recall 0.5 precision 0.333333 f1 0.4
        by P1 3/3 bug 3/3 any 3/3 present 3/3 1–10 3/3
        stability 3 of 1 cases returns 1 variance 0 class 0 f1 0
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
        cases 2 clean 0 twins 2 runs 2+0+1+1
        expected 2 reported 2 matched 2 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision 1 labelled 1 recall 1 f1 1 per change 1 flagged -
        by P1 2/2 bug 2/2 any 2/2 present 2/2 1–10 2/2
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
        cases 2 clean 1 twins 0 runs 2+0+0+0
        expected 2 reported 6 matched 2 duplicates 0 bad 0 clean 2 unlabelled 2 on clean in all 2
        precision 0.333333 labelled 0.5 recall 1 f1 0.5 per change 3 flagged 1
        by P1 2/2 bug 2/2 any 2/2 present 2/2 1–10 2/2
        calibration 5 brier 0.3085 error 0.37 [0 0.1 1: 0.05 0] [0.7 0.8 1: 0.7 0] [0.8 0.9 1: 0.8 1] [0.9 1 2: 0.95 0.5]
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
        cases 1 clean 0 twins 0 runs 1+0+0+0
        expected 5 reported 5 matched 5 duplicates 0 bad 0 clean 0 unlabelled 0 on clean in all 0
        precision 1 labelled 1 recall 1 f1 1 per change 5 flagged -
        by P0 2/2 P1 2/2 P3 1/1 bug 5/5 any 5/5 present 5/5 1–10 5/5
        severity 4 same 0.25 within one 0.75 milder 0.5 [[1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
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
