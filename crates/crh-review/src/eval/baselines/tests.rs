//! Reports and scores of the baselines.

use std::fmt::Write as _;

use expect_test::expect;

use super::*;
use crate::eval::matching::Rule;
use crate::eval::scores::score;
use crate::eval::tests_support::evaluation;

/// Hunks that add, remove and do both, a renamed file and a deleted one.
const DIFF: &str = "\
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,4 +1,5 @@
 one
-two
+2
+2b
 three
+3b
-four
@@ -20,3 +21,2 @@
 twenty
-more
 end
diff --git a/old b/new
rename from old
rename to new
--- a/old
+++ b/new
@@ -7 +7 @@
-x
+y
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
";

fn evaluation_text(evaluation: &Evaluation) -> String {
    let mut out = format!("{}\n", evaluation.about.tool);
    for case in &evaluation.cases {
        for run in &case.runs {
            write!(out, "{} {:?}:", case.labels.id, run.ending).unwrap();
            for Reported { span, category, .. } in &run.reported {
                let (start, end) = (span.line_start(), span.line_end());
                write!(out, " {}:{start}-{end} {}", span.file(), span.side()).unwrap();
                write!(out, "{}", category.map_or(String::new(), |kind| format!(" {kind}")))
                    .unwrap();
                out += ",";
            }
            out += "\n";
        }
    }
    out
}

