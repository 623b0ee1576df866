//! What a checkout is, and what the commit of its fixes says.

use crh_review::report::AppliedFix;
use crh_review::report::Change;

use super::super::flow::tests::issue;
use super::*;

#[test]
fn a_checkout_is_known_by_its_branch_its_base_and_its_pull_request() {
    let dirty = || {
        let why =
            "The checkout has changes that are not committed, so nothing is pushed from here.";
        Standing::NotClean(why.to_owned())
    };
    for (base, pr, branch, head, expected) in [
        ("main", "", Some("topic"), "c1", Standing::Branch),
        ("origin/main", "", Some("topic"), "c1", Standing::Branch),
        ("origin/main", "", Some("main"), "c1", Standing::Base),
        ("main", "", Some("main"), "c1", Standing::Base),
        ("main", "", None, "c1", Standing::Base),
        ("main", "7", Some("topic"), "c1", Standing::PullRequest),
        // A fork may propose its own `main`.
        ("main", "7", Some("main"), "c1", Standing::PullRequest),
        ("main", "", Some("topic"), "c2", dirty()),
        ("main", "7", Some("topic"), "c2", dirty()),
    ] {
        let change = Change {
            base_ref: base.to_owned(),
            pr_number: pr.to_owned(),
            head_sha: "c1".to_owned(),
            ..Change::default()
        };
        let report = Report { change, ..Report::default() };
        assert_eq!(
            standing(&report, Some(head), branch),
            expected,
            "{base} {pr} {branch:?} {head}"
        );
    }
}

#[test]
fn the_commit_says_what_was_fixed() {
    let issues = vec![issue(1, "manual", "apply"), issue(2, "manual", "apply")];
    let mut report = Report { issues, ..Report::default() };
    let fix = |number| AppliedFix { number, description: String::new(), files: Vec::new() };
    report.applied_fixes.push(fix(2));
    assert_eq!(message(&report), "fix(review): Trouble 2");
    report.applied_fixes.push(fix(1));
    let both = "fix(review): 2 findings of a review\n\n- Trouble 1\n- Trouble 2";
    assert_eq!(message(&report), both);
}
