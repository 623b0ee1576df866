//! All paths of the flow, without terminal, fixer and tracker.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crh_review::report::{AppliedFix, FixOutcome};

#[test]
fn issue_for_a_person_offers_apply_only_with_an_exact_fix() {
    for (owner, replacement, expected) in [
        (Owner::Human, None, Choice::Acknowledge),
        (Owner::Release, None, Choice::Acknowledge),
        (Owner::Human, Some("charge_once();".to_owned()), Choice::Apply),
        (Owner::DownstreamResolver, None, Choice::Apply),
    ] {
        let issue = Issue { owner, replacement, ..issue(1, "manual", "defer") };
        assert_eq!(first_pick(&issue, &Report::default(), None), expected, "{owner}");
    }
}

#[test]
fn review_without_a_model_offers_apply_only_with_an_exact_fix() {
    let report = Report { strategy: Strategy::Static, ..Report::default() };
    let offered = |replacement: Option<&str>| {
        let replacement = replacement.map(str::to_owned);
        let issue = Issue { replacement, ..issue(1, "manual", "apply") };
        (first_pick(&issue, &report, None), open_action(&issue, &report, None))
    };
    assert_eq!(offered(None), (Choice::Acknowledge, Action::Defer));
    assert_eq!(offered(Some("charge_once();")), (Choice::Apply, Action::Apply));
}

#[test]
fn issue_with_a_fix_in_the_tree_offers_no_second_one() {
    for outcome in [FixOutcome::FoundAgain, FixOutcome::Unverified] {
        let (description, files) = ("Done.".to_owned(), vec!["src/pay.rs".to_owned()]);
        let mut report = report(&[SAFE]);
        report.applied_fixes =
            vec![AppliedFix { number: 1, description, files, outcome, ..AppliedFix::default() }];
        assert_eq!(first_pick(&report.issues[0], &report, None), Choice::Acknowledge);
        assert_eq!(open_action(&report.issues[0], &report, None), Action::Defer);
    }
}

#[test]
fn failed_fix_is_not_recommended_and_a_hopeless_one_not_offered() {
    let report = report(&[SAFE]);
    let issue = &report.issues[0];
    assert_eq!(open_action(issue, &report, None), Action::Apply);
    for (kind, expected) in [
        (SkipKind::Failed, Choice::Apply),
        (SkipKind::Rejected, Choice::Acknowledge),
        (SkipKind::Unverifiable, Choice::Acknowledge),
        (SkipKind::NotTried, Choice::Acknowledge),
    ] {
        let left = SkippedIssue { kind, ..SkippedIssue::new(1, "why") };
        assert_eq!(first_pick(issue, &report, Some(&left)), expected, "{kind:?}");
        assert_eq!(open_action(issue, &report, Some(&left)), Action::Defer, "{kind:?}");
    }
}

/// An issue with a class and an action, in the matching queue.
pub(in crate::interactive) fn issue(number: u32, class: &str, action: &str) -> Issue {
    let queue = match (class, action) {
        ("safe_auto", _) => "fixer",
        (_, "acknowledge") => "report",
        _ => "residual",
    };
    let owner = match queue {
        "fixer" => "review-fixer",
        "report" => "human",
        _ => "downstream-resolver",
    };
    let issue: Value = json!({
        "number": number, "dedupe_key": format!("{number:016x}"),
        "title": format!("Trouble {number}"), "severity": "P1", "category": "bug",
        "file": "src/pay.rs", "side": "new", "line_start": 12, "line_end": 12, "confidence": 0.8,
        "why_it_matters": "Customers pay twice. They complain.", "description": "",
        "suggested_fix": "Charge once.", "suggestion": "", "evidence_snippet": "charge();",
        "evidence": [{"file": "src/pay.rs", "side": "new", "line": 12, "snippet": "charge();"}],
        "reviewers": ["correctness"], "language": "rust", "tier": "primary",
        "validation": "confirmed", "autofix_class": class, "owner": owner, "queue": queue,
        "action": action, "requires_verification": false, "pre_existing": false, "members": [],
    });
    serde_json::from_value(issue).unwrap()
}

