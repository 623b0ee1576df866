//! Texts of the questions.

use expect_test::{Expect, expect};
use serde_json::json;

use super::super::flow::tests::issue as an_issue;
use super::*;
use crh_review::diff::Diff;

/// Rows above a question in a usual window.
const ROWS: usize = 14;

/// No safe fix failed.
static NOTHING: BTreeMap<u32, SkippedIssue> = BTreeMap::new();

const DIFF: &str = "\
diff --git a/src/pay.rs b/src/pay.rs
--- a/src/pay.rs
+++ b/src/pay.rs
@@ -10,3 +10,4 @@
 fn pay() {
     charge();
+    charge();
 }
";

fn report() -> Report {
    let actions = ["apply", "defer", "skip", "acknowledge"];
    let issues = (1..).zip(actions).map(|(number, action)| an_issue(number, "manual", action));
    Report { issues: issues.collect(), ..Report::default() }
}

fn named() -> TrackerLabel {
    TrackerLabel::Named("Linear".to_owned())
}

fn none() -> TrackerLabel {
    TrackerLabel::None("no tracker is known".to_owned())
}

fn check(ask: &Question, report: &Report, tracker: &TrackerLabel, expected: Expect) {
    check_rows(ask, report, tracker, ROWS, expected);
}

fn check_rows(
    ask: &Question,
    report: &Report,
    tracker: &TrackerLabel,
    rows: usize,
    expected: Expect,
) {
    let diffs = Diffs::only(&Diff::read(DIFF.as_bytes().to_vec()));
    let beside = RenderInput { report, not_fixed: &NOTHING, diffs: &diffs, tracker, columns: 79 };
    let MenuQuestion { paragraphs: stem, options, preselected: marked, .. } = question(ask, beside);
    let mut shown = lead(&ask.about, beside, rows);
    shown.push_str("---\n");
    shown.extend(stem.iter().map(|line| format!("{line}\n")));
    for (at, MenuOption { key, label }) in options.iter().enumerate() {
        let mark = if at == marked { '>' } else { ' ' };
        shown.push_str(&format!("{mark} {} {label}\n", key.unwrap_or('-')));
    }
    expected.assert_eq(&shown);
}

fn routing(picks: &[Choice]) -> Question {
    let about = QuestionSubject::Routing { remaining: 4, safe: SafeFixes::None };
    Question { about, picks: picks.to_vec(), recommended: None }
}

