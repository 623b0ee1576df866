//! Converts requests to the types of the client library (genai). No I/O.

use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, JsonSpec, MessageContent,
    ReasoningEffort, Tool, ToolResponse,
};
use serde_json::{Value, json};

use crate::{
    CacheMark, CallArguments, Effort, Message, ModelRequest, OutputForm, Thinking, ToolCall,
    ToolChoice, ToolSpec, Turn, TurnPart, Wire,
};

/// Maximum cache breakpoints of one request, set by Anthropic.
const MAX_BREAKPOINTS: usize = 4;

/// Field that holds arguments that are not a JSON object, because most vendors accept only an
/// object.
const MALFORMED_FIELD: &str = "malformed_arguments";

/// Model name suffixes that the client would interpret as a reasoning effort and remove.
const EFFORT_SUFFIXES: [&str; 8] =
    ["low", "medium", "high", "xhigh", "max", "minimal", "none", "zero"];

pub(super) fn adapter(wire: Wire) -> AdapterKind {
    match wire {
        Wire::OpenAiChat => AdapterKind::OpenAI,
        Wire::OpenAiResponses => AdapterKind::OpenAIResp,
        Wire::Anthropic => AdapterKind::Anthropic,
        Wire::Gemini => AdapterKind::Gemini,
    }
}

/// Model name for the client, which removes suffixes such as `-max`. A trailing hyphen prevents
/// that. The request contains the exact name: see `chat_options` and, for Gemini, the URL.
pub(super) fn client_name(model: &str) -> String {
    match model.rsplit_once('-') {
        Some((_, suffix)) if EFFORT_SUFFIXES.contains(&suffix) => format!("{model}-"),
        Some(_) | None => model.to_owned(),
    }
}

pub(super) fn chat_request(wire: Wire, request: &ModelRequest) -> ChatRequest {
    let conversation = &request.conversation;
    let marked_messages = match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Anthropic => {
            breakpoints(&conversation.messages)
        }
        // Google caches without breakpoints.
        Wire::Gemini => Vec::new(),
    };
    let mut messages = Vec::new();
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(client_message) = chat_message(wire, message) else { continue };
        messages.push(match marked_messages.contains(&index) {
            true => client_message.with_options(CacheControl::Ephemeral),
            false => client_message,
        });
    }
    let mut chat = ChatRequest::new(messages);
    chat.system = (!conversation.system.is_empty()).then(|| conversation.system.clone());
    chat.tools = (!request.tools.is_empty())
        .then(|| request.tools.iter().map(|spec| client_tool(wire, spec)).collect());
    chat
}

pub(super) fn chat_options(wire: Wire, model: &str, request: &ModelRequest) -> ChatOptions {
    let effort = request.effort.map(|effort| match effort {
        Effort::Low => ReasoningEffort::Low,
        Effort::Medium => ReasoningEffort::Medium,
        Effort::High => ReasoningEffort::High,
    });
    // Anthropic and OpenAI return thoughts only if the request asks for them, and OpenAI rejects
    // that for models without reasoning. Google sends its signatures unasked.
    let keep_thoughts = match wire {
        Wire::Anthropic => true,
        Wire::OpenAiResponses => effort.is_some() || is_reasoning_model(model),
        Wire::OpenAiChat | Wire::Gemini => false,
    };
    let extra_body = match wire {
        Wire::OpenAiChat | Wire::Anthropic => Some(json!({ "model": model })),
        // The client would request a summary of the thoughts, which OpenAI allows only for verified
        // organisations.
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
        // `auto` is not sent, because it is the default.
        tool_choice: match &request.tool_choice {
            _ if request.tools.is_empty() => None,
            // Anthropic rejects a forced call together with reasoning.
            _ if wire == Wire::Anthropic && request.effort.is_some() => None,
            ToolChoice::Auto => None,
            ToolChoice::Required => Some(genai::chat::ToolChoice::Required),
            ToolChoice::Named(name) => Some(genai::chat::ToolChoice::tool(name.clone())),
        },
        capture_usage: Some(true),
        capture_content: Some(true),
        capture_reasoning_content: Some(keep_thoughts),
        // `frames.rs` collects the tool calls of a chat.
        capture_tool_calls: Some(wire != Wire::OpenAiChat),
        extra_body,
        ..ChatOptions::default()
    }
}

/// Whether an OpenAI model reasons: the o series, and GPT-5 or later.
fn is_reasoning_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let generation = |rest: &str| rest.chars().next().and_then(|digit| digit.to_digit(10));
    match (name.strip_prefix("gpt-"), name.strip_prefix('o')) {
        (Some(rest), _) => generation(rest).is_some_and(|number| number >= 5),
        (None, Some(rest)) => generation(rest).is_some(),
        (None, None) => false,
    }
}

