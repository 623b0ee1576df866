//! Protocols for tool use: native tool calls, structured output with a schema, or plain text.
//!
//! A run handles only calls and results. This module converts a conversation into a request for the
//! model, and its reply back into tool calls. In every protocol the answer is a call of the submit
//! tool.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::answer_form::{AnswerForm, SubmitRequest};
use crate::extract::{Completeness, ExtractError, Placement};
use crate::{extract, model_texts};
use crh_llm::{
    Abilities, CacheMark, CallArguments, Conversation, Message, ModelReply, OutputForm, StopCause,
    ToolCall, ToolChoice, ToolResult, ToolSpec, Turn, TurnPart, UserText,
};

/// Keys of the JSON object that represents a turn without native tool calling.
const CALLS: &str = "calls";
const ANSWER: &str = "answer";

/// Words in a vendor's error that indicate an unsupported protocol.
const TOOL_COMPLAINT_WORDS: [&str; 6] =
    ["tool", "function", "response_format", "schema", "structured output", "text.format"];

/// How a model is asked to use tools, best protocol first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolProtocol {
    /// Native tool calls; a call can be forced.
    Tools,
    /// Native tool calls, but crh cannot force a call. Some vendors do not allow that for reasoning
    /// models.
    FreeTools,
    /// Each turn is a JSON object. The vendor enforces the schema.
    Schema,
    /// Each turn is a JSON object, described in the prompt.
    Text,
}

/// What a turn must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnDemand {
    Nothing,
    /// At least one call.
    Call,
    /// The answer.
    Submit,
}

/// The parts of a request that depend on the protocol.
#[derive(Debug)]
pub(crate) struct RequestForm {
    pub(crate) conversation: Conversation,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) output: OutputForm,
}

/// A reply converted to tool calls.
#[derive(Debug, PartialEq)]
pub(crate) struct ParsedTurn {
    pub(crate) turn: Turn,
    pub(crate) completeness: Completeness,
}

impl ToolProtocol {
    pub(crate) fn best_for(abilities: Abilities) -> Self {
        match abilities {
            Abilities { tools: true, .. } => Self::Tools,
            Abilities { tools: false, schema: true, .. } => Self::Schema,
            Abilities { tools: false, schema: false, .. } => Self::Text,
        }
    }

    /// The next protocol to try, if the vendor's complaint is about this one.
    pub(crate) fn fallback(
        self,
        complaint: &str,
        demand: TurnDemand,
        abilities: Abilities,
    ) -> Option<Self> {
        let complaint = complaint.to_lowercase();
        if !TOOL_COMPLAINT_WORDS.iter().any(|word| complaint.contains(word)) {
            return None;
        }
        match self {
            Self::Tools if demand != TurnDemand::Nothing && complaint.contains("tool_choice") => {
                Some(Self::FreeTools)
            }
            Self::Tools | Self::FreeTools if abilities.schema => Some(Self::Schema),
            Self::Tools | Self::FreeTools | Self::Schema => Some(Self::Text),
            Self::Text => None,
        }
    }

    /// Whether the request has native tools.
    pub(crate) fn has_native_tools(self) -> bool {
        match self {
            Self::Tools | Self::FreeTools => true,
            Self::Schema | Self::Text => false,
        }
    }

    /// Builds a request. Each message maps to one message, so that requests share a byte-identical
    /// prefix.
    pub(crate) fn request_form(
        self,
        conversation: &Conversation,
        tools: &[ToolSpec],
        submit: &ToolSpec,
        demand: TurnDemand,
    ) -> RequestForm {
        match self {
            Self::Tools | Self::FreeTools => RequestForm {
                conversation: conversation.clone(),
                tools: with_submit(tools, submit),
                tool_choice: match (self, demand) {
                    (Self::Tools, TurnDemand::Submit) => ToolChoice::Named(submit.name.clone()),
                    (Self::Tools, TurnDemand::Call) => ToolChoice::Required,
                    (_, TurnDemand::Nothing | TurnDemand::Call | TurnDemand::Submit) => {
                        ToolChoice::Auto
                    }
                },
                output: OutputForm::Text,
            },
            Self::Schema | Self::Text => {
                let other_tools: Vec<ToolSpec> =
                    tools.iter().filter(|tool| tool.name != submit.name).cloned().collect();
                RequestForm {
                    conversation: conversation_as_text(conversation, &other_tools, submit),
                    tools: Vec::new(),
                    tool_choice: ToolChoice::Auto,
                    output: match self {
                        Self::Schema => OutputForm::Schema {
                            name: "turn".to_owned(),
                            schema: turn_schema(&other_tools, submit, demand),
                        },
                        Self::Tools | Self::FreeTools | Self::Text => OutputForm::Text,
                    },
                }
            }
        }
    }

