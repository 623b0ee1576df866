//! What is committed, and the commit message.

use super::super::flow::tests::issue;
use super::*;
use crh_review::report::AppliedFix;
use crh_testkit::Repo;

#[test]
fn only_fixed_files_are_committed() {
    let repo = Repo::from_fixture("//- a.txt\na\n//- b.txt\nb\n//- c.txt\nc\n");
    repo.git(&["checkout", "--quiet", "-b", "topic"]);
    let place = CheckoutPosition::read(repo.path()).unwrap();
    let fixed = |path: &str| -> Result<Option<Vec<u8>>, String> {
        match path {
            "a.txt" => Ok(Some(b"one\ntwo\n".to_vec())),
            "gone.txt" => Ok(None),
            _ => Err("it cannot be read".to_owned()),
        }
    };
    let check = |files: &[&str], expected: Option<&str>| {
        let why = changed_since(repo.path(), &place, files, fixed).unwrap();
        assert_eq!(why.as_deref(), expected);
    };
    let fixes = ["a.txt", "gone.txt"];
    repo.write("a.txt", "one\ntwo\n");
    check(&fixes, None);
    repo.write("a.txt", "one\r\ntwo\r\n");
    check(&fixes, None);
    check(&["b.txt"], Some("it cannot be read"));
    repo.write("a.txt", "one\ntwo\nmine\n");
    check(&fixes, Some("`a.txt` was changed after the fix"));
    repo.write("a.txt", "one\ntwo\n");
    repo.write("gone.txt", "it is back\n");
    check(&fixes, Some("`gone.txt` was changed after the fix"));
    std::fs::remove_file(repo.path().join("gone.txt")).unwrap();
    repo.git(&["checkout", "--quiet", "-b", "other"]);
    check(&fixes, Some("another branch is checked out now"));
    repo.git(&["checkout", "--quiet", "topic"]);
    repo.commit("mine");
    check(&fixes, Some("`HEAD` has moved since the fixes"));
}

#[test]
fn commit_with_other_files_is_not_pushed() {
    let place = CheckoutPosition { head: Some("c1".to_owned()), branch: None };
    let check = |parents: &[&str], files: &[&str], expected: Option<&str>| {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let tip = BranchTip { id: "c2".to_owned(), parents: owned(parents), files: owned(files) };
        assert_eq!(only_fixes(&tip, &place, &["a", "b"]).err().as_deref(), expected);
    };
    let merged = Some("the parent of the fix commit is not the reviewed commit");
    check(&["c1"], &["a"], None);
    check(&["c1"], &["a", "c"], Some("the fix commit also contains `c`"));
    check(&["c1", "m"], &["a"], merged);
    check(&["m"], &["a"], merged);
    check(&[], &["a"], merged);
}

#[test]
fn commit_message_names_the_fixed_issues() {
    let issues = vec![issue(1, "manual", "apply"), issue(2, "manual", "apply")];
    let mut report = Report { issues, ..Report::default() };
    let fix = |number| AppliedFix {
        number,
        description: String::new(),
        files: Vec::new(),
        outcome: FixOutcome::Done,
        ..AppliedFix::default()
    };
    report.applied_fixes.push(fix(2));
    assert_eq!(message(&report), "fix(review): Trouble 2");
    report.applied_fixes.push(fix(1));
    let both = "fix(review): 2 review findings\n\n- Trouble 1\n- Trouble 2";
    assert_eq!(message(&report), both);
}

#[test]
fn commit_message_names_open_issues_as_not_fixed() {
    let issues = (1..=3).map(|number| issue(number, "manual", "apply")).collect();
    let fix = |number, outcome| AppliedFix {
        number,
        description: String::new(),
        files: Vec::new(),
        outcome,
        ..AppliedFix::default()
    };
    let applied_fixes = vec![
        fix(1, FixOutcome::Done),
        fix(2, FixOutcome::Unverified),
        fix(3, FixOutcome::FoundAgain),
    ];
    let mut report = Report { issues, applied_fixes, ..Report::default() };
    let one = "fix(review): Trouble 1\n\nApplied, not verified:\n- Trouble 2\n\nApplied, but the review found the issue again:\n- Trouble 3";
    assert_eq!(message(&report), one);
    report.applied_fixes.remove(0);
    let none = "fix(review): apply 2 fixes, their issues are still open\n\nApplied, not verified:\n- Trouble 2\n\nApplied, but the review found the issue again:\n- Trouble 3";
    assert_eq!(message(&report), none);
    report.applied_fixes.remove(0);
    report.applied_fixes[0].outcome = FixOutcome::Partial;
    let partial = "fix(review): apply 1 fix, its issue is still open\n\nApplied, but not at all places of the issue:\n- Trouble 3";
    assert_eq!(message(&report), partial);
    report.applied_fixes[0].outcome = FixOutcome::Unverified;
    let unverified =
        "fix(review): apply 1 fix that is not verified\n\nApplied, not verified:\n- Trouble 3";
    assert_eq!(message(&report), unverified);
}
