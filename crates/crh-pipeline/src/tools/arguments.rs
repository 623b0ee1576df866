//! Parses a tool's arguments from JSON, with errors that a model can act on, and derives their
//! schema.

use std::fmt;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::ToolError;
use crh_review::{StrictJson, repair_whole_numbers};

/// How much of a wrong argument to repeat. A model may have passed a whole file.
const QUOTED_CHARS_MAX: usize = 80;

/// Id of a round, which is one version of the change. Models write it as a number or a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoundId(pub(crate) String);

/// Parses the arguments as a JSON object. Empty text is an empty object.
pub(super) fn parse_object(text: &str) -> Result<Value, ToolError> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let StrictJson(value) = serde_json::from_str(text).map_err(|error| {
        ToolError::TellModel(format!("the arguments are not JSON: {}", without_position(&error)))
    })?;
    if !value.is_object() {
        return Err(ToolError::TellModel("the arguments are not a JSON object".to_owned()));
    }
    Ok(value)
}

/// Removes the position from a duplicate-key error, which already names the key.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(text) if text.starts_with("the key") => text.to_owned(),
        Some(_) | None => text,
    }
}

/// Converts the arguments to a tool's input. The error is one sentence that names the argument.
pub(crate) fn read<T: DeserializeOwned>(mut value: Value) -> Result<T, ToolError> {
    repair_whole_numbers(&mut value);
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner().to_string();
        ToolError::TellModel(explain_error(&path, &problem))
    })
}

/// Rewrites a serde error without our type names, which would mislead a model.
fn explain_error(path: &str, problem: &str) -> String {
    if let Some(field) = problem.strip_prefix("missing field ") {
        return format!("the argument {field} is missing");
    }
    if let Some((field, known)) =
        problem.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", "))
    {
        let hint = match known {
            "there are no fields" => "this tool takes none".to_owned(),
            _ => format!(
                "there are {}",
                known.trim_start_matches("expected ").trim_start_matches("one of ")
            ),
        };
        return format!("there is no argument {field}; {hint}");
    }
    let kind = problem.strip_prefix("invalid type: ").or(problem.strip_prefix("invalid value: "));
    match kind.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((got, expected)) => {
            let (got, expected) = (value_in_words(got), type_in_words(expected));
            format!("the argument `{path}` is {got}, but {expected} is expected")
        }
        None => format!("the argument `{path}` cannot be used: {problem}"),
    }
}

/// Describes the value that the model passed, shortened.
fn value_in_words(got: &str) -> String {
    let got = match got.split_once(' ') {
        Some(("integer", number)) => format!("the number {number}"),
        Some(("floating", number)) => format!("the number {}", number.trim_start_matches("point ")),
        Some(("string", text)) => format!("the string {text}"),
        Some(("boolean", value)) => value.to_owned(),
        Some(_) | None => match got {
            "sequence" => "a list".to_owned(),
            "map" => "an object".to_owned(),
            _ => got.to_owned(),
        },
    };
    match got.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &got[..end]),
        None => got,
    }
}

fn type_in_words(name: &str) -> &str {
    match name {
        "u32" => "a whole number from 0 to 4294967295",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        other => other,
    }
}

/// Description and schema of an input type.
pub(crate) fn describe<T: JsonSchema>() -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        // Models see each schema on its own, so it must not contain references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema =
        settings.for_deserialize().into_generator().into_root_schema_for::<T>().to_value();
    let mut tool_description = String::new();
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
        if let Some(Value::String(description)) = root.remove("description") {
            tool_description = description;
        }
        // Some providers require `properties` even if there are none.
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    simplify_schema(&mut schema);
    (tool_description.replace('\n', " "), schema)
}

/// Removes formats such as `uint32`, which providers do not know.
fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if matches!(fields.get("format"), Some(Value::String(_))) {
                fields.remove("format");
            }
            // Undo the wrapping of doc comments.
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            fields.values_mut().for_each(simplify_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Shortens a schema: alternatives that are single values become a plain enum, and optional
/// arguments do not list null, since a model can leave them out.
pub(super) fn shorten_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(mut other) = fields.get("anyOf").and_then(non_null_alternative) {
                fields.remove("anyOf");
                other.remove("description");
                fields.append(&mut other);
            }
            if let Some(Value::Array(types)) = fields.get_mut("type")
                && let Some(plain) = types.iter().find(|name| *name != "null").cloned()
            {
                fields.insert("type".to_owned(), plain);
            }
            if fields.get("default").is_some_and(|default| !default.is_boolean()) {
                fields.remove("default");
            }
            let values: Option<Vec<Value>> = fields
                .get("oneOf")
                .and_then(Value::as_array)
                .map(|items| items.iter().map(|item| item.get("const").cloned()).collect())
                .unwrap_or_default();
            if let Some(values) = values {
                fields.remove("oneOf");
                fields.insert("enum".to_owned(), Value::Array(values));
            }
            fields.values_mut().for_each(shorten_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The alternative besides null, if there is exactly one.
fn non_null_alternative(alternatives: &Value) -> Option<Map<String, Value>> {
    match alternatives.as_array()?.as_slice() {
        [Value::Object(other), null] if null["type"] == "null" => Some(other.clone()),
        _ => None,
    }
}

/// Removes descriptions and bounds of all arguments, and `additionalProperties: false`. The prompts
/// describe the arguments, and code checks them.
pub(super) fn remove_details(schema: &mut Value) {
    const DETAILS: [&str; 6] =
        ["description", "minLength", "maxLength", "minItems", "minimum", "maximum"];
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let is_detail = DETAILS.contains(&name.as_str()) && !value.is_object();
                !is_detail && (name != "additionalProperties" || value != &Value::Bool(false))
            });
            fields.values_mut().for_each(remove_details);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_details),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct RoundIdVisitor;

