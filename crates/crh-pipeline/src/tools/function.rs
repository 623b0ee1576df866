//! `get_function_context`: one function of a text with the imports of its file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::nearest::nearest;
use super::{Bench, Reply, Tool, ToolError};
use crh_syntax::{FunctionContext, Language, fallback_spans, function_context, symbols};

/// How many names are given to somebody who asked for one that is not there.
const SUGGESTIONS: usize = 5;

pub(super) struct GetFunctionContext;

/// Finds a function, method or type in the text of a file: its definition with its lines, and the imports of the
/// file. `heuristic` is set if the language has no grammar here or the text does not parse, and the place is a guess.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFunctionContextInput {
    /// The text of the whole file.
    file_content: String,
    /// The name: `total`, or with what is around it, `Cart.total`.
    function_name: String,
    /// The language: `python`, `typescript`, `rust`.
    language: String,
}

/// A definition that has a name.
struct Named {
    name: String,
    start: u32,
    end: u32,
}

impl Tool for GetFunctionContext {
    const NAME: &'static str = "get_function_context";
    type Input = GetFunctionContextInput;

    fn answer(input: GetFunctionContextInput, _: &Bench) -> Result<Reply, ToolError> {
        let language = Language::from_name(&input.language);
        let Some(found) = function_context(language, &input.file_content, &input.function_name)
        else {
            return Err(ToolError::TellModel(not_found(&input, language)));
        };
        let others = match found.others {
            0 => Vec::new(),
            _ => others(&input, language, &found),
        };
        let others: Vec<_> = others
            .iter()
            .map(|other| json!({ "name": other.name, "start_line": other.start, "end_line": other.end }))
            .collect();
        let whole = found.definition.len();
        Ok(Reply::lines(found.definition, move |definition| {
            let mut value = json!({
                "definition": definition,
                "imports": found.imports,
                "start_line": found.start_line,
                "end_line": found.end_line,
            });
            if found.heuristic {
                value["heuristic"] = json!(true);
            }
            if !others.is_empty() {
                value["others"] = json!(others);
            }
            if definition.len() < whole {
                value["truncated"] = json!(true);
            }
            value
        }))
    }
}

/// The definitions of the text, parsed or guessed as the context itself was.
fn definitions(text: &str, language: Option<Language>, heuristic: bool) -> Vec<Named> {
    match language.map(|language| symbols(language, text)) {
        Some(Ok(symbols)) if !heuristic => symbols
            .all()
            .iter()
            .map(|symbol| Named { name: symbol.name.clone(), start: symbol.start, end: symbol.end })
            .collect(),
        Some(Ok(_) | Err(_)) | None => fallback_spans(text)
            .into_iter()
            .map(|span| Named { name: span.name, start: span.start, end: span.end })
            .collect(),
    }
}

/// The other definitions that answer to the name that was asked for.
fn others(
    input: &GetFunctionContextInput,
    language: Option<Language>,
    found: &FunctionContext,
) -> Vec<Named> {
    let own = |name: &str| name.rsplit(['.', ':', '\\', '#']).next().unwrap_or(name).to_owned();
    let mut named = definitions(&input.file_content, language, found.heuristic);
    let asked = own(input.function_name.trim().trim_end_matches("()"));
    named.retain(|other| own(&other.name) == asked && other.start != found.start_line);
    named
}

fn not_found(input: &GetFunctionContextInput, language: Option<Language>) -> String {
    let mut named = definitions(&input.file_content, language, false);
    if named.is_empty() {
        named = definitions(&input.file_content, language, true);
    }
    let mut near = nearest(&input.function_name, named.iter().map(|named| named.name.as_str()));
    near.dedup();
    near.truncate(SUGGESTIONS);
    let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    let name = &input.function_name;
    match near.as_slice() {
        [] => format!("there is no `{name}` in the text, nor any other definition"),
        near => format!("there is no `{name}` in the text; there are {}", near.join(", ")),
    }
}
