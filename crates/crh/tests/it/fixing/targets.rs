//! Only the checkout is fixed, for every kind of target.

use super::faults::interrupt;
use super::resuming::finds;
use super::*;

/// A repository with a branch of two commits; the first is `main`.
fn with_branch() -> Desk {
    let desk = Desk::new();
    desk.repo.git(&["checkout", "--quiet", "-b", "topic"]);
    desk.repo.git(&["branch", "--force", "main", "HEAD~1"]);
    desk
}

fn headless(desk: &Desk, target: &str) -> Output {
    let args = ["review", target, "--strategy", "single", "--mode", "headless"];
    desk.checked(with_model(desk.crh(&args), &says(&[mean()])))
}

/// Checks that nothing is fixed for this reason, that `crh fix` refuses with its own words, and that
/// the tree does not change.
fn stays(desk: &Desk, why: &str, refusal: &str) {
    let before = desk.files();
    let output = headless(desk, "topic");
    let told = format!("\n- Warning: nothing was applied: {why}\n");
    assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{}", output.shown());
    assert!(output.stdout.contains(&told), "{}", output.shown());
    assert_eq!(desk.files(), before);
    let stderr = desk.fix(&[]).stderr;
    assert!(stderr.starts_with("error: cannot fix the issues of run `"), "{stderr}");
    assert!(stderr.contains(&format!("`: {refusal}\n")), "{stderr}");
}

#[test]
fn checked_out_branch_is_fixed_under_any_name() {
    for name in ["refs/heads/topic", "HEAD"] {
        let desk = with_branch();
        // An untracked file does not matter.
        desk.repo.write("notes.md", "mine\n");
        let output = headless(&desk, name);
        assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
        assert!(desk.text(ORDERS).contains("    return result\n"), "{name}");
        assert_eq!(desk.fix(&["--undo", "latest"]).code, 0, "{name}");
    }
}

#[test]
fn branch_with_uncommitted_changes_is_not_fixed() {
    let why = "the checkout has uncommitted changes, and its branch was reviewed without them";
    let desk = with_branch();
    desk.repo.write(MAIL, "mine\n");
    stays(&desk, why, why);
    desk.repo.git(&["add", MAIL]);
    stays(&desk, why, why);
    // The report gives other advice than for a branch that is not checked out.
    let change = &desk.stored("review.json")["change"];
    assert_eq!(change["checkout_obstacle"], "unreviewed_changes");
}

#[test]
fn other_branch_is_not_fixed() {
    for place in [&["main"][..], &["-b", "other"]] {
        let desk = with_branch();
        desk.repo.git(&[&["checkout", "--quiet"], place].concat());
        let (reviewed, current) = (commit(&desk, "topic"), commit(&desk, "HEAD"));
        let branch = place.last().unwrap();
        let refusal = format!(
            "it reviewed `topic` at commit `{reviewed}`, but `{branch}` at commit `{current}` is checked out\nhint: run `git switch topic`, then review it with `crh review`"
        );
        stays(&desk, "the reviewed change is not the current checkout", &refusal);
    }
}

/// The abbreviated hash of a commit.
fn commit(desk: &Desk, name: &str) -> String {
    desk.repo.id(name)[..12].to_owned()
}

#[test]
fn fix_after_a_branch_switch_is_one_message() {
    let desk = Desk::new();
    desk.reviewed(&[mean(), swallowed()]);
    let reviewed = commit(&desk, "HEAD");
    desk.repo.git(&["switch", "--quiet", "-c", "other", "HEAD~1"]);
    let current = commit(&desk, "HEAD");
    let expected = format!(
        "exit 2
error: cannot fix the issues of run `RUN`: it reviewed `main` at commit `{reviewed}`, but `other` at commit `{current}` is checked out
hint: run `git switch main`, then run `crh fix` again
---
"
    );
    assert_eq!(desk.shown(&desk.fix(&[])), expected);
    // Another commit with the same files does not matter.
    desk.repo.git(&["switch", "--quiet", "-c", "same", "main"]);
    desk.repo.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    let fixed = desk.fix(&[]);
    assert_eq!(fixed.code, 0, "{}", fixed.shown());
}

#[test]
fn undo_after_a_branch_switch_names_the_branch() {
    let desk = Desk::new();
    desk.reviewed(&[mean()]);
    assert_eq!(desk.fix(&[]).code, 0);
    let reviewed = commit(&desk, "HEAD");
    desk.repo.git(&["stash", "--quiet", "--", ORDERS]);
    desk.repo.git(&["switch", "--quiet", "-c", "other", "HEAD~1"]);
    let current = commit(&desk, "HEAD");
    let expected = format!(
        "exit 2
error: cannot undo the fixes of run `RUN`: it reviewed `main` at commit `{reviewed}`, but `other` at commit `{current}` is checked out
hint: crh changed nothing; run `git switch main`, then run `crh fix --undo RUN` again
---
"
    );
    assert_eq!(desk.shown(&desk.fix(&["--undo"])), expected);
    desk.repo.git(&["switch", "--quiet", "main"]);
    desk.repo.git(&["stash", "pop", "--quiet"]);
    let undone = desk.fix(&["--undo"]);
    assert_eq!(undone.code, 0, "{}", undone.shown());
}

/// A checkout in the middle of a fix: one of two files is fixed.
fn half_fixed() -> Desk {
    let desk = with_branch();
    desk.reviewed(&[mean(), swallowed()]);
    let before = BTreeMap::from([(MAIL, desk.text(MAIL)), (ORDERS, desk.text(ORDERS))]);
    assert_eq!(desk.fix(&[]).code, 0);
    interrupt(&desk, &before, &[MAIL]);
    Desk { comparison: Comparison::Never, ..desk }
}

const ROLLED_BACK: &str = "rolled back an interrupted fix: shop/mail.py, shop/orders.py";

#[test]
fn review_sees_the_tree_after_the_rollback() {
    let desk = half_fixed();
    let output = headless(&desk, "topic");
    assert!(output.stderr.contains(ROLLED_BACK), "{}", output.shown());
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
}

#[test]
fn other_reviews_do_not_roll_back() {
    let headless = ["--mode", "headless", "--strategy", "single"];
    for args in [&["review", "--base", "main", "--no-pr", "--estimate"][..], &["review", "other"]] {
        let desk = half_fixed();
        desk.repo.git(&["branch", "other", "topic"]);
        let before = desk.files();
        let output = desk.checked(with_model(desk.crh(&[args, &headless].concat()), &finds(&[])));
        assert!(output.code < 2, "{}", output.shown());
        assert_eq!(desk.files(), before, "{args:?}");
        assert!(!output.stderr.contains("rolled back"), "{}", output.shown());
        let is_told = output.stderr.contains("the reviewed code may contain half of it");
        assert_eq!(is_told, args.contains(&"--base"), "{args:?} {}", output.shown());
    }
}

#[test]
fn checks_at_a_terminal_do_not_roll_back() {
    let desk = half_fixed();
    let before = desk.files();
    let terminal = desk.crh(&["check", "--base", "main", "--no-pr"]).at_terminal(80, 24);
    let ended = terminal.end();
    assert!(ended.code < 2, "{}", ended.full_output);
    let paper = ended.full_output.replace('\n', "");
    assert!(!paper.contains("rolled back"), "{paper}");
    assert!(paper.contains("the reviewed code may contain half of it; run `crh fix`"), "{paper}");
    // The marker is not a file of the change.
    assert!(!paper.contains(".crh/fixing"), "{paper}");
    assert_eq!(desk.files(), before);
}
