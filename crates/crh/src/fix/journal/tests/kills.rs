//! Ended at any step, by a panic, a signal or a disk: what comes next finds the tree as before or as after.

use std::process::Command;

use rustix::process::Signal;

use super::*;

#[test]
fn whoever_is_ended_at_any_step_is_rolled_back_or_done() {
    let (mut rolled_back, mut done) = (0, 0);
    for step in 0..steps_of_apply() {
        let desk = Desk::new();
        let before = desk.seen();
        killed(|| desk.apply(&at(step, || panic!("step {step}"))));
        let recovered = desk.recover().unwrap();
        assert!(!desk.locked().is_between().unwrap());
        if standing(&desk.fixes()).unwrap().is_empty() {
            rolled_back += usize::from(recovered.is_some());
            assert_eq!(desk.seen(), before, "step {step}");
        } else {
            done += 1;
            assert_eq!(recovered, None);
            assert_ne!(desk.seen(), before, "step {step}");
            desk.undo().unwrap();
            assert_eq!(desk.seen(), before, "step {step}");
        }
    }
    assert!(rolled_back > 4 && done > 0, "{rolled_back} {done}");
}

#[test]
fn whoever_is_ended_while_rolling_back_is_rolled_back_by_the_next() {
    let steps = steps_of_apply();
    for step in (0..steps).step_by(9) {
        let desk = Desk::new();
        let before = desk.seen();
        for again in 0..steps {
            // From the middle of applying into the middle of rolling back.
            killed(|| desk.apply(&at(step, || panic!("step {step}"))));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                desk.locked().recover(&at(again, || panic!("again {again}")))
            }));
            desk.recover().unwrap();
            if !standing(&desk.fixes()).unwrap().is_empty() {
                desk.undo().unwrap();
            }
            assert_eq!(desk.seen(), before, "steps {step} and {again}");
            if ended.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn whoever_is_ended_while_taking_back_has_all_of_it_or_nothing() {
    let steps = {
        let desk = Desk::new();
        desk.apply(UNDISTURBED).unwrap();
        counted(|steps| drop(desk.locked().undo(&desk.fixes(), steps).unwrap()))
    };
    for step in 0..steps {
        let desk = Desk::new();
        let before = desk.seen();
        desk.apply(UNDISTURBED).unwrap();
        let after = desk.seen();
        killed(|| desk.locked().undo(&desk.fixes(), &at(step, || panic!("step {step}"))));
        desk.recover().unwrap();
        let expected = if standing(&desk.fixes()).unwrap().is_empty() { &before } else { &after };
        assert_eq!(&desk.seen(), expected, "step {step}");
        desk.undo().unwrap();
        assert_eq!(desk.seen(), before, "step {step}");
    }
}

#[test]
fn what_fails_at_any_step_leaves_the_tree_as_it_was() {
    for step in 0..steps_of_apply() {
        let desk = Desk::new();
        let before = desk.seen();
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        let applied = desk.apply(&at(step, full));
        let stands = !standing(&desk.fixes()).unwrap().is_empty();
        assert_eq!(applied.is_ok(), stands, "step {step}: {applied:?}");
        if stands {
            // Only the marker was left to be removed.
            desk.undo().unwrap();
        }
        assert_eq!(desk.recover().unwrap(), None, "step {step}");
        assert_eq!(desk.seen(), before, "step {step}");
    }
}

/// Names the step at which the child of the test below ends itself.
const STEP: &str = "CRH_TEST_FIX_STEP";
const CHECKOUT: &str = "CRH_TEST_FIX_CHECKOUT";
const RUN: &str = "CRH_TEST_FIX_RUN";

#[test]
#[ignore = "it is the program that the test below kills"]
fn a_child_that_kills_itself() {
    let variable = |name: &str| std::env::var_os(name).unwrap();
    let step = variable(STEP).into_string().unwrap().parse().unwrap();
    let locked = Locked::take(Path::new(&variable(CHECKOUT))).unwrap();
    let fixes = PathBuf::from(variable(RUN)).join("fixes");
    let kill = || {
        rustix::process::kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
        Ok(())
    };
    locked.apply(&fixes, &edits(), PURPOSE, &at(step, kill)).unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a process that can be killed")]
fn a_process_that_is_killed_at_any_step_is_rolled_back_or_done() {
    for step in 0..steps_of_apply() {
        let desk = Desk::new();
        let before = desk.seen();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "fix::journal::tests::kills::a_child_that_kills_itself"])
            .env(STEP, step.to_string())
            .env(CHECKOUT, desk.checkout.path().canonicalize().unwrap())
            .env(RUN, desk.run.path())
            .output()
            .unwrap();
        assert_eq!(child.status.code(), None, "step {step}: {child:?}");
        desk.recover().unwrap();
        if !standing(&desk.fixes()).unwrap().is_empty() {
            desk.undo().unwrap();
        }
        assert_eq!(desk.seen(), before, "step {step}");
    }
}
