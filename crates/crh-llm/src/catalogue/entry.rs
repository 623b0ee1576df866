//! One entry of the table of models, as it is written by people.

use serde::Deserialize;

use crate::catalogue::CatalogueError;
use crate::{Abilities, ModelFacts, Money, Price, Rates};

/// What is assumed of a model that nobody described: the window that hosted models have had at least since 2024.
const CONTEXT: u64 = 128_000;

/// Likewise for its answers: the least that such models write.
const MAX_OUTPUT: u64 = 8_192;

/// No vendor asks for more than a few hundred dollars for a million tokens; more is a price in another unit.
const DOLLARS_MAX: f64 = 10_000.0;

/// What is written of a model. Everything can be left out.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Other ids of the same model.
    #[serde(default)]
    pub also: Vec<String>,
    /// The most tokens of a call, read and written together.
    pub context: Option<u64>,
    /// The most tokens that it can write in one answer.
    pub max_output: Option<u64>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether its vendor holds an answer to a JSON Schema.
    pub schema: Option<bool>,
    /// What its tokens cost.
    pub price: Option<PriceEntry>,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    /// Tokens that are read.
    pub input: f64,
    /// Tokens that are written.
    pub output: f64,
    /// Tokens that are read from the vendor's cache; as `input` if left out.
    pub cache_read: Option<f64>,
    /// Tokens that are written to the vendor's cache; as `input` if left out.
    pub cache_write: Option<f64>,
    /// What is asked for calls that read much.
    pub long: Option<LongPrice>,
}

/// Dollars for a million tokens in calls that read more than so many.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrice {
    /// Calls that read more tokens than this are meant.
    pub above: u64,
    /// Tokens that are read.
    pub input: f64,
    /// Tokens that are written.
    pub output: f64,
    /// Tokens that are read from the vendor's cache; as `input` if left out.
    pub cache_read: Option<f64>,
    /// Tokens that are written to the vendor's cache; as `input` if left out.
    pub cache_write: Option<f64>,
}

impl ModelEntry {
    /// This entry, and another one for what it leaves out.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            also: self.also,
            context: self.context.or(other.context),
            max_output: self.max_output.or(other.max_output),
            tools: self.tools.or(other.tools),
            schema: self.schema.or(other.schema),
            price: self.price.or(other.price),
        }
    }

    /// The facts, with assumptions for what is not known. A model of which nothing is known is taken to call tools and
    /// to keep to schemas: if it does not, its server says so.
    pub(super) fn facts(&self) -> ModelFacts {
        let context = self.context.unwrap_or(CONTEXT);
        ModelFacts {
            context,
            max_output: self.max_output.unwrap_or(MAX_OUTPUT).min(context),
            price: self.price.as_ref().and_then(PriceEntry::price),
            abilities: Abilities {
                tools: self.tools.unwrap_or(true),
                schema: self.schema.unwrap_or(true),
            },
        }
    }

    /// Whether the numbers make sense for a model with this context.
    pub(super) fn check(&self, name: &str, context: u64) -> Result<(), CatalogueError> {
        let problem =
            |problem: String| Err(CatalogueError::Entry { name: name.to_owned(), problem });
        if self.context == Some(0) || self.max_output == Some(0) {
            return problem("`context` and `max_output` are at least 1".to_owned());
        }
        if let Some(max_output) = self.max_output.filter(|max_output| *max_output > context) {
            return problem(format!("`max_output` ({max_output}) exceeds `context` ({context})"));
        }
        let Some(price) = &self.price else { return Ok(()) };
        if let Some((field, dollars)) = price.fields().find(|(_, dollars)| !plausible(*dollars)) {
            return problem(format!(
                "the price `{field} = {dollars}` is not between 0 and {DOLLARS_MAX} dollars for a million tokens"
            ));
        }
        Ok(())
    }
}

impl PriceEntry {
    /// The price; none if one of its numbers is no amount of money, which `check` has told.
    fn price(&self) -> Option<Price> {
        let usual = rates(self.input, self.output, self.cache_read, self.cache_write)?;
        let long = match &self.long {
            Some(long) => Some((
                long.above,
                rates(long.input, long.output, long.cache_read, long.cache_write)?,
            )),
            None => None,
        };
        Some(Price { rates: usual, long })
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

fn plausible(dollars: f64) -> bool {
    (0.0..=DOLLARS_MAX).contains(&dollars)
}

fn rates(
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
) -> Option<Rates> {
    let a_token = |dollars: f64| Money::dollars(dollars).map(Money::per_million);
    Some(Rates {
        input: a_token(input)?,
        cache_read: a_token(cache_read.unwrap_or(input))?,
        cache_write: a_token(cache_write.unwrap_or(input))?,
        output: a_token(output)?,
    })
}
