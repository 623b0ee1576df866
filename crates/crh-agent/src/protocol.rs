//! The ways in which a model can be asked to work with tools: by tool calls, by output held to a schema, by plain text.
//!
//! The run knows calls and results only. Here a conversation of these becomes a request that the model understands, and
//! its reply becomes a turn of calls again; the answer is a call of the submit tool in every way.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::extract::Ending;
use crate::{extract, words};
use crh_llm::{
    Abilities, Arguments, Cache, Conversation, Message, OutputForm, Part, Reply, Stop, ToolCall,
    ToolChoice, ToolResult, ToolSpec, Turn, UserText,
};

/// Keys of the object that is a turn where there is no tool calling.
const CALLS: &str = "calls";
const ANSWER: &str = "answer";

/// Words by which a vendor says that it does not know what a way needs.
const ABOUT_TOOLS: [&str; 6] =
    ["tool", "function", "response_format", "schema", "structured output", "text.format"];

/// How a model is asked to work with tools, the best way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It calls tools, and can be made to.
    Tools,
    /// It calls tools as it likes: its vendor does not let us choose, as some do not for models that think.
    FreeTools,
    /// Each turn is an object that the vendor holds to a schema.
    Schema,
    /// Each turn is such an object, asked for in words.
    Text,
}

/// What a turn has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Whatever the model likes.
    Nothing,
    /// Call something: end silently it may not.
    Call,
    /// Submit the answer.
    Submit,
}

/// What a request says about tools besides the conversation.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) conversation: Conversation,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) output: OutputForm,
}

/// A turn in calls.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    /// The turn as it goes into the conversation.
    pub(crate) turn: Turn,
    /// Whether it was cut off in the middle of something.
    pub(crate) ending: Ending,
}

impl Way {
    /// The best way for a model.
    pub(crate) fn best(abilities: Abilities) -> Self {
        match abilities {
            Abilities { tools: true, .. } => Self::Tools,
            Abilities { tools: false, schema: true } => Self::Schema,
            Abilities { tools: false, schema: false } => Self::Text,
        }
    }

    /// The next way, if the vendor's complaint about a request is about this one.
    pub(crate) fn after(
        self,
        complaint: &str,
        demand: Demand,
        abilities: Abilities,
    ) -> Option<Self> {
        let complaint = complaint.to_lowercase();
        if !ABOUT_TOOLS.iter().any(|word| complaint.contains(word)) {
            return None;
        }
        match self {
            Self::Tools if demand != Demand::Nothing && complaint.contains("tool_choice") => {
                Some(Self::FreeTools)
            }
            Self::Tools | Self::FreeTools if abilities.schema => Some(Self::Schema),
            Self::Tools | Self::FreeTools | Self::Schema => Some(Self::Text),
            Self::Text => None,
        }
    }

    /// A request of this way. Message stands for message, so that later requests begin with the bytes of earlier ones.
    pub(crate) fn form(
        self,
        conversation: &Conversation,
        tools: &[ToolSpec],
        submit: &ToolSpec,
        demand: Demand,
    ) -> Form {
        match self {
            Self::Tools | Self::FreeTools => Form {
                conversation: conversation.clone(),
                tools: with_submit(tools, submit),
                tool_choice: match (self, demand) {
                    (Self::Tools, Demand::Submit) => ToolChoice::Named(submit.name.clone()),
                    (Self::Tools, Demand::Call) => ToolChoice::Required,
                    (_, Demand::Nothing | Demand::Call | Demand::Submit) => ToolChoice::Auto,
                },
                output: OutputForm::Text,
            },
            Self::Schema | Self::Text => {
                let others: Vec<ToolSpec> =
                    tools.iter().filter(|tool| tool.name != submit.name).cloned().collect();
                Form {
                    conversation: in_words(conversation, &others, submit),
                    tools: Vec::new(),
                    tool_choice: ToolChoice::Auto,
                    output: match self {
                        Self::Schema => OutputForm::Schema {
                            name: "turn".to_owned(),
                            schema: schema(&others, submit, demand),
                        },
                        Self::Tools | Self::FreeTools | Self::Text => OutputForm::Text,
                    },
                }
            }
        }
    }

    /// Reads a reply, or says why it is no turn. `first_id` numbers calls that come without an id.
    pub(crate) fn read(self, reply: &Reply, submit: &str, first_id: usize) -> Result<Said, String> {
        match self {
            Self::Tools | Self::FreeTools => Ok(called(reply, first_id)),
            Self::Schema | Self::Text => written(reply, submit, first_id),
        }
    }
}

/// The list of tools with the one that submits, wherever it stands: runs that share a list share the bytes of it.
fn with_submit(tools: &[ToolSpec], submit: &ToolSpec) -> Vec<ToolSpec> {
    let is_there = tools.iter().any(|tool| tool.name == submit.name);
    tools.iter().chain((!is_there).then_some(submit)).cloned().collect()
}

/// A turn of tool calls. Calls without an id, or with the id of another one in the turn, get one of ours, since vendors
/// tell results apart by it.
fn called(reply: &Reply, first_id: usize) -> Said {
    let mut turn = reply.turn.clone();
    let mut seen: Vec<String> = Vec::new();
    for part in &mut turn.parts {
        let Part::Call(call) = part else { continue };
        if call.id.is_empty() || seen.contains(&call.id) {
            call.id = call_id(first_id + seen.len());
        }
        seen.push(call.id.clone());
    }
    let half = match turn.calls().last() {
        Some(call) => matches!(call.arguments, Arguments::Malformed(_)),
        None => true,
    };
    let ending = if reply.stop == Stop::Length && half { Ending::Cut } else { Ending::Whole };
    Said { turn, ending }
}

