//! The command that says whether a fixed tree still works.

use expect_test::expect;

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