#[test]
fn fix_that_the_question_cannot_show_is_not_recommended() {
    let report = report(&[("manual", "apply")]);
    let recommended = |replacement: &str| {
        let issue = Issue { replacement: Some(replacement.to_owned()), ..report.issues[0].clone() };
        open_action(&issue, &report, None)
    };
    assert_eq!(recommended("return total\n"), Action::Apply);
    assert_eq!(recommended(&format!("return total{}; steal()\n", " ".repeat(80))), Action::Defer);
    assert_eq!(recommended(&format!("return total{}\n", "x".repeat(300))), Action::Defer);
    assert_eq!(recommended(&"harmless()\n".repeat(300)), Action::Defer);
}

fn report(issues: &[(&str, &str)]) -> Report {
    let numbered = (1..).zip(issues);
    let issues = numbered.map(|(number, (class, action))| issue(number, class, action)).collect();
    Report { issues, ..Report::default() }
}

fn named() -> TrackerLabel {
    TrackerLabel::Named("Linear".to_owned())
}

fn none() -> TrackerLabel {
    TrackerLabel::None("there is none".to_owned())
}

/// A checkout that fixes can be pushed from.
fn at(checkout: Checkout) -> Destination {
    Destination { checkout, stays: None }
}

/// A fixer that fixes everything except these.
fn fixed(report: &mut Report, numbers: &BTreeSet<u32>, but: &[u32]) -> FixPass {
    let mut fixed = FixPass::default();
    for number in numbers {
        match but.contains(number) {
            true => {
                fixed.left.push(SkippedIssue::new(*number, "it could not be"));
            }
            false => fixed.applied.push(AppliedFix {
                number: *number,
                description: "Done.".to_owned(),
                files: vec!["src/pay.rs".to_owned()],
                outcome: FixOutcome::Done,
                ..AppliedFix::default()
            }),
        }
    }
    report.applied_fixes.extend(fixed.applied.clone());
    fixed
}

/// A transcript of the flow: its steps, one per line, and the answers.
struct Talk {
    report: Report,
    flow: Flow,
    tracker: TrackerLabel,
    destination: Destination,
    /// Issues that the fixer cannot fix.
    unfixable: Vec<u32>,
    /// Number of tickets that fail.
    failing: usize,
    /// Whether the fixes cannot be undone.
    cannot_undo: bool,
    /// Trackers to fall back to.
    others: Vec<TrackerLabel>,
    said: String,
}

impl Talk {
    /// A talk of `--mode interactive`.
    fn new(issues: &[(&str, &str)], tracker: TrackerLabel, destination: Destination) -> Self {
        Self::with_timing(SafeFixTiming::BeforeQuestions, issues, tracker, destination)
    }

    /// A talk of a review without `--mode`.
    fn plain(issues: &[(&str, &str)], tracker: TrackerLabel, destination: Destination) -> Self {
        Self::with_timing(SafeFixTiming::AfterAgreement, issues, tracker, destination)
    }

    fn with_timing(
        timing: SafeFixTiming,
        issues: &[(&str, &str)],
        tracker: TrackerLabel,
        destination: Destination,
    ) -> Self {
        let report = report(issues);
        let flow = Flow::new(&report, timing);
        let (unfixable, others, said) = (Vec::new(), Vec::new(), String::new());
        let (failing, cannot_undo) = (0, false);
        Self { report, flow, tracker, destination, unfixable, failing, cannot_undo, others, said }
    }

