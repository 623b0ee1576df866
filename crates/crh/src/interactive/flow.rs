//! The flow of an interactive review as a value: it says what to do next and is told what came of it. Nothing here asks, files or
//! fixes.
//!
//! Invariants: a fix that is asked for in the walk-through is made at its end, with all the others, in one pass; going back from a
//! preview changes nothing; an answer that the question does not offer changes nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::destination::{Checkout, Destination};
use super::next::{
    About, Ask, Decision, Deferring, Finding, Next, NextSink, NotFiled, Pick, Plan, PlanKind,
    Publish, Resolved,
};
use crate::fix;
use crate::fix::outcome::Fixed;
use crate::hand_off::tickets::TrackerLabel;
use crh_review::finding::AutofixClass;
use crh_review::report::{Action, Issue, Report};

/// Said of a ticket that was to be filed after every place for tickets had failed.
const NO_SINK_LEFT: &str = "no place for tickets is left";
/// Said of an issue that was to be fixed and of which nothing was said.
const NOTHING_SAID: &str = "the fixer said nothing about it";

/// An interactive review after its report.
pub(super) struct Flow {
    state: State,
    items: Vec<Item>,
    tracker: TrackerLabel,
    resolved: Resolved,
    fixes: usize,
    /// Why what is safe was not fixed, by the number of the issue.
    pub(super) not_fixed: BTreeMap<u32, String>,
    pub(super) decided: BTreeMap<u32, Decision>,
}

/// An issue that somebody has to decide about.
#[derive(Debug, Clone, Copy)]
struct Item {
    number: u32,
    action: Action,
}

#[derive(Debug, Clone)]
enum State {
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
    Completing,
    FindingDestination,
    NextSteps(Destination),
    Publishing(Publish),
    Ended,
}

/// Where a preview is left to without any change.
#[derive(Debug, Clone, Copy)]
enum Back {
    Routing,
    Walking(usize),
}

/// Tickets that are being filed, the first of them now.
#[derive(Debug, Clone)]
struct Filing {
    left: VecDeque<u32>,
    then: Then,
}

#[derive(Debug, Clone, Copy)]
enum Then {
    /// The walk-through goes on behind this issue.
    WalkFrom(usize),
    Fixing,
}

impl Flow {
    /// The flow for a report as the review has made it.
    pub(super) fn new(report: &Report) -> Self {
        let mut flow = Self {
            state: State::SafeFixes,
            items: Vec::new(),
            tracker: TrackerLabel::None(String::new()),
            resolved: Resolved { safe_fixes: 0, advisory: 0, pre_existing: 0 },
            fixes: 0,
            not_fixed: BTreeMap::new(),
            decided: BTreeMap::new(),
        };
        // Where nothing is safe to fix, nothing is fixed.
        if fix::safe(report).is_empty() {
            flow.take_stock(report);
        }
        flow
    }

    pub(super) fn next(&self) -> Next {
        match &self.state {
            State::SafeFixes => Next::FixSafe,
            State::Showing => Next::Show,
            State::Resolved => Next::Resolved(self.resolved),
            State::Detecting => Next::Detect,
            State::Routing => Next::Ask(self.routing()),
            State::Walking(at) => Next::Ask(self.finding(*at)),
            State::Preview { plan, .. } => Next::Ask(Ask {
                about: About::Preview(plan.clone()),
                picks: vec![Pick::Proceed, Pick::Cancel],
                recommended: None,
            }),
            State::Filing(filing) => match filing.left.front() {
                Some(number) => Next::File(*number),
                None => Next::End,
            },
            State::NotFiled { filing, not_filed } => Next::Ask(not_filed_ask(filing, not_filed)),
            State::FallingBack(_) => Next::FallBack,
            State::Fixing => Next::Fix(self.to_apply()),
            State::Completing => Next::Complete,
            State::FindingDestination => Next::FindDestination,
            State::NextSteps(destination) => Next::Ask(self.next_steps(destination)),
            State::Publishing(publish) => Next::Publish(*publish),
            State::Ended => Next::End,
        }
    }

    /// The tracker that is offered.
    pub(super) fn tracker(&self) -> &TrackerLabel {
        &self.tracker
    }