/// Indexes of messages with a cache breakpoint: messages that the caller marked, which several runs
/// share. If there are any and the last message holds tool results, it gets one too, so that the
/// next turn reads everything up to it from the cache. If there are more than [`MAX_BREAKPOINTS`],
/// the first and the last ones are kept.
fn breakpoints(messages: &[Message]) -> Vec<usize> {
    let mut marked_messages: Vec<usize> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::User(user_text) if user_text.cache == CacheMark::Breakpoint => {
                marked_messages.push(index);
            }
            Message::Results(_) if index + 1 == messages.len() && !marked_messages.is_empty() => {
                marked_messages.push(index);
            }
            Message::User(_) | Message::Results(_) | Message::Assistant(_) => {}
        }
    }
    if marked_messages.len() > MAX_BREAKPOINTS {
        marked_messages.drain(1..=marked_messages.len() - MAX_BREAKPOINTS);
    }
    marked_messages
}

fn chat_message(wire: Wire, message: &Message) -> Option<ChatMessage> {
    match message {
        Message::User(user_text) => Some(ChatMessage::user(user_text.text.clone())),
        Message::Assistant(turn) => assistant_message(wire, turn),
        Message::Results(results) => {
            let responses = results.iter().map(|result| {
                ToolResponse::new(&result.call_id, &result.text).with_fn_name(&result.name)
            });
            Some(ChatMessage::from(responses.collect::<Vec<_>>()))
        }
    }
}

/// Converts a turn. An empty turn is skipped because vendors reject it.
fn assistant_message(wire: Wire, turn: &Turn) -> Option<ChatMessage> {
    let mut parts: Vec<ContentPart> = Vec::new();
    let mut has_content = false;
    for part in &turn.parts {
        match part {
            // Anthropic rejects text of only whitespace.
            TurnPart::Text(text) if text.trim().is_empty() => {}
            TurnPart::Text(text) => {
                has_content = true;
                parts.push(ContentPart::Text(text.clone()));
            }
            // Chat vendors want thoughts only in turns with a tool call; some reject others.
            TurnPart::Thinking(_) if wire == Wire::OpenAiChat && turn.calls().next().is_none() => {}
            TurnPart::Thinking(thinking) => parts.extend(thinking_parts(wire, thinking)),
            TurnPart::Call(call) => {
                has_content = true;
                parts.push(ContentPart::ToolCall(client_tool_call(call)));
            }
        }
    }
    has_content.then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

/// Thoughts to send back, if the vendor wants them.
fn thinking_parts(wire: Wire, thinking: &Thinking) -> Vec<ContentPart> {
    let signature_part = |signature: &String| ContentPart::ThoughtSignature(signature.clone());
    match (wire, thinking) {
        // Anthropic accepts only signed thoughts.
        (Wire::Anthropic, Thinking::Readable { text, signature: Some(signature) }) => {
            let text = text.clone().unwrap_or_default();
            vec![signature_part(signature), ContentPart::ReasoningContent(text)]
        }
        (
            Wire::OpenAiResponses | Wire::Gemini,
            Thinking::Readable { signature: Some(signature), .. },
        ) => {
            vec![signature_part(signature)]
        }
        (Wire::OpenAiChat, Thinking::Readable { text: Some(text), .. }) => {
            vec![ContentPart::ReasoningContent(text.clone())]
        }
        (Wire::Anthropic | Wire::OpenAiChat, Thinking::Sealed(block)) => {
            vec![ContentPart::from_custom(block.clone(), None)]
        }
        (Wire::OpenAiResponses | Wire::Gemini, Thinking::Sealed(_))
        | (_, Thinking::Readable { .. }) => Vec::new(),
    }
}

fn client_tool_call(call: &ToolCall) -> genai::chat::ToolCall {
    let arguments = match &call.arguments {
        CallArguments::Json(object @ Value::Object(_)) => object.clone(),
        CallArguments::Json(Value::Null) => json!({}),
        CallArguments::Json(other) => json!({ MALFORMED_FIELD: other }),
        CallArguments::Malformed(text) => json!({ MALFORMED_FIELD: text }),
    };
    genai::chat::ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: arguments,
        thought_signatures: (!call.signatures.is_empty()).then(|| call.signatures.clone()),
    }
}

fn client_tool(wire: Wire, spec: &ToolSpec) -> Tool {
    let tool = Tool::new(spec.name.clone())
        .with_description(spec.description.clone())
        .with_schema(spec.schema.clone());
    match wire {
        // By default, the Responses API makes every optional field required.
        Wire::OpenAiResponses => tool.with_strict(false),
        Wire::OpenAiChat | Wire::Anthropic | Wire::Gemini => tool,
    }
}

#[cfg(test)]
mod tests;
