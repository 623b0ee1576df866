//! Interrupted reviews, by Ctrl-C or a crash: finished work is kept, reported, and not paid for
//! again.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{answers, confirms, delegates, finding, reports, submits, works};
use super::{ReviewFixture, json as read_json, runs, with_model, without_times};
use crh_testkit::fake_model::ScriptedReply;
use crh_testkit::{FakeModel, Output, RunningProgram};

/// A change of three files.
const STORE: &str = "
    //- a.py
    def first(items):
        return items[0]
    //- b.py
    def second(items):
        return items[1]
    //- c.py
    def third(items):
        return items[2]
    //- head
    //- a.py
    def first(items):
        return items[1]
    //- b.py
    def second(items):
        return items[2]
    //- c.py
    def third(items):
        return items[3]
    ";

/// Longer than any test: the reply never arrives.
const NEVER: Duration = Duration::from_secs(3_600);

/// Finding of the sub-agent for `a.py`.
fn off_by_one() -> Value {
    finding("P1", "The second item is returned as the first", "a.py:2", "return items[1]")
}

/// Finding of the sub-agent for `c.py`.
fn too_far() -> Value {
    finding("P2", "A list of three items fails", "c.py:2", "return items[3]")
}

/// One scope per file.
fn three_scopes() -> ScriptedReply {
    delegates(&[("first", &["a.py"]), ("second", &["b.py"]), ("third", &["c.py"])])
}

/// A model that answers the first sub-agent and never the second.
fn model_stuck_at_second() -> FakeModel {
    FakeModel::start()
        .on("orchestrator", [three_scopes()])
        .on("sub-agent-1", works(&["a.py"], &[off_by_one()]))
        .on("sub-agent-2", [reports(&[]).delayed(NEVER)])
}

/// Scripts the answers for the resumed review.
fn script_resume(model: &FakeModel) {
    model.script("orchestrator", [three_scopes(), submits(&["1.1", "3.1"], &[])]);
    model.script("sub-agent-2", works(&["b.py"], &[]));
    model.script("sub-agent-3", works(&["c.py"], &[too_far()]));
    model.script("validate-1", [confirms()]);
}

/// A running review: the first sub-agent has finished, the second waits.
fn running_review(desk: &ReviewFixture, model: &FakeModel, args: &[&str]) -> RunningProgram {
    let review = ["review", "HEAD~1..HEAD", "--side-by-side", "1"];
    let running = desk.crh_with_model(model, &[&review, args].concat()).start();
    model.wait_for("sub-agent-2", 1);
    running
}

/// The error output of a rejected resume.
fn refused(desk: &ReviewFixture, output: &Output) -> String {
    assert_eq!(output.code, 2, "{}", output.shown());
    assert_eq!(output.stdout, "");
    without_times(&desk.user.replace_paths(&desk.repo, &output.stderr))
}

/// Waits for a file of another process.
fn wait_for_file(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "there is no {path:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sigterm_reports_partial_results_like_ctrl_c() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    let running = running_review(&desk, &model, &[]);
    running.terminate();
    let reviewed = desk.reviewed(running.end());
    assert_eq!(reviewed.end(), (130, "truncated", "Ready with fixes"));
    assert!(reviewed.output.stdout.contains("The second item is returned as the first"));
}

