//! Reviews that somebody stops: by Ctrl-C, or by taking the power away. What has ended is kept, reported, and not paid for
//! again.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{answers, confirms, delegates, finding, reports, submits, works};
use super::{Desk, json as read_json, runs, timeless, with_model};
use crate::user::tree;
use crh_testkit::fake_model::Scripted;
use crh_testkit::{FakeModel, Output, Running};

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

/// Longer than any test takes: the reply does not come before the program leaves or the model is gone.
const NEVER: Duration = Duration::from_secs(3_600);

/// What the sub-agent for `a.py` finds.
fn off_by_one() -> Value {
    finding("P1", "The second item is returned as the first", "a.py:2", "return items[1]")
}

/// What the sub-agent for `c.py` finds.
fn too_far() -> Value {
    finding("P2", "A list of three items fails", "c.py:2", "return items[3]")
}

/// A scope for each file.
fn three_scopes() -> Scripted {
    delegates(&[("first", &["a.py"]), ("second", &["b.py"]), ("third", &["c.py"])])
}

/// A model with which the first sub-agent ends, and the second waits for ever.
fn stuck_in_the_second() -> FakeModel {
    FakeModel::start()
        .on("orchestrator", [three_scopes()])
        .on("sub-agent-1", works(&["a.py"], &[off_by_one()]))
        .on("sub-agent-2", [reports(&[]).delayed(NEVER)])
}

/// What the model says when the review goes on.
fn goes_on(model: &FakeModel) {
    model.script("orchestrator", [three_scopes(), submits(&["1.1", "3.1"], &[])]);
    model.script("sub-agent-2", works(&["b.py"], &[]));
    model.script("sub-agent-3", works(&["c.py"], &[too_far()]));
    model.script("validate-1", [confirms()]);
}

/// A review under way, one sub-agent after the other, in which the first has ended and the second waits.
fn under_way(desk: &Desk, model: &FakeModel, args: &[&str]) -> Running {
    let review = ["review", "HEAD~1..HEAD", "--side-by-side", "1"];
    let running = desk.asking(model, &[&review, args].concat()).start();
    model.wait_for("sub-agent-2", 1);
    running
}

/// What a program says when it refuses to go on.
fn refused(desk: &Desk, output: &Output) -> String {
    assert_eq!(output.code, 2, "{}", output.shown());
    assert_eq!(output.stdout, "");
    timeless(&desk.user.named(&desk.repo, &output.stderr))
}

