//! How many tokens a request has at most, counted before it is sent, so that its price can be reserved.
//!
//! The estimate errs upwards on purpose: what is reserved too much is given back after the call, what is reserved too
//! little has been spent. Tokenizers make a token of three to four bytes of English or code, of one to three bytes of
//! other scripts, and of little more than one byte of numbers, hashes and base64, which some vendors split digit by digit.
//! So the small letters of words count half a token each, as does white space, and every other byte a whole one. Held
//! against OpenAI's `cl100k_base` and `o200k_base`, that is two and a half times the truth for code and a quarter above it
//! for base64; random small letters alone had up to a twelfth more tokens than this.

use serde_json::Value;

use crate::{Arguments, Message, OutputForm, Part, Request, Thinking, ToolChoice};

/// What a byte counts, in halves of a token, if it is a small letter or white space and the one before it was too.
const IN_WORD: u64 = 1;

/// What every other byte counts.
const ALONE: u64 = 2;

/// What vendors put around one message, part or tool: roles, marks, names of fields. Published figures are 3 to 12.
const AROUND: u64 = 16;

/// What vendors add once a request has tools or a schema: their own instructions. Anthropic documents up to 700.
const INSTRUCTIONS: u64 = 1024;

/// A number of tokens that a request of any sense will not exceed.
pub fn estimated_tokens(request: &Request) -> u64 {
    let messages = request.conversation.messages.iter().map(message_tokens).sum::<u64>();
    let tools = request.tools.iter().map(|tool| {
        AROUND + of_text(&tool.name) + of_text(&tool.description) + of_json(&tool.schema)
    });
    let output = match &request.output {
        OutputForm::Text => 0,
        OutputForm::Schema { name, schema } => AROUND + of_text(name) + of_json(schema),
    };
    let choice = match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::Required => 0,
        ToolChoice::Named(name) => of_text(name),
    };
    let plain = request.tools.is_empty() && request.output == OutputForm::Text;
    let instructions = if plain { 0 } else { INSTRUCTIONS };
    AROUND
        + of_text(&request.conversation.system)
        + messages
        + tools.sum::<u64>()
        + output
        + choice
        + instructions
}

fn message_tokens(message: &Message) -> u64 {
    AROUND
        + match message {
            Message::User(said) => of_text(&said.text),
            Message::Assistant(turn) => turn.parts.iter().map(part_tokens).sum(),
            Message::Results(results) => results
                .iter()
                .map(|r| AROUND + of_text(&r.call_id) + of_text(&r.name) + of_text(&r.text))
                .sum(),
        }
}

fn part_tokens(part: &Part) -> u64 {
    AROUND
        + match part {
            Part::Text(text) => of_text(text),
            Part::Thinking(Thinking::Said { text, signature }) => {
                [text, signature].into_iter().flatten().map(|text| of_text(text)).sum()
            }
            Part::Thinking(Thinking::Sealed(value)) => of_json(value),
            Part::Call(call) => {
                let arguments = match &call.arguments {
                    Arguments::Json(value) => of_json(value),
                    Arguments::Malformed(text) => of_text(text),
                };
                let signatures: u64 = call.signatures.iter().map(|text| of_text(text)).sum();
                of_text(&call.id) + of_text(&call.name) + arguments + signatures
            }
        }
}

fn of_text(text: &str) -> u64 {
    let mut in_word = true;
    let halves = text.bytes().map(|byte| {
        let before = in_word;
        in_word = byte.is_ascii_lowercase() || byte.is_ascii_whitespace();
        if before && in_word { IN_WORD } else { ALONE }
    });
    halves.sum::<u64>().div_ceil(2)
}

/// The tokens of one text in a request, by the rule of the whole.
pub fn text_tokens(text: &str) -> u64 {
    of_text(text)
}

