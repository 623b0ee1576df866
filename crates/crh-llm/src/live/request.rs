//! A request in the client's words. Pure.

use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, JsonSpec, MessageContent,
    ReasoningEffort, Tool, ToolResponse,
};
use serde_json::{Value, json};

use crate::{
    Arguments, Cache, Effort, Message, OutputForm, Part, Request, Thinking, ToolCall, ToolChoice,
    ToolSpec, Turn, Wire,
};

/// The most cache breakpoints of one request; Anthropic refuses more.
const MAX_BREAKPOINTS: usize = 4;

/// The name under which arguments go back that are no JSON object. Most vendors take nothing but an object.
const MALFORMED: &str = "malformed_arguments";

/// Endings of a model's name that the client would take for an effort and cut off.
const EFFORTS: [&str; 8] = ["low", "medium", "high", "xhigh", "max", "minimal", "none", "zero"];

pub(super) fn adapter(wire: Wire) -> AdapterKind {
    match wire {
        Wire::OpenAiChat => AdapterKind::OpenAI,
        Wire::OpenAiResponses => AdapterKind::OpenAIResp,
        Wire::Anthropic => AdapterKind::Anthropic,
        Wire::Gemini => AdapterKind::Gemini,
    }
}

/// The model's name for the client, which goes by its beginning and would cut a word like `-max` off its end. The
/// wire carries the exact name all the same: see `options` and, for Gemini, the address.
pub(super) fn client_name(model: &str) -> String {
    match model.rsplit_once('-') {
        Some((_, end)) if EFFORTS.contains(&end) => format!("{model}-"),
        Some(_) | None => model.to_owned(),
    }
}

/// What is said.
pub(super) fn chat(wire: Wire, request: &Request) -> ChatRequest {
    let conversation = &request.conversation;
    let marked = match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Anthropic => {
            breakpoints(&conversation.messages)
        }
        // Google's cache finds shared beginnings by itself.
        Wire::Gemini => Vec::new(),
    };
    let mut messages = Vec::new();
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(said) = said(wire, message) else { continue };
        messages.push(match marked.contains(&index) {
            true => said.with_options(CacheControl::Ephemeral),
            false => said,
        });
    }
    let mut chat = ChatRequest::new(messages);
    chat.system = (!conversation.system.is_empty()).then(|| conversation.system.clone());
    chat.tools = (!request.tools.is_empty())
        .then(|| request.tools.iter().map(|spec| tool(wire, spec)).collect());
    chat
}

/// How it is asked.
pub(super) fn options(wire: Wire, model: &str, request: &Request) -> ChatOptions {
    let effort = request.effort.map(|effort| match effort {
        Effort::Low => ReasoningEffort::Low,
        Effort::Medium => ReasoningEffort::Medium,
        Effort::High => ReasoningEffort::High,
    });
    // What a thinking model thought has to be asked for at Anthropic's and OpenAI's, and OpenAI refuses the question
    // for models that do not think. Google sends what has to go back unasked.
    let keep_thoughts = match wire {
        Wire::Anthropic => true,
        Wire::OpenAiResponses => effort.is_some() || thinks(model),
        Wire::OpenAiChat | Wire::Gemini => false,
    };
    let exact = match wire {
        Wire::OpenAiChat | Wire::Anthropic => Some(json!({ "model": model })),
        // The client would ask for a summary of the thoughts, which OpenAI gives to verified organisations alone.
        Wire::OpenAiResponses => Some(match (keep_thoughts, &effort) {
            (true, Some(effort)) => {
                json!({ "model": model, "reasoning": { "effort": effort.variant_name() } })
            }
            (true, None) => json!({ "model": model, "reasoning": null }),
            (false, _) => json!({ "model": model }),
        }),
        Wire::Gemini => None,
    };
    ChatOptions {
        max_tokens: Some(request.max_output_tokens),
        temperature: request.temperature,
        reasoning_effort: effort,
        response_format: match &request.output {
            OutputForm::Text => None,
            OutputForm::Schema { name, schema } => {
                Some(JsonSpec::new(name.clone(), schema.clone()).into())
            }
        },
        // `auto` is what vendors do by themselves, and some servers know no other word.
        tool_choice: match &request.tool_choice {
            _ if request.tools.is_empty() => None,
            ToolChoice::Auto => None,
            ToolChoice::Required => Some(genai::chat::ToolChoice::Required),
            ToolChoice::Named(name) => Some(genai::chat::ToolChoice::tool(name.clone())),
        },
        capture_usage: Some(true),
        capture_content: Some(true),
        capture_reasoning_content: Some(keep_thoughts),
        // `frames.rs` says why the calls of a chat are not the client's to keep.
        capture_tool_calls: Some(wire != Wire::OpenAiChat),
        extra_body: exact,
        ..ChatOptions::default()
    }
}