#[test]
fn ctrl_c_reports_partial_results() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    let running = running_review(&desk, &model, &[]);
    running.interrupt();
    let reviewed = desk.reviewed(running.end());
    assert_eq!(reviewed.end(), (130, "truncated", "Ready with fixes"));
    expect![[r#"
        Scope:  3 files, +3 -3; 2 files not fully reviewed (b.py, c.py); base
                db636ddab874, head 3b656f71ce31
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - sub-agent-1
          - sub-agent-2
          - sub-agent-3
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        1 issue (1 P1) in 1 reviewed file.
        [1] first: Looked at all of it.

        1 P1 a.py:2
            The second item is returned as the first
            | return items[1]
            The second item is returned as the first: an order of two items shows it.
            category bug; found by delegate; confidence 0.75; a person must decide this

        Open work
          - 1 P1 a.py:2: a person must decide this

        Review coverage
          - reviewers orchestrator, sub-agent-2, sub-agent-3 failed: stopped by the user
          - b.py: not reviewed (the review was stopped before this file was reviewed)
          - c.py: not reviewed (the review was stopped before this file was reviewed)
          - 1 P0 or P1 not validated: the review was stopped
          - the review was cancelled and is incomplete

        Ready with fixes: 1 issue to fix. The review is incomplete: the review was
          stopped; unfinished reviewers: orchestrator, sub-agent-2, sub-agent-3; 2 files
          not fully reviewed (b.py, c.py)
    "#]]
    .assert_eq(&reviewed.output.stdout);
    // Other progress lines depend on timing.
    let said = without_times(&desk.user.replace_paths(&desk.repo, &reviewed.output.stderr));
    let stopping = "stopping; findings so far are reported (press Ctrl-C again to quit at once)";
    assert!(said.contains(&format!("warning: {stopping}\n")), "{said}");
    let lines: Vec<&str> = said.lines().rev().take(2).collect();
    assert_eq!(lines[0], "note: resume with `crh review --resume RUN`");
    assert!(lines[1].starts_with("Ready with fixes (incomplete) · 1 P1 · "), "{said}");
    assert!(lines[1].ends_with(" · REPO/.crh/runs/RUN"), "{said}");
    expect![[r#"
        a.py reviewed
        b.py not_reviewed the review was stopped before this file was reviewed
        c.py not_reviewed the review was stopped before this file was reviewed
    "#]]
    .assert_eq(&reviewed.coverage());
    expect![[r#"
        secrets completed: 
        syntax completed: 
        references completed: 
        leftovers completed: 
        workflows completed: 
        consistency completed: 
        patterns completed: 
        injection completed: 
        orchestrator failed: stopped by the user
        sub-agent-1 completed: Looked at all of it.
        sub-agent-2 failed: stopped by the user
        sub-agent-3 failed: stopped by the user
    "#]]
    .assert_eq(&reviewed.reviewers());
    let run = desk.runs().pop().unwrap();
    assert!(!run.join("advisory.json").exists());
    // The run is not complete.
    assert_eq!(read_json(&run.join("metadata.json"))["completed_at"], Value::Null);
}

#[test]
fn second_ctrl_c_exits_immediately() {
    // Many long file names, so that the report does not fit into the pipe buffer.
    let name = "long".repeat(50);
    let files = |text: &str| -> String {
        (0..250).map(|file| format!("//- {name}_{file}.py\n{text}\n")).collect()
    };
    let desk = ReviewFixture::with(&format!("{}//- head\n{}", files("a = 1"), files("a = 2")));
    let model = FakeModel::start().on("orchestrator", [three_scopes().delayed(NEVER)]);
    let args = ["review", "HEAD~1..HEAD", "--format", "json"];
    let running = desk.crh_with_model(&model, &args).start();
    model.wait_for("orchestrator", 1);
    running.interrupt();
    // The file is written before the report is printed.
    wait_for_file(&desk.runs().pop().unwrap().join("review.json"));
    running.interrupt();
    let output = running.end_unread();
    assert_eq!(output.code, 130, "{}", output.stderr);
    assert!(serde_json::from_str::<Value>(&output.stdout).is_err(), "all of it was printed");
}

#[test]
fn resume_after_crash_does_not_pay_twice() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    running_review(&desk, &model, &[]).kill();
    script_resume(&model);
    let reviewed =
        desk.reviewed(desk.crh_with_model(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"), "{}", reviewed.output.shown());
    expect![[r#"
        #1 P1 a.py:2 The second item is returned as the first (0.75, confirmed)
        #2 P2 c.py:2 A list of three items fails (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    expect![[r#"
        a.py reviewed
        b.py reviewed
        c.py reviewed
    "#]]
    .assert_eq(&reviewed.coverage());
    expect![[r#"
        secrets completed: 
        syntax completed: 
        references completed: 
        leftovers completed: 
        workflows completed: 
        consistency completed: 
        patterns completed: 
        injection completed: 
        orchestrator completed: The change rewrites how orders are added up.
        sub-agent-1 completed: Looked at all of it.
        sub-agent-2 completed: Looked at all of it.
        sub-agent-3 completed: Looked at all of it.
    "#]]
    .assert_eq(&reviewed.reviewers());
    expect![[r#"
        orchestrator: reviewed in an earlier attempt, and not again: `a.py`
    "#]]
    .assert_eq(&reviewed.warnings());
    assert_eq!(desk.runs().len(), 1);
    // The unanswered call counts.
    assert_eq!(reviewed.report["stats"]["llm_calls"], model.usage().requests);
    let run = desk.runs().pop().unwrap();
    let telemetry = read_json(&run.join("telemetry.json"));
    assert_eq!(telemetry["total"]["llm_calls"], model.usage().requests);
    assert!(read_json(&run.join("metadata.json"))["completed_at"].is_string());
}

#[test]
fn cost_before_crash_counts_for_resumed_budget() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    running_review(&desk, &model, &["--max-llm-calls", "8"]).kill();
    // Four calls were made, and one of the eight is reserved for the end.
    model.script("orchestrator", [three_scopes(), submits(&["1.1"], &[])]);
    model.script("sub-agent-2", works(&["b.py"], &[]));
    let resume = ["review", "--resume", "latest"];
    let reviewed = desk.reviewed(desk.crh_with_model(&model, &resume).run());
    assert_eq!(reviewed.end(), (1, "truncated", "Ready with fixes"));
    expect![[r#"
        a.py reviewed
        b.py reviewed
        c.py not_reviewed sub-agent-3 failed
    "#]]
    .assert_eq(&reviewed.coverage());
    expect![[r#"
        orchestrator: reviewed in an earlier attempt, and not again: `a.py`
        1 P0 or P1 not validated: the remaining budget for model calls is too small for another request; raise `--max-llm-calls`
        reviewer sub-agent-3 failed: sub-agent ended without calling report_findings: the remaining budget for model calls is too small for another request; raise `--max-llm-calls`
    "#]]
    .assert_eq(&reviewed.warnings());
    assert_eq!(reviewed.report["stats"]["llm_calls"], 8);
    model.verify();

    model.script("orchestrator", [three_scopes(), submits(&["1.1", "3.1"], &[])]);
    model.script("sub-agent-3", works(&["c.py"], &[too_far()]));
    model.script("validate-1", [confirms()]);
    let more = [&resume[..], &["--max-llm-calls", "20"]].concat();
    let reviewed = desk.reviewed(desk.crh_with_model(&model, &more).run());
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"), "{}", reviewed.output.shown());
    assert_eq!(reviewed.report["stats"]["llm_calls"], model.usage().requests);
}

#[test]
fn resume_after_ctrl_c_gives_same_report() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    let running = running_review(&desk, &model, &[]);
    running.interrupt();
    assert_eq!(running.end().code, 130);
    script_resume(&model);
    let stopped =
        desk.reviewed(desk.crh_with_model(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(stopped.end(), (1, "ok", "Ready with fixes"), "{}", stopped.output.shown());

    let other = ReviewFixture::with(STORE);
    let straight = FakeModel::start().on("sub-agent-1", works(&["a.py"], &[off_by_one()]));
    script_resume(&straight);
    let straight = other.review(&straight, &[]);
    for part in ["issues", "coverage", "reviewers", "summary", "review_id", "verdict", "scope"] {
        assert_eq!(stopped.report[part], straight.report[part], "{part}");
    }
}

#[test]
fn resume_uses_original_change_and_rules() {
    let desk = ReviewFixture::with(STORE);
    desk.repo.write("notes.md", "not part of it\n");
    desk.repo.write("c.py", "def third(items):\n    return items[4]\n");
    let model = FakeModel::start()
        .on("orchestrator", [three_scopes()])
        .on("sub-agent-1", [reports(&[]).delayed(NEVER)])
        .on("sub-agent-2", [reports(&[]).delayed(NEVER)]);
    let running =
        desk.crh_with_model(&model, &["review", "--base", "HEAD~1", "--exclude", "b.py"]).start();
    model.wait_for("sub-agent-1", 1);
    model.wait_for("sub-agent-2", 1);
    running.kill();
    // The author edits files meanwhile.
    fs::remove_file(desk.repo.path().join("notes.md")).unwrap();
    desk.repo.write("c.py", "def third(items):\n    return items[5]\n");
    model.script("orchestrator", [three_scopes(), submits(&["2.1"], &[])]);
    model.script("sub-agent-1", works(&["a.py"], &[]));
    let found = finding("P2", "A list of four items fails", "c.py:2", "return items[4]");
    model.script("sub-agent-2", works(&["c.py"], &[found]));
    model.script("validate-1", [confirms()]);
    let reviewed =
        desk.reviewed(desk.crh_with_model(&model, &["review", "--resume", "latest"]).run());
    expect![[r#"
        #1 P2 c.py:2 A list of four items fails (0.75, confirmed)
        a.py reviewed
        b.py out_of_scope excluded by `b.py`
        c.py reviewed
    "#]]
    .assert_eq(&format!("{}{}", reviewed.issues(), reviewed.coverage()));
    expect![[r#"
        orchestrator: `b.py` of scope `second` is not a file under review
    "#]]
    .assert_eq(&reviewed.warnings());
    assert_eq!(reviewed.report["scope"]["untracked"], json!(["notes.md"]));
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what is printed")]
fn unresumable_run_is_an_error_with_hint() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    let mut said = String::new();
    let mut check = |args: &[&str]| {
        let args = [&["review", "--resume"], args].concat();
        let output = desk.crh_with_model(&model, &args).run();
        said += &format!("$ crh {}\n{}", args.join(" "), refused(&desk, &output));
    };
    check(&["latest"]);
    fs::create_dir_all(desk.repo.path().join(".crh/runs/20260101T000000Z_0123456789abcdef"))
        .unwrap();
    check(&["latest"]);
    fs::remove_dir(desk.repo.path().join(".crh/runs/20260101T000000Z_0123456789abcdef")).unwrap();
    let running = running_review(&desk, &model, &[]);
    check(&["latest"]);
    running.kill();
    check(&["nosuchrun"]);
    check(&["latest", "--strategy", "single"]);
    check(&["latest", "--mode", "report-only"]);
    check(&["latest", "--estimate"]);
    let run = desk.runs().pop().unwrap();
    for file in
        ["workspace/metadata.json", "stages/found.json", "stages/terms.json", "metadata.json"]
    {
        let whole = fs::read_to_string(run.join(file)).unwrap();
        fs::write(run.join(file), &whole[..whole.len() / 2]).unwrap();
        check(&["latest"]);
        fs::remove_file(run.join(file)).unwrap();
        check(&["latest"]);
        fs::write(run.join(file), whole).unwrap();
    }
    let poor = desk.crh(&["review", "--resume", "latest"]).run();
    said += &format!("$ crh review --resume latest\n{}", refused(&desk, &poor));
    let checked = desk.crh(&["check", "--resume", "latest"]).run();
    said += &format!("$ crh check --resume latest\n{}", refused(&desk, &checked));
    expect![[r#"
        $ crh review --resume latest
        error: no runs in `REPO/.crh/runs`
        hint: create one with `crh review`; choose another folder with `--run-dir DIR`
        $ crh review --resume latest
        error: `REPO/.crh/runs/RUN` is not a run folder: it contains no `metadata.json`
        hint: `crh show --list` lists the runs
        $ crh review --resume latest
        error: the run `RUN` is in use by another process
        hint: wait until it is finished
        $ crh review --resume nosuchrun
        error: no run `nosuchrun` in `REPO/.crh/runs`
        hint: `crh show --list` lists the runs
        $ crh review --resume latest --strategy single
        error: `--strategy` cannot be used with `--resume`
        hint: leave it out, or start a new review without `--resume`
        $ crh review --resume latest --mode report-only
        error: `--mode report-only` cannot be used with `--resume`
        hint: leave it out, or start a new review without `--resume`
        $ crh review --resume latest --estimate
        error: the argument '--resume <RUN>' cannot be used with '--estimate'

        Usage: crh review --resume <RUN> [TARGET]... [-- <PATH>...]

        For more information, try '--help'.
        $ crh review --resume latest
        error: the workspace is damaged: `metadata.json` is not JSON: EOF while parsing a value at line 7 column 2
        hint: start a new review without `--resume`
        $ crh review --resume latest
        error: `REPO/.crh/runs/RUN/workspace` is not a workspace: there is no `metadata.json` in the workspace
        hint: start a new review without `--resume`
        $ crh review --resume latest
        error: cannot read `stages/found.json` of the run `RUN`: EOF while parsing a value at line 16 column 1
        hint: start a new review without `--resume`
        $ crh review --resume latest
        error: the run `RUN` ended before its review began
        hint: start a new review without `--resume`
        $ crh review --resume latest
        error: cannot read `stages/terms.json` of the run `RUN`: EOF while parsing an object at line 17 column 23
        hint: start a new review without `--resume`
        $ crh review --resume latest
        error: the run `RUN` ended before its review began
        hint: start a new review without `--resume`
        $ crh review --resume latest
        error: cannot read `metadata.json` of the run `RUN`: EOF while parsing a string at line 4 column 40
        hint: `crh show --list` lists the runs
        $ crh review --resume latest
        error: `REPO/.crh/runs/RUN` is not a run folder: it contains no `metadata.json`
        hint: `crh show --list` lists the runs
        $ crh review --resume latest
        error: no model is configured, so the review cannot be resumed
        hint: set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`, name a model with `--model`, or set up a local one with `crh init --local`; `crh doctor` says more
        $ crh check --resume latest
        error: the run `RUN` was started by `crh review`
        hint: use `crh review --resume RUN`
    "#]].assert_eq(&said);
}

#[test]
fn damaged_run_record_is_recreated() {
    let desk = ReviewFixture::with(STORE);
    let model = model_stuck_at_second();
    running_review(&desk, &model, &[]).kill();
    let run = desk.runs().pop().unwrap();
    fs::write(run.join("stages/runs/sub-agent-1.json"), "{").unwrap();
    model.script("sub-agent-1", works(&["a.py"], &[off_by_one()]));
    script_resume(&model);
    let reviewed =
        desk.reviewed(desk.crh_with_model(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"), "{}", reviewed.output.shown());
}

#[test]
fn archive_review_resumes_without_repository() {
    let desk = ReviewFixture::with(STORE);
    let elsewhere = desk.user.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let pack = desk.user.path("change.pack");
    let pack = pack.to_str().unwrap();
    let packed = desk.crh(&["prepare", "HEAD~1..HEAD", "--pack", pack]).run();
    assert_eq!(packed.code, 0, "{}", packed.shown());
    let crh = |model: &FakeModel, args: &[&str]| {
        with_model(
            desk.user.crh(&elsewhere, &[&["review", "--packed", pack], args].concat()),
            model,
        )
    };
    let model = model_stuck_at_second();
    let running = crh(&model, &["--side-by-side", "1"]).start();
    model.wait_for("sub-agent-2", 1);
    running.kill();
    script_resume(&model);
    let output = crh(&model, &["--resume", "latest"]).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    let run = runs(&elsewhere.join(".crh/runs")).pop().unwrap();
    let report = read_json(&run.join("review.json"));
    assert_eq!((&report["status"], &report["verdict"]), (&"ok".into(), &"Ready with fixes".into()));
    expect![[r#"
        #1 P1 a.py:2 The second item is returned as the first (0.75, confirmed)
        #2 P2 c.py:2 A list of three items fails (0.75, confirmed)
    "#]]
    .assert_eq(&super::issues(&report));
    // Without the archive there is no source for its objects.
    let alone = desk.user.crh(&elsewhere, &["review", "--resume", "latest"]);
    let alone = with_model(alone, &model).run();
    expect![[r#"
        error: `HOME/elsewhere` is not inside a git repository
        hint: pass the repository of the run with `--repo DIR`, or its archive with `--packed FILE`
    "#]]
    .assert_eq(&refused(&desk, &alone));
    // Another archive has other commits.
    let other = ReviewFixture::with("//- a\n1\n//- head\n//- a\n2\n");
    let second = desk.user.path("other.pack");
    let second = second.to_str().unwrap();
    assert_eq!(other.crh(&["prepare", "HEAD~1..HEAD", "--pack", second]).run().code, 0);
    let swapped = ["review", "--resume", "latest", "--packed", second];
    let swapped = with_model(desk.user.crh(&elsewhere, &swapped), &model).run();
    expect![[r#"
        error: this is not the archive of the run
        hint: pass the repository of the run with `--repo DIR`, or its archive with `--packed FILE`
    "#]]
    .assert_eq(&refused(&desk, &swapped));
}

/// A user who chose a model must not be charged for another configured one.
#[test]
fn resume_uses_only_configured_models() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start().on("single", [answers(&[])]);
    let first = desk.review(&model, &["--strategy", "single", "--model", "openai:gpt-6.1-sol"]);
    assert_eq!(first.output.code, 0, "{}", first.output.shown());
    let output = desk.crh_with_model(&model, &["review", "--resume", "latest"]).run();
    expect![[r#"
        exit 2
        error: the review used `openai:gpt-6.1-sol`, and `openai:gpt-5.4-mini+openai:gpt-6-luna+openai:gpt-6.1-sol` is configured now
        hint: choose a model with `--model`
        ---
    "#]].assert_eq(&output.shown());
    let fixed = desk.crh_with_model(&model, &["fix"]).run();
    assert!(fixed.stderr.contains("no model is used: the review used"), "{}", fixed.shown());
    assert_eq!(model.requests().len(), 1);
}
