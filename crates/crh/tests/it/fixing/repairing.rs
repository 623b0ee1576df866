//! What needs a model to be fixed: it comes back as edits that are checked and applied like all others.

use crh_testkit::fake_model::calls;
use expect_test::expect;

use super::*;
use crate::review::script::with;

/// A finding without a replacement that is safe to fix.
pub(super) fn vague(finding: Value) -> Value {
    let mut finding = finding;
    finding.as_object_mut().unwrap().remove("replacement");
    with(finding, json!({ "suggested_fix": "Do not divide." }))
}

pub(super) fn edits(path: &str, old: &str, new: &str) -> Scripted {
    calls("edit_file", json!({ "path": path, "old": old, "new": new }))
}

pub(super) fn reports(number: u32, outcome: &str) -> Scripted {
    let said = format!("It is {outcome}.");
    let repairs = [json!({ "number": number, "outcome": outcome, "sentence": said })];
    calls("report_repairs", json!({ "repairs": repairs }))
}

pub(super) const BEFORE: &str = "    return result / len(items)\n";

#[test]
fn a_fixer_repairs_what_code_cannot_after_code_has_done_its_part() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean()), swallowed()]);
    let model = FakeModel::start()
        .on("fixer-1", [edits(ORDERS, BEFORE, "    return result\n"), reports(2, "done")]);
    let output = with_model(desk.crh(&["fix"]), &model).run();
    expect![[r#"
        exit 0
        ---
        #1 replaced lines 4 to 5 (shop/mail.py)
        #2 It is done. (shop/orders.py)
        2 issues were fixed.
    "#]]
    .assert_eq(&desk.shown(&output));
    assert!(desk.text(ORDERS).contains("    return result\n"));
    assert!(desk.text(MAIL).contains("raise"));
    expect![[r#"
         M shop/mail.py
         M shop/orders.py
        ref: refs/heads/main
        HEAD commit	refs/heads/main
    "#]]
    .assert_eq(&desk.git());
}

#[test]
fn what_a_fixer_breaks_or_leaves_is_left() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean())]);
    let before = desk.files();
    let model = FakeModel::start()
        .on("fixer-1", [edits(ORDERS, BEFORE, "    return result)\n"), reports(1, "done")])
        .on("fixer-2", [reports(1, "not_done")]);
    let broken = with_model(desk.crh(&["fix"]), &model).run();
    let left = with_model(desk.crh(&["fix"]), &model).run();
    expect![[r#"
        exit 1
        warning: #1 is left: the checks object to its fix: The file does not parse (shop/orders.py:5, `syntax/does-not-parse`)
        ---
        0 issues were fixed.
        exit 1
        warning: #1 is left: It is not_done.
        ---
        0 issues were fixed.
    "#]].assert_eq(&format!("{}{}", desk.shown(&broken), desk.shown(&left)));
    assert_eq!(desk.files(), before);
}

#[test]
fn without_a_model_it_is_left() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean())]);
    expect![[r#"
        exit 1
        warning: #1 is left: it comes without an exact replacement, and no model is configured to fix it
        ---
        0 issues were fixed.
    "#]].assert_eq(&desk.shown(&desk.fix(&[])));
}

#[test]
fn headless_sends_a_fixer_too() {
    let desk = Desk::new();
    let model = says(&[vague(mean())])
        .on("fixer-1", [edits(ORDERS, BEFORE, "    return result\n"), reports(1, "done")]);
    let output = desk.review(&model, &["--mode", "headless"]);
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
    assert!(desk.text(ORDERS).contains("    return result\n"));
}
