//! One sub-agent: reviews its scope, marks files as reviewed and reports once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::agent_rules::{AgentRules, DelegateRule};
use super::agent_tools::{AgentTools, UnmarkedParts, path_argument};
use super::answer::NO_REPORT;
use super::board::Delegation;
use super::files::DelegateFiles;
use super::scopes::path_list;
use crate::assignment::{Assignment, DiffPart, TURN_TOKENS};
use crate::events::ReviewEvent;
use crate::prompts::diff_lines;
use crate::report_repair::{RepairOutcome, RepairPolicy, ReportRepair};
use crate::review_context::ReviewContext;
use crate::runs;
use crate::runs::{RunEnd, RunRecord, STOPPED_BEFORE_FILE, milliseconds};
use crate::tools::session;
use crate::tools::session::{MARK_TOOL, ReportFindings, agent_tool_specs, read_report};
use crh_agent::{
    AgentOutcome, AgentRun, AgentTask, CallPurpose, FinishedRun, RunLimits, SubmitTool,
    ToolOutcome, Toolbox, drive,
};
use crh_llm::{CallArguments, ToolCall};
use crh_review::ReviewerReturn;
use crh_review::report::{CoverageState, FileCoverage};
use serde_json::{Deserializer, Value};

/// Reviewer name of all sub-agents.
pub(super) const REVIEWER: &str = "delegate";

/// Tool that shows the diff of a file.
const DIFF_TOOL: &str = "diff_get_file";

/// Base number of turns: start, corrections of refused calls or reports, and the final report.
const TURNS: u32 = 12;
/// Turns per file for a model that does one thing at a time: show, look up, mark.
const TURNS_PER_FILE: u32 = 3;
/// Maximum turns. A sub-agent that needs more is stuck.
const TURNS_MAX: u32 = 80;

/// Base number of tool calls.
const TOOL_CALLS: u32 = 20;
/// Tool calls per file: diff pages, one lookup, history, mark.
const TOOL_CALLS_PER_FILE: u32 = 6;
/// Maximum tool calls. The largest scope needs fewer.
const TOOL_CALLS_MAX: u32 = 400;

/// Maximum tokens: twenty turns with a half-full context. This stops a runaway agent before it
/// spends the budget of all agents.
const TOKENS: u64 = 2_000_000;

#[derive(Debug, Clone)]
pub(super) struct SubAgentTask {
    /// Number of the sub-agent in this review: part of its name and of the ids of its findings.
    pub(super) slot: u32,
    pub(super) assignment: Assignment,
    pub(super) delegation: Delegation,
}

/// State shared by all sub-agents of a review.
#[derive(Debug, Clone)]
pub(super) struct SubAgentContext {
    pub(super) review: ReviewContext,
    pub(super) files: Arc<DelegateFiles>,
    pub(super) unmarked_parts: Arc<UnmarkedParts>,
}

struct SubAgentTools {
    own_tools: Arc<AgentTools>,
    shared: SubAgentContext,
    task: SubAgentTask,
}

/// Runs a sub-agent and stores its record.
pub(super) async fn run(shared: SubAgentContext, sub_task: SubAgentTask) -> RunRecord {
    let ctx = shared.review.clone();
    let Assignment { name, label, parts, .. } = &sub_task.assignment;
    if ctx.journal.cancel().is_cancelled() {
        return sub_task.cancelled_record();
    }
    let (run, label) = (name.clone(), label.clone());
    ctx.journal.emit(ReviewEvent::RunStarted { run, label, files: parts.len() });
    let paths = parts.iter().map(|part| part.path.as_str());
    let unseen_paths: Vec<String> =
        paths.clone().filter(|path| !ctx.prompts.shows_diff_of(path)).map(str::to_owned).collect();
    let is_diff_missing = !unseen_paths.is_empty();
    let rules = AgentRules::sub_agent(paths.clone()).without_diffs_of(unseen_paths);
    let own_tools = Arc::new(AgentTools::new(&ctx, name, rules));
    let repair = Arc::new(ReportRepair::new(&ctx.change, |_| None, RepairPolicy::Every));
    let static_findings = ctx.static_findings.in_files(parts).await;
    let own_prompt = ctx.prompts.sub_agent(&sub_task.assignment, &static_findings);
    let tools = SubAgentTools { own_tools: own_tools.clone(), shared, task: sub_task.clone() };
    let submit = report_tool(own_tools.clone(), repair.clone());
    let submit = if is_diff_missing { submit.with_required_tool(DIFF_TOOL) } else { submit };
    let task = AgentTask {
        caller: name.clone(),
        conversation: ctx.prompts.conversation_with_code(&own_prompt),
        tools: agent_tool_specs(),
        submit,
        purpose: CallPurpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: ctx.models.reviewer.effort(),
    };
    let model = &ctx.models.reviewer;
    let run_context = ctx.run_context(name, model, tools);
    let run = AgentRun::new(task, limits(&ctx, parts.len()), model.facts());
    let finished = Box::pin(drive(run, &run_context)).await;
    let record = sub_task.to_record(finished, repair.finish(), &own_tools.rules(), model.name());
    ctx.finish_run(&record);
    record
}