/// Waits for a file that another process writes.
fn wait_for_file(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "there is no {path:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what is printed")]
fn ctrl_c_ends_in_a_report_of_what_was_found_so_far() {
    let desk = Desk::with(STORE);
    let model = stuck_in_the_second();
    let running = under_way(&desk, &model, &[]);
    running.interrupt();
    let reviewed = desk.reviewed(running.end());
    assert_eq!(reviewed.end(), (130, "truncated", "Ready with fixes"));
    expect![[r#"
        Scope:  3 files, +3 -3

        1 issue (1 P1) in 1 reviewed file.
        [1] first: Looked at all of it.

        1 P1 a.py:2
            The second item is returned as the first
            | return items[1]
            The second item is returned as the first: an order of two items shows it.
            bug; by delegate; confidence 0.75; manual -> human

        Coverage
          - failed reviewer orchestrator: stopped by the user
          - failed reviewer sub-agent-2: stopped by the user
          - failed reviewer sub-agent-3: stopped by the user
          - b.py: not reviewed (the review was stopped first)
          - c.py: not reviewed (the review was stopped first)
          - 1 P0 or P1 not checked: the review was stopped
          - the review was stopped by the user: it is not complete

        Ready with fixes: 1 issue to fix; the review is incomplete: failed reviewers:
          orchestrator, sub-agent-2, sub-agent-3, 2 files not wholly reviewed, the
          review was cut short
    "#]]
    .assert_eq(&reviewed.output.stdout);
    // Which of the other lines are printed depends on how fast all is.
    let said = timeless(&desk.user.named(&desk.repo, &reviewed.output.stderr));
    let stopping = "stopping: what was found so far is reported; Ctrl-C again ends at once";
    assert!(said.contains(&format!("warning: {stopping}\n")), "{said}");
    let lines: Vec<&str> = said.lines().rev().take(2).collect();
    assert_eq!(lines[0], "note: `crh review --resume RUN` goes on with it");
    assert!(lines[1].starts_with("Ready with fixes: 1 P1 · "), "{said}");
    assert!(lines[1].ends_with(" · REPO/.crh/runs/RUN"), "{said}");
    expect![[r#"
        a.py reviewed
        b.py not_reviewed the review was stopped first
        c.py not_reviewed the review was stopped first
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
    let files: String = tree(&run)
        .keys()
        .filter(|name| !name.is_empty() && !name.starts_with("workspace/"))
        .map(|name| format!("{name}\n"))
        .collect();
    expect![[r#"
        .gitignore
        metadata.json
        review.json
        review.md
        reviewers
        reviewers/consistency.json
        reviewers/injection.json
        reviewers/leftovers.json
        reviewers/orchestrator.json
        reviewers/patterns.json
        reviewers/references.json
        reviewers/secrets.json
        reviewers/sub-agent-1.json
        reviewers/sub-agent-2.json
        reviewers/sub-agent-3.json
        reviewers/syntax.json
        reviewers/workflows.json
        stages
        stages/basis.json
        stages/context.json
        stages/findings.json
        stages/found.json
        stages/merge.json
        stages/plan.json
        stages/report.json
        stages/review.json
        stages/runs
        stages/runs/consistency.json
        stages/runs/injection.json
        stages/runs/leftovers.json
        stages/runs/orchestrator.json
        stages/runs/patterns.json
        stages/runs/references.json
        stages/runs/secrets.json
        stages/runs/sub-agent-1.json
        stages/runs/sub-agent-2.json
        stages/runs/syntax.json
        stages/runs/workflows.json
        stages/scope.json
        stages/sinks.json
        stages/target.json
        stages/terms.json
        stages/validate.json
        telemetry.json
        transcripts
        transcripts/orchestrator.jsonl
        transcripts/sub-agent-1.jsonl
        transcripts/sub-agent-2.jsonl
        workspace
    "#]]
    .assert_eq(&files);
    // It did not come to its end.
    assert_eq!(read_json(&run.join("metadata.json"))["completed_at"], Value::Null);
}

#[test]
fn a_second_ctrl_c_ends_at_once_whatever_the_program_is_busy_with() {
    // So many files with so long names that a pipe does not take the report before somebody reads it.
    let name = "long".repeat(50);
    let files = |text: &str| -> String {
        (0..250).map(|file| format!("//- {name}_{file}.py\n{text}\n")).collect()
    };
    let desk = Desk::with(&format!("{}//- head\n{}", files("a = 1"), files("a = 2")));
    let model = FakeModel::start().on("orchestrator", [three_scopes().delayed(NEVER)]);
    let args = ["review", "HEAD~1..HEAD", "--format", "json"];
    let running = desk.asking(&model, &args).start();
    model.wait_for("orchestrator", 1);
    running.interrupt();
    // Written before it is printed.
    wait_for_file(&desk.runs().pop().unwrap().join("review.json"));
    running.interrupt();
    let output = running.end_unread();
    assert_eq!(output.code, 130, "{}", output.stderr);
    assert!(serde_json::from_str::<Value>(&output.stdout).is_err(), "all of it was printed");
}

#[test]
fn after_a_crash_a_review_goes_on_and_nobody_pays_twice() {
    let desk = Desk::with(STORE);
    let model = stuck_in_the_second();
    under_way(&desk, &model, &[]).kill();
    goes_on(&model);
    let reviewed = desk.reviewed(desk.asking(&model, &["review", "--resume", "latest"]).run());
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
    // The one that was never answered counts.
    assert_eq!(reviewed.report["stats"]["llm_calls"], model.counted().requests);
    let run = desk.runs().pop().unwrap();
    let telemetry = read_json(&run.join("telemetry.json"));
    assert_eq!(telemetry["total"]["llm_calls"], model.counted().requests);
    assert!(read_json(&run.join("metadata.json"))["completed_at"].is_string());
}

#[test]
fn what_was_spent_before_a_crash_counts_and_more_can_be_allowed() {
    let desk = Desk::with(STORE);
    let model = stuck_in_the_second();
    under_way(&desk, &model, &["--max-llm-calls", "8"]).kill();
    // Four calls were made, and one of the eight is held back for the end.
    model.script("orchestrator", [three_scopes(), submits(&["1.1"], &[])]);
    model.script("sub-agent-2", works(&["b.py"], &[]));
    let resume = ["review", "--resume", "latest"];
    let reviewed = desk.reviewed(desk.asking(&model, &resume).run());
    assert_eq!(reviewed.end(), (1, "truncated", "Ready with fixes"));
    expect![[r#"
        a.py reviewed
        b.py reviewed
        c.py not_reviewed sub-agent-3 failed
    "#]]
    .assert_eq(&reviewed.coverage());
    expect![[r#"
        orchestrator: reviewed in an earlier attempt, and not again: `a.py`
        1 P0 or P1 not checked: the budget for calls of the model left no room to ask
    "#]]
    .assert_eq(&reviewed.warnings());
    assert_eq!(reviewed.report["stats"]["llm_calls"], 8);
    model.verify();

    model.script("orchestrator", [three_scopes(), submits(&["1.1", "3.1"], &[])]);
    model.script("sub-agent-3", works(&["c.py"], &[too_far()]));
    model.script("validate-1", [confirms()]);
    let more = [&resume[..], &["--max-llm-calls", "20"]].concat();
    let reviewed = desk.reviewed(desk.asking(&model, &more).run());
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"), "{}", reviewed.output.shown());
    assert_eq!(reviewed.report["stats"]["llm_calls"], model.counted().requests);
}

#[test]
fn after_ctrl_c_a_review_goes_on_and_ends_as_if_it_had_not_been_stopped() {
    let desk = Desk::with(STORE);
    let model = stuck_in_the_second();
    let running = under_way(&desk, &model, &[]);
    running.interrupt();
    assert_eq!(running.end().code, 130);
    goes_on(&model);
    let stopped = desk.reviewed(desk.asking(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(stopped.end(), (1, "ok", "Ready with fixes"), "{}", stopped.output.shown());

    let other = Desk::with(STORE);
    let straight = FakeModel::start().on("sub-agent-1", works(&["a.py"], &[off_by_one()]));
    goes_on(&straight);
    let straight = other.review(&straight, &[]);
    for part in ["issues", "coverage", "reviewers", "summary", "review_id", "verdict", "scope"] {
        assert_eq!(stopped.report[part], straight.report[part], "{part}");
    }
}

#[test]
fn a_review_that_is_done_is_shown_again_and_nobody_is_asked() {
    let desk = Desk::with(STORE);
    let model = FakeModel::start().on("sub-agent-1", works(&["a.py"], &[off_by_one()]));
    goes_on(&model);
    let first = desk.review(&model, &[]);
    model.verify();
    let again = desk.reviewed(desk.asking(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(again.end(), first.end());
    assert_eq!(again.output.stdout, first.output.stdout);
    for part in ["issues", "coverage", "reviewers", "summary", "review_id", "warnings"] {
        assert_eq!(again.report[part], first.report[part], "{part}");
    }
    assert_eq!(again.report["stats"]["llm_calls"], first.report["stats"]["llm_calls"]);
    assert_eq!(again.report["stats"]["cost_usd"], first.report["stats"]["cost_usd"]);
    assert_eq!(desk.runs().len(), 1);
}

#[test]
fn a_review_goes_on_with_the_change_and_the_rules_it_began_with() {
    let desk = Desk::with(STORE);
    desk.repo.write("notes.md", "not part of it\n");
    desk.repo.write("c.py", "def third(items):\n    return items[4]\n");
    let model = FakeModel::start()
        .on("orchestrator", [three_scopes()])
        .on("sub-agent-1", [reports(&[]).delayed(NEVER)])
        .on("sub-agent-2", [reports(&[]).delayed(NEVER)]);
    let running = desk.asking(&model, &["review", "--base", "HEAD~1", "--exclude", "b.py"]).start();
    model.wait_for("sub-agent-1", 1);
    model.wait_for("sub-agent-2", 1);
    running.kill();
    // Meanwhile the author goes on.
    fs::remove_file(desk.repo.path().join("notes.md")).unwrap();
    desk.repo.write("c.py", "def third(items):\n    return items[5]\n");
    model.script("orchestrator", [three_scopes(), submits(&["2.1"], &[])]);
    model.script("sub-agent-1", works(&["a.py"], &[]));
    let found = finding("P2", "A list of four items fails", "c.py:2", "return items[4]");
    model.script("sub-agent-2", works(&["c.py"], &[found]));
    model.script("validate-1", [confirms()]);
    let reviewed = desk.reviewed(desk.asking(&model, &["review", "--resume", "latest"]).run());
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
fn what_cannot_go_on_is_one_sentence_and_a_hint() {
    let desk = Desk::with(STORE);
    let model = stuck_in_the_second();
    let mut said = String::new();
    let mut check = |args: &[&str]| {
        let args = [&["review", "--resume"], args].concat();
        let output = desk.asking(&model, &args).run();
        said += &format!("$ crh {}\n{}", args.join(" "), refused(&desk, &output));
    };
    check(&["latest"]);
    fs::create_dir_all(desk.repo.path().join(".crh/runs/20260101T000000Z_0123456789abcdef"))
        .unwrap();
    check(&["latest"]);
    fs::remove_dir(desk.repo.path().join(".crh/runs/20260101T000000Z_0123456789abcdef")).unwrap();
    let running = under_way(&desk, &model, &[]);
    check(&["latest"]);
    running.kill();
    check(&["nosuchrun"]);
    check(&["./nosuchfolder"]);
    check(&["."]);
    check(&["latest", "--strategy", "single"]);
    check(&["latest", "--mode", "report-only"]);
    check(&["latest", "--estimate"]);
    check(&["latest", "HEAD~1..HEAD"]);
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
        error: there are no runs in `REPO/.crh/runs`
        hint: `crh review` makes one; `--run-dir DIR` names another folder
        $ crh review --resume latest
        error: `REPO/.crh/runs/RUN` is not the folder of a run: there is no `metadata.json` in it
        hint: `crh show --list` lists the runs
        $ crh review --resume latest
        error: the run `RUN` is still under way
        hint: wait until it has ended
        $ crh review --resume nosuchrun
        error: there is no run `nosuchrun` in `REPO/.crh/runs`
        hint: `crh show --list` lists the runs
        $ crh review --resume ./nosuchfolder
        error: `REPO/nosuchfolder` is not the folder of a run: it is no folder
        hint: `crh show --list` lists the runs
        $ crh review --resume .
        error: there is no run `.` in `REPO/.crh/runs`
        hint: `crh show --list` lists the runs
        $ crh review --resume latest --strategy single
        error: `--strategy` cannot be given for a review that goes on
        hint: leave it out, or review the change anew, without `--resume`
        $ crh review --resume latest --mode report-only
        error: `--mode report-only` cannot be given for a review that goes on
        hint: leave it out, or review the change anew, without `--resume`
        $ crh review --resume latest --estimate
        error: the argument '--resume <RUN>' cannot be used with '--estimate'

        Usage: crh review --resume <RUN> [TARGET]...

        For more information, try '--help'.
        $ crh review --resume latest HEAD~1..HEAD
        error: the argument '--resume <RUN>' cannot be used with '[TARGET]...'

        Usage: crh review --resume <RUN> [TARGET]...

        For more information, try '--help'.
        $ crh review --resume latest
        error: the workspace is damaged: `metadata.json` is not JSON: EOF while parsing a value at line 7 column 2
        hint: review the change anew, without `--resume`
        $ crh review --resume latest
        error: `REPO/.crh/runs/RUN/workspace` is not a workspace: there is no `metadata.json` in the workspace
        hint: review the change anew, without `--resume`
        $ crh review --resume latest
        error: `stages/found.json` of the run `RUN` cannot be read: EOF while parsing a value at line 12 column 13
        hint: review the change anew, without `--resume`
        $ crh review --resume latest
        error: the run `RUN` ended before its review began
        hint: review the change anew, without `--resume`
        $ crh review --resume latest
        error: `stages/terms.json` of the run `RUN` cannot be read: EOF while parsing a string at line 16 column 7
        hint: review the change anew, without `--resume`
        $ crh review --resume latest
        error: the run `RUN` ended before its review began
        hint: review the change anew, without `--resume`
        $ crh review --resume latest
        error: `metadata.json` of the run `RUN` cannot be read: EOF while parsing a string at line 4 column 40
        hint: `crh show --list` lists the runs
        $ crh review --resume latest
        error: `REPO/.crh/runs/RUN` is not the folder of a run: there is no `metadata.json` in it
        hint: `crh show --list` lists the runs
        $ crh review --resume latest
        error: no model is configured, so the review cannot go on
        hint: set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`, or name a model with `--model`; `crh doctor` says more
        $ crh check --resume latest
        error: the run `RUN` is a review
        hint: `crh review --resume RUN` goes on with it
    "#]].assert_eq(&said);
}

#[test]
fn a_record_that_is_damaged_is_made_again() {
    let desk = Desk::with(STORE);
    let model = stuck_in_the_second();
    under_way(&desk, &model, &[]).kill();
    let run = desk.runs().pop().unwrap();
    fs::write(run.join("stages/runs/sub-agent-1.json"), "{").unwrap();
    model.script("sub-agent-1", works(&["a.py"], &[off_by_one()]));
    goes_on(&model);
    let reviewed = desk.reviewed(desk.asking(&model, &["review", "--resume", "latest"]).run());
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"), "{}", reviewed.output.shown());
}

#[test]
fn a_review_of_an_archive_goes_on_without_a_repository() {
    let desk = Desk::with(STORE);
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
    let model = stuck_in_the_second();
    let running = crh(&model, &["--side-by-side", "1"]).start();
    model.wait_for("sub-agent-2", 1);
    running.kill();
    goes_on(&model);
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
    // Without the archive there is nothing that its repository could be read from.
    let alone = desk.user.crh(&elsewhere, &["review", "--resume", "latest"]);
    let alone = with_model(alone, &model).run();
    expect![[r#"
        error: `HOME/elsewhere` is not inside a git repository
        hint: `--repo DIR` names the repository of the run, `--packed FILE` its archive
    "#]]
    .assert_eq(&refused(&desk, &alone));
    // Another archive has other commits.
    let other = Desk::with("//- a\n1\n//- head\n//- a\n2\n");
    let second = desk.user.path("other.pack");
    let second = second.to_str().unwrap();
    assert_eq!(other.crh(&["prepare", "HEAD~1..HEAD", "--pack", second]).run().code, 0);
    let swapped = ["review", "--resume", "latest", "--packed", second];
    let swapped = with_model(desk.user.crh(&elsewhere, &swapped), &model).run();
    expect![[r#"
        error: this is not the archive that the run began with
        hint: `--repo DIR` names the repository of the run, `--packed FILE` its archive
    "#]]
    .assert_eq(&refused(&desk, &swapped));
}

/// Whoever chose a model of their own did not choose the one that happens to be configured.
#[test]
fn what_goes_on_asks_no_model_that_nobody_has_named() {
    let desk = Desk::new();
    let model = FakeModel::start().on("single", [answers(&[])]);
    let first = desk.review(&model, &["--strategy", "single", "--model", "openai:gpt-4.1"]);
    assert_eq!(first.output.code, 0, "{}", first.output.shown());
    let output = desk.asking(&model, &["review", "--resume", "latest"]).run();
    expect![[r#"
        exit 2
        error: the review asked `openai:gpt-4.1`, and `openai:gpt-4.1+openai:gpt-4.1-mini` would be asked now
        hint: name the model with `--model`: the same one, or another if that is what you want
        ---
    "#]].assert_eq(&output.shown());
    let fixed = desk.asking(&model, &["fix"]).run();
    assert!(fixed.stderr.contains("no model is asked: the review asked"), "{}", fixed.shown());
    assert_eq!(model.requests().len(), 1);
}