impl<'de> Deserialize<'de> for RoundId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RoundIdVisitor)
    }
}

impl Visitor<'_> for RoundIdVisitor {
    type Value = RoundId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a whole number")
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<RoundId, E> {
        Ok(RoundId(id.to_owned()))
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<RoundId, E> {
        Ok(RoundId(id.to_string()))
    }

    fn visit_i64<E: Error>(self, id: i64) -> Result<RoundId, E> {
        Ok(RoundId(id.to_string()))
    }
}

impl JsonSchema for RoundId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RoundId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": ["string", "integer"] })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use expect_test::{Expect, expect};

    use super::*;

    /// What the tests send.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only shown")]
    struct Input {
        /// Where.
        path: String,
        /// From where.
        first_line: Option<NonZeroU32>,
        /// Which round.
        round: Option<RoundId>,
    }

    fn check(text: &str, expected: Expect) {
        let actual = match parse_object(text).and_then(read::<Input>) {
            Ok(input) => format!("{input:?}"),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn invalid_argument_is_named() {
        check(
            r#"{"path": "a", "firstLine": 3, "round": 7}"#,
            expect![[r#"Input { path: "a", first_line: Some(3), round: Some(RoundId("7")) }"#]],
        );
        check(
            r#"{"path": "a", "firstLine": null, "round": "7"}"#,
            expect![[r#"Input { path: "a", first_line: None, round: Some(RoundId("7")) }"#]],
        );
        check("", expect!["the argument `path` is missing"]);
        check(
            "{",
            expect!["the arguments are not JSON: EOF while parsing an object at line 1 column 1"],
        );
        check("[1]", expect!["the arguments are not a JSON object"]);
        check(
            r#"{"path": 5}"#,
            expect!["the argument `path` is the number `5`, but a string is expected"],
        );
        check(
            r#"{"path": null}"#,
            expect!["the argument `path` is null, but a string is expected"],
        );
        check(
            r#"{"path": "a", "path": "b"}"#,
            expect!["the arguments are not JSON: the key `path` is given twice"],
        );
        check(
            r#"{"path": "a", "firstLine": 0}"#,
            expect![
                "the argument `firstLine` is the number `0`, but a whole number from 1 to 4294967295 is expected"
            ],
        );
        check(
            r#"{"path": "a", "firstLine": -1}"#,
            expect![
                "the argument `firstLine` is the number `-1`, but a whole number from 1 to 4294967295 is expected"
            ],
        );
        check(
            r#"{"path": "a", "firstLine": 1.5}"#,
            expect![
                "the argument `firstLine` is the number `1.5`, but a whole number from 1 to 4294967295 is expected"
            ],
        );
        check(
            r#"{"path": "a", "firstLine": "1"}"#,
            expect![[
                r#"the argument `firstLine` is the string "1", but a whole number from 1 to 4294967295 is expected"#
            ]],
        );
        check(
            r#"{"path": "a", "firstLine": 99999999999}"#,
            expect![
                "the argument `firstLine` is the number `99999999999`, but a whole number from 1 to 4294967295 is expected"
            ],
        );
        check(
            r#"{"path": "a", "first_line": 1}"#,
            expect!["there is no argument `first_line`; there are `path`, `firstLine`, `round`"],
        );
        check(
            r#"{"path": "a", "round": [1]}"#,
            expect!["the argument `round` is a list, but a string or a whole number is expected"],
        );
    }

    #[test]
    fn description_and_schema_come_from_the_type() {
        let (words, schema) = describe::<Input>();
        assert_eq!(words, "What the tests send.");
        expect![[r#"
            {
              "additionalProperties": false,
              "properties": {
                "firstLine": {
                  "description": "From where.",
                  "minimum": 1,
                  "type": [
                    "integer",
                    "null"
                  ]
                },
                "path": {
                  "description": "Where.",
                  "type": "string"
                },
                "round": {
                  "description": "Which round.",
                  "type": [
                    "string",
                    "integer",
                    "null"
                  ]
                }
              },
              "required": [
                "path"
              ],
              "type": "object"
            }
        "#]]
        .assert_eq(&crh_review::stable_json(&schema).unwrap());
    }
}
