//! What follows the report of an interactive review: safe fixes, questions to the person at the terminal, and what they decide.
//!
//! Whoever leaves at a question leaves the tree as it was before the first of them; what somebody did to it meanwhile stays. Tickets
//! that were filed stay; filing them again makes no second one.

mod code;
mod completion;
mod destination;
mod diffs;
mod flow;
mod left;
mod next;
mod publish;
mod replacement;
mod words;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use self::destination::Place;
use self::diffs::Diffs;
use self::flow::Flow;
pub(crate) use self::left::{forget_answers, is_answered, left_open, others_fixes};
use self::next::{Ask, Next, NextSink, NotFiled, Publish, Resolved};
use self::words::Beside;
use crate::commands::interrupts;
use crate::commands::interrupts::Interrupts;
use crate::commands::review::{Begun, chosen_fixes, safe_fixes};
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::outcome::{Fixed, Left};
use crate::hand_off::tickets::Tickets;
use crate::ui::Verbosity;
use crate::ui::questions::{Answer, Person};
use crate::{fix, ui};
use crh_review::report::{Mode, Report};
use crh_review::verdict::Asked;

/// How the questions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talked {
    /// All were answered, or there was none.
    Ended,
    /// All were answered, and what was to be published could not be. That is said already.
    NotPublished,
    /// The person left, and what was fixed is taken back unless somebody has changed it since.
    Left,
}

/// Whom a review can ask: the person at the terminal, if it is one of the checkout they are in.
pub(crate) fn person(begun: &Begun, environment: &Environment) -> Option<Person> {
    match (begun.terms.mode, begun.terms.asked) {
        (Mode::Interactive, Asked::Review) if begun.checkout.is_some() => {
            Person::at_terminal(environment, begun.settings.color.value)
        }
        (Mode::Interactive | Mode::Autofix | Mode::ReportOnly | Mode::Headless, _) => None,
    }
}

/// Everything that the talk is about.
pub(crate) struct Table<'a> {
    pub(crate) begun: &'a Begun,
    pub(crate) environment: &'a Environment,
    pub(crate) person: &'a Person,
    pub(crate) verbosity: Verbosity,
}

