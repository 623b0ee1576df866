use proptest::prelude::*;

use super::*;
use crate::review_options::Profile;
use crh_llm::{Abilities, Price, Rates, TokenUsage};

/// A model with this input price in cents per million tokens. Output costs five times as much.
fn facts(context: u64, cents: u64) -> ModelFacts {
    let input = Money::cents(cents).per_million();
    let rates = Rates { input, cache_read: input, cache_write: input, output: input.times(5) };
    let long = Some((200_000, Rates { input: input.times(2), ..rates }));
    ModelFacts {
        context,
        max_output: 64_000,
        price: Some(Price { rates, long }),
        abilities: Abilities { tools: true, schema: true, effort: false },
    }
}

#[test]
fn first_call_leaves_room_for_the_second() {
    let quick = Profile::Quick.budget();
    let limits = |context, cents| {
        let DraftTokenLimits { for_diffs, for_context } =
            draft_token_limits(&quick, &facts(context, cents), 16_000);
        (for_diffs, for_context)
    };
    assert_eq!(limits(1_000_000, 40), (90_000, 60_000), "of the tokens");
    assert_eq!(limits(100_000, 40), (63_000, 42_000), "of what fits into the context");
    // Half a dollar, minus the share for output.
    assert_eq!(limits(1_000_000, 300), (45_000, 3_333));
    assert_eq!(limits(1_000_000, 400), (13_750, 0));
}

#[test]
fn expensive_model_has_lower_output_limit() {
    let output = |cents| output_tokens(&Profile::Quick.budget(), &facts(1_000_000, cents));
    assert_eq!((output(40), output(200), output(400)), (16_000, 8_000, 4_000));
    assert_eq!(output(10_000), 4_000, "and never less than findings need");
    let small = ModelFacts { max_output: 1_000, ..facts(1_000_000, 40) };
    assert_eq!(output_tokens(&Profile::Quick.budget(), &small), 1_000);
}

#[test]
fn blocking_limit_of_second_call_is_named() {
    let quick = Profile::Quick.budget();
    let left = |llm_calls, input, cents| {
        let usage = TokenUsage { input, ..TokenUsage::default() };
        RemainingBudget::new(
            &quick,
            &UsageTotals { llm_calls, usage, money: Money::cents(cents), ..UsageTotals::default() },
        )
    };
    let facts = facts(100_000, 300);
    let limit = |remaining: RemainingBudget, input| remaining.blocking_limit(&facts, input, 8_000);
    assert_eq!(limit(left(1, 30_000, 5), 50_000), None);
    assert_eq!(limit(left(2, 30_000, 5), 50_000), Some(LimitKind::Turns));
    assert_eq!(limit(left(1, 80_000, 5), 50_000), Some(LimitKind::Tokens));
    assert_eq!(limit(left(1, 0, 5), 95_000), Some(LimitKind::Tokens), "the context is full");
    assert_eq!(limit(left(1, 30_000, 30), 50_000), Some(LimitKind::Money));
}

proptest! {
    #[test]
    fn input_limit_is_the_largest_allowed_call(
        context in 1_000_u64..2_000_000, cents in 0_u64..3_000, spent in 0_u64..60, input in 0_u64..130_000,
    ) {
        let quick = Profile::Quick.budget();
        let usage = TokenUsage { input, ..TokenUsage::default() };
        let spent = UsageTotals { usage, money: Money::cents(spent), ..UsageTotals::default() };
        let (remaining, facts) = (RemainingBudget::new(&quick, &spent), facts(context, cents));
        let max_tokens = remaining.max_input_tokens(&facts, 4_000);
        prop_assert!(max_tokens == 0 || remaining.blocking_limit(&facts, max_tokens, 4_000).is_none());
        prop_assert!(remaining.blocking_limit(&facts, max_tokens + 1, 4_000).is_some());
    }
}
