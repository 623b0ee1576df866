//! Likely cost of a plan, its upper bound, and the assignments that exceed the budget, for
//! `--estimate`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::Plan;
use crate::assignment::{Assignment, ORCHESTRATOR, TURN_TOKENS};
use crate::change_under_review::ChangeUnderReview;
use crate::context::PanelContext;
use crate::prompts::{Prompts, ReviewerBrief};
use crate::requirements;
use crate::review_options::{ModelSet, ReviewOptions};
use crate::reviewers::ModelTier;
use crate::strategies::panel::part_prompts::part_prompts;
use crate::strategies::panel::{reviewer_shortage, shortest_brief, tool_access};
use crate::text::plural;
use crate::tools::session::{
    DelegateReview, ReportRequirements, SessionTool, SubmitReview, tool_spec,
};
use crh_agent::{
    AgentTask, Budget, CallPurpose, ContextShortage, SubmitTool, context_shortage, least_output,
};
use crh_llm::{
    Conversation, Model, ModelRequest, Money, Price, SharedPrefix, TokenUsage, estimated_tokens,
};
use crh_review::report::Strategy;

/// Likely input tokens in percent of their upper bound. For code, vendors count two fifths of the
/// upper bound.
const LIKELY_INPUT_PERCENT: u64 = 40;

/// Likely output tokens of a call, in percent of the minimum that the ledger reserves. In recorded
/// reviews a call has 200 to 500 output tokens on average, without reasoning.
const LIKELY_OUTPUT_PERCENT: u64 = 10;

/// Likely cost of the further calls of a run, in percent of one such call. In recorded reviews most
/// runs answer at once. About a third of all runs look up code first.
const FURTHER_CALLS_PERCENT: u64 = 30;

/// Likely runs after the reviewers: the editor, and one validation run.
const LATER_RUNS: usize = 2;

/// How many runs a note names.
const NAMED_RUNS_MAX: usize = 5;

/// Likely cost of a plan, and its upper bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostEstimate {
    /// Assignments in plan order.
    pub assignments: Vec<PlannedAssignment>,
    /// Likely cost of the review.
    #[serde(rename = "likely_cost_usd", serialize_with = "dollars")]
    pub likely_cost: Money,
    /// Maximum cost of the review. The ledger refuses calls that would exceed it.
    #[serde(rename = "max_cost_usd", serialize_with = "dollars")]
    pub max_cost: Money,
    /// The part of `max_cost` that the ledger reserves for final turns and validation.
    #[serde(rename = "reserved_cost_usd", serialize_with = "dollars")]
    pub reserved_cost: Money,
    /// Maximum number of model calls.
    #[serde(rename = "max_llm_calls")]
    pub llm_calls: u32,
    /// Maximum number of input tokens.
    #[serde(rename = "max_input_tokens")]
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
    pub first_call: Option<FirstCallEstimate>,
    /// Set if the budget that the earlier assignments leave is too small for this one.
    pub shortfall: Option<PlanShortfall>,
}

/// Why the budget is too small for an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanShortfall {
    /// Too little money is left for the first call.
    Money {
        /// Minimum amount that the ledger reserves for the first call.
        #[serde(rename = "cost_usd", serialize_with = "dollars")]
        cost: Money,
        /// Money that is left.
        #[serde(rename = "left_usd", serialize_with = "dollars")]
        left: Money,
    },
    /// The earlier assignments use up all calls, with one call each.
    Calls {
        /// Maximum number of model calls of the review.
        max: u32,
    },
}

