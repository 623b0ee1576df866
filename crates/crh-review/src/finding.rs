//! A finding as a reviewer returns it, with severity, category, side and route.
//!
//! The parser, the JSON Schema for models and the published schema are derived from these types.
//! Models read the doc comments.

use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum length of a title in characters. Fits a table cell and a commit subject.
pub const TITLE_MAX: usize = 100;

/// How bad it is. `P0` sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum Severity {
    /// Production or security break, data loss: must be fixed before the merge.
    P0,
    /// Wrong behaviour on a realistic input, or a broken contract: should be fixed.
    P1,
    /// Real but narrow: an edge case, a loss of speed, a trap for the next editor.
    P2,
    /// Low impact; the author's choice.
    P3,
}

/// What kind of trouble it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// An attacker gains something.
    Security,
    /// The code does something else than it should.
    Bug,
    /// A failure is swallowed, misreported or not expected.
    ErrorHandling,
    /// Time or memory grows where it matters.
    Performance,
    /// How it is written, not what it does.
    Style,
    /// The reasoning of the code is wrong.
    Logic,
    /// The order of events can break it.
    Concurrency,
    /// Callers or stored data of another version break.
    ApiContract,
    /// Stored data is lost, mixed up or migrated wrongly.
    Data,
    /// The tests do not prove what they seem to.
    Testing,
    /// The next editor will go wrong here.
    Maintainability,
    /// A rule the project wrote down is broken.
    Standards,
    /// Something that was asked for is missing.
    Requirements,
}

/// Group of related categories. Merging compares families, not categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Wrong behaviour.
    Correctness,
    /// Security.
    Security,
    /// Speed or memory.
    Performance,
    /// Maintainability.
    Upkeep,
    /// Tests.
    Testing,
    /// Contracts with callers or stored data.
    ApiContract,
    /// Missing requirements.
    Requirements,
}

/// Which side of the change a line is on.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The file before the change: for removed lines.
    Old,
    /// The file after the change.
    #[default]
    New,
}

/// Whether a fix may be applied without asking.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AutofixClass {
    /// Local and deterministic: may be applied by the fixer.
    SafeAuto,
    /// A concrete fix that changes behaviour, a contract or a permission.
    GatedAuto,
    /// Needs a decision or a design.
    Manual,
    /// Nothing to do, only to know.
    Advisory,
}

/// Who acts next.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The fixer of this review.
    ReviewFixer,
    /// Whoever works on what the review left over.
    DownstreamResolver,
    /// A person who decides.
    Human,
    /// Whoever rolls the change out.
    Release,
}

/// How sure a reviewer is, 0.0 to 1.0, kept in thousandths so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct Confidence(#[schemars(with = "f64", range(min = 0.0, max = 1.0))] u16);

/// One problem that a reviewer reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What is wrong, in one line of at most 100 characters.
    #[schemars(length(min = 1, max = 100))]
    pub title: String,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of trouble it is.
    pub category: Category,
    /// Path from the repository root, `/`-separated, as it stands in the diff.
    #[schemars(length(min = 1))]
    pub file: String,
    /// First line of the problem on `side`, 1-based. Leave out only if `diff_line` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_start: Option<NonZeroU32>,
    /// Last line of the problem; the same as `line_start` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_end: Option<NonZeroU32>,
    /// `new` unless the problem is a removed line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// A line of `numbered.diff`, instead of `line_start`, `line_end` and `side`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_line: Option<NonZeroU32>,
    /// How sure you are: 0.25 a guess, 0.5 plausible but something is unseen, 0.75 names the input and
    /// the observable effect, 1.0 provable from the quoted code alone.
    pub confidence: Confidence,
    /// Verbatim quotes that prove it. The first quotes the cited line.
    #[schemars(length(min = 1))]
    pub evidence: Vec<Evidence>,
    /// The observable effect first; one to four sentences.
    #[schemars(length(min = 1))]
    pub why_it_matters: String,
    /// What to do about it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
    /// The exact new text for `line_start` to `line_end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// Whether a fix may be applied without asking.
    pub autofix_class: AutofixClass,
    /// Who acts next.
    pub owner: Owner,
    /// Whether a fix is unfinished until a test or a check has been run.
    pub requires_verification: bool,
    /// Whether the problem was there before this change.
    pub pre_existing: bool,
}