    /// Runs the flow with these answers and compares steps and decisions.
    fn with(mut self, answers: &[Choice], expected: Expect) {
        let mut answers = answers.iter();
        loop {
            let next = self.flow.next();
            self.note(&next);
            match next {
                FlowStep::FixSafe => {
                    let numbers = fix::safe(&self.report);
                    let fixed = fixed(&mut self.report, &numbers, &self.unfixable);
                    self.flow.fixed(&self.report, &fixed);
                }
                FlowStep::Fix(numbers) => {
                    let fixed = fixed(&mut self.report, &numbers, &self.unfixable);
                    self.flow.fixed(&self.report, &fixed);
                }
                FlowStep::Dismiss(numbers) => {
                    for number in numbers {
                        let dismissed = match self.unfixable.contains(&number) {
                            true => Err("no room".to_owned()),
                            false => Ok(self.report.dismiss(number, "").unwrap()),
                        };
                        self.flow.dismissed(number, dismissed);
                    }
                }
                FlowStep::Undo => {
                    if !self.cannot_undo {
                        self.report.applied_fixes.clear();
                    }
                    self.flow.undone(&self.report);
                }
                FlowStep::Show => self.flow.shown(&self.report),
                FlowStep::Detect => self.flow.detected(self.tracker.clone()),
                FlowStep::Ask(_) => match answers.next() {
                    Some(pick) => {
                        self.said.push_str(&format!("    {pick:?}\n"));
                        self.flow.answered(*pick);
                    }
                    None => break,
                },
                FlowStep::File(number) => {
                    let filed = match self.failing.checked_sub(1) {
                        Some(left) => {
                            self.failing = left;
                            let next = match self.others.is_empty() {
                                true => NextSink::None,
                                false => NextSink::There,
                            };
                            Err(FilingFailure { why: "the host is down".to_owned(), next })
                        }
                        None => Ok(format!("https://tracker.example/{number}")),
                    };
                    self.flow.filed(filed);
                }
                FlowStep::FallBack => {
                    let next = self.others.pop();
                    self.flow.fell_back(next.filter(|label| *label != none()));
                }
                FlowStep::Resolved(_) | FlowStep::Complete => self.flow.completed(),
                FlowStep::FindDestination => self.flow.leads_to(self.destination.clone()),
                FlowStep::Publish(_) | FlowStep::End => break,
            }
        }
        for (number, decision) in &self.flow.decided {
            self.said.push_str(&format!("#{number} {decision:?}\n"));
        }
        expected.assert_eq(&self.said);
    }

    fn note(&mut self, next: &FlowStep) {
        let line = match next {
            FlowStep::Ask(Question { about, picks, recommended }) => {
                let about = match about {
                    QuestionSubject::Finding(FindingQuestion { number, position, deferring }) => {
                        let deferring = match deferring {
                            DeferAvailability::AsRecommended => "",
                            DeferAvailability::BecomesSkip => " not deferred",
                        };
                        format!("#{number} {position:?}{deferring}")
                    }
                    QuestionSubject::Preview(plan) => format!(
                        "{:?} apply {:?} file {:?} skip {:?} acknowledge {:?}",
                        plan.kind, plan.apply, plan.file, plan.skip, plan.acknowledge
                    ),
                    QuestionSubject::NextSteps { fixes, .. } => format!("NextSteps after {fixes}"),
                    QuestionSubject::NotFiled { number, not_filed } => {
                        format!("NotFiled #{number}: {}", not_filed.why)
                    }
                    QuestionSubject::Routing { remaining, safe } => {
                        let safe = match safe {
                            SafeFixes::None => String::new(),
                            safe => format!(" {safe:?}"),
                        };
                        format!("Routing {{ remaining: {remaining} }}{safe}")
                    }
                };
                let recommended = recommended.map(|pick| format!(" ({pick:?})"));
                format!("ask {about} {picks:?}{}", recommended.unwrap_or_default())
            }
            next => format!("{next:?}"),
        };
        self.said.push_str(&format!("{line}\n"));
    }
}

const SAFE: (&str, &str) = ("safe_auto", "apply");
const GATED: (&str, &str) = ("gated_auto", "apply");
const DEFERRED: (&str, &str) = ("manual", "defer");
const DISPUTED: (&str, &str) = ("manual", "skip");
const FOR_HUMANS: (&str, &str) = ("manual", "acknowledge");
const ADVISORY: (&str, &str) = ("advisory", "acknowledge");

