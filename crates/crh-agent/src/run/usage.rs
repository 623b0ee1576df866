//! Usage of a run, compared with its limits.

use std::time::Duration;

use crate::{LimitKind, RunLimits};
use crh_llm::Money;

#[derive(Debug, Default)]
pub(super) struct RunUsage {
    pub(super) turns: u32,
    pub(super) tool_calls: u32,
    /// Tool calls that brought a result.
    pub(super) answered_calls: u32,
    /// Whether a call was refused because of `RunLimits::tool_calls`.
    pub(super) tool_call_refused: bool,
    pub(super) tokens: u64,
    pub(super) money: Money,
    /// Start of the current turn, relative to the start of the run.
    turn_start: Duration,
    /// Duration of the longest turn so far, as a forecast for later turns.
    longest_turn: Duration,
}

/// Likely usage of the turns that are still needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct UsageForecast {
    pub(super) turns: u32,
    /// Number of turns for which time must remain, each as long as the longest turn so far. If it
    /// is zero, any remaining time is enough.
    pub(super) turns_to_fit: u32,
    pub(super) tokens: u64,
    pub(super) money: Money,
}

impl RunUsage {
    pub(super) fn begin_turn(&mut self, elapsed: Duration) {
        if self.turns > 0 {
            self.longest_turn = self.longest_turn.max(elapsed.saturating_sub(self.turn_start));
        }
        self.turn_start = elapsed;
    }

    /// The first limit that the forecast turns could exceed.
    pub(super) fn exceeded_by(
        &self,
        forecast: &UsageForecast,
        limits: &RunLimits,
    ) -> Option<LimitKind> {
        let wall =
            self.turn_start.saturating_add(self.longest_turn.saturating_mul(forecast.turns_to_fit));
        let checks = [
            (LimitKind::Turns, self.turns.saturating_add(forecast.turns) > limits.turns),
            (LimitKind::Tokens, self.tokens.saturating_add(forecast.tokens) > limits.tokens),
            (LimitKind::Money, self.money + forecast.money > limits.money),
            (LimitKind::Wall, wall > limits.wall || self.turn_start >= limits.wall),
        ];
        checks.into_iter().find_map(|(limit, is_exceeded)| is_exceeded.then_some(limit))
    }

    /// Whether the tool-call limit is reached, so that the next turn must be the last. A limit of
    /// zero counts as reached only after a call was refused. Otherwise the first turn of a run with
    /// that limit would already be its last.
    pub(super) fn no_calls_left(&self, limits: &RunLimits) -> bool {
        self.tool_calls >= limits.tool_calls && (self.tool_calls > 0 || self.tool_call_refused)
    }
}