fn call_id(number: usize) -> String {
    format!("call_{number}")
}

/// A turn that was written as an object.
fn written(reply: &Reply, submit: &str, first_id: usize) -> Result<Said, String> {
    let text = reply.turn.said();
    let found = extract::object(&text, &[CALLS, ANSWER]).map_err(|error| error.to_string())?;
    let ending = if reply.stop == Stop::Length { found.ending } else { Ending::Whole };
    let mut object = found.object;
    let answer = object.remove(ANSWER).filter(|answer| !answer.is_null());
    let calls = match object.remove(CALLS) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(format!("`{CALLS}` is not a list")),
    };
    let mut parts: Vec<Part> =
        reply.turn.parts.iter().filter(|part| matches!(part, Part::Thinking(_))).cloned().collect();
    let count = calls.len();
    for (index, call) in calls.into_iter().enumerate() {
        let (name, mut arguments) = name_and_arguments(call)?;
        if ending == Ending::Cut && answer.is_none() && index + 1 == count {
            arguments = match arguments {
                Arguments::Json(value) => Arguments::Malformed(value.to_string()),
                Arguments::Malformed(text) => Arguments::Malformed(text),
            };
        }
        parts.push(Part::Call(ToolCall {
            id: call_id(first_id + index),
            name,
            arguments,
            signatures: Vec::new(),
        }));
    }
    if let Some(answer) = answer {
        let arguments = Arguments::Json(answer);
        let id = call_id(first_id + count);
        parts.push(Part::Call(ToolCall {
            id,
            name: submit.to_owned(),
            arguments,
            signatures: Vec::new(),
        }));
    } else if count == 0 {
        parts.push(Part::Text(text));
    }
    Ok(Said { turn: Turn { parts }, ending })
}

/// Arguments may be left out, or be JSON in a string as in some vendors' own tool calls.
fn name_and_arguments(call: Value) -> Result<(String, Arguments), String> {
    let Value::Object(mut call) = call else {
        return Err(format!("`{CALLS}` holds something that is no object"));
    };
    let Some(Value::String(name)) = call.remove("name") else {
        return Err(format!("a call in `{CALLS}` has no `name`"));
    };
    let arguments = match call.remove("arguments") {
        None | Some(Value::Null) => Arguments::Json(json!({})),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(arguments) => Arguments::Json(arguments),
            Err(_) => Arguments::Malformed(text),
        },
        Some(arguments) => Arguments::Json(arguments),
    };
    Ok((name, arguments))
}

/// The conversation for a model that has no tool calls: the tools stand in the rules, calls are the object that the
/// model is asked for, results are a message of ours.
fn in_words(conversation: &Conversation, tools: &[ToolSpec], submit: &ToolSpec) -> Conversation {
    let instructions = words::instructions(tools, submit);
    let messages = conversation.messages.iter().map(|message| match message {
        Message::User(text) => Message::User(text.clone()),
        Message::Assistant(turn) => Message::Assistant(turn_in_words(turn, &submit.name)),
        Message::Results(results) => {
            let text = results.iter().map(fenced).collect::<Vec<_>>().join("\n");
            Message::User(UserText { text, cache: Cache::Unmarked })
        }
    });
    Conversation {
        system: format!("{}\n\n{instructions}", conversation.system),
        messages: messages.collect(),
    }
}

fn turn_in_words(turn: &Turn, submit: &str) -> Turn {
    let mut parts: Vec<Part> =
        turn.parts.iter().filter(|part| !matches!(part, Part::Call(_))).cloned().collect();
    let mut calls = Vec::new();
    let mut answer = Value::Null;
    for call in turn.calls() {
        let arguments = match &call.arguments {
            Arguments::Json(value) => value.clone(),
            Arguments::Malformed(text) => Value::from(text.as_str()),
        };
        if call.name == submit {
            answer = arguments;
        } else {
            calls.push(json!({ "arguments": arguments, "name": call.name }));
        }
    }
    if !calls.is_empty() || !answer.is_null() {
        parts.push(Part::Text(json!({ ANSWER: answer, CALLS: calls }).to_string()));
    }
    Turn { parts }
}

/// A result between marks that it cannot forge: they carry the hash of what stands between them.
fn fenced(result: &ToolResult) -> String {
    let hash = Sha256::digest(result.text.as_bytes());
    let tag: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let ToolResult { call_id, name, text } = result;
    format!("<result-{tag} of {call_id:?} {name:?}>\n{text}\n</result-{tag}>")
}

/// The schema of a turn.
fn schema(tools: &[ToolSpec], submit: &ToolSpec, demand: Demand) -> Value {
    let mut defs = Map::new();
    let answer = embedded(submit, &mut defs);
    let mut properties = Map::new();
    if demand == Demand::Submit || tools.is_empty() {
        properties.insert(ANSWER.to_owned(), answer);
    } else {
        let call = |tool: &ToolSpec| {
            let properties = json!({
                "arguments": embedded(tool, &mut defs),
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

/// An object with exactly these properties.
fn object_schema(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// A tool's schema as part of a larger one: its definitions move to the root, under names that no other tool has.
fn embedded(tool: &ToolSpec, defs: &mut Map<String, Value>) -> Value {
    let mut schema = tool.schema.clone();
    let own = schema.as_object_mut().map(|schema| {
        schema.remove("$schema");
        schema.remove("$defs")
    });
    rename_references(&mut schema, &tool.name);
    if let Some(Some(Value::Object(own))) = own {
        for (name, mut definition) in own {
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
#[path = "protocol/tests.rs"]
mod tests;