/// Estimate of the first model call of an assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FirstCallEstimate {
    /// Name of the model.
    pub model: String,
    /// Upper bound on the input tokens of the first call. At most what the model's context allows.
    pub input_tokens: u64,
    /// Input tokens for which the ledger reserves money: crh's estimate of the request.
    #[serde(skip)]
    reserved_tokens: u64,
    /// The part of these tokens that other calls do not share.
    #[serde(skip)]
    rest_tokens: u64,
    /// Minimum number of output tokens that the ledger reserves for a call.
    pub output_tokens: u64,
    /// Minimum amount that the ledger reserves for the first call. None if the price is unknown.
    #[serde(rename = "max_call_cost_usd", serialize_with = "optional_dollars")]
    pub max_call_cost: Option<Money>,
    /// Likely cost of all calls of the assignment. None if the price is unknown.
    #[serde(rename = "likely_cost_usd", serialize_with = "optional_dollars")]
    pub likely_cost: Option<Money>,
    /// `likely_cost` if an earlier run has put the shared prompt into the vendor's cache.
    #[serde(skip)]
    cached_cost: Option<Money>,
    /// Maximum number of calls. This is the limit of the whole review.
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
    let mut unfit_runs = UnfitRuns::new();
    let mut assignments: Vec<PlannedAssignment> = Vec::new();
    for assignment in &plan.assignments {
        let question = estimate_prompts.first_question(assignment, models, options, context);
        if let Some(FirstQuestion { model, shortage: Some(shortage), .. }) = &question {
            let runs = unfit_runs.entry(model.name()).or_default();
            runs.push((assignment.name.as_str(), *shortage));
        }
        assignments.push(PlannedAssignment {
            name: assignment.name.clone(),
            files: assignment.parts.len(),
            first_call: question.map(|question| first_call_estimate(&question, budget.llm_calls)),
            shortfall: None,
        });
    }
    find_shortfalls(&mut assignments, models, budget.ledger_budget());
    let mut notes = plan.notes.clone();
    notes.extend(context_notes(&assignments, &unfit_runs));
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
        likely_cost: likely_cost(&assignments, &models.editor, budget.llm_calls)
            .min(if_paid(budget.money)),
        assignments,
        max_cost: if_paid(budget.money),
        reserved_cost: if_paid(budget.held_back()),
        llm_calls: if asks_model { budget.llm_calls } else { 0 },
        input_tokens: if asks_model { budget.input_tokens } else { 0 },
        notes,
    }
}

/// The estimate of a plan of static checks. It costs nothing.
pub fn estimate_without_model(plan: &Plan) -> CostEstimate {
    let assignments = plan.assignments.iter().map(|assignment| PlannedAssignment {
        name: assignment.name.clone(),
        files: assignment.parts.len(),
        first_call: None,
        shortfall: None,
    });
    CostEstimate {
        assignments: assignments.collect(),
        likely_cost: Money::ZERO,
        max_cost: Money::ZERO,
        reserved_cost: Money::ZERO,
        llm_calls: 0,
        input_tokens: 0,
        notes: plan.notes.clone(),
    }
}

/// Prompts of the review, and the prompts for each part of the change that a panel reviews.
struct EstimatePrompts {
    prompts: Arc<Prompts>,
    parts: Vec<Arc<Prompts>>,
}

struct FirstQuestion<'a> {
    model: &'a Model,
    prompts: &'a Prompts,
    conversation: Conversation,
    /// What is missing if the question does not fit into the model's context.
    shortage: Option<ContextShortage>,
}

/// Runs whose first request does not fit into the model's context, by the name of the model.
type UnfitRuns<'a> = BTreeMap<&'a str, Vec<(&'a str, ContextShortage)>>;

/// One note per model on its runs that do not fit. The runs of a model need about the same number
/// of tokens, so a note gives the largest number only.
fn context_notes(assignments: &[PlannedAssignment], unfit_runs: &UnfitRuns<'_>) -> Vec<String> {
    let first_calls = assignments.iter().filter(|planned| planned.first_call.is_some());
    let unfit_count: usize = unfit_runs.values().map(Vec::len).sum();
    let has_fitting_run = first_calls.count() > unfit_count;
    let notes = unfit_runs.iter().filter_map(|(model, runs)| {
        let (_, shortage) = runs.iter().max_by_key(|(_, shortage)| shortage.needed)?;
        if !has_fitting_run {
            return Some(format!("`{model}` cannot review this change: {shortage}"));
        }
        let names: Vec<&str> = runs.iter().take(NAMED_RUNS_MAX).map(|(name, _)| *name).collect();
        let more = match runs.len().saturating_sub(NAMED_RUNS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("`{model}` cannot run {}{more}: {shortage}", names.join(", ")))
    });
    notes.collect()
}

impl EstimatePrompts {
    /// The first prompt of an assignment, if it asks a model.
    fn first_question<'a>(
        &'a self,
        assignment: &Assignment,
        models: &'a ModelSet,
        options: &ReviewOptions,
        context: &PanelContext,
    ) -> Option<FirstQuestion<'a>> {
        let prompts = &*self.prompts;
        let (model, instructions, submit) = match assignment.name.as_str() {
            ORCHESTRATOR => (
                &models.reviewer,
                prompts.orchestrator(),
                SubmitTool::new(tool_spec::<SubmitReview>(), |_| Ok(()))
                    .with_required_tool(DelegateReview::NAME),
            ),
            requirements::REVIEWER => (
                models.for_tier(ModelTier::Strong),
                prompts.requirements(context.document.as_ref()?),
                SubmitTool::new(tool_spec::<ReportRequirements>(), |_| Ok(())),
            ),
            _ => return self.lens_question(assignment, models, options, context),
        };
        let conversation = prompts.conversation(&instructions);
        let task = AgentTask {
            caller: assignment.name.clone(),
            conversation: conversation.clone(),
            tools: prompts.tools(),
            submit,
            purpose: CallPurpose::Work,
            max_output_tokens: TURN_TOKENS,
            temperature: None,
            effort: model.effort(),
        };
        let shortage = context_shortage(task, model.facts());
        Some(FirstQuestion { model, prompts, conversation, shortage })
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
        let (others, extra_material) = (&context.others(reviewer), &extra_material);
        let tools = tool_access(reviewer, &options.budget);
        let brief = ReviewerBrief { reviewer, assignment, intent, others, extra_material, tools };
        let model = models.for_tier(options.panel.tier(reviewer));
        let conversation = prompts.reviewer_conversation(&brief, "");
        let (shortest, effort) = (shortest_brief(&brief), model.effort());
        let shortage = reviewer_shortage(prompts, &shortest, effort, model.facts());
        Some(FirstQuestion { model, prompts, conversation, shortage })
    }
}

