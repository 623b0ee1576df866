//! State machine of an interactive review. It returns the next step and receives the result; it
//! does no I/O.
//!
//! Invariants: fixes chosen in the walk-through are applied together at its end, and then issues
//! are dismissed; cancelling a preview changes nothing; the flow ignores an answer that the
//! question does not offer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::destination::{Checkout, Destination};
use super::next::{
    ActionPlan, Choice, Decision, DeferAvailability, FilingFailure, FindingQuestion, FlowStep,
    NextSink, PlanKind, PublishStep, Question, QuestionSubject, ResolvedCounts, SafeFixes,
};
use super::replacement::Replacement;
use crate::fix;
use crate::fix::edit_authority::SafeFixTiming;
use crate::fix::outcome::{FixPass, SkipKind, SkippedIssue};
use crate::hand_off::tickets::TrackerLabel;
use crh_review::finding::{AutofixClass, Owner};
use crh_review::report::{Action, Issue, Report, Strategy};

/// Reason for an issue without a ticket if every tracker has failed.
const NO_SINK_LEFT: &str = "all issue trackers failed";
/// Reason for an issue that the fixer did not report on.
const NOTHING_SAID: &str = "the fixer did not report on it";
/// Reason for an issue whose fix the user undid while a question was open.
const FIX_UNDONE: &str = "its fix is no longer in the checkout";

pub(super) struct Flow {
    state: FlowState,
    safe: SafeFixes,
    items: Vec<OpenFinding>,
    tracker: TrackerLabel,
    resolved: ResolvedCounts,
    fixes: usize,
    dismissing: DismissAvailability,
    /// Issues whose safe fix failed, by number.
    pub(super) not_fixed: BTreeMap<u32, SkippedIssue>,
    pub(super) decided: BTreeMap<u32, Decision>,
    /// Issues that the user dismissed, which the report does not have any more.
    pub(super) dismissed: Vec<Issue>,
}

/// Whether issues can be dismissed: dismissals are stored per repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DismissAvailability {
    Possible,
    NoRepository,
}

/// An issue that needs a decision.
#[derive(Debug, Clone, Copy)]
struct OpenFinding {
    number: u32,
    action: Action,
    /// Apply, or Acknowledge if crh cannot fix the issue.
    first: Choice,
}

#[derive(Debug, Clone)]
enum FlowState {
    SafeFixes,
    Showing,
    Resolved,
    Detecting,
    Routing,
    Walking(usize),
    Preview { plan: ActionPlan, back: CancelTarget },
    Filing(PendingTickets),
    NotFiled { filing: PendingTickets, not_filed: FilingFailure },
    FallingBack(PendingTickets),
    Fixing,
    Dismissing,
    Undoing,
    Completing,
    FindingDestination,
    NextSteps(Destination),
    Publishing(PublishStep),
    Ended,
}

/// Where Cancel in a preview leads.
#[derive(Debug, Clone, Copy)]
enum CancelTarget {
    Routing,
    Walking(usize),
}

/// Tickets to file; the first is in progress.
#[derive(Debug, Clone)]
struct PendingTickets {
    left: VecDeque<u32>,
    then: AfterFiling,
}

#[derive(Debug, Clone, Copy)]
enum AfterFiling {
    /// Continue the walk-through at this index.
    WalkFrom(usize),
    Fixing,
}

impl Flow {
    /// Starts with the report of the review, before any fix.
    pub(super) fn new(report: &Report, timing: SafeFixTiming) -> Self {
        let numbers = fix::safe(report);
        let safe = match timing {
            _ if numbers.is_empty() => SafeFixes::None,
            SafeFixTiming::AfterAgreement => SafeFixes::Offered(numbers.into_iter().collect()),
            SafeFixTiming::BeforeQuestions => SafeFixes::AppliedFirst(0),
        };
        let mut flow = Self {
            state: FlowState::SafeFixes,
            safe,
            items: Vec::new(),
            tracker: TrackerLabel::None(String::new()),
            resolved: ResolvedCounts { safe_fixes: 0, advisory: 0, pre_existing: 0 },
            fixes: 0,
            dismissing: match report.change.repo.is_empty() {
                true => DismissAvailability::NoRepository,
                false => DismissAvailability::Possible,
            },
            not_fixed: BTreeMap::new(),
            decided: BTreeMap::new(),
            dismissed: Vec::new(),
        };
        match flow.safe {
            SafeFixes::AppliedFirst(_) => {}
            SafeFixes::None | SafeFixes::Offered(_) | SafeFixes::Agreed(_) => {
                flow.collect_open_issues(report);
            }
        }
        flow
    }

