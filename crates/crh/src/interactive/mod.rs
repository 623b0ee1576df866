//! What follows the report of an interactive review: safe fixes, questions to the person at the terminal, and what they decide.
//!
//! Whoever leaves at a question leaves the tree as it was before the first of them. Tickets that were filed stay; filing them
//! again makes no second one.

mod code;
mod completion;
mod flow;
mod next;
mod standing;
mod words;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use crh_pipeline::credentials::Credentials;
use crh_review::diff::Diff;
use crh_review::report::Mode;
use crh_review::report::Report;
use crh_review::verdict::Asked;
use serde::Deserialize;
use serde::Serialize;

use self::flow::Flow;
use self::next::Ask;
use self::next::Decision;
use self::next::Next;
use self::next::Publish;
use self::next::Resolved;
use self::standing::Place;
use self::words::Beside;
use crate::commands::interrupts;
use crate::commands::interrupts::Interrupts;
use crate::commands::not_undone;
use crate::commands::review::Begun;
use crate::commands::review::chosen_fixes;
use crate::commands::review::safe_fixes;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix;
use crate::fix::journal::Locked;
use crate::fix::journal::UNDISTURBED;
use crate::fix::outcome::Fixed;
use crate::fix::outcome::Left;
use crate::hand_off::tickets::Tickets;
use crate::ui;
use crate::ui::Verbosity;
use crate::ui::questions::Answer;
use crate::ui::questions::Person;

/// The report as the review has made it, for coming back to the questions.
const REVIEWED: &str = "stages/report.json";
/// Where a run keeps whether its questions were answered, and how.
const QUESTIONS: &str = "stages/questions.json";

/// Why there can be no questions, and what can be done about that.
const OTHERS_FIXES: (&str, &str) = (
    "the checkout has fixes of this run that its questions have not made",
    "`crh fix --undo RUN` takes them back; then the questions can come again",
);

/// How the questions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talked {
    /// All were answered, or there was none.
    Ended,
    /// All were answered, and what was to be published could not be. That is said already.
    NotPublished,
    /// The person left, and the tree is as it was.
    Left,
}

/// What a run keeps of its questions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
enum Questions {
    /// They are not all answered.
    Open(Open),
    /// They are: what was decided, by the number of the issue.
    Answered { decisions: Vec<Decided> },
}

