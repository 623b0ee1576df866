//! Ctrl-C and `kill` during a fix: applied fixes stay and are reported, nothing new starts, no
//! process is left.

use std::time::{Duration, Instant};

use super::repairing::{BEFORE, edits, reports, vague};
use super::*;
use crh_testkit::RunningProgram;
use crh_testkit::fake_model::calls;

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(3_600);
/// Timeout for events that happen at once on a fast machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A verification command that never ends and writes the id of its child to a file.
fn endless(file: &Path) -> String {
    let script = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display());
    serde_json::to_string(&["sh", "-c", &script]).unwrap()
}

/// Whether a process runs. A finished one may still be listed as a zombie.
fn is_at_work(process: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    state.is_ok_and(|state| !state.contains(") Z "))
}

fn resumed(desk: &Desk, model: &FakeModel) -> Output {
    desk.checked(with_model(desk.crh(&["review", "--resume", "latest"]), model))
}

#[test]
fn ctrl_c_in_repeated_review_keeps_fixes_and_can_resume() {
    let desk = Desk::new();
    let model = FakeModel::start()
        .on("single", [answers(&[mean(), swallowed(), unpaid()]), answers(&[]).delayed(NEVER)])
        .on("validate-1", [confirms()]);
    let args =
        [&["review", "--strategy", "single"], &CHECKOUT[..], &["--mode", "autofix"]].concat();
    let running = with_model(desk.crh(&args), &model).start();
    model.wait_for("single", 2);
    running.interrupt();
    let output = running.end();
    assert_eq!(output.code, 130, "{}", output.shown());
    assert!(output.stderr.contains("resume with"), "{}", output.shown());
    let report = desk.stored("review.json");
    let fixed = "\
#1 open: A refund of what was not paid
#2 fixed: The error is swallowed
#3 fixed: The total is divided by the count
";
    assert_eq!(issues(&report), fixed);
    assert!(
        report["warnings"].to_string().contains("the repeated review of the fixes was stopped")
    );
    assert_eq!(report["status"], "truncated");
    let reason = report["verdict_reason"].as_str().unwrap();
    let incomplete = "The review is incomplete: the repeated review of the fixes was stopped";
    assert!(reason.contains(incomplete), "{reason}");
    assert!(desk.text(ORDERS).contains("    return result\n"));
    assert!(!desk.repo.path().join(".context").exists(), "todos come at the end");
    model.script("single", [answers(&[])]);
    let output = resumed(&desk, &model);
    assert_eq!(output.code, 1, "{}", output.shown());
    let report = desk.stored("review.json");
    assert_eq!((issues(&report), &report["warnings"]), (fixed.to_owned(), &json!([])));
    assert_eq!(
        (&report["status"], &report["verdict_reason"]),
        (&json!("ok"), &json!("1 issue to fix"))
    );
    assert!(desk.repo.path().join(".context").exists());
    model.verify();
}

#[test]
fn run_stopped_in_repeated_review_is_incomplete_until_resumed() {
    let check = |stop: fn(RunningProgram) -> Output| {
        let desk = Desk::new();
        let model = FakeModel::start()
            .on("single", [answers(&[mean()]), answers(&[]).delayed(NEVER)])
            .on("validate-1", [confirms()]);
        let args =
            [&["review", "--strategy", "single"], &CHECKOUT[..], &["--mode", "autofix"]].concat();
        let running = with_model(desk.crh(&args), &model).start();
        model.wait_for("single", 2);
        let stopped = stop(running);
        let shown = desk.crh(&["show", "--format", "json"]).run();
        let report: Value = serde_json::from_str(&shown.stdout).unwrap();
        let reason = "the repeated review of the fixes was stopped; 1 file not fully reviewed (shop/orders.py)";
        assert_eq!(report["verdict"], "Incomplete", "{}", stopped.shown());
        assert_eq!(report["verdict_reason"], reason);
        assert_eq!(report["status"], "truncated");
        assert_eq!(desk.stored("metadata.json")["completed_at"], Value::Null);
        model.script("single", [answers(&[])]);
        let output = resumed(&desk, &model);
        assert_eq!(output.code, 0, "{}", output.shown());
        assert!(desk.stored("metadata.json")["completed_at"].is_string());
        let report = desk.stored("review.json");
        assert_eq!(
            (&report["verdict"], &report["status"]),
            (&json!("Ready to merge"), &json!("ok"))
        );
    };
    check(RunningProgram::kill);
    check(|running| {
        running.terminate();
        running.end()
    });
    check(|running| {
        running.interrupt();
        running.end()
    });
}