    pub(super) fn next(&self) -> FlowStep {
        match &self.state {
            FlowState::SafeFixes => FlowStep::FixSafe,
            FlowState::Showing => FlowStep::Show,
            FlowState::Resolved => FlowStep::Resolved(self.resolved),
            FlowState::Detecting => FlowStep::Detect,
            FlowState::Routing => FlowStep::Ask(self.routing()),
            FlowState::Walking(at) => FlowStep::Ask(self.finding(*at)),
            FlowState::Preview { plan, .. } => FlowStep::Ask(Question {
                about: QuestionSubject::Preview(plan.clone()),
                picks: vec![Choice::Proceed, Choice::Cancel],
                recommended: None,
            }),
            FlowState::Filing(filing) => match filing.left.front() {
                Some(number) => FlowStep::File(*number),
                None => FlowStep::End,
            },
            FlowState::NotFiled { filing, not_filed } => {
                FlowStep::Ask(not_filed_question(filing, not_filed))
            }
            FlowState::FallingBack(_) => FlowStep::FallBack,
            FlowState::Fixing => FlowStep::Fix(self.waiting(&Decision::ToApply)),
            FlowState::Dismissing => FlowStep::Dismiss(self.waiting(&Decision::ToDismiss)),
            FlowState::Undoing => FlowStep::Undo,
            FlowState::Completing => FlowStep::Complete,
            FlowState::FindingDestination => FlowStep::FindDestination,
            FlowState::NextSteps(destination) => FlowStep::Ask(self.next_steps(destination)),
            FlowState::Publishing(publish) => FlowStep::Publish(*publish),
            FlowState::Ended => FlowStep::End,
        }
    }

    pub(super) fn tracker(&self) -> &TrackerLabel {
        &self.tracker
    }

    /// Receives the result of a fix pass. `report` is up to date.
    pub(super) fn fixed(&mut self, report: &Report, fixed: &FixPass) {
        match &self.state {
            FlowState::SafeFixes => {
                let count = report.applied_fixes.len();
                self.resolved.safe_fixes = report.fixed_count();
                self.safe = match &self.safe {
                    _ if count == 0 => SafeFixes::None,
                    SafeFixes::Offered(_) | SafeFixes::Agreed(_) => SafeFixes::Agreed(count),
                    SafeFixes::None | SafeFixes::AppliedFirst(_) => SafeFixes::AppliedFirst(count),
                };
                let not_fixed = fixed.left.iter().map(|left| (left.number, left.clone()));
                self.not_fixed.extend(not_fixed);
                self.collect_open_issues(report);
            }
            _ => {
                for number in self.waiting(&Decision::ToApply) {
                    let left = fixed.left.iter().find(|left| left.number == number);
                    let why = left.map_or(NOTHING_SAID, |left| left.why.as_str());
                    let decision = match report.fix_of(number).map(|fix| fix.outcome) {
                        Some(outcome) => Decision::Applied(outcome),
                        None => Decision::NotApplied(why.to_owned()),
                    };
                    self.decided.insert(number, decision);
                }
                self.state = self.state_after_fixes();
            }
        }
        self.fixes = report.applied_fixes.len();
    }

    /// Whether only the result is left: no question, or none that changes it, follows.
    pub(super) fn is_ending(&self) -> bool {
        match self.state {
            FlowState::Resolved
            | FlowState::Completing
            | FlowState::Publishing(_)
            | FlowState::Ended => true,
            FlowState::SafeFixes
            | FlowState::Showing
            | FlowState::Detecting
            | FlowState::Routing
            | FlowState::Walking(_)
            | FlowState::Preview { .. }
            | FlowState::Filing(_)
            | FlowState::NotFiled { .. }
            | FlowState::FallingBack(_)
            | FlowState::Fixing
            | FlowState::Dismissing
            | FlowState::Undoing
            | FlowState::FindingDestination
            | FlowState::NextSteps(_) => false,
        }
    }

