//! The tools that a client sees: names, descriptions, schemas and annotations.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde_json::Value;

use super::arguments::{
    ChangeArguments, DismissArguments, IssueArguments, ReviewArguments, RunArguments,
};
use super::report::{IssueView, LabelledData, ReportView};

/// What a tool does to the user's files and to other systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Reads only.
    Reads,
    /// Reads the repository and calls models.
    CallsModels,
    /// Stores a decision outside of the repository.
    Records,
    /// Edits files of the checkout.
    Edits,
}

/// All tools.
pub(crate) fn tools() -> Vec<Tool> {
    complete_tools(vec![
        describe_tool::<ReviewArguments>(
            "review_change",
            "Review a code change",
            "Review a change with language models and static checks. Takes minutes and costs money within \
             the budget. Returns issues with quoted code. Never edits files.",
            ToolEffect::CallsModels,
        )
        .with_output_schema::<LabelledData<ReportView>>(),
        describe_tool::<ChangeArguments>(
            "check_change",
            "Check a code change",
            "Run only the static checks on a change: secrets, syntax errors, broken references, bug \
             patterns. Takes seconds, calls no model.",
            ToolEffect::Reads,
        )
        .with_output_schema::<LabelledData<ReportView>>(),
        describe_tool::<RunArguments>(
            "get_report",
            "Show a stored report",
            "Return the report of a stored run, by default the newest.",
            ToolEffect::Reads,
        )
        .with_output_schema::<LabelledData<ReportView>>(),
        describe_tool::<IssueArguments>(
            "get_issue",
            "Show one issue",
            "Return one issue of a stored run as data.",
            ToolEffect::Reads,
        )
        .with_output_schema::<LabelledData<IssueView>>(),
        describe_tool::<IssueArguments>(
            "explain_issue",
            "Explain one issue",
            "Explain one issue of a stored run: evidence, reviewers, judgement, and the diff around it.",
            ToolEffect::Reads,
        ),
        describe_tool::<DismissArguments>(
            "dismiss_issue",
            "Dismiss one issue",
            "Hide an issue in all later reviews of this repository. Only if the user agrees that it is no \
             problem; crh asks the user about a P0 or P1.",
            ToolEffect::Records,
        ),
        describe_tool::<IssueArguments>(
            "propose_fix",
            "Propose a fix",
            "Return the fix of one issue as a patch. Changes nothing.",
            ToolEffect::Reads,
        ),
        describe_tool::<IssueArguments>(
            "apply_fix",
            "Apply a fix",
            "Apply the fix of one issue to the files of the checkout, after the user has agreed. `crh fix \
             --undo` takes it back.",
            ToolEffect::Edits,
        ),
    ])
}

/// Sorts tools by name, and removes what clients do not understand from their schemas.
pub fn complete_tools(mut tools: Vec<Tool>) -> Vec<Tool> {
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    for tool in &mut tools {
        let input = Arc::make_mut(&mut tool.input_schema);
        remove_number_formats(input);
        let properties = input.get_mut("properties").and_then(Value::as_object_mut);
        properties.into_iter().flat_map(|all| all.values_mut()).for_each(remove_null);
        if let Some(schema) = &mut tool.output_schema {
            remove_number_formats(Arc::make_mut(schema));
        }
    }
    tools
}

/// Removes formats such as `uint32`. JSON Schema does not define them, and clients warn about them.
fn remove_number_formats(schema: &mut JsonObject) {
    let is_number = |format: &Value| {
        format.as_str().is_some_and(|name| {
            ["int", "uint", "double", "float"].iter().any(|word| name.starts_with(word))
        })
    };
    if schema.get("format").is_some_and(is_number) {
        schema.remove("format");
    }
    for (_, value) in schema.iter_mut() {
        match value {
            Value::Object(inner) => remove_number_formats(inner),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(remove_number_formats);
            }
            _ => {}
        }
    }
}

/// Removes `null` from the types of an optional argument: clients omit the argument instead, and
/// some clients accept only one type.
fn remove_null(schema: &mut Value) {
    if let Some([kind, Value::String(null)]) =
        schema.get("type").and_then(Value::as_array).map(Vec::as_slice)
        && null == "null"
    {
        schema["type"] = kind.clone();
    }
}

/// A tool whose arguments are the fields of `T`.
pub fn describe_tool<T: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effect: ToolEffect,
) -> Tool {
    let no_schema: Arc<JsonObject> = Arc::default();
    let annotations = ToolAnnotations::with_title(title)
        .read_only(matches!(effect, ToolEffect::Reads | ToolEffect::CallsModels))
        .destructive(effect == ToolEffect::Edits)
        .idempotent(matches!(effect, ToolEffect::Reads | ToolEffect::Records))
        .open_world(effect == ToolEffect::CallsModels);
    let tool = Tool::new(name, description, no_schema).with_input_schema::<T>();
    tool.with_title(title).with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_schema_and_annotations() {
        for tool in tools() {
            let name = &tool.name;
            let properties = tool.input_schema["properties"].as_object().unwrap();
            assert!(properties.contains_key("repository"), "{name}");
            assert!(properties.values().all(|it| !it["type"].is_array()), "{name}");
            let schemas = format!("{:?} {:?}", tool.input_schema, tool.output_schema);
            assert!(!schemas.contains("\"format\""), "{name}");
            let annotations = tool.annotations.unwrap();
            let edits = *name == "apply_fix";
            assert_eq!(annotations.destructive_hint, Some(edits), "{name}");
            let writes = edits || *name == "dismiss_issue";
            assert_eq!(annotations.read_only_hint, Some(!writes), "{name}");
        }
    }
}
