//! Settings for pull requests: which ones to skip.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::ChoiceValue;
use super::value::{ConfigValue, PathContext, ValueError, type_mismatch};

/// GitHub's limit for the length of a label.
const LABEL_MAX: usize = 50;
/// GitHub's limit for labels per pull request.
const LABELS_MAX: usize = 100;

/// Whether a kind of pull request is reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum Treatment {
    /// Do not review it
    Skip,
    /// Review it
    Review,
}

impl ChoiceValue for Treatment {
    const CHOICES: &'static str = "`skip` or `review`";
}

/// Pull request labels. Comparisons ignore case, as on GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelList(Vec<String>);

impl LabelList {
    /// The default for `github.skip_labels`.
    pub(crate) fn default_skip() -> Self {
        Self(vec!["crh:skip".to_owned()])
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// The first of `labels` that is in this list.
    pub(crate) fn first_match<'a>(&self, labels: &'a [String]) -> Option<&'a str> {
        let is_listed =
            |label: &&String| self.0.iter().any(|name| name.to_lowercase() == label.to_lowercase());
        labels.iter().find(is_listed).map(String::as_str)
    }
}

impl ConfigValue for LabelList {
    type TomlType = Vec<String>;
    const EXPECTED: &'static str = "a list of labels, each of at most 50 characters";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let list = value.get_ref().as_array().ok_or_else(|| type_mismatch::<Self>(value))?;
        if list.len() > LABELS_MAX {
            return Err(type_mismatch::<Self>(value));
        }
        let labels = list.iter().map(|item| {
            let name = item.get_ref().as_str().map(str::trim);
            let is_label = |name: &&str| !name.is_empty() && name.chars().count() <= LABEL_MAX;
            name.filter(is_label).map(str::to_owned).ok_or_else(|| type_mismatch::<Self>(item))
        });
        labels.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}
