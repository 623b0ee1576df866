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