#[test]
fn first_question_follows_the_specification() {
    let all = [Choice::OneByOne, Choice::BestJudgment, Choice::FileAll, Choice::ReportOnly];
    check(
        &routing(&all),
        &report(),
        &named(),
        expect![[r#"
            ---
            What should the agent do with the 4 findings?
            > A Review each finding one by one — accept the recommendation or choose another action
              B LFG. Apply the agent's best-judgment action per finding
              C File a Linear ticket per finding without applying fixes
              D Report only — take no further action
        "#]],
    );
    check(
        &routing(&all),
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"
            ---
            What should the agent do with the 4 findings?
            > A Review each finding one by one — accept the recommendation or choose another action
              B LFG. Apply the agent's best-judgment action per finding
              C File an issue per finding without applying fixes
              D Report only — take no further action
        "#]],
    );
    let three = [Choice::OneByOne, Choice::BestJudgment, Choice::ReportOnly];
    check(
        &routing(&three),
        &report(),
        &none(),
        expect![[r#"
            ---
            What should the agent do with the 4 findings?
            Filing unavailable — no tracker is known.
            > A Review each finding one by one — accept the recommendation or choose another action
              B LFG. Apply the agent's best-judgment action per finding
              D Report only — take no further action
        "#]],
    );
}

/// The first question with these safe fixes.
fn routing_with(safe: SafeFixes, first: &[Choice]) -> Question {
    let picks = [first, &[Choice::OneByOne, Choice::BestJudgment, Choice::ReportOnly]].concat();
    Question { about: QuestionSubject::Routing { remaining: 4, safe }, ..routing(&picks) }
}

#[test]
fn first_question_lists_the_fixes_that_crh_can_apply() {
    let two = routing_with(SafeFixes::Offered(vec![1, 3]), &[Choice::ApplySafe]);
    check(
        &two,
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"

        crh can fix 2 of the 4 findings by itself:
          #1 P1 src/pay.rs:12 Trouble 1
          #3 P1 src/pay.rs:12 Trouble 3
        ---
        What should the agent do with the 4 findings?
        No file is changed yet.
        > F Apply these 2 fixes, then ask about the rest
          A Review each finding one by one — accept the recommendation or choose another action
          B LFG. Apply the agent's best-judgment action per finding
          D Report only — take no further action
    "#]],
    );
    let all = routing_with(SafeFixes::Offered(vec![1, 2, 3, 4]), &[Choice::ApplySafe]);
    check(
        &all,
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"

        crh can fix all 4 findings by itself:
          #1 P1 src/pay.rs:12 Trouble 1
          #2 P1 src/pay.rs:12 Trouble 2
          #3 P1 src/pay.rs:12 Trouble 3
          #4 P1 src/pay.rs:12 Trouble 4
        ---
        What should the agent do with the 4 findings?
        No file is changed yet.
        > F Apply these 4 fixes
          A Review each finding one by one — accept the recommendation or choose another action
          B LFG. Apply the agent's best-judgment action per finding
          D Report only — take no further action
    "#]],
    );
    let one = routing_with(SafeFixes::Offered(vec![2]), &[Choice::ApplySafe]);
    check(
        &one,
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"

        crh can fix 1 of the 4 findings by itself:
          #2 P1 src/pay.rs:12 Trouble 2
        ---
        What should the agent do with the 4 findings?
        No file is changed yet.
        > F Apply this fix, then ask about the rest
          A Review each finding one by one — accept the recommendation or choose another action
          B LFG. Apply the agent's best-judgment action per finding
          D Report only — take no further action
    "#]],
    );
}

#[test]
fn long_list_of_fixes_is_cut_to_the_window_and_to_ten() {
    let issues = (1..=40).map(|number| an_issue(number, "safe_auto", "apply"));
    let many = Report { issues: issues.collect(), ..Report::default() };
    let numbers = (1..=40).collect();
    let ask = Question {
        about: QuestionSubject::Routing { remaining: 40, safe: SafeFixes::Offered(numbers) },
        ..routing(&[Choice::ApplySafe, Choice::ReportOnly])
    };
    check_rows(
        &ask,
        &many,
        &TrackerLabel::Generic,
        4,
        expect![[r#"

        crh can fix all 40 findings by itself:
          #1 P1 src/pay.rs:12 Trouble 1
          #2 P1 src/pay.rs:12 Trouble 2
          … and 38 more
        ---
        What should the agent do with the 40 findings?
        No file is changed yet.
        > F Apply these 40 fixes
          D Report only — take no further action
    "#]],
    );
    let lines = |rows| {
        let diffs = Diffs::only(&Diff::read(DIFF.as_bytes().to_vec()));
        let tracker = TrackerLabel::Generic;
        let (report, tracker) = (&many, &tracker);
        let beside =
            RenderInput { report, not_fixed: &NOTHING, diffs: &diffs, tracker, columns: 79 };
        lead(&ask.about, beside, rows).trim().lines().count()
    };
    // The heading, and at least one finding and how many more there are.
    assert_eq!([0, 1, 4, 12, 100].map(lines), [3, 3, 4, 12, 12]);
}

#[test]
fn first_question_says_what_report_only_undoes() {
    let one = routing_with(SafeFixes::AppliedFirst(1), &[]);
    check(
        &one,
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"
        ---
        What should the agent do with the remaining 4 findings?
        1 safe fix is applied already; "Report only" undoes that.
        > A Review each finding one by one — accept the recommendation or choose another action
          B LFG. Apply the agent's best-judgment action per finding
          D Report only — take no further action
    "#]],
    );
    let kept = Question {
        picks: vec![Choice::OneByOne, Choice::KeepFixes],
        ..routing_with(SafeFixes::Agreed(2), &[])
    };
    check(
        &kept,
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"
        ---
        What should the agent do with the remaining 4 findings?
        > A Review each finding one by one — accept the recommendation or choose another action
          D Stop here — keep the applied fixes, leave the rest in the report
    "#]],
    );
}

#[test]
fn issue_is_shown_with_code_and_recommendation() {
    let picks = vec![Choice::Apply, Choice::Defer, Choice::Skip, Choice::TheRest];
    let finding = FindingQuestion {
        number: 1,
        position: Some((2, 4)),
        deferring: DeferAvailability::AsRecommended,
    };
    let ask = Question {
        about: QuestionSubject::Finding(finding),
        picks,
        recommended: Some(Choice::Apply),
    };
    let mut report = report();
    check(
        &ask,
        &report,
        &named(),
        expect![[r#"

            Finding 2 of 4 — P1 Trouble 1
            src/pay.rs:12

                 10   fn pay() {
                 11       charge();
            >    12 +     charge();
                 13   }

            What's wrong: Customers pay twice. They complain.
            Proposed fix: Charge once. (a model writes it)
            ---
            Finding 2 of 4 — P1 Trouble 1
            What should the agent do with it?
            > - Apply the proposed fix (recommended)
              - Defer — file a Linear ticket
              - Skip — don't apply, don't track
              - LFG the rest
        "#]],
    );
    report.issues[0].suggested_fix = None;
    report.issues[0].replacement = Some("    charge(once);\n".to_owned());
    report.issues[0].disagreement = Some("security (P0), correctness (P1) -- kept P0".to_owned());
    check(
        &ask,
        &report,
        &TrackerLabel::Generic,
        expect![[r#"

            Finding 2 of 4 — P1 Trouble 1
            src/pay.rs:12

                 10   fn pay() {
                 11       charge();
            >    12 +     charge();
                 13   }

            What's wrong: Customers pay twice. They complain.
            Proposed fix: this replacement
              -     charge();
              +     charge(once);
            Conflict: security (P0), correctness (P1) -- kept P0
            ---
            Finding 2 of 4 — P1 Trouble 1
            What should the agent do with it?
            > - Apply the proposed fix (recommended)
              - Defer — file an issue
              - Skip — don't apply, don't track
              - LFG the rest
        "#]],
    );
}

#[test]
fn single_issue_without_tracker_has_two_options() {
    let picks = vec![Choice::Apply, Choice::Skip];
    let finding =
        FindingQuestion { number: 2, position: None, deferring: DeferAvailability::BecomesSkip };
    let ask = Question {
        about: QuestionSubject::Finding(finding),
        picks,
        recommended: Some(Choice::Skip),
    };
    let mut report = report();
    report.issues[1].suggested_fix = None;
    check(
        &ask,
        &report,
        &none(),
        expect![[r#"

            Finding — P1 Trouble 2
            src/pay.rs:12

                 10   fn pay() {
                 11       charge();
            >    12 +     charge();
                 13   }

            What's wrong: Customers pay twice. They complain.
            Proposed fix: none yet; a model looks for one
            ---
            Finding — P1 Trouble 2
            Defer is recommended but unavailable: no tracker is known
            What should the agent do with it?
              - Apply the proposed fix
            > - Skip — don't apply, don't track (recommended)
        "#]],
    );
}

fn plan(kind: PlanKind) -> Question {
    // Without a tracker, Defer becomes Skip.
    let not_deferred = match kind {
        PlanKind::Rest { .. } => [3].into(),
        PlanKind::All | PlanKind::Tickets => [].into(),
    };
    let plan = ActionPlan {
        kind,
        apply: vec![1],
        file: vec![2],
        skip: vec![3],
        acknowledge: vec![4],
        not_deferred,
    };
    let picks = vec![Choice::Proceed, Choice::Cancel];
    Question { about: QuestionSubject::Preview(plan), picks, recommended: None }
}

#[test]
fn plan_is_grouped_by_action() {
    check(
        &plan(PlanKind::All),
        &report(),
        &named(),
        expect![[r#"

            LFG plan — 4 findings (tracker: Linear):

            Applying (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Filing Linear tickets (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Skipping (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Acknowledging (1):
              [P1] src/pay.rs:12 — Customers pay twice
            ---
            Should the agent do this?
            > - Proceed
              - Cancel
        "#]],
    );
    let rest = plan(PlanKind::Rest { decided: 2 });
    check(
        &rest,
        &report(),
        &none(),
        expect![[r#"

            LFG plan — 4 remaining findings (2 already decided):

            Applying (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Filing issues (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Skipping (1):
              [P1] src/pay.rs:12 — Customers pay twice
                instead of Defer, which is unavailable: no tracker is known

            Acknowledging (1):
              [P1] src/pay.rs:12 — Customers pay twice
            ---
            Should the agent do this?
            > - Proceed
              - Cancel
        "#]],
    );
    check(
        &plan(PlanKind::Tickets),
        &report(),
        &TrackerLabel::Generic,
        expect![[r#"

            File plan — 4 findings as issues:

            Applying (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Filing issues (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Skipping (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Acknowledging (1):
              [P1] src/pay.rs:12 — Customers pay twice
            ---
            Should the agent do this?
            > - Proceed
              - Cancel
        "#]],
    );
}

/// The first two issues have exact fixes with this many lines.
fn with_fixes(lines: usize) -> Report {
    let mut report = report();
    for issue in report.issues.iter_mut().take(2) {
        let text: String = (1..=lines).map(|line| format!("    charge({line});\n")).collect();
        issue.replacement = Some(text);
    }
    report
}

/// A single issue with an exact fix.
fn only() -> Question {
    let picks = vec![Choice::Apply, Choice::Skip];
    let finding =
        FindingQuestion { number: 1, position: None, deferring: DeferAvailability::AsRecommended };
    Question { about: QuestionSubject::Finding(finding), picks, recommended: Some(Choice::Apply) }
}

#[test]
fn exact_fix_is_shown_as_diff() {
    check(
        &only(),
        &with_fixes(2),
        &none(),
        expect![[r#"

        Finding — P1 Trouble 1
        src/pay.rs:12

             10   fn pay() {
             11       charge();
        >    12 +     charge();
             13   }

        What's wrong: Customers pay twice. They complain.
        Proposed fix: Charge once.
          -     charge();
          +     charge(1);
          +     charge(2);
        ---
        Finding — P1 Trouble 1
        What should the agent do with it?
        > - Apply the proposed fix (recommended)
          - Skip — don't apply, don't track
    "#]],
    );
}

#[test]
fn exact_fix_is_cut_to_the_window() {
    check(
        &only(),
        &with_fixes(20),
        &none(),
        expect![[r#"

        Finding — P1 Trouble 1
        src/pay.rs:12

             11       charge();
        >    12 +     charge();
             13   }

        What's wrong: Customers pay twice. They complain.
        Proposed fix: Charge once.
          -     charge();
          +     charge(1);
          +     charge(2);
          +     charge(3);
          … 17 more lines
        ---
        Finding — P1 Trouble 1
        What should the agent do with it?
        > - Apply the proposed fix (recommended)
          - Skip — don't apply, don't track
    "#]],
    );
    check_rows(
        &only(),
        &with_fixes(20),
        &none(),
        4,
        expect![[r#"

        Finding — P1 Trouble 1
        src/pay.rs:12

             11       charge();
        >    12 +     charge();
             13   }

        What's wrong: Customers pay twice. They complain.
        Proposed fix: Charge once.
          -     charge();
          +     charge(1);
          … 19 more lines
        ---
        Finding — P1 Trouble 1
        What should the agent do with it?
        > - Apply the proposed fix (recommended)
          - Skip — don't apply, don't track
    "#]],
    );
}

#[test]
fn long_fix_does_not_fill_a_large_window() {
    check_rows(
        &only(),
        &with_fixes(20),
        &none(),
        50,
        expect![[r#"

        Finding — P1 Trouble 1
        src/pay.rs:12

             10   fn pay() {
             11       charge();
        >    12 +     charge();
             13   }

        What's wrong: Customers pay twice. They complain.
        Proposed fix: Charge once.
          -     charge();
          +     charge(1);
          +     charge(2);
          +     charge(3);
          +     charge(4);
          +     charge(5);
          +     charge(6);
          +     charge(7);
          +     charge(8);
          +     charge(9);
          +     charge(10);
          … 10 more lines
        ---
        Finding — P1 Trouble 1
        What should the agent do with it?
        > - Apply the proposed fix (recommended)
          - Skip — don't apply, don't track
    "#]],
    );
}

/// A plan with two exact fixes.
fn applying() -> Question {
    let plan = ActionPlan {
        kind: PlanKind::All,
        apply: vec![1, 2],
        file: vec![],
        skip: vec![3],
        acknowledge: vec![4],
        not_deferred: [].into(),
    };
    let picks = vec![Choice::Proceed, Choice::Cancel];
    Question { about: QuestionSubject::Preview(plan), picks, recommended: None }
}

#[test]
fn plan_shows_exact_fixes() {
    check_rows(
        &applying(),
        &with_fixes(1),
        &none(),
        16,
        expect![[r#"

        LFG plan — 4 findings:

        Applying (2):
          [P1] src/pay.rs:12 — Customers pay twice
            -     charge();
            +     charge(1);
          [P1] src/pay.rs:12 — Customers pay twice
            -     charge();
            +     charge(1);

        Skipping (1):
          [P1] src/pay.rs:12 — Customers pay twice

        Acknowledging (1):
          [P1] src/pay.rs:12 — Customers pay twice
        ---
        Should the agent do this?
        > - Proceed
          - Cancel
    "#]],
    );
    check_rows(
        &applying(),
        &with_fixes(20),
        &none(),
        20,
        expect![[r#"

        LFG plan — 4 findings:

        Applying (2):
          [P1] src/pay.rs:12 — Customers pay twice
            -     charge();
            +     charge(1);
            +     charge(2);
            … 18 more lines
          [P1] src/pay.rs:12 — Customers pay twice
            -     charge();
            +     charge(1);
            +     charge(2);
            … 18 more lines

        Skipping (1):
          [P1] src/pay.rs:12 — Customers pay twice

        Acknowledging (1):
          [P1] src/pay.rs:12 — Customers pay twice
        ---
        Should the agent do this?
        > - Proceed
          - Cancel
    "#]],
    );
}

#[test]
fn long_plan_ends_with_its_counts() {
    check(
        &applying(),
        &with_fixes(20),
        &none(),
        expect![[r#"

            LFG plan — 4 findings:

            Applying (2):
              [P1] src/pay.rs:12 — Customers pay twice
              [P1] src/pay.rs:12 — Customers pay twice

            Skipping (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Acknowledging (1):
              [P1] src/pay.rs:12 — Customers pay twice

            The window is too small for 2 exact fixes; cancel, then go one by one.
            ---
            Should the agent do this?
            > - Proceed
              - Cancel
        "#]],
    );
    check_rows(
        &applying(),
        &with_fixes(1),
        &none(),
        8,
        expect![[r#"

            LFG plan — 4 findings:

            Applying (2):
              [P1] src/pay.rs:12 — Customers pay twice
              [P1] src/pay.rs:12 — Customers pay twice

            Skipping (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Acknowledging (1):
              [P1] src/pay.rs:12 — Customers pay twice

            Total: 2 to apply, 1 to skip, 1 to acknowledge. The window is too small for 2
            exact fixes; cancel, then go one by one.
            ---
            Should the agent do this?
            > - Proceed
              - Cancel
        "#]],
    );
}

#[test]
fn failed_ticket_shows_its_reason() {
    let why = "the host\u{1b}[2J is down".to_owned();
    let not_filed = |next| {
        let about = QuestionSubject::NotFiled {
            number: 2,
            not_filed: FilingFailure { why: why.clone(), next },
        };
        Question { about, picks: vec![Choice::Retry, Choice::ConvertToSkip], recommended: None }
    };
    check(
        &not_filed(NextSink::None),
        &report(),
        &named(),
        expect![[r#"
        ---
        The ticket for #2 was not filed: the host\u{1b}[2J is down
        There is no other tracker.
        What should the agent do about it?
        > - Retry
          - Convert to Skip
    "#]],
    );
    check(
        &Question {
            picks: vec![Choice::Retry, Choice::NextSink, Choice::ConvertToSkip],
            ..not_filed(NextSink::There)
        },
        &report(),
        &named(),
        expect![[r#"
        ---
        The ticket for #2 was not filed: the host\u{1b}[2J is down
        What should the agent do about it?
        > - Retry
          - Fall back to the next sink
          - Convert to Skip
    "#]],
    );
}

fn next_steps(checkout: Checkout, stays: Option<&str>, picks: &[Choice]) -> Question {
    let destination = Destination { checkout, stays: stays.map(str::to_owned) };
    let about = QuestionSubject::NextSteps { fixes: 2, destination };
    let recommended = picks.first().copied().filter(|pick| *pick == Choice::CreatePullRequest);
    Question { about, picks: picks.to_vec(), recommended }
}

#[test]
fn next_steps_follow_the_specification() {
    use Checkout::*;
    let all = [Choice::CreatePullRequest, Choice::Continue, Choice::Exit];
    check(
        &next_steps(Branch, None, &all),
        &report(),
        &none(),
        expect![[r#"
            ---
            2 fixes were applied. What should happen next?
            > - Create a PR (Recommended) -- push and open a pull request
              - Continue without PR -- stay on the branch
              - Exit -- done for now
        "#]],
    );
    let push = [Choice::PushFixes, Choice::Exit];
    check(
        &next_steps(PullRequest, None, &push),
        &report(),
        &none(),
        expect![[r#"
        ---
        2 fixes were applied. What should happen next?
        > - Push fixes -- push commits to the existing PR branch
          - Exit -- done for now
    "#]],
    );
    let stay = [Choice::Continue, Choice::Exit];
    check(
        &next_steps(Base, None, &stay),
        &report(),
        &none(),
        expect![[r#"
        ---
        2 fixes were applied. What should happen next?
        > - Continue -- proceed with next steps
          - Exit -- done for now
    "#]],
    );
    let why = Some("there is no remote `origin` to push to");
    check(
        &next_steps(Branch, why, &stay),
        &report(),
        &none(),
        expect![[r#"
        ---
        2 fixes were applied. What should happen next?
        Create a PR unavailable — there is no remote `origin` to push to.
        > - Continue without PR -- stay on the branch
          - Exit -- done for now
    "#]],
    );
    let why = Some("the branch tracks no remote branch");
    check(
        &next_steps(PullRequest, why, &stay),
        &report(),
        &none(),
        expect![[r#"
        ---
        2 fixes were applied. What should happen next?
        Push unavailable — the branch tracks no remote branch.
        > - Continue -- proceed with next steps
          - Exit -- done for now
    "#]],
    );
}

#[test]
fn incomplete_review_is_not_called_resolved() {
    let counts = ResolvedCounts { safe_fixes: 1, advisory: 0, pre_existing: 0 };
    assert_eq!(
        decided(counts),
        "No finding needs a decision, but the review is incomplete. 1 safe_auto fix is applied."
    );
}

#[test]
fn issue_with_an_applied_fix_shows_the_fix_and_proposes_none() {
    let mut report = report();
    report.issues[0].replacement = Some("    charge_once();".to_owned());
    report.applied_fixes = vec![crh_review::report::AppliedFix {
        number: 1,
        description: "Charges once.".to_owned(),
        files: vec!["src/pay.rs".to_owned()],
        outcome: crh_review::report::FixOutcome::FoundAgain,
        ..crh_review::report::AppliedFix::default()
    }];
    let finding =
        FindingQuestion { number: 1, position: None, deferring: DeferAvailability::AsRecommended };
    let ask = Question {
        about: QuestionSubject::Finding(finding),
        picks: vec![Choice::Acknowledge, Choice::Skip],
        recommended: None,
    };
    check(
        &ask,
        &report,
        &TrackerLabel::Generic,
        expect![[r#"

        Finding — P1 Trouble 1
        src/pay.rs:12

             10   fn pay() {
             11       charge();
        >    12 +     charge();
             13   }

        What's wrong: Customers pay twice. They complain.
        Applied fix: Charges once; the review of the fix found the issue again
        ---
        Finding — P1 Trouble 1
        What should the agent do with it?
        > - Acknowledge — take note, change nothing
          - Skip — don't apply, don't track
    "#]],
    );
}

#[test]
fn rejected_fix_is_shown_with_its_reason_and_not_promised() {
    let report = report();
    let why = "its fix fails a static check: The file does not parse";
    let shown = |left: SkippedIssue| {
        let diffs = Diffs::only(&Diff::read(DIFF.as_bytes().to_vec()));
        let tracker = named();
        let not_fixed = BTreeMap::from([(1, left)]);
        let (report, tracker) = (&report, &tracker);
        let beside =
            RenderInput { report, not_fixed: &not_fixed, diffs: &diffs, tracker, columns: 79 };
        let finding = FindingQuestion {
            number: 1,
            position: None,
            deferring: DeferAvailability::AsRecommended,
        };
        let text = lead(&QuestionSubject::Finding(finding), beside, ROWS);
        text[text.find("Not fixed").unwrap()..].to_owned()
    };
    expect![[r#"
        Not fixed: its fix fails a static check: The file does not parse
        Proposed fix: Charge once.
    "#]]
    .assert_eq(&shown(SkippedIssue::rejected(1, why)));
    expect![[r#"
        Not fixed: the model timed out
        Proposed fix: Charge once. (a model writes it)
    "#]]
    .assert_eq(&shown(SkippedIssue::new(1, "the model timed out")));
}

#[test]
fn resolved_message_follows_the_specification() {
    for (safe_fixes, advisory, pre_existing, expected) in [
        (2, 0, 0, "All findings resolved — 2 safe_auto fixes applied."),
        (1, 0, 0, "All findings resolved — 1 safe_auto fix applied."),
        (
            1,
            1,
            0,
            "All actionable findings resolved — 1 safe_auto fix applied. (1 advisory finding remains in the report.)",
        ),
        (
            2,
            3,
            1,
            "All actionable findings resolved — 2 safe_auto fixes applied. (3 advisory, 1 pre-existing findings remain in the report.)",
        ),
        (
            0,
            3,
            0,
            "All actionable findings resolved — 0 safe_auto fixes applied. (3 advisory findings remain in the report.)",
        ),
        (
            2,
            0,
            4,
            "All actionable findings resolved — 2 safe_auto fixes applied. (4 pre-existing findings remain in the report.)",
        ),
    ] {
        assert_eq!(resolved(ResolvedCounts { safe_fixes, advisory, pre_existing }), expected);
    }
}

#[test]
fn review_text_is_escaped_for_the_terminal() {
    let mut report = report();
    let hostile = "x\u{1b}[2J\ny\u{202e}z";
    report.issues[0].title = hostile.to_owned();
    report.issues[0].why_it_matters = hostile.to_owned();
    report.issues[0].location.file = hostile.to_owned();
    report.issues[0].disagreement = Some(hostile.to_owned());
    report.issues[0].suggested_fix = None;
    report.issues[0].replacement = Some(hostile.to_owned());
    let diffs = Diffs::only(&Diff::read(DIFF.as_bytes().to_vec()));
    let tracker = TrackerLabel::Named(hostile.to_owned());
    let (report, tracker) = (&report, &tracker);
    let left = SkippedIssue::rejected(1, hostile);
    let not_fixed = BTreeMap::from([(1, left)]);
    let beside = RenderInput { report, not_fixed: &not_fixed, diffs: &diffs, tracker, columns: 79 };
    let picks = vec![Choice::Apply, Choice::Defer];
    let finding =
        FindingQuestion { number: 1, position: None, deferring: DeferAvailability::AsRecommended };
    let ask = Question { about: QuestionSubject::Finding(finding), picks, recommended: None };
    let asked = question(&ask, beside);
    let labels = asked.options.iter().map(|option| option.label.clone());
    let all: String = asked.paragraphs.iter().cloned().chain(labels).collect();
    let all = format!(
        "{all}{}{}",
        lead(&ask.about, beside, ROWS),
        lead(&plan(PlanKind::All).about, beside, 40)
    );
    assert!(!all.contains('\u{1b}') && !all.contains('\u{202e}'), "{all:?}");
    assert_eq!(json!(asked.paragraphs).to_string().matches("\\n").count(), 0);
}
