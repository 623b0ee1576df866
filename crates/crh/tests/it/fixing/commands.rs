//! `crh fix`: what it applies, shows and takes back.

use expect_test::expect;

use super::faults::interrupt;
use super::*;

#[test]
fn what_is_safe_is_applied_and_taken_back_to_the_byte() {
    let desk = Desk::new();
    let before = desk.files();
    desk.reviewed(&[mean(), swallowed(), unpaid()]);
    let output = desk.fix(&[]);
    expect![[r#"
        exit 0
        ---
        #2 replaced lines 4 to 5 (shop/mail.py)
        #3 replaced line 5 (shop/orders.py)
        2 issues were fixed.
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
        note: no open issue is safe to fix without asking; `--issue N` fixes one all the same
        ---
        0 issues were fixed.
    "#]]
    .assert_eq(&desk.shown(&again));
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    let undone = desk.fix(&["--undo", &name]);
    expect![[r#"
        exit 0
        ---
        As before the fixes:
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
}

#[test]
fn a_dry_run_shows_the_patch_that_would_be_applied() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let before = desk.files();
    let output = desk.fix(&["--dry-run"]);
    // A line of one blank is hard to see.
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
fn issues_are_fixed_one_after_another_by_their_numbers() {
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
        ---
        #2 replaced line 2 (shop/orders.py)
        1 issue was fixed.
    "#]]
    .assert_eq(&desk.shown(&one));
    let other = desk.fix(&["--issue", "1,3", "--issue", "2", "--issue", "9"]);
    expect![[r#"
        exit 1
        warning: #1 is left: it comes without an exact replacement, and no model is configured to fix it
        warning: #2 is left: it is fixed already
        warning: #9 is left: the report has no such issue
        ---
        #3 replaced line 5 (shop/orders.py)
        1 issue was fixed.
    "#]]
    .assert_eq(&desk.shown(&other));
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
fn a_run_about_another_checkout_is_not_fixed_from_here() {
    let desk = Desk::new();
    let elsewhere = Desk::new();
    desk.reviewed(&[mean()]);
    let before = desk.files();
    let run = desk.run().display().to_string();
    for args in [&["fix", &run][..], &["fix", &run, "--dry-run"]] {
        let output = desk.user.crh(elsewhere.repo.path(), args).run();
        expect![[r#"
            exit 2
            error: the run is about the checkout `REPO`
            hint: go into that checkout; nothing was changed
            ---
        "#]]
        .assert_eq(&desk.shown(&output));
    }
    assert_eq!(desk.files(), before);
}

#[test]
fn what_was_changed_between_two_fixes_is_not_lost_with_them() {
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
        error: `shop/orders.py` was changed between two fixes, and would lose that with them
        hint: nothing was changed; what it was like is in the folder `fixes` of the run
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo", &run])));
    assert_eq!(desk.text(ORDERS), before);
}

#[test]
fn what_git_took_back_between_two_fixes_is_in_nobodys_way() {
    let desk = Desk::new();
    let zero = safe("It starts at zero", "shop/orders.py:2", "    result = 0", "    result = 0.0");
    desk.reviewed(&[zero, mean()]);
    let (before, run) = (desk.text(ORDERS), desk.run());
    assert_eq!(desk.fix(&["--issue", "1"]).code, 0);
    desk.repo.git(&["checkout", "--quiet", "--", ORDERS]);
    assert_eq!(desk.fix(&["--issue", "2"]).code, 0);
    assert_ne!(desk.text(ORDERS), before);
    let output = desk.fix(&["--undo", run.file_name().unwrap().to_str().unwrap()]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(desk.text(ORDERS), before);
}

#[test]
fn what_was_changed_since_the_fix_is_not_taken_back() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    desk.fix(&[]);
    desk.repo.write(MAIL, "mine\n");
    let before = desk.files();
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    expect![[r#"
        exit 2
        error: `shop/mail.py` is not as the fix has left it
        hint: nothing was changed; put away what you did to it since
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo", &name])));
    assert_eq!(desk.files(), before);
}

#[test]
fn what_the_checks_object_to_is_not_applied() {
    let desk = Desk::new();
    let broken = swallowed_fixed_by("    except Exception:\n        raise (");
    desk.reviewed(&[mean(), broken]);
    let output = desk.fix(&[]);
    expect![[r#"
        exit 1
        warning: #1 is left: the checks object to its fix: The file does not parse (shop/mail.py:5, `syntax/does-not-parse`)
        ---
        #2 replaced line 5 (shop/orders.py)
        1 issue was fixed.
    "#]].assert_eq(&desk.shown(&output));
    assert!(desk.text(MAIL).ends_with("        pass\n"));
    assert!(desk.text(ORDERS).contains("    return result\n"));
}

#[test]
fn work_that_is_committed_meanwhile_can_be_fixed_and_so_can_a_file_that_others_left_alone() {
    let desk = Desk::new();
    desk.repo.write(MAIL, format!("{}\n\nX = 1\n", desk.text(MAIL)));
    desk.reviewed(&[mean()]);
    desk.repo.commit("what was reviewed");
    desk.repo.write("other.py", "X = 1\n");
    desk.repo.commit("something else");
    assert_eq!(desk.fix(&["--dry-run"]).code, 0);
    assert_eq!(desk.fix(&[]).code, 0);
    assert!(desk.text(ORDERS).contains("    return result\n"));
}

#[test]
fn what_somebody_has_changed_around_a_fix_stays_and_what_it_is_about_keeps_it_out() {
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
        warning: #1 is left: its lines were changed since they were reviewed
        ---
        #2 replaced line 5 (shop/orders.py)
        1 issue was fixed.
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&[])));
    assert_eq!(desk.text(ORDERS), mine.replace("result / len(items)", "result"));
    assert!(desk.text(MAIL).contains("return None"));
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&["--undo", &name]).code, 0);
    assert_eq!(desk.files(), before);
}

#[test]
fn where_nothing_can_be_fixed_that_is_said() {
    let desk = Desk::new();
    let folder = tempfile::tempdir().unwrap();
    let outside = desk.user.crh(folder.path(), &["fix"]).run();
    let none = desk.fix(&[]);
    let args = ["review", "--strategy", "single", "HEAD~1..HEAD"];
    with_model(desk.crh(&args), &says(&[mean()])).run();
    let range = desk.fix(&[]);
    let elsewhere = desk.fix(&["2020", "--run-dir", "."]);
    let shown = [outside, none, range, elsewhere].map(|output| desk.shown(&output)).concat();
    let shown = shown.replace(folder.path().to_str().unwrap(), "OUTSIDE");
    expect![[r#"
        exit 2
        error: `OUTSIDE` is not inside a git repository
        hint: `crh fix` changes a checkout: go into the one that was reviewed
        ---
        exit 2
        error: there are no runs in `REPO/.crh/runs`
        hint: `crh review` makes one; `--run-dir DIR` names another folder
        ---
        exit 2
        error: nothing of this run can be fixed: what was reviewed is not the current checkout
        hint: review the checkout itself to fix what is found in it
        ---
        exit 2
        error: there is no run `2020` in `REPO/.`
        hint: `crh show --list --run-dir .` lists the runs
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_copy_of_a_checkout_is_not_the_one_that_was_reviewed() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    let copy = tempfile::tempdir().unwrap();
    let (from, to) = (format!("{}/.", desk.repo.path().display()), copy.path().to_str().unwrap());
    assert_eq!(Program::new("cp", copy.path()).args(["-a", &from, to]).run().code, 0);
    let output = desk.user.crh(copy.path(), &["fix"]).run();
    expect![[r#"
        exit 2
        error: the run is about the checkout `REPO`
        hint: go into that checkout; nothing was changed
        ---
    "#]]
    .assert_eq(&desk.shown(&output));
}

#[test]
fn a_run_that_leads_back_is_not_pruned() {
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
        warning: `RUN` stays: a fix was interrupted, and it has what stood there before; `crh fix` in that checkout rolls it back
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

/// Why each open issue was left, as the run keeps it.
fn reasons(desk: &Desk) -> Vec<(u64, Option<String>)> {
    let reason = |row: &Value| {
        (row["issue"]["number"].as_u64().unwrap(), row["left"].as_str().map(str::to_owned))
    };
    desk.stored("residual-work.json").as_array().unwrap().iter().map(reason).collect()
}

#[test]
fn why_an_issue_was_left_is_kept_until_it_is_tried_again() {
    let desk = Desk::new();
    let broken = swallowed_fixed_by("    except Exception:\n        raise (");
    desk.review(&says(&[broken, unpaid(), mean()]), &["--mode", "headless"]);
    let objects = "the checks object to its fix: The file does not parse (shop/mail.py:5, `syntax/does-not-parse`)";
    let left =
        |unpaid: Option<&str>| vec![(1, unpaid.map(str::to_owned)), (2, Some(objects.to_owned()))];
    assert_eq!(reasons(&desk), left(None));
    desk.fix(&["--issue", "99"]);
    assert_eq!(reasons(&desk), left(None));
    desk.fix(&["--issue", "1"]);
    let no_model = "it comes without an exact replacement, and no model is configured to fix it";
    assert_eq!(reasons(&desk), left(Some(no_model)));
    // One that was tried again has the new reason.
    desk.repo.write(MAIL, desk.text(MAIL).replace("pass", "return None"));
    desk.fix(&["--issue", "2"]);
    let changed = "its lines were changed since they were reviewed";
    let again = vec![(1, Some(no_model.to_owned())), (2, Some(changed.to_owned()))];
    assert_eq!(reasons(&desk), again);
    // Whatever was tried is as if it had not been.
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&["--undo", &name]).code, 0);
    assert_eq!(reasons(&desk), [(1, None), (2, None), (3, None)]);
}

#[test]
fn what_was_taken_back_by_git_is_taken_back() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let before = desk.files();
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&[]).code, 0);
    let fixed = desk.files();
    // One of the two files, and then the other.
    desk.repo.git(&["checkout", "--quiet", "--", MAIL]);
    expect![[r#"
        exit 0
        note: no open issue is safe to fix without asking; `--issue N` fixes one all the same
        note: `shop/mail.py` is not as the fixes of this run have left it; if they were taken back by other means, `crh fix --undo RUN` lets the run know
        ---
        0 issues were fixed.
    "#]].assert_eq(&desk.shown(&desk.fix(&[])));
    expect![[r#"
        exit 0
        ---
        As before the fixes:
        shop/mail.py
        shop/orders.py
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo", &name])));
    assert_eq!(desk.files(), before);
    assert_eq!(desk.fix(&[]).code, 0);
    assert_eq!(desk.files(), fixed, "it can be fixed again");
    desk.repo.git(&["checkout", "--quiet", "--", "."]);
    assert_eq!(desk.fix(&["--undo", &name]).code, 0);
    assert_eq!(desk.files(), before);
    assert_eq!(desk.fix(&[]).code, 0);
    assert_eq!(desk.files(), fixed);
}

#[test]
fn a_damaged_journal_is_said_and_puts_nothing_anywhere() {
    for (damaged, contents) in [("1/0.before", ""), ("1/0.before", "zz"), ("1/journal.json", "{")] {
        let desk = Desk::new();
        desk.reviewed(&[mean()]);
        let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(desk.fix(&[]).code, 0);
        let fixed = desk.files();
        fs::write(desk.run().join("fixes").join(damaged), contents).unwrap();
        let output = desk.fix(&["--undo", &name]);
        assert_eq!(output.code, 3, "{}", output.shown());
        let said = "error: what a fix of this run has written down in ";
        assert!(output.stderr.starts_with(said), "{}", output.shown());
        assert_eq!(desk.files(), fixed, "{damaged} {contents}");
    }
}

#[test]
fn fixes_of_which_nothing_is_written_down_are_not_said_to_be_gone() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&[]).code, 0);
    fs::remove_dir_all(desk.run().join("fixes")).unwrap();
    expect![[r#"
        exit 3
        error: what the fixes of this run have changed is not written down any more
        hint: nothing was changed; take them back by git
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&["--undo", &name])));
}

#[test]
fn fixes_in_a_checkout_that_was_moved_are_taken_back_and_rolled_back() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let before = BTreeMap::from([(MAIL, desk.text(MAIL)), (ORDERS, desk.text(ORDERS))]);
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&[]).code, 0);
    let elsewhere = tempfile::TempDir::new().unwrap();
    let there = elsewhere.path().join("moved");
    let texts = |root: &std::path::Path| {
        [MAIL, ORDERS].map(|path| fs::read_to_string(root.join(path)).unwrap())
    };
    let undo = |root: &std::path::Path| desk.user.crh(root, &["fix", "--undo", &name]).run();
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
