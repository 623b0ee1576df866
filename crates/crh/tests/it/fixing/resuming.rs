//! `--resume` of a review with fixes: it continues in its mode, and a finished run is only shown.

use std::sync::atomic::{AtomicBool, Ordering};

use super::repairing::{BEFORE, edits, reports, vague};
use super::*;

/// A model that reports these findings, and nothing in a repeated review.
pub(super) fn finds(findings: &[Value]) -> FakeModel {
    let (findings, is_first) = (findings.to_vec(), AtomicBool::new(true));
    FakeModel::answering(move |asked| match asked.caller.as_str() {
        "single" if is_first.swap(false, Ordering::SeqCst) => answers(&findings),
        "single" => answers(&[]),
        _ => confirms(),
    })
}

pub(super) fn resume(desk: &Desk, model: &FakeModel, args: &[&str]) -> Output {
    desk.checked(with_model(desk.crh(&[&["review", "--resume", "latest"], args].concat()), model))
}

#[test]
fn finished_run_is_shown_without_model_calls() {
    let desk = Desk::new();
    let model = finds(&[mean(), swallowed(), unpaid()]);
    let first = desk.review(&model, &["--mode", "autofix"]);
    let (files, report) = (desk.files(), desk.stored("review.json"));
    assert_eq!(report["applied_fixes"].as_array().unwrap().len(), 2);
    let asked = model.requests().len();
    let again = resume(&desk, &model, &[]);
    assert_eq!((again.code, &again.stdout), (first.code, &first.stdout));
    assert_eq!(model.requests().len(), asked);
    assert_eq!(desk.files(), files);
    assert_eq!(desk.stored("review.json"), report);
}

#[test]
fn finished_run_shows_later_fixes() {
    let desk = Desk::new();
    let model = finds(&[mean(), swallowed()]);
    desk.review(&model, &["--mode", "headless"]);
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    desk.fix(&["--undo", &name]);
    let output = resume(&desk, &model, &[]);
    assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{}", output.shown());
    assert_eq!(desk.fix(&["--issue", "1"]).code, 0);
    let output = resume(&desk, &model, &[]);
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
    assert!(desk.text(ORDERS).contains("len(items)"), "nothing is fixed by looking at it");
    // Git removes the fix.
    desk.repo.git(&["checkout", "--quiet", "--", "."]);
    let output = with_model(desk.crh(&["review", "--resume", "latest"]), &model).run();
    assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{}", output.shown());
    let note = "note: #1 is open again, because its fix is no longer in `shop/mail.py`\n";
    assert!(output.stderr.contains(note), "{}", output.shown());
}

#[test]
fn finished_run_cannot_change_its_mode() {
    let refused = |desk: &Desk, model: &FakeModel, mode: &str, ended_in: &str| {
        let (files, asked) = (desk.files(), model.requests().len());
        let output = resume(desk, model, &["--mode", mode]);
        let error = format!("error: the run has finished in mode `{ended_in}`");
        let hint = "hint: leave out `--mode` to see it again, or fix more with `crh fix RUN`";
        assert_eq!((output.code, &output.stderr), (2, &format!("{error}\n{hint}\n")));
        assert_eq!((desk.files(), model.requests().len()), (files, asked));
    };
    let desk = Desk::new();
    let model = finds(&[unpaid()]);
    desk.review(&model, &["--mode", "headless"]);
    refused(&desk, &model, "autofix", "headless");
    // As if all questions were answered at a terminal.
    let desk = Desk::new();
    let model = finds(&[mean()]);
    desk.review(&model, &[]);
    let answered = json!({ "state": "answered", "decisions": [] });
    fs::write(desk.run().join("stages/questions.json"), answered.to_string()).unwrap();
    refused(&desk, &model, "autofix", "interactive");
    refused(&desk, &model, "headless", "interactive");
    assert_eq!(resume(&desk, &model, &[]).code, 0);
}

#[test]
fn reported_run_can_resume_in_a_fixing_mode() {
    let desk = Desk::new();
    let model = finds(&[mean()]);
    desk.review(&model, &[]);
    let output = resume(&desk, &model, &["--mode", "headless"]);
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
    let files = desk.files();
    assert_eq!(resume(&desk, &model, &[]).stdout, output.stdout);
    assert_eq!(desk.files(), files);
}

#[test]
fn issue_skipped_by_crh_fix_is_tried_by_autofix() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean()), swallowed()]);
    let output = desk.fix(&[]);
    assert!(output.stderr.contains("#2 not fixed: the report contains no code for this fix"));
    let model = FakeModel::start()
        .on("fixer-1", [edits(ORDERS, BEFORE, "    return result\n"), reports(2, "done")]);
    let output = resume(&desk, &model, &["--mode", "headless"]);
    assert!(output.stdout.contains("\nApplied 2 safe_auto fixes.\n"), "{}", output.shown());
}

/// The tree, the issues of the report, and the todos.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn ended(desk: &Desk) -> (BTreeMap<String, String>, String, Value) {
    let mut files = desk.files();
    // Todos contain the run id, which contains the time.
    let todos = files.iter_mut().filter(|(name, _)| name.starts_with(".context/"));
    todos.for_each(|(_, text)| text.clear());
    (files, issues(&desk.stored("review.json")), desk.stored("applied-fixes.json"))
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn run_killed_while_fixing_resumes_in_its_mode() {
    use crh_testkit::{InjectedFault, TraceOutcome};

    let args = |mode: &'static str| {
        [&["review", "--strategy", "single"], &CHECKOUT[..], &["--mode", mode]].concat()
    };
    for mode in ["headless", "autofix"] {
        let desk = Desk::with_faults();
        let model = finds(&[mean(), swallowed(), unpaid()]);
        let traced = with_model(desk.crh(&args(mode)), &model);
        let traced = traced.run_with_fault(desk.repo.path(), usize::MAX, InjectedFault::Kill);
        if !traced.is_conclusive("crh review, killed while it fixes") {
            return;
        }
        let TraceOutcome::Ended(1, writes) = traced else { panic!("{traced:?}") };
        let expected = ended(&desk);
        // From the end, where it fixes, back to the review.
        let step = if crh_testkit::runs_all_cases() { 19 } else { 97 };
        for back in (1..=writes / 2).step_by(step) {
            let desk = Desk::with_faults();
            let model = finds(&[mean(), swallowed(), unpaid()]);
            let killed = with_model(desk.crh(&args(mode)), &model);
            let killed =
                killed.run_with_fault(desk.repo.path(), writes - back, InjectedFault::Kill);
            let output = resume(&desk, &model, &[]);
            assert_eq!(output.code, 1, "{killed:?} {}", output.shown());
            assert_eq!(ended(&desk), expected, "{mode} {back} {killed:?}");
        }
    }
}
