//! Limits of the calls of `single`: how many tokens the model may read and write per call.
//!
//! The ledger checks every call against the budget. The limits here are low enough that the ledger
//! does not refuse a call.

use super::material::DraftTokenLimits;
use crate::review_options::ReviewBudget;
use crh_agent::{LimitKind, UsageTotals};
use crh_llm::{ModelFacts, Money};

/// Output tokens per call, unless the budget is small. A finding with its quote takes about 250
/// tokens. The rest is for models that reason before they answer.
const OUTPUT_TOKENS: u32 = 16_000;
/// Output tokens per call with the smallest budget: about fifteen findings without reasoning.
const OUTPUT_TOKENS_MIN: u32 = 4_000;
/// Maximum share of the money budget that the output of one call may cost, in percent.
const OUTPUT_PERCENT: u64 = 20;
/// Maximum size of the first call with all its diffs, in percent of the budget and of the model's
/// context. The ledger reserves 20 percent of the budget for last answers and validation. Another 5
/// percent are left for models without tool calls, whose instructions are longer.
const DIFFS_PERCENT: u64 = 75;
/// Size up to which code around the changes is added to the first call, in percent of the budget
/// and of the model's context. The second call repeats the text of the first, and calls that correct
/// an invalid answer do so too.
const CONTEXT_PERCENT: u64 = 50;

/// The part of the budget that is not spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemainingBudget {
    /// Model calls.
    pub(super) calls: u32,
    /// Input tokens.
    input_tokens: u64,
    money: Money,
}

impl RemainingBudget {
    /// Subtracts the usage so far from the budget.
    pub(super) fn new(budget: &ReviewBudget, spent: &UsageTotals) -> Self {
        Self {
            calls: budget.llm_calls.saturating_sub(spent.llm_calls),
            input_tokens: budget.input_tokens.saturating_sub(spent.usage.input),
            money: budget.money.minus(spent.money),
        }
    }

    /// Maximum input tokens of a call to this model, if its answer may have `output` tokens.
    pub(super) fn max_input_tokens(&self, facts: &ModelFacts, output: u32) -> u64 {
        let context = facts.context.saturating_sub(output.into());
        let max_tokens = self.input_tokens.min(context);
        // A binary search, since the price per token may rise with the length of the input.
        let (mut affordable, mut too_expensive) = (0, max_tokens.saturating_add(1));
        while affordable + 1 < too_expensive {
            let middle = affordable + (too_expensive - affordable) / 2;
            if self.can_afford(facts, middle, output) {
                affordable = middle;
            } else {
                too_expensive = middle;
            }
        }
        affordable
    }

    /// The limit that a call of this size would exceed.
    pub(super) fn blocking_limit(
        &self,
        facts: &ModelFacts,
        input: u64,
        output: u32,
    ) -> Option<LimitKind> {
        if self.calls == 0 {
            // Each call is one turn of the agent, so a lack of calls is reported as a lack of
            // turns.
            Some(LimitKind::Turns)
        } else if input > self.input_tokens.min(facts.context.saturating_sub(output.into())) {
            Some(LimitKind::Tokens)
        } else if !self.can_afford(facts, input, output) {
            Some(LimitKind::Money)
        } else {
            None
        }
    }

    fn can_afford(&self, facts: &ModelFacts, input: u64, output: u32) -> bool {
        // Models without a price are rejected in `drive`.
        facts
            .price
            .as_ref()
            .is_none_or(|price| price.worst_case(input, output.into()) <= self.money)
    }
}

/// Maximum input tokens of the first call.
pub(super) fn draft_token_limits(
    budget: &ReviewBudget,
    facts: &ModelFacts,
    output: u32,
) -> DraftTokenLimits {
    let limit = |percent: u64| {
        let share = RemainingBudget {
            calls: budget.llm_calls,
            input_tokens: budget.input_tokens / 100 * percent,
            money: budget.money.percent(percent),
        };
        let context = facts.context.saturating_sub(output.into()) / 100 * percent;
        share.max_input_tokens(facts, output).min(context)
    };
    DraftTokenLimits { for_diffs: limit(DIFFS_PERCENT), for_context: limit(CONTEXT_PERCENT) }
}

/// Maximum output tokens per call. A small budget halves [`OUTPUT_TOKENS`] until the output costs
/// at most [`OUTPUT_PERCENT`], but not below [`OUTPUT_TOKENS_MIN`].
pub(super) fn output_tokens(budget: &ReviewBudget, facts: &ModelFacts) -> u32 {
    let max_cost = budget.money.percent(OUTPUT_PERCENT);
    let mut output = OUTPUT_TOKENS;
    let price = facts.price.as_ref();
    while output / 2 >= OUTPUT_TOKENS_MIN
        && price.is_some_and(|price| price.worst_case(0, output.into()) > max_cost)
    {
        output /= 2;
    }
    u32::try_from(facts.max_output).unwrap_or(u32::MAX).min(output)
}

#[cfg(test)]
mod tests;