    /// Receives a report without the fixes of these issues, which are no longer in the checkout.
    pub(super) fn reopened(&mut self, report: &Report, numbers: impl Iterator<Item = u32>) {
        self.fixes = report.applied_fixes.len();
        self.resolved.safe_fixes = self.resolved.safe_fixes.min(report.fixed_count());
        for number in numbers {
            match self.decided.get_mut(&number) {
                Some(decision @ Decision::Applied(_)) => {
                    *decision = Decision::NotApplied(FIX_UNDONE.to_owned());
                }
                Some(_) | None => {
                    self.not_fixed.insert(number, SkippedIssue::reverted(number, FIX_UNDONE));
                }
            }
        }
    }

    /// Receives a dismissed issue, or why it was not dismissed.
    pub(super) fn dismissed(&mut self, number: u32, dismissed: Result<Issue, String>) {
        let decision = match dismissed {
            Ok(issue) => {
                self.dismissed.push(issue);
                Decision::Dismissed
            }
            Err(why) => Decision::NotDismissed(why),
        };
        self.decided.insert(number, decision);
        self.state = self.state_after_fixes();
    }

    /// Receives the result of an undo. `report` still has fixes if the undo failed.
    pub(super) fn undone(&mut self, report: &Report) {
        self.fixes = report.applied_fixes.len();
        if self.fixes == 0 {
            self.not_fixed.clear();
        }
        self.state = FlowState::Completing;
    }

    /// The report has been shown.
    pub(super) fn shown(&mut self, report: &Report) {
        self.state = match (report.issues.is_empty(), self.items.is_empty()) {
            (true, _) => FlowState::Ended,
            (false, true) => FlowState::Resolved,
            (false, false) => FlowState::Detecting,
        };
    }

    /// Receives the detected tracker.
    pub(super) fn detected(&mut self, tracker: TrackerLabel) {
        self.tracker = tracker;
        self.state = FlowState::Routing;
    }

    /// Receives the answer to the current question.
    pub(super) fn answered(&mut self, pick: Choice) {
        match (self.next(), self.state.clone()) {
            (FlowStep::Ask(ask), state) if ask.picks.contains(&pick) => self.advance(state, pick),
            _ => {}
        }
    }

    /// Receives the address of the first ticket, or why it could not be filed.
    pub(super) fn filed(&mut self, filed: Result<String, FilingFailure>) {
        let FlowState::Filing(filing) = self.state.clone() else { return };
        match filed {
            Ok(url) => self.next_ticket(filing, Decision::Deferred { url }),
            Err(not_filed) => self.state = FlowState::NotFiled { filing, not_filed },
        }
    }

    /// Receives the next tracker, if there is one.
    pub(super) fn fell_back(&mut self, tracker: Option<TrackerLabel>) {
        let FlowState::FallingBack(filing) = self.state.clone() else { return };
        match tracker {
            Some(tracker) => {
                self.tracker = tracker;
                self.state = FlowState::Filing(filing);
            }
            None => {
                self.tracker = TrackerLabel::None(NO_SINK_LEFT.to_owned());
                for number in filing.left {
                    self.decided.insert(number, Decision::NotFiled(NO_SINK_LEFT.to_owned()));
                }
                self.continue_after_filing(filing.then);
            }
        }
    }

    /// The completion report has been shown.
    pub(super) fn completed(&mut self) {
        self.state = if self.fixes > 0 { FlowState::FindingDestination } else { FlowState::Ended };
    }

    /// Receives where fixes can be pushed.
    pub(super) fn leads_to(&mut self, destination: Destination) {
        self.state = FlowState::NextSteps(destination);
    }

    /// Collects the issues that need a decision.
    fn collect_open_issues(&mut self, report: &Report) {
        let item = |issue: &Issue| {
            let not_fixed = self.not_fixed.get(&issue.number);
            OpenFinding {
                number: issue.number,
                action: open_action(issue, report, not_fixed),
                first: first_pick(issue, report, not_fixed),
            }
        };
        let is_advisory = |issue: &&Issue| issue.autofix_class == AutofixClass::Advisory;
        self.items = report.open_issues().filter(|issue| !is_advisory(issue)).map(item).collect();
        self.resolved.advisory = report.open_issues().filter(is_advisory).count();
        self.resolved.pre_existing = report.pre_existing.len();
        self.state = FlowState::Showing;
    }

