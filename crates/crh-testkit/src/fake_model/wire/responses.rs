//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{CREATED, Event, ReplyContext, failure_response, in_turn, pieces, with_calls_together};
use crate::fake_model::count::Tokens;
use crate::fake_model::script::{Answer, Ending, ErrorPlace, Failure, Part};

pub(super) fn events(answer: &Answer, context: &ReplyContext<'_>) -> Vec<Event> {
    let mut stream =
        Stream { context, ending: answer.ending, events: Vec::new(), output: Vec::new() };
    let begun = response(context, "in_progress", &[]);
    stream.push(json!({ "type": "response.created", "response": begun }));
    stream.push(json!({ "type": "response.in_progress", "response": begun }));
    for parts in with_calls_together(&answer.parts) {
        match parts {
            [Part::Thinking { text, signature }] => stream.reasoning(Some(text), signature),
            [Part::Sealed(sealed)] => stream.reasoning(None, sealed),
            [Part::Text(text)] => stream.message("output_text", "text", text),
            [Part::Refusal(text)] => stream.message("refusal", "refusal", text),
            calls => stream.calls(calls),
        }
    }
    match &answer.failure {
        Some((failure, place)) => stream.fail(failure, *place),
        None => stream.end(),
    }
    stream.events
}

pub(super) fn noise() -> Vec<Event> {
    vec![
        Event::typed(json!({ "type": "response.x_unknown.delta", "delta": { "no": "text" } })),
        Event::typed(
            json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "" }),
        ),
        Event::typed(json!({ "type": "keepalive" })),
    ]
}

struct Stream<'a> {
    context: &'a ReplyContext<'a>,
    ending: Ending,
    events: Vec<Event>,
    /// Finished items.
    output: Vec<Value>,
}