#[test]
fn ctrl_c_during_fixer_leaves_the_tree_unchanged() {
    for mode in ["autofix", "headless"] {
        let desk = Desk::new();
        let before = desk.files();
        let model = says(&[vague(mean()), swallowed()])
            .on("fixer-1", [calls("read_worktree", json!({ "path": ORDERS })).delayed(NEVER)]);
        let args = [&["review", "--strategy", "single"], &CHECKOUT[..], &["--mode", mode]].concat();
        let running = with_model(desk.crh(&args), &model).start();
        model.wait_for("fixer-1", 1);
        running.interrupt();
        let output = running.end();
        assert_eq!(output.code, 130, "{}", output.shown());
        assert!(!output.stdout.contains("Review complete"), "{}", output.shown());
        let is_told = output.stdout.starts_with("Code review stopped (headless mode).\n");
        assert_eq!(is_told, mode == "headless", "{}", output.shown());
        assert_eq!(desk.files(), before, "{mode}");
        let warnings = desk.stored("review.json")["warnings"].to_string();
        assert!(warnings.contains("you stopped the fixing"), "{warnings}");
        let new = "    return result\n";
        model.script("fixer-2", [edits(ORDERS, BEFORE, new), reports(2, "done")]);
        if mode == "autofix" {
            model.script("single", [answers(&[])]);
        }
        let output = resumed(&desk, &model);
        assert!(output.code < 2, "{}", output.shown());
        assert!(desk.text(ORDERS).contains(new) && desk.text(MAIL).contains("raise"), "{mode}");
    }
}

#[test]
fn ctrl_c_in_crh_fix_exits_with_130() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean()), swallowed()]);
    let before = desk.files();
    let model = FakeModel::start()
        .on("fixer-1", [calls("read_worktree", json!({ "path": ORDERS })).delayed(NEVER)]);
    let running = with_model(desk.crh(&["fix"]), &model).start();
    model.wait_for("fixer-1", 1);
    running.interrupt();
    let output = running.end();
    assert_eq!(output.code, 130, "{}", output.shown());
    assert_eq!(desk.files(), before);
}

#[test]
fn ctrl_c_stops_verification_and_applies_nothing() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let before = desk.files();
    let file = desk.user.path("process");
    let running = desk.crh(&["fix", "--trust", "--verify", &endless(&file)]).start();
    wait_until("it is verified", || file.exists());
    running.interrupt();
    let output = running.end();
    assert_eq!(output.code, 130, "{}", output.shown());
    assert_eq!(desk.files(), before);
    let process = fs::read_to_string(&file).unwrap();
    wait_until("it ends", || !is_at_work(&process));
}

#[test]
fn verification_does_not_outlive_crh() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let before = desk.files();
    let file = desk.user.path("process");
    let running = desk.crh(&["fix", "--trust", "--verify", &endless(&file)]).start();
    wait_until("it is verified", || file.exists());
    running.kill();
    let process = fs::read_to_string(&file).unwrap();
    wait_until("it ends", || !is_at_work(&process));
    assert_eq!(desk.files(), before);
}

#[test]
#[cfg(target_os = "linux")]
fn processes_outside_the_group_are_killed_too() {
    // A process that outlives its command, and one of a command that runs when crh is killed.
    for (then, is_killed) in [("exit 0", false), ("wait", true)] {
        let desk = Desk::new();
        desk.reviewed(&[swallowed()]);
        let file = desk.user.path("process");
        let script = format!(
            "setsid sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; {then}",
            file.display()
        );
        let verify = serde_json::to_string(&["sh", "-c", &script]).unwrap();
        let running = desk.crh(&["fix", "--trust", "--verify", &verify]).start();
        wait_until("it is verified", || file.exists());
        let process = fs::read_to_string(&file).unwrap();
        match is_killed {
            true => drop(running.kill()),
            false => assert_eq!(running.end().code, 0),
        }
        wait_until("it ends", || !is_at_work(&process));
    }
}

#[test]
fn resumed_run_does_not_retry_skipped_issues() {
    let desk = Desk::new();
    let model = FakeModel::start()
        .on("single", [answers(&[vague(mean()), swallowed()]), answers(&[]).delayed(NEVER)])
        .on("validate-1", [confirms()])
        .on("fixer-1", [reports(2, "not_done")]);
    let args =
        [&["review", "--strategy", "single"], &CHECKOUT[..], &["--mode", "autofix"]].concat();
    let running = with_model(desk.crh(&args), &model).start();
    model.wait_for("single", 2);
    running.interrupt();
    assert_eq!(running.end().code, 130);
    model.script("single", [answers(&[])]);
    let output = resumed(&desk, &model);
    assert!(output.code < 2, "{}", output.shown());
    assert!(!desk.run().join("transcripts/fixer-2.jsonl").exists());
    let left = &desk.stored("residual-work.json")[0];
    assert_eq!((&left["issue"]["number"], &left["left"]), (&json!(2), &json!("It is not_done.")));
    let warnings = desk.stored("review.json")["warnings"].to_string();
    assert!(warnings.contains("#2 not fixed: It is not_done."), "{warnings}");
}