/// What has to be so still for the fixes of questions that were left to be taken back.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Open {
    /// The commit that was checked out when they began.
    #[serde(default)]
    head: Option<String>,
    /// What the checkout is like with the last fix that they made; none if they have made none.
    #[serde(default)]
    fixed: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Decided {
    number: u32,
    decision: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    detail: String,
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

/// Whether all questions about a review were answered.
pub(crate) fn is_answered(begun: &Begun) -> bool {
    let questions = begun.place.folder().map(|folder| folder.read::<Questions>(QUESTIONS));
    match questions {
        Some(Ok(Questions::Answered { .. })) => begun.terms.mode == Mode::Interactive,
        Some(Ok(Questions::Open(_)) | Err(_)) | None => false,
    }
}

/// That there is something to be taken back first which questions would take back when they are left.
pub(crate) fn others_fixes() -> Failure {
    let (why, hint) = OTHERS_FIXES;
    Failure::usage(why).hint(hint)
}

/// The report of a review that has ended and whose questions were left: it need not be made again. What the questions had changed is
/// taken back, should they have ended without that.
pub(crate) fn left_open(begun: &Begun) -> Result<Option<Report>, Failure> {
    let (Some(folder), Some(checkout)) = (begun.place.folder(), &begun.checkout) else {
        return Ok(None);
    };
    let open = match folder.read::<Questions>(QUESTIONS) {
        Ok(Questions::Open(open)) => open,
        Ok(Questions::Answered { .. }) | Err(_) => return Ok(None),
    };
    let fixed = fix::standing_commit(folder);
    if let Some((why, hint)) = not_taken_back(&open, fixed.as_deref(), &Place::of(checkout)?) {
        return Err(Failure::usage(why).hint(hint));
    }
    let files = undo(begun)?;
    if !files.is_empty() {
        let files = files.join(", ");
        ui::note(&format!(
            "what the questions had fixed is taken back before they come again: {files}"
        ));
    }
    Ok(folder.read(REVIEWED).ok())
}

/// Why the fixes that stand in a checkout are not those of the questions to take back, and what can be done about that.
fn not_taken_back(
    open: &Open,
    fixed: Option<&str>,
    place: &Place,
) -> Option<(&'static str, &'static str)> {
    match fixed {
        None => None,
        Some(_) if open.fixed.as_deref() != fixed => Some(OTHERS_FIXES),
        Some(_) if open.head != place.head => Some((
            "the checkout has fixes of this run, and `HEAD` is another commit than before them",
            "check that commit out, or review what there is now",
        )),
        Some(_) => None,
    }
}

/// Takes back all that was fixed after this review; the files that it was in.
fn undo(begun: &Begun) -> Result<Vec<String>, Failure> {
    let (Some(folder), Some(checkout)) = (begun.place.folder(), &begun.checkout) else {
        return Ok(Vec::new());
    };
    Locked::take(checkout)
        .and_then(|locked| locked.undo(&fix::fixes_of(folder), UNDISTURBED))
        .map_err(not_undone)
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
        keep_open(self.begun, &place);
        interrupts::watch_end()?;
        let flow = Flow::new(report, standing::standing(report, &place));
        match self.talk(flow, &place, report, show)? {
            Some(talked) => Ok(talked),
            None => {
                *report = reviewed;
                let files = undo(self.begun)?;
                keep_open(self.begun, &place);
                if !files.is_empty() {
                    self.person.tell("The tree is as it was: the fixes are taken back.");
                }
                fix::store(self.begun, report, &[]);
                Ok(Talked::Left)
            }
        }
    }

    /// Does what the flow says until it ends, and how that was; none if the person left.
    fn talk(
        &self,
        mut flow: Flow,
        place: &Place,
        report: &mut Report,
        show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
    ) -> Result<Option<Talked>, Failure> {
        let diff = &self.begun.subject.diff;
        let diff = Credentials::of(diff).hidden_in(diff);
        let mut tickets: Option<Tickets> = None;
        loop {
            let leave = self.person.wants_to_leave();
            // Fixing watches for Ctrl-C itself, so that this is set again every time.
            let watch = Interrupts::watch(move || leave.store(true, Ordering::SeqCst))?;
            match flow.next() {
                Next::FixSafe => {
                    drop(watch);
                    let fixed = safe_fixes(self.begun, report, self.verbosity, self.environment);
                    keep_open(self.begun, place);
                    if fixed.is_stopped {
                        return Ok(None);
                    }
                    flow.fixed(report, &fixed);
                }
                Next::Fix(numbers) => {
                    drop(watch);
                    let (begun, verbosity) = (self.begun, self.verbosity);
                    let fixed = self.fixed(report, &numbers, |report| {
                        chosen_fixes(begun, report, &numbers, verbosity, self.environment)
                    });
                    keep_open(self.begun, place);
                    if fixed.is_stopped {
                        return Ok(None);
                    }
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
                Next::Ask(ask) => match self.answer(&ask, &flow, report, &diff) {
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
                Next::Publish(publish) => {
                    return Ok(Some(self.published(publish, &flow, report, place)));
                }
                Next::End => {
                    self.close(&flow);
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
        self.close(flow);
        match standing::publish(publish, self.begun, report, place) {
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

    /// Keeps what was decided.
    fn close(&self, flow: &Flow) {
        keep(self.begun, &Questions::Answered { decisions: decisions(flow) });
    }

    /// Asks what the flow asks.
    fn answer(&self, ask: &Ask, flow: &Flow, report: &Report, diff: &Diff) -> Answer {
        let beside = Beside {
            report,
            diff,
            tracker: flow.tracker(),
            standing: flow.standing(),
            columns: self.person.columns(),
        };
        let lead = words::lead(&ask.about, beside);
        if !lead.is_empty() {
            self.person.tell(&lead);
        }
        self.person.tell("");
        self.person.ask(&words::question(ask, beside))
    }

    fn say_resolved(&self, resolved: Resolved, report: &Report) {
        let columns = self.person.columns();
        let said = words::resolved(resolved);
        self.person.tell(&format!("\n{}", crh_review::wrapped("", "  ", &said, columns)));
        self.person.tell(&completion::verdict(report, columns));
    }

    /// Fixes; what fails as a whole has fixed nothing, and is said of each issue.
    fn fixed(
        &self,
        report: &mut Report,
        numbers: &BTreeSet<u32>,
        fix: impl FnOnce(&mut Report) -> Result<Fixed, Failure>,
    ) -> Fixed {
        match fix(report) {
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

/// Files a ticket; its address, or why there is none.
fn file(tickets: Option<&mut Tickets>, number: u32, report: &Report) -> Result<String, String> {
    let issue = report.issues.iter().find(|issue| issue.number == number);
    match (tickets, issue) {
        (Some(tickets), Some(issue)) => match tickets.file(issue, report) {
            Ok(filed) if filed.was_there => Ok(format!("{} (was there)", filed.url)),
            Ok(filed) => Ok(filed.url),
            Err(not_filed) => Err(not_filed.0),
        },
        (None, _) | (_, None) => Err("there is no such issue to file".to_owned()),
    }
}

/// Keeps that there are questions, and what has been fixed for them.
fn keep_open(begun: &Begun, place: &Place) {
    let fixed = begun.place.folder().and_then(fix::standing_commit);
    keep(begun, &Questions::Open(Open { head: place.head.clone(), fixed }));
}

fn keep(begun: &Begun, questions: &Questions) {
    if let Some(folder) = begun.place.folder()
        && let Err(problem) = folder.store(QUESTIONS, questions)
    {
        ui::warn(&problem.to_string());
    }
}

fn decisions(flow: &Flow) -> Vec<Decided> {
    let decided = |(number, decision): (&u32, &Decision)| {
        let (word, detail) = match decision {
            Decision::ToApply | Decision::Applied => ("applied", ""),
            Decision::NotApplied(why) => ("not_applied", why.as_str()),
            Decision::Deferred { url } => ("deferred", url.as_str()),
            Decision::Skipped => ("skipped", ""),
            Decision::NotFiled(why) => ("not_filed", why.as_str()),
            Decision::Acknowledged => ("acknowledged", ""),
        };
        Decided { number: *number, decision: word.to_owned(), detail: detail.to_owned() }
    };
    flow.decided.iter().map(decided).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fixes_of_the_questions_are_taken_back_and_only_where_they_were_made() {
        let place = |head: &str| Place { head: Some(head.to_owned()), branch: None };
        let fixed = Some("f1".to_owned());
        let open = Open { head: Some("c1".to_owned()), fixed };
        let why =
            |open: &Open, fixed, head| not_taken_back(open, fixed, &place(head)).map(|it| it.0);
        let others = "the checkout has fixes of this run that its questions have not made";
        let moved =
            "the checkout has fixes of this run, and `HEAD` is another commit than before them";
        assert_eq!(why(&open, Some("f1"), "c1"), None);
        assert_eq!(why(&open, Some("f2"), "c1"), Some(others));
        assert_eq!(why(&Open::default(), Some("f1"), "c1"), Some(others));
        assert_eq!(why(&open, Some("f1"), "c2"), Some(moved));
        // Nothing is there to take back.
        assert_eq!(why(&open, None, "c2"), None);
    }
}