fn limits(ctx: &ReviewContext, files: usize) -> RunLimits {
    let files = u32::try_from(files).unwrap_or(u32::MAX);
    let scaled_limit = |base: u32, per_file: u32, max: u32| {
        base.saturating_add(per_file.saturating_mul(files)).min(max)
    };
    RunLimits {
        turns: scaled_limit(TURNS, TURNS_PER_FILE, TURNS_MAX),
        tool_calls: scaled_limit(TOOL_CALLS, TOOL_CALLS_PER_FILE, TOOL_CALLS_MAX),
        tokens: TOKENS,
        money: ctx.options.budget.money,
        wall: ctx.working_time(),
    }
}

/// The tool that reports findings. crh sends a report back once for unmarked files, once for
/// findings with problems, and always for diffs that the agent has not read yet. The agent may mark
/// files in the turn of the report, even if it has reached the limit on tool calls.
fn report_tool(
    own_tools: Arc<AgentTools>,
    repair: Arc<ReportRepair>,
) -> SubmitTool<ReviewerReturn> {
    SubmitTool::new(session::tool_spec::<ReportFindings>(), move |value| {
        // All sub-agents count as one reviewer.
        let report = read_report(value, REVIEWER)?;
        refuse_unread_diffs(&own_tools)?;
        repair.check(report, refuse_unmarked_files(&own_tools))
    })
    .with_companion(MARK_TOOL)
}

/// Refuses a report if a diff was first shown in the same turn: the agent has not read it yet.
fn refuse_unread_diffs(own_tools: &AgentTools) -> Result<(), String> {
    let files = own_tools.rules().shown_in_turn();
    match files.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "you have not read the diff of these files yet: {}. Read the results above, then report again",
            files.join(", ")
        )),
    }
}

/// The refusal of a report before all files are marked. None if all are marked, or if an earlier
/// report was refused for this reason.
fn refuse_unmarked_files(own_tools: &AgentTools) -> Option<String> {
    let files = {
        let rules = own_tools.rules();
        let unmarked = rules.unmarked_files();
        if unmarked.is_empty() || rules.was_refused(DelegateRule::MarkBeforeReport) {
            return None;
        }
        path_list(&unmarked)
    };
    let message = format!(
        "these files of your scope are not marked as reviewed: {files}. Review and mark them with `mark_file_reviewed`, then report again; what stays unmarked counts as not reviewed."
    );
    Some(own_tools.refuse(DelegateRule::MarkBeforeReport, message))
}

impl Toolbox for SubAgentTools {
    fn begin_turn(&self) {
        self.own_tools.rules().begin_turn();
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        self.own_tools.announce_call(call);
        if call.name != MARK_TOOL {
            let outcome = self.own_tools.call(call, None).await;
            if let ToolOutcome::Answered(reply) = &outcome {
                self.record_shown_files(call, reply);
            }
            return outcome;
        }
        let files = &self.shared.files;
        let file = path_argument(call).and_then(|path| files.get(files.find(path)?));
        let outcome = self.own_tools.call(call, file.map(|file| file.path.as_str())).await;
        if let (ToolOutcome::Answered(_), Some(file)) = (&outcome, file) {
            self.record_mark(&file.path);
        }
        outcome
    }
}