#[test]
fn clean_review_asks_nothing() {
    Talk::new(&[], named(), at(Checkout::Branch)).with(
        &[],
        expect![[r#"
        Show
        End
    "#]],
    );
}

#[test]
fn safe_fixes_come_first_and_may_resolve_everything() {
    let both = [SAFE, SAFE, ADVISORY];
    Talk::new(&both, named(), at(Checkout::Branch)).with(
        &[Choice::Exit],
        expect![[r#"
            FixSafe
            Show
            Resolved(ResolvedCounts { safe_fixes: 2, advisory: 1, pre_existing: 0 })
            FindDestination
            ask NextSteps after 2 [CreatePullRequest, Continue, Exit] (CreatePullRequest)
                Exit
            End
        "#]],
    );
    Talk::new(&[ADVISORY], named(), at(Checkout::Branch)).with(
        &[],
        expect![[r#"
            Show
            Resolved(ResolvedCounts { safe_fixes: 0, advisory: 1, pre_existing: 0 })
            End
        "#]],
    );
}

#[test]
fn failed_safe_fix_is_asked_about() {
    let mut talk = Talk::new(&[SAFE, SAFE], none(), at(Checkout::Base));
    talk.unfixable = vec![2];
    talk.with(
        &[Choice::BestJudgment, Choice::Cancel, Choice::OneByOne, Choice::Skip, Choice::Continue],
        expect![[r#"
            FixSafe
            Show
            Detect
            ask Routing { remaining: 1 } AppliedFirst(1) [OneByOne, BestJudgment, ReportOnly]
                BestJudgment
            ask All apply [] file [] skip [2] acknowledge [] [Proceed, Cancel]
                Cancel
            ask Routing { remaining: 1 } AppliedFirst(1) [OneByOne, BestJudgment, ReportOnly]
                OneByOne
            ask #2 None not deferred [Apply, Skip] (Skip)
                Skip
            Complete
            FindDestination
            ask NextSteps after 1 [Continue, Exit]
                Continue
            End
            #2 Skipped
        "#]],
    );
}

#[test]
fn issues_are_dismissed_after_the_fixes() {
    let three = || {
        let mut talk = Talk::new(&[GATED, DEFERRED, DEFERRED], none(), at(Checkout::Base));
        talk.report.change.repo = "acme/shop".to_owned();
        Talk { flow: Flow::new(&talk.report, SafeFixTiming::BeforeQuestions), ..talk }
    };
    let talk = Talk { unfixable: vec![3], ..three() };
    talk.with(
        &[Choice::OneByOne, Choice::Apply, Choice::Dismiss, Choice::Dismiss, Choice::Exit],
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 3 } [OneByOne, BestJudgment, ReportOnly]
                OneByOne
            ask #1 Some((1, 3)) [Apply, Skip, TheRest, Dismiss] (Apply)
                Apply
            ask #2 Some((2, 3)) not deferred [Apply, Skip, TheRest, Dismiss] (Skip)
                Dismiss
            ask #3 Some((3, 3)) not deferred [Apply, Skip, TheRest, Dismiss] (Skip)
                Dismiss
            Fix({1})
            Dismiss({2, 3})
            Complete
            FindDestination
            ask NextSteps after 1 [Continue, Exit]
                Exit
            End
            #1 Applied(Done)
            #2 Dismissed
            #3 NotDismissed("no room")
        "#]],
    );
}

#[test]
fn report_only_does_nothing_more() {
    Talk::new(&[GATED, DEFERRED], named(), at(Checkout::Branch)).with(
        &[Choice::ReportOnly],
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 2 } [OneByOne, BestJudgment, FileAll, ReportOnly]
                ReportOnly
            Complete
            End
        "#]],
    );
}

#[test]
fn report_only_undoes_the_fixes_that_were_applied_first() {
    let both = || Talk::new(&[SAFE, GATED], named(), at(Checkout::PullRequest));
    both().with(
        &[Choice::ReportOnly],
        expect![[r#"
        FixSafe
        Show
        Detect
        ask Routing { remaining: 1 } AppliedFirst(1) [OneByOne, BestJudgment, FileAll, ReportOnly]
            ReportOnly
        Undo
        Complete
        End
    "#]],
    );
    // Fixes that cannot be undone can be pushed.
    let stays = Talk { cannot_undo: true, ..both() };
    stays.with(
        &[Choice::ReportOnly, Choice::Exit],
        expect![[r#"
        FixSafe
        Show
        Detect
        ask Routing { remaining: 1 } AppliedFirst(1) [OneByOne, BestJudgment, FileAll, ReportOnly]
            ReportOnly
        Undo
        Complete
        FindDestination
        ask NextSteps after 1 [PushFixes, Exit]
            Exit
        End
    "#]],
    );
}

#[test]
fn plain_review_offers_safe_fixes_before_it_applies_them() {
    let three = || Talk::plain(&[SAFE, GATED, SAFE], named(), at(Checkout::PullRequest));
    three().with(&[Choice::ReportOnly], expect![[r#"
        Show
        Detect
        ask Routing { remaining: 3 } Offered([1, 3]) [ApplySafe, OneByOne, BestJudgment, FileAll, ReportOnly]
            ReportOnly
        Complete
        End
    "#]]);
    three()
        .with(&[Choice::ApplySafe, Choice::ReportOnly, Choice::KeepFixes, Choice::Exit], expect![[r#"
            Show
            Detect
            ask Routing { remaining: 3 } Offered([1, 3]) [ApplySafe, OneByOne, BestJudgment, FileAll, ReportOnly]
                ApplySafe
            FixSafe
            Show
            Detect
            ask Routing { remaining: 1 } Agreed(2) [OneByOne, BestJudgment, FileAll, KeepFixes]
                ReportOnly
            ask Routing { remaining: 1 } Agreed(2) [OneByOne, BestJudgment, FileAll, KeepFixes]
                KeepFixes
            Complete
            FindDestination
            ask NextSteps after 2 [PushFixes, Exit]
                Exit
            End
        "#]]);
    three().with(&[Choice::BestJudgment, Choice::Proceed, Choice::Exit], expect![[r#"
        Show
        Detect
        ask Routing { remaining: 3 } Offered([1, 3]) [ApplySafe, OneByOne, BestJudgment, FileAll, ReportOnly]
            BestJudgment
        ask All apply [1, 2, 3] file [] skip [] acknowledge [] [Proceed, Cancel]
            Proceed
        Fix({1, 2, 3})
        Complete
        FindDestination
        ask NextSteps after 3 [PushFixes, Exit]
            Exit
        End
        #1 Applied(Done)
        #2 Applied(Done)
        #3 Applied(Done)
    "#]]);
}

#[test]
fn plain_review_does_not_offer_a_failed_safe_fix_again() {
    let mut talk = Talk::plain(&[SAFE], none(), at(Checkout::Base));
    talk.unfixable = vec![1];
    talk.with(
        &[Choice::ApplySafe, Choice::ReportOnly],
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 1 } Offered([1]) [ApplySafe, OneByOne, BestJudgment, ReportOnly]
            ApplySafe
        FixSafe
        Show
        Detect
        ask Routing { remaining: 1 } [OneByOne, BestJudgment, ReportOnly]
            ReportOnly
        Complete
        End
    "#]],
    );
}

#[test]
fn plain_review_with_only_safe_findings_ends_after_agreement() {
    let talk = Talk::plain(&[SAFE, ADVISORY], none(), at(Checkout::Base));
    talk.with(
        &[Choice::ApplySafe, Choice::Exit],
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 1 } Offered([1]) [ApplySafe, OneByOne, BestJudgment, ReportOnly]
                ApplySafe
            FixSafe
            Show
            Resolved(ResolvedCounts { safe_fixes: 1, advisory: 1, pre_existing: 0 })
            FindDestination
            ask NextSteps after 1 [Continue, Exit]
                Exit
            End
        "#]],
    );
}

#[test]
fn next_steps_are_asked_after_safe_fixes_and_tickets() {
    let both = || Talk::new(&[SAFE, GATED], named(), at(Checkout::PullRequest));
    both().with(
        &[Choice::FileAll, Choice::Proceed, Choice::Exit],
        expect![[r#"
            FixSafe
            Show
            Detect
            ask Routing { remaining: 1 } AppliedFirst(1) [OneByOne, BestJudgment, FileAll, ReportOnly]
                FileAll
            ask Tickets apply [] file [2] skip [] acknowledge [] [Proceed, Cancel]
                Proceed
            File(2)
            Complete
            FindDestination
            ask NextSteps after 1 [PushFixes, Exit]
                Exit
            End
            #2 Deferred { url: "https://tracker.example/2" }
        "#]],
    );
}

#[test]
fn one_by_one_applies_at_the_end_and_files_at_once() {
    let issues = [GATED, DEFERRED, DISPUTED, FOR_HUMANS, GATED];
    let mut talk = Talk::new(&issues, named(), at(Checkout::PullRequest));
    talk.unfixable = vec![5];
    let answers = [
        Choice::OneByOne,
        Choice::Apply,
        Choice::Defer,
        Choice::Skip,
        Choice::Acknowledge,
        Choice::Apply,
        Choice::PushFixes,
    ];
    talk.with(
        &answers,
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 5 } [OneByOne, BestJudgment, FileAll, ReportOnly]
                OneByOne
            ask #1 Some((1, 5)) [Apply, Defer, Skip, TheRest] (Apply)
                Apply
            ask #2 Some((2, 5)) [Apply, Defer, Skip, TheRest] (Defer)
                Defer
            File(2)
            ask #3 Some((3, 5)) [Apply, Defer, Skip, TheRest] (Skip)
                Skip
            ask #4 Some((4, 5)) [Acknowledge, Defer, Skip, TheRest] (Acknowledge)
                Acknowledge
            ask #5 Some((5, 5)) [Apply, Defer, Skip, TheRest] (Apply)
                Apply
            Fix({1, 5})
            Complete
            FindDestination
            ask NextSteps after 1 [PushFixes, Exit]
                PushFixes
            Publish(Push)
            #1 Applied(Done)
            #2 Deferred { url: "https://tracker.example/2" }
            #3 Skipped
            #4 Acknowledged
            #5 NotApplied("it could not be")
        "#]],
    );
}

#[test]
fn single_issue_has_no_counter_and_no_rest() {
    let answers = [Choice::OneByOne, Choice::Skip];
    Talk::new(&[GATED], named(), at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 1 } [OneByOne, BestJudgment, FileAll, ReportOnly]
            OneByOne
        ask #1 None [Apply, Defer, Skip] (Apply)
            Skip
        Complete
        End
        #1 Skipped
    "#]],
    );
}

#[test]
fn without_a_tracker_defer_becomes_skip() {
    let answers = [Choice::OneByOne, Choice::TheRest, Choice::Proceed];
    Talk::new(&[DEFERRED, GATED], none(), at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 2 } [OneByOne, BestJudgment, ReportOnly]
                OneByOne
            ask #1 Some((1, 2)) not deferred [Apply, Skip, TheRest] (Skip)
                TheRest
            ask Rest { decided: 0 } apply [2] file [] skip [1] acknowledge [] [Proceed, Cancel]
                Proceed
            Fix({2})
            Complete
            FindDestination
            ask NextSteps after 1 [CreatePullRequest, Continue, Exit] (CreatePullRequest)
            #1 Skipped
            #2 Applied(Done)
        "#]],
    );
    let answers = [Choice::OneByOne, Choice::Defer, Choice::Skip];
    Talk::new(&[DEFERRED], none(), at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 1 } [OneByOne, BestJudgment, ReportOnly]
            OneByOne
        ask #1 None not deferred [Apply, Skip] (Skip)
            Defer
        ask #1 None not deferred [Apply, Skip] (Skip)
            Skip
        Complete
        End
        #1 Skipped
    "#]],
    );
}

#[test]
fn cancel_of_rest_plan_returns_to_the_same_issue() {
    let issues = [GATED, DEFERRED, FOR_HUMANS];
    let answers = [
        Choice::OneByOne,
        Choice::Skip,
        Choice::TheRest,
        Choice::Cancel,
        Choice::TheRest,
        Choice::Proceed,
    ];
    Talk::new(&issues, named(), at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 3 } [OneByOne, BestJudgment, FileAll, ReportOnly]
            OneByOne
        ask #1 Some((1, 3)) [Apply, Defer, Skip, TheRest] (Apply)
            Skip
        ask #2 Some((2, 3)) [Apply, Defer, Skip, TheRest] (Defer)
            TheRest
        ask Rest { decided: 1 } apply [] file [2] skip [] acknowledge [3] [Proceed, Cancel]
            Cancel
        ask #2 Some((2, 3)) [Apply, Defer, Skip, TheRest] (Defer)
            TheRest
        ask Rest { decided: 1 } apply [] file [2] skip [] acknowledge [3] [Proceed, Cancel]
            Proceed
        File(2)
        Complete
        End
        #1 Skipped
        #2 Deferred { url: "https://tracker.example/2" }
        #3 Acknowledged
    "#]],
    );
}

#[test]
fn cancel_of_full_plan_returns_to_the_first_question() {
    let issues = [GATED, DEFERRED, DISPUTED, FOR_HUMANS];
    let answers =
        [Choice::BestJudgment, Choice::Cancel, Choice::BestJudgment, Choice::Proceed, Choice::Exit];
    Talk::new(&issues, TrackerLabel::Generic, at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 4 } [OneByOne, BestJudgment, FileAll, ReportOnly]
                BestJudgment
            ask All apply [1] file [2] skip [3] acknowledge [4] [Proceed, Cancel]
                Cancel
            ask Routing { remaining: 4 } [OneByOne, BestJudgment, FileAll, ReportOnly]
                BestJudgment
            ask All apply [1] file [2] skip [3] acknowledge [4] [Proceed, Cancel]
                Proceed
            File(2)
            Fix({1})
            Complete
            FindDestination
            ask NextSteps after 1 [CreatePullRequest, Continue, Exit] (CreatePullRequest)
                Exit
            End
            #1 Applied(Done)
            #2 Deferred { url: "https://tracker.example/2" }
            #3 Skipped
            #4 Acknowledged
        "#]],
    );
}

#[test]
fn tickets_for_all_apply_nothing() {
    let answers = [Choice::FileAll, Choice::Cancel, Choice::FileAll, Choice::Proceed];
    Talk::new(&[GATED, FOR_HUMANS], named(), at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 2 } [OneByOne, BestJudgment, FileAll, ReportOnly]
            FileAll
        ask Tickets apply [] file [1, 2] skip [] acknowledge [] [Proceed, Cancel]
            Cancel
        ask Routing { remaining: 2 } [OneByOne, BestJudgment, FileAll, ReportOnly]
            FileAll
        ask Tickets apply [] file [1, 2] skip [] acknowledge [] [Proceed, Cancel]
            Proceed
        File(1)
        File(2)
        Complete
        End
        #1 Deferred { url: "https://tracker.example/1" }
        #2 Deferred { url: "https://tracker.example/2" }
    "#]],
    );
}

#[test]
fn failed_ticket_offers_retry_next_tracker_and_skip() {
    let mut talk = Talk::new(&[GATED, GATED, GATED], named(), at(Checkout::Branch));
    talk.failing = 3;
    talk.others = vec![TrackerLabel::Generic];
    let answers =
        [Choice::FileAll, Choice::Proceed, Choice::Retry, Choice::NextSink, Choice::ConvertToSkip];
    talk.with(
        &answers,
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 3 } [OneByOne, BestJudgment, FileAll, ReportOnly]
                FileAll
            ask Tickets apply [] file [1, 2, 3] skip [] acknowledge [] [Proceed, Cancel]
                Proceed
            File(1)
            ask NotFiled #1: the host is down [Retry, NextSink, ConvertToSkip]
                Retry
            File(1)
            ask NotFiled #1: the host is down [Retry, NextSink, ConvertToSkip]
                NextSink
            FallBack
            File(1)
            ask NotFiled #1: the host is down [Retry, ConvertToSkip]
                ConvertToSkip
            File(2)
            File(3)
            Complete
            End
            #1 NotFiled("the host is down")
            #2 Deferred { url: "https://tracker.example/2" }
            #3 Deferred { url: "https://tracker.example/3" }
        "#]],
    );
}

#[test]
fn tickets_are_skipped_if_no_tracker_is_left() {
    let mut talk = Talk::new(&[DEFERRED, DEFERRED, GATED], named(), at(Checkout::Branch));
    talk.failing = 1;
    // The other tracker is unreachable.
    talk.others = vec![none()];
    let answers = [Choice::OneByOne, Choice::Defer, Choice::NextSink, Choice::Skip, Choice::Skip];
    talk.with(
        &answers,
        expect![[r#"
            Show
            Detect
            ask Routing { remaining: 3 } [OneByOne, BestJudgment, FileAll, ReportOnly]
                OneByOne
            ask #1 Some((1, 3)) [Apply, Defer, Skip, TheRest] (Defer)
                Defer
            File(1)
            ask NotFiled #1: the host is down [Retry, NextSink, ConvertToSkip]
                NextSink
            FallBack
            ask #2 Some((2, 3)) not deferred [Apply, Skip, TheRest] (Skip)
                Skip
            ask #3 Some((3, 3)) [Apply, Skip, TheRest] (Apply)
                Skip
            Complete
            End
            #1 NotFiled("all issue trackers failed")
            #2 Skipped
            #3 Skipped
        "#]],
    );
}

#[test]
fn next_tracker_is_offered_only_if_there_is_one() {
    let mut talk = Talk::new(&[DEFERRED, DEFERRED], named(), at(Checkout::Branch));
    talk.failing = 2;
    let answers =
        [Choice::FileAll, Choice::Proceed, Choice::NextSink, Choice::Retry, Choice::ConvertToSkip];
    talk.with(
        &answers,
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 2 } [OneByOne, BestJudgment, FileAll, ReportOnly]
            FileAll
        ask Tickets apply [] file [1, 2] skip [] acknowledge [] [Proceed, Cancel]
            Proceed
        File(1)
        ask NotFiled #1: the host is down [Retry, ConvertToSkip]
            NextSink
        ask NotFiled #1: the host is down [Retry, ConvertToSkip]
            Retry
        File(1)
        ask NotFiled #1: the host is down [Retry, ConvertToSkip]
            ConvertToSkip
        File(2)
        Complete
        End
        #1 NotFiled("the host is down")
        #2 Deferred { url: "https://tracker.example/2" }
    "#]],
    );
}

#[test]
fn answer_that_is_not_offered_is_ignored() {
    let answers = [Choice::PushFixes, Choice::OneByOne, Choice::Acknowledge, Choice::Proceed];
    Talk::new(&[GATED], none(), at(Checkout::Branch)).with(
        &answers,
        expect![[r#"
        Show
        Detect
        ask Routing { remaining: 1 } [OneByOne, BestJudgment, ReportOnly]
            PushFixes
        ask Routing { remaining: 1 } [OneByOne, BestJudgment, ReportOnly]
            OneByOne
        ask #1 None [Apply, Skip] (Apply)
            Acknowledge
        ask #1 None [Apply, Skip] (Apply)
            Proceed
        ask #1 None [Apply, Skip] (Apply)
    "#]],
    );
}

#[test]
fn next_steps_depend_on_the_checkout() {
    let stays = |checkout| Destination { checkout, stays: Some("it has changes".to_owned()) };
    for (destination, answer, expected) in [
        (
            at(Checkout::PullRequest),
            Choice::Exit,
            expect![[r#"
                FixSafe
                Show
                Resolved(ResolvedCounts { safe_fixes: 1, advisory: 0, pre_existing: 0 })
                FindDestination
                ask NextSteps after 1 [PushFixes, Exit]
                    Exit
                End
            "#]],
        ),
        (
            at(Checkout::Branch),
            Choice::CreatePullRequest,
            expect![[r#"
                FixSafe
                Show
                Resolved(ResolvedCounts { safe_fixes: 1, advisory: 0, pre_existing: 0 })
                FindDestination
                ask NextSteps after 1 [CreatePullRequest, Continue, Exit] (CreatePullRequest)
                    CreatePullRequest
                Publish(CreatePullRequest)
            "#]],
        ),
        (
            at(Checkout::Base),
            Choice::Continue,
            expect![[r#"
                FixSafe
                Show
                Resolved(ResolvedCounts { safe_fixes: 1, advisory: 0, pre_existing: 0 })
                FindDestination
                ask NextSteps after 1 [Continue, Exit]
                    Continue
                End
            "#]],
        ),
        (
            stays(Checkout::Branch),
            Choice::Exit,
            expect![[r#"
                FixSafe
                Show
                Resolved(ResolvedCounts { safe_fixes: 1, advisory: 0, pre_existing: 0 })
                FindDestination
                ask NextSteps after 1 [Continue, Exit]
                    Exit
                End
            "#]],
        ),
        (
            stays(Checkout::PullRequest),
            Choice::PushFixes,
            expect![[r#"
                FixSafe
                Show
                Resolved(ResolvedCounts { safe_fixes: 1, advisory: 0, pre_existing: 0 })
                FindDestination
                ask NextSteps after 1 [Continue, Exit]
                    PushFixes
                ask NextSteps after 1 [Continue, Exit]
            "#]],
        ),
    ] {
        Talk::new(&[SAFE], none(), destination).with(&[answer], expected);
    }
}
