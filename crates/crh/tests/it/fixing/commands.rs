//! `crh fix`: what it applies, prints and undoes.

use expect_test::expect;

use super::faults::interrupt;
use super::repairing::{edits, reports, vague};
use super::resuming::finds;
use super::*;
use crh_testkit::fake_model::calls;

#[test]
fn fix_then_undo_restores_every_byte() {
    let desk = Desk::new();
    let before = desk.files();
    desk.reviewed(&[mean(), swallowed(), unpaid()]);
    let output = desk.fix(&[]);
    expect![[r#"
        exit 0
        note: undo with `crh fix --undo RUN`
        ---
        #2 replaced lines 4 to 5 (shop/mail.py)
        #3 replaced line 5 (shop/orders.py)
        2 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&output));
    let after = desk.files();
    assert_ne!(after, before);
    expect![[r#"
        #1 open: A refund of what was not paid
        #2 fixed: The error is swallowed
        #3 fixed: The total is divided by the count
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    let again = desk.fix(&[]);
    expect![[r#"
        exit 0
        note: no open issue has a safe fix; `crh show RUN` shows what each issue needs
        ---
        0 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&again));
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    let undone = desk.fix(&["--undo", &name]);
    expect![[r#"
        exit 0
        ---
        Restored:
        shop/mail.py
        shop/orders.py
    "#]]
    .assert_eq(&desk.shown(&undone));
    assert_eq!(desk.files(), before);
    assert!(!issues(&desk.stored("review.json")).contains("fixed"));
    assert_eq!(desk.stored("applied-fixes.json"), json!([]));
    assert_eq!(desk.stored("residual-work.json").as_array().unwrap().len(), 3);
    desk.fix(&[]);
    assert_eq!(desk.files(), after);
    // A newer run without fixes does not hide the run with fixes.
    let clean = desk.review(&FakeModel::start().on("single", [answers(&[])]), &[]);
    assert!(clean.code < 2, "{}", clean.shown());
    assert_eq!(desk.fix(&["--undo"]).code, 0);
    assert_eq!(desk.files(), before);
}

#[test]
fn dismissed_issue_is_fixed_only_if_named() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    assert_eq!(desk.crh(&["dismiss", "1", "on purpose"]).run().code, 0);
    expect![[r#"
        exit 0
        note: #1 is dismissed, so crh does not fix it
        note: undo with `crh fix --undo RUN`
        ---
        #2 replaced line 5 (shop/orders.py)
        1 issue fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&[])));
    assert_eq!(desk.fix(&["--issue", "1"]).code, 0);
}

#[test]
fn dry_run_prints_the_patch() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let before = desk.files();
    let output = desk.fix(&["--dry-run"]);
    // Marks the end of a line with one blank.
    expect![[r#"
        exit 0
        ---
        diff --git a/shop/mail.py b/shop/mail.py
        index 2ad46f7a8eb8db7ddcc3e74bc3f72549b98894be..0bc825bdc496953e3ac9f0e6b259f2bdb5c106d7 100644
        --- a/shop/mail.py
        +++ b/shop/mail.py
        @@ -1,5 +1,5 @@
         def send(to, text):
             try:
                 return smtp.send(to, text)
             except Exception:
        -        pass
        +        raise
        diff --git a/shop/orders.py b/shop/orders.py
        index d9a9f99754dd933a45656c299a1130720343ec9a..fb0efd38f1da93ec324c19b90efcb787091a6ed0 100644
        --- a/shop/orders.py
        +++ b/shop/orders.py
        @@ -1,9 +1,9 @@
         def total(items):
             result = 0
             for item in items:
                 result += item.price * item.count
        -    return result / len(items)
        +    return result
        ~
        ~
         def refund(order):
             return order.amount
    "#]].assert_eq(&desk.shown(&output).replace("\n \n \n", "\n~\n~\n"));
    assert_eq!(desk.files(), before);
    let patch = desk.user.path("patch");
    fs::write(&patch, &output.stdout).unwrap();
    desk.repo.git(&["apply", patch.to_str().unwrap()]);
    let patched = desk.files();
    desk.repo.git(&["checkout", "--quiet", "."]);
    desk.fix(&[]);
    assert_eq!(desk.files(), patched);
}

#[test]
fn dry_run_after_a_revert_prints_what_crh_fix_applies() {
    let desk = Desk::with_faults();
    let longer = json!({ "replacement": "    items = sorted(items)\n    return result" });
    // The review of the first fix finds this one, which has another line before the fixes.
    let line = "return order.amount";
    let refund = safe("A refund of all", "shop/orders.py:10", line, "    return 0");
    let first = [with(mean(), longer), swallowed()];
    let model = FakeModel::start()
        .on("single", [answers(&first), answers(&[refund]), answers(&[])])
        .on("validate-1", [confirms(), confirms()]);
    desk.review(&model, &["--mode", "autofix"]);
    let fixed = desk.text(ORDERS);
    assert!(!issues(&desk.stored("review.json")).contains("open"));
    desk.repo.git(&["checkout", "--quiet", "--", ORDERS]);
    let reviewed = desk.text(ORDERS);
    let dry = desk.fix(&["--dry-run"]);
    assert_eq!((dry.code, desk.text(ORDERS)), (0, reviewed), "{}", dry.shown());
    let patch = desk.user.path("patch");
    fs::write(&patch, &dry.stdout).unwrap();
    desk.repo.git(&["apply", patch.to_str().unwrap()]);
    assert_eq!(desk.text(ORDERS), fixed, "{}", dry.shown());
    desk.repo.git(&["checkout", "--quiet", "--", ORDERS]);
    let output = desk.fix(&[]);
    assert_eq!((output.code, desk.text(ORDERS)), (0, fixed), "{}", output.shown());
}

#[test]
fn issues_can_be_fixed_one_by_one() {
    let desk = Desk::new();
    let first =
        safe("Zero at first", "shop/orders.py:2", "    result = 0", "    result = 0\n    seen = 0");
    desk.reviewed(&[first, mean(), unpaid()]);
    expect![[r#"
        #1 open: A refund of what was not paid
        #2 open: Zero at first
        #3 open: The total is divided by the count
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    let one = desk.fix(&["--issue", "2"]);
    expect![[r#"
        exit 0
        note: undo with `crh fix --undo RUN`
        ---
        #2 replaced line 2 (shop/orders.py)
        1 issue fixed.
    "#]]
    .assert_eq(&desk.shown(&one));
    let other = desk.fix(&["--issue", "1,3", "--issue", "2", "--issue", "9"]);
    expect![[r#"
        exit 1
        note: #2 is already fixed
        warning: #1 not fixed: the report contains no code for this fix, and no model is configured to write it (see `--model`)
        warning: #9 not fixed: the report has no such issue
        note: undo with `crh fix --undo RUN`
        ---
        #3 replaced line 5 (shop/orders.py)
        1 issue fixed.
    "#]]
    .assert_eq(&desk.shown(&other));
    let fixed = desk.fix(&["--issue", "2"]);
    expect![[r#"
        exit 0
        note: #2 is already fixed
        ---
        0 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&fixed));
    expect![[r#"
        def total(items):
            result = 0
            seen = 0
            for item in items:
                result += item.price * item.count
            return result


        def refund(order):
            return order.amount
    "#]]
    .assert_eq(&desk.text(ORDERS));
}

#[test]
fn fix_that_is_in_the_file_is_recorded_and_changes_nothing() {
    // The report names the file of a fix that crh does not write.
    let desk = Desk::with_faults();
    desk.reviewed(&[mean(), swallowed()]);
    let orders = desk.text(ORDERS).replace("result / len(items)", "result");
    desk.repo.write(ORDERS, &orders);
    let dry = desk.fix(&["--dry-run", "--issue", "2"]);
    let shown = "exit 0\nnote: #2 is already fixed\n---\n";
    assert_eq!(desk.shown(&dry), shown);
    assert_eq!(desk.shown(&desk.fix(&["--issue", "2"])), format!("{shown}0 issues fixed.\n"));
    assert_eq!(desk.text(ORDERS), orders);
    let expected = "#1 open: The error is swallowed\n#2 fixed: The total is divided by the count\n";
    assert_eq!(issues(&desk.stored("review.json")), expected);
    assert_eq!(desk.stored("residual-work.json").as_array().unwrap().len(), 1);
    // The record survives the next command, and a later fix can be undone.
    assert_eq!(desk.fix(&[]).code, 0);
    assert!(!issues(&desk.stored("review.json")).contains("open"));
    assert_eq!(desk.fix(&["--undo"]).code, 0);
    assert_eq!(desk.text(ORDERS), orders);
    assert!(desk.text(MAIL).contains("pass"));
}

#[test]
fn undo_keeps_edits_between_two_fixes() {
    let desk = Desk::new();
    let zero = safe("It starts at zero", "shop/orders.py:2", "    result = 0", "    result = 0.0");
    desk.reviewed(&[zero, mean()]);
    assert_eq!(desk.fix(&["--issue", "1"]).code, 0);
    let path = desk.repo.path().join(ORDERS);
    fs::write(&path, format!("{}# mine\n", desk.text(ORDERS))).unwrap();
    assert_eq!(desk.fix(&["--issue", "2"]).code, 0);
    let before = desk.text(ORDERS);
    assert!(before.contains("result = 0.0\n") && before.ends_with("# mine\n"), "{before}");
    let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    expect![[r#"
        exit 2
        error: `shop/orders.py` was changed between two fixes, and an undo would lose that change
        hint: nothing was changed; the original content is in the folder `fixes` of the run
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo", &run])));
    assert_eq!(desk.text(ORDERS), before);
}

#[test]
fn edit_near_a_fix_stays_and_edit_of_its_lines_blocks_it() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let mine = format!("import decimal\n\n{}\n\nMINE = 1\n", desk.text(ORDERS));
    desk.repo.write(ORDERS, &mine);
    desk.repo.write(MAIL, desk.text(MAIL).replace("pass", "return None"));
    let before = desk.files();
    let patch = desk.fix(&["--dry-run"]).stdout;
    assert!(patch.contains(" import decimal\n") && patch.contains(" MINE = 1\n"), "{patch}");
    expect![[r#"
        exit 1
        warning: #1 not fixed: its lines changed since the review
        note: undo with `crh fix --undo RUN`
        ---
        #2 replaced line 5 (shop/orders.py)
        1 issue fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&[])));
    assert_eq!(desk.text(ORDERS), mine.replace("result / len(items)", "result"));
    assert!(desk.text(MAIL).contains("return None"));
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&["--undo", &name]).code, 0);
    assert_eq!(desk.files(), before);
}

#[test]
fn run_without_a_checkout_cannot_be_fixed() {
    let desk = Desk::new();
    let folder = tempfile::tempdir().unwrap();
    let outside = desk.user.crh(folder.path(), &["fix"]).run();
    let none = desk.fix(&[]);
    let args = ["review", "--strategy", "single", "HEAD~1..HEAD"];
    desk.checked(with_model(desk.crh(&args), &says(&[mean()])));
    let range = desk.fix(&[]);
    let elsewhere = desk.fix(&["2020", "--run-dir", "."]);
    let shown = [outside, none, range, elsewhere].map(|output| desk.shown(&output)).concat();
    let shown = shown.replace(folder.path().to_str().unwrap(), "OUTSIDE");
    expect![[r#"
        exit 2
        error: `OUTSIDE` is not inside a git repository
        hint: run `crh fix` in the reviewed checkout
        ---
        exit 2
        error: no runs in `REPO/.crh/runs`
        hint: create one with `crh review`; choose another folder with `--run-dir DIR`
        ---
        exit 2
        error: cannot fix the issues of run `RUN`: it reviewed `30af60f6ed88..main`, not the current checkout
        hint: check out what you want to fix, and review it with `crh review`
        ---
        exit 2
        error: no run `2020` in `REPO/.`
        hint: `crh show --list --run-dir .` lists the runs
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn copied_checkout_is_not_the_reviewed_one() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    let copy = tempfile::tempdir().unwrap();
    let (from, to) = (format!("{}/.", desk.repo.path().display()), copy.path().to_str().unwrap());
    assert_eq!(Program::new("cp", copy.path()).args(["-a", &from, to]).run().code, 0);
    let output = desk.user.crh(copy.path(), &["fix"]).run();
    expect![[r#"
        exit 2
        error: the run belongs to the checkout `REPO`
        hint: nothing was changed; run the command in that checkout
        ---
    "#]]
    .assert_eq(&desk.shown(&output));
}

#[test]
fn run_needed_for_rollback_is_not_pruned() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    let before = desk.text(ORDERS);
    desk.fix(&[]);
    let fix = desk.run().join("fixes/1").canonicalize().unwrap();
    fs::write(fix.join("state.json"), "\"placing\"").unwrap();
    fs::write(desk.repo.path().join(".crh/fixing"), format!("{}\n", fix.display())).unwrap();
    let prune = || desk.shown(&desk.crh(&["runs", "prune", "--keep", "0"]).run());
    expect![[r#"
        exit 0
        warning: keeping `RUN`: it holds the original files of an interrupted fix; run `crh fix` in that checkout to roll it back
        note: deleted 0 runs
        ---
    "#]].assert_eq(&prune());
    assert_eq!(desk.fix(&["--issue", "9"]).code, 1);
    assert_eq!(desk.text(ORDERS), before);
    expect![[r#"
        exit 0
        note: deleted 1 run
        ---
        RUN
    "#]]
    .assert_eq(&prune());
}

/// The stored reason of each open issue.
fn reasons(desk: &Desk) -> Vec<(u64, Option<String>)> {
    let reason = |row: &Value| {
        (row["issue"]["number"].as_u64().unwrap(), row["left"].as_str().map(str::to_owned))
    };
    desk.stored("residual-work.json").as_array().unwrap().iter().map(reason).collect()
}

#[test]
fn skip_reason_is_kept_until_the_next_attempt() {
    let desk = Desk::new();
    let broken = swallowed_fixed_by("    except Exception:\n        raise (");
    desk.review(&says(&[broken, unpaid(), mean()]), &["--mode", "headless"]);
    let objects = "its fix fails a static check: The file does not parse (shop/mail.py:5, `syntax/does-not-parse`)";
    let left = [(1, None), (2, Some(objects.to_owned()))];
    assert_eq!(reasons(&desk), left);
    desk.fix(&["--issue", "99"]);
    assert_eq!(reasons(&desk), left);
    // Without a model, crh does not try to fix the issue.
    assert_eq!(desk.fix(&["--issue", "1"]).code, 1);
    assert_eq!(reasons(&desk), left);
    // A new attempt replaces the reason.
    desk.repo.write(MAIL, desk.text(MAIL).replace("pass", "return None"));
    desk.fix(&["--issue", "2"]);
    let changed = "its lines changed since the review";
    assert_eq!(reasons(&desk), [(1, None), (2, Some(changed.to_owned()))]);
    // An undo clears the reasons.
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&["--undo", &name]).code, 0);
    assert_eq!(reasons(&desk), [(1, None), (2, None), (3, None)]);
}

#[test]
fn undo_accepts_fixes_undone_by_git() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let before = desk.files();
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&[]).code, 0);
    let fixed = desk.files();
    // First one of the two files, then the other.
    desk.repo.git(&["checkout", "--quiet", "--", MAIL]);
    expect![[r#"
        exit 0
        ---
        Restored:
        shop/orders.py
    "#]]
    .assert_eq(&desk.shown(&desk.crh(&["fix", "--undo", &name]).run()));
    assert_eq!(desk.files(), before);
    assert_eq!(desk.fix(&[]).code, 0);
    assert_eq!(desk.files(), fixed, "it can be fixed again");
    desk.repo.git(&["checkout", "--quiet", "--", "."]);
    expect![[r#"
        exit 0
        note: the checkout had no fixes any more; the report of the run lists none now
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.crh(&["fix", "--undo", &name]).run()));
    assert_eq!(desk.files(), before);
    assert_eq!(desk.fix(&[]).code, 0);
    assert_eq!(desk.files(), fixed);
}

#[test]
fn fix_that_git_removed_is_open_and_can_be_applied_again() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean(), swallowed()]);
    let before = desk.files();
    assert_eq!(desk.fix(&[]).code, 0);
    let fixed = desk.files();
    let show = || {
        let shown = desk.crh(&["show", "--format", "json"]).run();
        assert!(serde_json::from_str::<Value>(&shown.stdout).is_ok(), "{}", shown.shown());
        desk.shown(&Output { stdout: String::new(), ..shown })
    };
    assert_eq!(show(), "exit 0\n---\n");
    desk.repo.git(&["stash", "--quiet"]);
    expect![[r#"
        exit 0
        warning: `shop/mail.py`, `shop/orders.py` no longer have the fixes of this run, so its report is not up to date; run `crh fix RUN` to update it and apply the safe fixes again, or `crh fix --undo RUN` to undo all fixes
        ---
    "#]].assert_eq(&show());
    // A dry run writes nothing.
    let stored = |name: &str| fs::read(desk.run().join(name)).ok();
    let names = ["review.json", "residual-work.json", "stages/second-looks.json"];
    let reports = names.map(stored);
    let dry = desk.fix(&["--dry-run", "--issue", "1,2"]);
    expect![[r#"
        exit 0
        note: #1, #2 are open again, because their fixes are no longer in `shop/mail.py`, `shop/orders.py`
        ---
    "#]].assert_eq(&desk.shown(&Output { stdout: String::new(), ..dry.clone() }));
    assert!(dry.stdout.contains("-        pass\n+        raise\n"), "{}", dry.shown());
    assert_eq!(names.map(stored), reports);
    expect![[r#"
        exit 0
        note: #1, #2 are open again, because their fixes are no longer in `shop/mail.py`, `shop/orders.py`
        note: undo with `crh fix --undo RUN`
        ---
        #1 replaced lines 4 to 5 (shop/mail.py)
        1 issue fixed.
    "#]].assert_eq(&desk.shown(&desk.fix(&["--issue", "1"])));
    expect![[r#"
        #1 fixed: The error is swallowed
        #2 open: The total is divided by the count
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    assert_eq!(show(), "exit 0\n---\n");
    expect![[r#"
        exit 0
        note: #1 is already fixed
        note: undo with `crh fix --undo RUN`
        ---
        #2 replaced line 5 (shop/orders.py)
        1 issue fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--issue", "1,2"])));
    assert_eq!(desk.files(), fixed);
    assert!(!issues(&desk.stored("review.json")).contains("open"));
    assert!(!desk.stored("review.json")["warnings"].to_string().contains("not fixed"));
    assert_eq!(desk.fix(&["--undo"]).code, 0);
    assert_eq!(desk.files(), before);
}

#[test]
fn fix_that_was_committed_or_edited_elsewhere_stays_fixed() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean(), swallowed()]);
    assert_eq!(desk.fix(&[]).code, 0);
    desk.repo.commit("fixes");
    desk.repo.write(ORDERS, format!("import decimal\n\n{}", desk.text(ORDERS)));
    let text = desk.text(ORDERS).replace("return order.amount", "return order.paid");
    desk.repo.write(ORDERS, text);
    let fixed =
        "exit 0\nnote: #1 is already fixed\nnote: #2 is already fixed\n---\n0 issues fixed.\n";
    assert_eq!(desk.shown(&desk.fix(&["--issue", "1,2"])), fixed);
    let shown = desk.crh(&["show"]).run();
    assert!(!shown.stderr.contains("warning"), "{}", shown.shown());
    // One of the two fixes is gone.
    desk.repo
        .write(ORDERS, desk.text(ORDERS).replace("return result", "return result / len(items)"));
    expect![[r#"
        exit 0
        note: #2 is open again, because its fix is no longer in `shop/orders.py`
        note: #1 is already fixed
        ---
        0 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.crh(&["fix", "--issue", "1"]).run()));
    // On another branch without the reviewed commit, the files say nothing.
    desk.repo.git(&["stash", "--quiet"]);
    desk.repo.git(&["checkout", "--quiet", "-b", "other", "HEAD~2"]);
    let shown = desk.crh(&["show"]).run();
    assert!(!shown.stderr.contains("warning"), "{}", shown.shown());
}

#[test]
fn undo_restores_a_file_that_was_partly_reverted_and_fixed_again() {
    let desk = Desk::with_faults();
    let paid = safe("A refund of all", "shop/orders.py:9", "return order.amount", "    return 0");
    desk.reviewed(&[mean(), paid]);
    let before = desk.files();
    assert_eq!(desk.fix(&[]).code, 0);
    let fixed = desk.files();
    desk.repo
        .write(ORDERS, desk.text(ORDERS).replace("return result", "return result / len(items)"));
    let again = desk.fix(&["--issue", "1"]);
    assert_eq!(again.code, 0, "{}", again.shown());
    assert_eq!(desk.files(), fixed);
    let undone = desk.fix(&["--undo"]);
    assert_eq!(undone.code, 0, "{}", undone.shown());
    assert_eq!(desk.files(), before);
}

#[test]
fn fix_that_git_removed_and_brought_back_is_fixed_again() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean(), swallowed()]);
    assert_eq!(desk.fix(&[]).code, 0);
    let report = desk.stored("review.json");
    desk.repo.git(&["stash", "--quiet"]);
    // This command stores that both fixes are missing.
    assert_eq!(desk.fix(&["--issue", "9"]).code, 1);
    assert!(!issues(&desk.stored("review.json")).contains("fixed"));
    desk.repo.git(&["stash", "pop", "--quiet"]);
    assert_eq!(desk.fix(&["--issue", "9"]).code, 1);
    for name in ["issues", "applied_fixes", "verdict", "warnings"] {
        assert_eq!(desk.stored("review.json")[name], report[name], "{name}");
    }
    // It can be missing again.
    desk.repo.git(&["checkout", "--quiet", "--", MAIL]);
    assert_eq!(desk.fix(&["--issue", "9"]).code, 1);
    expect![[r#"
        #1 open: The error is swallowed
        #2 fixed: The total is divided by the count
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
}

#[test]
fn report_stays_if_a_missing_fix_cannot_be_stored() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean()]);
    assert_eq!(desk.fix(&[]).code, 0);
    let report = desk.stored("review.json");
    desk.repo.git(&["checkout", "--quiet", "--", "."]);
    let before = desk.files();
    // A folder is where crh would write.
    fs::create_dir(desk.run().join("stages/second-looks.json")).unwrap();
    let output = desk.fix(&["--issue", "1"]);
    assert_eq!(output.code, 3, "{}", output.shown());
    assert_eq!((desk.files(), desk.stored("review.json")), (before, report));
}

#[test]
fn undo_accepts_fix_that_git_removed_with_an_edit() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let before = desk.files();
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    desk.repo.write(MAIL, desk.text(MAIL) + "# note\n");
    assert_eq!(desk.fix(&[]).code, 0);
    assert_ne!(desk.files(), before);
    desk.repo.git(&["checkout", "--quiet", "--", MAIL]);
    let undone = desk.crh(&["fix", "--undo", &name]).run();
    assert_eq!(undone.code, 0, "{}", undone.shown());
    assert_eq!(desk.files(), before);
    let report = desk.stored("review.json");
    assert_eq!(report["applied_fixes"].as_array().map_or(0, Vec::len), 0, "{report}");
    assert_eq!(desk.fix(&[]).code, 0);
    assert_ne!(desk.files(), before, "it can be fixed again");
}

#[test]
fn damaged_journal_is_reported_and_not_applied() {
    for (damaged, contents) in [("1/0.before", "zz"), ("1/journal.json", "{")] {
        let desk = Desk::new();
        desk.reviewed(&[mean()]);
        let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(desk.fix(&[]).code, 0);
        let fixed = desk.files();
        fs::write(desk.run().join("fixes").join(damaged), contents).unwrap();
        let output = desk.fix(&["--undo", &name]);
        assert_eq!(output.code, 3, "{}", output.shown());
        let said = "error: the journal of a fix in ";
        assert!(output.stderr.starts_with(said), "{}", output.shown());
        assert_eq!(desk.files(), fixed, "{damaged} {contents}");
    }
}

#[test]
fn undo_without_journals_fails() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&[]).code, 0);
    fs::remove_dir_all(desk.run().join("fixes")).unwrap();
    expect![[r#"
        exit 3
        error: crh's copies of the original files are missing
        hint: crh changed no file; restore the fixed files with git, such as `git restore FILE`
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo", &name])));
}

#[test]
fn undo_and_rollback_work_in_a_moved_checkout() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let before = BTreeMap::from([(MAIL, desk.text(MAIL)), (ORDERS, desk.text(ORDERS))]);
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&[]).code, 0);
    let elsewhere = tempfile::TempDir::new().unwrap();
    let there = elsewhere.path().join("moved");
    let texts =
        |root: &Path| [MAIL, ORDERS].map(|path| fs::read_to_string(root.join(path)).unwrap());
    let undo = |root: &Path| desk.user.crh(root, &["fix", "--undo", &name]).run();
    let reviewed = [before[MAIL].clone(), before[ORDERS].clone()];
    for is_interrupted in [false, true] {
        if is_interrupted {
            assert_eq!(desk.fix(&[]).code, 0);
            interrupt(&desk, &before, &[MAIL]);
        }
        fs::rename(desk.repo.path(), &there).unwrap();
        let output = undo(&there);
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_eq!(texts(&there), reviewed);
        fs::rename(&there, desk.repo.path()).unwrap();
    }
}

#[test]
fn fix_of_one_place_does_not_close_a_group_of_two_p1() {
    let desk = Desk::new();
    let urgent = with(mean(), json!({ "severity": "P1" }));
    let group = json!({
        "findings": ["F1", "F2"], "verdict": "publish", "probability": 0.9, "severity": "P1",
    });
    let model = says(&[urgent, unpaid()])
        .on("editor", [calls("report_edit", json!({ "groups": [group] }))]);
    assert!(desk.review(&model, &[]).code < 2);
    let show = |desk: &Desk| {
        let report = desk.stored("review.json");
        let issue = &report["issues"][0];
        let (line, quote) = (&issue["line_start"], &issue["evidence_snippet"]);
        format!("{}{line} {quote} {}\n", issues(&report), report["verdict"])
    };
    // The dry run ends as the fix does.
    assert_eq!(desk.fix(&["--issue", "1", "--dry-run"]).code, 1);
    expect![[r#"
        exit 1
        note: undo with `crh fix --undo RUN`
        ---
        #1 replaced line 5 (shop/orders.py); the fix did not change all places of the issue
        0 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--issue", "1"])));
    expect![[r##"
        #1 partial: A refund of what was not paid
        9 "return order.amount" "Ready with fixes"
    "##]]
    .assert_eq(&show(&desk));
    // A model fixes the other place.
    let edit = edits(ORDERS, "    return order.amount\n", "    return order.paid\n");
    let model = FakeModel::start().on("fixer-1", [edit, reports(1, "done")]);
    let second = desk.checked(with_model(desk.crh(&["fix", "--issue", "1"]), &model));
    assert_eq!(second.code, 0, "{}", second.shown());
    expect![[r##"
        #1 fixed: A refund of what was not paid
        9 "return order.amount" "Ready to merge"
    "##]]
    .assert_eq(&show(&desk));
}

#[test]
fn fix_of_one_place_does_not_close_a_group_of_two_p2() {
    let desk = Desk::with_faults();
    let group = json!({
        "findings": ["F1", "F2"], "verdict": "publish", "probability": 0.9, "severity": "P2",
    });
    let model = says(&[mean(), with(unpaid(), json!({ "severity": "P2" }))])
        .on("editor", [calls("report_edit", json!({ "groups": [group] }))]);
    assert!(desk.review(&model, &[]).code < 2);
    let open = issues(&desk.stored("review.json"));
    desk.fix(&["--issue", "1"]);
    let partial = issues(&desk.stored("review.json"));
    expect![[r#"
        #1 open: The total is divided by the count
        #1 partial: A refund of what was not paid
    "#]]
    .assert_eq(&format!("{open}{partial}"));
    // The issue is not open again: it was open before.
    desk.repo.git(&["checkout", "--quiet", "--", "."]);
    let reverted = desk.fix(&["--issue", "9"]);
    assert!(!reverted.stderr.contains("open again"), "{}", reverted.shown());
    assert_eq!(issues(&desk.stored("review.json")), open);
}

#[test]
fn dismissed_issue_is_not_open_in_stored_runs() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let show = || {
        let output = desk.crh(&["show", "--format", "json"]).run();
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        let numbers = |list: &Value| {
            let rows = list.as_array().unwrap().iter();
            rows.map(|it| it["number"].to_string()).collect::<Vec<_>>().join(" ")
        };
        format!("{} | {}", numbers(&report["issues"]), report["verdict_reason"])
    };
    assert_eq!(show(), "1 2 | \"2 issues to fix\"");
    assert_eq!(desk.crh(&["dismiss", "1", "on purpose"]).run().code, 0);
    assert_eq!(show(), "2 | \"1 issue to fix\"");
    assert_eq!(desk.crh(&["dismiss", "--undo", "1"]).run().code, 0);
    assert_eq!(show(), "1 2 | \"2 issues to fix\"");
}

#[test]
fn undo_names_todos_and_says_what_it_updated() {
    let desk = Desk::new();
    let model = finds(&[mean(), with(unpaid(), json!({ "severity": "P2" }))]);
    let autofix = desk.review(&model, &["--mode", "autofix"]);
    assert!(autofix.code < 2, "{}", autofix.shown());
    let fixed = fs::read(desk.run().join("review.json")).unwrap();
    expect![[r#"
        exit 0
        note: the todo files of this review stay: `.context/compound-engineering/todos/001-ready-p2-a-refund-of-what-was-not-paid.md`
        ---
        Restored:
        shop/orders.py
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo"])));
    // As if an earlier undo had not updated the report.
    fs::write(desk.run().join("review.json"), fixed).unwrap();
    let again = desk.crh(&["fix", "--undo"]).run();
    expect![[r#"
        exit 0
        note: the checkout had no fixes any more; the report of the run lists none now
        note: the todo files of this review stay: `.context/compound-engineering/todos/001-ready-p2-a-refund-of-what-was-not-paid.md`
        ---
    "#]]
    .assert_eq(&desk.shown(&again));
    expect![[r#"
        exit 0
        note: the fixes of run `RUN` are already undone; to undo the fixes of an older review, name it: `crh fix --undo RUN`
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo"])));
}

#[test]
fn undo_without_run_never_goes_to_an_older_run() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    expect![[r#"
        exit 0
        note: nothing to undo: no stored review has fixes applied in this checkout
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo"])));
    let first = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    let before = desk.files();
    assert_eq!(desk.fix(&[]).code, 0);
    let fixed_once = desk.files();
    // The names of runs are ordered by the second.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    desk.reviewed(&[swallowed()]);
    assert_eq!(desk.fix(&[]).code, 0);
    assert_ne!(desk.files(), fixed_once);
    assert_eq!(desk.fix(&["--undo"]).code, 0);
    assert_eq!(desk.files(), fixed_once);
    expect![[r#"
        exit 0
        note: the fixes of run `RUN` are already undone; to undo the fixes of an older review, name it: `crh fix --undo RUN`
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo"])));
    assert_eq!(desk.files(), fixed_once);
    assert_eq!(desk.fix(&["--undo", &first]).code, 0);
    assert_eq!(desk.files(), before);
}

#[test]
fn printed_commands_quote_paths() {
    let desk = Desk::new();
    let folder = desk.user.path("my runs");
    let run_dir = folder.to_str().unwrap();
    let args = ["review", "--strategy", "single", "--run-dir", run_dir];
    let args = [&args[..], &CHECKOUT[..]].concat();
    assert!(with_model(desk.crh(&args), &says(&[mean()])).run().code < 2);
    let fixed = desk.crh(&["fix", "--run-dir", run_dir]).run();
    assert!(fixed.stderr.contains(&format!(" --run-dir '{run_dir}'`")), "{}", fixed.shown());
}

#[test]
fn fix_that_failed_in_autofix_is_named() {
    let desk = Desk::new();
    let broken = swallowed_fixed_by("    except Exception:\n        raise (");
    let output = desk.review(&finds(&[broken, mean()]), &["--mode", "autofix"]);
    assert!(output.code < 2, "{}", output.shown());
    expect![[r#"
        exit 0
        note: no open issue has a safe fix; `crh show RUN` shows what each issue needs
        note: an earlier fix of #1 failed, and `--issue 1` tries it again: its fix fails a static check: The file does not parse (shop/mail.py:5, `syntax/does-not-parse`)
        ---
        0 issues fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&[])));
}

#[test]
fn report_recommends_no_fix_that_crh_refused() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    let markdown = || fs::read_to_string(desk.run().join("review.md")).unwrap();
    let (hint, refused) = ("`crh fix` can fix this", "a fix by crh failed");
    assert!(markdown().contains(hint), "{}", markdown());
    desk.repo.write(ORDERS, desk.text(ORDERS).replace("len(items)", "2"));
    assert_eq!(desk.fix(&[]).code, 1);
    assert!(markdown().contains(refused) && !markdown().contains(hint), "{}", markdown());
    // The next attempt replaces the reason.
    desk.repo.git(&["checkout", "--quiet", "."]);
    assert_eq!(desk.fix(&[]).code, 0);
    assert!(!markdown().contains(refused), "{}", markdown());
}

#[test]
fn report_names_the_model_flag_until_a_model_has_tried() {
    let desk = Desk::new();
    let model = says(&[vague(mean())]);
    assert!(desk.review(&model, &["--model", "openai:gpt-5.4-mini"]).code < 2);
    let markdown = || fs::read_to_string(desk.run().join("review.md")).unwrap();
    let step = "`crh fix --model MODEL` lets a model fix this";
    assert!(markdown().contains(step), "{}", markdown());
    let output = desk.fix(&[]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(output.stderr.contains("no model is configured"), "{}", output.stderr);
    assert!(markdown().contains(step), "{}", markdown());
    assert_eq!(reasons(&desk), [(1, None)]);
}

#[test]
fn exact_fix_of_a_static_check_is_applied() {
    const SPEC: &str = "shop/orders.spec.ts";
    let desk = Desk::new();
    desk.repo.write(SPEC, "it.only('adds', () => {\n  total([]);\n});\n");
    desk.repo.commit("a test");
    let args = [&["check"], &CHECKOUT[..]].concat();
    let checked = desk.checked(desk.crh(&args));
    assert!(checked.code < 2, "{}", checked.shown());
    let fixed = desk.fix(&["--issue", "1"]);
    assert_eq!(fixed.code, 0, "{}", fixed.shown());
    assert_eq!(desk.text(SPEC), "it('adds', () => {\n  total([]);\n});\n");
    expect![[r#"
        #1 fixed: A focused test keeps other tests from running
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
}

#[test]
fn checks_in_interactive_mode_print_no_note_about_fixing() {
    let desk = Desk::new();
    let args = [&["check", "--mode", "interactive"], &CHECKOUT[..]].concat();
    let output = desk.crh(&args).run();
    assert!(!output.stderr.contains("changes no file"), "{}", output.shown());
}