    fn routing(&self) -> Question {
        let last = match self.safe {
            SafeFixes::Agreed(_) => Choice::KeepFixes,
            SafeFixes::None | SafeFixes::Offered(_) | SafeFixes::AppliedFirst(_) => {
                Choice::ReportOnly
            }
        };
        let mut picks = vec![Choice::OneByOne, Choice::BestJudgment, Choice::FileAll, last];
        picks.retain(|pick| *pick != Choice::FileAll || self.can_file());
        if let SafeFixes::Offered(_) = self.safe {
            picks.insert(0, Choice::ApplySafe);
        }
        let about =
            QuestionSubject::Routing { remaining: self.items.len(), safe: self.safe.clone() };
        Question { about, picks, recommended: None }
    }

    fn finding(&self, at: usize) -> Question {
        let item = self.items[at];
        let (recommended, deferring) = self.recommended(item);
        let is_only = self.items.len() == 1;
        let mut picks =
            vec![item.first, Choice::Defer, Choice::Skip, Choice::TheRest, Choice::Dismiss];
        picks.retain(|pick| {
            *pick != Choice::Dismiss || self.dismissing == DismissAvailability::Possible
        });
        picks.retain(|pick| *pick != Choice::Defer || self.can_file());
        picks.retain(|pick| *pick != Choice::TheRest || !is_only);
        let position = (!is_only).then_some((at + 1, self.items.len()));
        let finding = FindingQuestion { number: item.number, position, deferring };
        Question { about: QuestionSubject::Finding(finding), picks, recommended: Some(recommended) }
    }

    fn next_steps(&self, destination: &Destination) -> Question {
        let picks = match (destination.checkout, &destination.stays) {
            (Checkout::PullRequest, None) => vec![Choice::PushFixes, Choice::Exit],
            (Checkout::Branch, None) => {
                vec![Choice::CreatePullRequest, Choice::Continue, Choice::Exit]
            }
            (Checkout::Base, _) | (Checkout::PullRequest | Checkout::Branch, Some(_)) => {
                vec![Choice::Continue, Choice::Exit]
            }
        };
        let recommended =
            picks.contains(&Choice::CreatePullRequest).then_some(Choice::CreatePullRequest);
        let about =
            QuestionSubject::NextSteps { fixes: self.fixes, destination: destination.clone() };
        Question { about, picks, recommended }
    }

    fn can_file(&self) -> bool {
        match self.tracker {
            TrackerLabel::Named(_) | TrackerLabel::Generic => true,
            TrackerLabel::None(_) => false,
        }
    }

    fn recommended(&self, item: OpenFinding) -> (Choice, DeferAvailability) {
        match item.action {
            Action::Acknowledge => (Choice::Acknowledge, DeferAvailability::AsRecommended),
            Action::Apply => (Choice::Apply, DeferAvailability::AsRecommended),
            Action::Skip => (Choice::Skip, DeferAvailability::AsRecommended),
            Action::Defer if self.can_file() => (Choice::Defer, DeferAvailability::AsRecommended),
            Action::Defer => (Choice::Skip, DeferAvailability::BecomesSkip),
        }
    }

