//! Upper bound on the cost of a plan, for `--dry-run`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::{Assignment, ORCHESTRATOR, Plan, SINGLE};
use crate::change_under_review::ChangeUnderReview;
use crate::context::PanelContext;
use crate::prompts::{Prompts, ReviewerBrief};
use crate::requirements;
use crate::review_options::{ModelSet, ReviewOptions};
use crate::reviewers::ModelTier;
use crate::strategies::panel::part_prompts;
use crh_llm::{Model, ModelRequest, Money, estimated_tokens};
use crh_review::report::Strategy;

/// Maximum output tokens per turn without reasoning: twice what twenty findings with quotes take.
pub(crate) const TURN_TOKENS: u32 = 16_000;

/// Upper bound on the cost of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostEstimate {
    /// Assignments in plan order.
    pub assignments: Vec<PlannedAssignment>,
    /// Maximum cost of the review. The ledger refuses calls that would exceed it.
    #[serde(rename = "worst")]
    pub max_cost: Money,
    /// The part of `max_cost` that the ledger reserves for final turns and validation.
    #[serde(rename = "held_back")]
    pub reserved_cost: Money,
    /// Maximum number of model calls.
    pub llm_calls: u32,
    /// Maximum number of input tokens.
    pub input_tokens: u64,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One assignment with its first model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedAssignment {
    /// Name of the assignment.
    pub name: String,
    /// Number of files.
    pub files: usize,
    /// The first model call. None for static checks.
    #[serde(rename = "asks")]
    pub first_call: Option<FirstCallEstimate>,
}

/// Estimate of the first model call of an assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FirstCallEstimate {
    /// Name of the model.
    pub model: String,
    /// Upper bound on the input tokens of the first call.
    pub input_tokens: u64,
    /// Maximum output tokens per call.
    pub output_tokens: u64,
    /// Maximum cost of the first call. None if the price is unknown.
    #[serde(rename = "worst_call")]
    pub max_call_cost: Option<Money>,
    /// Maximum number of calls: that of the whole review.
    pub calls: u32,
}

/// Estimates a plan. The number of calls is unknown in advance, but the budget bounds their cost.
pub fn estimate(
    plan: &Plan,
    change: &ChangeUnderReview,
    models: &ModelSet,
    options: &ReviewOptions,
    context: &PanelContext,
) -> CostEstimate {
    let budget = &options.budget;
    let context_tokens = models.min_context();
    let prompts = Arc::new(Prompts::new(change, options, context_tokens));
    let estimate_prompts = EstimatePrompts {
        parts: part_prompts(change, options, context_tokens, context, &prompts),
        prompts,
    };
    let plan_assignment = |assignment: &Assignment| PlannedAssignment {
        name: assignment.name.clone(),
        files: assignment.parts.len(),
        first_call: estimate_prompts
            .first_question(assignment, models, options, context)
            .map(|question| first_call_estimate(&question, budget.llm_calls)),
    };
    let assignments: Vec<PlannedAssignment> =
        plan.assignments.iter().map(plan_assignment).collect();
    let mut notes = plan.notes.clone();
    if plan.assignments.iter().any(|assignment| assignment.name == ORCHESTRATOR) {
        notes.push(
            "the orchestrator decides how many sub-agents run; the limits cover all of them"
                .to_owned(),
        );
    }
    if plan.strategy == Strategy::Panel {
        notes.push(
            "a small model call before the review may add reviewers; the limits include that call and the added reviewers"
                .to_owned(),
        );
    }
    let budget = budget.ledger_budget();
    let (asks_model, has_paid_model) = (
        assignments.iter().any(|planned| planned.first_call.is_some()),
        models.roles().iter().any(|model| !is_free(model)),
    );
    let if_paid = |money| if asks_model && has_paid_model { money } else { Money::ZERO };
    CostEstimate {
        assignments,
        max_cost: if_paid(budget.money),
        reserved_cost: if_paid(budget.held_back()),
        llm_calls: if asks_model { budget.llm_calls } else { 0 },
        input_tokens: if asks_model { budget.input_tokens } else { 0 },
        notes,
    }
}

