//! Reports of reviews, from successful and failed runs.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::test_change::{TestChange, options, run};
use crh_agent::{LimitKind, UsageTotals};
use crh_llm::{Money, TokenUsage};
use crh_pipeline::assemble::{ReportInputs, assemble, mask, recount_summary};
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_pipeline::collect::collect;
use crh_pipeline::consolidate::consolidate;
use crh_pipeline::context::PanelContext;
use crh_pipeline::edit::EditOutcome;
use crh_pipeline::plan::Plan;
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::runs::{RunEnd, RunRecord, RunResults};
use crh_pipeline::validate::ValidationOutcome;
use crh_review::finding::{Origin, Severity};
use crh_review::render::sarif;
use crh_review::report::{
    AppliedFix, CoverageState, DroppedFinding, Fate, FileCoverage, FixOutcome, Issue, Report,
    Status, Strategy,
};
use crh_review::{PastDecisions, apply_judgements, stable_json, stable_json_line};

const CHANGE: &str = r#"
    //- a.py
    x = 1
    //- b.py
    y = 1
    //- excluded/c.py
    z = 1
    //- yarn.lock
    a: 1
    //- head
    //- a.py
    password = "hunter2000"
    total = sum(items)
    //- b.py
    y = 2
    //- excluded/c.py
    z = 2
    //- yarn.lock
    a: 2
"#;

/// Inputs of a report, for tests to change.
struct Review {
    test_change: TestChange,
    terms: ReviewOptions,
    plan: Plan,
    runs: RunResults,
    validated: ValidationOutcome,
    interrupted: bool,
    not_written: Vec<String>,
    min_severity: Option<Severity>,
}

impl Review {
    fn new(strategy: Strategy, records: Vec<RunRecord>) -> Self {
        Self::from_change(TestChange::new(CHANGE), strategy, records)
    }

    fn from_change(test_change: TestChange, strategy: Strategy, records: Vec<RunRecord>) -> Self {
        let planned = records.iter().filter(|it| !it.assignment.name.starts_with("sub-agent"));
        let assignments = planned.map(|record| record.assignment.clone()).collect();
        Self {
            test_change,
            terms: options(strategy),
            plan: Plan { strategy, assignments, notes: Vec::new() },
            runs: RunResults { records, notes: Vec::new() },
            validated: ValidationOutcome::default(),
            interrupted: false,
            not_written: Vec::new(),
            min_severity: None,
        }
    }

    fn report(&self) -> Report {
        let subject = &self.test_change.subject;
        let collected = collect(&self.runs);
        let merged = consolidate(collected.members.clone(), subject, &PastDecisions::default());
        assemble(ReportInputs {
            change: subject,
            options: &self.terms,
            context: &PanelContext::default(),
            requirements: None,
            edit: &EditOutcome::default(),
            plan: &self.plan,
            runs: &self.runs,
            collected: &collected,
            merged: apply_judgements(merged, &self.validated.judgements),
            validation: &self.validated,
            models: "m+unused".to_owned(),
            prompt_version: "p".to_owned(),
            run_id: "run-1".to_owned(),
            artifact: ".crh/runs/run-1".to_owned(),
            spent: UsageTotals {
                llm_calls: 3,
                guessed_calls: 0,
                failed_calls: 2,
                tool_calls: 4,
                usage: TokenUsage { input: 100, cache_read: 60, cache_written: 0, output: 20 },
                money: Money::cents(12),
            },
            took_ms: 61_500,
            interrupted: self.interrupted,
            write_errors: self.not_written.clone(),
            min_severity: self.min_severity,
        })
    }
}

/// Shows the status of the review, its reasons, and the files in scope.
fn check(review: &Review, expected: Expect) {
    let report = review.report();
    let mut actual = format!("{} | {}: {}\n", report.status, report.verdict, report.verdict_reason);
    let is_in_scope = |file: &&FileCoverage| file.state != CoverageState::OutOfScope;
    for file in report.coverage.iter().filter(is_in_scope) {
        let state = serde_json::to_value(file.state).unwrap();
        actual += &format!("{} {} {}\n", file.path, state.as_str().unwrap(), file.reason);
    }
    for warning in &report.warnings {
        actual += &format!("warning: {warning}\n");
    }
    expected.assert_eq(&actual);
}

