//! What follows the report of an interactive review: safe fixes, questions to the person at the terminal, and what they decide.
//!
//! Whoever leaves at a question leaves the tree as it was before the first of them. Tickets that were filed stay; filing them
//! again makes no second one.

mod code;
mod completion;
mod flow;
mod standing;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use crh_pipeline::credentials::Credentials;
use crh_review::diff::Diff;
use crh_review::report::Mode;
use crh_review::report::Report;
use crh_review::verdict::Asked;
use serde::Deserialize;
use serde::Serialize;

use self::flow::Decision;
use self::flow::Flow;
use self::flow::Next;
use self::standing::Standing;
use self::words::Beside;
use crate::commands::interrupts;
use crate::commands::interrupts::Interrupts;
use crate::commands::review::Begun;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix;
use crate::fix::outcome::Fixed;
use crate::fix::outcome::Left;
use crate::hand_off::tickets::Tickets;
use crate::ui;
use crate::ui::questions::Answer;
use crate::ui::questions::Person;

/// Where a run keeps whether its questions were answered, and how.
const QUESTIONS: &str = "stages/questions.json";

/// How the questions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talked {
    /// All were answered, or there was none.
    Ended,
    /// The person left, and the tree is as it was.
    Left,
}

/// What a run keeps of its questions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
enum Questions {
    /// They are not all answered.
    Open,
    /// They are: what was decided, by the number of the issue.
    Answered { decisions: Vec<Decided> },
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

/// The report of a review that has ended and whose questions were left: it need not be made again. What the questions had changed
/// before is taken back first, should they have ended without that.
pub(crate) fn left_open(begun: &Begun, environment: &Environment) -> Option<Report> {
    let folder = begun.place.folder()?;
    match folder.read::<Questions>(QUESTIONS).ok()? {
        Questions::Open => {}
        Questions::Answered { .. } => return None,
    }
    if let Err(failure) = fix::undo(begun, environment) {
        ui::warn(&format!("{:#}", failure.error));
    }
    folder.read(REVIEWED).ok()
}

/// The report as the review has made it, for coming back to the questions.
const REVIEWED: &str = "stages/report.json";

/// Fixes what is safe, shows the report, and asks what to do with the rest.
pub(crate) fn after_review(
    begun: &Begun,
    report: &mut Report,
    environment: &Environment,
    person: &Person,
    show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
) -> Result<Talked, Failure> {
    let Some(checkout) = begun.checkout.as_deref() else { return Ok(Talked::Ended) };
    let reviewed = report.clone();
    keep(begun, &Questions::Open);
    interrupts::watch_end()?;
    let diff = Credentials::of(&begun.subject.diff).hidden_in(&begun.subject.diff);
    let table = Table { begun, environment, person, diff: &diff, checkout };
    let flow = Flow::new(report, Standing::of(checkout, report)?);
    let talked = match table.talk(flow, report, show)? {
        Some(flow) => {
            keep(begun, &Questions::Answered { decisions: decisions(&flow) });
            Talked::Ended
        }
        None => {
            let has_changed = !report.applied_fixes.is_empty();
            *report = reviewed;
            if has_changed {
                fix::undo(begun, environment)?;
                person.tell("The tree is as it was: the fixes are taken back.");
            }
            Talked::Left
        }
    };
    for problem in begun.place.folder().map(|folder| folder.rewrite(report)).unwrap_or_default() {
        ui::warn(&problem.to_string());
    }
    Ok(talked)
}

/// Everything that the talk is about.
struct Table<'a> {
    begun: &'a Begun,
    environment: &'a Environment,
    person: &'a Person,
    diff: &'a Diff,
    checkout: &'a Path,
}

impl Table<'_> {
    /// Does what the flow says until it ends; none if the person left.
    fn talk(
        &self,
        mut flow: Flow,
        report: &mut Report,
        show: &mut dyn FnMut(&Report) -> Result<(), Failure>,
    ) -> Result<Option<Flow>, Failure> {
        let mut tickets: Option<Tickets> = None;
        loop {
            let leave = self.person.wants_to_leave();
            // Fixing watches for Ctrl-C itself, so that this is set again every time.
            let watch = Interrupts::watch(move || leave.store(true, Ordering::SeqCst))?;
            match flow.next() {
                Next::Fix(numbers) => {
                    drop(watch);
                    let fixed = self.fix(report, &numbers);
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
                Next::Ask(ask) => {
                    let beside = self.beside(&flow, report);
                    let lead = words::lead(&ask.about, beside);
                    if !lead.is_empty() {
                        self.person.tell(&lead);
                    }
                    let question = words::question(&ask, beside);
                    self.person.tell("");
                    match self.person.ask(&question) {
                        Answer::Chosen(at) => flow.answered(ask.picks[at]),
                        Answer::Left => return Ok(None),
                    }
                }
                Next::File(number) => flow.filed(file(tickets.as_mut(), number, report)),
                Next::FallBack => {
                    let next = tickets.as_mut().and_then(|tickets| tickets.fall_back().cloned());
                    flow.fell_back(next);
                }
                Next::Resolved(resolved) => {
                    let columns = self.person.columns();
                    let said = words::resolved(resolved);
                    self.person.tell(&crh_review::wrapped("", "  ", &said, columns));
                    self.person.tell(&completion::verdict(report, columns));
                    flow.completed();
                }
                Next::Complete => {
                    let columns = self.person.columns();
                    self.person.tell(&completion::text(report, &flow, columns));
                    flow.completed();
                }
                Next::Publish(publish) => {
                    let said = standing::publish(publish, self.begun, self.checkout, report)?;
                    self.person.tell(&said);
                    flow.published();
                }
                Next::End => return Ok(Some(flow)),
            }
            if self.person.is_leaving() {
                return Ok(None);
            }
        }
    }

    fn beside<'b>(&'b self, flow: &'b Flow, report: &'b Report) -> Beside<'b> {
        Beside {
            report,
            diff: self.diff,
            tracker: flow.tracker(),
            standing: flow.standing(),
            columns: self.person.columns(),
        }
    }

    /// Fixes; what fails as a whole has fixed nothing, and is said of each issue.
    fn fix(&self, report: &mut Report, numbers: &BTreeSet<u32>) -> Fixed {
        match fix::fix(self.begun, report, numbers, self.environment) {
            Ok(fixed) => fixed,
            Err(failure) => {
                let why = format!("{:#}", failure.error);
                if let Some(hint) = &failure.hint {
                    ui::note(hint);
                }
                let left = |number: &u32| Left { number: *number, why: why.clone() };
                Fixed { applied: Vec::new(), left: numbers.iter().map(left).collect() }
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