    /// Parses a reply. The error explains why it is not a turn. `first_id` numbers calls that have
    /// no id.
    pub(crate) fn parse_reply(
        self,
        reply: &ModelReply,
        tools: &[ToolSpec],
        submit: &ToolSpec,
        request: SubmitRequest,
        first_id: usize,
    ) -> Result<ParsedTurn, String> {
        match self {
            Self::Tools | Self::FreeTools => {
                let parsed_turn = parse_tool_calls(reply, first_id);
                if parsed_turn.turn.calls().next().is_some() {
                    return Ok(parsed_turn);
                }
                let calls = parse_call_text(reply, &with_submit(tools, submit), first_id);
                let has_others = calls
                    .iter()
                    .any(|parsed| parsed.turn.calls().any(|call| call.name != submit.name));
                // If the text has other calls, too, the answer is one of its calls.
                let in_text = match has_others {
                    true => calls,
                    false => parse_answer_text(reply, submit, request, first_id).or(calls),
                };
                Ok(in_text.unwrap_or(parsed_turn))
            }
            Self::Schema | Self::Text => parse_text_turn(reply, submit, request, first_id),
        }
    }
}

/// Adds the submit tool if it is missing. If runs share a tool list that contains all submit tools,
/// the lists in their requests are byte-identical.
fn with_submit(tools: &[ToolSpec], submit: &ToolSpec) -> Vec<ToolSpec> {
    let has_submit = tools.iter().any(|tool| tool.name == submit.name);
    tools.iter().chain((!has_submit).then_some(submit)).cloned().collect()
}

/// Reads native tool calls. Missing or duplicate ids are replaced, because vendors match results by
/// id.
fn parse_tool_calls(reply: &ModelReply, first_id: usize) -> ParsedTurn {
    let mut turn = reply.turn.clone();
    let mut used_ids: Vec<String> = Vec::new();
    for part in &mut turn.parts {
        let TurnPart::Call(call) = part else { continue };
        if call.id.is_empty() || used_ids.contains(&call.id) {
            call.id = call_id(first_id + used_ids.len());
        }
        used_ids.push(call.id.clone());
    }
    let lacks_complete_call = match turn.calls().last() {
        Some(call) => matches!(call.arguments, CallArguments::Malformed(_)),
        None => true,
    };
    let completeness = if reply.stop == StopCause::Length && lacks_complete_call {
        Completeness::Truncated
    } else {
        Completeness::Complete
    };
    ParsedTurn { turn, completeness }
}

fn call_id(number: usize) -> String {
    format!("call_{number}")
}

/// Reads an answer that the model wrote as text, as a call of the submit tool.
fn parse_answer_text(
    reply: &ModelReply,
    submit: &ToolSpec,
    request: SubmitRequest,
    first_id: usize,
) -> Option<ParsedTurn> {
    let extracted = AnswerForm::new(submit).find_in_text(&reply.turn.full_text(), request)?;
    let mut parts = thinking_parts(reply);
    parts.push(TurnPart::Call(ToolCall {
        id: call_id(first_id),
        name: submit.name.clone(),
        arguments: CallArguments::Json(Value::Object(extracted.object)),
        signatures: Vec::new(),
    }));
    let completeness = text_completeness(reply, extracted.completeness);
    Some(ParsedTurn { turn: Turn { parts }, completeness })
}

