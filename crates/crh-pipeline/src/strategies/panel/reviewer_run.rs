//! One reviewer of a panel on one part of the change.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::gates;
use super::prompt_cache::CacheTicket;
use crate::assignment::{Assignment, DiffPart, TURN_TOKENS};
use crate::change_under_review::ChangeUnderReview;
use crate::events::ReviewEvent;
use crate::prompts::{ENOUGH_RESULTS, Prompts, ReviewerBrief, ToolAccess};
use crate::report_repair::{RepairOutcome, RepairPolicy, ReportRepair};
use crate::review_context::{ReviewContext, rate_limit_wait};
use crate::review_options::ReviewBudget;
use crate::reviewers::{PanelRole, Returns, Reviewer};
use crate::runs;
use crate::runs::{RunEnd, RunRecord, STOPPED_BEFORE_FILE, milliseconds, missing_context_reason};
use crate::tools::session::{
    ReportFindings, ReportNotes, SessionTool, lens_spec, parse_arguments, read_report,
};
use crate::tools::{ReadOnlyTools, session};
use crh_agent::{
    AgentOutcome, AgentRun, AgentTask, CallPurpose, ContextShortage, FinishedRun, LimitKind,
    RunLimits, SubmitTool, context_shortage, drive,
};
use crh_llm::{Effort, Model, ModelFacts, ToolSpec};
use crh_review::ReviewerReturn;
use crh_review::report::{CoverageState, FileCoverage};

/// Maximum turns of a finder. The prompt contains the diff and the context pack, so a reviewer
/// looks up a few things, reports, and may correct its report.
const FINDER_TURNS: u32 = 4;
/// Maximum turns of other reviewers.
const TURNS: u32 = 3;
/// Maximum tool calls: one or two lookups per suspected defect.
const TOOL_CALLS: u32 = 60;
/// Maximum tokens. This stops a runaway reviewer before it spends the budget of all reviewers.
const TOKENS: u64 = 1_500_000;

/// A scheduled reviewer.
#[derive(Debug)]
pub(super) struct ReviewerRun {
    pub(super) assignment: Assignment,
    pub(super) reviewer: Reviewer,
    pub(super) intent: String,
    /// The other reviewers, one per line.
    pub(super) others: String,
    /// Extra material for this reviewer, fenced.
    pub(super) extra_material: String,
    pub(super) prompts: Arc<Prompts>,
    pub(super) model: Model,
    pub(super) cache_ticket: CacheTicket,
}

/// Result of one attempt.
pub(super) enum RunAttempt {
    /// The run returned or failed.
    Ended(RunRecord),
    /// The vendor rate-limited the run. Holds the usage so far and the time to wait.
    RateLimited(RunRecord, Duration),
}

#[derive(Debug, Clone)]
enum ReviewerAnswer {
    Findings(Box<ReviewerReturn>),
    Notes(ReportNotes),
}

/// Runs a reviewer once. `earlier_attempts` holds the usage so far.
pub(super) async fn run_attempt(
    ctx: &ReviewContext,
    reviewer_run: &ReviewerRun,
    mut earlier_attempts: RunRecord,
) -> RunAttempt {
    let ReviewerRun { assignment, reviewer, prompts, model, .. } = reviewer_run;
    let name = &assignment.name;
    let (run, label) = (name.clone(), assignment.label.clone());
    let files = assignment.parts.len();
    ctx.journal.emit(ReviewEvent::RunStarted { run, label, files });
    let static_findings = ctx.static_findings.in_files(&assignment.parts).await;
    let ReviewerRun { intent, others, extra_material, .. } = reviewer_run;
    let tools = tool_access(reviewer, &ctx.options.budget);
    let brief = ReviewerBrief { reviewer, assignment, intent, others, extra_material, tools };
    let repair_policy = match ctx.options.budget.has_two_calls() {
        true => RepairPolicy::UrgentOrAll,
        false => RepairPolicy::Every,
    };
    let repair = Arc::new(ReportRepair::new(&ctx.change, gates::vague_problem, repair_policy));
    let submit = report_tool(reviewer, repair.clone());
    let (task, omission_note) =
        fitting_task(prompts, &brief, &static_findings, &submit, model.effort(), model.facts());
    let submit_tool_name = match reviewer.returns {
        Returns::Findings => ReportFindings::NAME,
        Returns::Notes(_) => ReportNotes::NAME,
    };
    let toolbox = ReadOnlyTools::new(ctx, name, "for a reviewer with a lens", submit_tool_name);
    let mut run_context = ctx.run_context(name, model, toolbox);
    let cache_notifier = reviewer_run.cache_ticket.notifier();
    run_context.progress_listener =
        ctx.progress_listener(name, move |_| cache_notifier.mark_warm());
    let finished = Box::pin(drive(
        AgentRun::new(task, limits(ctx, reviewer, &earlier_attempts), model.facts())
            .with_enough_results(Some(ENOUGH_RESULTS)),
        &run_context,
    ))
    .await;
    reviewer_run.cache_ticket.mark_warm();
    let repair = repair.finish();
    match rate_limit_wait(&finished.end.outcome, ctx.working_time()) {
        Some(wait) if repair.refused_report.is_none() => {
            let mut record_so_far = earlier_attempts;
            record_so_far.add_usage(&finished, model.name());
            record_so_far.took_ms =
                record_so_far.took_ms.saturating_add(milliseconds(finished.duration));
            RunAttempt::RateLimited(record_so_far, wait)
        }
        Some(_) | None => {
            earlier_attempts.notes.extend(omission_note);
            RunAttempt::Ended(finish_record(
                &ctx.change,
                reviewer_run,
                &run_context.toolbox.read_paths(),
                earlier_attempts,
                finished,
                repair,
            ))
        }
    }
}

