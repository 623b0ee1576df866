//! Shared set-up of the live client tests: the four APIs, a model at a loopback server, and short
//! printed replies.

use std::fmt::Write as _;

use serde_json::json;

use crh_llm::{
    CacheMark, CallArguments, Conversation, Endpoint, ModelError, ModelReply, ModelRequest,
    NetworkSettings, ReplyProgress, Thinking, ToolSpec, TurnPart, VendorClient, Wire,
};

pub(crate) const WIRES: [Wire; 4] =
    [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic, Wire::Gemini];

pub(crate) const KEY: &str = "sk-live-0123456789abcdefghij";

pub(crate) fn endpoint(wire: Wire, url: impl AsRef<str>) -> Endpoint {
    let model = match wire {
        Wire::OpenAiChat => "gpt-4.1-mini",
        Wire::OpenAiResponses => "gpt-5.2",
        Wire::Anthropic => "claude-sonnet-4-6",
        Wire::Gemini => "gemini-3-flash",
    };
    Endpoint {
        wire,
        url: url.as_ref().parse().unwrap(),
        key: Some(KEY.into()),
        model: model.to_owned(),
    }
}

pub(crate) fn live(wire: Wire, url: impl AsRef<str>) -> VendorClient {
    client(endpoint(wire, url))
}

pub(crate) fn client(endpoint: Endpoint) -> VendorClient {
    VendorClient::new(endpoint, &NetworkSettings::default()).unwrap()
}

pub(crate) fn question() -> ModelRequest {
    let mut conversation = Conversation::new("Be brief.");
    conversation.push_user("Hello?", CacheMark::Unmarked);
    ModelRequest::new(conversation, 500)
}

/// A request with tools.
pub(crate) fn task() -> ModelRequest {
    ModelRequest { tools: vec![tool("look"), tool("find")], ..question() }
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ToolSpec { name: name.to_owned(), description: format!("Can {name}."), schema }
}

pub(crate) async fn ask(
    live: &VendorClient,
    request: &ModelRequest,
) -> Result<ModelReply, ModelError> {
    live.ask("tester", request, &mut |_| {}).await
}

/// Asks and collects the progress events.
pub(crate) async fn watch(
    live: &VendorClient,
    request: &ModelRequest,
) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let mut lines: Vec<String> = Vec::new();
    let mut hear = |progress: ReplyProgress<'_>| {
        lines.push(match progress {
            ReplyProgress::Started => "started".to_owned(),
            ReplyProgress::Text(text) => format!("text {text}"),
            ReplyProgress::Thought(text) => format!("thought {text}"),
        });
    };
    let reply = live.ask("tester", request, &mut hear).await;
    (reply, lines)
}

/// Prints a reply as short lines.
pub(crate) fn reply_text(reply: &ModelReply) -> String {
    let mut lines = String::new();
    for part in &reply.turn.parts {
        match part {
            TurnPart::Text(text) => writeln!(lines, "text {text}"),
            TurnPart::Thinking(Thinking::Readable { text, signature }) => {
                let [text, signature] =
                    [text, signature].map(|word| word.as_deref().unwrap_or("-").to_owned());
                writeln!(lines, "thought {text} / {signature}")
            }
            TurnPart::Thinking(Thinking::Sealed(block)) => writeln!(lines, "sealed {block}"),
            TurnPart::Call(call) => {
                let signatures = call.signatures.join(" ");
                match &call.arguments {
                    CallArguments::Json(json) => {
                        writeln!(lines, "call {} {} {json} {signatures}", call.id, call.name)
                    }
                    CallArguments::Malformed(text) => {
                        writeln!(lines, "call {} {} malformed: {text}", call.id, call.name)
                    }
                }
            }
        }
        .unwrap();
    }
    writeln!(lines, "{:?}", reply.stop).unwrap();
    lines.replace(" \n", "\n")
}