impl Table<'_> {
    /// Fixes what is safe, shows the report, and asks what to do with the rest.
    pub(crate) fn after_review(
        &self,
        report: &mut Report,
        show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
    ) -> Result<Talked, Failure> {
        let Some(checkout) = self.begun.checkout.as_deref() else { return Ok(Talked::Ended) };
        let reviewed = report.clone();
        let place = Place::of(checkout)?;
        left::keep_open(self.begun, &place);
        interrupts::watch_end()?;
        // Until the tree is as it was, should somebody leave: between two questions as well.
        let _whole = Interrupts::watch(|| {})?;
        let flow = Flow::new(report);
        match self.talk(flow, &place, report, show)? {
            Some(talked) => Ok(talked),
            None => {
                self.leave(&place, report, reviewed);
                Ok(Talked::Left)
            }
        }
    }

    /// Takes everything back, unless the checkout is not what the fixes have left any more: what somebody did to it since is theirs.
    fn leave(&self, place: &Place, report: &mut Report, reviewed: Report) {
        let _outlasting = Interrupts::outlast();
        match left::taken_back(self.begun, place) {
            Ok(files) => {
                *report = reviewed;
                if !files.is_empty() {
                    self.person.tell("The tree is as it was: the fixes are taken back.");
                }
            }
            Err(failure) => {
                let why = ui::on_one_line(&format!("{:#}", failure.error));
                let said = format!("The fixes stay in the tree: {why}.");
                self.person.tell(&crh_review::wrapped("", "  ", &said, self.person.columns()));
            }
        }
        left::keep_open(self.begun, place);
        fix::store_or_warn(self.begun, report);
    }

    /// Does what the flow says until it ends, and how that was; none if the person left.
    fn talk(
        &self,
        mut flow: Flow,
        place: &Place,
        report: &mut Report,
        show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
    ) -> Result<Option<Talked>, Failure> {
        let mut diffs = Diffs::of(self.begun);
        let mut tickets: Option<Tickets> = None;
        loop {
            let leave = self.person.wants_to_leave();
            // Fixing watches for Ctrl-C itself, so that this is set again every time.
            let watch = Interrupts::watch(move || leave.store(true, Ordering::SeqCst))?;
            match flow.next() {
                Next::FixSafe => {
                    drop(watch);
                    let fixed = safe_fixes(self.begun, report, self.verbosity, self.environment);
                    warn_unkept(&fixed);
                    if fixed.is_stopped {
                        return Ok(None);
                    }
                    diffs = Diffs::of(self.begun);
                    flow.fixed(report, &fixed);
                }
                Next::Fix(numbers) => {
                    drop(watch);
                    let fixed = self.chosen(report, &numbers);
                    warn_unkept(&fixed);
                    if fixed.is_stopped {
                        return Ok(None);
                    }
                    diffs = Diffs::of(self.begun);
                    flow.fixed(report, &fixed);
                }
                Next::Show => {
                    show(report)?;
                    flow.shown(report);
                }
                Next::Detect => {
                    let found = Tickets::detect(self.begun, self.environment);
                    flow.detected(found.label().clone());
                    tickets = Some(found);
                }
                Next::Ask(ask) => match self.answer(&ask, &flow, report, &diffs) {
                    Answer::Chosen(at) => flow.answered(ask.picks[at]),
                    Answer::Left => return Ok(None),
                },
                Next::File(number) => flow.filed(file(tickets.as_mut(), number, report)),
                Next::FallBack => {
                    let next = tickets.as_mut().and_then(|tickets| tickets.fall_back().cloned());
                    flow.fell_back(next);
                }
                Next::Resolved(resolved) => {
                    self.say_resolved(resolved, report);
                    flow.completed();
                }
                Next::Complete => {
                    let columns = self.person.columns();
                    self.person.tell(&completion::text(report, &flow, columns));
                    flow.completed();
                }
                Next::FindDestination => {
                    let destination =
                        destination::destination(self.begun, report, place, self.environment);
                    flow.leads_to(destination);
                }
                Next::Publish(publish) => {
                    return Ok(Some(self.published(publish, &flow, report, place)));
                }
                Next::End => {
                    left::keep_answered(self.begun, &flow);
                    return Ok(Some(Talked::Ended));
                }
            }
            if self.person.is_leaving() {
                return Ok(None);
            }
        }
    }

    /// Publishes, which ends the talk: what is pushed is not taken back, and whoever wanted to leave meanwhile has come too late.
    fn published(&self, publish: Publish, flow: &Flow, report: &Report, place: &Place) -> Talked {
        left::keep_answered(self.begun, flow);
        match publish::publish(publish, self.begun, report, place, self.environment) {
            Ok(said) => {
                self.person.tell(&said);
                Talked::Ended
            }
            Err(failure) => {
                ui::say_failure(&failure);
                Talked::NotPublished
            }
        }
    }

    /// Asks what the flow asks.
    fn answer(&self, ask: &Ask, flow: &Flow, report: &Report, diffs: &Diffs) -> Answer {
        let beside =
            Beside { report, diffs, tracker: flow.tracker(), columns: self.person.columns() };
        let question = words::question(ask, beside);
        // An empty line stands before each of them.
        let rows = self.person.rows_above(&question).saturating_sub(2);
        let lead = words::lead(&ask.about, beside, rows);
        if !lead.is_empty() {
            self.person.tell(&lead);
        }
        self.person.tell("");
        self.person.ask(&question)
    }

    fn say_resolved(&self, resolved: Resolved, report: &Report) {
        let columns = self.person.columns();
        let said = words::resolved(resolved);
        self.person.tell(&format!("\n{}", crh_review::wrapped("", "  ", &said, columns)));
        self.person.tell(&completion::verdict(report, columns));
    }

    /// Fixes what was chosen; what fails as a whole has fixed nothing, and is said of each issue.
    fn chosen(&self, report: &mut Report, numbers: &BTreeSet<u32>) -> Fixed {
        match chosen_fixes(self.begun, report, numbers, self.verbosity, self.environment) {
            Ok(fixed) => fixed,
            Err(failure) => {
                let why = format!("{:#}", failure.error);
                if let Some(hint) = &failure.hint {
                    ui::note(hint);
                }
                let left = |number: &u32| Left::new(*number, why.clone());
                Fixed::leaving(numbers.iter().map(left).collect())
            }
        }
    }
}

/// Says what stands in the tree and not in the report of the run.
fn warn_unkept(fixed: &Fixed) {
    if let Some(why) = &fixed.unkept {
        ui::warn(&format!("the report of the run does not say what was fixed: {why}"));
    }
}

/// Files a ticket; its address, or why there is none.
fn file(tickets: Option<&mut Tickets>, number: u32, report: &Report) -> Result<String, NotFiled> {
    let issue = report.issues.iter().find(|issue| issue.number == number);
    let (Some(tickets), Some(issue)) = (tickets, issue) else {
        let why = "there is no such issue to file".to_owned();
        return Err(NotFiled { why, next: NextSink::None });
    };
    match tickets.file(issue, report) {
        Ok(filed) if filed.was_there => Ok(format!("{} (was there)", filed.url)),
        Ok(filed) => Ok(filed.url),
        Err(not_filed) => {
            let next = if tickets.has_next() { NextSink::There } else { NextSink::None };
            Err(NotFiled { why: not_filed.0, next })
        }
    }
}
