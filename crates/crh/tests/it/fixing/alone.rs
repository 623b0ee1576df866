//! Only one fixer works on a checkout at a time; a second command is refused and does not disturb
//! it.

use std::sync::mpsc::Receiver;
use std::sync::{Mutex, mpsc};

use expect_test::expect;

use super::repairing::{BEFORE, edits, reports, vague};
use super::*;
use crh_testkit::fake_model::computed;

/// The first turn of a fixer, which runs these programs one after the other. Their output is
/// received.
fn turn_during<const N: usize>(others: [Program; N]) -> (ScriptedReply, Receiver<Output>) {
    let (others, (said, heard)) = (Mutex::new(Vec::from(others)), mpsc::channel());
    let turn = computed(move |_| {
        others.lock().unwrap().drain(..).for_each(|other| said.send(other.run()).unwrap());
        edits(ORDERS, BEFORE, "    return result\n")
    });
    (turn, heard)
}

#[test]
fn second_fix_is_refused_while_a_fixer_runs() {
    let desk = Desk::new();
    desk.reviewed(&[swallowed()]);
    let earlier = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    desk.reviewed(&[vague(mean()), swallowed()]);
    let idle = FakeModel::start();
    let other = |args: &[&str]| with_model(desk.crh(args), &idle);
    let (turn, heard) = turn_during([other(&["fix"]), other(&["fix", &earlier])]);
    let model = FakeModel::start().on("fixer-1", [turn, reports(2, "done")]);
    let first = desk.checked(with_model(desk.crh(&["fix"]), &model));
    let others: String = heard.iter().map(|other| desk.shown(&other)).collect();
    expect![[r#"
        exit 2
        error: the run `RUN` is in use by another process
        hint: wait until it is finished
        ---
        exit 1
        warning: #1 not fixed: nothing was applied: another crh is changing this checkout
        ---
        0 issues fixed.
        exit 0
        note: undo with `crh fix --undo RUN`
        ---
        #1 replaced lines 4 to 5 (shop/mail.py)
        #2 It is done. (shop/orders.py)
        2 issues fixed.
    "#]]
    .assert_eq(&format!("{others}{}", desk.shown(&first)));
    assert_eq!(idle.requests().len(), 0);
    assert!(desk.text(ORDERS).contains("    return result\n"));
    assert!(desk.text(MAIL).contains("raise"));
    let report = desk.stored("review.json");
    expect![[r#"
        #1 fixed: The error is swallowed
        #2 fixed: The total is divided by the count
    "#]]
    .assert_eq(&issues(&report));
    assert_eq!(report["warnings"], json!([]));
    assert_eq!(desk.stored("residual-work.json"), json!([]));
}

#[test]
fn autofix_changes_nothing_while_a_fixer_runs() {
    let desk = Desk::new();
    desk.reviewed(&[vague(mean())]);
    let args =
        [&["review", "--strategy", "single"], &CHECKOUT[..], &["--mode", "autofix"]].concat();
    let reviewer = says(&[vague(mean()), swallowed()]);
    let (turn, heard) = turn_during([with_model(desk.crh(&args), &reviewer)]);
    let model = FakeModel::start().on("fixer-1", [turn, reports(1, "done")]);
    let first = desk.checked(with_model(desk.crh(&["fix"]), &model));
    let second = heard.recv().unwrap();
    expect![[r#"
        exit 0
        note: wrote todo `REPO/.context/compound-engineering/todos/001-ready-p2-the-error-is-swallowed.md`
        note: wrote todo `REPO/.context/compound-engineering/todos/002-ready-p2-the-total-is-divided-by-the-count.md`
        ---
        Scope:  3 files, +13 -2; base 30af60f6ed88, head 27e4f9fd97b0
        Team:
          - single: the strategy is `single`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        2 issues (2 P2) in 3 reviewed files.
        Looked at all of it.

        1 P2 shop/mail.py:4
            The error is swallowed
            |     except Exception:
            |         pass
            The error is swallowed: an order of two items shows it.
            Replace lines 4 to 5 with:
            +     except Exception:
            +         raise
            bug; found by single; probability 0.90; confirmed by a second model run;
            `crh fix --issue 1` can fix this

        2 P2 shop/orders.py:5
            The total is divided by the count
            | return result / len(items)
            The total is divided by the count: an order of two items shows it.
            Fix: Do not divide.
            bug; found by single; probability 0.90; confirmed by a second model run;
            `crh fix --issue 2` can fix this

        Residual work
          - 1 P2 shop/mail.py:4: `crh fix --issue 1` can fix this
          - 2 P2 shop/orders.py:5: `crh fix --issue 2` can fix this

        Review coverage
          - #1 not fixed: nothing was applied: another crh is changing this checkout
          - #2 not fixed: nothing was applied: another crh is changing this checkout

        Ready with fixes: 2 issues to fix
        Fix order: 1, 2
        exit 0
        note: undo with `crh fix --undo RUN`
        ---
        #1 It is done. (shop/orders.py)
        1 issue fixed.
    "#]].assert_eq(&format!("{}{}", desk.shown(&second), desk.shown(&first)));
    expect![[r#"
         M shop/orders.py
        ?? .context/
        ref: refs/heads/main
        HEAD commit	refs/heads/main
    "#]]
    .assert_eq(&desk.git());
    assert!(desk.text(ORDERS).contains("    return result\n"));
    assert!(!desk.text(MAIL).contains("raise"));
}
