//! Settings about models: which one is asked, what is known about those that the built-in table does not have,
//! and which key goes to which server.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::value::{Place, Value, Wrong, mistyped, quoted, text};
use crh_llm::{Catalogue, ModelEntry, ModelName};

/// Which model is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    /// What follows from the keys and the other models.
    #[default]
    Found,
    /// This one.
    Named(ModelName),
}

impl ModelChoice {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        name.parse().map(Self::Named).map_err(|error: crh_llm::NameError| error.to_string())
    }
}

impl Value for ModelChoice {
    type Written = String;
    const WANTED: &'static str =
        "`PROVIDER:MODEL`, with `@URL` for a server of your own, or `replay:FILE`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let name = text::<Self>(value)?;
        let wrong = |why| Wrong { at: value.span(), message: format!("names no model: {why}") };
        Self::parse(name).map_err(wrong)
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Found => serde_json::Value::Null,
            Self::Named(name) => json!(name.to_string()),
        }
    }
}

/// What is known about models, over the built-in table and besides it. Checked when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelTable(serde_json::Value);

impl ModelTable {
    /// The built-in table with these entries over it.
    pub(crate) fn catalogue(&self) -> Result<Catalogue, String> {
        let entries: BTreeMap<String, ModelEntry> =
            BTreeMap::deserialize(&self.0).map_err(|error| error.to_string())?;
        Catalogue::new(entries).map_err(|error| error.to_string())
    }
}

impl Default for ModelTable {
    fn default() -> Self {
        Self(json!({}))
    }
}

impl Value for ModelTable {
    type Written = BTreeMap<String, serde_json::Value>;
    const WANTED: &'static str = "a section for each `PROVIDER:MODEL`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        if !value.get_ref().is_table() {
            return Err(mistyped::<Self>(value));
        }
        let read = serde_json::Value::deserialize(ValueDeserializer::from(value.clone()));
        let wrong = |why| Wrong { at: value.span(), message: format!("cannot be used: {why}") };
        let table = Self(read.map_err(|error| wrong(error.message().to_owned()))?);
        table.catalogue().map_err(wrong)?;
        Ok(table)
    }

    fn json(&self) -> serde_json::Value {
        self.0.clone()
    }
}

/// Which variable holds the key of which server, by its origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyVariables(pub(crate) BTreeMap<String, String>);

impl Value for KeyVariables {
    type Written = BTreeMap<String, String>;
    const WANTED: &'static str =
        "the names of variables by origin, such as `\"https://gateway.example\" = \"GATEWAY_KEY\"`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let table = value.get_ref().as_table().ok_or_else(|| mistyped::<Self>(value))?;
        let variables = table.iter().map(|(origin, variable)| {
            let name = variable.get_ref().as_str().ok_or_else(|| mistyped::<Self>(variable))?;
            if !is_variable(name) {
                // A key that was written here by mistake is not repeated.
                let origin = quoted(origin.get_ref());
                let message = format!(
                    "has no name of a variable at {origin}: write the name, never the key itself"
                );
                return Err(Wrong { at: variable.span(), message });
            }
            Ok((origin.get_ref().to_string(), name.to_owned()))
        });
        variables.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// Names of variables are in capitals; keys are not, so that one cannot be taken for the other.
fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
