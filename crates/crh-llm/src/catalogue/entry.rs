//! One entry of the model table, as users write it.

use serde::Deserialize;

use crate::catalogue::CatalogueError;
use crate::{Abilities, ModelFacts, Money, Price, Rates, Wire};

/// Assumed context window of unknown models. Hosted models have had at least this since 2024.
const DEFAULT_CONTEXT: u64 = 128_000;

/// Assumed output limit of unknown models.
const DEFAULT_MAX_OUTPUT: u64 = 8_192;

/// Highest accepted price of a million tokens. Vendors charge at most a few hundred dollars, so a
/// larger number has the wrong unit.
const DOLLARS_MAX: f64 = 10_000.0;

/// Configured facts of a model. All fields are optional.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with facts, such as `{ context = 32_000 }`")]
pub struct ModelEntry {
    /// Alias ids of the model.
    #[serde(default, rename = "also")]
    pub aliases: Vec<String>,
    /// Name of a known model whose facts apply, for deployments with a name of their own.
    pub same_as: Option<String>,
    /// Context window: maximum input plus output tokens.
    pub context: Option<u64>,
    /// Maximum output tokens of one reply.
    pub max_output: Option<u64>,
    /// Supports native tool calls.
    pub tools: Option<bool>,
    /// Supports structured output with a JSON Schema.
    pub schema: Option<bool>,
    /// Accepts a reasoning effort.
    pub effort: Option<bool>,
    /// API of this model, if it differs from the provider's.
    pub wire: Option<Wire>,
    /// Token prices.
    pub price: Option<PriceEntry>,
}

/// Prices in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table with prices, such as `{ input = 0.5, output = 2.0 }`"
)]
pub struct PriceEntry {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the cache; default: `input`.
    pub cache_read: Option<f64>,
    /// Input tokens written to the cache; default: `input`.
    pub cache_write: Option<f64>,
    /// Prices of requests with many input tokens.
    pub long: Option<LongPrice>,
}

/// Prices of long requests, in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table with prices, such as `{ above = 200_000, input = 1.0, output = 4.0 }`"
)]
pub struct LongPrice {
    /// Applies to requests with more input tokens than this.
    pub above: u64,
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the cache; default: `input`.
    pub cache_read: Option<f64>,
    /// Input tokens written to the cache; default: `input`.
    pub cache_write: Option<f64>,
}

impl ModelEntry {
    /// Fills missing facts from another entry. `aliases` and `same_as` stay.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            aliases: self.aliases,
            same_as: self.same_as,
            context: self.context.or(other.context),
            max_output: self.max_output.or(other.max_output),
            tools: self.tools.or(other.tools),
            schema: self.schema.or(other.schema),
            effort: self.effort.or(other.effort),
            wire: self.wire.or(other.wire),
            price: self.price.or(other.price),
        }
    }

    /// Facts, with defaults for missing fields. crh assumes that a model supports tools and
    /// schemas: if the server rejects them, the run goes on without them. crh assumes no effort,
    /// because its rejection would end the run.
    pub(super) fn facts(&self) -> ModelFacts {
        let context = self.context.unwrap_or(DEFAULT_CONTEXT);
        ModelFacts {
            context,
            max_output: self.max_output.unwrap_or(DEFAULT_MAX_OUTPUT).min(context),
            price: self.price.as_ref().and_then(PriceEntry::price),
            abilities: Abilities {
                tools: self.tools.unwrap_or(true),
                schema: self.schema.unwrap_or(true),
                effort: self.effort.unwrap_or(false),
            },
        }
    }

    /// Validates the numbers for a model with this context window.
    pub(super) fn check(&self, name: &str, context: u64) -> Result<(), CatalogueError> {
        let entry_error =
            |problem: String| Err(CatalogueError::Entry { name: name.to_owned(), problem });
        if self.context == Some(0) || self.max_output == Some(0) {
            return entry_error("`context` and `max_output` must be at least 1".to_owned());
        }
        if let Some(max_output) = self.max_output.filter(|max_output| *max_output > context) {
            return entry_error(format!(
                "`max_output` ({max_output}) exceeds `context` ({context})"
            ));
        }
        let Some(price) = &self.price else { return Ok(()) };
        if let Some((field, dollars)) = price.fields().find(|(_, dollars)| !is_plausible(*dollars))
        {
            return entry_error(format!(
                "the price `{field} = {dollars}` must be between 0 and {DOLLARS_MAX} dollars per million tokens"
            ));
        }
        Ok(())
    }
}

impl PriceEntry {
    /// Converts the prices; `None` if a number is invalid, which `check` reports.
    fn price(&self) -> Option<Price> {
        let standard_rates = rates(self.input, self.output, self.cache_read, self.cache_write)?;
        let long = match &self.long {
            Some(long) => Some((
                long.above,
                rates(long.input, long.output, long.cache_read, long.cache_write)?,
            )),
            None => None,
        };
        Some(Price { rates: standard_rates, long })
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let long = self.long.iter().flat_map(|long| {
            [
                ("long.input", Some(long.input)),
                ("long.output", Some(long.output)),
                ("long.cache_read", long.cache_read),
                ("long.cache_write", long.cache_write),
            ]
        });
        [
            ("input", Some(self.input)),
            ("output", Some(self.output)),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ]
        .into_iter()
        .chain(long)
        .filter_map(|(field, dollars)| dollars.map(|dollars| (field, dollars)))
    }
}

fn is_plausible(dollars: f64) -> bool {
    (0.0..=DOLLARS_MAX).contains(&dollars)
}

fn rates(
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
) -> Option<Rates> {
    let per_token = |dollars: f64| Money::dollars(dollars).map(Money::per_million);
    Some(Rates {
        input: per_token(input)?,
        cache_read: per_token(cache_read.unwrap_or(input))?,
        cache_write: per_token(cache_write.unwrap_or(input))?,
        output: per_token(output)?,
    })
}
