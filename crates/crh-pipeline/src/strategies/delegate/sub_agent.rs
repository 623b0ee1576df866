//! One sub-agent: looks at its scope, marks what it has looked at, reports once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::REVIEWER;
use super::answer::NO_REPORT;
use super::board::Delegation;
use super::conduct::{Conduct, Rule};
use super::desk::{Desk, Marks, path_of};
use super::files::Files;
use super::scopes::named;
use crate::events::Event;
use crate::office::Office;
use crate::plan::{Assignment, Part, TURN_TOKENS};
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::tools::session;
use crate::tools::session::{ReportFindings, agent_tools, read_report};
use crh_agent::{Driven, Limits, Outcome, Purpose, Run, Submit, Task, ToolOutcome, Toolbox, drive};
use crh_llm::ToolCall;
use crh_review::Parsed;
use crh_review::report::{CoverageState, FileCoverage};

/// Turns for beginning, for repairs and the report.
const TURNS: u32 = 12;
/// Turns for each file where a model does one thing at a time: show it, look something up, mark it.
const TURNS_PER_FILE: u32 = 3;
/// Whoever needs more is lost.
const TURNS_MAX: u32 = 80;

/// Calls of tools besides those for a file.
const TOOL_CALLS: u32 = 20;
/// Calls for each file: its diff in pages, one look beyond it, its history, its mark.
const TOOL_CALLS_PER_FILE: u32 = 6;
/// More than a scope of the largest size takes.
const TOOL_CALLS_MAX: u32 = 400;

/// Tokens over all turns: twenty turns with a context that is half full. The ledger has the say about all runs together;
/// this is so that one that runs away does not take everything.
const TOKENS: u64 = 2_000_000;

/// What a sub-agent is to do.
#[derive(Debug, Clone)]
pub(super) struct Errand {
    pub(super) slot: u32,
    pub(super) assignment: Assignment,
    pub(super) delegation: Delegation,
}

/// What all sub-agents of a review share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) office: Office,
    pub(super) files: Arc<Files>,
    pub(super) marks: Arc<Marks>,
}

struct SubAgentTools {
    desk: Arc<Desk>,
    shared: Shared,
    errand: Errand,
}

/// A report that was refused because files were not marked. If no other comes, it is the report.
type Held = Arc<Mutex<Option<Parsed>>>;

/// Carries an errand out, and stores what came of it.
pub(super) async fn carry_out(shared: Shared, errand: Errand) -> RunRecord {
    let office = shared.office.clone();
    let Assignment { name, label, parts, .. } = &errand.assignment;
    if office.journal.cancel().is_cancelled() {
        return errand.stopped();
    }
    let (run, label) = (name.clone(), label.clone());
    office.journal.tell(Event::RunStarted { run, label, files: parts.len() });
    let conduct = Conduct::sub_agent(parts.iter().map(|part| part.path.as_str()));
    let desk = Arc::new(Desk::new(&office, name, conduct));
    let held = Held::default();
    let known = office.found.in_files(parts).await;
    let own = office.prompts.sub_agent(&errand.assignment, &known);
    let task = Task {
        caller: name.clone(),
        conversation: office.prompts.conversation(&own),
        tools: agent_tools(),
        submit: submit(desk.clone(), held.clone()),
        purpose: Purpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: None,
    };
    let model = &office.crew.reviewer;
    let tools = SubAgentTools { desk: desk.clone(), shared, errand: errand.clone() };
    let means = office.means(name, model, tools);
    let run = Run::new(task, limits(&office, parts.len()), model.facts());
    let driven = Box::pin(drive(run, &means)).await;
    let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    let record = errand.record(driven, held, &desk.conduct(), model.name());
    office.ended(&record);
    record
}

fn limits(office: &Office, files: usize) -> Limits {
    let files = u32::try_from(files).unwrap_or(u32::MAX);
    let grown =
        |base: u32, each: u32, most: u32| base.saturating_add(each.saturating_mul(files)).min(most);
    Limits {
        turns: grown(TURNS, TURNS_PER_FILE, TURNS_MAX),
        tool_calls: grown(TOOL_CALLS, TOOL_CALLS_PER_FILE, TOOL_CALLS_MAX),
        tokens: TOKENS,
        money: office.terms.allowance.money,
        wall: office.working_time(),
    }
}

