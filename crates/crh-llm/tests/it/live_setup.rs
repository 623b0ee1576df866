//! What the tests of the live client share: the four wires, a model at a loopback server, and replies as short text.

use std::fmt::Write as _;

use serde_json::json;

use crh_llm::{
    Arguments, Cache, Conversation, Endpoint, Live, ModelError, Network, Part, Progress, Reply,
    Request, Thinking, ToolSpec, Wire,
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

pub(crate) fn live(wire: Wire, url: impl AsRef<str>) -> Live {
    Live::new(endpoint(wire, url), &Network::default()).unwrap()
}

pub(crate) fn question() -> Request {
    let mut conversation = Conversation::new("Be brief.");
    conversation.say("Hello?", Cache::Unmarked);
    Request::new(conversation, 500)
}

/// A question with tools.
pub(crate) fn task() -> Request {
    Request { tools: vec![tool("look"), tool("find")], ..question() }
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ToolSpec { name: name.to_owned(), description: format!("Can {name}."), schema }
}

pub(crate) async fn ask(live: &Live, request: &Request) -> Result<Reply, ModelError> {
    live.ask("tester", request, &mut |_| {}).await
}

/// Asks and keeps what was heard on the way.
pub(crate) async fn watch(
    live: &Live,
    request: &Request,
) -> (Result<Reply, ModelError>, Vec<String>) {
    let mut heard: Vec<String> = Vec::new();
    let mut hear = |progress: Progress<'_>| {
        heard.push(match progress {
            Progress::Started => "started".to_owned(),
            Progress::Text(text) => format!("text {text}"),
            Progress::Thought(text) => format!("thought {text}"),
        });
    };
    let reply = live.ask("tester", request, &mut hear).await;
    (reply, heard)
}

/// A reply as short lines.
pub(crate) fn shown(reply: &Reply) -> String {
    let mut lines = String::new();
    for part in &reply.turn.parts {
        match part {
            Part::Text(text) => writeln!(lines, "text {text}"),
            Part::Thinking(Thinking::Said { text, signature }) => {
                let [text, signature] =
                    [text, signature].map(|word| word.as_deref().unwrap_or("-").to_owned());
                writeln!(lines, "thought {text} / {signature}")
            }
            Part::Thinking(Thinking::Sealed(block)) => writeln!(lines, "sealed {block}"),
            Part::Call(call) => {
                let signatures = call.signatures.join(" ");
                match &call.arguments {
                    Arguments::Json(json) => {
                        writeln!(lines, "call {} {} {json} {signatures}", call.id, call.name)
                    }
                    Arguments::Malformed(text) => {
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