#[test]
fn every_hunk_reports_the_changed_lines() {
    let diff = Diff::read(DIFF);
    let tool = evaluation(Rule::Category, "case a\ncase b\ncase c\nrun not-run");
    let changes = [BaselineCase { id: "a", diff: &diff }, BaselineCase { id: "c", diff: &diff }];
    expect![[r#"
            every hunk
            a Reviewed: f:2-5 new bug, f:21-21 old bug, new:7-7 new bug, gone:1-2 old bug,
            b NotRun("the change is unknown"):
            c NotRun("not run"):
        "#]]
    .assert_eq(&evaluation_text(&every_hunk(&tool, &changes)));
}

#[test]
fn random_lines_are_distinct_added_lines() {
    let diff = Diff::read(DIFF);
    let tool = evaluation(Rule::Category, "case a");
    let changes = [BaselineCase { id: "a", diff: &diff }];
    expect![[r#"
        2 random lines
        a Reviewed: new:7-7 new bug, f:3-3 new bug,
        a Reviewed: f:2-2 new bug, new:7-7 new bug,
        a Reviewed: f:2-2 new bug, f:3-3 new bug,
    "#]]
    .assert_eq(&evaluation_text(&random_lines(&tool, &changes, 2, 3, 7)));
    let all = random_lines(&tool, &changes, 99, 1, 7);
    let mut lines: Vec<_> =
        all.cases[0].runs[0].reported.iter().map(|report| report.span.clone()).collect();
    lines.sort();
    let changed: Vec<_> =
        changed_lines(&diff, hunks(&diff)).into_iter().map(|line| line.span).collect();
    assert_eq!(lines, changed);
}

#[test]
fn random_lines_of_a_removal_are_removed_lines() {
    let diff = Diff::read("--- a/f\n+++ b/f\n@@ -3,2 +3 @@\n x\n-y\n");
    let tool = evaluation(Rule::Category, "case a");
    let random_review = random_lines(&tool, &[BaselineCase { id: "a", diff: &diff }], 3, 1, 0);
    expect![[r#"
        3 random lines
        a Reviewed: f:4-4 old bug,
    "#]]
    .assert_eq(&evaluation_text(&random_review));
}

#[test]
fn additional_case_keeps_draws_of_the_others() {
    let diff = Diff::read(DIFF);
    let changes = ["a", "b"].map(|id| BaselineCase { id, diff: &diff });
    let draw_lines = |table| random_lines(&evaluation(Rule::Category, table), &changes, 2, 5, 1);
    assert_eq!(draw_lines("case a\ncase b").cases[1], draw_lines("case b").cases[0]);
}

#[test]
fn perfect_finds_all_and_nothing_reports_none() {
    let tool = evaluation(
        Rule::Category,
        "
        case a
        expect f:10-12,g:4 security
        report f:90
        case a~ twin of a
        report f:1
        ",
    );
    expect![[r#"
        perfect
        a Reviewed: f:10-12 new security,
        a~ Reviewed:
    "#]]
    .assert_eq(&evaluation_text(&perfect(&tool)));
    expect![[r#"
        nothing
        a Reviewed:
        a~ Reviewed:
    "#]]
    .assert_eq(&evaluation_text(&without_reports(&tool)));
}

#[test]
fn reports_have_the_commonest_category_and_line_text() {
    let diff = Diff::read(DIFF);
    let changes = [BaselineCase { id: "a", diff: &diff }];
    // Performance is the most frequent category, correctness the most frequent family. The first
    // wins on a tie.
    let table = "
        case a
        expect f:1 performance
        expect f:2 performance
        case b
        expect f:1 logic
        expect f:2 bug
        expect f:3 concurrency
    ";
    let reported_category = |rule, table| {
        let every = every_hunk(&evaluation(rule, table), &changes).cases.remove(0).runs.remove(0);
        let random = random_lines(&evaluation(rule, table), &changes, 99, 1, 1);
        let random = random.cases[0].runs[0].reported.clone();
        let first = &every.reported[0];
        let line = random.iter().find(|report| report.span.line_start() == 3).unwrap();
        assert_eq!((first.text.as_str(), line.text.as_str()), ("2\n2b\n3b", "2b"));
        let category = first.category.unwrap();
        assert!(
            every.reported.iter().chain(&random).all(|report| report.category == Some(category))
        );
        category
    };
    assert_eq!(reported_category(Rule::Category, table), Category::Performance);
    assert_eq!(reported_category(Rule::Family, table), Category::Bug);
    assert_eq!(
        reported_category(Rule::Text, "case a\nexpect f:1 style\nexpect f:1 data"),
        Category::Style
    );
    assert_eq!(reported_category(Rule::Category, "case a"), Category::Bug);
}

#[test]
fn text_rule_scores_baselines_by_code_words() {
    let code = "+def cancel_order(order): refund(order, order.deposit)\n";
    let diff = Diff::read(format!("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n{code}"));
    let table = r#"case a
        expect f:1 logic "cancel_order refunds the deposit of an order twice""#;
    let changes = [BaselineCase { id: "a", diff: &diff }];
    for rule in [Rule::Category, Rule::Text] {
        let tool = evaluation(rule, table);
        for baseline in [every_hunk(&tool, &changes), random_lines(&tool, &changes, 1, 1, 1)] {
            assert_eq!(score(&baseline).quality.recall.value, Some(1.0), "{rule:?}");
        }
    }
}

/// Binomial coefficient.
fn choose(many: u64, few: u64) -> f64 {
    (0..few).map(|step| (many - step) as f64 / (few - step) as f64).product()
}

#[test]
fn random_lines_score_at_chance_level() {
    // Each change adds 40 lines, one of them wrong. 3 lines are drawn, and lines at most 3 away
    // match.
    const LINES: u64 = 40;
    const DRAWN: u64 = 3;
    let added: String = (1..=LINES).map(|line| format!("+{line}\n")).collect();
    let diff = Diff::read(format!("--- /dev/null\n+++ b/f\n@@ -0,0 +1,{LINES} @@\n{added}"));
    let (mut table, mut chance, mut ids) = (String::new(), 0.0, Vec::new());
    for line in 1..=LINES {
        writeln!(table, "case c{line:02}\nexpect f:{line}").unwrap();
        let nearby_lines =
            (1..=LINES).filter(|other_line| other_line.abs_diff(line) <= 3).count() as u64;
        chance += (1.0 - choose(LINES - nearby_lines, DRAWN) / choose(LINES, DRAWN)) / LINES as f64;
        ids.push(format!("c{line:02}"));
    }
    let changes: Vec<_> = ids.iter().map(|id| BaselineCase { id, diff: &diff }).collect();
    let random_review = random_lines(&evaluation(Rule::Category, &table), &changes, 3, 100, 42);
    let quality = score(&random_review).quality;
    let (recall, precision) = (quality.recall.value.unwrap(), quality.precision.value.unwrap());
    // 4,000 draws have a standard error of 0.0078; allow three of them.
    assert!((recall - chance).abs() < 0.024, "{recall} is not near {chance}");
    assert!((precision - recall / DRAWN as f64).abs() < 1e-6, "{precision}");
}