/// The task of a reviewer. If its prompt does not fit into the model's context, crh leaves out the
/// findings of static checks, and then what [`shortest_brief`] leaves out. The second value says
/// what a prompt that fits lacks.
fn fitting_task<A: Clone>(
    prompts: &Prompts,
    brief: &ReviewerBrief<'_>,
    static_findings: &str,
    submit: &SubmitTool<A>,
    effort: Option<Effort>,
    facts: &ModelFacts,
) -> (AgentTask<A>, Option<String>) {
    let shortest = shortest_brief(brief);
    let others = match brief.reviewer.returns {
        Returns::Findings => brief.others,
        // Prompts of these reviewers never name the others.
        Returns::Notes(_) => "",
    };
    let optional_texts = [
        (static_findings, "the findings of static checks"),
        (brief.intent, "the intent of the change"),
        (others, "the list of the other reviewers"),
    ];
    let new_task = |brief: &ReviewerBrief<'_>, static_findings: &str| {
        reviewer_task(prompts, brief, static_findings, submit.clone(), effort)
    };
    let attempts =
        [(brief, static_findings, 0), (brief, "", 1), (&shortest, "", optional_texts.len())];
    for (brief, static_findings, omitted_count) in attempts {
        let task = new_task(brief, static_findings);
        if context_shortage(task.clone(), facts).is_none() {
            return (task, omission_note(&optional_texts[..omitted_count]));
        }
    }
    (new_task(&shortest, ""), None)
}

/// A note on texts that a prompt lacks, each with its name. None if all of them are empty.
fn omission_note(omitted_texts: &[(&str, &str)]) -> Option<String> {
    let omitted_texts = omitted_texts.iter().filter(|(text, _)| !text.is_empty());
    let names: Vec<&str> = omitted_texts.map(|(_, name)| *name).collect();
    let note =
        || format!("the model's context is too small, so the prompt lacks {}", names.join(", "));
    (!names.is_empty()).then(note)
}

/// What is missing if the first request of a reviewer, without findings of static checks, does not
/// fit into the model's context. None if it fits.
pub(crate) fn reviewer_shortage(
    prompts: &Prompts,
    brief: &ReviewerBrief<'_>,
    effort: Option<Effort>,
    facts: &ModelFacts,
) -> Option<ContextShortage> {
    let submit = SubmitTool::new(report_spec(brief.reviewer), |_| Ok(()));
    context_shortage(reviewer_task(prompts, brief, "", submit, effort), facts)
}

/// The brief without the texts that a plan does not know: the scout may change the intent and the
/// team. If a prompt with this brief fits, the reviewer can run.
pub(crate) fn shortest_brief<'a>(brief: &ReviewerBrief<'a>) -> ReviewerBrief<'a> {
    ReviewerBrief { intent: "", others: "", ..*brief }
}

fn reviewer_task<A>(
    prompts: &Prompts,
    brief: &ReviewerBrief<'_>,
    static_findings: &str,
    submit: SubmitTool<A>,
    effort: Option<Effort>,
) -> AgentTask<A> {
    AgentTask {
        caller: brief.assignment.name.clone(),
        conversation: prompts.reviewer_conversation(brief, static_findings),
        tools: match brief.tools {
            ToolAccess::Tools => prompts.tools(),
            ToolAccess::NoTools => Vec::new(),
        },
        submit,
        purpose: CallPurpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort,
    }
}