    /// Fixing has ended, and the report is up to date.
    pub(super) fn fixed(&mut self, report: &Report, fixed: &Fixed) {
        match &self.state {
            State::SafeFixes => {
                self.resolved.safe_fixes = report.applied_fixes.len();
                let not_fixed = fixed.left.iter().map(|left| (left.number, left.why.clone()));
                self.not_fixed.extend(not_fixed);
                self.take_stock(report);
            }
            _ => {
                for number in self.to_apply() {
                    let left = fixed.left.iter().find(|left| left.number == number);
                    let why = left.map_or(NOTHING_SAID, |left| left.why.as_str());
                    let decision = match report.is_fixed(number) {
                        true => Decision::Applied,
                        false => Decision::NotApplied(why.to_owned()),
                    };
                    self.decided.insert(number, decision);
                }
                self.state = State::Completing;
            }
        }
        self.fixes = report.applied_fixes.len();
    }

    /// The report stands on the screen.
    pub(super) fn shown(&mut self, report: &Report) {
        self.state = match (report.issues.is_empty(), self.items.is_empty()) {
            (true, _) => State::Ended,
            (false, true) => State::Resolved,
            (false, false) => State::Detecting,
        };
    }

    /// Which tracker there is.
    pub(super) fn detected(&mut self, tracker: TrackerLabel) {
        self.tracker = tracker;
        self.state = State::Routing;
    }

    /// The answer to what was asked.
    pub(super) fn answered(&mut self, pick: Pick) {
        match (self.next(), self.state.clone()) {
            (Next::Ask(ask), state) if ask.picks.contains(&pick) => self.go(state, pick),
            _ => {}
        }
    }

    /// The first of the tickets was filed, or why not.
    pub(super) fn filed(&mut self, filed: Result<String, NotFiled>) {
        let State::Filing(filing) = self.state.clone() else { return };
        match filed {
            Ok(url) => self.next_ticket(filing, Decision::Deferred { url }),
            Err(not_filed) => self.state = State::NotFiled { filing, not_filed },
        }
    }

