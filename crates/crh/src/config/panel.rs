//! Settings of a panel: how many reviewers a change is worth, which are switched off, and how strong their models are.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::Word;
use super::value::{Place, Value, Wrong, mistyped};
use crh_pipeline::reviewers::Tier;
use crh_pipeline::team::Depth;

/// Twice as many as there are; a list with more has something else in it.
const NAMES_MAX: usize = 100;
/// The longest name of a reviewer.
const NAME_MAX: usize = 60;

/// How many reviewers a change is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum DepthChoice {
    /// One reviewer, and the checks that need no model
    Lite,
    /// As many as have something to look at
    Auto,
    /// The whole panel, and whoever the change asks for besides
    Full,
}

impl Word for DepthChoice {
    const WORDS: &'static str = "`lite`, `auto` or `full`";
}

impl DepthChoice {
    pub(crate) fn depth(self) -> Depth {
        match self {
            Self::Lite => Depth::Lite,
            Self::Auto => Depth::Auto,
            Self::Full => Depth::Full,
        }
    }
}

/// Reviewers, by name or alias.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReviewerNames(pub(crate) Vec<String>);

impl Value for ReviewerNames {
    type Written = Vec<String>;
    const WANTED: &'static str = "a list of reviewers, as `crh reviewers` names them";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let list = value.get_ref().as_array().ok_or_else(|| mistyped::<Self>(value))?;
        if list.len() > NAMES_MAX {
            return Err(mistyped::<Self>(value));
        }
        let names = list.iter().map(|item| {
            let name = item.get_ref().as_str().map(str::trim);
            name.filter(|name| is_name(name))
                .map(str::to_owned)
                .ok_or_else(|| mistyped::<Self>(item))
        });
        names.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// How strong the model of a reviewer is, by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tiers(pub(crate) BTreeMap<String, Tier>);

impl Value for Tiers {
    type Written = BTreeMap<String, String>;
    const WANTED: &'static str = "`strong` or `mid` for each reviewer";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let table = value.get_ref().as_table().ok_or_else(|| mistyped::<Self>(value))?;
        let rows = table.iter().map(|(name, tier)| {
            let known = match tier.get_ref().as_str() {
                Some("strong") => Tier::Strong,
                Some("mid") => Tier::Mid,
                Some(_) | None => return Err(mistyped::<Self>(tier)),
            };
            Ok((name.get_ref().to_string(), known))
        });
        rows.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | ':' | '_'))
}