fn first_call_estimate(question: &FirstQuestion<'_>, calls: u32) -> FirstCallEstimate {
    let FirstQuestion { model, prompts, conversation, .. } = question;
    let facts = model.facts();
    let request = ModelRequest::new(conversation.clone(), TURN_TOKENS);
    let request = ModelRequest { tools: prompts.tools(), effort: model.effort(), ..request };
    let reserved_tokens = estimated_tokens(&request);
    // The estimate may be more than the context, although the request fits.
    let answer_tokens = least_output(TURN_TOKENS, facts.context).min(facts.max_output);
    let context_room = facts.context.saturating_sub(answer_tokens);
    let output_tokens = facts.max_output.min(request.usual_output().into());
    let price = facts.price.as_ref();
    let rest_tokens =
        SharedPrefix::from_request(&request).map_or(reserved_tokens, |prefix| prefix.rest);
    let shared_tokens = reserved_tokens - rest_tokens;
    FirstCallEstimate {
        model: model.name().to_owned(),
        input_tokens: reserved_tokens.min(context_room),
        reserved_tokens,
        rest_tokens,
        output_tokens,
        max_call_cost: price.map(|price| price.worst_case(reserved_tokens, output_tokens)),
        likely_cost: price.map(|price| likely_run_cost(price, reserved_tokens, 0, output_tokens)),
        cached_cost: price
            .map(|price| likely_run_cost(price, reserved_tokens, shared_tokens, output_tokens)),
        calls,
    }
}

/// Likely cost of a run. The first call reads `cached_bound` of its input from the vendor's cache.
/// Later calls read all of that input from the cache.
fn likely_run_cost(price: &Price, input_bound: u64, cached_bound: u64, output: u64) -> Money {
    let input = input_bound * LIKELY_INPUT_PERCENT / 100;
    let cache_read = cached_bound * LIKELY_INPUT_PERCENT / 100;
    let output = output * LIKELY_OUTPUT_PERCENT / 100;
    let first = TokenUsage { input, cache_read, output, ..TokenUsage::default() };
    let later = TokenUsage { cache_read: input, ..first };
    price.cost(&first) + price.cost(&later).percent(FURTHER_CALLS_PERCENT)
}

/// Likely cost of all assignments that the budget covers, and of the later runs that the number of
/// calls allows. A run reads the shared prompt from the vendor's cache if an earlier run used the
/// same model.
fn likely_cost(assignments: &[PlannedAssignment], editor: &Model, max_calls: u32) -> Money {
    let first_calls = assignments.iter().filter(|planned| planned.shortfall.is_none());
    let first_calls: Vec<_> = first_calls.filter_map(|it| it.first_call.as_ref()).collect();
    let mut called_models: BTreeSet<&str> = BTreeSet::new();
    let mut total = Money::ZERO;
    for first_call in &first_calls {
        let is_cached = !called_models.insert(&first_call.model);
        let cost = if is_cached { first_call.cached_cost } else { first_call.likely_cost };
        total += cost.unwrap_or(Money::ZERO);
    }
    let largest = first_calls.iter().max_by_key(|first_call| first_call.reserved_tokens);
    if let (Some(largest), Some(price)) = (largest, editor.facts().price.as_ref()) {
        let FirstCallEstimate { reserved_tokens, rest_tokens, output_tokens, .. } = **largest;
        let max_calls = usize::try_from(max_calls).unwrap_or(usize::MAX);
        for _ in 0..LATER_RUNS.min(max_calls.saturating_sub(first_calls.len())) {
            let is_cached = !called_models.insert(editor.name());
            let cached = if is_cached { reserved_tokens - rest_tokens } else { 0 };
            total += likely_run_cost(price, reserved_tokens, cached, output_tokens);
        }
    }
    total
}