/// Reads calls that the model wrote as text. Small models do so, although the server offers native
/// calls.
fn parse_call_text(reply: &ModelReply, tools: &[ToolSpec], first_id: usize) -> Option<ParsedTurn> {
    let is_call = |object: &Map<String, Value>| {
        object.contains_key("arguments") && object.get("name").is_some_and(Value::is_string)
    };
    let calls = extract::find_block(&reply.turn.full_text(), is_call);
    let is_known = |call: &Map<String, Value>| tools.iter().any(|tool| call["name"] == *tool.name);
    if !calls.iter().any(is_known) {
        return None;
    }
    let mut parts = thinking_parts(reply);
    for (number, call) in (first_id..).zip(calls) {
        let (name, arguments) = name_and_arguments(Value::Object(call)).ok()?;
        let (id, signatures) = (call_id(number), Vec::new());
        parts.push(TurnPart::Call(ToolCall { id, name, arguments, signatures }));
    }
    Some(ParsedTurn { turn: Turn { parts }, completeness: Completeness::Complete })
}

/// The turn with a tool call that the model wrote as text, if an agent run would execute that call.
pub fn call_in_text(reply: &ModelReply, tools: &[ToolSpec]) -> Option<Turn> {
    parse_call_text(reply, tools, 0).map(|parsed| parsed.turn)
}

fn thinking_parts(reply: &ModelReply) -> Vec<TurnPart> {
    let is_thinking = |part: &&TurnPart| matches!(part, TurnPart::Thinking(_));
    reply.turn.parts.iter().filter(is_thinking).cloned().collect()
}

/// A model that stopped by itself has said everything, even if it forgot to close a bracket.
fn text_completeness(reply: &ModelReply, extracted: Completeness) -> Completeness {
    if reply.stop == StopCause::Length { extracted } else { Completeness::Complete }
}

/// Reads a turn from a JSON object in the text, or from an answer without that object around it.
fn parse_text_turn(
    reply: &ModelReply,
    submit: &ToolSpec,
    request: SubmitRequest,
    first_id: usize,
) -> Result<ParsedTurn, String> {
    let text = reply.turn.full_text();
    let extracted = match extract::find_object(&text, &[CALLS, ANSWER]) {
        Ok(extracted) => extracted,
        Err(error @ ExtractError::Ambiguous(_)) => return Err(error.to_string()),
        Err(error) => {
            return parse_answer_text(reply, submit, request, first_id)
                .ok_or_else(|| error.to_string());
        }
    };
    let completeness = text_completeness(reply, extracted.completeness);
    let placement = extracted.placement;
    let mut object = extracted.object;
    let answer = object.remove(ANSWER).filter(|answer| !answer.is_null());
    if answer.is_some() && placement != Placement::Alone {
        return Err("the JSON object must be on its own lines, at the end of the text".to_owned());
    }
    let calls = match object.remove(CALLS) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(format!("`{CALLS}` is not a list")),
    };
    let mut parts = thinking_parts(reply);
    let count = calls.len();
    for (index, call) in calls.into_iter().enumerate() {
        let (name, mut arguments) = name_and_arguments(call)?;
        if completeness == Completeness::Truncated && index + 1 == count {
            arguments = match arguments {
                CallArguments::Json(value) => CallArguments::Malformed(value.to_string()),
                CallArguments::Malformed(text) => CallArguments::Malformed(text),
            };
        }
        parts.push(TurnPart::Call(ToolCall {
            id: call_id(first_id + index),
            name,
            arguments,
            signatures: Vec::new(),
        }));
    }
    if let Some(answer) = answer {
        let arguments = CallArguments::Json(answer);
        let id = call_id(first_id + count);
        parts.push(TurnPart::Call(ToolCall {
            id,
            name: submit.name.clone(),
            arguments,
            signatures: Vec::new(),
        }));
    } else if count == 0 {
        parts.push(TurnPart::Text(text));
    }
    Ok(ParsedTurn { turn: Turn { parts }, completeness })
}

/// Name and arguments of a call. Arguments may be missing, or be JSON in a string as in some
/// vendors' native calls.
fn name_and_arguments(call: Value) -> Result<(String, CallArguments), String> {
    let Value::Object(mut call) = call else {
        return Err(format!("`{CALLS}` holds something that is no object"));
    };
    let Some(Value::String(name)) = call.remove("name") else {
        return Err(format!("a call in `{CALLS}` has no `name`"));
    };
    let arguments = match call.remove("arguments") {
        None | Some(Value::Null) => CallArguments::Json(json!({})),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(arguments) => CallArguments::Json(arguments),
            Err(_) => CallArguments::Malformed(text),
        },
        Some(arguments) => CallArguments::Json(arguments),
    };
    Ok((name, arguments))
}

