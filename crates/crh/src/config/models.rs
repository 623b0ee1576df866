//! Settings for models: which model to use, facts about models, and API keys of servers.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::review::ChoiceValue;
use super::value::{ConfigValue, PathContext, ValueError, quoted, text, type_mismatch};
use crh_llm::{Effort, HeaderVariables, ModelCatalogue, ModelEntry, ModelName};

/// The model for a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    /// Chosen from the API keys and the other roles.
    #[default]
    Detected,
    Named(ModelName),
}

impl ModelChoice {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        name.parse().map(Self::Named).map_err(|error: crh_llm::ModelNameError| error.to_string())
    }
}

impl ConfigValue for ModelChoice {
    type TomlType = String;
    const EXPECTED: &'static str =
        "`PROVIDER:MODEL`, with `@URL` for your own server, or `replay:FILE`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let name = text::<Self>(value)?;
        let invalid_model = |reason| ValueError {
            span: value.span(),
            message: format!("is not a model: {reason}"),
        };
        Self::parse(name).map_err(invalid_model)
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Detected => serde_json::Value::Null,
            Self::Named(name) => json!(name.to_string()),
        }
    }
}

/// Reasoning effort of models that accept one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum EffortChoice {
    /// crh chooses: low for simple tasks, high for deciding which issues to show, else medium
    Auto,
    /// Little reasoning: fast and cheap
    Low,
    /// Some reasoning
    Medium,
    /// Much reasoning: slow and expensive
    High,
    /// The vendor's default
    Vendor,
}

impl ChoiceValue for EffortChoice {
    const CHOICES: &'static str = "`auto`, `low`, `medium`, `high` or `vendor`";
}

/// Role of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelRole {
    Reviewer,
    Cheap,
    Escalation,
    Editor,
}

impl ModelRole {
    const ALL: [Self; 4] = [Self::Reviewer, Self::Cheap, Self::Escalation, Self::Editor];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reviewer => "reviewer",
            Self::Cheap => "cheap",
            Self::Escalation => "escalation",
            Self::Editor => "editor",
        }
    }

    /// Effort of this role unless the user sets one.
    fn default_effort(self) -> Effort {
        match self {
            Self::Cheap => Effort::Low,
            Self::Reviewer | Self::Escalation => Effort::Medium,
            Self::Editor => Effort::High,
        }
    }
}

impl EffortChoice {
    /// The effort for a role; `None` leaves it to the vendor.
    pub(crate) fn effort(self, role: ModelRole) -> Option<Effort> {
        match self {
            Self::Auto => Some(role.default_effort()),
            Self::Low => Some(Effort::Low),
            Self::Medium => Some(Effort::Medium),
            Self::High => Some(Effort::High),
            Self::Vendor => None,
        }
    }
}

/// Reasoning effort by role. Roles that are not listed use `model.effort`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoleEfforts(pub(crate) BTreeMap<ModelRole, EffortChoice>);

impl ConfigValue for RoleEfforts {
    type TomlType = BTreeMap<String, EffortChoice>;
    const EXPECTED: &'static str = "`auto`, `low`, `medium`, `high` or `vendor` for each of `reviewer`, `cheap`, `escalation` and `editor`";

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        let table = value.get_ref().as_table().ok_or_else(|| type_mismatch::<Self>(value))?;
        let efforts = table.iter().map(|(name, effort)| {
            let role = ModelRole::ALL.into_iter().find(|role| role.name() == name.get_ref());
            let role = role.ok_or_else(|| ValueError {
                span: name.span(),
                message: format!(
                    "names {}, which is not a role; use `reviewer`, `cheap`, `escalation` or `editor`",
                    quoted(name.get_ref())
                ),
            })?;
            Ok((role, EffortChoice::from_toml(effort, paths)?))
        });
        efforts.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        let efforts = self.0.iter().map(|(role, effort)| (role.name(), effort.json()));
        json!(efforts.collect::<BTreeMap<_, _>>())
    }
}

/// Model facts that extend the built-in table. Validated when parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelTable(serde_json::Value);

impl ModelTable {
    /// The built-in table with these entries applied.
    pub(crate) fn catalogue(&self) -> Result<ModelCatalogue, String> {
        let entries: BTreeMap<String, ModelEntry> =
            BTreeMap::deserialize(&self.0).map_err(|error| error.to_string())?;
        ModelCatalogue::new(entries).map_err(|error| error.to_string())
    }
}

impl Default for ModelTable {
    fn default() -> Self {
        Self(json!({}))
    }
}

impl ConfigValue for ModelTable {
    type TomlType = BTreeMap<String, serde_json::Value>;
    const EXPECTED: &'static str = "a table with one entry per `PROVIDER:MODEL`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        if !value.get_ref().is_table() {
            return Err(type_mismatch::<Self>(value));
        }
        let table_json = serde_json::Value::deserialize(ValueDeserializer::from(value.clone()));
        let invalid_table =
            |reason| ValueError { span: value.span(), message: format!("is invalid: {reason}") };
        let table = Self(table_json.map_err(|error| invalid_table(error.message().to_owned()))?);
        table.catalogue().map_err(invalid_table)?;
        Ok(table)
    }

    fn json(&self) -> serde_json::Value {
        self.0.clone()
    }
}

/// Environment variables with API keys, by server origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyVariables(pub(crate) BTreeMap<String, String>);

impl ConfigValue for KeyVariables {
    type TomlType = BTreeMap<String, String>;
    const EXPECTED: &'static str = "a table that maps the origin of a server to the name of a variable, such as `{ \"https://gateway.example\" = \"GATEWAY_KEY\" }`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let table = value.get_ref().as_table().ok_or_else(|| type_mismatch::<Self>(value))?;
        let variables = table.iter().map(|(origin, variable)| {
            let name = variable.get_ref().as_str().ok_or_else(|| type_mismatch::<Self>(variable))?;
            if !is_variable_name(name) {
                // The value may be a key by mistake, so the message does not repeat it.
                let origin = quoted(origin.get_ref());
                let message = format!(
                    "has no valid variable name for {origin}: write the name of an environment variable in upper case, never the API key itself"
                );
                return Err(ValueError { span: variable.span(), message });
            }
            Ok((origin.get_ref().to_string(), name.to_owned()))
        });
        variables.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// Environment variables with the values of headers, by server origin and name of the header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeaderTable(pub(crate) HeaderVariables);

impl ConfigValue for HeaderTable {
    type TomlType = BTreeMap<String, BTreeMap<String, String>>;
    const EXPECTED: &'static str = "a table that maps the origin of a server to headers and the names of variables, such as `{ \"https://gateway.example\" = { x-team = \"GATEWAY_TEAM\" } }`";

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        let table = value.get_ref().as_table().ok_or_else(|| type_mismatch::<Self>(value))?;
        let headers = table.iter().map(|(origin, headers)| {
            if !headers.get_ref().is_table() {
                return Err(type_mismatch::<Self>(headers));
            }
            let variables = KeyVariables::from_toml(headers, paths)?;
            Ok((origin.get_ref().to_string(), variables.0))
        });
        headers.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// Accepts only upper case letters, digits and `_`. API keys have lower case letters, too, so crh
/// never takes a key for a name.
fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
