//! The command that says whether a fixed tree still works.

use expect_test::expect;

use super::resuming::finds;
use super::*;
use crate::review::script::with;

fn needing(finding: Value) -> Value {
    with(finding, json!({ "requires_verification": true }))
}

fn check(desk: &Desk, verify: &str, expected: expect_test::Expect) {
    let output = desk.fix(&["--trust", "--verify", verify, "--verify-seconds", "20"]);
    expected.assert_eq(&desk.shown(&output));
}

#[test]
fn a_fix_that_has_to_be_verified_is_left_where_nothing_verifies_it() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean()), swallowed()]);
    expect![[r#"
        exit 1
        warning: #2 is left: it has to be verified, and the setting `fix.verify` names no command
        ---
        #1 replaced lines 4 to 5 (shop/mail.py)
        1 issue was fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&[])));
    assert!(desk.text(ORDERS).contains("len(items)"));
    assert!(desk.text(MAIL).contains("raise"));
}

#[test]
fn a_fix_that_was_verified_is_applied() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean()), swallowed()]);
    check(
        &desk,
        "true",
        expect![[r#"
        exit 0
        ---
        #1 replaced lines 4 to 5 (shop/mail.py)
        #2 replaced line 5 (shop/orders.py)
        2 issues were fixed.
    "#]],
    );
}

#[test]
fn a_fix_that_makes_the_verification_fail_is_reverted_and_the_others_stay() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean()), swallowed()]);
    check(
        &desk,
        r#"["sh", "-c", "grep -q pass shop/mail.py || { echo it is gone; exit 3; }"]"#,
        expect![[r#"
            exit 1
            warning: #1 is left: its fix was reverted, since `fix.verify` fails with it: it ended with exit code 3: it is gone
            ---
            #2 replaced line 5 (shop/orders.py)
            1 issue was fixed.
        "#]],
    );
    assert!(desk.text(ORDERS).contains("    return result\n"));
    assert!(desk.text(MAIL).contains("pass"));
}

#[test]
fn a_verification_that_fails_anyway_is_nobodys_fault() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean()), swallowed()]);
    check(
        &desk,
        r#"["sh", "-c", "echo no such thing >&2; exit 1"]"#,
        expect![[r#"
            exit 1
            warning: #2 is left: it has to be verified, and `fix.verify` fails without it, too: it ended with exit code 1: no such thing
            warning: no fix was verified: `fix.verify` fails without any fix, too: it ended with exit code 1: no such thing
            ---
            #1 replaced lines 4 to 5 (shop/mail.py)
            1 issue was fixed.
        "#]],
    );
    assert!(desk.text(ORDERS).contains("len(items)"));
    assert!(desk.text(MAIL).contains("raise"));
}

#[test]
fn a_verification_that_hangs_is_ended() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let hangs = r#"["sh", "-c", "grep -q pass shop/mail.py || sleep 1000"]"#;
    let output = desk.fix(&["--trust", "--verify", hangs, "--verify-seconds", "1"]);
    expect![[r#"
        exit 1
        warning: #1 is left: its fix was reverted, since `fix.verify` fails with it: it did not end within 1 seconds
        ---
        0 issues were fixed.
    "#]].assert_eq(&desk.shown(&output));
    assert!(desk.text(MAIL).contains("pass"));
}

/// A checkout with many lines, and something to be fixed in each: in line 1 the issue 1, and so on.
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

/// A command that says by a file how often it was run, and then does this.
fn counted(desk: &Desk, script: &str) -> String {
    let script = format!("echo x >> {}; {script}", desk.user.path("runs").display());
    serde_json::to_string(&["sh", "-c", &script]).unwrap()
}

fn runs_of(desk: &Desk) -> usize {
    fs::read_to_string(desk.user.path("runs")).unwrap().lines().count()
}

#[test]
fn one_fix_of_many_that_does_not_hold_is_found_in_few_runs() {
    let (desk, findings) = lines(15);
    desk.review(&finds(&findings), &[]);
    let verify = counted(&desk, "! grep -q fixed_11 many.py");
    let output = desk.fix(&["--trust", "--verify", &verify]);
    assert!(output.stdout.ends_with("14 issues were fixed.\n"), "{}", output.shown());
    let left = "#11 is left: its fix was reverted, since `fix.verify` fails with it";
    assert!(output.stderr.contains(left), "{}", output.shown());
    assert_eq!(desk.text("many.py").matches("fixed_").count(), 14);
    // With all, without any, and a halving of what is left each time, of which both halves may be looked at.
    assert!(runs_of(&desk) <= 2 + 2 * 4, "{}", runs_of(&desk));
}

#[test]
fn all_runs_together_have_a_limit_and_what_was_not_verified_is_left() {
    let (desk, findings) = lines(8);
    desk.review(&finds(&findings), &[]);
    let before = desk.files();
    let verify = counted(&desk, "grep -q fixed_ many.py && exec sleep 1000; true");
    let output = desk.fix(&["--trust", "--verify", &verify, "--verify-seconds", "1"]);
    assert!(output.stdout.ends_with("0 issues were fixed.\n"), "{}", output.shown());
    let left = "#8 is left: it is not known whether its fix holds: all runs of `fix.verify` together may take 4 seconds";
    assert!(output.stderr.contains(left), "{}", output.shown());
    assert_eq!(desk.files(), before);
    // Each run but the one without any fix takes a second or what is left of the time.
    assert!(runs_of(&desk) <= 5, "{}", runs_of(&desk));
}

#[test]
fn what_cannot_be_run_with_a_fix_is_not_said_to_fail_with_it() {
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
        warning: #1 is left: its fix was reverted, since `fix.verify` could not be run with it: there is no program `./check`
        ---
        #2 replaced line 1 (many.py)
        #3 replaced line 2 (many.py)
        2 issues were fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--trust", "--verify", "./check"])));
}

#[test]
fn whoever_has_set_up_a_verification_is_told_when_it_says_nothing() {
    for verify in ["there-is-no-such-program", "false", r#"["sh", "-c", "sleep 1000"]"#] {
        let desk = Desk::new();
        let args = ["--mode", "headless", "--trust", "--verify", verify, "--verify-seconds", "1"];
        let output = desk.review(&says(&[mean(), swallowed()]), &args);
        assert!(output.stdout.contains("\nApplied 2 safe_auto fixes.\n"), "{}", output.shown());
        let warnings = desk.stored("review.json")["warnings"].clone();
        let expected = match verify {
            "there-is-no-such-program" => expect![[r#"
                [
                  "no fix was verified: `fix.verify` could not be run: there is no program `there-is-no-such-program`"
                ]"#]],
            "false" => expect![[r#"
                [
                  "no fix was verified: `fix.verify` fails without any fix, too: it ended with exit code 1"
                ]"#]],
            _ => expect![[r#"
                [
                  "no fix was verified: `fix.verify` fails without any fix, too: it did not end within 1 seconds"
                ]"#]],
        };
        expected.assert_eq(&format!("{warnings:#}"));
    }
}

#[test]
fn the_command_works_on_a_copy_and_no_repository_names_it() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let before = desk.files();
    let output = desk.fix(&["--dry-run", "--trust", "--verify", "touch left-behind"]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(desk.files(), before);
    desk.repo.write("crh.toml", "[fix]\nverify = [\"touch\", \"here\"]\n");
    expect![[r#"
        exit 2
        error: crh.toml:2:1: a repository may not set `fix.verify`
        hint: it belongs in your own config (`~/.config/crh/config.toml`), the variable `CRH_VERIFY` or the flag `--verify`
        ---
    "#]].assert_eq(&desk.shown(&desk.crh(&["config", "show"]).run()));
}

#[test]
fn what_is_not_trusted_is_verified_in_the_sandbox_or_not_at_all() {
    let desk = Desk::new();
    desk.reviewed(&[needing(mean())]);
    let outside = desk.user.path("outside");
    let script =
        format!("echo x > {}; {}", outside.display(), "! grep 'len(items)' shop/orders.py");
    let verify = serde_json::to_string(&["sh", "-c", &script]).unwrap();
    let output = desk.fix(&["--verify", &verify]);
    assert!(!outside.exists());
    // Where the kernel can shut nobody in, nothing is run.
    let is_shut_in = desk.text(ORDERS).contains("    return result\n");
    let is_left =
        output.stderr.contains("`fix.verify` could not be run: there is no sandbox for it");
    assert!(is_shut_in != is_left, "{}", output.shown());
}