/// Limits of an attempt. Tool calls and tokens of earlier attempts are subtracted.
fn limits(ctx: &ReviewContext, reviewer: &Reviewer, earlier_attempts: &RunRecord) -> RunLimits {
    let used_totals = &earlier_attempts.totals;
    RunLimits {
        turns: turns(reviewer),
        tool_calls: TOOL_CALLS.saturating_sub(used_totals.tool_calls),
        tokens: TOKENS.saturating_sub(used_totals.usage.input + used_totals.usage.output),
        money: ctx.options.budget.money,
        wall: ctx.working_time(),
    }
}

fn turns(reviewer: &Reviewer) -> u32 {
    match reviewer.role {
        PanelRole::Finder => FINDER_TURNS,
        PanelRole::Specialist | PanelRole::Upkeep | PanelRole::UpkeepPart | PanelRole::Extra => {
            TURNS
        }
    }
}

/// The limit that cut a reviewer's work short. A report in the last planned turn is complete: a
/// larger budget would not give the reviewer more turns.
fn limit_of(reviewer: &Reviewer, finished: &FinishedRun<ReviewerAnswer>) -> Option<LimitKind> {
    let has_reported = matches!(finished.end.outcome, AgentOutcome::Answered(_));
    let is_planned_end = has_reported && finished.totals.llm_calls >= turns(reviewer);
    let limit = finished.end.limit_reached;
    limit.filter(|limit| *limit != LimitKind::Turns || !is_planned_end)
}

/// Whether a reviewer can look things up. The reviewer of upkeep cannot: look-ups would cost more
/// than its minor findings are worth. With a budget of two calls no reviewer can, since the editor
/// needs the second call.
pub(crate) fn tool_access(reviewer: &Reviewer, budget: &ReviewBudget) -> ToolAccess {
    match reviewer.role {
        PanelRole::Upkeep => ToolAccess::NoTools,
        PanelRole::Finder | PanelRole::Specialist | PanelRole::UpkeepPart | PanelRole::Extra => {
            if budget.has_two_calls() {
                ToolAccess::NoTools
            } else {
                ToolAccess::Tools
            }
        }
    }
}

/// The tool that reports. Findings with problems are sent back once.
fn report_tool(reviewer: &Reviewer, repair: Arc<ReportRepair>) -> SubmitTool<ReviewerAnswer> {
    match reviewer.returns {
        Returns::Findings => {
            let name = reviewer.name.clone();
            SubmitTool::new(report_spec(reviewer), move |value| {
                let report = repair.check(read_report(value, &name)?, None)?;
                Ok(ReviewerAnswer::Findings(Box::new(report)))
            })
        }
        Returns::Notes(_) => SubmitTool::new(report_spec(reviewer), |value| {
            parse_arguments::<ReportNotes>(value).map(ReviewerAnswer::Notes)
        }),
    }
}

fn report_spec(reviewer: &Reviewer) -> ToolSpec {
    match reviewer.returns {
        Returns::Findings => lens_spec(),
        Returns::Notes(_) => session::tool_spec::<ReportNotes>(),
    }
}

fn finish_record(
    change: &ChangeUnderReview,
    reviewer_run: &ReviewerRun,
    read_paths: &BTreeSet<String>,
    earlier_attempts: RunRecord,
    finished: FinishedRun<ReviewerAnswer>,
    repair: RepairOutcome,
) -> RunRecord {
    let RepairOutcome { refused_report, notes } = repair;
    let mut record = earlier_attempts;
    record.add_usage(&finished, reviewer_run.model.name());
    record.took_ms = record.took_ms.saturating_add(milliseconds(finished.duration));
    record.limited = limit_of(&reviewer_run.reviewer, &finished);
    record.notes.extend(notes);
    record.ended = match RunEnd::from_run(&finished) {
        RunEnd::Failed(why) if refused_report.is_some() => {
            record.notes.push(runs::refused_report_note(&why));
            RunEnd::Completed
        }
        ended @ (RunEnd::Completed | RunEnd::Failed(_) | RunEnd::Cancelled) => ended,
    };
    let missing_tokens = match finished.end.outcome {
        AgentOutcome::ContextFull(ContextShortage { needed, context })
            if record.totals.llm_calls == 0 =>
        {
            Some(needed.saturating_sub(context))
        }
        _ => None,
    };
    record.coverage = coverage(reviewer_run, read_paths, &record.ended, missing_tokens);
    let answer = match finished.end.outcome {
        AgentOutcome::Answered(answer) => Some(answer),
        _ => refused_report.map(|parsed| ReviewerAnswer::Findings(Box::new(parsed))),
    };
    match answer {
        Some(ReviewerAnswer::Findings(parsed)) => {
            let (parsed, notes) = gates::apply_gates(*parsed, &reviewer_run.reviewer, change);
            record.notes.extend(notes);
            record.members = parsed.members;
            record.dropped = parsed.dropped;
            record.residual_risks = parsed.residual_risks;
            record.testing_gaps = parsed.testing_gaps;
            record.summary = parsed.summary;
        }
        Some(ReviewerAnswer::Notes(ReportNotes { notes, summary })) => {
            let (notes, limit_note) = gates::bounded_notes(notes, &reviewer_run.reviewer);
            record.notes.extend(limit_note);
            record.answer = json!(notes);
            record.summary = summary;
        }
        None => {}
    }
    record
}

