//! `get_function_context`: a function with the imports of its file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::similarity::rank_by_similarity;
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crh_syntax::{FunctionContext, Language, fallback_spans, function_context, symbols};

/// How many similar names an error suggests.
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

/// A named definition and its lines.
struct NamedDefinition {
    name: String,
    start: u32,
    end: u32,
}

impl AgentTool for GetFunctionContext {
    const NAME: &'static str = "get_function_context";
    type Input = GetFunctionContextInput;

    fn answer(input: GetFunctionContextInput, _: &ToolContext) -> Result<ToolReply, ToolError> {
        let language = Language::from_name(&input.language);
        let Some(context) = function_context(language, &input.file_content, &input.function_name)
        else {
            return Err(ToolError::TellModel(not_found(&input, language)));
        };
        let other_matches = match context.other_matches {
            0 => Vec::new(),
            _ => other_definitions(&input, language, &context),
        };
        let other_matches: Vec<_> = other_matches
            .iter()
            .map(|other| json!({ "name": other.name, "start_line": other.start, "end_line": other.end }))
            .collect();
        let full_length = context.definition.len();
        Ok(ToolReply::lines(context.definition, move |definition| {
            let mut value = json!({
                "definition": definition,
                "imports": context.imports,
                "start_line": context.start_line,
                "end_line": context.end_line,
            });
            if context.heuristic {
                value["heuristic"] = json!(true);
            }
            if !other_matches.is_empty() {
                value["others"] = json!(other_matches);
            }
            if definition.len() < full_length {
                value["truncated"] = json!(true);
            }
            value
        }))
    }
}

/// Definitions in the text: guessed if `heuristic` is set or the text cannot be parsed.
fn definitions(text: &str, language: Option<Language>, heuristic: bool) -> Vec<NamedDefinition> {
    match language.map(|language| symbols(language, text)) {
        Some(Ok(symbols)) if !heuristic => symbols
            .all()
            .iter()
            .map(|symbol| NamedDefinition {
                name: symbol.name.clone(),
                start: symbol.start,
                end: symbol.end,
            })
            .collect(),
        Some(Ok(_) | Err(_)) | None => fallback_spans(text)
            .into_iter()
            .map(|span| NamedDefinition { name: span.name, start: span.start, end: span.end })
            .collect(),
    }
}

/// Other definitions with the requested name.
fn other_definitions(
    input: &GetFunctionContextInput,
    language: Option<Language>,
    context: &FunctionContext,
) -> Vec<NamedDefinition> {
    let last_part =
        |name: &str| name.rsplit(['.', ':', '\\', '#']).next().unwrap_or(name).to_owned();
    let mut same_named = definitions(&input.file_content, language, context.heuristic);
    let requested_name = last_part(input.function_name.trim().trim_end_matches("()"));
    same_named.retain(|other| {
        last_part(&other.name) == requested_name && other.start != context.start_line
    });
    same_named
}

fn not_found(input: &GetFunctionContextInput, language: Option<Language>) -> String {
    let mut all_definitions = definitions(&input.file_content, language, false);
    if all_definitions.is_empty() {
        all_definitions = definitions(&input.file_content, language, true);
    }
    let mut similar = rank_by_similarity(
        &input.function_name,
        all_definitions.iter().map(|definition| definition.name.as_str()),
    );
    similar.dedup();
    similar.truncate(SUGGESTIONS);
    let similar: Vec<_> = similar.iter().map(|name| format!("`{name}`")).collect();
    let name = &input.function_name;
    match similar.as_slice() {
        [] => format!("there is no `{name}` in the text, nor any other definition"),
        similar => format!("there is no `{name}` in the text; there are {}", similar.join(", ")),
    }
}
