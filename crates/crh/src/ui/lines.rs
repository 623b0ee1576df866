//! What happens during a review as lines of plain text, and how fast they may follow each other.

use std::time::Duration;

use super::face::Detail;
use super::state::State;
use super::{on_one_line, words};
use crh_llm::Money;
use crh_pipeline::events::Event;

/// How soon a line may follow another: a log is read afterwards, and nobody reads faster.
const SOONEST: Duration = Duration::from_secs(1);
/// How soon a line that only says how far it is may follow another line.
const STATUS_SOONEST: Duration = Duration::from_secs(10);

/// A line about something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// What it says.
    pub(super) text: String,
    /// How much it matters.
    pub(super) weight: Weight,
}

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It says how far the review is.
    Status,
    /// It is of interest until there is something newer.
    Passing,
    /// It is printed whatever comes after it.
    Lasting,
}

/// What to say about an event, given the state after it; none if that is not worth a line.
pub(super) fn line(event: &Event, state: &State, detail: Detail) -> Option<Line> {
    let every = |text: String| (detail == Detail::Every).then_some((text, Weight::Passing));
    let (text, weight) = match event {
        Event::StageStarted { stage } => (words::stage(*stage).to_owned(), Weight::Passing),
        Event::StageEnded { stage, took_ms } => {
            every(format!("{}: {}", words::stage(*stage), words::took(*took_ms)))?
        }
        Event::Planned { files, budget } => {
            let files = words::count(*files, "file", "files");
            let cost = match *budget {
                Money::ZERO => String::new(),
                budget => format!(", for at most {:.2} USD", budget.as_dollars()),
            };
            (format!("{files} under review{cost}"), Weight::Lasting)
        }
        Event::TeamChosen { team } => (words::team(team), Weight::Lasting),
        Event::RunStarted { run, label, files } => {
            let about = if label.is_empty() { String::new() } else { format!(" {label},") };
            let files = words::count(*files, "file", "files");
            (format!("{run} begins:{about} {files}"), Weight::Passing)
        }
        Event::ToolCalled { run, tool, about } => every(format!("{run}: {tool} {about}"))?,
        Event::Refused { run, told } => every(format!("{run} was refused: {told}"))?,
        Event::FileReviewed { path } => match detail {
            Detail::Every => (format!("reviewed {path}"), Weight::Passing),
            Detail::Brief => (status(state), Weight::Status),
        },
        Event::RunEnded { run, failure: Some(why), .. } => {
            (format!("{run} failed: {why}"), Weight::Lasting)
        }
        Event::RunEnded { run, failure: None, limited, findings, took_ms } => {
            let findings = words::count(*findings, "finding", "findings");
            let took = words::took(*took_ms);
            match limited {
                Some(limit) => (
                    format!("{run} met its limit of {limit}: {findings} in {took}"),
                    Weight::Lasting,
                ),
                None => (format!("{run} is done: {findings} in {took}"), Weight::Passing),
            }
        }
        Event::Spent { .. } => (status(state), Weight::Status),
        Event::Warning { text } => (format!("warning: {text}"), Weight::Lasting),
    };
    Some(Line { text: on_one_line(&text), weight })
}

/// How far the review is.
fn status(state: &State) -> String {
    let mut parts = Vec::new();
    if let Some(files) = state.files {
        parts.push(format!(
            "{} of {} reviewed",
            state.done(),
            words::count(files, "file", "files")
        ));
    }
    if !state.runs.is_empty() {
        parts.push(format!("{} at work", words::count(state.runs.len(), "run", "runs")));
    }
    parts.push(words::tokens(&state.totals));
    parts.push(words::money(state.totals.money, state.budget));
    parts.join(", ")
}

/// Lines on their way to a log, at most one at a time: those that last wait for their turn, of the others only the newest does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pace {
    printed: Option<Duration>,
    lasting: Vec<String>,
    newest: Option<Line>,
}

impl Pace {
    /// Takes in a line that wants to be printed.
    pub(super) fn offer(&mut self, line: Line) {
        match line.weight {
            Weight::Lasting => {
                // What was before it comes before it, or not at all.
                self.newest = None;
                self.lasting.push(line.text);
            }
            // A stage that has begun is news; how far the one before was is none.
            Weight::Status
                if self.newest.as_ref().is_some_and(|held| held.weight != Weight::Status) => {}
            Weight::Status | Weight::Passing => self.newest = Some(line),
        }
    }

    /// The lines to print at a time from the start.
    pub(super) fn due(&mut self, now: Duration) -> Vec<String> {
        let since = self.printed.map(|printed| now.saturating_sub(printed));
        let is_due = |soonest| since.is_none_or(|since| since >= soonest);
        if !is_due(SOONEST) {
            return Vec::new();
        }
        let mut lines = std::mem::take(&mut self.lasting);
        let soonest = |line: &mut Line| match line.weight {
            Weight::Status => STATUS_SOONEST,
            Weight::Passing | Weight::Lasting => SOONEST,
        };
        lines.extend(self.newest.take_if(|line| is_due(soonest(line))).map(|line| line.text));
        if !lines.is_empty() {
            self.printed = Some(now);
        }
        lines
    }

    /// The lines that must not be lost, at the end.
    pub(super) fn rest(self) -> Vec<String> {
        self.lasting
    }
}

#[cfg(test)]
mod tests;