/// A quote from the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The file it is from; the finding's file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line at which it starts; the finding's line if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<NonZeroU32>,
    /// The side it is from; the finding's side if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Whole lines or a part of one, verbatim, without an ellipsis; at least 8 visible characters or
    /// two lines.
    pub snippet: String,
}

/// What one reviewer returns for one assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Return {
    /// The reviewer's name.
    pub reviewer: String,
    /// What is wrong with the change. Empty is a good answer.
    pub findings: Vec<Finding>,
    /// Risks that remain though nothing is provably wrong.
    #[serde(default)]
    pub residual_risks: Vec<String>,
    /// Behaviour of the change that no test covers.
    #[serde(default)]
    pub testing_gaps: Vec<String>,
    /// What was looked at and what was found, in a sentence or two.
    #[serde(default)]
    pub summary: String,
}

/// Source of a finding.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A model.
    #[default]
    Model,
    /// A static check, which needs no second opinion.
    Code,
    /// The comparison of the change with its plan. A model judges the requirement, and crh writes
    /// the finding.
    Plan,
}

/// Kind of proof.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Quotes from the reviewer.
    #[default]
    Quotes,
    /// The cited line itself, for dialects without quotes.
    CitedLine,
}

/// A finding with its reviewer: the unit of merging.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Name of the reviewer.
    pub reviewer: String,
    /// Name shared by reviewers whose findings count as one opinion; absent if the reviewer counts
    /// on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// A model, a static check, or the comparison with a plan.
    #[serde(default)]
    pub origin: Origin,
    /// Kind of proof.
    #[serde(default)]
    pub proof: Proof,
    /// Rule of the static check, such as `leftovers/debugger`; absent for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The original finding.
    pub finding: Finding,
}

impl Member {
    /// A model finding with quotes.
    pub fn new(reviewer: impl Into<String>, finding: Finding) -> Self {
        Self {
            reviewer: reviewer.into(),
            voice: None,
            origin: Origin::Model,
            proof: Proof::Quotes,
            rule: None,
            finding,
        }
    }

    /// Name of the opinion: the shared name, or else the reviewer. Members with the same voice do
    /// not count as agreement.
    pub fn voice(&self) -> &str {
        self.voice.as_deref().unwrap_or(&self.reviewer)
    }
}

impl Category {
    /// The family of the category.
    pub fn family(self) -> Family {
        match self {
            Self::Bug | Self::Logic | Self::ErrorHandling | Self::Concurrency | Self::Data => {
                Family::Correctness
            }
            Self::Security => Family::Security,
            Self::Performance => Family::Performance,
            Self::Style | Self::Maintainability | Self::Standards => Family::Upkeep,
            Self::Testing => Family::Testing,
            Self::ApiContract => Family::ApiContract,
            Self::Requirements => Family::Requirements,
        }
    }
}

impl Family {
    /// Part of every dedupe key. Never change a word, or issues are posted again.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Correctness => "correctness",
            Self::Security => "security",
            Self::Performance => "performance",
            Self::Upkeep => "upkeep",
            Self::Testing => "testing",
            Self::ApiContract => "api_contract",
            Self::Requirements => "requirements",
        }
    }
}

impl Confidence {
    /// The lowest confidence.
    pub const ZERO: Self = Self(0);
    /// The highest confidence.
    pub const ONE: Self = Self(1000);

    /// Creates a confidence from thousandths, capped at 1000.
    pub const fn thousandths(value: u16) -> Self {
        Self(if value > 1000 { 1000 } else { value })
    }

    /// Creates a confidence from a number between 0 and 1.
    pub fn new(value: f64) -> Option<Self> {
        // The cast is exact: the value is between 0 and 1000.
        (0.0..=1.0).contains(&value).then(|| Self((value * 1000.0).round() as u16))
    }

    /// The value between 0 and 1.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// The value between 0 and 100.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 10.0
    }

    /// Raised by `by`, at most 1.
    pub fn raised(self, by: Self) -> Self {
        Self::thousandths(self.0 + by.0)
    }

    /// Lowered by `by`, at least 0.
    pub fn lowered(self, by: Self) -> Self {
        Self(self.0.saturating_sub(by.0))
    }
}