    /// Moves to the next state. The question offers `pick`.
    fn advance(&mut self, state: FlowState, pick: Choice) {
        match (state, pick) {
            (FlowState::Routing, Choice::ApplySafe) => self.state = FlowState::SafeFixes,
            (FlowState::Routing, Choice::OneByOne) => self.state = FlowState::Walking(0),
            (FlowState::Routing, Choice::BestJudgment) => {
                let plan = self.plan(PlanKind::All, 0);
                self.state = FlowState::Preview { plan, back: CancelTarget::Routing };
            }
            (FlowState::Routing, Choice::FileAll) => {
                let plan = self.plan(PlanKind::Tickets, 0);
                self.state = FlowState::Preview { plan, back: CancelTarget::Routing };
            }
            (FlowState::Routing, Choice::ReportOnly) => {
                self.state = match self.safe {
                    SafeFixes::AppliedFirst(_) => FlowState::Undoing,
                    SafeFixes::None | SafeFixes::Offered(_) | SafeFixes::Agreed(_) => {
                        FlowState::Completing
                    }
                };
            }
            (FlowState::Routing, Choice::KeepFixes) => self.state = FlowState::Completing,
            (FlowState::Walking(at), pick) => self.walk(at, pick),
            (FlowState::Preview { plan, .. }, Choice::Proceed) => self.run_plan(plan),
            (FlowState::Preview { back, .. }, Choice::Cancel) => {
                self.state = match back {
                    CancelTarget::Routing => FlowState::Routing,
                    CancelTarget::Walking(at) => FlowState::Walking(at),
                };
            }
            (FlowState::NotFiled { filing, .. }, Choice::Retry) => {
                self.state = FlowState::Filing(filing);
            }
            (FlowState::NotFiled { filing, .. }, Choice::NextSink) => {
                self.state = FlowState::FallingBack(filing);
            }
            (FlowState::NotFiled { filing, not_filed }, Choice::ConvertToSkip) => {
                self.next_ticket(filing, Decision::NotFiled(not_filed.why));
            }
            (FlowState::NextSteps(_), Choice::PushFixes) => {
                self.state = FlowState::Publishing(PublishStep::Push);
            }
            (FlowState::NextSteps(_), Choice::CreatePullRequest) => {
                self.state = FlowState::Publishing(PublishStep::CreatePullRequest);
            }
            (FlowState::NextSteps(_), _) => self.state = FlowState::Ended,
            // No other question offers this answer.
            (state, _) => self.state = state,
        }
    }

    fn walk(&mut self, at: usize, pick: Choice) {
        let number = self.items[at].number;
        let decision = match pick {
            Choice::Apply => Decision::ToApply,
            Choice::Acknowledge => Decision::Acknowledged,
            Choice::Skip => Decision::Skipped,
            Choice::Dismiss => Decision::ToDismiss,
            Choice::Defer => {
                let (left, then) = (VecDeque::from([number]), AfterFiling::WalkFrom(at + 1));
                self.state = FlowState::Filing(PendingTickets { left, then });
                return;
            }
            Choice::TheRest => {
                let plan = self.plan(PlanKind::Rest { decided: at }, at);
                self.state = FlowState::Preview { plan, back: CancelTarget::Walking(at) };
                return;
            }
            // The question about a finding offers none of these.
            Choice::ApplySafe
            | Choice::OneByOne
            | Choice::BestJudgment
            | Choice::FileAll
            | Choice::ReportOnly
            | Choice::KeepFixes
            | Choice::Proceed
            | Choice::Cancel
            | Choice::Retry
            | Choice::NextSink
            | Choice::ConvertToSkip
            | Choice::PushFixes
            | Choice::CreatePullRequest
            | Choice::Continue
            | Choice::Exit => return,
        };
        self.decided.insert(number, decision);
        self.continue_after_filing(AfterFiling::WalkFrom(at + 1));
    }

    /// The plan for the issues from this index on.
    fn plan(&self, kind: PlanKind, from: usize) -> ActionPlan {
        let (apply, file, skip, acknowledge) = (vec![], vec![], vec![], vec![]);
        let not_deferred = BTreeSet::new();
        let mut plan = ActionPlan { kind, apply, file, skip, acknowledge, not_deferred };
        for item in &self.items[from..] {
            let (pick, deferring) = self.recommended(*item);
            if deferring == DeferAvailability::BecomesSkip {
                plan.not_deferred.insert(item.number);
            }
            let bucket = match (kind, pick) {
                (PlanKind::Tickets, _) | (_, Choice::Defer) => &mut plan.file,
                (_, Choice::Apply) => &mut plan.apply,
                (_, Choice::Acknowledge) => &mut plan.acknowledge,
                (PlanKind::All | PlanKind::Rest { .. }, _) => &mut plan.skip,
            };
            bucket.push(item.number);
        }
        plan
    }

    fn run_plan(&mut self, plan: ActionPlan) {
        let ActionPlan { apply, file, skip, acknowledge, .. } = plan;
        self.decided.extend(apply.into_iter().map(|number| (number, Decision::ToApply)));
        self.decided.extend(skip.into_iter().map(|number| (number, Decision::Skipped)));
        let acknowledged = |number| (number, Decision::Acknowledged);
        self.decided.extend(acknowledge.into_iter().map(acknowledged));
        match file.is_empty() {
            true => self.continue_after_filing(AfterFiling::Fixing),
            false => {
                self.state = FlowState::Filing(PendingTickets {
                    left: file.into(),
                    then: AfterFiling::Fixing,
                });
            }
        }
    }

