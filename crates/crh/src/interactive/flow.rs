//! State machine of an interactive review. It returns the next step and receives the result; it
//! does no I/O.
//!
//! Invariants: fixes chosen in the walk-through are applied together at its end, and then issues are
//! dismissed; cancelling a
//! preview changes nothing; an answer that the question does not offer is ignored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::destination::{Checkout, Destination};
use super::next::{
    About, Ask, Decision, Deferring, Finding, Next, NextSink, NotFiled, Pick, Plan, PlanKind,
    Publish, Resolved, SafeFixes,
};
use super::replacement::Replacement;
use crate::fix;
use crate::fix::SafeFixTiming;
use crate::fix::outcome::Fixed;
use crate::hand_off::tickets::TrackerLabel;
use crh_review::finding::{AutofixClass, Owner};
use crh_review::report::{Action, Issue, Report};

/// Reason for a ticket if every tracker has failed.
const NO_SINK_LEFT: &str = "no tracker is left";
/// Reason for an issue that the fixer did not report on.
const NOTHING_SAID: &str = "the fixer did not report on it";

pub(super) struct Flow {
    state: FlowState,
    safe: SafeFixes,
    items: Vec<Item>,
    tracker: TrackerLabel,
    resolved: Resolved,
    fixes: usize,
    dismissing: Dismissing,
    /// Why a safe fix failed, by issue number.
    pub(super) not_fixed: BTreeMap<u32, String>,
    pub(super) decided: BTreeMap<u32, Decision>,
}

/// Whether issues can be dismissed: dismissals are stored per repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dismissing {
    Possible,
    NoRepository,
}

/// An issue that needs a decision.
#[derive(Debug, Clone, Copy)]
struct Item {
    number: u32,
    action: Action,
    /// Apply, or Acknowledge if crh cannot fix the issue.
    first: Pick,
}

#[derive(Debug, Clone)]
enum FlowState {
    SafeFixes,
    Showing,
    Resolved,
    Detecting,
    Routing,
    Walking(usize),
    Preview { plan: Plan, back: Back },
    Filing(Filing),
    NotFiled { filing: Filing, not_filed: NotFiled },
    FallingBack(Filing),
    Fixing,
    Dismissing,
    Undoing,
    Completing,
    FindingDestination,
    NextSteps(Destination),
    Publishing(Publish),
    Ended,
}

/// Where Cancel in a preview leads.
#[derive(Debug, Clone, Copy)]
enum Back {
    Routing,
    Walking(usize),
}

/// Tickets to file; the first is in progress.
#[derive(Debug, Clone)]
struct Filing {
    left: VecDeque<u32>,
    then: Then,
}