    /// The next place for tickets, if there is one.
    pub(super) fn fell_back(&mut self, tracker: Option<TrackerLabel>) {
        let State::FallingBack(filing) = self.state.clone() else { return };
        match tracker {
            Some(tracker) => {
                self.tracker = tracker;
                self.state = State::Filing(filing);
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

    /// What was to be said at the end was said.
    pub(super) fn completed(&mut self) {
        self.state = if self.fixes > 0 { State::FindingDestination } else { State::Ended };
    }

    /// Where the fixes could go.
    pub(super) fn leads_to(&mut self, destination: Destination) {
        self.state = State::NextSteps(destination);
    }

    /// What has to be decided, after what is safe was fixed.
    fn take_stock(&mut self, report: &Report) {
        let item = |issue: &Issue| Item { number: issue.number, action: issue.action };
        let is_advisory = |issue: &&Issue| issue.autofix_class == AutofixClass::Advisory;
        self.items = open(report).filter(|issue| !is_advisory(issue)).map(item).collect();
        self.resolved.advisory = open(report).filter(is_advisory).count();
        self.resolved.pre_existing = report.pre_existing.len();
        self.state = State::Showing;
    }

    fn routing(&self) -> Ask {
        let mut picks = vec![Pick::OneByOne, Pick::BestJudgment, Pick::FileAll, Pick::ReportOnly];
        picks.retain(|pick| *pick != Pick::FileAll || self.can_file());
        Ask { about: About::Routing { remaining: self.items.len() }, picks, recommended: None }
    }

    fn finding(&self, at: usize) -> Ask {
        let item = self.items[at];
        let (recommended, deferring) = self.recommended(item);
        let first = match item.action {
            Action::Acknowledge => Pick::Acknowledge,
            Action::Apply | Action::Defer | Action::Skip => Pick::Apply,
        };
        let is_only = self.items.len() == 1;
        let mut picks = vec![first, Pick::Defer, Pick::Skip, Pick::TheRest];
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

    /// Does what was chosen, which the question offers.
    fn go(&mut self, state: State, pick: Pick) {
        match (state, pick) {
            (State::Routing, Pick::OneByOne) => self.state = State::Walking(0),
            (State::Routing, Pick::BestJudgment) => {
                let plan = self.plan(PlanKind::All, 0);
                self.state = State::Preview { plan, back: Back::Routing };
            }
            (State::Routing, Pick::FileAll) => {
                let plan = self.plan(PlanKind::Tickets, 0);
                self.state = State::Preview { plan, back: Back::Routing };
            }
            (State::Routing, Pick::ReportOnly) => self.state = State::Completing,
            (State::Walking(at), pick) => self.walk(at, pick),
            (State::Preview { plan, .. }, Pick::Proceed) => self.carry_out(plan),
            (State::Preview { back, .. }, Pick::Cancel) => {
                self.state = match back {
                    Back::Routing => State::Routing,
                    Back::Walking(at) => State::Walking(at),
                };
            }
            (State::NotFiled { filing, .. }, Pick::Retry) => self.state = State::Filing(filing),
            (State::NotFiled { filing, .. }, Pick::NextSink) => {
                self.state = State::FallingBack(filing);
            }
            (State::NotFiled { filing, not_filed }, Pick::ConvertToSkip) => {
                self.next_ticket(filing, Decision::NotFiled(not_filed.why));
            }
            (State::NextSteps(_), Pick::PushFixes) => self.state = State::Publishing(Publish::Push),
            (State::NextSteps(_), Pick::CreatePullRequest) => {
                self.state = State::Publishing(Publish::CreatePullRequest);
            }
            (State::NextSteps(_), _) => self.state = State::Ended,
            // No other question offers it.
            (state, _) => self.state = state,
        }
    }

    fn walk(&mut self, at: usize, pick: Pick) {
        let number = self.items[at].number;
        let decision = match pick {
            Pick::Apply => Decision::ToApply,
            Pick::Acknowledge => Decision::Acknowledged,
            Pick::Skip => Decision::Skipped,
            Pick::Defer => {
                let (left, then) = (VecDeque::from([number]), Then::WalkFrom(at + 1));
                self.state = State::Filing(Filing { left, then });
                return;
            }
            Pick::TheRest => {
                let plan = self.plan(PlanKind::Rest { decided: at }, at);
                self.state = State::Preview { plan, back: Back::Walking(at) };
                return;
            }
            // The question offers none of these.
            Pick::OneByOne
            | Pick::BestJudgment
            | Pick::FileAll
            | Pick::ReportOnly
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

    /// What would be done with the issues from here on.
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
            false => self.state = State::Filing(Filing { left: file.into(), then: Then::Fixing }),
        }
    }

    /// Writes down what became of the first ticket, and goes on with the next.
    fn next_ticket(&mut self, mut filing: Filing, decision: Decision) {
        if let Some(number) = filing.left.pop_front() {
            self.decided.insert(number, decision);
        }
        match filing.left.is_empty() {
            true => self.go_on(filing.then),
            false => self.state = State::Filing(filing),
        }
    }

    fn go_on(&mut self, then: Then) {
        self.state = match then {
            Then::WalkFrom(at) if at < self.items.len() => State::Walking(at),
            Then::WalkFrom(_) | Then::Fixing if self.to_apply().is_empty() => State::Completing,
            Then::WalkFrom(_) | Then::Fixing => State::Fixing,
        };
    }

    fn to_apply(&self) -> BTreeSet<u32> {
        let to_apply = self.decided.iter().filter(|(_, it)| **it == Decision::ToApply);
        to_apply.map(|(number, _)| *number).collect()
    }
}

/// What can be done about the first of some tickets, which was not filed.
fn not_filed_ask(filing: &Filing, not_filed: &NotFiled) -> Ask {
    let number = filing.left.front().copied().unwrap_or_default();
    let picks = match not_filed.next {
        NextSink::There => vec![Pick::Retry, Pick::NextSink, Pick::ConvertToSkip],
        NextSink::None => vec![Pick::Retry, Pick::ConvertToSkip],
    };
    let about = About::NotFiled { number, not_filed: not_filed.clone() };
    Ask { about, picks, recommended: None }
}

/// The issues that are not fixed.
fn open(report: &Report) -> impl Iterator<Item = &Issue> {
    report.issues.iter().filter(|issue| !report.is_fixed(issue.number))
}

#[cfg(test)]
pub(super) mod tests;
