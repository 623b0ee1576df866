//! Progress events as lines of text, throttled for logs.

use std::time::Duration;

use super::format;
use super::state::ProgressState;
use super::style::LineDetail;
use crh_llm::Money;
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::text;
use crh_review::one_line;

/// Minimum time between two lines of a log.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between the last line and a status line.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);
/// Time without a line after which the status is printed, so that a slow model does not look like a
/// hang.
const QUIET_INTERVAL: Duration = Duration::from_secs(30);

/// A line of progress output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgressLine {
    pub(super) text: String,
    pub(super) priority: LinePriority,
}

/// Whether a line may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePriority {
    /// Overall progress; dropped if another line waits.
    Status,
    /// Replaced by newer lines.
    Transient,
    /// Always printed.
    Permanent,
}

/// The line for an event, if any. `state` already includes the event.
pub(super) fn line(
    event: &ReviewEvent,
    state: &ProgressState,
    detail: LineDetail,
) -> Option<ProgressLine> {
    let if_verbose =
        |text: String| (detail == LineDetail::Every).then_some((text, LinePriority::Transient));
    let (text, priority) = match event {
        ReviewEvent::StageStarted { stage } => {
            (format::stage(*stage).to_owned(), LinePriority::Transient)
        }
        ReviewEvent::StageEnded { stage, took_ms } => {
            if_verbose(format!("{}: {}", format::stage(*stage), text::duration(*took_ms)))?
        }
        ReviewEvent::Planned { files, budget } => {
            let files = format::count(*files, "file", "files");
            let cost = match *budget {
                Money::ZERO => String::new(),
                budget => format!(", budget {:.2} USD", budget.as_dollars()),
            };
            (format!("reviewing {files}{cost}"), LinePriority::Permanent)
        }
        ReviewEvent::TeamChosen { team } => (format::team(team), LinePriority::Permanent),
        ReviewEvent::RunStarted { run, label, files } => {
            // The editor reads findings and has no files of its own.
            let files = (*files > 0).then(|| format::count(*files, "file", "files"));
            let label = Some(label.clone()).filter(|label| !label.is_empty());
            let details: Vec<String> = label.into_iter().chain(files).collect();
            let colon = if details.is_empty() { "" } else { ": " };
            let run = format::run_title(run);
            (format!("{run} started{colon}{}", details.join(", ")), LinePriority::Transient)
        }
        ReviewEvent::ToolCalled { run, tool, about: part } => {
            if_verbose(format!("{run}: {tool} {part}"))?
        }
        ReviewEvent::Refused { run, message } => {
            if_verbose(format!("{run}: call refused: {message}"))?
        }
        ReviewEvent::FileReviewed { path } => match detail {
            LineDetail::Every => (format!("reviewed {path}"), LinePriority::Transient),
            LineDetail::Brief => (status(state), LinePriority::Status),
        },
        ReviewEvent::RunEnded { run, failure: Some(failure), .. }
            if state.failures.get(failure).is_some_and(|count| *count > 1) =>
        {
            (
                format!("{} failed with the same error", format::run_title(run)),
                LinePriority::Transient,
            )
        }
        ReviewEvent::RunEnded { run, failure: Some(failure), .. } => {
            (format!("{} failed: {failure}", format::run_title(run)), LinePriority::Permanent)
        }
        ReviewEvent::RunEnded { run, failure: None, limited, findings, took_ms } => {
            let findings = match *findings {
                // The scout, the editor and validations have no findings of their own.
                0 if format::run_title(run) != *run => String::new(),
                findings => format!(": {}", format::count(findings, "finding", "findings")),
            };
            let (run, duration) = (format::run_title(run), text::duration(*took_ms));
            match limited {
                Some(limit) => (
                    format!("{run} reached its limit ({limit}){findings} in {duration}"),
                    LinePriority::Permanent,
                ),
                None => {
                    (format!("{run} finished{findings} in {duration}"), LinePriority::Transient)
                }
            }
        }
        ReviewEvent::Spent { .. } => (status(state), LinePriority::Status),
        ReviewEvent::Warning { text } => (format!("warning: {text}"), LinePriority::Permanent),
    };
    // The list of reviewers has several lines, which are escaped already.
    let is_list = matches!(event, ReviewEvent::TeamChosen { .. });
    let text = if is_list { text } else { one_line(&text) };
    Some(ProgressLine { text, priority })
}

/// The status: reviewers, active runs, tokens, cost.
fn status(state: &ProgressState) -> String {
    let mut parts = Vec::new();
    if let Some((done, total)) = state.reviewer_progress() {
        parts.push(format!("{done} of {} done", format::count(total, "reviewer", "reviewers")));
    }
    if !state.runs.is_empty() {
        parts.push(format!("{} active", format::count(state.runs.len(), "run", "runs")));
    }
    parts.push(format::tokens(&state.totals));
    parts.push(format::money(state.totals.money, state.budget));
    parts.join(", ")
}

/// Limits the rate of log lines. Queues permanent lines, and keeps only the newest of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineThrottle {
    last_printed: Option<Duration>,
    permanent: Vec<String>,
    newest: Option<ProgressLine>,
}

impl LineThrottle {
    /// Queues a line.
    pub(super) fn queue(&mut self, line: ProgressLine) {
        match line.priority {
            LinePriority::Permanent => {
                // An older transient line must not appear after this one.
                self.newest = None;
                self.permanent.push(line.text);
            }
            // The start of a stage is more interesting than the status of the stage before.
            LinePriority::Status
                if self
                    .newest
                    .as_ref()
                    .is_some_and(|queued| queued.priority != LinePriority::Status) => {}
            LinePriority::Status | LinePriority::Transient => self.newest = Some(line),
        }
    }

    /// Lines to print now. `now` is the time since the start.
    pub(super) fn take_due(&mut self, now: Duration) -> Vec<String> {
        let since_last = self.last_printed.map(|last_printed| now.saturating_sub(last_printed));
        let has_passed = |soonest| since_last.is_none_or(|since_last| since_last >= soonest);
        if !has_passed(MIN_INTERVAL) {
            return Vec::new();
        }
        let mut lines = std::mem::take(&mut self.permanent);
        let soonest = |line: &mut ProgressLine| match line.priority {
            LinePriority::Status => STATUS_INTERVAL,
            LinePriority::Transient | LinePriority::Permanent => MIN_INTERVAL,
        };
        lines.extend(self.newest.take_if(|line| has_passed(soonest(line))).map(|line| line.text));
        if !lines.is_empty() {
            self.last_printed = Some(now);
        }
        lines
    }

    /// Lines to print at a tick of the clock: the status if there has been no line for a while.
    pub(super) fn tick(&mut self, now: Duration, state: &ProgressState) -> Vec<String> {
        if self.last_printed.is_some_and(|last| now.saturating_sub(last) >= QUIET_INTERVAL) {
            let text = one_line(&status(state));
            self.queue(ProgressLine { text, priority: LinePriority::Status });
        }
        self.take_due(now)
    }

    /// Permanent lines that were not printed yet.
    pub(super) fn remaining(self) -> Vec<String> {
        self.permanent
    }
}

#[cfg(test)]
mod tests;