fn of_json(value: &Value) -> u64 {
    of_text(&value.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Cache, Conversation, ToolCall, ToolResult, ToolSpec, Turn, UserText};

    fn asked(messages: Vec<Message>) -> Request {
        Request::new(Conversation { system: "rules".to_owned(), messages }, 100)
    }

    /// The bytes of all texts in a value.
    fn bytes_of(value: &Value) -> u64 {
        match value {
            Value::String(text) => text.len() as u64,
            Value::Array(values) => values.iter().map(bytes_of).sum(),
            Value::Object(fields) => fields.values().map(bytes_of).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    fn message() -> impl Strategy<Value = Message> {
        let call = |text: String| ToolCall {
            id: "c1".to_owned(),
            name: "read".to_owned(),
            arguments: Arguments::Json(json!({ "path": text })),
            signatures: vec![text],
        };
        let result = |text| ToolResult { call_id: "c1".into(), name: "read".into(), text };
        prop_oneof![
            ".{0,40}".prop_map(|text| Message::User(UserText { text, cache: Cache::Unmarked })),
            ".{0,40}".prop_map(|text| Message::Assistant(Turn::text(text))),
            "[ -~]{0,40}".prop_map(move |text| {
                let thought = Thinking::Said { text: Some(text.clone()), signature: None };
                let parts = vec![Part::Thinking(thought), Part::Call(call(text))];
                Message::Assistant(Turn { parts })
            }),
            ".{0,40}".prop_map(move |text| Message::Results(vec![result(text)])),
        ]
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_goes_uncounted(messages in prop::collection::vec(message(), 0..6)) {
            let request = asked(messages);
            let bytes = bytes_of(&serde_json::to_value(&request.conversation).unwrap());
            let messages = request.conversation.messages.len() as u64;
            prop_assert!(estimated_tokens(&request) >= bytes / 4 + messages);
        }

        #[test]
        fn a_further_message_never_makes_it_less(
            messages in prop::collection::vec(message(), 0..6), last in message()
        ) {
            let before = estimated_tokens(&asked(messages.clone()));
            let after = estimated_tokens(&asked([messages, vec![last]].concat()));
            prop_assert!(after >= before + AROUND);
        }

        #[test]
        fn a_text_has_at_least_a_token_for_every_four_bytes(text in ".{0,200}") {
            prop_assert!(of_text(&text) >= text.len() as u64 / 4);
        }
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let plain = asked(Vec::new());
        assert_eq!(estimated_tokens(&plain), AROUND + 3);
        let tool = ToolSpec { name: "read".into(), description: "Reads".into(), schema: json!({}) };
        let tools = Request { tools: vec![tool], ..plain.clone() };
        assert_eq!(estimated_tokens(&tools), 2 * AROUND + 3 + 2 + 4 + 2 + INSTRUCTIONS);
        let named = Request { tool_choice: ToolChoice::Named("read".into()), ..plain.clone() };
        assert_eq!(estimated_tokens(&named), AROUND + 3 + 2);
        let output = OutputForm::Schema { name: "out".into(), schema: json!({ "a": 1 }) };
        let schema = Request { output, ..plain };
        assert_eq!(estimated_tokens(&schema), 2 * AROUND + 3 + 2 + 7 + INSTRUCTIONS);
        assert_eq!(of_text("ä€"), 5);
    }

    /// Counts of `cl100k_base` and `o200k_base`, the larger one each, of texts that have more tokens than half their bytes.
    #[test]
    fn numbers_hashes_and_base64_are_not_counted_for_less_than_they_are() {
        for (tokens, text) in [
            (36, "[[49, 8], [62, 7], [28, 4], [91, 0], [5, 3], [77, 1]]"),
            (32, "M18.31,92.04 55.17,3.88 61.90,47.25 9.06,80.73"),
            (29, "7f3c1e9a-04d2-4b8e-9c61-52ab07fd83e0"),
            (37, "9e107d9d372bb6826bd81d3542a419d6b0c44298fc1c149afbf4c8996fb92427"),
            (
                78,
                "sha512-5NpSxNWYQHpnEtvKbGrSkhW2xC9kd3mYwIKh1cRxkvX8v7m3yZ0/7+qBz7aS1gYx4hEo2iYcCkW0QdMZ9bq0Pg==",
            ),
            (25, "-1,-2;{0}|{1}?{2}:[3]&&!(4^5)%~6"),
        ] {
            assert!(of_text(text) >= tokens, "{text}");
            assert!(text.len() as u64 / 2 < tokens, "{text} shows nothing");
        }
    }
}
