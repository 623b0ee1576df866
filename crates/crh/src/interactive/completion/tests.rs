//! The completion report.

use expect_test::expect;

use super::super::flow::tests::issue;
use super::*;
use crate::fix::edit_authority::SafeFixTiming;
use crate::fix::outcome::{FixPass, SkippedIssue};
use crh_review::report::{AppliedFix, FileCoverage, FixOutcome};
use crh_review::verdict::Verdict;

#[test]
fn every_issue_is_listed_and_failures_come_first() {
    let issues = (1..=8).map(|number| issue(number, "manual", "apply")).collect();
    let files = vec!["src/pay.rs".to_owned()];
    let (description, outcome) = ("Charges once.".to_owned(), FixOutcome::Done);
    let applied = AppliedFix { number: 1, description, files, outcome, ..AppliedFix::default() };
    let path = "src/pay.rs".to_owned();
    let report = Report {
        issues,
        applied_fixes: vec![applied],
        coverage: vec![FileCoverage {
            path,
            state: CoverageState::Reviewed,
            reason: String::new(),
        }],
        verdict: Verdict::ReadyWithFixes,
        verdict_reason: "7 issues to fix".to_owned(),
        ..Report::default()
    };
    let mut flow = Flow::new(&report, SafeFixTiming::BeforeQuestions);
    let url = "https://tracker.example/3".to_owned();
    flow.decided.extend([
        (1, Decision::Applied(FixOutcome::Done)),
        (2, Decision::NotApplied("nothing was applied: the tree has changed".to_owned())),
        (3, Decision::Deferred { url }),
        (4, Decision::Skipped),
        (5, Decision::Acknowledged),
        (6, Decision::NotFiled("the host is down".to_owned())),
    ]);
    expect![[r#"

        Review completed.

        Failed
          - #2 P1 Trouble 2: not applied: the tree has changed
          - #6 P1 Trouble 6: no ticket, skipped: the host is down

        Applied
          - #1 P1 Trouble 1: Charges once.

        Deferred
          - #3 P1 Trouble 3: https://tracker.example/3

        Skipped
          - #4 P1 Trouble 4: not applied, not tracked

        Acknowledged
          - #5 P1 Trouble 5: noted

        2 failed, 1 applied, 1 deferred, 1 skipped, 1 acknowledged, 2 left in the
          report
        Coverage: 1 file reviewed
        Ready with fixes: 7 issues to fix
    "#]]
    .assert_eq(&text(&report, &flow, 79));
}

#[test]
fn fix_that_did_not_help_is_listed_as_applied() {
    let issues: Vec<Issue> = (1..=3).map(|number| issue(number, "manual", "apply")).collect();
    let fix = |issue: &Issue| AppliedFix {
        number: issue.number,
        description: "Charges once.".to_owned(),
        files: vec!["src/pay.rs".to_owned()],
        outcome: FixOutcome::FoundAgain,
        ..AppliedFix::default()
    };
    let applied_fixes = issues.iter().map(fix).collect();
    let report = Report { issues, applied_fixes, ..Report::default() };
    let mut flow = Flow::new(&report, SafeFixTiming::AfterAgreement);
    flow.decided.extend([
        (1, Decision::Applied(FixOutcome::FoundAgain)),
        (2, Decision::Skipped),
        (3, Decision::Deferred { url: "https://tracker.example/3".to_owned() }),
    ]);
    let said = text(&report, &flow, 160);
    let why = "(its fix is applied; the review of the fix found the issue again)";
    for line in [
        format!("  - #1 P1 Trouble 1: left in the report {why}\n"),
        format!("  - #2 P1 Trouble 2: not tracked {why}\n"),
        format!("  - #3 P1 Trouble 3: https://tracker.example/3 {why}\n"),
    ] {
        assert!(said.contains(&line), "{said}");
    }
    assert!(said.contains("\nApplied, still open\n  - #1 ") && !said.contains("Failed"), "{said}");
    assert!(said.contains("\n0 applied, 3 applied but still open, 1 deferred, "), "{said}");
}

#[test]
fn dismissed_issue_is_listed_although_the_report_does_not_have_it() {
    let issues = (1..=2).map(|number| issue(number, "manual", "defer")).collect();
    let mut report = Report { issues, ..Report::default() };
    let mut flow = Flow::new(&report, SafeFixTiming::AfterAgreement);
    flow.decided.insert(2, Decision::Skipped);
    flow.dismissed(1, Ok(report.dismiss(1, "in this review").unwrap()));
    let said = text(&report, &flow, 79);
    assert!(said.contains("Dismissed\n  - #1 P1 Trouble 1: undo with"), "{said}");
    assert!(said.contains("\n0 applied, 0 deferred, 1 skipped, 0 acknowledged, 1 dismissed\n"));
    assert!(!said.contains("left in the report"), "{said}");
}

#[test]
fn failed_safe_fix_keeps_its_reason_after_any_decision() {
    let issues = (1..=5).map(|number| issue(number, "safe_auto", "apply")).collect();
    let report = Report { issues, ..Report::default() };
    let mut flow = Flow::new(&report, SafeFixTiming::BeforeQuestions);
    let left = |number| SkippedIssue::new(number, "two fixes\nof one line");
    let fixed = FixPass::leaving(vec![left(1), left(2), left(3), left(4)]);
    flow.fixed(&report, &fixed);
    flow.decided.insert(2, Decision::Skipped);
    // The second attempt fails for the same reason, or for another one.
    flow.decided.insert(3, Decision::NotApplied("two fixes\nof one line".to_owned()));
    flow.decided.insert(4, Decision::NotApplied("timed out".to_owned()));
    let said = text(&report, &flow, 79);
    let (said, _) = said.split_once("\nCoverage").unwrap();
    expect![[r#"

        Review completed.

        Failed
          - #1 P1 Trouble 1: left in the report (safe fix failed: two fixes of one
            line)
          - #3 P1 Trouble 3: not applied: two fixes of one line
          - #4 P1 Trouble 4: not applied: timed out (safe fix failed: two fixes of one
            line)

        Skipped
          - #2 P1 Trouble 2: not applied, not tracked (safe fix failed: two fixes of
            one line)

        3 failed, 0 applied, 0 deferred, 1 skipped, 0 acknowledged, 1 left in the
          report"#]]
    .assert_eq(said);
}
