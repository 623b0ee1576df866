//! Checks whether a change meets its requirements: one run that reads the change and looks things
//! up.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;

use crate::assignment::{Assignment, TURN_TOKENS};
use crate::change_under_review::ChangeUnderReview;
use crate::model_question::{ModelQuestion, ask};
use crate::requirements;
use crate::requirements::{RequirementJudgement, RequirementJudgements, RequirementsDoc};
use crate::review_context::ReviewContext;
use crate::reviewers::ModelTier;
use crate::runs::RunRecord;
use crate::tools::session::ReportRequirements;
use crh_agent::CallPurpose;
use crh_review::report::RequirementState;

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
    let change = ctx.change.clone();
    let has_asked = AtomicBool::new(false);
    let parse = move |value| {
        let judged = requirements::parse_answer(value, &own_document)?;
        checked_evidence(judged, &change, &has_asked)
    };
    let (_, record): (Option<RequirementJudgements>, _) =
        ask::<ReportRequirements, _>(ctx, question, parse).await;
    record
}

/// Checks the evidence of met requirements. The first answer without a line or a quote goes back to
/// the model. After that, such a requirement counts as not judged.
fn checked_evidence(
    mut judged: RequirementJudgements,
    change: &ChangeUnderReview,
    has_asked: &AtomicBool,
) -> Result<RequirementJudgements, String> {
    let is_unproven = |item: &&mut RequirementJudgement| {
        item.state == RequirementState::Met && !requirements::is_real(&item.evidence, change)
    };
    let unproven: Vec<&mut RequirementJudgement> =
        judged.items.iter_mut().filter(is_unproven).collect();
    if !unproven.is_empty() && !has_asked.swap(true, Ordering::Relaxed) {
        let ids: Vec<&str> = unproven.iter().map(|item| item.id.as_str()).collect();
        return Err(format!(
            "the `evidence` of `{}` is no line and no quote of the code: write the place that meets it as FILE:LINE",
            ids.join("`, `")
        ));
    }
    for item in unproven {
        item.state = RequirementState::NotJudged;
        item.evidence = format!("no line of the code shows it: {}", item.evidence);
    }
    Ok(judged)
}