    /// Records the result of the first ticket and goes on with the next.
    fn next_ticket(&mut self, mut filing: PendingTickets, decision: Decision) {
        if let Some(number) = filing.left.pop_front() {
            self.decided.insert(number, decision);
        }
        match filing.left.is_empty() {
            true => self.continue_after_filing(filing.then),
            false => self.state = FlowState::Filing(filing),
        }
    }

    fn continue_after_filing(&mut self, then: AfterFiling) {
        self.state = match then {
            AfterFiling::WalkFrom(at) if at < self.items.len() => FlowState::Walking(at),
            AfterFiling::WalkFrom(_) | AfterFiling::Fixing => {
                match self.waiting(&Decision::ToApply).is_empty() {
                    true => self.state_after_fixes(),
                    false => FlowState::Fixing,
                }
            }
        };
    }

    /// The state after the last fix.
    fn state_after_fixes(&self) -> FlowState {
        match self.waiting(&Decision::ToDismiss).is_empty() {
            true => FlowState::Completing,
            false => FlowState::Dismissing,
        }
    }

    /// Issues with this decision, which crh still has to apply.
    fn waiting(&self, decision: &Decision) -> BTreeSet<u32> {
        let waiting = self.decided.iter().filter(|(_, it)| *it == decision);
        waiting.map(|(number, _)| *number).collect()
    }
}

/// The question after a ticket could not be filed.
fn not_filed_question(filing: &PendingTickets, not_filed: &FilingFailure) -> Question {
    let number = filing.left.front().copied().unwrap_or_default();
    let picks = match not_filed.next {
        NextSink::There => vec![Choice::Retry, Choice::NextSink, Choice::ConvertToSkip],
        NextSink::None => vec![Choice::Retry, Choice::ConvertToSkip],
    };
    let about = QuestionSubject::NotFiled { number, not_filed: not_filed.clone() };
    Question { about, picks, recommended: None }
}

/// Whether crh can fix an issue: by an exact replacement, or by the fixer, which is a model.
fn is_fixable(issue: &Issue, report: &Report) -> bool {
    issue.replacement.is_some() || report.strategy != Strategy::Static
}

/// Whether the same fix of an issue would fail again before the end of the questions.
fn is_hopeless(not_fixed: Option<&SkippedIssue>) -> bool {
    not_fixed.is_some_and(|left| match left.kind {
        SkipKind::Failed | SkipKind::Reverted => false,
        // The settings of the review decide what verifies fixes and which model writes them.
        SkipKind::Rejected | SkipKind::Unverifiable | SkipKind::NotTried => true,
    })
}

/// The recommended action for an open issue. Does not recommend a fix that is already in the tree,
/// that failed (`not_fixed`), that is too large to judge at a glance, or that needs a model in a
/// review without one.
fn open_action(issue: &Issue, report: &Report, not_fixed: Option<&SkippedIssue>) -> Action {
    let is_readable = issue.replacement.as_deref().is_none_or(Replacement::is_readable);
    match (issue.action, report.fix_of(issue.number)) {
        (Action::Apply, Some(_)) => Action::Defer,
        (Action::Apply, None)
            if not_fixed.is_some() || !is_readable || !is_fixable(issue, report) =>
        {
            Action::Defer
        }
        (action, _) => action,
    }
}

/// The first answer of a finding's question: Apply, or Acknowledge if the fix is already in the
/// tree, if it would fail again or if crh cannot fix the issue. Also Acknowledge if a person or a
/// release has to handle the issue and it has no exact replacement.
pub(super) fn first_pick(
    issue: &Issue,
    report: &Report,
    not_fixed: Option<&SkippedIssue>,
) -> Choice {
    match (issue.action, issue.owner) {
        (Action::Acknowledge, _) => Choice::Acknowledge,
        _ if report.fix_of(issue.number).is_some() => Choice::Acknowledge,
        _ if is_hopeless(not_fixed) || !is_fixable(issue, report) => Choice::Acknowledge,
        (_, Owner::Human | Owner::Release) if issue.replacement.is_none() => Choice::Acknowledge,
        (Action::Apply | Action::Defer | Action::Skip, _) => Choice::Apply,
    }
}

#[cfg(test)]
pub(super) mod tests;
