//! The completion report as it is read.

use crh_review::report::AppliedFix;
use crh_review::report::FileCoverage;
use crh_review::verdict::Verdict;
use expect_test::expect;

use super::super::flow::tests::issue;
use super::super::standing::Standing;
use super::*;

#[test]
fn every_issue_is_there_with_what_became_of_it_and_failures_come_first() {
    let issues = (1..=8).map(|number| issue(number, "manual", "apply")).collect();
    let files = vec!["src/pay.rs".to_owned()];
    let applied = AppliedFix { number: 1, description: "Charges once.".to_owned(), files };
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
    let mut flow = Flow::new(&report, Standing::Branch);
    let url = "https://tracker.example/3".to_owned();
    flow.decided.extend([
        (1, Decision::Applied),
        (2, Decision::NotApplied("the tree has changed".to_owned())),
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