/// How a sub-agent reports.
fn submit(desk: Arc<Desk>, held: Held) -> Submit<Parsed> {
    Submit::new(session::spec::<ReportFindings>(), move |value| {
        // All sub-agents are one reviewer.
        let parsed = read_report(value, REVIEWER)?;
        let (unmarked, told_before) = {
            let conduct = desk.conduct();
            let unmarked = conduct.unmarked();
            (
                (!unmarked.is_empty()).then(|| named(&unmarked)),
                conduct.was_refused(Rule::MarkBeforeReport),
            )
        };
        match unmarked {
            Some(files) if !told_before => {
                *held.lock().unwrap_or_else(PoisonError::into_inner) = Some(parsed);
                let told = format!(
                    "these files of your scope are not marked as reviewed: {files}. Review and mark them with `mark_file_reviewed`, then report again; what stays unmarked counts as not reviewed."
                );
                Err(desk.refuse(Rule::MarkBeforeReport, told))
            }
            Some(_) | None => Ok(parsed),
        }
    })
}

impl Toolbox for SubAgentTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        self.desk.hear(call);
        if call.name != "mark_file_reviewed" {
            return self.desk.call(call, None).await;
        }
        let Shared { office, files, marks } = &self.shared;
        let file = path_of(call).and_then(|path| files.get(files.named(path)?));
        let outcome = self.desk.call(call, file.map(|file| file.path.as_str())).await;
        if let (ToolOutcome::Answered(_), Some(file)) = (&outcome, file) {
            self.desk.conduct().marked(&file.path);
            let own = match self.errand.delegation {
                Delegation::First => self.errand.assignment.parts.as_slice(),
                Delegation::Confirming => &[],
            };
            if marks.mark(&file.path, own) {
                office.journal.tell(Event::FileReviewed { path: file.path.clone() });
            }
        }
        outcome
    }
}

impl Errand {
    /// What came of it.
    fn record(
        &self,
        driven: Driven<Parsed>,
        held: Option<Parsed>,
        conduct: &Conduct,
        model: &str,
    ) -> RunRecord {
        let mut record = RunRecord::begun(self.assignment.clone());
        record.book(&driven, model);
        record.limited = driven.ended.limited;
        record.took_ms = milliseconds(driven.took);
        record.notes = conduct.notes();
        record.ended = match RunEnd::of(&driven.ended.outcome) {
            RunEnd::Failed(why) if held.is_some() => {
                record.notes.push(format!("its report that was sent back counts: {why}"));
                RunEnd::Completed
            }
            RunEnd::Failed(why) => RunEnd::Failed(format!("{NO_REPORT}: {why}")),
            ended @ (RunEnd::Completed | RunEnd::Cancelled) => ended,
        };
        record.coverage = self.coverage(&record.ended, conduct);
        let answered =
            if let Outcome::Answered(report) = driven.ended.outcome { Some(report) } else { held };
        if let Some(report) = answered {
            record.members = report.members;
            record.set_aside = report.set_aside;
            record.residual_risks = report.residual_risks;
            record.testing_gaps = report.testing_gaps;
            record.summary = report.summary;
        }
        record
    }

    /// A run that was stopped before it began.
    fn stopped(&self) -> RunRecord {
        let mut record = RunRecord::begun(self.assignment.clone());
        record.coverage = self.coverage(&RunEnd::Cancelled, &Conduct::sub_agent([]));
        record.ended = RunEnd::Cancelled;
        record
    }

    /// A run that broke.
    pub(super) fn broken(&self) -> RunRecord {
        let ended = RunEnd::Failed(format!("{NO_REPORT}: it broke down, which is a bug in crh"));
        let mut record = RunRecord::begun(self.assignment.clone());
        record.coverage = self.coverage(&ended, &Conduct::sub_agent([]));
        record.ended = ended;
        record
    }

    /// What was reviewed of each file. Those who confirm look at files that others review.
    fn coverage(&self, ended: &RunEnd, conduct: &Conduct) -> Vec<FileCoverage> {
        match self.delegation {
            Delegation::First => {}
            Delegation::Confirming => return Vec::new(),
        }
        let unmarked: BTreeSet<&str> = conduct.unmarked().into_iter().collect();
        let name = &self.assignment.name;
        let covered = |part: &Part| {
            let path = part.path.clone();
            let (state, reason) = match ended {
                RunEnd::Completed if unmarked.contains(part.path.as_str()) => {
                    (CoverageState::NotReviewed, format!("{name} did not mark it as reviewed"))
                }
                RunEnd::Completed => (CoverageState::Reviewed, String::new()),
                RunEnd::Failed(_) => (CoverageState::NotReviewed, format!("{name} failed")),
                RunEnd::Cancelled => {
                    (CoverageState::NotReviewed, "the review was stopped first".to_owned())
                }
            };
            FileCoverage { path, state, reason }
        };
        self.assignment.parts.iter().map(covered).collect()
    }
}

#[cfg(test)]
mod tests;
