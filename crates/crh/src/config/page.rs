//! The settings as pages: what is in effect, the schema, and the file to start from. All from the one table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::environment::Environment;
use super::file::REPOSITORY_FILE;
use super::key::{BuiltIn, Key, Origin, Rank};
use super::keys::{KEYS, Settings};
use super::settle::Sources;
use crh_review::visible;

/// A value that is wider moves what comes after it, for its line alone.
const VALUE_WIDTH: usize = 32;

/// Every value in effect, one a line: the key, the value as a file would have it, where it came from.
pub(crate) fn shown_text(settings: &Settings) -> String {
    let key_width = KEYS.iter().map(|key| key.facts.path().len()).max().unwrap_or(0);
    let mut out = String::new();
    for key in KEYS {
        let (value, origins) = (key.resolved)(settings);
        let value = match (&value, key.facts.built_in) {
            (Value::Null, BuiltIn::Found(words)) => words.to_owned(),
            _ => visible(&written(&value)),
        };
        let origins = visible(&origins_shown(origins).join(", "));
        out += &format!("{:key_width$}  {value:VALUE_WIDTH$}  {origins}\n", key.facts.path());
    }
    out
}

/// Every value in effect by its key, with where it came from.
pub(crate) fn shown_json(settings: &Settings) -> Value {
    let row = |key: &Key| {
        let (value, origins) = (key.resolved)(settings);
        (key.facts.path(), json!({ "value": value, "from": origins_shown(origins) }))
    };
    KEYS.iter().map(row).collect::<Map<_, _>>().into()
}

/// The JSON Schema of the repository's file.
pub(crate) fn schema() -> Value {
    let mut schemas = SchemaSettings::for_deserialize(SchemaSettings::draft2020_12());
    schemas.inline_subschemas = true;
    let mut schemas = schemas.into_generator();
    let nobody = Environment::new(PathBuf::new(), []);
    let built_in = Settings::resolve(Sources::default(), &nobody);
    let mut top = Map::new();
    let mut sections: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for key in repository_keys() {
        let mut schema = (key.schema)(&mut schemas);
        schema.insert("description".to_owned(), meaning(key).into());
        match (key.resolved)(&built_in) {
            (Value::Null, _) => None,
            (value, _) => schema.insert("default".to_owned(), value),
        };
        let properties = match key.facts.section {
            Some(section) => sections.entry(section).or_default(),
            None => &mut top,
        };
        properties.insert(key.facts.name.to_owned(), schema.to_value());
    }
    for (section, properties) in sections {
        top.insert(section.to_owned(), object(properties));
    }
    let mut root = object(top);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = REPOSITORY_FILE.into();
    root
}

/// A file that sets nothing and says everything that a repository may set. Every line with one `#` can be
/// uncommented as it is.
pub(crate) fn template() -> String {
    let mut out = "\
        ## How crh reviews this repository. Every line with one `#` is a setting: take the `#` off to set it.\n\
        ## `crh config show` prints what is in effect, and where it comes from.\n"
        .to_owned();
    let mut section = None;
    for key in repository_keys() {
        if key.facts.section != section {
            section = key.facts.section;
            out += &section.map(|section| format!("\n[{section}]\n")).unwrap_or_default();
        }
        let name = key.facts.name;
        let (words, value) = match key.facts.built_in {
            BuiltIn::Written(value) => (format!(", such as {name} = {}", key.facts.example), value),
            BuiltIn::Found(words) => (format!(". If it is not set, {words}."), key.facts.example),
        };
        out +=
            &format!("## {}\n## Takes {}{words}\n# {name} = {value}\n", meaning(key), key.wanted);
    }
    out
}

/// The keys that a repository may set. Those before all sections come first, as a file needs it.
fn repository_keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| match key.facts.rank {
        Rank::Anyone => true,
        Rank::User => false,
    })
}

/// What a key means, as one paragraph.
fn meaning(key: &Key) -> String {
    key.meaning.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value as it stands in a file. What is JSON here is TOML too, but for tables.
fn written(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            let fields = fields.into_iter().map(|(name, value)| {
                format!("{} = {}", Value::from(name.as_str()), written(value))
            });
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn origins_shown(origins: &[Origin]) -> Vec<String> {
    origins.iter().map(ToString::to_string).collect()
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