/// Coverage of each file. Reviewers that write notes cover none. `read_paths` are the files of which
/// the reviewer has read lines with a tool. `missing_tokens` is set if the model's context was too
/// small for any request.
fn coverage(
    reviewer_run: &ReviewerRun,
    read_paths: &BTreeSet<String>,
    ended: &RunEnd,
    missing_tokens: Option<u64>,
) -> Vec<FileCoverage> {
    match reviewer_run.reviewer.returns {
        Returns::Findings => {}
        Returns::Notes(_) => return Vec::new(),
    }
    let ReviewerRun { assignment, prompts, .. } = reviewer_run;
    let file_coverage = |part: &DiffPart| {
        let path = part.path.clone();
        let (state, reason) = match ended {
            RunEnd::Completed if prompts.shows_diff_of(&path) => {
                (CoverageState::Reviewed, String::new())
            }
            RunEnd::Completed => {
                let is_read = read_paths.contains(&path);
                let exceeds_context = prompts.exceeds_context(&path);
                let place = if exceeds_context { "the model's context" } else { "the prompt" };
                let state =
                    if is_read { CoverageState::Truncated } else { CoverageState::NotReviewed };
                (state, format!("its diff did not fit into {place}"))
            }
            RunEnd::Failed(_) => {
                let reason = missing_tokens.map(missing_context_reason);
                let failed = || format!("{} failed", assignment.reviewer);
                (CoverageState::NotReviewed, reason.unwrap_or_else(failed))
            }
            RunEnd::Cancelled => (CoverageState::NotReviewed, STOPPED_BEFORE_FILE.to_owned()),
        };
        FileCoverage { path, state, reason }
    };
    assignment.parts.iter().map(file_coverage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::sample;
    use crate::review_options::ReviewOptions;
    use crate::reviewers::ReviewerCatalogue;
    use crh_llm::Abilities;
    use crh_review::report::Strategy;

    #[test]
    fn note_says_what_a_prompt_lacks_in_a_small_context() {
        let (_folder, change) = sample::change_under_review(&sample::contents(sample::DIFF));
        let options = ReviewOptions { strategy: Strategy::Panel, ..sample::options() };
        let prompts = Prompts::new(&change, &options, 32_768);
        let reviewer = ReviewerCatalogue::built_in().get("correctness").unwrap();
        let assignment = Assignment {
            name: reviewer.name.clone(),
            reviewer: reviewer.name.clone(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: vec![DiffPart::whole("shop/orders.py")],
        };
        let long_text = "Prints the orders that wait for a payment.\n".repeat(200);
        let intent = long_text.as_str();
        let others = "security: what an attacker can do\n";
        let (extra_material, tools) = ("", ToolAccess::Tools);
        let brief = ReviewerBrief {
            reviewer,
            assignment: &assignment,
            intent,
            others,
            extra_material,
            tools,
        };
        let submit = SubmitTool::new(report_spec(reviewer), |_| Ok(()));
        let abilities = Abilities { tools: true, schema: true, effort: false };
        let mut notes: Vec<Option<String>> = Vec::new();
        for context in (1_000..60_000).step_by(500) {
            let facts = ModelFacts { context, max_output: 16_000, price: None, abilities };
            let (task, note) = fitting_task(&prompts, &brief, &long_text, &submit, None, &facts);
            assert!(note.is_none() || context_shortage(task, &facts).is_none(), "{context}");
            notes.push(note);
        }
        notes.dedup();
        let lacks = |names: &str| {
            Some(format!("the model's context is too small, so the prompt lacks {names}"))
        };
        let checks = "the findings of static checks";
        let all = format!("{checks}, the intent of the change, the list of the other reviewers");
        assert_eq!(notes, [None, lacks(&all), lacks(checks), None]);
    }
}
