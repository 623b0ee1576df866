//! What is known about a model before it is asked: how much it reads and writes, what that costs, what it can do.

use serde::{Deserialize, Serialize};

use crate::{Money, Usage};

/// What is known about a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The most tokens of a call, read and written together.
    pub context: u64,
    /// The most tokens that it can write in one answer.
    pub max_output: u64,
    /// What tokens cost; none if nobody told us.
    pub price: Option<Price>,
    /// What the model can do.
    pub abilities: Abilities,
}

/// What a model can do; an agent run goes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// It calls tools.
    pub tools: bool,
    /// Its vendor holds an answer to a JSON Schema.
    pub schema: bool,
}

/// The price of a model's tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The usual rates.
    pub rates: Rates,
    /// The rates of calls that read more than so many tokens, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<(u64, Rates)>,
}

/// What one token costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// A token that is read.
    pub input: Money,
    /// A token that is read from the vendor's cache.
    pub cache_read: Money,
    /// A token that is read and written to the vendor's cache.
    pub cache_write: Money,
    /// A token that is written.
    pub output: Money,
}

impl Price {
    /// A model that costs nothing: one on this machine.
    pub fn free() -> Self {
        Self { rates: Rates::default(), long: None }
    }

    /// What a call cost.
    pub fn of(&self, usage: &Usage) -> Money {
        let rates = self.rates_for(usage.input);
        // A vendor who counts more cached tokens than tokens is not believed.
        let read = usage.cache_read.min(usage.input);
        let written = usage.cache_written.min(usage.input - read);
        let plain = usage.input - read - written;
        rates.input.times(plain)
            + rates.cache_read.times(read)
            + rates.cache_write.times(written)
            + rates.output.times(usage.output)
    }

    /// The most that a call can cost: everything it reads is written to the cache, and it writes all it may.
    pub fn worst(&self, input: u64, output: u64) -> Money {
        let rates = self.rates_for(input);
        let dearest = rates.input.max(rates.cache_write).max(rates.cache_read);
        dearest.times(input) + rates.output.times(output)
    }

    fn rates_for(&self, input: u64) -> &Rates {
        match &self.long {
            Some((above, rates)) if input > *above => rates,
            Some(_) | None => &self.rates,
        }
    }
}
