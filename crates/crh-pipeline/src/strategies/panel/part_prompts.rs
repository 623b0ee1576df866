//! Prompts of the parts of a large change, and whether a part fits into the model's context.

use std::sync::Arc;

use super::parts::signatures;
use super::reviewer_run::{reviewer_shortage, tool_access};
use crate::assignment::{Assignment, DiffPart};
use crate::change_under_review::ChangeUnderReview;
use crate::context::PanelContext;
use crate::prompts::{ChangePart, Prompts, ReviewerBrief};
use crate::review_options::ReviewOptions;
use crate::team::ChosenReviewer;
use crh_llm::{Abilities, ModelFacts};

/// Number of parts that crh renders to find out whether a part can fit. All parts have the same
/// fixed texts, and about the same space for their diffs.
const PARTS_TRIED: usize = 4;

/// Shared prompt prefixes of a panel, one per part of the change.
pub(crate) fn part_prompts(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
    context_tokens: u64,
    context: &PanelContext,
    whole_change_prompts: &Arc<Prompts>,
) -> Vec<Arc<Prompts>> {
    let (parts, count) = (&context.parts, context.parts.len());
    if count <= 1 {
        return vec![whole_change_prompts.clone()];
    }
    let render = |part: &ChangePart| Prompts::for_part(change, options, context_tokens, part);
    (1..)
        .zip(parts)
        .map(|(number, own_parts)| {
            let signatures = signatures(change, context_tokens, own_parts);
            let part = ChangePart { number, count, parts: own_parts.clone(), signatures };
            let prompts = render(&part);
            let all_fit =
                fit(&prompts, own_parts, options, context_tokens, context).all(|fits| fits);
            Arc::new(match all_fit {
                true => prompts,
                false => render(&ChangePart { signatures: String::new(), ..part }),
            })
        })
        .collect()
}

/// Whether at least one reviewer's prompt of one of the first parts fits into the model's context,
/// without signatures. If none fits, splitting the change does not help.
pub(crate) fn parts_fit(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
    context_tokens: u64,
    context: &PanelContext,
) -> bool {
    let (parts, count) = (&context.parts, context.parts.len());
    (1..).zip(parts).take(PARTS_TRIED).any(|(number, own_parts)| {
        let part =
            ChangePart { number, count, parts: own_parts.clone(), signatures: String::new() };
        let prompts = Prompts::for_part(change, options, context_tokens, &part);
        fit(&prompts, own_parts, options, context_tokens, context).any(|fits| fits)
    })
}

/// For each reviewer: whether its first request about a part fits into the model's context.
fn fit<'a>(
    prompts: &'a Prompts,
    own_parts: &'a [DiffPart],
    options: &'a ReviewOptions,
    context_tokens: u64,
    context: &'a PanelContext,
) -> impl Iterator<Item = bool> + 'a {
    let abilities = Abilities { tools: true, schema: true, effort: false };
    let facts =
        ModelFacts { context: context_tokens, max_output: u64::MAX, price: None, abilities };
    context.team.chosen.iter().map(move |ChosenReviewer { reviewer, why }| {
        let assignment = Assignment {
            name: reviewer.name.clone(),
            reviewer: reviewer.name.clone(),
            label: String::new(),
            why: why.clone(),
            focus: String::new(),
            parts: own_parts.to_vec(),
        };
        let brief = ReviewerBrief {
            reviewer,
            assignment: &assignment,
            intent: &context.intent.text,
            others: &context.others(reviewer),
            extra_material: &context.extra_material_for(reviewer),
            tools: tool_access(reviewer, &options.budget),
        };
        // An effort needs more room only in large contexts.
        let effort = None;
        reviewer_shortage(prompts, &brief, effort, &facts).is_none()
    })
}
