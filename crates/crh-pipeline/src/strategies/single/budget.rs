//! Sizes of the calls of `single`: how many tokens a call may read and write.
//!
//! The ledger decides about every call. These sizes are chosen so that it does not refuse one.

use super::material::DraftTokenLimits;
use crate::review_options::ReviewBudget;
use crh_agent::{LimitKind, UsageTotals};
use crh_llm::{ModelFacts, Money};

/// Maximum output tokens per call: a dozen findings with quotes, plus reasoning.
const OUTPUT_TOKENS: u32 = 16_000;
/// Minimum output tokens: fifteen findings.
const OUTPUT_TOKENS_MIN: u32 = 4_000;
/// Maximum share of the money for output, in percent.
const OUTPUT_PERCENT: u64 = 20;
/// Maximum share of the budget and of the context for the first call with its diffs, in percent.
/// The ledger reserves a fifth, and a model without tools needs more words.
const DIFFS_PERCENT: u64 = 75;
/// Share up to which the first call is filled with context code, in percent. The second call
/// repeats the same text, and repairs need room too.
const CONTEXT_PERCENT: u64 = 50;

/// What is left of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemainingBudget {
    /// Model calls.
    pub(super) calls: u32,
    /// Input tokens.
    input_tokens: u64,
    money: Money,
}

impl RemainingBudget {
    /// What is left of a budget.
    pub(super) fn new(budget: &ReviewBudget, spent: &UsageTotals) -> Self {
        Self {
            calls: budget.llm_calls.saturating_sub(spent.llm_calls),
            input_tokens: budget.input_tokens.saturating_sub(spent.usage.input),
            money: budget.money.minus(spent.money),
        }
    }

    /// Maximum input tokens of a question to this model.
    pub(super) fn max_input_tokens(&self, facts: &ModelFacts, output: u32) -> u64 {
        let context = facts.context.saturating_sub(output.into());
        let most = self.input_tokens.min(context);
        // Binary search for the largest affordable number, since prices may rise with the length.
        let (mut paid, mut unpaid) = (0, most.saturating_add(1));
        while paid + 1 < unpaid {
            let middle = paid + (unpaid - paid) / 2;
            if self.can_afford(facts, middle, output) { paid = middle } else { unpaid = middle }
        }
        paid
    }

    /// The limit that blocks a question of this size.
    pub(super) fn blocking_limit(
        &self,
        facts: &ModelFacts,
        input: u64,
        output: u32,
    ) -> Option<LimitKind> {
        if self.calls == 0 {
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

/// Maximum size of the first call.
pub(super) fn draft_token_limits(
    budget: &ReviewBudget,
    facts: &ModelFacts,
    output: u32,
) -> DraftTokenLimits {
    let within = |percent: u64| {
        let share = RemainingBudget {
            calls: budget.llm_calls,
            input_tokens: budget.input_tokens / 100 * percent,
            money: budget.money.percent(percent),
        };
        let context = facts.context.saturating_sub(output.into()) / 100 * percent;
        share.max_input_tokens(facts, output).min(context)
    };
    DraftTokenLimits { for_diffs: within(DIFFS_PERCENT), for_context: within(CONTEXT_PERCENT) }
}

/// Maximum output tokens per call.
pub(super) fn output_tokens(budget: &ReviewBudget, facts: &ModelFacts) -> u32 {
    let most = budget.money.percent(OUTPUT_PERCENT);
    let mut output = OUTPUT_TOKENS;
    let price = facts.price.as_ref();
    while output / 2 >= OUTPUT_TOKENS_MIN
        && price.is_some_and(|price| price.worst_case(0, output.into()) > most)
    {
        output /= 2;
    }
    u32::try_from(facts.max_output).unwrap_or(u32::MAX).min(output)
}

#[cfg(test)]
mod tests;