/// A finding that crh could not use, as the model sent it.
fn unread_finding(fate: Fate, reason: &str, reviewer: &str, raw: Value) -> DroppedFinding {
    DroppedFinding {
        fate,
        reason: reason.to_owned(),
        cause: None,
        into: None,
        open: None,
        validation: None,
        reviewer: reviewer.to_owned(),
        member: None,
        raw: Some(raw),
    }
}

fn failed(record: RunRecord) -> RunRecord {
    RunRecord::failed(record.assignment, "the model hung up")
}

#[test]
fn cut_prompt_makes_the_review_incomplete() {
    let files = ["a.py", "b.py"];
    let cut = |name: &str| RunRecord { may_have_cut_prompt: true, ..run(name, &files) };
    let review = |records| Review::new(Strategy::Panel, records);
    check(
        &review(vec![cut("correctness")]),
        expect![[r#"
            truncated | Incomplete: 2 files not fully reviewed (a.py, b.py)
            a.py truncated the model server may have cut the prompt
            b.py truncated the model server may have cut the prompt
        "#]],
    );
    check(
        &review(vec![run("correctness", &files), cut("security")]),
        expect![[r#"
            truncated | Incomplete: a part of the review is missing
            a.py reviewed 
            b.py reviewed 
        "#]],
    );
    let mut validated = review(vec![run("correctness", &files)]);
    validated.validated.runs = vec![cut("validate-1")];
    check(
        &validated,
        expect![[r#"
            truncated | Incomplete: a part of the review is missing
            a.py reviewed 
            b.py reviewed 
        "#]],
    );
}

/// The fields of a report, with a line for each entry of a list.
fn field_rows(report: &Report) -> String {
    let fields = serde_json::to_value(report).unwrap();
    // The order of a JSON object depends on the features of serde_json.
    let fields: BTreeMap<_, _> = fields.as_object().unwrap().iter().collect();
    let rows = fields.iter().flat_map(|(name, value)| match value.as_array() {
        Some(rows) => rows.iter().map(|row| (name, row)).collect::<Vec<_>>(),
        None => vec![(name, *value)],
    });
    rows.map(|(name, row)| format!("{name} {}", stable_json_line(row).unwrap())).collect()
}

#[test]
fn report_contains_all_data() {
    let test_change = TestChange::new(CHANGE);
    let members = test_change.members(
        r#"
        sub-agent a.py:1 P1 0.9 "A password is in the code"
        sub-agent a.py:2 P3 0.8 "`sum` may be slow"
        "#,
    );
    let mut orchestrator = run("orchestrator", &[]);
    orchestrator.summary = "Two scopes, one real problem.".to_owned();
    orchestrator.models = vec!["m".to_owned()];
    let mut first = run("sub-agent-2", &["a.py"]);
    first.assignment.label = "shop".to_owned();
    first.summary = "Looked at the shop.".to_owned();
    first.residual_risks = vec!["load".to_owned()];
    first.model_ms = 1_500;
    first.members = members;
    first.dropped =
        vec![unread_finding(Fate::Nit, "too small", "sub-agent", json!({ "severity": "nit" }))];
    let mut second = run("sub-agent-10", &["b.py"]);
    second.assignment.label = "rest".to_owned();
    second.residual_risks = vec!["load".to_owned(), "migration".to_owned()];
    second.testing_gaps = vec!["no test of b".to_owned()];
    second.notes = vec!["was refused `repo_ls`".to_owned()];
    second.model_ms = 500;
    let records = vec![run("secrets", &["a.py", "b.py"]), orchestrator, second, first];
    let mut review = Review::from_change(test_change, Strategy::Delegate, records);
    review.plan.notes.push("one file has its own scope".to_owned());
    let mut report = review.report();
    // Covered by other tests, or as long as the change.
    report.issues.clear();
    report.suppressed.clear();
    report.change.head_sha = "HEAD".to_owned();
    report.review_id = "ID".to_owned();
    expect![[r#"
        artifact ".crh/runs/run-1"
        change {"author":"","base_ref":"","base_sha":"","head_ref":"","head_sha":"HEAD","pr_number":"","repo":"o/r","title":"A change","url":""}
        coverage {"path":"a.py","state":"reviewed"}
        coverage {"path":"b.py","state":"reviewed"}
        coverage {"path":"excluded/c.py","reason":"excluded by `excluded/**`","state":"out_of_scope"}
        coverage {"path":"yarn.lock","reason":"a lock file: package managers write `yarn.lock`","state":"out_of_scope"}
        files_reviewed "a.py"
        files_reviewed "b.py"
        fix_order 1
        intent ""
        mode "report-only"
        model_set "m+unused"
        model_used "m"
        notes {"agent_native_gaps":[],"deployment":[],"learnings":[],"schema_drift":[]}
        queues {"fixer":[],"report":[],"residual":[1,2]}
        residual_risks "load"
        residual_risks "migration"
        review_id "ID"
        reviewers {"name":"secrets","note":"","origin":"code","outcome":"completed","why":""}
        reviewers {"name":"orchestrator","note":"Two scopes, one real problem.","origin":"model","outcome":"completed","why":""}
        reviewers {"name":"sub-agent-2","note":"Looked at the shop.","origin":"model","outcome":"completed","why":""}
        reviewers {"name":"sub-agent-10","note":"","origin":"model","outcome":"completed","why":""}
        run_id "run-1"
        schema_version 1
        scope {"additions":5,"deletions":4,"files":4,"line":"2 of 4 files, +3 -2; 2 left out (1 excluded, 1 lock file)","untracked":["notes.txt"]}
        stats {"cost_usd":0.12,"failed_calls":2,"latency_seconds_e2e":61.5,"latency_seconds_llm":2.0,"llm_calls":3,"tokens_used":{"cached":60,"in":100,"out":20},"tool_calls":4}
        status "ok"
        strategy "delegate"
        summary "2 issues (1 P1, 1 P3) in 2 reviewed files. 1 finding left out (nitpick).\n\nTwo scopes, one real problem.\n\n[2] shop: Looked at the shop."
        testing_gaps "no test of b"
        verdict "Ready with fixes"
        verdict_reason "1 issue to fix"
        warnings "one file has its own scope"
        warnings "sub-agent-10: was refused `repo_ls`"
    "#]].assert_eq(&field_rows(&report));
}

#[test]
fn equal_findings_of_sub_agents_are_merged() {
    let mut records = vec![run("orchestrator", &[])];
    records[0].summary = "Nothing found.".to_owned();
    for (name, label) in [("sub-agent-1", "shop"), ("sub-agent-2", "mail")] {
        let mut record = run(name, &["a.py"]);
        record.assignment.label = label.to_owned();
        record.summary = "Nothing found.".to_owned();
        records.push(record);
    }
    let report = Review::new(Strategy::Delegate, records).report();
    let run_summaries: Vec<&str> = report.summary.split("\n\n").skip(1).collect();
    assert_eq!(
        run_summaries,
        ["Nothing found.", "[1] shop: Nothing found.", "[2] mail: Nothing found."]
    );
}

#[test]
fn failed_writes_are_warnings() {
    let mut review = Review::new(Strategy::Static, vec![run("secrets", &["a.py"])]);
    review.not_written = vec!["`stages/plan.json` could not be written".to_owned()];
    assert_eq!(review.report().warnings, review.not_written);
}

#[test]
fn review_without_failures_is_complete() {
    let records = vec![run("single", &["a.py", "b.py"])];
    check(
        &Review::new(Strategy::Single, records),
        expect![[r#"
            ok | Ready to merge: nothing actionable was found
            a.py reviewed 
            b.py reviewed 
        "#]],
    );
}

#[test]
fn static_coverage_counts_only_without_a_model() {
    let seen = || run("secrets", &["a.py", "b.py"]);
    check(
        &Review::new(Strategy::Static, vec![seen()]),
        expect![[r#"
            ok | Incomplete: only static checks ran
            a.py reviewed 
            b.py reviewed 
        "#]],
    );
    check(
        &Review::new(Strategy::Single, vec![seen(), run("single", &["a.py"])]),
        expect![[r#"
            truncated | Incomplete: 1 file not fully reviewed (b.py)
            a.py reviewed 
            b.py not_reviewed not assigned to any reviewer
        "#]],
    );
}

#[test]
fn file_that_a_failed_check_did_not_read_is_not_reviewed() {
    let mut unread = run("syntax", &["a.py", "b.py"]);
    for file in &mut unread.coverage {
        file.state = CoverageState::NotReviewed;
        file.reason = "there is no repository to read from".to_owned();
    }
    let review = Review::new(Strategy::Static, vec![run("secrets", &["a.py", "b.py"]), unread]);
    assert_eq!(review.report().summary, "No issues; no file was fully reviewed.");
    check(
        &review,
        expect![[r#"
            truncated | Incomplete: 2 files not fully reviewed (a.py, b.py); only static checks ran
            a.py truncated there is no repository to read from
            b.py truncated there is no repository to read from
        "#]],
    );
}

#[test]
fn model_review_is_incomplete_if_a_check_did_not_run() {
    let mut skipped = run("syntax", &["a.py"]);
    skipped.not_run = Some("there is no repository".to_owned());
    for file in &mut skipped.coverage {
        file.state = CoverageState::NotReviewed;
    }
    check(
        &Review::new(Strategy::Single, vec![skipped, run("single", &["a.py", "b.py"])]),
        expect![[r#"
            truncated | Incomplete: 1 file not fully reviewed (a.py)
            a.py truncated not all static checks ran
            b.py reviewed 
            warning: checks not run: syntax (there is no repository); run crh in a checkout that matches the diff
        "#]],
    );
}

#[test]
fn review_fails_if_all_model_runs_failed() {
    let seen = || run("secrets", &["a.py", "b.py"]);
    let single = run("single", &["a.py", "b.py"]);
    check(
        &Review::new(Strategy::Single, vec![seen(), failed(single)]),
        expect![[r#"
            error | Incomplete: failed reviewers: single; nothing was reviewed
            a.py not_reviewed single failed
            b.py not_reviewed single failed
            warning: reviewer single failed: the model hung up
        "#]],
    );
    check(
        &Review::new(Strategy::Single, vec![seen()]),
        expect![[r#"
            error | Incomplete: nothing was reviewed
            a.py not_reviewed not assigned to any reviewer
            b.py not_reviewed not assigned to any reviewer
        "#]],
    );
    let agents = vec![
        run("orchestrator", &[]),
        failed(run("sub-agent-1", &["a.py"])),
        failed(run("sub-agent-2", &["b.py"])),
    ];
    check(
        &Review::new(Strategy::Delegate, agents),
        expect![[r#"
            error | Incomplete: failed reviewers: sub-agent-1, sub-agent-2; nothing was reviewed
            a.py not_reviewed sub-agent-1 failed
            b.py not_reviewed sub-agent-2 failed
            warning: reviewer sub-agent-1 failed: the model hung up
            warning: reviewer sub-agent-2 failed: the model hung up
        "#]],
    );
}

#[test]
fn one_failed_reviewer_degrades_review() {
    let agents = vec![
        run("orchestrator", &[]),
        run("sub-agent-1", &["a.py"]),
        failed(run("sub-agent-2", &["b.py"])),
    ];
    check(
        &Review::new(Strategy::Delegate, agents),
        expect![[r#"
            degraded | Incomplete: failed reviewers: sub-agent-2; 1 file not fully reviewed (b.py)
            a.py reviewed 
            b.py not_reviewed sub-agent-2 failed
            warning: reviewer sub-agent-2 failed: the model hung up
        "#]],
    );
    let broken = failed(run("syntax", &[]));
    check(
        &Review::new(Strategy::Single, vec![broken, run("single", &["a.py", "b.py"])]),
        expect![[r#"
            degraded | Incomplete: failed checks: syntax
            a.py reviewed 
            b.py reviewed 
            warning: check syntax failed: the model hung up
        "#]],
    );
}

#[test]
fn skipped_analyser_is_no_reviewer() {
    let mut skipped = run("ruff", &[]);
    skipped.notes = vec!["skipped: it failed".to_owned()];
    let records = vec![skipped, run("shellcheck", &["a.py"]), run("single", &["a.py", "b.py"])];
    let report = Review::new(Strategy::Single, records).report();
    let names: Vec<&str> = report.reviewers.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["shellcheck", "single"]);
    assert_eq!(report.warnings, ["ruff: skipped: it failed"]);
}

/// A file that was not read is listed and counted once.
#[test]
fn links_and_unread_files_are_described_once() {
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
                   oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
                   size 12345\n";
    let added = |path: &str, mode: u32, text: &str| {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let count = text.lines().count();
        format!(
            "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n\
             @@ -0,0 +1,{count} @@\n{lines}"
        )
    };
    let diff = added("run.py", 120_000, "/etc/a.txt\n") + &added("tool.py", 100_644, pointer);
    let records = vec![run("single", &["run.py"])];
    let review = Review::from_change(TestChange::from_diff(&diff), Strategy::Single, records);
    check(
        &review,
        expect![[r#"
        ok | Incomplete: 2 files not fully reviewed (run.py, tool.py)
        run.py truncated content that the diff does not show may run through this symlink
        tool.py not_reviewed a Git LFS pointer: its content is stored elsewhere
    "#]],
    );
    expect!["2 files, +1 -0"].assert_eq(&review.report().scope.line);
}

#[test]
fn exceeded_limits_are_warnings() {
    let mut review = Review::new(Strategy::Single, vec![run("single", &["a.py", "b.py"])]);
    assert_eq!(review.report().warnings, Vec::<String>::new());
    let budget = &mut review.terms.budget;
    (budget.llm_calls, budget.tool_calls, budget.input_tokens) = (2, 4, 99);
    budget.money = Money::cents(10);
    assert_eq!(
        review.report().warnings,
        [
            "over budget: the review cost $0.12 of $0.10",
            "over budget: the review used 3 of 2 model calls",
            "over budget: the review used 100 of 99 input tokens",
        ]
    );
}

#[test]
fn exhausted_budget_or_cancellation_truncates_review() {
    let mut limited = run("single", &["a.py", "b.py"]);
    limited.limited = Some(LimitKind::Money);
    check(
        &Review::new(Strategy::Single, vec![limited]),
        expect![[r#"
            truncated | Incomplete: a part of the review is missing
            a.py reviewed 
            b.py reviewed 
            warning: single reached its limit of money; its review may be incomplete
        "#]],
    );
    let mut part = run("single", &["a.py", "b.py"]);
    part.coverage[1].state = CoverageState::Truncated;
    part.coverage[1].reason = "only its first 300 lines".to_owned();
    check(
        &Review::new(Strategy::Single, vec![part]),
        expect![[r#"
            truncated | Incomplete: 1 file not fully reviewed (b.py)
            a.py reviewed 
            b.py truncated only its first 300 lines
        "#]],
    );
    let mut stopped = run("single", &["a.py", "b.py"]);
    (stopped.ended, stopped.coverage) = (RunEnd::Cancelled, Vec::new());
    let mut review = Review::new(Strategy::Single, vec![stopped]);
    review.interrupted = true;
    check(
        &review,
        expect![[r#"
            truncated | Incomplete: the review was stopped; unfinished reviewers: single; 2 files not fully reviewed (a.py, b.py)
            a.py not_reviewed the review was cancelled before it was reviewed
            b.py not_reviewed the review was cancelled before it was reviewed
            warning: the review was cancelled and is incomplete
        "#]],
    );
}

#[test]
fn unvalidated_urgent_issue_truncates_review() {
    let reviewed = |row: &str, validation: RunRecord| {
        let test_change = TestChange::new(CHANGE);
        let mut record = run("single", &["a.py", "b.py"]);
        record.members = test_change.members(row);
        let mut review = Review::from_change(test_change, Strategy::Single, vec![record]);
        review.validated.runs.push(validation);
        review.report().status
    };
    let mut prevented = run("validate-1", &[]);
    prevented.limited = Some(LimitKind::Turns);
    prevented.ended = RunEnd::Failed("no room".to_owned());
    let urgent = r#"alice a.py:1 P1 0.9 "A password is in the code""#;
    let lower = r#"alice a.py:1 P2 0.9 "A password is in the code""#;
    let hidden = r#"alice a.py:1 P1 0.4 "A password is in the code""#;
    assert_eq!(reviewed(urgent, prevented.clone()), Status::Truncated);
    assert_eq!(reviewed(hidden, prevented.clone()), Status::Truncated);
    assert_eq!(reviewed(lower, prevented), Status::Ok);
    let broken = failed(run("validate-1", &[]));
    assert_eq!(reviewed(urgent, broken), Status::Degraded);
    assert_eq!(reviewed(urgent, run("validate-1", &[])), Status::Ok);
}

#[test]
fn static_checks_out_of_time_truncate_the_review() {
    let status = |record: RunRecord| {
        let change = TestChange::new(CHANGE);
        Review::from_change(change, Strategy::Static, vec![record]).report().status
    };
    let broken = failed(run("secrets", &[]));
    let late = RunRecord { limited: Some(LimitKind::Wall), ..broken.clone() };
    assert_eq!(status(broken), Status::Error);
    assert_eq!(status(late), Status::Truncated);
}

/// A file with changes in lines 5 to 9 of the diff.
const PIECES: &str = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,0 +1,5 @@\n+one\n+two\n+three\n+four\n+five\n";

#[test]
fn split_file_is_reviewed_if_all_lines_were() {
    let piece = |name: &str, lines: (u32, u32)| {
        let mut record = run(name, &["a.py"]);
        record.assignment.parts[0].diff_lines = Some(lines);
        record
    };
    let state = |records: Vec<RunRecord>| {
        let review =
            Review::from_change(TestChange::from_diff(PIECES), Strategy::Delegate, records);
        let file = review.report().coverage.remove(0);
        (file.state, file.reason)
    };
    use CoverageState::{NotReviewed, Reviewed, Truncated};
    let whole = vec![piece("sub-agent-1", (1, 6)), piece("sub-agent-2", (7, 9))];
    assert_eq!(state(whole.clone()), (Reviewed, String::new()));
    let gap = vec![piece("sub-agent-1", (1, 6)), piece("sub-agent-2", (8, 9))];
    assert_eq!(state(gap), (Truncated, "part of it was not assigned to any reviewer".to_owned()));
    let half = vec![whole[0].clone(), failed(whole[1].clone())];
    assert_eq!(state(half), (Truncated, "sub-agent-2 failed".to_owned()));
    let none = vec![failed(whole[0].clone()), failed(whole[1].clone())];
    assert_eq!(state(none), (NotReviewed, "sub-agent-1, sub-agent-2 failed".to_owned()));
    let header = vec![piece("sub-agent-1", (1, 4)), failed(piece("sub-agent-2", (5, 9)))];
    assert_eq!(state(header), (NotReviewed, "sub-agent-2 failed".to_owned()));
    let other = vec![failed(whole[0].clone()), run("sub-agent-3", &["a.py"])];
    assert_eq!(state(other).0, Reviewed);
}

#[test]
fn reason_of_failed_parts_is_shown_once() {
    let part = |number: usize, ended: Option<&str>| {
        let mut record = run(&format!("single-{number}"), &["a.py"]);
        "single".clone_into(&mut record.assignment.reviewer);
        if let Some(why) = ended {
            record.ended = RunEnd::Failed(why.to_owned());
        }
        record
    };
    let note = |ends: [Option<&str>; 3]| {
        let records = (1..).zip(ends).map(|(number, end)| part(number, end)).collect();
        Review::new(Strategy::Single, records).report().reviewers[0].note.clone()
    };
    assert_eq!(note([Some("no calls left"); 3]), "all 3 parts: no calls left");
    assert_eq!(note([Some("late"), None, Some("late")]), "parts 1, 3 of 3: late");
    let two = note([Some("late"), Some("lost"), Some("late")]);
    assert_eq!(two, "parts 1, 3 of 3: late; part 2 of 3: lost");
}

#[test]
fn hidden_findings_count_for_the_verdict() {
    let test_change = TestChange::new(CHANGE);
    let mut record = run("single", &["a.py", "b.py"]);
    record.members = test_change.members(
        r#"
        alice a.py:1 P2 0.9 "A password is in the code"
        bob   a.py:1 P2 0.8 "A password is in the code"
        "#,
    );
    let mut review = Review::from_change(test_change, Strategy::Single, vec![record]);
    let report = review.report();
    review.min_severity = Some(Severity::P1);
    let hidden = review.report();
    assert_eq!(hidden.verdict, report.verdict);
    let reasons = [&report.verdict_reason, &hidden.verdict_reason];
    assert_eq!(reasons, ["1 issue to fix", "1 issue (hidden) to fix"]);
    assert_eq!((report.fix_order.len(), hidden.fix_order.len()), (1, 0));
    assert!(hidden.issues.is_empty() && hidden.queues.residual.is_empty());
    let fates: Vec<String> = hidden
        .suppressed
        .iter()
        .map(|it| format!("{} {} {:?} {}", it.fate, it.reviewer, it.into, it.reason))
        .collect();
    expect![[r#"
        suppressed alice None below --min-severity P1
        suppressed bob None below --min-severity P1
    "#]]
    .assert_eq(&(fates.join("\n") + "\n"));
    assert_eq!(hidden.warnings, ["1 issue below P1 is not shown; the verdict counts it"]);
    assert_eq!(
        hidden.summary,
        "No issues shown in 2 reviewed files; 1 more issue is hidden, but counts for the verdict. 2 findings left out (below the minimum severity)."
    );
    review.min_severity = Some(Severity::P2);
    assert_eq!(review.report(), report);
}

#[test]
fn fixed_issues_that_are_not_shown_are_counted() {
    let test_change = TestChange::new(CHANGE);
    let mut record = run("single", &["a.py", "b.py"]);
    record.members = test_change.members(r#"alice a.py:1 P1 0.9 "A password is in the code""#);
    let mut report = Review::from_change(test_change, Strategy::Single, vec![record]).report();
    report.over_cap = [2, 3].map(|number| Issue { number, ..report.issues[0].clone() }).into();
    report.over_cap_note = "2 more issues are hidden: the report shows at most 1 issue".to_owned();
    let outcome = FixOutcome::Done;
    report.applied_fixes =
        [1, 2].map(|number| AppliedFix { number, outcome, ..AppliedFix::default() }).into();
    recount_summary(&mut report);
    let note = "2 more issues (1 fixed) are hidden: the report shows at most 1 issue";
    assert_eq!(report.over_cap_note, note);
    assert_eq!(
        report.summary,
        "1 issue (1 P1), 1 of them fixed, in 2 reviewed files; 1 more issue is fixed and not shown; 1 more issue is hidden because of the limit, but counts for the verdict."
    );
    report.over_cap[1].severity = Severity::P3;
    recount_summary(&mut report);
    let end = "; 1 more issue is fixed and not shown; 1 more issue is over the limit.";
    assert!(report.summary.ends_with(end), "{}", report.summary);
}

#[test]
fn findings_over_the_limit_keep_their_severity() {
    let test_change = TestChange::new(CHANGE);
    let mut record = run("single", &["a.py", "b.py"]);
    let rows = r#"
        alice a.py:1 P1 0.9 "A password is in the code"
        alice a.py:1 P3 0.9 "A name is too short"
    "#;
    let cut = test_change.members(rows).into_iter().map(|mut member| {
        member.origin = Origin::Code;
        DroppedFinding::new(member, Fate::OverCap, "beyond the limit")
    });
    record.dropped = cut.collect();
    let mut review = Review::from_change(test_change, Strategy::Single, vec![record]);
    let results = |review: &Review| {
        let log = sarif(&review.report()).unwrap();
        let log: Value = serde_json::from_str(&log).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap().iter();
        results.map(|result| result["level"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(results(&review), ["error", "note"]);
    review.min_severity = Some(Severity::P1);
    assert_eq!(results(&review), ["error"]);
}

#[test]
fn secrets_are_masked_in_every_text() {
    let test_change = TestChange::new(CHANGE);
    let mut record = run("single", &["a.py", "b.py"]);
    let rows = r#"
        alice a.py:1 P1 0.9 "hunter2000 is in the code" why="Everyone reads hunter2000."
        bob   a.py:1 P1 0.8 "hunter2000 is in the code" why="Bad."
        carol a.py:1 P1 0.9 "Invented" quote="password = hunter2000 + salt"
    "#;
    record.members = test_change.members(rows);
    record.summary = "It has hunter2000 and ghp_0123456789abcdefghijABCDEFGHIJ in it".to_owned();
    record.residual_risks = vec!["hunter2000".to_owned()];
    record.dropped = vec![unread_finding(
        Fate::Malformed,
        "unknown field `hunter2000`",
        "alice",
        json!({ "hunter2000": ["hunter2000", { "x": "cut ghp_0123456789abcd" }] }),
    )];
    let review = Review::from_change(test_change, Strategy::Single, vec![record]);
    let report = review.report();
    let values = ["hunter2000", "ghp_0123456789abcdefghijABCDEFGHIJ"].map(str::to_owned);
    let values = ChangeSecrets::new(&values);
    let before = stable_json(&report).unwrap();
    assert!(before.matches("hunter2000").count() > 10 && before.contains("ghp_0123456789abcd"));
    let masked = mask(report.clone(), &values);
    let after = stable_json(&masked).unwrap();
    assert!(!after.contains("hunter2000") && !after.contains("ghp_0123456789"), "{after}");
    assert_eq!(masked.issues[0].title, "[redacted] is in the code");
    assert_eq!(mask(masked.clone(), &values), masked);
    assert_eq!(mask(report.clone(), &ChangeSecrets::default()), report);
}