/// Finds the assignments that the ledger would refuse, assuming the likely cost for each earlier
/// assignment.
pub(super) fn find_shortfalls(
    assignments: &mut [PlannedAssignment],
    models: &ModelSet,
    budget: Budget,
) {
    let mut left = budget.money.minus(budget.held_back());
    let mut counted_models: BTreeSet<String> = BTreeSet::new();
    let mut left_calls = budget.llm_calls;
    for planned in assignments {
        let Some(first_call) = &planned.first_call else { continue };
        if left_calls == 0 {
            planned.shortfall = Some(PlanShortfall::Calls { max: budget.llm_calls });
            continue;
        }
        left_calls -= 1;
        let model = models.roles().into_iter().find(|model| model.name() == first_call.model);
        let price = model.and_then(|model| model.facts().price.as_ref());
        let (Some(price), Some(likely_cost)) = (price, first_call.likely_cost) else { continue };
        let FirstCallEstimate { reserved_tokens, rest_tokens, output_tokens, .. } = *first_call;
        let input = if counted_models.contains(&first_call.model) {
            (reserved_tokens - rest_tokens) * LIKELY_INPUT_PERCENT / 100 + rest_tokens
        } else {
            reserved_tokens
        };
        let cost = price.worst_case(input, output_tokens);
        if cost > left {
            planned.shortfall = Some(PlanShortfall::Money { cost, left });
            left_calls += 1;
            continue;
        }
        counted_models.insert(first_call.model.clone());
        left = left.minus(likely_cost);
    }
}

fn model_calls(count: u32) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), "model call")
}

/// In dollars, rounded to the six decimals of a report.
fn dollars<S: Serializer>(money: &Money, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((money.as_dollars() * 1e6).round() / 1e6)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn optional_dollars<S: Serializer>(
    money: &Option<Money>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match money {
        Some(money) => dollars(money, serializer),
        None => serializer.serialize_none(),
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
        for PlannedAssignment { name, files, first_call, shortfall } in &self.assignments {
            let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            write!(f, "{name:<width$}  {files}, ")?;
            let Some(first_call) = first_call else {
                writeln!(f, "no model")?;
                continue;
            };
            write!(f, "{first_call}")?;
            match (shortfall, first_call.likely_cost) {
                (None, Some(Money::ZERO)) => writeln!(f)?,
                (None, Some(cost)) => writeln!(f, ", all calls about {cost}")?,
                (None, None) => writeln!(f, ", unknown cost")?,
                (Some(shortfall), _) => writeln!(f, "; skipped: {shortfall}")?,
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let Self { likely_cost, max_cost, reserved_cost, llm_calls, input_tokens, .. } = self;
        let calls = model_calls(*llm_calls);
        let scope = if self.fits_no_reviewer() {
            "(the budget is too small for any reviewer)"
        } else {
            "for all calls, including those that select and check findings"
        };
        if *llm_calls == 0 {
            return writeln!(f, "expected cost: none, because no model is asked");
        }
        if self.is_free() {
            return writeln!(f, "limits: {calls}, {input_tokens} input tokens; the calls are free");
        }
        writeln!(f, "expected cost: {likely_cost} {scope}")?;
        writeln!(
            f,
            "limits: {max_cost}, {calls}, {input_tokens} input tokens; crh reserves {reserved_cost} \
             for the final answers of reviewers and for checking findings"
        )
    }
}

impl CostEstimate {
    /// Whether all calls are free, as with local models.
    fn is_free(&self) -> bool {
        self.max_cost == Money::ZERO && !self.fits_no_reviewer()
    }

    /// Whether the plan has reviewers and the budget is too small for each of them.
    fn fits_no_reviewer(&self) -> bool {
        let mut reviewers = self.assignments.iter().filter(|it| it.first_call.is_some()).peekable();
        reviewers.peek().is_some() && reviewers.all(|planned| planned.shortfall.is_some())
    }
}

impl fmt::Display for FirstCallEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, input_tokens, .. } = self;
        write!(f, "{model}: first call at most {input_tokens} tokens")
    }
}

impl fmt::Display for PlanShortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Shows fractions of a cent, as the sums of the estimate do.
            Self::Money { cost, left } => {
                write!(f, "may cost {cost}, {left} left; raise `--max-cost`")
            }
            Self::Calls { max } => {
                write!(
                    f,
                    "the reviewers above use up {}; raise `--max-llm-calls`",
                    model_calls(*max)
                )
            }
        }
    }
}
