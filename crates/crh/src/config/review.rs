//! Settings for reviews: choices, budget limits, language.

use std::num::NonZeroU64;
use std::str::FromStr;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{ConfigValue, PathContext, ValueError, quoted, text, type_mismatch};
use crh_llm::Money;
use crh_pipeline::review_options::{DEFAULT_PUBLISH_RULES, Profile};
use crh_review::finding::{Confidence, Severity};
use crh_review::report::Strategy;

/// Maximum characters of a language name: longer than real names. The value becomes part of a
/// prompt, where a whole sentence could act as an instruction.
const LANGUAGE_MAX: usize = 40;

/// A value from a fixed list of words, spelled the same on the command line and in files.
pub(crate) trait ChoiceValue: ValueEnum + JsonSchema {
    /// The words; completes "must be".
    const CHOICES: &'static str;

    /// Strictness of the value, for keys that a repository can only make stricter.
    fn strictness(&self) -> u8 {
        0
    }
}

impl<T: ChoiceValue> ConfigValue for T {
    type TomlType = T;
    const EXPECTED: &'static str = T::CHOICES;

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        Self::from_str(text::<Self>(value)?, false).map_err(|_| type_mismatch::<Self>(value))
    }

    fn is_not_milder_than(&self, other: &Self) -> bool {
        self.strictness() >= other.strictness()
    }

    fn json(&self) -> serde_json::Value {
        json!(self.to_possible_value().map(|word| word.get_name().to_owned()))
    }
}

/// Who reviews a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum StrategyChoice {
    /// Several specialised reviewers, chosen for the change, work in parallel
    Panel,
    /// One reviewer for the whole change, then a model call that decides which issues to show
    Single,
    /// An orchestrator divides the files among sub-agents that work in parallel
    Delegate,
    /// Static checks only, no model
    Static,
}

impl ChoiceValue for StrategyChoice {
    const CHOICES: &'static str = "`panel`, `single`, `delegate` or `static`";
}

impl StrategyChoice {
    pub(crate) fn strategy(self) -> Strategy {
        match self {
            Self::Panel => Strategy::Panel,
            Self::Single => Strategy::Single,
            Self::Delegate => Strategy::Delegate,
            Self::Static => Strategy::Static,
        }
    }
}

/// A profile of limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum BudgetChoice {
    /// 2 model calls, 60 seconds, 0.50 USD
    Quick,
    /// 200 model calls, 15 minutes, 2 USD
    Standard,
    /// 800 model calls, 1 hour, 10 USD
    Deep,
}

impl ChoiceValue for BudgetChoice {
    const CHOICES: &'static str = "`quick`, `standard` or `deep`";
}

impl BudgetChoice {
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::Quick => Profile::Quick,
            Self::Standard => Profile::Standard,
            Self::Deep => Profile::Deep,
        }
    }
}

/// A probability from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probability(Confidence);

impl Default for Probability {
    fn default() -> Self {
        Self(DEFAULT_PUBLISH_RULES.threshold)
    }
}

impl Probability {
    pub(crate) fn value(self) -> Confidence {
        self.0
    }
}

impl FromStr for Probability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().and_then(Confidence::new);
        number.map(Self).ok_or_else(|| format!("must be {}", Self::EXPECTED))
    }
}

impl ConfigValue for Probability {
    type TomlType = f64;
    const EXPECTED: &'static str = "a number from 0 to 1";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(type_mismatch::<Self>(value)),
        };
        text.parse().map_err(|_| type_mismatch::<Self>(value))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.value())
    }
}

/// Minimum severity for exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
pub(crate) enum FailOn {
    /// Breaks production or security
    #[value(name = "P0", alias = "p0")]
    P0,
    /// Wrong behaviour on realistic input
    #[value(name = "P1", alias = "p1")]
    P1,
    /// Real, but affects few cases
    #[value(name = "P2", alias = "p2")]
    P2,
    /// Minor, so all issues count
    #[value(name = "P3", alias = "p3")]
    P3,
    /// Never exit with code 1
    #[value(name = "never")]
    #[schemars(rename = "never")]
    Never,
}

impl ChoiceValue for FailOn {
    const CHOICES: &'static str = "`P0`, `P1`, `P2`, `P3` or `never`";

    fn strictness(&self) -> u8 {
        match self {
            Self::Never => 0,
            Self::P0 => 1,
            Self::P1 => 2,
            Self::P2 => 3,
            Self::P3 => 4,
        }
    }
}

impl FailOn {
    /// The minimum severity, or none for `never`.
    pub(crate) fn threshold(self) -> Option<Severity> {
        match self {
            Self::P0 => Some(Severity::P0),
            Self::P1 => Some(Severity::P1),
            Self::P2 => Some(Severity::P2),
            Self::P3 => Some(Severity::P3),
            Self::Never => None,
        }
    }
}

/// Minimum severity that a report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
pub(crate) enum MinSeverity {
    /// Breaks production or security
    #[value(name = "P0", alias = "p0")]
    P0,
    /// Wrong behaviour on realistic input
    #[value(name = "P1", alias = "p1")]
    P1,
    /// Real, but affects few cases
    #[value(name = "P2", alias = "p2")]
    P2,
    /// Minor, so all issues are shown
    #[value(name = "P3", alias = "p3")]
    P3,
}

impl ChoiceValue for MinSeverity {
    const CHOICES: &'static str = "`P0`, `P1`, `P2` or `P3`";
}

impl MinSeverity {
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::P0 => Severity::P0,
            Self::P1 => Severity::P1,
            Self::P2 => Severity::P2,
            Self::P3 => Severity::P3,
        }
    }
}

/// A limit; none means the limit of the profile.
impl ConfigValue for Option<NonZeroU64> {
    type TomlType = NonZeroU64;
    const EXPECTED: &'static str = NonZeroU64::EXPECTED;

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        NonZeroU64::from_toml(value, paths).map(Some)
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

/// A cost limit; none means the limit of the profile.
impl ConfigValue for Option<Money> {
    type TomlType = f64;
    const EXPECTED: &'static str = Money::EXPECTED;

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        Money::from_toml(value, paths).map(Some)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.map(Money::as_dollars))
    }
}

impl ConfigValue for Money {
    type TomlType = f64;
    const EXPECTED: &'static str = "an amount in US dollars, such as `1.50`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let number_text = match value.get_ref() {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(type_mismatch::<Self>(value)),
        };
        let amount = number_text.replace('_', "").parse().ok().and_then(Self::dollars);
        amount.ok_or_else(|| type_mismatch::<Self>(value))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.as_dollars())
    }
}

/// Name of a language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReviewLanguage(String);

impl ReviewLanguage {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let is_allowed = |char: char| char.is_alphabetic() || matches!(char, ' ' | '-' | '(' | ')');
        let name = name.trim();
        if !name.is_empty() && name.chars().count() <= LANGUAGE_MAX && name.chars().all(is_allowed)
        {
            Ok(Self(name.to_owned()))
        } else {
            Err("expected the name of a language, such as `German` or `pt-BR`".to_owned())
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl ConfigValue for ReviewLanguage {
    type TomlType = String;
    const EXPECTED: &'static str = "the name of a language";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let name = text::<Self>(value)?;
        let message = |reason| format!("cannot be {}: {reason}", quoted(name));
        Self::parse(name)
            .map_err(|reason| ValueError { span: value.span(), message: message(reason) })
    }

    fn json(&self) -> serde_json::Value {
        if self.0.is_empty() { serde_json::Value::Null } else { json!(self.0) }
    }
}
