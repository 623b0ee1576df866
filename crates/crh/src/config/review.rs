//! Settings of a review: words of closed sets, limits that a profile gives unless they are set alone, a language.

use std::num::NonZeroU64;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{Place, Value, Wrong, mistyped, quoted, text};
use crh_llm::Money;
use crh_pipeline::terms::Profile;
use crh_review::finding::Severity;
use crh_review::report::Strategy;

/// The longest name of a language; longer is a sentence, and a sentence here would be an instruction.
const LANGUAGE_MAX: usize = 40;

/// A closed set of words, the same on the command line and in a file.
pub(crate) trait Word: ValueEnum + JsonSchema {
    /// The words, as they follow "takes".
    const WORDS: &'static str;
}

impl<T: Word> Value for T {
    type Written = T;
    const WANTED: &'static str = T::WORDS;

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        Self::from_str(text::<Self>(value)?, false).map_err(|_| mistyped::<Self>(value))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.to_possible_value().map(|word| word.get_name().to_owned()))
    }
}

/// How a change is divided among reviewers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum StrategyChoice {
    /// Reviewers with a lens, chosen for the change, look at it side by side
    Panel,
    /// One reviewer on the whole diff, in one call and one bounded second look
    Single,
    /// An orchestrator divides the change among sub-agents that look at it side by side
    Delegate,
    /// Only the reviewers that need no model
    Static,
}

impl Word for StrategyChoice {
    const WORDS: &'static str = "`panel`, `single`, `delegate` or `static`";
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

/// How far a review may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum BudgetChoice {
    /// 2 calls, 60 seconds, 0.50 USD
    Quick,
    /// 200 calls, 15 minutes, 2 USD
    Standard,
    /// 800 calls, an hour, 10 USD
    Deep,
}

impl Word for BudgetChoice {
    const WORDS: &'static str = "`quick`, `standard` or `deep`";
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

/// From which severity on an issue makes the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
pub(crate) enum FailOn {
    /// Production or security break
    #[value(name = "P0", alias = "p0")]
    P0,
    /// Wrong behaviour on a realistic input
    #[value(name = "P1", alias = "p1")]
    P1,
    /// Real but narrow
    #[value(name = "P2", alias = "p2")]
    P2,
    /// Any issue
    #[value(name = "P3", alias = "p3")]
    P3,
    /// No issue does
    #[value(name = "never")]
    #[schemars(rename = "never")]
    Never,
}

impl Word for FailOn {
    const WORDS: &'static str = "`P0`, `P1`, `P2`, `P3` or `never`";
}

impl FailOn {
    /// The mildest severity that fails; none if nothing does.
    pub(crate) fn mildest(self) -> Option<Severity> {
        match self {
            Self::P0 => Some(Severity::P0),
            Self::P1 => Some(Severity::P1),
            Self::P2 => Some(Severity::P2),
            Self::P3 => Some(Severity::P3),
            Self::Never => None,
        }
    }
}

/// The mildest severity that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
pub(crate) enum MinSeverity {
    /// Production or security break
    #[value(name = "P0", alias = "p0")]
    P0,
    /// Wrong behaviour on a realistic input
    #[value(name = "P1", alias = "p1")]
    P1,
    /// Real but narrow
    #[value(name = "P2", alias = "p2")]
    P2,
    /// All of them
    #[value(name = "P3", alias = "p3")]
    P3,
}

impl Word for MinSeverity {
    const WORDS: &'static str = "`P0`, `P1`, `P2` or `P3`";
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

/// A number of the profile, set alone; none if the profile's own counts.
impl Value for Option<NonZeroU64> {
    type Written = NonZeroU64;
    const WANTED: &'static str = NonZeroU64::WANTED;

    fn from_toml(value: &Spanned<DeValue<'_>>, place: Place<'_>) -> Result<Self, Wrong> {
        NonZeroU64::from_toml(value, place).map(Some)
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

/// The money of the profile, set alone; none if the profile's own counts.
impl Value for Option<Money> {
    type Written = f64;
    const WANTED: &'static str = "an amount in US dollars, such as `1.50`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let written = match value.get_ref() {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(mistyped::<Self>(value)),
        };
        let amount = written.replace('_', "").parse().ok().and_then(Money::dollars);
        amount.map(Some).ok_or_else(|| mistyped::<Self>(value))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.map(Money::as_dollars))
    }
}

/// The language that reviewers write in. It stands in a prompt, so that it is a name and no sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Language(String);

impl Language {
    /// Checks a name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let plain = |char: char| char.is_alphabetic() || matches!(char, ' ' | '-' | '(' | ')');
        let name = name.trim();
        if !name.is_empty() && name.chars().count() <= LANGUAGE_MAX && name.chars().all(plain) {
            Ok(Self(name.to_owned()))
        } else {
            Err("give the name of a language, such as `German` or `pt-BR`".to_owned())
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Language {
    type Written = String;
    const WANTED: &'static str = "the name of a language";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let name = text::<Self>(value)?;
        let wrong = |why| format!("cannot take {}: {why}", quoted(name));
        Self::parse(name).map_err(|why| Wrong { at: value.span(), message: wrong(why) })
    }

    fn json(&self) -> serde_json::Value {
        if self.0.is_empty() { serde_json::Value::Null } else { json!(self.0) }
    }
}
