//! What is reviewed, and whether that is the checkout: only there something is done about it.

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
