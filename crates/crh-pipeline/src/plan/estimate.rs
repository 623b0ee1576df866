//! What a plan can cost at the worst, before anyone is asked.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::{Assignment, ORCHESTRATOR, Plan, SINGLE};
use crate::context::Context;
use crate::prompts::{LensBrief, Prompts};
use crate::requirements;
use crate::reviewers::Tier;
use crate::strategies::panel::prompts_of_parts;
use crate::subject::Subject;
use crate::terms::{Crew, Terms};
use crh_llm::{Model, Money, Request, estimated_tokens};
use crh_review::report::Strategy;

/// The most tokens that an agent of a review writes in one turn, thoughts included: some twenty findings with their
/// quotes, and as much again to think.
pub(crate) const TURN_TOKENS: u32 = 16_000;

/// What a plan can cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// The assignments, in the order of the plan.
    pub assignments: Vec<Planned>,
    /// The most that the review can cost. The ledger lets no call pass it.
    pub worst: Money,
    /// What of it only last turns and the check of what was found may use.
    pub held_back: Money,
    /// The most calls of models.
    pub llm_calls: u32,
    /// The most tokens that models read.
    pub input_tokens: u64,
    /// What the reader should know about the plan.
    pub notes: Vec<String>,
}

/// One assignment, and what it asks a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// How many files it looks at.
    pub files: usize,
    /// What it asks; none if it needs no model.
    pub asks: Option<Asks>,
}

/// What an assignment asks a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asks {
    /// The model.
    pub model: String,
    /// The tokens that its first call reads, counted so that the truth is below.
    pub input_tokens: u64,
    /// The tokens that a call writes, at most.
    pub output_tokens: u64,
    /// What the first call costs at most; none if the model's price is not known.
    pub worst_call: Option<Money>,
    /// The most calls: as many as the whole review may make.
    pub calls: u32,
}

/// What a plan can cost. How many calls it takes is not known before; what all of them may cost is.
pub fn estimate(
    plan: &Plan,
    subject: &Subject,
    crew: &Crew,
    terms: &Terms,
    context: &Context,
) -> Estimate {
    let allowance = &terms.allowance;
    let room = crew.context();
    let prompts = Arc::new(Prompts::new(subject, terms, room));
    let told = Told { parts: prompts_of_parts(subject, terms, room, context, &prompts), prompts };
    let planned = |assignment: &Assignment| Planned {
        name: assignment.name.clone(),
        files: assignment.parts.len(),
        asks: told
            .question(assignment, crew, terms, context)
            .map(|it| asks(&it, allowance.llm_calls)),
    };
    let assignments: Vec<Planned> = plan.assignments.iter().map(planned).collect();
    let mut notes = plan.notes.clone();
    if plan.assignments.iter().any(|assignment| assignment.name == ORCHESTRATOR) {
        notes.push("the orchestrator decides how many sub-agents there are; the bound holds for all of them".to_owned());
    }
    if plan.strategy == Strategy::Panel {
        notes.push(
            "one small call before the panel may add reviewers; the bound holds for all of them"
                .to_owned(),
        );
    }
    let budget = allowance.budget();
    let models = [&crew.reviewer, &crew.cheap, &crew.escalation];
    let (asked, paid) = (
        assignments.iter().any(|planned| planned.asks.is_some()),
        models.iter().any(|model| !is_free(model)),
    );
    let if_paid = |money| if asked && paid { money } else { Money::ZERO };
    Estimate {
        assignments,
        worst: if_paid(budget.money),
        held_back: if_paid(budget.held_back()),
        llm_calls: if asked { budget.llm_calls } else { 0 },
        input_tokens: if asked { budget.input_tokens } else { 0 },
        notes,
    }
}

/// What agents are told: all of them, and those of a panel part by part.
struct Told {
    prompts: Arc<Prompts>,
    parts: Vec<Arc<Prompts>>,
}

/// The first question of an assignment.
struct Question<'a> {
    model: &'a Model,
    prompts: &'a Prompts,
    own: String,
}

impl Told {
    /// What an assignment asks first, if it asks a model. The code that `single` shows around the changed lines is chosen later.
    fn question<'a>(
        &'a self,
        assignment: &Assignment,
        crew: &'a Crew,
        terms: &Terms,
        context: &Context,
    ) -> Option<Question<'a>> {
        let prompts = &*self.prompts;
        let (model, own) = match assignment.name.as_str() {
            SINGLE => (&crew.reviewer, prompts.single("", "")),
            ORCHESTRATOR => (&crew.reviewer, prompts.orchestrator()),
            requirements::REVIEWER => {
                (crew.of_tier(Tier::Strong), prompts.requirements(context.document.as_ref()?))
            }
            _ => return self.lens(assignment, crew, terms, context),
        };
        Some(Question { model, prompts, own })
    }

    fn lens<'a>(
        &'a self,
        assignment: &Assignment,
        crew: &'a Crew,
        terms: &Terms,
        context: &Context,
    ) -> Option<Question<'a>> {
        let reviewer = context.team.get(&assignment.reviewer)?;
        let prompts = self.parts.get(context.part_of(assignment))?;
        let (intent, given) = (context.intent.text.as_str(), context.given_to(reviewer));
        let brief = LensBrief { reviewer, assignment, intent, given: &given };
        let model = crew.of_tier(terms.panel.tier(reviewer));
        Some(Question { model, prompts, own: prompts.lens(&brief, "") })
    }
}

fn asks(question: &Question<'_>, calls: u32) -> Asks {
    let Question { model, prompts, own } = question;
    let facts = model.facts();
    let output_tokens = facts.max_output.min(TURN_TOKENS.into());
    let request = Request::new(prompts.conversation(own), TURN_TOKENS);
    let input_tokens = estimated_tokens(&Request { tools: prompts.tools(), ..request });
    let worst_call = facts.price.as_ref().map(|price| price.worst(input_tokens, output_tokens));
    Asks { model: model.name().to_owned(), input_tokens, output_tokens, worst_call, calls }
}

/// Whether a model is known to cost nothing.
fn is_free(model: &Model) -> bool {
    model.facts().price.as_ref().is_some_and(|price| price.worst(1, 1) == Money::ZERO)
}

impl fmt::Display for Estimate {
    /// A row for each assignment, what is to be known, and in the last line the bound.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.assignments.iter().map(|planned| planned.name.len()).max().unwrap_or(0);
        for Planned { name, files, asks } in &self.assignments {
            let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            write!(f, "{name:<width$}  {files}, ")?;
            match asks {
                None => writeln!(f, "no model")?,
                Some(asks) => writeln!(f, "{asks}")?,
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let Self { worst, held_back, llm_calls, input_tokens, .. } = self;
        writeln!(
            f,
            "at most {worst}, of which {held_back} held back for last turns and validation; \
             at most {llm_calls} calls and {input_tokens} tokens read"
        )
    }
}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, input_tokens, worst_call, .. } = self;
        write!(f, "{model}: its first call at most {input_tokens} tokens and ")?;
        match worst_call {
            Some(worst) => write!(f, "{worst}"),
            None => f.write_str("of unknown price"),
        }
    }
}
