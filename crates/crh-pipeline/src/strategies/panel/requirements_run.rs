//! Checks whether a change meets its requirements: one run that reads the change and looks things
//! up.

use tokio::sync::Semaphore;

use crate::assignment::{Assignment, TURN_TOKENS};
use crate::model_question::{ModelQuestion, ask};
use crate::requirements;
use crate::requirements::{RequirementJudgements, RequirementsDoc};
use crate::review_context::ReviewContext;
use crate::reviewers::ModelTier;
use crate::runs::RunRecord;
use crate::tools::session::ReportRequirements;
use crh_agent::CallPurpose;

/// Maximum turns: the prompt contains the change; other code is looked up, several files at a time.
const TURNS: u32 = 12;
/// Maximum lookups: one or two per requirement.
const TOOL_CALLS: u32 = 40;

/// Judges the requirements. The record's answer holds the judgements.
pub(super) async fn judge_requirements(
    ctx: &ReviewContext,
    assignment: &Assignment,
    document: &RequirementsDoc,
    permits: &Semaphore,
) -> RunRecord {
    let question = ModelQuestion {
        assignment: assignment.clone(),
        model: ctx.models.for_tier(ModelTier::Strong),
        conversation: ctx.prompts.conversation(&ctx.prompts.requirements(document)),
        tools: ctx.prompts.tools(),
        purpose: CallPurpose::Work,
        turns: TURNS,
        tool_calls: TOOL_CALLS,
        output_tokens: TURN_TOKENS,
        role_phrase: "for judging a plan",
        // The same limit as for reviewers, since a review with unjudged requirements is incomplete.
        max_wait: ctx.working_time(),
        permits: Some(permits),
    };
    let own_document = document.clone();
    let parse = move |value| requirements::parse_answer(value, &own_document);
    let (_, record): (Option<RequirementJudgements>, _) =
        ask::<ReportRequirements, _>(ctx, question, parse).await;
    record
}