impl fmt::Display for Confidence {
    /// Two decimals: `0.75`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.value())
    }
}

impl<'de> Deserialize<'de> for Severity {
    /// Accepts lower case, too: models write `p1`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match name.trim().to_ascii_uppercase().as_str() {
            "P0" => Ok(Self::P0),
            "P1" => Ok(Self::P1),
            "P2" => Ok(Self::P2),
            "P3" => Ok(Self::P3),
            _ => Err(D::Error::unknown_variant(&name, &["P0", "P1", "P2", "P3"])),
        }
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Confidence {
    /// Accepts percentages and numbers in strings, too: models write `80`, `"0.8"` and `"80%"`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConfidenceVisitor)
    }
}

struct ConfidenceVisitor;

impl Visitor<'_> for ConfidenceVisitor {
    type Value = Confidence;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number between 0.0 and 1.0")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Confidence, E> {
        // Only a number above 10 is certainly a percentage: a smaller one may be on a scale of ten.
        let share = if value > 10.0 { value / 100.0 } else { value };
        Confidence::new(share)
            .ok_or_else(|| E::custom(format!("`{value}` is not between 0.0 and 1.0")))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Confidence, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Confidence, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Confidence, E> {
        let wrong_text = E::invalid_value(Unexpected::Str(text), &self);
        let (number, is_percent) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (text.trim(), false),
        };
        match number.parse::<f64>() {
            Ok(percent) if is_percent => Confidence::new(percent / 100.0).ok_or(wrong_text),
            Ok(value) => self.visit_f64(value),
            Err(_) => Err(wrong_text),
        }
    }
}

/// Implements `Display` through serde, so that each word is defined once.
macro_rules! display_as_serialised {
    ($($name:ty),*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.serialize(f)
            }
        }
    )*};
}
pub(crate) use display_as_serialised;

display_as_serialised!(Severity, Category, Side, AutofixClass, Owner, Origin);

/// A sample finding for tests.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;

    pub(crate) fn finding() -> Finding {
        Finding {
            title: "Off by one".to_owned(),
            severity: Severity::P1,
            category: Category::Bug,
            file: "a.rs".to_owned(),
            line_start: NonZeroU32::new(2),
            line_end: None,
            side: None,
            diff_line: None,
            confidence: Confidence::thousandths(750),
            evidence: vec![Evidence {
                file: None,
                line: None,
                side: None,
                snippet: "for i in 0..=n {".to_owned(),
            }],
            why_it_matters: "The last index is out of range.".to_owned(),
            suggested_fix: None,
            replacement: None,
            autofix_class: AutofixClass::Manual,
            owner: Owner::DownstreamResolver,
            requires_verification: false,
            pre_existing: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_sums_are_exact() {
        let sum = Confidence::new(0.7).unwrap().raised(Confidence::new(0.1).unwrap());
        assert_eq!(serde_json::to_string(&sum).unwrap(), "0.8");
    }

    #[test]
    fn confidence_may_be_a_percentage_or_a_string() {
        for json in ["0.8", "80", "80.0", "\"0.8\"", "\"80%\"", "\" 80 % \"", "\"80\""] {
            let parsed: Confidence = serde_json::from_str(json).unwrap();
            assert_eq!(parsed, Confidence::thousandths(800), "{json}");
        }
        for json in ["\"high\"", "\"8/10\"", "\"200%\"", "true", "8", "800"] {
            assert!(serde_json::from_str::<Confidence>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn confidence_out_of_range_is_rejected() {
        for value in ["-0.1", "1.01", "1e9"] {
            let error = serde_json::from_str::<Confidence>(value).unwrap_err().to_string();
            assert!(error.contains("is not between 0.0 and 1.0"), "{error}");
        }
    }

    #[test]
    fn enums_display_their_json_names() {
        let words = [
            Category::ErrorHandling.to_string(),
            AutofixClass::SafeAuto.to_string(),
            Owner::ReviewFixer.to_string(),
            Severity::P0.to_string(),
        ];
        assert_eq!(words, ["error_handling", "safe_auto", "review-fixer", "P0"]);
    }
}
