//! The verification command.

use expect_test::expect;

use super::resuming::finds;
use super::*;
use crate::review::script::with;
use crh_testkit::fake_model::bad_request;

fn needing(finding: Value) -> Value {
    with(finding, json!({ "requires_verification": true }))
}

fn check(desk: &Desk, verify: &str, expected: expect_test::Expect) {
    let output = desk.fix(&["--trust", "--verify", verify, "--verify-seconds", "20"]);
    expected.assert_eq(&desk.shown(&output));
}

#[test]
fn unverifiable_fix_is_named_before_the_fixer_runs() {
    let desk = Desk::new();
    let vague = json!({ "replacement": null, "requires_verification": true });
    desk.reviewed(&[with(mean(), vague)]);
    // crh would ask and pay the fixer, and then drop its work.
    let model = FakeModel::start();
    let output = desk.checked(with_model(desk.crh(&["fix"]), &model));
    expect![[r#"
        exit 1
        warning: #1 not fixed: its fix needs verification: pass `--verify COMMAND` or set `fix.verify`
        ---
        0 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&output));
    assert_eq!(model.requests().len(), 0);
    // Without a model, the message names both options that are missing.
    expect![[r#"
        exit 1
        warning: #1 not fixed: its fix needs verification: pass `--verify COMMAND` or set `fix.verify`; also, the report contains no code for this fix, and no model is configured to write it (see `--model`)
        ---
        0 issues fixed.
    "#]].assert_eq(&desk.shown(&desk.fix(&[])));
    // The next step of the issue already names them.
    assert_eq!(desk.stored("review.json")["warnings"], json!([]));
}

#[test]
fn missing_verify_program_is_reported_once_and_not_stored() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean())]);
    check(
        &desk,
        "there-is-no-such-program",
        expect![[r#"
        exit 1
        warning: #1 not fixed: its fix must be tested, and the verify command could not be run: there is no program `there-is-no-such-program`
        ---
        0 issues fixed.
    "#]],
    );
    let report = desk.stored("review.json");
    assert_eq!((&report["warnings"], &report["not_fixed"]), (&json!([]), &Value::Null));
}

#[test]
fn autofix_applies_no_fix_that_its_budget_cannot_verify() {
    let desk = Desk::new();
    let model = FakeModel::start().on("single", [answers(&[needing(mean()), swallowed()])]);
    let output = desk.review(&model, &["--mode", "autofix", "--budget", "quick"]);
    let shown = output.shown();
    let why = "the budget leaves no model calls for the review of the fix: raise `--max-llm-calls`";
    assert!(shown.contains(why), "{shown}");
    assert!(desk.text(ORDERS).contains("len(items)"), "{shown}");
    assert!(desk.text(MAIL).contains("raise"), "{shown}");
}

#[test]
fn fix_is_unverified_if_its_second_look_fails() {
    let desk = Desk::new();
    let model = FakeModel::start()
        .on("single", [answers(&[needing(mean())]), bad_request("the model is gone")])
        .on("validate-1", [confirms()]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    let report = desk.stored("review.json");
    expect![[r#"
        #1 unverified: The total is divided by the count
    "#]]
    .assert_eq(&issues(&report));
    assert!(desk.text(ORDERS).contains("    return result\n"), "{}", output.shown());
    assert_ne!(report["verdict"], "Ready to merge", "{}", output.shown());
}

#[test]
fn failed_second_look_makes_the_review_incomplete() {
    let desk = Desk::new();
    let model = FakeModel::start()
        .on("single", [answers(&[mean()]), bad_request("the model is gone")])
        .on("validate-1", [confirms()]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    let report = desk.stored("review.json");
    expect![[r#"
        #1 fixed: The total is divided by the count
    "#]]
    .assert_eq(&issues(&report));
    let reason = "1 file not fully reviewed (shop/orders.py)";
    assert_eq!((output.code, &report["verdict_reason"]), (4, &json!(reason)), "{}", output.shown());
    assert_eq!((&report["verdict"], &report["status"]), (&json!("Incomplete"), &json!("degraded")));
}

/// The repeated review may find something outside the fixed file, or quote code that is not there.
#[test]
fn second_look_loses_no_finding() {
    let desk = Desk::new();
    let swallowed = with(swallowed(), json!({ "autofix_class": "manual", "severity": "P1" }));
    let log = safe("It returns nothing", "shop/log.py:3", "    return None", "    return");
    let invented = finding("P1", "Nothing is summed", "shop/orders.py:4", "result -= item");
    let second = [swallowed, log, invented];
    // crh asks once more for the code that it does not find.
    let model = FakeModel::start()
        .on("single", [answers(&[needing(mean())]), answers(&second), answers(&second)])
        .on("validate-1", [confirms(), confirms()]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    let report = desk.stored("review.json");
    expect![[r#"
        #1 unverified: The total is divided by the count
        #2 open: The error is swallowed
    "#]]
    .assert_eq(&issues(&report));
    let dropped = report["suppressed"].as_array().unwrap().iter();
    let dropped = dropped.map(|it| format!("{}: {}", it["fate"], it["member"]["finding"]["title"]));
    let dropped: Vec<String> = dropped.collect();
    let expected = [r#""unsupported": "Nothing is summed""#, r#""minor": "It returns nothing""#];
    assert_eq!(dropped, expected, "{}", output.shown());
    let reason = report["verdict_reason"].as_str().unwrap();
    assert!(reason.starts_with("3 issues (1 hidden) to fix"), "{reason}");
    assert!(
        reason.ends_with("did not find the quoted code of 1 finding of severity P0 or P1"),
        "{reason}"
    );
}

#[test]
fn headless_names_what_it_cannot_verify() {
    let desk = Desk::new();
    let output = desk.review(&says(&[needing(mean()), swallowed()]), &["--mode", "headless"]);
    let why = "#2: its fix needs verification: pass `--verify COMMAND`";
    assert!(output.stderr.contains(&format!("note: crh does not fix {why}")), "{}", output.shown());
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
}

#[test]
fn verification_that_always_fails_blocks_no_fix() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean()), swallowed()]);
    check(
        &desk,
        r#"["sh", "-c", "echo no such thing >&2; exit 1"]"#,
        expect![[r#"
            exit 1
            warning: #2 not fixed: its fix must be tested, and the verify command already fails without the fix
            warning: no fix was verified, because the verify command already fails without a fix: exit code 1: no such thing
            note: undo with `crh fix --undo RUN`
            ---
            #1 replaced lines 4 to 5 (shop/mail.py)
            1 issue fixed.
        "#]],
    );
    assert!(desk.text(ORDERS).contains("len(items)"));
    assert!(desk.text(MAIL).contains("raise"));
    // Only the command is wrong, so the report still names the step for this issue.
    assert_eq!(desk.stored("review.json").get("not_fixed"), None);
    let report = fs::read_to_string(desk.run().join("review.md")).unwrap();
    assert!(report.contains("`crh fix --verify COMMAND` can fix this"), "{report}");
}

/// A checkout with many lines and one issue per line, with the same number.
fn lines(count: usize) -> (Desk, Vec<Value>) {
    let desk = Desk::new();
    let text = |count: usize| (1..=count).map(|n| format!("line_{n} = {n}\n")).collect::<String>();
    desk.repo.write("many.py", "");
    desk.repo.commit("nothing");
    desk.repo.write("many.py", text(count));
    desk.repo.commit("many lines");
    let finding = |n: usize| {
        let (place, line) = (format!("many.py:{n}"), format!("line_{n} = {n}"));
        safe(&format!("Line {n:02}"), &place, &line, &format!("fixed_{n} = {n}"))
    };
    (desk, (1..=count).map(finding).collect())
}

/// A command that counts its runs in a file and then runs this script.
fn counted(desk: &Desk, script: &str) -> String {
    let script = format!("echo x >> {}; {script}", desk.user.path("runs").display());
    serde_json::to_string(&["sh", "-c", &script]).unwrap()
}

fn runs_of(desk: &Desk) -> usize {
    fs::read_to_string(desk.user.path("runs")).unwrap().lines().count()
}

#[test]
fn one_failing_fix_of_many_is_found_by_bisection() {
    let (desk, findings) = lines(15);
    desk.review(&finds(&findings), &[]);
    let verify = counted(&desk, "! grep -q fixed_11 many.py");
    let output = desk.fix(&["--trust", "--verify", &verify]);
    assert!(output.stdout.ends_with("14 issues fixed.\n"), "{}", output.shown());
    let left = "#11 not fixed: its fix was dropped, because `fix.verify` fails with it";
    assert!(output.stderr.contains(left), "{}", output.shown());
    assert_eq!(desk.text("many.py").matches("fixed_").count(), 14);
    // With all fixes, without any, and then a bisection that may test both halves.
    assert!(runs_of(&desk) <= 2 + 2 * 4, "{}", runs_of(&desk));
}

#[test]
fn total_time_limit_skips_unverified_fixes() {
    let (desk, findings) = lines(8);
    desk.review(&finds(&findings), &[]);
    let before = desk.files();
    let verify = counted(&desk, "grep -q fixed_ many.py && exec sleep 1000; true");
    let output = desk.fix(&["--trust", "--verify", &verify, "--verify-seconds", "1"]);
    assert!(output.stdout.ends_with("0 issues fixed.\n"), "{}", output.shown());
    let left = "#8 not fixed: its fix could not be verified: the time limit for all runs of `fix.verify` is 4 seconds";
    assert!(output.stderr.contains(left), "{}", output.shown());
    assert_eq!(desk.files(), before);
    // Each run except the one without fixes takes a second or the remaining time.
    assert!(runs_of(&desk) <= 5, "{}", runs_of(&desk));
}

#[test]
fn unstartable_verification_is_not_reported_as_failure() {
    let (desk, findings) = lines(2);
    desk.repo.write("check", "#!/bin/sh\ntrue\n");
    let path = desk.repo.path().join("check");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let finding = safe("No shell", "check:1", "#!/bin/sh", "#!/there/is/no/such/shell");
    desk.repo.git(&["add", "check"]);
    desk.repo.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    desk.reviewed(&[findings, vec![finding]].concat());
    expect![[r#"
        exit 1
        warning: #1 not fixed: its fix was dropped, because `fix.verify` could not be run with it: there is no program `./check`
        note: undo with `crh fix --undo RUN`
        ---
        #2 replaced line 1 (many.py)
        #3 replaced line 2 (many.py)
        2 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--trust", "--verify", "./check"])));
}

#[test]
fn useless_verification_is_reported() {
    for verify in ["there-is-no-such-program", "false", r#"["sh", "-c", "sleep 1000"]"#] {
        let desk = Desk::new();
        let args = ["--mode", "headless", "--trust", "--verify", verify, "--verify-seconds", "1"];
        let output = desk.review(&says(&[mean(), swallowed()]), &args);
        assert!(output.stdout.contains("\nApplied 2 safe_auto fixes.\n"), "{}", output.shown());
        let warnings = desk.stored("review.json")["warnings"].clone();
        let expected = match verify {
            "there-is-no-such-program" => expect![[r#"
                [
                  "no fix was verified: the verify command could not be run: there is no program `there-is-no-such-program`"
                ]"#]],
            "false" => expect![[r#"
                [
                  "no fix was verified, because the verify command already fails without a fix: exit code 1"
                ]"#]],
            _ => expect![[r#"
                [
                  "no fix was verified, because the verify command already fails without a fix: timed out after 1 s"
                ]"#]],
        };
        expected.assert_eq(&format!("{warnings:#}"));
    }
}

#[test]
fn command_runs_on_a_copy_and_not_from_repository_config() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let before = desk.files();
    let output = desk.fix(&["--dry-run", "--trust", "--verify", "touch left-behind"]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(desk.files(), before);
    desk.repo.write("crh.toml", "[fix]\nverify = [\"touch\", \"here\"]\n");
    expect![[r#"
        exit 2
        error: crh.toml:2:1: `fix.verify` is not allowed in a repository's `crh.toml`
        hint: set it in `~/.config/crh/config.toml`, or use the variable `CRH_VERIFY` or the flag `--verify`
        ---
    "#]].assert_eq(&desk.shown(&desk.crh(&["config", "show"]).run()));
}

#[test]
fn untrusted_change_is_verified_only_in_the_sandbox() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean())]);
    let outside = desk.user.path("outside");
    let script =
        format!("echo x > {}; {}", outside.display(), "! grep 'len(items)' shop/orders.py");
    let verify = serde_json::to_string(&["sh", "-c", &script]).unwrap();
    let output = desk.fix(&["--verify", &verify]);
    assert!(!outside.exists());
    // Without a sandbox nothing runs.
    let is_shut_in = desk.text(ORDERS).contains("    return result\n");
    let is_left =
        output.stderr.contains("the verify command could not be run: there is no sandbox for it");
    assert!(is_shut_in != is_left, "{}", output.shown());
}