#[derive(Debug, Clone, Copy)]
enum Then {
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
            resolved: Resolved { safe_fixes: 0, advisory: 0, pre_existing: 0 },
            fixes: 0,
            dismissing: match report.change.repo.is_empty() {
                true => Dismissing::NoRepository,
                false => Dismissing::Possible,
            },
            not_fixed: BTreeMap::new(),
            decided: BTreeMap::new(),
        };
        match flow.safe {
            SafeFixes::AppliedFirst(_) => {}
            SafeFixes::None | SafeFixes::Offered(_) | SafeFixes::Agreed(_) => {
                flow.take_stock(report);
            }
        }
        flow
    }

    pub(super) fn next(&self) -> Next {
        match &self.state {
            FlowState::SafeFixes => Next::FixSafe,
            FlowState::Showing => Next::Show,
            FlowState::Resolved => Next::Resolved(self.resolved),
            FlowState::Detecting => Next::Detect,
            FlowState::Routing => Next::Ask(self.routing()),
            FlowState::Walking(at) => Next::Ask(self.finding(*at)),
            FlowState::Preview { plan, .. } => Next::Ask(Ask {
                about: About::Preview(plan.clone()),
                picks: vec![Pick::Proceed, Pick::Cancel],
                recommended: None,
            }),
            FlowState::Filing(filing) => match filing.left.front() {
                Some(number) => Next::File(*number),
                None => Next::End,
            },
            FlowState::NotFiled { filing, not_filed } => {
                Next::Ask(not_filed_ask(filing, not_filed))
            }
            FlowState::FallingBack(_) => Next::FallBack,
            FlowState::Fixing => Next::Fix(self.waiting(&Decision::ToApply)),
            FlowState::Dismissing => Next::Dismiss(self.waiting(&Decision::ToDismiss)),
            FlowState::Undoing => Next::Undo,
            FlowState::Completing => Next::Complete,
            FlowState::FindingDestination => Next::FindDestination,
            FlowState::NextSteps(destination) => Next::Ask(self.next_steps(destination)),
            FlowState::Publishing(publish) => Next::Publish(*publish),
            FlowState::Ended => Next::End,
        }
    }

    pub(super) fn tracker(&self) -> &TrackerLabel {
        &self.tracker
    }

    /// Receives the result of a fix pass. `report` is up to date.
    pub(super) fn fixed(&mut self, report: &Report, fixed: &Fixed) {
        match &self.state {
            FlowState::SafeFixes => {
                let count = report.applied_fixes.len();
                self.resolved.safe_fixes = count;
                self.safe = match &self.safe {
                    _ if count == 0 => SafeFixes::None,
                    SafeFixes::Offered(_) | SafeFixes::Agreed(_) => SafeFixes::Agreed(count),
                    SafeFixes::None | SafeFixes::AppliedFirst(_) => SafeFixes::AppliedFirst(count),
                };
                let not_fixed = fixed.left.iter().map(|left| (left.number, left.why.clone()));
                self.not_fixed.extend(not_fixed);
                self.take_stock(report);
            }
            _ => {
                for number in self.waiting(&Decision::ToApply) {
                    let left = fixed.left.iter().find(|left| left.number == number);
                    let why = left.map_or(NOTHING_SAID, |left| left.why.as_str());
                    let decision = match report.fix_of(number).map(|fix| fix.outcome) {
                        Some(_) if left.is_some() => Decision::NotApplied(why.to_owned()),
                        Some(outcome) => Decision::Applied(outcome),
                        None => Decision::NotApplied(why.to_owned()),
                    };
                    self.decided.insert(number, decision);
                }
                self.state = self.ending();
            }
        }
        self.fixes = report.applied_fixes.len();
    }

    /// Receives whether an issue was dismissed, or why not.
    pub(super) fn dismissed(&mut self, number: u32, dismissed: Result<(), String>) {
        let decision = match dismissed {
            Ok(()) => Decision::Dismissed,
            Err(why) => Decision::NotDismissed(why),
        };
        self.decided.insert(number, decision);
        self.state = self.ending();
    }

    /// Receives the result of an undo. `report` still has fixes if it failed.
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
    pub(super) fn answered(&mut self, pick: Pick) {
        match (self.next(), self.state.clone()) {
            (Next::Ask(ask), state) if ask.picks.contains(&pick) => self.go(state, pick),
            _ => {}
        }
    }

    /// Receives the address of the first ticket, or why it could not be filed.
    pub(super) fn filed(&mut self, filed: Result<String, NotFiled>) {
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
                self.go_on(filing.then);
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
    fn take_stock(&mut self, report: &Report) {
        let item = |issue: &Issue| Item {
            number: issue.number,
            action: open_action(issue, report),
            first: first_pick(issue),
        };
        let is_advisory = |issue: &&Issue| issue.autofix_class == AutofixClass::Advisory;
        self.items = report.open_issues().filter(|issue| !is_advisory(issue)).map(item).collect();
        self.resolved.advisory = report.open_issues().filter(is_advisory).count();
        self.resolved.pre_existing = report.pre_existing.len();
        self.state = FlowState::Showing;
    }

    fn routing(&self) -> Ask {
        let last = match self.safe {
            SafeFixes::Agreed(_) => Pick::KeepFixes,
            SafeFixes::None | SafeFixes::Offered(_) | SafeFixes::AppliedFirst(_) => {
                Pick::ReportOnly
            }
        };
        let mut picks = vec![Pick::OneByOne, Pick::BestJudgment, Pick::FileAll, last];
        picks.retain(|pick| *pick != Pick::FileAll || self.can_file());
        if let SafeFixes::Offered(_) = self.safe {
            picks.insert(0, Pick::ApplySafe);
        }
        let about = About::Routing { remaining: self.items.len(), safe: self.safe.clone() };
        Ask { about, picks, recommended: None }
    }

    fn finding(&self, at: usize) -> Ask {
        let item = self.items[at];
        let (recommended, deferring) = self.recommended(item);
        let is_only = self.items.len() == 1;
        let mut picks = vec![item.first, Pick::Defer, Pick::Skip, Pick::TheRest, Pick::Dismiss];
        picks.retain(|pick| *pick != Pick::Dismiss || self.dismissing == Dismissing::Possible);
        picks.retain(|pick| *pick != Pick::Defer || self.can_file());
        picks.retain(|pick| *pick != Pick::TheRest || !is_only);
        let position = (!is_only).then_some((at + 1, self.items.len()));
        let finding = Finding { number: item.number, position, deferring };
        Ask { about: About::Finding(finding), picks, recommended: Some(recommended) }
    }

    fn next_steps(&self, destination: &Destination) -> Ask {
        let picks = match (destination.checkout, &destination.stays) {
            (Checkout::PullRequest, None) => vec![Pick::PushFixes, Pick::Exit],
            (Checkout::Branch, None) => vec![Pick::CreatePullRequest, Pick::Continue, Pick::Exit],
            (Checkout::Base, _) | (Checkout::PullRequest | Checkout::Branch, Some(_)) => {
                vec![Pick::Continue, Pick::Exit]
            }
        };
        let recommended =
            picks.contains(&Pick::CreatePullRequest).then_some(Pick::CreatePullRequest);
        let about = About::NextSteps { fixes: self.fixes, destination: destination.clone() };
        Ask { about, picks, recommended }
    }

    fn can_file(&self) -> bool {
        match self.tracker {
            TrackerLabel::Named(_) | TrackerLabel::Generic => true,
            TrackerLabel::None(_) => false,
        }
    }

    fn recommended(&self, item: Item) -> (Pick, Deferring) {
        match item.action {
            Action::Acknowledge => (Pick::Acknowledge, Deferring::AsRecommended),
            Action::Apply => (Pick::Apply, Deferring::AsRecommended),
            Action::Skip => (Pick::Skip, Deferring::AsRecommended),
            Action::Defer if self.can_file() => (Pick::Defer, Deferring::AsRecommended),
            Action::Defer => (Pick::Skip, Deferring::BecomesSkip),
        }
    }

    /// Moves to the next state. The question offers `pick`.
    fn go(&mut self, state: FlowState, pick: Pick) {
        match (state, pick) {
            (FlowState::Routing, Pick::ApplySafe) => self.state = FlowState::SafeFixes,
            (FlowState::Routing, Pick::OneByOne) => self.state = FlowState::Walking(0),
            (FlowState::Routing, Pick::BestJudgment) => {
                let plan = self.plan(PlanKind::All, 0);
                self.state = FlowState::Preview { plan, back: Back::Routing };
            }
            (FlowState::Routing, Pick::FileAll) => {
                let plan = self.plan(PlanKind::Tickets, 0);
                self.state = FlowState::Preview { plan, back: Back::Routing };
            }
            (FlowState::Routing, Pick::ReportOnly) => {
                self.state = match self.safe {
                    SafeFixes::AppliedFirst(_) => FlowState::Undoing,
                    SafeFixes::None | SafeFixes::Offered(_) | SafeFixes::Agreed(_) => {
                        FlowState::Completing
                    }
                };
            }
            (FlowState::Routing, Pick::KeepFixes) => self.state = FlowState::Completing,
            (FlowState::Walking(at), pick) => self.walk(at, pick),
            (FlowState::Preview { plan, .. }, Pick::Proceed) => self.carry_out(plan),
            (FlowState::Preview { back, .. }, Pick::Cancel) => {
                self.state = match back {
                    Back::Routing => FlowState::Routing,
                    Back::Walking(at) => FlowState::Walking(at),
                };
            }
            (FlowState::NotFiled { filing, .. }, Pick::Retry) => {
                self.state = FlowState::Filing(filing);
            }
            (FlowState::NotFiled { filing, .. }, Pick::NextSink) => {
                self.state = FlowState::FallingBack(filing);
            }
            (FlowState::NotFiled { filing, not_filed }, Pick::ConvertToSkip) => {
                self.next_ticket(filing, Decision::NotFiled(not_filed.why));
            }
            (FlowState::NextSteps(_), Pick::PushFixes) => {
                self.state = FlowState::Publishing(Publish::Push);
            }
            (FlowState::NextSteps(_), Pick::CreatePullRequest) => {
                self.state = FlowState::Publishing(Publish::CreatePullRequest);
            }
            (FlowState::NextSteps(_), _) => self.state = FlowState::Ended,
            // No other question offers this answer.
            (state, _) => self.state = state,
        }
    }

    fn walk(&mut self, at: usize, pick: Pick) {
        let number = self.items[at].number;
        let decision = match pick {
            Pick::Apply => Decision::ToApply,
            Pick::Acknowledge => Decision::Acknowledged,
            Pick::Skip => Decision::Skipped,
            Pick::Dismiss => Decision::ToDismiss,
            Pick::Defer => {
                let (left, then) = (VecDeque::from([number]), Then::WalkFrom(at + 1));
                self.state = FlowState::Filing(Filing { left, then });
                return;
            }
            Pick::TheRest => {
                let plan = self.plan(PlanKind::Rest { decided: at }, at);
                self.state = FlowState::Preview { plan, back: Back::Walking(at) };
                return;
            }
            // A finding's question offers none of these.
            Pick::ApplySafe
            | Pick::OneByOne
            | Pick::BestJudgment
            | Pick::FileAll
            | Pick::ReportOnly
            | Pick::KeepFixes
            | Pick::Proceed
            | Pick::Cancel
            | Pick::Retry
            | Pick::NextSink
            | Pick::ConvertToSkip
            | Pick::PushFixes
            | Pick::CreatePullRequest
            | Pick::Continue
            | Pick::Exit => return,
        };
        self.decided.insert(number, decision);
        self.go_on(Then::WalkFrom(at + 1));
    }

    /// The plan for the issues from this index on.
    fn plan(&self, kind: PlanKind, from: usize) -> Plan {
        let (apply, file, skip, acknowledge) = (vec![], vec![], vec![], vec![]);
        let not_deferred = BTreeSet::new();
        let mut plan = Plan { kind, apply, file, skip, acknowledge, not_deferred };
        for item in &self.items[from..] {
            let (pick, deferring) = self.recommended(*item);
            if deferring == Deferring::BecomesSkip {
                plan.not_deferred.insert(item.number);
            }
            let bucket = match (kind, pick) {
                (PlanKind::Tickets, _) | (_, Pick::Defer) => &mut plan.file,
                (_, Pick::Apply) => &mut plan.apply,
                (_, Pick::Acknowledge) => &mut plan.acknowledge,
                (PlanKind::All | PlanKind::Rest { .. }, _) => &mut plan.skip,
            };
            bucket.push(item.number);
        }
        plan
    }

    fn carry_out(&mut self, plan: Plan) {
        let Plan { apply, file, skip, acknowledge, .. } = plan;
        self.decided.extend(apply.into_iter().map(|number| (number, Decision::ToApply)));
        self.decided.extend(skip.into_iter().map(|number| (number, Decision::Skipped)));
        let acknowledged = |number| (number, Decision::Acknowledged);
        self.decided.extend(acknowledge.into_iter().map(acknowledged));
        match file.is_empty() {
            true => self.go_on(Then::Fixing),
            false => {
                self.state = FlowState::Filing(Filing { left: file.into(), then: Then::Fixing });
            }
        }
    }

    /// Records the result of the first ticket and goes on with the next.
    fn next_ticket(&mut self, mut filing: Filing, decision: Decision) {
        if let Some(number) = filing.left.pop_front() {
            self.decided.insert(number, decision);
        }
        match filing.left.is_empty() {
            true => self.go_on(filing.then),
            false => self.state = FlowState::Filing(filing),
        }
    }

    fn go_on(&mut self, then: Then) {
        self.state = match then {
            Then::WalkFrom(at) if at < self.items.len() => FlowState::Walking(at),
            Then::WalkFrom(_) | Then::Fixing => match self.waiting(&Decision::ToApply).is_empty() {
                true => self.ending(),
                false => FlowState::Fixing,
            },
        };
    }

    /// The step after the last fix.
    fn ending(&self) -> FlowState {
        match self.waiting(&Decision::ToDismiss).is_empty() {
            true => FlowState::Completing,
            false => FlowState::Dismissing,
        }
    }

    /// Issues with a decision that is not carried out yet.
    fn waiting(&self, decision: &Decision) -> BTreeSet<u32> {
        let waiting = self.decided.iter().filter(|(_, it)| *it == decision);
        waiting.map(|(number, _)| *number).collect()
    }
}

