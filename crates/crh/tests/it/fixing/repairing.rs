//! Fixes that need a model: they come back as edits and are checked like all others.

use expect_test::expect;

use super::*;
use crate::review::script::with;
use crh_testkit::fake_model::{calls, computed};

/// A safe finding without a replacement.
pub(super) fn vague(finding: Value) -> Value {
    let mut finding = finding;
    finding.as_object_mut().unwrap().remove("replacement");
    with(finding, json!({ "suggested_fix": "Do not divide." }))
}

pub(super) fn edits(path: &str, old: &str, new: &str) -> ScriptedReply {
    calls("edit_file", json!({ "path": path, "old": old, "new": new }))
}

pub(super) fn reports(number: u32, outcome: &str) -> ScriptedReply {
    let said = format!("It is {outcome}.");
    let repairs = [json!({ "number": number, "outcome": outcome, "sentence": said })];
    calls("report_repairs", json!({ "repairs": repairs }))
}

pub(super) const BEFORE: &str = "    return result / len(items)\n";

#[test]
fn broken_or_missing_fixer_work_is_skipped() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean())]);
    let before = desk.files();
    let model = FakeModel::start()
        .on("fixer-1", [edits(ORDERS, BEFORE, "    return result)\n"), reports(1, "done")])
        .on("fixer-2", [reports(1, "not_done")]);
    let broken = desk.checked(with_model(desk.crh(&["fix"]), &model));
    let again = desk.checked(with_model(desk.crh(&["fix"]), &model));
    expect![[r#"
        exit 1
        warning: #1 not fixed: it failed before, and `--issue 1` tries it again: its fix fails a static check: The file does not parse (shop/orders.py:5, `syntax/does-not-parse`)
        ---
        0 issues fixed.
    "#]].assert_eq(&desk.shown(&again));
    let left = desk.checked(with_model(desk.crh(&["fix", "--issue", "1"]), &model));
    expect![[r#"
        exit 1
        warning: #1 not fixed: its fix fails a static check: The file does not parse (shop/orders.py:5, `syntax/does-not-parse`)
        ---
        0 issues fixed.
        exit 1
        warning: #1 not fixed: It is not_done.
        ---
        0 issues fixed.
    "#]].assert_eq(&format!("{}{}", desk.shown(&broken), desk.shown(&left)));
    assert_eq!(desk.files(), before);
}

#[test]
fn fixer_that_edits_elsewhere_or_empties_a_file_is_rejected() {
    let check = |path: &str, content: &str, expected: &str| {
        let desk = Desk::new();
        desk.reviewed(&[vague(mean())]);
        let before = desk.files();
        let writes = match desk.repo.path().join(path).exists() {
            true => edits(path, &desk.text(path), content),
            false => calls("write_file", json!({ "path": path, "content": content })),
        };
        let model = FakeModel::start().on("fixer-1", [writes, reports(1, "done")]);
        let shown = desk.shown(&desk.checked(with_model(desk.crh(&["fix"]), &model)));
        let left = format!("warning: #1 not fixed: {expected}\n");
        assert_eq!(shown, format!("exit 1\n{left}---\n0 issues fixed.\n"), "{path}");
        assert_eq!(desk.files(), before, "{path}");
        assert!(!desk.repo.path().join(".git/hooks/pre-commit").exists());
    };
    let unchanged = "no file was changed for it, although the fixer reports: It is done.";
    check(".git/hooks/pre-commit", "print('mine')\n", unchanged);
    let emptied = "the fixer failed: it emptied `shop/orders.py`; all its work is rejected";
    check(ORDERS, " \n\t\n", emptied);
}

#[test]
fn fixer_work_needs_the_reviewed_tree() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean()), swallowed()]);
    desk.repo.write("shop/log.py", "mine\n");
    let model = FakeModel::start();
    let refused = desk.checked(with_model(desk.crh(&["fix"]), &model));
    expect![[r#"
        exit 1
        warning: #2 not fixed: the fixer needs the reviewed files, but `shop/log.py` changed since; undo these edits or review again
        note: undo with `crh fix --undo RUN`
        ---
        #1 replaced lines 4 to 5 (shop/mail.py)
        1 issue fixed.
    "#]].assert_eq(&desk.shown(&refused));
    assert_eq!(model.requests().len(), 0, "no model call for work that cannot be applied");
    desk.repo.git(&["checkout", "--quiet", "shop/log.py"]);
    let (log, new) = (desk.repo.path().join("shop/log.py"), "    return result\n");
    let edit = computed(move |_| {
        fs::write(&log, "mine\n").unwrap();
        edits(ORDERS, BEFORE, new)
    });
    let model = model.on("fixer-1", [edit, reports(2, "done")]);
    // The user edits while the fixer works.
    let late = with_model(desk.crh(&["fix"]), &model).run();
    expect![[r#"
        exit 1
        warning: #2 not fixed: the fixer needs the reviewed files, but `shop/log.py` changed since; undo these edits or review again
        ---
        0 issues fixed.
    "#]].assert_eq(&desk.shown(&late));
    assert!(desk.text(ORDERS).contains("len(items)"));
    // Unreviewed files and a commit of everything do not matter.
    desk.repo.git(&["checkout", "--quiet", "shop/log.py"]);
    desk.repo.write("untracked.py", "X = 1\n");
    desk.repo.git(&["commit", "--quiet", "--all", "--message", "the fix"]);
    let model = model.on("fixer-2", [edits(ORDERS, BEFORE, new), reports(2, "done")]);
    let applied = desk.checked(with_model(desk.crh(&["fix"]), &model));
    assert_eq!(applied.code, 0, "{}", applied.shown());
    assert!(desk.text(ORDERS).contains(new));
}

#[test]
fn fixer_runs_again_after_git_has_removed_its_fix() {
    let desk = Desk::new();
    desk.reviewed(&[unpaid(), swallowed()]);
    let before = desk.files();
    let fix = |run: &str| {
        let edit = edits(ORDERS, "    return order.amount\n", "    return order.paid\n");
        let model = FakeModel::start().on(run, [edit, reports(1, "done")]);
        with_model(desk.crh(&["fix", "--issue", "1,2"]), &model).run()
    };
    let output = fix("fixer-1");
    assert_eq!(output.code, 0, "{}", output.shown());
    let fixed = desk.files();
    desk.repo.git(&["checkout", "--quiet", "--", ORDERS]);
    let output = fix("fixer-2");
    expect![[r#"
        exit 0
        note: #1 is open again, because its fix is no longer in `shop/orders.py`
        note: #2 is already fixed
        note: undo with `crh fix --undo RUN`
        ---
        #1 It is done. (shop/orders.py)
        1 issue fixed.
    "#]]
    .assert_eq(&desk.shown(&output));
    assert_eq!(desk.files(), fixed);
    assert_eq!(desk.fix(&["--undo"]).code, 0);
    assert_eq!(desk.files(), before);
}
