//! Settings of pull requests: which of them are not reviewed unless somebody asks.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::Word;
use super::value::{Place, Value, Wrong, mistyped};

/// GitHub's own limit for the name of a label.
const LABEL_MAX: usize = 50;
/// GitHub's own limit for the labels of one pull request.
const LABELS_MAX: usize = 100;

/// What becomes of a kind of pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum Treatment {
    /// It is not reviewed
    Skip,
    /// It is reviewed as any other
    Review,
}

impl Word for Treatment {
    const WORDS: &'static str = "`skip` or `review`";
}

/// Labels of pull requests. GitHub does not tell small letters from capital ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Labels(Vec<String>);

impl Labels {
    /// The label by which a pull request is left out, unless a repository has its own.
    pub(crate) fn skipping() -> Self {
        Self(vec!["crh:skip".to_owned()])
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// The first of some labels that is one of these.
    pub(crate) fn any_of<'a>(&self, labels: &'a [String]) -> Option<&'a str> {
        let is_one =
            |label: &&String| self.0.iter().any(|name| name.to_lowercase() == label.to_lowercase());
        labels.iter().find(is_one).map(String::as_str)
    }
}

impl Value for Labels {
    type Written = Vec<String>;
    const WANTED: &'static str = "a list of labels, each of at most 50 characters";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let list = value.get_ref().as_array().ok_or_else(|| mistyped::<Self>(value))?;
        if list.len() > LABELS_MAX {
            return Err(mistyped::<Self>(value));
        }
        let labels = list.iter().map(|item| {
            let name = item.get_ref().as_str().map(str::trim);
            let is_label = |name: &&str| !name.is_empty() && name.chars().count() <= LABEL_MAX;
            name.filter(is_label).map(str::to_owned).ok_or_else(|| mistyped::<Self>(item))
        });
        labels.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}
