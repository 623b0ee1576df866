//! What is reviewed, and whether that is the checkout: only there something is done about it.

use super::faults::{clean, interrupt};
use super::resuming::finds;
use super::*;

/// A desk with a branch of two commits, of which the first one is `main`.
fn with_branch() -> Desk {
    let desk = Desk::new();
    desk.repo.git(&["checkout", "--quiet", "-b", "topic"]);
    desk.repo.git(&["branch", "--force", "main", "HEAD~1"]);
    desk
}

fn headless(desk: &Desk, target: &str) -> Output {
    let args = ["review", target, "--strategy", "single", "--mode", "headless"];
    with_model(desk.crh(&args), &says(&[mean()])).run()
}

/// Checks that nothing is fixed for a reason, and that the tree stays as it is.
fn stays(desk: &Desk, why: &str) {
    let before = desk.files();
    let output = headless(desk, "topic");
    let told = format!("\n- Warning: nothing was applied: {why}\n");
    assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{}", output.shown());
    assert!(output.stdout.contains(&told), "{}", output.shown());
    assert_eq!(desk.files(), before);
    let error = format!("error: nothing of this run can be fixed: {why}\n");
    assert!(desk.fix(&[]).stderr.starts_with(&error), "what a run is about does not change");
}

#[test]
fn a_branch_that_is_checked_out_is_fixed_by_whatever_name() {
    for name in ["topic", "refs/heads/topic", "HEAD"] {
        let desk = with_branch();
        // What git does not know is no part of the branch, and in nobody's way.
        desk.repo.write("notes.md", "mine\n");
        let output = headless(&desk, name);
        assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
        assert!(desk.text(ORDERS).contains("    return result\n"), "{name}");
        assert_eq!(desk.fix(&["--undo", "latest"]).code, 0, "{name}");
    }
}

#[test]
fn a_branch_that_was_reviewed_without_what_is_not_committed_is_left_alone() {
    let why =
        "the checkout has changes that are not committed, and its branch was reviewed without them";
    let desk = with_branch();
    desk.repo.write(MAIL, "mine\n");
    stays(&desk, why);
    desk.repo.git(&["add", MAIL]);
    stays(&desk, why);
}

#[test]
fn a_branch_that_is_not_checked_out_is_left_alone() {
    for place in [&["main"][..], &["--detach"], &["-b", "other"]] {
        let desk = with_branch();
        desk.repo.git(&[&["checkout", "--quiet"], place].concat());
        stays(&desk, "what was reviewed is not the current checkout");
    }
}

/// A desk whose branch is in the middle of a fix: one of two files has it.
fn half_fixed() -> Desk {
    let desk = with_branch();
    desk.reviewed(&[mean(), swallowed()]);
    let before = BTreeMap::from([(MAIL, desk.text(MAIL)), (ORDERS, desk.text(ORDERS))]);
    assert_eq!(desk.fix(&[]).code, 0);
    interrupt(&desk, &before, &[MAIL]);
    desk
}

const ROLLED_BACK: &str = "a fix was interrupted and is rolled back: shop/mail.py, shop/orders.py";

#[test]
fn a_review_that_may_fix_the_checkout_rolls_back_what_was_interrupted_in_it() {
    for target in [&["topic"][..], &["--base", "main"], &["--uncommitted"]] {
        let desk = half_fixed();
        // So that something is not committed.
        desk.repo.write("shop/log.py", "mine\n");
        let args = [&["review", "--strategy", "single", "--mode", "headless"], target].concat();
        let output = with_model(desk.crh(&args), &clean()).run();
        assert!(output.stderr.contains(ROLLED_BACK), "{target:?}: {}", output.shown());
        let status = String::from_utf8(desk.repo.git(&["status", "--porcelain"])).unwrap();
        assert_eq!(status, " M shop/log.py\n", "{target:?}");
    }
}

#[test]
fn what_was_reviewed_is_the_tree_without_half_of_a_fix() {
    let desk = half_fixed();
    let output = headless(&desk, "topic");
    assert!(output.stderr.contains(ROLLED_BACK), "{}", output.shown());
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
}

#[test]
fn what_cannot_fix_the_checkout_leaves_alone_what_was_interrupted_in_it() {
    let headless = ["--mode", "headless", "--strategy", "single"];
    for args in [
        &["review", "--base", "main", "--no-pr", "--estimate"][..],
        &["review", "main~0..topic"],
        &["review", "--commit", "topic"],
        &["review", "other"],
    ] {
        let desk = half_fixed();
        desk.repo.git(&["branch", "other", "topic"]);
        let before = desk.files();
        let output = with_model(desk.crh(&[args, &headless].concat()), &finds(&[])).run();
        assert!(output.code < 2, "{}", output.shown());
        assert_eq!(desk.files(), before, "{args:?}");
        assert!(!output.stderr.contains("is rolled back"), "{}", output.shown());
        let is_told = output.stderr.contains("half of it may be part of what is reviewed");
        assert_eq!(is_told, args.contains(&"--base"), "{args:?} {}", output.shown());
    }
}

#[test]
fn checks_at_a_terminal_leave_alone_what_was_interrupted() {
    let desk = half_fixed();
    let before = desk.files();
    let terminal = desk.crh(&["check", "--base", "main", "--no-pr"]).at_terminal(80, 24);
    let ended = terminal.end();
    assert!(ended.code < 2, "{}", ended.paper);
    let paper = ended.paper.replace('\n', "");
    assert!(!paper.contains("is rolled back"), "{paper}");
    assert!(
        paper.contains("half of it may be part of what is reviewed; `crh fix` rolls"),
        "{paper}"
    );
    // What says so is no file of the change.
    assert!(!paper.contains(".crh/fixing"), "{paper}");
    assert_eq!(desk.files(), before);
}