/// Rewrites a conversation for a model without native tool calls: tools move to the system prompt,
/// calls become JSON objects, results become user messages.
fn conversation_as_text(
    conversation: &Conversation,
    tools: &[ToolSpec],
    submit: &ToolSpec,
) -> Conversation {
    let instructions = model_texts::instructions(tools, submit);
    let messages = conversation.messages.iter().map(|message| match message {
        Message::User(text) => Message::User(text.clone()),
        Message::Assistant(turn) => Message::Assistant(turn_as_text(turn, &submit.name)),
        Message::Results(results) => {
            let text = results.iter().map(fenced_result).collect::<Vec<_>>().join("\n");
            Message::User(UserText { text, cache: CacheMark::Unmarked })
        }
    });
    Conversation {
        system: format!("{}\n\n{instructions}", conversation.system),
        messages: messages.collect(),
    }
}

fn turn_as_text(turn: &Turn, submit: &str) -> Turn {
    let mut parts: Vec<TurnPart> =
        turn.parts.iter().filter(|part| !matches!(part, TurnPart::Call(_))).cloned().collect();
    let mut calls = Vec::new();
    let mut answer = Value::Null;
    for call in turn.calls() {
        let arguments = match &call.arguments {
            CallArguments::Json(value) => value.clone(),
            CallArguments::Malformed(text) => Value::from(text.as_str()),
        };
        if call.name == submit {
            answer = arguments;
        } else {
            calls.push(json!({ "arguments": arguments, "name": call.name }));
        }
    }
    if !calls.is_empty() || !answer.is_null() {
        parts.push(TurnPart::Text(json!({ ANSWER: answer, CALLS: calls }).to_string()));
    }
    Turn { parts }
}

/// Wraps a result in a fence that its content cannot forge, because the fence contains a hash of
/// the content.
fn fenced_result(result: &ToolResult) -> String {
    let hash = Sha256::digest(result.text.as_bytes());
    let tag: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let ToolResult { call_id, name, text } = result;
    format!("<result-{tag} of {call_id:?} {name:?}>\n{text}\n</result-{tag}>")
}

fn turn_schema(tools: &[ToolSpec], submit: &ToolSpec, demand: TurnDemand) -> Value {
    let mut defs = Map::new();
    let answer = embedded_schema(submit, &mut defs);
    let mut properties = Map::new();
    if demand == TurnDemand::Submit || tools.is_empty() {
        properties.insert(ANSWER.to_owned(), answer);
    } else {
        let call = |tool: &ToolSpec| {
            let properties = json!({
                "arguments": embedded_schema(tool, &mut defs),
                "name": { "type": "string", "enum": [tool.name] },
            });
            object_schema(properties)
        };
        let calls: Vec<Value> = tools.iter().map(call).collect();
        properties.insert(ANSWER.to_owned(), json!({ "anyOf": [answer, { "type": "null" }] }));
        properties
            .insert(CALLS.to_owned(), json!({ "type": "array", "items": { "anyOf": calls } }));
    }
    let mut schema = object_schema(Value::Object(properties));
    if let (false, Some(schema)) = (defs.is_empty(), schema.as_object_mut()) {
        schema.insert("$defs".to_owned(), Value::Object(defs));
    }
    schema
}

fn object_schema(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// Embeds a tool's schema: definitions move to the root and get the tool's name as a prefix.
fn embedded_schema(tool: &ToolSpec, defs: &mut Map<String, Value>) -> Value {
    let mut schema = tool.schema.clone();
    let own_defs = schema.as_object_mut().map(|schema| {
        schema.remove("$schema");
        schema.remove("$defs")
    });
    rename_references(&mut schema, &tool.name);
    if let Some(Some(Value::Object(own_defs))) = own_defs {
        for (name, mut definition) in own_defs {
            rename_references(&mut definition, &tool.name);
            defs.insert(format!("{}_{name}", tool.name), definition);
        }
    }
    schema
}

fn rename_references(schema: &mut Value, tool: &str) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                let name = value.as_str().and_then(|value| value.strip_prefix("#/$defs/"));
                if let ("$ref", Some(name)) = (key.as_str(), name) {
                    *value = Value::from(format!("#/$defs/{tool}_{name}"));
                } else {
                    rename_references(value, tool);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename_references(value, tool)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