impl SubAgentTools {
    /// Records the files whose diff a call has shown.
    fn record_shown_files(&self, call: &ToolCall, reply: &str) {
        let CallArguments::Json(arguments) = &call.arguments else { return };
        let change = &self.shared.review.change;
        let latest = change.workspace().ok().and_then(|workspace| workspace.latest());
        let round = arguments.get("previewDiffId").map(|id| id.to_string().replace('"', ""));
        if round.is_some_and(|round| latest.is_none_or(|latest| latest.id != round)) {
            return;
        }
        match call.name.as_str() {
            DIFF_TOOL => {
                let files = &self.shared.files;
                let file = path_argument(call).and_then(|path| files.get(files.find(path)?));
                file.iter().for_each(|file| self.own_tools.rules().show_file(&file.path));
            }
            // A reply is limited, so it says which lines it has.
            "diff_numbered" => {
                // A notice may follow the JSON.
                let mut values = Deserializer::from_str(reply).into_iter::<Value>();
                let Some(Ok(reply)) = values.next() else { return };
                let line = |name: &str| reply.get(name).and_then(Value::as_u64);
                let (Some(start), Some(end)) = (line("start"), line("end")) else { return };
                for (scope, file) in change.files() {
                    let (first, last) = diff_lines(&change.diff, file);
                    if start <= u64::from(last) && end >= u64::from(first) {
                        self.own_tools.rules().show_file(&scope.path.shown());
                    }
                }
            }
            _ => {}
        }
    }

    fn record_mark(&self, path: &str) {
        self.own_tools.rules().mark_file(path);
        let own_parts = match self.task.delegation {
            Delegation::First => self.task.assignment.parts.as_slice(),
            Delegation::Confirming => &[],
        };
        if self.shared.unmarked_parts.mark_file(path, own_parts) {
            let path = path.to_owned();
            self.shared.review.journal.emit(ReviewEvent::FileReviewed { path });
        }
    }
}

impl SubAgentTask {
    /// The record of a finished run.
    fn to_record(
        &self,
        finished: FinishedRun<ReviewerReturn>,
        repair: RepairOutcome,
        rules: &AgentRules,
        model: &str,
    ) -> RunRecord {
        let RepairOutcome { refused_report, notes } = repair;
        let mut record = RunRecord::new(self.assignment.clone());
        record.add_usage(&finished, model);
        record.limited = finished.end.limit_reached;
        record.took_ms = milliseconds(finished.duration);
        record.notes.extend(rules.notes());
        record.notes.extend(notes);
        record.ended = match RunEnd::from_run(&finished) {
            RunEnd::Failed(why) if refused_report.is_some() => {
                record.notes.push(runs::refused_report_note(&why));
                RunEnd::Completed
            }
            RunEnd::Failed(why) => RunEnd::Failed(format!("{NO_REPORT}: {why}")),
            ended @ (RunEnd::Completed | RunEnd::Cancelled) => ended,
        };
        record.coverage = self.coverage(&record.ended, rules);
        let final_report = if let AgentOutcome::Answered(report) = finished.end.outcome {
            Some(report)
        } else {
            refused_report
        };
        if let Some(report) = final_report {
            record.members = report.members;
            record.dropped = report.dropped;
            record.residual_risks = report.residual_risks;
            record.testing_gaps = report.testing_gaps;
            record.summary = report.summary;
        }
        record
    }

    /// A record for a run that was cancelled before it started.
    fn cancelled_record(&self) -> RunRecord {
        let mut record = RunRecord::new(self.assignment.clone());
        record.coverage = self.coverage(&RunEnd::Cancelled, &AgentRules::sub_agent([]));
        record.ended = RunEnd::Cancelled;
        record
    }

    /// A record for a run that panicked.
    pub(super) fn panicked_record(&self) -> RunRecord {
        let ended = RunEnd::Failed(format!("{NO_REPORT}: crashed (a bug in crh)"));
        let mut record = RunRecord::new(self.assignment.clone());
        record.coverage = self.coverage(&ended, &AgentRules::sub_agent([]));
        record.ended = ended;
        record
    }

    /// Coverage of each file. A run that only confirms findings covers no file, since other
    /// sub-agents review these files.
    fn coverage(&self, ended: &RunEnd, rules: &AgentRules) -> Vec<FileCoverage> {
        match self.delegation {
            Delegation::First => {}
            Delegation::Confirming => return Vec::new(),
        }
        let unmarked: BTreeSet<&str> = rules.unmarked_files().into_iter().collect();
        let name = &self.assignment.name;
        let file_coverage = |part: &DiffPart| {
            let path = part.path.clone();
            let (state, reason) = match ended {
                RunEnd::Completed if unmarked.contains(part.path.as_str()) => {
                    (CoverageState::NotReviewed, format!("{name} did not mark it as reviewed"))
                }
                RunEnd::Completed => (CoverageState::Reviewed, String::new()),
                RunEnd::Failed(_) => (CoverageState::NotReviewed, format!("{name} failed")),
                RunEnd::Cancelled => (CoverageState::NotReviewed, STOPPED_BEFORE_FILE.to_owned()),
            };
            FileCoverage { path, state, reason }
        };
        self.assignment.parts.iter().map(file_coverage).collect()
    }
}

#[cfg(test)]
mod tests;
