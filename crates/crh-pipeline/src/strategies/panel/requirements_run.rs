//! Checks whether a change meets its requirements: one run that reads the change and looks things
//! up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::Semaphore;

use crate::assignment::{Assignment, TURN_TOKENS};
use crate::change_under_review::ChangeUnderReview;
use crate::model_question::{ModelQuestion, ask};
use crate::requirements;
use crate::requirements::{
    EvidenceChecker, ParsedRequirements, RequirementJudgement, RequirementJudgements,
    RequirementsDoc,
};
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
        enough_results: None,
        output_tokens: TURN_TOKENS,
        role_phrase: "for judging a plan",
        // The same limit as for reviewers, since a review with unjudged requirements is incomplete.
        max_wait: ctx.working_time(),
        permits: Some(permits),
    };
    let own_document = document.clone();
    let change = ctx.change.clone();
    let rejected = Arc::new(RejectedAnswer::default());
    let own_rejected = rejected.clone();
    let parse = move |value| {
        let parsed = requirements::parse_answer(value, &own_document)?;
        own_rejected.check(parsed, &change)
    };
    let (judged, mut record): (Option<RequirementJudgements>, _) =
        ask::<ReportRequirements, _>(ctx, question, parse).await;
    if judged.is_none()
        && let Some(judged) = rejected.judgements().take()
    {
        record.answer = json!(judged);
    }
    record
}

/// The first answer, if it went back to the model. Its usable part counts for the requirements that
/// the next answer does not judge, or for all if there is no other answer.
#[derive(Default)]
struct RejectedAnswer {
    judgements: Mutex<Option<RequirementJudgements>>,
}

impl RejectedAnswer {
    /// Sends the first answer with a problem back to the model: an id without a usable entry, or a
    /// met requirement whose evidence is no line and no quote. After that, only the requirements
    /// that neither answer judges count as not judged.
    fn check(
        &self,
        parsed: ParsedRequirements,
        change: &ChangeUnderReview,
    ) -> Result<RequirementJudgements, String> {
        let ParsedRequirements { mut judgements, mut problems } = parsed;
        let checker = EvidenceChecker::new(change);
        let is_unproven = |item: &&mut RequirementJudgement| {
            item.state == RequirementState::Met && !checker.is_real(&item.evidence)
        };
        let mut unproven_ids = Vec::new();
        for item in judgements.items.iter_mut().filter(is_unproven) {
            unproven_ids.push(item.id.clone());
            item.state = RequirementState::NotJudged;
            item.evidence = format!("no line of the code shows it: {}", item.evidence);
        }
        if !unproven_ids.is_empty() {
            problems.push(format!(
                "the `evidence` of `{}` is no line and no quote of the code: write the place that meets it as FILE:LINE",
                unproven_ids.join("`, `")
            ));
        }
        let mut rejected = self.judgements();
        if let Some(first) = rejected.as_ref() {
            fill_unjudged(&mut judgements, first);
            return Ok(judgements);
        }
        if problems.is_empty() {
            return Ok(judgements);
        }
        *rejected = Some(judgements);
        Err(problems.join("; "))
    }

    fn judgements(&self) -> MutexGuard<'_, Option<RequirementJudgements>> {
        self.judgements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the items that are not judged from an earlier answer. If the new answer has an unusable
/// entry for an item, it may withdraw an earlier `Met`, which then does not count. Both answers have
/// the items of the document, in its order.
fn fill_unjudged(judgements: &mut RequirementJudgements, earlier: &RequirementJudgements) {
    for (item, earlier) in judgements.items.iter_mut().zip(&earlier.items) {
        let is_usable = match earlier.state {
            RequirementState::NotJudged => false,
            RequirementState::Met => requirements::has_no_entry(item),
            RequirementState::PartiallyAddressed | RequirementState::NotAddressed => true,
        };
        if item.state == RequirementState::NotJudged && is_usable {
            item.clone_from(earlier);
        }
    }
}
