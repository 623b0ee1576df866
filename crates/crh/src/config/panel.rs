//! Settings for reviewers: how many to run, which are off, and their model tiers.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::ChoiceValue;
use super::value::{ConfigValue, PathContext, ValueError, type_mismatch};
use crh_pipeline::reviewers::ModelTier;
use crh_pipeline::team::Depth;

/// Maximum names in a list: more than twice the number of reviewers.
const NAMES_MAX: usize = 100;
/// Maximum length of a name: longer than every reviewer name.
const NAME_MAX: usize = 60;

/// How many reviewers to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum DepthChoice {
    /// One reviewer plus the static checks
    Lite,
    /// A few: one or two general reviewers, and specialised ones for the change's main topics
    Auto,
    /// All general reviewers, plus the specialised ones whose topic the change touches
    Full,
}

impl ChoiceValue for DepthChoice {
    const CHOICES: &'static str = "`lite`, `auto` or `full`";
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

/// Reviewer names or aliases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReviewerNames(pub(crate) Vec<String>);

impl ConfigValue for ReviewerNames {
    type TomlType = Vec<String>;
    const EXPECTED: &'static str = "a list of reviewers, as `crh reviewers` names them";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let list = value.get_ref().as_array().ok_or_else(|| type_mismatch::<Self>(value))?;
        if list.len() > NAMES_MAX {
            return Err(type_mismatch::<Self>(value));
        }
        let names = list.iter().map(|item| {
            let name = item.get_ref().as_str().map(str::trim);
            name.filter(|name| is_reviewer_name(name))
                .map(str::to_owned)
                .ok_or_else(|| type_mismatch::<Self>(item))
        });
        names.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// Model tier by reviewer name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReviewerTiers(pub(crate) BTreeMap<String, ModelTier>);

impl ConfigValue for ReviewerTiers {
    type TomlType = BTreeMap<String, String>;
    const EXPECTED: &'static str = "`strong` or `mid` for each reviewer";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let table = value.get_ref().as_table().ok_or_else(|| type_mismatch::<Self>(value))?;
        let entries = table.iter().map(|(name, tier)| {
            let model_tier = match tier.get_ref().as_str() {
                Some("strong") => ModelTier::Strong,
                Some("mid") => ModelTier::Mid,
                Some(_) | None => return Err(type_mismatch::<Self>(tier)),
            };
            Ok((name.get_ref().to_string(), model_tier))
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

fn is_reviewer_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | ':' | '_'))
}