/// The question after a ticket could not be filed.
fn not_filed_ask(filing: &Filing, not_filed: &NotFiled) -> Ask {
    let number = filing.left.front().copied().unwrap_or_default();
    let picks = match not_filed.next {
        NextSink::There => vec![Pick::Retry, Pick::NextSink, Pick::ConvertToSkip],
        NextSink::None => vec![Pick::Retry, Pick::ConvertToSkip],
    };
    let about = About::NotFiled { number, not_filed: not_filed.clone() };
    Ask { about, picks, recommended: None }
}

/// The recommended action for an open issue. A fix that did not help is not recommended again, and
/// neither is one that the question cannot show.
fn open_action(issue: &Issue, report: &Report) -> Action {
    let is_readable = issue.replacement.as_deref().is_none_or(Replacement::is_readable);
    match (issue.action, report.fix_of(issue.number)) {
        (Action::Apply, Some(_)) => Action::Defer,
        (Action::Apply, None) if !is_readable => Action::Defer,
        (action, _) => action,
    }
}

/// Apply, or Acknowledge for what a person or a release has to handle without an exact replacement.
fn first_pick(issue: &Issue) -> Pick {
    match (issue.action, issue.owner) {
        (Action::Acknowledge, _) => Pick::Acknowledge,
        (_, Owner::Human | Owner::Release) if issue.replacement.is_none() => Pick::Acknowledge,
        (Action::Apply | Action::Defer | Action::Skip, _) => Pick::Apply,
    }
}

#[cfg(test)]
pub(super) mod tests;