impl Stream<'_> {
    fn push(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.events.len());
        self.events.push(Event::typed(event));
    }

    /// Reports an item as `added` or `done`.
    fn item(&mut self, kind: &str, index: usize, item: &Value) {
        self.push(json!({
            "type": format!("response.output_item.{kind}"),
            "output_index": index,
            "item": item,
        }));
    }

    fn reasoning(&mut self, summary: Option<&str>, encrypted: &str) {
        let index = self.output.len();
        let id = format!("rs_{}_{index}", self.context.number);
        self.item("added", index, &json!({ "type": "reasoning", "id": id, "summary": [] }));
        let mut done = json!({ "type": "reasoning", "id": id, "summary": [] });
        if !encrypted.is_empty() && self.context.encrypted {
            done["encrypted_content"] = json!(encrypted);
        }
        if let Some(text) = summary {
            let at = json!({ "item_id": id, "output_index": index, "summary_index": 0 });
            let part = |text: &str| json!({ "type": "summary_text", "text": text });
            let prefix = "response.reasoning_summary";
            self.push(with(&at, &format!("{prefix}_part.added"), "part", part("")));
            for piece in pieces(text, self.context.pieces) {
                self.push(with(&at, &format!("{prefix}_text.delta"), "delta", json!(piece)));
            }
            self.push(with(&at, &format!("{prefix}_text.done"), "text", json!(text)));
            self.push(with(&at, &format!("{prefix}_part.done"), "part", part(text)));
            done["summary"] = json!([part(text)]);
        }
        self.item("done", index, &done);
        self.output.push(done);
    }

    fn message(&mut self, kind: &str, field: &str, text: &str) {
        let index = self.output.len();
        let id = format!("msg_{}_{index}", self.context.number);
        let message = |status: &str, content: Value| {
            let role = "assistant";
            json!({ "type": "message", "id": id, "status": status, "role": role, "content": content })
        };
        let part = |text: &str| match kind {
            "output_text" => {
                json!({ "type": kind, "text": text, "annotations": [], "logprobs": [] })
            }
            _ => json!({ "type": kind, field: text }),
        };
        self.item("added", index, &message("in_progress", json!([])));
        let at = json!({ "item_id": id, "output_index": index, "content_index": 0 });
        self.push(with(&at, "response.content_part.added", "part", part("")));
        for piece in pieces(text, self.context.pieces) {
            self.push(with(&at, &format!("response.{kind}.delta"), "delta", json!(piece)));
        }
        if self.status() == "completed" {
            self.push(with(&at, &format!("response.{kind}.done"), field, json!(text)));
            self.push(with(&at, "response.content_part.done", "part", part(text)));
        }
        let done = message(self.status(), json!([part(text)]));
        self.item("done", index, &done);
        self.output.push(done);
    }

    fn calls(&mut self, calls: &[Part]) {
        let first_index = self.output.len();
        let number = self.context.number;
        let item = |index: usize, name: &str, arguments: &str, status: &str| {
            json!({
                "type": "function_call",
                "id": format!("fc_{number}_{index}"),
                "call_id": format!("call_{number}_{index}"),
                "name": name,
                "arguments": arguments,
                "status": status,
            })
        };
        let mut texts = Vec::new();
        for (place, part) in calls.iter().enumerate() {
            let Part::Call { name, arguments } = part else { continue };
            self.item(
                "added",
                first_index + place,
                &item(first_index + place, name, "", "in_progress"),
            );
            texts.push((name, arguments.as_str()));
        }
        let arguments: Vec<&str> = texts.iter().map(|(_, arguments)| *arguments).collect();
        let at =
            |index| json!({ "item_id": format!("fc_{number}_{index}"), "output_index": index });
        let prefix = "response.function_call_arguments";
        for (place, piece) in in_turn(&arguments, self.context.pieces) {
            self.push(with(
                &at(first_index + place),
                &format!("{prefix}.delta"),
                "delta",
                json!(piece),
            ));
        }
        for (place, (name, arguments)) in texts.iter().enumerate() {
            let index = first_index + place;
            if self.status() == "completed" {
                let done =
                    with(&at(index), &format!("{prefix}.done"), "arguments", json!(arguments));
                self.push(done);
            }
            let done = item(index, name, arguments, self.status());
            self.item("done", index, &done);
            self.output.push(done);
        }
    }

    fn status(&self) -> &'static str {
        match self.ending {
            Ending::Natural => "completed",
            Ending::Length | Ending::Window | Ending::Refused => "incomplete",
        }
    }

    fn end(&mut self) {
        let status = self.status();
        let mut response = response(self.context, status, &self.output);
        response["usage"] = self.context.usage.as_ref().map_or(Value::Null, usage);
        match self.ending {
            Ending::Natural => {}
            Ending::Length | Ending::Window => {
                response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
            }
            Ending::Refused => {
                response["incomplete_details"] = json!({ "reason": "content_filter" });
            }
        }
        self.push(json!({ "type": format!("response.{status}"), "response": response }));
    }

    fn fail(&mut self, failure: &Failure, place: ErrorPlace) {
        let body = failure_response(failure, self.context).body;
        let error = &body["error"];
        let code = if error["code"].is_null() { &error["type"] } else { &error["code"] };
        match place {
            ErrorPlace::Response => {
                let mut response = response(self.context, "failed", &self.output);
                response["error"] = json!({ "code": code, "message": error["message"] });
                self.push(json!({ "type": "response.failed", "response": response }));
            }
            ErrorPlace::Event => self.push(json!({
                "type": "error",
                "code": code,
                "message": error["message"],
                "param": null,
            })),
        }
    }
}

fn with(at: &Value, kind: &str, field: &str, value: Value) -> Value {
    let mut event = at.clone();
    event["type"] = json!(kind);
    event[field] = value;
    event
}

fn response(context: &ReplyContext<'_>, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", context.number),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": context.model,
        "output": output,
        "usage": null,
    })
}

fn usage(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "input_tokens_details": { "cached_tokens": tokens.cached },
        "output_tokens": tokens.output,
        "output_tokens_details": { "reasoning_tokens": tokens.thoughts },
        "total_tokens": tokens.input + tokens.output,
    })
}
