//! Settings as text, JSON, JSON Schema and config template, generated from the key table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::environment::Environment;
use super::file::REPOSITORY_FILE;
use super::key::{ConfigKey, DefaultValue, KeyAccess, SettingOrigin};
use super::keys::{KEYS, Settings};
use super::resolve::SettingSources;
use crh_review::escape_invisible;

/// Width of the value column in `crh config show`. Wider values shift the rest of their line.
const VALUE_WIDTH: usize = 32;

/// All settings, one per line: key, value as in a file, origin.
pub(crate) fn settings_text(settings: &Settings) -> String {
    let key_width = KEYS.iter().map(|key| key.spec.path().len()).max().unwrap_or(0);
    let mut out = String::new();
    for key in KEYS {
        let (value, origins) = (key.resolved)(settings);
        let value = match (&value, key.spec.default) {
            (Value::Null, DefaultValue::Computed(default_text)) => default_text.to_owned(),
            _ => escape_invisible(&toml_text(&value)),
        };
        let origins = escape_invisible(&origin_names(origins).join(", "));
        out += &format!("{:key_width$}  {value:VALUE_WIDTH$}  {origins}\n", key.spec.path());
    }
    out
}

/// All settings with value and origin, by key.
pub(crate) fn settings_json(settings: &Settings) -> Value {
    let entry = |key: &ConfigKey| {
        let (value, origins) = (key.resolved)(settings);
        (key.spec.path(), json!({ "value": value, "from": origin_names(origins) }))
    };
    KEYS.iter().map(entry).collect::<Map<_, _>>().into()
}

/// JSON Schema of `crh.toml`.
pub(crate) fn schema() -> Value {
    let mut schemas = SchemaSettings::for_deserialize(SchemaSettings::draft2020_12());
    schemas.inline_subschemas = true;
    let mut schemas = schemas.into_generator();
    let empty_environment = Environment::new(PathBuf::new(), []);
    let defaults = Settings::resolve(SettingSources::default(), &empty_environment);
    let mut top_level = Map::new();
    let mut sections: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for key in repository_keys() {
        let mut schema = (key.schema)(&mut schemas);
        schema.insert("description".to_owned(), description(key).into());
        match (key.resolved)(&defaults) {
            (Value::Null, _) => None,
            (value, _) => schema.insert("default".to_owned(), value),
        };
        let properties = match key.spec.section {
            Some(section) => sections.entry(section).or_default(),
            None => &mut top_level,
        };
        properties.insert(key.spec.name.to_owned(), schema.to_value());
    }
    for (section, properties) in sections {
        top_level.insert(section.to_owned(), object_schema(properties));
    }
    let mut root = object_schema(top_level);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = REPOSITORY_FILE.into();
    root
}

/// The `crh.toml` that `crh init` writes: it sets nothing and documents every key that a repository
/// may set. Lines with a single `#` can be uncommented as they are.
pub(crate) fn template() -> String {
    let mut out = "## How crh reviews this repository. Lines with a single `#` are settings with their defaults:\n## remove the `#` to change one. `crh config show` prints the settings in effect.\n"
        .to_owned();
    let mut section = None;
    for key in repository_keys() {
        if key.spec.section != section {
            section = key.spec.section;
            out += &section.map(|section| format!("\n[{section}]\n")).unwrap_or_default();
        }
        let name = key.spec.name;
        let (note, value) = match key.spec.default {
            DefaultValue::Literal(value) => {
                (format!(". Example: {name} = {}", key.spec.example), value)
            }
            DefaultValue::Computed(default_text) => {
                (format!(". Default: {default_text}."), key.spec.example)
            }
        };
        out += &format!(
            "## {}\n## Value: {}{note}\n# {name} = {value}\n",
            description(key),
            key.expected
        );
    }
    out
}

/// Keys that a repository may set. Top-level keys come first, as TOML requires.
fn repository_keys() -> impl Iterator<Item = &'static ConfigKey> {
    KEYS.iter().filter(|key| match key.spec.access {
        KeyAccess::Anyone | KeyAccess::RepositoryStricter => true,
        KeyAccess::UserOnly => false,
    })
}

/// The description of a key as one paragraph.
fn description(key: &ConfigKey) -> String {
    key.description.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value in TOML syntax. Only tables differ from JSON.
fn toml_text(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            let fields = fields.into_iter().map(|(name, value)| {
                format!("{} = {}", Value::from(name.as_str()), toml_text(value))
            });
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_text).collect();
            format!("[{}]", items.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn origin_names(origins: &[SettingOrigin]) -> Vec<String> {
    origins.iter().map(ToString::to_string).collect()
}

fn object_schema(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
