//! How large the calls of `single` may be: of what is left, how much may be read and how much written.
//!
//! The ledger decides about every call. Here is decided what is put into one, so that it will not be refused.

use super::material::Room;
use crate::terms::Allowance;
use crh_agent::{Limit, Totals};
use crh_llm::{ModelFacts, Money};

/// What the model may write in one call: a dozen findings with their quotes, and some thought before them.
const OUTPUT_TOKENS: u32 = 16_000;
/// What it needs at the least: fifteen findings.
const OUTPUT_TOKENS_MIN: u32 = 4_000;
/// What writing may cost at the most, in percent of all money.
const OUTPUT_PERCENT: u64 = 20;
/// The share of the allowance and of the model's context that the first call may take with its diffs. The ledger holds
/// a fifth back, and a model without tools needs more words for the same.
const DIFFS_PERCENT: u64 = 75;
/// The share that the first call is filled up to with code around the changes: the second begins with the same text,
/// and a repair has to find room as well.
const CONTEXT_PERCENT: u64 = 50;

/// What a call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Purse {
    /// Calls of models.
    pub(super) calls: u32,
    /// Tokens that are read.
    input: u64,
    /// Money.
    money: Money,
}

impl Purse {
    /// What is left of an allowance.
    pub(super) fn left(allowance: &Allowance, spent: &Totals) -> Self {
        Self {
            calls: allowance.llm_calls.saturating_sub(spent.llm_calls),
            input: allowance.input_tokens.saturating_sub(spent.usage.input),
            money: allowance.money.less(spent.money),
        }
    }

    /// The most tokens that a question to this model may have.
    pub(super) fn room(&self, facts: &ModelFacts, output: u32) -> u64 {
        let context = facts.context.saturating_sub(output.into());
        let most = self.input.min(context);
        // The largest number that can be paid for, found by halving: a price may rise with the length.
        let (mut paid, mut unpaid) = (0, most.saturating_add(1));
        while paid + 1 < unpaid {
            let middle = paid + (unpaid - paid) / 2;
            if self.pays(facts, middle, output) { paid = middle } else { unpaid = middle }
        }
        paid
    }

    /// The limit that a question of so many tokens would pass.
    pub(super) fn in_the_way(&self, facts: &ModelFacts, input: u64, output: u32) -> Option<Limit> {
        if self.calls == 0 {
            Some(Limit::Turns)
        } else if input > self.input.min(facts.context.saturating_sub(output.into())) {
            Some(Limit::Tokens)
        } else if !self.pays(facts, input, output) {
            Some(Limit::Money)
        } else {
            None
        }
    }

    fn pays(&self, facts: &ModelFacts, input: u64, output: u32) -> bool {
        // Whoever has no price is turned away elsewhere.
        facts.price.as_ref().is_none_or(|price| price.worst(input, output.into()) <= self.money)
    }
}

/// How large the first call may become.
pub(super) fn draft_room(allowance: &Allowance, facts: &ModelFacts, output: u32) -> Room {
    let within = |percent: u64| {
        let share = Purse {
            calls: allowance.llm_calls,
            input: allowance.input_tokens / 100 * percent,
            money: allowance.money.percent(percent),
        };
        let context = facts.context.saturating_sub(output.into()) / 100 * percent;
        share.room(facts, output).min(context)
    };
    Room { for_diffs: within(DIFFS_PERCENT), for_context: within(CONTEXT_PERCENT) }
}

/// How many tokens a model may write in one call.
pub(super) fn output_tokens(allowance: &Allowance, facts: &ModelFacts) -> u32 {
    let most = allowance.money.percent(OUTPUT_PERCENT);
    let mut output = OUTPUT_TOKENS;
    let price = facts.price.as_ref();
    while output / 2 >= OUTPUT_TOKENS_MIN
        && price.is_some_and(|price| price.worst(0, output.into()) > most)
    {
        output /= 2;
    }
    u32::try_from(facts.max_output).unwrap_or(u32::MAX).min(output)
}

#[cfg(test)]
#[path = "budget/tests.rs"]
mod tests;
