//! A fixer: a model that repairs issues in its own working tree. Returns edits and applies nothing.
//!
//! Invariants: if a fixer changes a file that is not part of its task, all its work is rejected. An
//! issue that the fixer reports as repaired, but for which it changed nothing, counts as `NotDone`.

mod accept;
mod changed_lines;
mod file_edit;
mod file_kind;
mod indented_blocks;
mod report;
mod sandbox;
mod splice;
mod task;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use changed_lines::{ChangedLines, changed_lines};
pub use file_edit::FileEdit;
use serde::Serialize;
use serde_json::json;
pub use task::FixTask;

use self::accept::accept_work;
use self::report::{ReportExpectations, ReportRepairs, ReportedRepair};
use self::sandbox::FixSandbox;
use self::tools::{EditFile, FixerTools, fixer_tool_specs};
use crate::assignment::TURN_TOKENS;
use crate::code_reader::CodeReader;
use crate::events::ReviewEvent;
use crate::prompts;
use crate::review_context::ReviewContext;
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::tools::session;
use crate::tools::session::SessionTool;
use crh_agent::{AgentRun, AgentTask, CallPurpose, RunLimits, SubmitTool, drive};
use crh_git::TempCheckout;
use crh_review::finding::Side;

/// Maximum turns: enough to read, edit and check a dozen issues.
const TURNS_MAX: u32 = 40;
/// Maximum tool calls: six for each of twenty issues.
const TOOL_CALLS_MAX: u32 = 120;
/// Maximum tokens of one fixer. The ledger limits the whole review.
const TOKENS_MAX: u64 = 2_000_000;

/// Result of a fixer.
#[derive(Debug, Clone, PartialEq)]
pub struct FixerResult {
    /// Edits, sorted by path.
    pub edits: Vec<FileEdit>,
    /// Outcome of each issue, by number.
    pub outcomes: BTreeMap<u32, IssueOutcome>,
    /// Record of the run.
    pub record: RunRecord,
    /// Whether the fixer gave an answer, so that another run would probably end the same way.
    pub has_answered: bool,
}

/// Outcome of an issue, with a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueOutcome {
    /// Repaired.
    Done(String),
    /// Not repaired.
    NotDone(String),
    /// Not given to the fixer.
    NotTried(String),
}

struct AcceptedWork {
    edits: Vec<FileEdit>,
    outcomes: BTreeMap<u32, IssueOutcome>,
    notes: Vec<String>,
}

/// Runs a fixer in a working tree with the reviewed code. Do not use the tree for anything else
/// afterwards.
pub async fn repair(
    context: &ReviewContext,
    fix_task: &FixTask,
    tree: &TempCheckout,
) -> FixerResult {
    let assignment = fix_task.assignment();
    let name = assignment.name.clone();
    let (run, label) = (name.clone(), fix_task.label());
    context.journal.emit(ReviewEvent::RunStarted { run, label, files: fix_task.files.len() });
    let sandbox = Arc::new(FixSandbox::new(tree, &fix_task.files));
    // Use the stronger model: a wrong fix costs more than a cheaper model would save.
    let model = &context.models.escalation;
    let task = AgentTask {
        caller: name.clone(),
        conversation: fix_task.conversation(context, &sandbox),
        tools: fixer_tool_specs(),
        submit: submit_tool(fix_task, &sandbox),
        purpose: CallPurpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: model.effort(),
    };
    let limits = RunLimits {
        turns: TURNS_MAX,
        tool_calls: TOOL_CALLS_MAX,
        tokens: TOKENS_MAX,
        money: context.options.budget.money,
        wall: context.time_left(),
    };
    let run_context =
        context.run_context(&name, model, FixerTools::new(context, &name, sandbox.clone()));
    let finished_run =
        Box::pin(drive(AgentRun::new(task, limits, model.facts()), &run_context)).await;
    let refusals = sandbox.finish();
    let mut record = RunRecord::new(assignment);
    record.add_usage(&finished_run, model.name());
    record.took_ms = milliseconds(finished_run.duration);
    record.limited = finished_run.end.limit_reached;
    record.ended = RunEnd::from_run(&finished_run);
    record.notes.extend(refusal_note(&refusals));
    let answer = finished_run.end.outcome.into_answer();
    let has_answered = answer.is_ok();
    let accepted = match answer {
        Ok(reported) => {
            let code = CodeReader::new(&context.change);
            let base = |path: &str| code.bytes(Side::Old, path);
            accept_work(fix_task, reported, tree.differences(), base)
        }
        Err(_) => Err(record.ended.failure().unwrap_or_default().to_owned()),
    };
    let AcceptedWork { edits, outcomes, notes } = accepted.unwrap_or_else(|why| {
        let message = format!("the fixer failed: {why}");
        if record.ended == RunEnd::Completed {
            record.ended = RunEnd::Failed(why);
        }
        fix_task.none_done(&message)
    });
    record.notes.extend(notes);
    let prompt_version = prompts::fixer::version(&fixer_tool_specs());
    // Older versions stored runs with the key `told`.
    record.answer = json!({ "told": outcomes, "prompt_version": prompt_version });
    context.finish_run(&record);
    FixerResult { edits, outcomes, record, has_answered }
}

fn submit_tool(
    fix_task: &FixTask,
    sandbox: &Arc<FixSandbox>,
) -> SubmitTool<BTreeMap<u32, ReportedRepair>> {
    let expectations = ReportExpectations {
        issues: fix_task.issue_files().collect(),
        files: fix_task.files.clone(),
    };
    let sandbox = sandbox.clone();
    let report = SubmitTool::new(session::tool_spec::<ReportRepairs>(), move |value| {
        report::parse_report(value, &expectations, &sandbox.changed_files())
    });
    // The model writes its report before it knows whether the edits of the same turn failed.
    report.with_required_calls().with_required_tool(EditFile::NAME)
}

/// Note about refused tool calls.
fn refusal_note(refusals: &[String]) -> Option<String> {
    let first = refusals.first()?;
    let times = match refusals.len() {
        1 => "one tool call of the fixer was refused".to_owned(),
        count => format!("{count} tool calls of the fixer were refused, the first one"),
    };
    Some(format!("{times}: {first}"))
}
