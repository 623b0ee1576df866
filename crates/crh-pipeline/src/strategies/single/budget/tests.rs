use proptest::prelude::*;

use super::*;
use crate::terms::Profile;
use crh_llm::{Abilities, Price, Rates, Usage};

/// A model that costs so many cents for a million tokens read, and five times that for those written.
fn facts(context: u64, cents: u64) -> ModelFacts {
    let input = Money::cents(cents).per_million();
    let rates = Rates { input, cache_read: input, cache_write: input, output: input.times(5) };
    let long = Some((200_000, Rates { input: input.times(2), ..rates }));
    ModelFacts {
        context,
        max_output: 64_000,
        price: Some(Price { rates, long }),
        abilities: Abilities { tools: true, schema: true },
    }
}

#[test]
fn the_first_call_leaves_room_for_the_second_and_more_of_it_beside_context() {
    let quick = Profile::Quick.allowance();
    let room = |context, cents| {
        let Room { for_diffs, for_context } = draft_room(&quick, &facts(context, cents), 16_000);
        (for_diffs, for_context)
    };
    assert_eq!(room(1_000_000, 40), (90_000, 60_000), "of the tokens");
    assert_eq!(room(100_000, 40), (63_000, 42_000), "of what fits into the context");
    // Of half a dollar, less what may be written.
    assert_eq!(room(1_000_000, 300), (45_000, 3_333));
    assert_eq!(room(1_000_000, 400), (13_750, 0));
}

#[test]
fn an_expensive_model_writes_less() {
    let output = |cents| output_tokens(&Profile::Quick.allowance(), &facts(1_000_000, cents));
    assert_eq!((output(40), output(200), output(400)), (16_000, 8_000, 4_000));
    assert_eq!(output(10_000), 4_000, "and never less than findings need");
    let small = ModelFacts { max_output: 1_000, ..facts(1_000_000, 40) };
    assert_eq!(output_tokens(&Profile::Quick.allowance(), &small), 1_000);
}

#[test]
fn what_is_in_the_way_of_the_second_call_is_named() {
    let quick = Profile::Quick.allowance();
    let left = |llm_calls, input, cents| {
        let usage = Usage { input, ..Usage::default() };
        Purse::left(
            &quick,
            &Totals { llm_calls, usage, money: Money::cents(cents), ..Totals::default() },
        )
    };
    let facts = facts(100_000, 300);
    let limit = |purse: Purse, input| purse.in_the_way(&facts, input, 8_000);
    assert_eq!(limit(left(1, 30_000, 5), 50_000), None);
    assert_eq!(limit(left(2, 30_000, 5), 50_000), Some(Limit::Turns));
    assert_eq!(limit(left(1, 80_000, 5), 50_000), Some(Limit::Tokens));
    assert_eq!(limit(left(1, 0, 5), 95_000), Some(Limit::Tokens), "the context is full");
    assert_eq!(limit(left(1, 30_000, 30), 50_000), Some(Limit::Money));
}

proptest! {
    #[test]
    fn the_room_is_the_largest_question_that_nothing_is_in_the_way_of(
        context in 1_000_u64..2_000_000, cents in 0_u64..3_000, spent in 0_u64..60, input in 0_u64..130_000,
    ) {
        let quick = Profile::Quick.allowance();
        let usage = Usage { input, ..Usage::default() };
        let spent = Totals { usage, money: Money::cents(spent), ..Totals::default() };
        let (purse, facts) = (Purse::left(&quick, &spent), facts(context, cents));
        let room = purse.room(&facts, 4_000);
        prop_assert!(room == 0 || purse.in_the_way(&facts, room, 4_000).is_none());
        prop_assert!(purse.in_the_way(&facts, room + 1, 4_000).is_some());
    }
}
