//! Facts about a model: limits, prices and abilities.

use serde::{Deserialize, Serialize};

use crate::{Money, TokenUsage};

/// Facts about a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Context window: maximum input plus output tokens.
    pub context: u64,
    /// Maximum output tokens of one reply.
    pub max_output: u64,
    /// Token prices, if known.
    pub price: Option<Price>,
    /// Supported features.
    pub abilities: Abilities,
}

/// Features that decide how an agent run asks the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// Native tool calls.
    pub tools: bool,
    /// Structured output with a JSON Schema.
    pub schema: bool,
    /// A reasoning effort. Recordings omit this field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effort: bool,
}

/// Token prices of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Standard rates.
    pub rates: Rates,
    /// Threshold and rates of long requests: these rates apply if a request has more input tokens
    /// than the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<(u64, Rates)>,
}

/// Price per token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Input token.
    pub input: Money,
    /// Input token read from the cache.
    pub cache_read: Money,
    /// Input token written to the cache.
    pub cache_write: Money,
    /// Output token.
    pub output: Money,
}

impl Price {
    /// The price of a local model.
    pub fn free() -> Self {
        Self { rates: Rates::default(), long: None }
    }

    /// Price of a request.
    pub fn cost(&self, usage: &TokenUsage) -> Money {
        let rates = self.rates_for(usage.input);
        // A vendor may report more cached tokens than input tokens. Ignore the excess.
        let read_tokens = usage.cache_read.min(usage.input);
        let written_tokens = usage.cache_written.min(usage.input - read_tokens);
        let uncached_tokens = usage.input - read_tokens - written_tokens;
        rates.input.times(uncached_tokens)
            + rates.cache_read.times(read_tokens)
            + rates.cache_write.times(written_tokens)
            + rates.output.times(usage.output)
    }

    /// Maximum price of a request: all input at the highest of the input rates, and all output
    /// tokens.
    pub fn worst_case(&self, input: u64, output: u64) -> Money {
        let rates = self.rates_for(input);
        let highest_rate = rates.input.max(rates.cache_write).max(rates.cache_read);
        highest_rate.times(input) + rates.output.times(output)
    }

    /// Output tokens that an amount pays for, at the rates of a request with this many input
    /// tokens. The amount does not pay for the input.
    pub fn affordable_output(&self, input: u64, money: Money) -> u64 {
        money.buys(self.rates_for(input).output)
    }

    fn rates_for(&self, input: u64) -> &Rates {
        match &self.long {
            Some((threshold, rates)) if input > *threshold => rates,
            Some(_) | None => &self.rates,
        }
    }
}
