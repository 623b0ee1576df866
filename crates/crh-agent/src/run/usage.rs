//! What a run has used up so far, held against its limits.

use std::time::Duration;

use crate::{Limit, Limits};
use crh_llm::Money;

/// What a run has used up.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pub(super) turns: u32,
    pub(super) tool_calls: u32,
    /// Whether a call was not made for the limit's sake.
    pub(super) calls_turned_away: bool,
    pub(super) tokens: u64,
    pub(super) money: Money,
    /// When the last turn began, from the start of the run.
    turn_began: Duration,
    /// The longest time from one question to the next: how long a turn may take, as far as we know.
    longest_turn: Duration,
}

/// What a number of turns can use up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forecast {
    pub(super) turns: u32,
    /// How often the longest turn so far has to fit into the time that is left. The last turn may be a short one: it is
    /// begun if there is any time.
    pub(super) longest_turns: u32,
    pub(super) tokens: u64,
    pub(super) money: Money,
}

impl Spent {
    /// A turn begins.
    pub(super) fn begin_turn(&mut self, elapsed: Duration) {
        if self.turns > 0 {
            self.longest_turn = self.longest_turn.max(elapsed.saturating_sub(self.turn_began));
        }
        self.turn_began = elapsed;
    }

    /// The first limit that these turns could pass.
    pub(super) fn passed_by(&self, forecast: &Forecast, limits: &Limits) -> Option<Limit> {
        let wall = self
            .turn_began
            .saturating_add(self.longest_turn.saturating_mul(forecast.longest_turns));
        let passed = [
            (Limit::Turns, self.turns.saturating_add(forecast.turns) > limits.turns),
            (Limit::Tokens, self.tokens.saturating_add(forecast.tokens) > limits.tokens),
            (Limit::Money, self.money + forecast.money > limits.money),
            (Limit::Wall, wall > limits.wall || self.turn_began >= limits.wall),
        ];
        passed.into_iter().find_map(|(limit, passed)| passed.then_some(limit))
    }

    /// Whether the next call of a tool could pass the limit on them. A run that was given none finds out when it calls.
    pub(super) fn no_calls_left(&self, limits: &Limits) -> bool {
        self.tool_calls >= limits.tool_calls && (self.tool_calls > 0 || self.calls_turned_away)
    }
}
