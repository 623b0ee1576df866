//! Interactive review after its report: asks the user, applies fixes, files tickets, pushes.
//!
//! Invariants: without `--mode interactive`, no file changes before the user agrees. If the user
//! leaves a question other than the last, or chooses "Report only", crh restores the working tree,
//! except for files that the user has edited since. Filed tickets stay; filing again creates no
//! duplicate.

mod code;
mod completion;
mod destination;
mod diffs;
mod flow;
mod left;
mod next;
mod publish;
mod replacement;
pub(crate) mod stored_questions;
mod words;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use self::destination::CheckoutPosition;
use self::diffs::Diffs;
use self::flow::Flow;
pub(crate) use self::left::{left_open, others_fixes};
use self::next::{FilingFailure, FlowStep, NextSink, PublishStep, Question, ResolvedCounts};
use self::words::RenderInput;
use crate::commands::dismiss::dismiss_issue;
use crate::commands::interrupts;
use crate::commands::interrupts::InterruptGuard;
use crate::commands::review::fixing::{chosen_fixes, safe_fixes};
use crate::commands::review::session::ReviewSession;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::UpdateStorage;
use crate::fix::edit_authority::SafeFixTiming;
use crate::fix::outcome::{FixPass, SkippedIssue};
use crate::hand_off::tickets::Tickets;
use crate::ui::Verbosity;
use crate::ui::questions::{LeaveEffect, MenuAnswer, TerminalPrompt};
use crate::{fix, ui};
use crh_review::report::{Issue, Report, ReviewMode};
use crh_review::verdict::{CommandKind, has_gaps};

/// Reason of a finding that the user dismissed at a question.
const DISMISSED_HERE: &str = "in this review";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversationEnd {
    /// All questions are answered, or there were none.
    Ended,
    /// All questions are answered, but publishing failed. The error is printed already.
    NotPublished,
    /// The user left. crh has undone the fixes, unless the user edited the files since.
    Left,
}

/// The user at the terminal, if the current checkout is under review in interactive mode.
pub(crate) fn person(session: &ReviewSession, environment: &Environment) -> Option<TerminalPrompt> {
    match (session.terms.mode, session.terms.command) {
        (ReviewMode::Interactive, CommandKind::Review) if session.checkout.is_some() => {
            TerminalPrompt::detect(environment, session.settings.color.value)
        }
        (
            ReviewMode::Interactive
            | ReviewMode::Autofix
            | ReviewMode::ReportOnly
            | ReviewMode::Headless,
            _,
        ) => None,
    }
}

/// Context of the questions.
pub(crate) struct QuestionContext<'a> {
    pub(crate) session: &'a ReviewSession,
    pub(crate) environment: &'a Environment,
    pub(crate) person: &'a TerminalPrompt,
    pub(crate) safe_fixes: SafeFixTiming,
    pub(crate) verbosity: Verbosity,
}