/// Whether OpenAI's model of this name thinks: the o series, and everything from GPT-5 on.
fn thinks(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let generation = |rest: &str| rest.chars().next().and_then(|digit| digit.to_digit(10));
    match (name.strip_prefix("gpt-"), name.strip_prefix('o')) {
        (Some(rest), _) => generation(rest).is_some_and(|number| number >= 5),
        (None, Some(rest)) => generation(rest).is_some(),
        (None, None) => false,
    }
}

/// The messages to mark. What the caller marked is shared between runs; the newest results are marked as well, so that
/// the next turn of the same run reads everything before them from the cache. Where there are too many, the first
/// (the shared beginning) and the last ones stay.
fn breakpoints(messages: &[Message]) -> Vec<usize> {
    let mut marked: Vec<usize> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::User(said) if said.cache == Cache::Breakpoint => marked.push(index),
            Message::Results(_) if index + 1 == messages.len() && !marked.is_empty() => {
                marked.push(index);
            }
            Message::User(_) | Message::Results(_) | Message::Assistant(_) => {}
        }
    }
    if marked.len() > MAX_BREAKPOINTS {
        marked.drain(1..=marked.len() - MAX_BREAKPOINTS);
    }
    marked
}

fn said(wire: Wire, message: &Message) -> Option<ChatMessage> {
    match message {
        Message::User(said) => Some(ChatMessage::user(said.text.clone())),
        Message::Assistant(turn) => assistant(wire, turn),
        Message::Results(results) => {
            let responses = results.iter().map(|result| {
                ToolResponse::new(&result.call_id, &result.text).with_fn_name(&result.name)
            });
            Some(ChatMessage::from(responses.collect::<Vec<_>>()))
        }
    }
}

/// A turn of the model. One without words or calls cannot be sent: vendors refuse an empty message.
fn assistant(wire: Wire, turn: &Turn) -> Option<ChatMessage> {
    let mut parts: Vec<ContentPart> = Vec::new();
    let mut says_something = false;
    for part in &turn.parts {
        match part {
            // Anthropic refuses text of spaces alone.
            Part::Text(text) if text.trim().is_empty() => {}
            Part::Text(text) => {
                says_something = true;
                parts.push(ContentPart::Text(text.clone()));
            }
            // Who wants thoughts back in a chat wants those before a call; some refuse the others.
            Part::Thinking(_) if wire == Wire::OpenAiChat && turn.calls().next().is_none() => {}
            Part::Thinking(thinking) => parts.extend(thought(wire, thinking)),
            Part::Call(call) => {
                says_something = true;
                parts.push(ContentPart::ToolCall(called(call)));
            }
        }
    }
    says_something.then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

/// Thoughts as the vendor wants them back; nothing where it does not.
fn thought(wire: Wire, thinking: &Thinking) -> Vec<ContentPart> {
    let signed = |signature: &String| ContentPart::ThoughtSignature(signature.clone());
    match (wire, thinking) {
        // Anthropic takes thoughts with their signature only.
        (Wire::Anthropic, Thinking::Said { text, signature: Some(signature) }) => {
            let text = text.clone().unwrap_or_default();
            vec![signed(signature), ContentPart::ReasoningContent(text)]
        }
        (
            Wire::OpenAiResponses | Wire::Gemini,
            Thinking::Said { signature: Some(signature), .. },
        ) => {
            vec![signed(signature)]
        }
        (Wire::OpenAiChat, Thinking::Said { text: Some(text), .. }) => {
            vec![ContentPart::ReasoningContent(text.clone())]
        }
        (Wire::Anthropic | Wire::OpenAiChat, Thinking::Sealed(block)) => {
            vec![ContentPart::from_custom(block.clone(), None)]
        }
        (Wire::OpenAiResponses | Wire::Gemini, Thinking::Sealed(_))
        | (_, Thinking::Said { .. }) => Vec::new(),
    }
}

fn called(call: &ToolCall) -> genai::chat::ToolCall {
    let arguments = match &call.arguments {
        Arguments::Json(object @ Value::Object(_)) => object.clone(),
        Arguments::Json(Value::Null) => json!({}),
        Arguments::Json(other) => json!({ MALFORMED: other }),
        Arguments::Malformed(text) => json!({ MALFORMED: text }),
    };
    genai::chat::ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: arguments,
        thought_signatures: (!call.signatures.is_empty()).then(|| call.signatures.clone()),
    }
}

fn tool(wire: Wire, spec: &ToolSpec) -> Tool {
    let tool = Tool::new(spec.name.clone())
        .with_description(spec.description.clone())
        .with_schema(spec.schema.clone());
    match wire {
        // Left alone, OpenAI makes every optional field of the schema a required one here.
        Wire::OpenAiResponses => tool.with_strict(false),
        Wire::OpenAiChat | Wire::Anthropic | Wire::Gemini => tool,
    }
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