/// Prompts of the review, and of each part of a panel.
struct EstimatePrompts {
    prompts: Arc<Prompts>,
    parts: Vec<Arc<Prompts>>,
}

struct FirstQuestion<'a> {
    model: &'a Model,
    prompts: &'a Prompts,
    instructions: String,
}

impl EstimatePrompts {
    /// The first prompt of an assignment, if it asks a model. Excludes the context code of
    /// `single`, which is selected later.
    fn first_question<'a>(
        &'a self,
        assignment: &Assignment,
        models: &'a ModelSet,
        options: &ReviewOptions,
        context: &PanelContext,
    ) -> Option<FirstQuestion<'a>> {
        let prompts = &*self.prompts;
        let (model, instructions) = match assignment.name.as_str() {
            SINGLE => (&models.reviewer, prompts.single("", "")),
            ORCHESTRATOR => (&models.reviewer, prompts.orchestrator()),
            requirements::REVIEWER => (
                models.for_tier(ModelTier::Strong),
                prompts.requirements(context.document.as_ref()?),
            ),
            _ => return self.lens_question(assignment, models, options, context),
        };
        Some(FirstQuestion { model, prompts, instructions })
    }

    fn lens_question<'a>(
        &'a self,
        assignment: &Assignment,
        models: &'a ModelSet,
        options: &ReviewOptions,
        context: &PanelContext,
    ) -> Option<FirstQuestion<'a>> {
        let reviewer = context.team.get(&assignment.reviewer)?;
        let prompts = self.parts.get(context.part_of(assignment))?;
        let (intent, extra_material) =
            (context.intent.text.as_str(), context.extra_material_for(reviewer));
        let brief = ReviewerBrief { reviewer, assignment, intent, extra_material: &extra_material };
        let model = models.for_tier(options.panel.tier(reviewer));
        Some(FirstQuestion { model, prompts, instructions: prompts.lens(&brief, "") })
    }
}

fn first_call_estimate(question: &FirstQuestion<'_>, calls: u32) -> FirstCallEstimate {
    let FirstQuestion { model, prompts, instructions } = question;
    let facts = model.facts();
    let output_tokens = facts.max_output.min(TURN_TOKENS.into());
    let request = ModelRequest::new(prompts.conversation(instructions), TURN_TOKENS);
    let input_tokens = estimated_tokens(&ModelRequest { tools: prompts.tools(), ..request });
    let max_call_cost =
        facts.price.as_ref().map(|price| price.worst_case(input_tokens, output_tokens));
    FirstCallEstimate {
        model: model.name().to_owned(),
        input_tokens,
        output_tokens,
        max_call_cost,
        calls,
    }
}

/// Whether the model has a price of zero. An unknown price is not free.
fn is_free(model: &Model) -> bool {
    model.facts().price.as_ref().is_some_and(|price| price.worst_case(1, 1) == Money::ZERO)
}

impl fmt::Display for CostEstimate {
    /// One line per assignment, then the notes, then the limits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.assignments.iter().map(|planned| planned.name.len()).max().unwrap_or(0);
        for PlannedAssignment { name, files, first_call } in &self.assignments {
            let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            write!(f, "{name:<width$}  {files}, ")?;
            match first_call {
                None => writeln!(f, "no model")?,
                Some(first_call) => writeln!(f, "{first_call}")?,
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let Self { max_cost, reserved_cost, llm_calls, input_tokens, .. } = self;
        writeln!(
            f,
            "at most {max_cost}, of which {reserved_cost} are kept back so that reviewers can finish and findings can be validated; \
             at most {llm_calls} model calls and {input_tokens} input tokens"
        )
    }
}

impl fmt::Display for FirstCallEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, input_tokens, max_call_cost, .. } = self;
        write!(f, "{model}: first call at most {input_tokens} tokens and ")?;
        match max_call_cost {
            Some(cost) => write!(f, "{cost}"),
            None => f.write_str("unknown cost"),
        }
    }
}