impl QuestionContext<'_> {
    /// Shows the report, asks the user, and runs the answers.
    pub(crate) fn after_review(
        &self,
        report: &mut Report,
        show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
    ) -> Result<ConversationEnd, Failure> {
        let Some(checkout) = self.session.checkout.as_deref() else {
            return Ok(ConversationEnd::Ended);
        };
        let reviewed = report.clone();
        let place = CheckoutPosition::read(checkout)?;
        left::keep_open(self.session, &place);
        interrupts::watch_hangup()?;
        // Without this guard, Ctrl-C between two questions or before the undo would end crh.
        let _whole = InterruptGuard::watch(|| {})?;
        let flow = Flow::new(report, self.safe_fixes);
        match self.run_flow(flow, &place, report, &reviewed, show)? {
            Some(end) => Ok(end),
            None => {
                self.undo(&place, report, &reviewed);
                left::keep_open(self.session, &place);
                Ok(ConversationEnd::Left)
            }
        }
    }

    /// Undoes all fixes. If the checkout or a fixed file changed since, the fixes stay, and crh
    /// prints why.
    fn undo(&self, place: &CheckoutPosition, report: &mut Report, reviewed: &Report) {
        let _outlasting = InterruptGuard::ignore_next();
        match left::taken_back(self.session, place) {
            Ok(files) => {
                // The stored report has what the repeated review found in the reviewed code.
                let stored = self.session.place.folder().map(|run| run.read(fix::REVIEWED));
                let before = stored.and_then(Result::ok).unwrap_or_else(|| reviewed.clone());
                // Keep the statistics: they include the cost of the repeated review.
                *report = Report { stats: std::mem::take(&mut report.stats), ..before };
                if !files.is_empty() {
                    self.person.print("The fixes are undone: the working tree is as it was.");
                }
            }
            Err(failure) => {
                let why = crh_review::one_line(&format!("{:#}", failure.error));
                let message = format!("The fixes stay in the working tree: {why}.");
                self.person.print(&crh_review::wrap("", "  ", &message, self.person.columns()));
            }
        }
        fix::store_or_warn(self.session, report);
    }

    /// Runs the steps of the flow. Returns `None` if the user left.
    #[expect(clippy::too_many_lines, reason = "one branch per step of the flow")]
    fn run_flow(
        &self,
        mut flow: Flow,
        place: &CheckoutPosition,
        report: &mut Report,
        reviewed: &Report,
        show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
    ) -> Result<Option<ConversationEnd>, Failure> {
        let mut diffs = Diffs::load(self.session);
        let mut tickets: Option<Tickets> = None;
        loop {
            let leave = self.person.cancel_flag();
            // A fix pass watches for Ctrl-C itself, so the handler is set again in each iteration.
            let watch = InterruptGuard::watch(move || leave.store(true, Ordering::SeqCst))?;
            if flow.is_ending() {
                self.drop_missing_fixes(&mut flow, report);
            }
            match flow.next() {
                FlowStep::FixSafe => {
                    drop(watch);
                    let fixed = safe_fixes(self.session, report, self.verbosity, self.environment);
                    warn_not_stored(&fixed);
                    if fixed.is_stopped {
                        return Ok(None);
                    }
                    diffs = Diffs::load(self.session);
                    flow.fixed(report, &fixed);
                }
                FlowStep::Fix(numbers) => {
                    drop(watch);
                    let fixed = self.fix_chosen(report, &numbers);
                    warn_not_stored(&fixed);
                    if fixed.is_stopped {
                        return Ok(None);
                    }
                    diffs = Diffs::load(self.session);
                    flow.fixed(report, &fixed);
                }
                FlowStep::Show => {
                    show(report)?;
                    flow.shown(report);
                }
                FlowStep::Detect => {
                    let found = tickets.take();
                    let found =
                        found.unwrap_or_else(|| Tickets::detect(self.session, self.environment));
                    flow.detected(found.label().clone());
                    tickets = Some(found);
                }
                FlowStep::Ask(ask) => match self.answer(&ask, &flow, report, &diffs) {
                    MenuAnswer::Chosen(at) => flow.answered(ask.picks[at]),
                    MenuAnswer::Cancelled => match words::on_leave(&ask.about) {
                        LeaveEffect::Undo => return Ok(None),
                        LeaveEffect::Keep => {
                            self.drop_missing_fixes(&mut flow, report);
                            left::keep_answered(self.session, &flow);
                            return Ok(Some(ConversationEnd::Ended));
                        }
                    },
                },
                FlowStep::File(number) => flow.filed(file(tickets.as_mut(), number, report)),
                FlowStep::FallBack => {
                    let next = tickets.as_mut().and_then(|tickets| tickets.fall_back().cloned());
                    flow.fell_back(next);
                }
                FlowStep::Resolved(resolved) => {
                    self.print_resolved(resolved, report);
                    flow.completed();
                }
                FlowStep::Dismiss(numbers) => {
                    for number in numbers {
                        flow.dismissed(number, self.dismiss(number, report));
                    }
                    fix::up_to_date(self.session, report);
                    fix::store_or_warn(self.session, report);
                }
                FlowStep::Undo => {
                    drop(watch);
                    self.undo(place, report, reviewed);
                    flow.undone(report);
                }
                FlowStep::Complete => {
                    let columns = self.person.columns();
                    self.person.print(&completion::text(report, &flow, columns));
                    flow.completed();
                }
                FlowStep::FindDestination => {
                    let destination =
                        destination::destination(self.session, report, place, self.environment);
                    flow.leads_to(destination);
                }
                FlowStep::Publish(publish) => {
                    return Ok(Some(self.publish_fixes(publish, &flow, report, place)));
                }
                FlowStep::End => {
                    left::keep_answered(self.session, &flow);
                    return Ok(Some(ConversationEnd::Ended));
                }
            }
            if self.person.is_cancelled() {
                return Ok(None);
            }
        }
    }

    /// Opens the issues of fixes that are no longer in the checkout: the user may have undone them
    /// while a question was open.
    fn drop_missing_fixes(&self, flow: &mut Flow, report: &mut Report) {
        let before = report.applied_fixes.clone();
        if before.is_empty() {
            return;
        }
        match fix::update_report(self.session, report, UpdateStorage::Stored) {
            Ok(()) => {
                let missing = before.iter().map(|fix| fix.number);
                let missing: Vec<u32> =
                    missing.filter(|number| report.fix_of(*number).is_none()).collect();
                flow.reopened(report, missing.into_iter());
            }
            Err(failure) => ui::warn(&format!(
                "crh did not check that the tree has the fixes: {:#}",
                failure.error
            )),
        }
    }

    /// Stores a dismissal for later reviews, and removes the issue from the report. The error is
    /// the reason.
    fn dismiss(&self, number: u32, report: &mut Report) -> Result<Issue, String> {
        const NONE: &str = "there is no such issue";
        let issue = report.issue(number).ok_or(NONE)?;
        let run_id = self.session.place.run_id();
        dismiss_issue(&self.session.settings, &run_id, report, issue, self.environment)
            .map_err(|failure| format!("{:#}", failure.error))?;
        report.dismiss(number, DISMISSED_HERE).ok_or_else(|| NONE.to_owned())
    }

    /// Publishes the fixes and ends the questions. The user cannot leave any more, because crh
    /// cannot undo a push.
    fn publish_fixes(
        &self,
        publish: PublishStep,
        flow: &Flow,
        report: &Report,
        place: &CheckoutPosition,
    ) -> ConversationEnd {
        left::keep_answered(self.session, flow);
        match publish::publish(publish, self.session, report, place, self.environment) {
            Ok(message) => {
                self.person.print(&message);
                ConversationEnd::Ended
            }
            Err(failure) => {
                ui::print_failure(&failure);
                ConversationEnd::NotPublished
            }
        }
    }

    fn answer(&self, ask: &Question, flow: &Flow, report: &Report, diffs: &Diffs) -> MenuAnswer {
        let input = RenderInput {
            report,
            not_fixed: &flow.not_fixed,
            diffs,
            tracker: flow.tracker(),
            columns: self.person.columns(),
        };
        let question = words::question(ask, input);
        // One empty line above the lead and one above the question.
        let rows = self.person.rows_above(&question).saturating_sub(2);
        let lead = words::lead(&ask.about, input, rows);
        if !lead.is_empty() {
            self.person.print(&lead);
        }
        self.person.print("");
        self.person.ask(&question)
    }

    fn print_resolved(&self, resolved: ResolvedCounts, report: &Report) {
        let columns = self.person.columns();
        let message = match has_gaps(report) {
            true => words::decided(resolved),
            false => words::resolved(resolved),
        };
        self.person.print(&format!("\n{}", crh_review::wrap("", "  ", &message, columns)));
        self.person.print(&completion::verdict(report, columns));
    }

    /// Applies chosen fixes. If the pass fails, every issue gets the reason.
    fn fix_chosen(&self, report: &mut Report, numbers: &BTreeSet<u32>) -> FixPass {
        match chosen_fixes(self.session, report, numbers, self.verbosity, self.environment) {
            Ok(fixed) => fixed,
            Err(failure) => {
                let why = format!("{:#}", failure.error);
                if let Some(hint) = &failure.hint {
                    ui::note(hint);
                }
                let left = |number: &u32| SkippedIssue::new(*number, why.clone());
                FixPass::leaving(numbers.iter().map(left).collect())
            }
        }
    }
}

/// Warns that the stored report does not contain the fixes.
fn warn_not_stored(fixed: &FixPass) {
    if let Some(why) = &fixed.store_error {
        ui::warn(&format!("the stored report does not contain the fixes: {why}"));
    }
}

/// Files a ticket and returns its address.
fn file(
    tickets: Option<&mut Tickets>,
    number: u32,
    report: &Report,
) -> Result<String, FilingFailure> {
    let (Some(tickets), Some(issue)) = (tickets, report.issue(number)) else {
        let why = "there is no such issue to file".to_owned();
        return Err(FilingFailure { why, next: NextSink::None });
    };
    match tickets.file(issue, report) {
        Ok(filed) if filed.already_filed => Ok(format!("{} (already filed)", filed.url)),
        Ok(filed) => Ok(filed.url),
        Err(not_filed) => {
            let next = if tickets.has_next() { NextSink::There } else { NextSink::None };
            Err(FilingFailure { why: not_filed.0, next })
        }
    }
}
