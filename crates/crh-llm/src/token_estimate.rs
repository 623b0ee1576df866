//! Estimates the tokens of a request before it is sent, so that its cost can be reserved.
//!
//! The estimate is deliberately high: an excess reservation is returned after the call. Tokenizers
//! use one token for three to four bytes of English or code, for one to three bytes of other
//! scripts, and for little more than one byte of numbers, hashes and base64. Therefore lower-case
//! letters within words and whitespace count as half a token, and every other byte as one. Compared
//! with OpenAI's `cl100k_base` and `o200k_base`, this is 2.5 times the actual count for code and
//! 1.25 times for base64. Random lower-case letters can exceed the estimate by up to a twelfth.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::{
    CacheMark, CallArguments, Conversation, Message, ModelRequest, OutputForm, Thinking,
    ToolChoice, ToolSpec, TurnPart,
};

/// Half-tokens of a lower-case letter or whitespace that follows another such byte.
const WORD_BYTE: u64 = 1;

/// Half-tokens of any other byte.
const OTHER_BYTE: u64 = 2;

/// Tokens added for each message, part or tool: roles, separators and field names. Published
/// figures are 3 to 12.
const OVERHEAD: u64 = 16;

/// Tokens of the vendor's instructions for requests with tools or a schema. Anthropic documents up
/// to 700.
const INSTRUCTIONS: u64 = 1024;

/// Runs of symbols around a field of a schema: the colon and the comma of `name: type,`.
const FIELD_SYMBOLS: u64 = 2;

/// The start of a request, which the requests of other runs share: system prompt, tools and the
/// messages up to the first cache breakpoint. After a vendor counted a request with this prefix,
/// the prefix has at most that many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedPrefix {
    /// Hash of the prefix.
    pub id: u64,
    /// Upper estimate of the tokens after the prefix.
    pub rest: u64,
}

impl SharedPrefix {
    /// The shared prefix of a request. `None` unless a user message has a cache breakpoint and only
    /// user messages precede it.
    pub fn from_request(request: &ModelRequest) -> Option<Self> {
        let Conversation { system, messages } = &request.conversation;
        let mut texts = vec![system.as_str()];
        for message in messages {
            let Message::User(user_text) = message else { return None };
            texts.push(&user_text.text);
            match user_text.cache {
                CacheMark::Unmarked => {}
                CacheMark::Breakpoint => {
                    let mut hasher = DefaultHasher::new();
                    texts.hash(&mut hasher);
                    for tool in &request.tools {
                        let ToolSpec { name, description, schema } = tool;
                        (name, description, schema.to_string()).hash(&mut hasher);
                    }
                    let prefix: u64 = texts.iter().map(|text| text_tokens(text)).sum();
                    let prefix = prefix + tools_tokens(&request.tools);
                    let rest = estimated_tokens(request).saturating_sub(prefix);
                    return Some(Self { id: hasher.finish(), rest });
                }
            }
        }
        None
    }
}

/// Upper estimate of a request's input tokens.
pub fn estimated_tokens(request: &ModelRequest) -> u64 {
    let messages = request.conversation.messages.iter().map(message_tokens).sum::<u64>();
    let output = match &request.output {
        OutputForm::Text => 0,
        OutputForm::Schema { name, schema } => OVERHEAD + text_tokens(name) + count_json(schema),
    };
    let choice = match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::Required => 0,
        ToolChoice::Named(name) => text_tokens(name),
    };
    let is_plain = request.tools.is_empty() && request.output == OutputForm::Text;
    let instructions = if is_plain { 0 } else { INSTRUCTIONS };
    OVERHEAD
        + text_tokens(&request.conversation.system)
        + messages
        + tools_tokens(&request.tools)
        + output
        + choice
        + instructions
}

/// Lower bounds of a request's input tokens: its words, and its runs of symbols that do not join a
/// word. Tokenizers split a text between these. For 289 source files and documents, the tokenizers
/// of GPT (`cl100k_base`, `o200k_base`), Llama 3, Qwen 2, Mistral and DeepSeek made at least 1.03
/// tokens of each, usually 1.23 to 1.32. Of the prompts and tools of crh they make at least 1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeastTokens {
    /// Tokens of the texts that every server reads. Some servers drop earlier thoughts.
    pub texts: u64,
    /// Tokens of the tools.
    pub tools: u64,
}

/// Lower bounds of a request's input tokens.
pub fn least_tokens(request: &ModelRequest) -> LeastTokens {
    let Conversation { system, messages } = &request.conversation;
    let texts = messages.iter().flat_map(|message| match message {
        Message::User(user_text) => vec![user_text.text.as_str()],
        Message::Assistant(_) => Vec::new(),
        Message::Results(results) => results.iter().map(|result| result.text.as_str()).collect(),
    });
    LeastTokens {
        texts: texts.chain([system.as_str()]).map(count_pieces).sum(),
        tools: request.tools.iter().map(count_tool).sum(),
    }
}

/// What every server shows the model of a tool: its name, its description, its fields and the
/// descriptions of its fields. Servers write schemas in notations of their own, such as TypeScript,
/// and OpenAI leaves out the descriptions of nested fields.
fn count_tool(tool: &ToolSpec) -> u64 {
    let fields = tool.schema["properties"].as_object();
    let described = fields.into_iter().flat_map(|fields| fields.values());
    let descriptions = described.filter_map(|field| field["description"].as_str());
    count_pieces(&tool.name)
        + count_pieces(&tool.description)
        + descriptions.map(count_pieces).sum::<u64>()
        + count_fields(&tool.schema)
}

/// All fields of a JSON schema, nested ones too. The shortest notation of a field is that of
/// TypeScript, `name: type,`; JSON needs about twice as many tokens.
fn count_fields(schema: &Value) -> u64 {
    let fields = schema["properties"].as_object();
    let of_field =
        |(name, field): (&String, &Value)| count_pieces(name) + FIELD_SYMBOLS + count_type(field);
    let own: u64 = fields.into_iter().flatten().map(of_field).sum();
    own + schema.get("items").map_or(0, count_type)
}

/// The values of an enum with a separator each, or the fields of an object, or the name of a type.
fn count_type(schema: &Value) -> u64 {
    match schema["enum"].as_array() {
        Some(values) => {
            values.iter().filter_map(Value::as_str).map(|value| count_pieces(value) + 1).sum()
        }
        None => count_fields(schema).max(1),
    }
}

/// Runs of letters and digits, and runs of symbols. A token may join one symbol with the word after
/// it, as in `.name`.
fn count_pieces(text: &str) -> u64 {
    let mut counter = PieceCounter::default();
    counter.add(text);
    counter.add(" ");
    counter.pieces()
}

/// Counts the pieces of a text that arrives in parts.
#[derive(Debug, Default)]
pub(crate) struct PieceCounter {
    pieces: u64,
    /// Length of the run of symbols at the end.
    symbols: usize,
    /// Whether the text so far ends within a word.
    in_word: bool,
}

impl PieceCounter {
    pub(crate) fn add(&mut self, text: &str) {
        for char in text.chars() {
            let was_in_word = std::mem::replace(&mut self.in_word, char.is_alphanumeric());
            if !self.in_word && !char.is_whitespace() {
                self.symbols += 1;
                continue;
            }
            let joined = usize::from(char.is_alphabetic());
            self.pieces += u64::from(self.symbols > joined);
            self.pieces += u64::from(self.in_word && !was_in_word);
            self.symbols = 0;
        }
    }

    /// Pieces so far, without a run of symbols at the end.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces
    }
}

fn tools_tokens(tools: &[ToolSpec]) -> u64 {
    let tool_tokens = |tool: &ToolSpec| {
        OVERHEAD
            + text_tokens(&tool.name)
            + text_tokens(&tool.description)
            + count_json(&tool.schema)
    };
    tools.iter().map(tool_tokens).sum()
}

fn message_tokens(message: &Message) -> u64 {
    OVERHEAD
        + match message {
            Message::User(user_text) => text_tokens(&user_text.text),
            Message::Assistant(turn) => turn.parts.iter().map(part_tokens).sum(),
            Message::Results(results) => results
                .iter()
                .map(|result| {
                    OVERHEAD
                        + text_tokens(&result.call_id)
                        + text_tokens(&result.name)
                        + text_tokens(&result.text)
                })
                .sum(),
        }
}

fn part_tokens(part: &TurnPart) -> u64 {
    OVERHEAD
        + match part {
            TurnPart::Text(text) => text_tokens(text),
            TurnPart::Thinking(Thinking::Readable { text, signature }) => {
                [text, signature].into_iter().flatten().map(|text| text_tokens(text)).sum()
            }
            TurnPart::Thinking(Thinking::Sealed(value)) => count_json(value),
            TurnPart::Call(call) => {
                let arguments = match &call.arguments {
                    CallArguments::Json(value) => count_json(value),
                    CallArguments::Malformed(text) => text_tokens(text),
                };
                let signatures: u64 = call.signatures.iter().map(|text| text_tokens(text)).sum();
                text_tokens(&call.id) + text_tokens(&call.name) + arguments + signatures
            }
        }
}

/// Upper estimate of a text's tokens.
pub fn text_tokens(text: &str) -> u64 {
    let mut in_word = true;
    let half_tokens = text.bytes().map(|byte| {
        let was_in_word = in_word;
        in_word = byte.is_ascii_lowercase() || byte.is_ascii_whitespace();
        if was_in_word && in_word { WORD_BYTE } else { OTHER_BYTE }
    });
    half_tokens.sum::<u64>().div_ceil(2)
}

fn count_json(value: &Value) -> u64 {
    text_tokens(&value.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{ToolCall, ToolResult, Turn, UserText};

    fn request_with(messages: Vec<Message>) -> ModelRequest {
        ModelRequest::new(Conversation { system: "rules".to_owned(), messages }, 100)
    }

    #[test]
    fn requests_share_a_prefix_up_to_the_first_breakpoint() {
        let user = |text: &str, cache| Message::User(UserText { text: text.to_owned(), cache });
        let marked = |rest: &str| {
            let shared = user("the change", CacheMark::Breakpoint);
            request_with(vec![shared, user(rest, CacheMark::Unmarked)])
        };
        let [short, long] =
            ["one", "one two three"].map(|rest| SharedPrefix::from_request(&marked(rest)));
        let (short, long) = (short.unwrap(), long.unwrap());
        assert_eq!(short.id, long.id);
        assert_eq!(long.rest - short.rest, text_tokens("one two three") - text_tokens("one"));
        let tool = ToolSpec { name: "t".into(), description: "d".into(), schema: json!({}) };
        let with_tool = ModelRequest { tools: vec![tool], ..marked("one") };
        assert_ne!(SharedPrefix::from_request(&with_tool).unwrap().id, short.id);
        let unmarked = request_with(vec![user("the change", CacheMark::Unmarked)]);
        assert_eq!(SharedPrefix::from_request(&unmarked), None);
    }

    /// Total bytes of all texts in a value.
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
            arguments: CallArguments::Json(json!({ "path": text })),
            signatures: vec![text],
        };
        let result = |text| ToolResult { call_id: "c1".into(), name: "read".into(), text };
        prop_oneof![
            ".{0,40}".prop_map(|text| Message::User(UserText { text, cache: CacheMark::Unmarked })),
            ".{0,40}".prop_map(|text| Message::Assistant(Turn::text(text))),
            "[ -~]{0,40}".prop_map(move |text| {
                let thought = Thinking::Readable { text: Some(text.clone()), signature: None };
                let parts = vec![TurnPart::Thinking(thought), TurnPart::Call(call(text))];
                Message::Assistant(Turn { parts })
            }),
            ".{0,40}".prop_map(move |text| Message::Results(vec![result(text)])),
        ]
    }

    proptest! {
        #[test]
        fn all_sent_text_is_counted(messages in prop::collection::vec(message(), 0..6)) {
            let request = request_with(messages);
            let bytes = bytes_of(&serde_json::to_value(&request.conversation).unwrap());
            let messages = request.conversation.messages.len() as u64;
            prop_assert!(estimated_tokens(&request) >= bytes / 4 + messages);
        }

        #[test]
        fn another_message_increases_the_estimate(
            messages in prop::collection::vec(message(), 0..6), last in message()
        ) {
            let before = estimated_tokens(&request_with(messages.clone()));
            let after = estimated_tokens(&request_with([messages, vec![last]].concat()));
            prop_assert!(after >= before + OVERHEAD);
        }

        #[test]
        fn text_counts_at_least_a_token_per_four_bytes(text in ".{0,200}") {
            prop_assert!(text_tokens(&text) >= text.len() as u64 / 4);
        }
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let plain = request_with(Vec::new());
        assert_eq!(estimated_tokens(&plain), OVERHEAD + 3);
        let tool = ToolSpec { name: "read".into(), description: "Reads".into(), schema: json!({}) };
        let tools = ModelRequest { tools: vec![tool], ..plain.clone() };
        assert_eq!(estimated_tokens(&tools), 2 * OVERHEAD + 3 + 2 + 4 + 2 + INSTRUCTIONS);
        let named = ModelRequest { tool_choice: ToolChoice::Named("read".into()), ..plain.clone() };
        assert_eq!(estimated_tokens(&named), OVERHEAD + 3 + 2);
        let output = OutputForm::Schema { name: "out".into(), schema: json!({ "a": 1 }) };
        let schema = ModelRequest { output, ..plain };
        assert_eq!(estimated_tokens(&schema), 2 * OVERHEAD + 3 + 2 + 7 + INSTRUCTIONS);
        assert_eq!(text_tokens("ä€"), 5);
    }

    /// Actual counts: the smaller one of `cl100k_base` and `o200k_base`.
    #[test]
    fn least_tokens_do_not_exceed_the_actual_count() {
        for (tokens, text) in [
            (9, "The quick brown fox jumps over the lazy dog"),
            (
                25,
                "fn total(items: &[Item]) -> u64 {\n    items.iter().map(|item| item.price).sum()\n}",
            ),
            (6, "                                                                a = b + c"),
            (3, "--------------------------------  --------------------------------"),
        ] {
            let user = Message::User(UserText { text: text.into(), cache: CacheMark::Unmarked });
            let request = ModelRequest::new(
                Conversation { system: String::new(), messages: vec![user] },
                100,
            );
            let LeastTokens { texts: least, tools: _ } = least_tokens(&request);
            assert!((tokens * 2 / 3..=tokens).contains(&least), "{least}: {text}");
        }
    }

    #[test]
    fn least_tokens_count_tools_and_skip_thoughts() {
        let thought = Thinking::Readable { text: Some("one two three".into()), signature: None };
        let turn = Turn { parts: vec![TurnPart::Thinking(thought), TurnPart::Text("four".into())] };
        let result =
            ToolResult { call_id: "c1".into(), name: "read".into(), text: "a b c d e f".into() };
        let with_tool = ModelRequest {
            tools: vec![ToolSpec {
                name: "read".into(),
                description: "Reads a file of the change.".into(),
                schema: json!({
                    "type": "object",
                    "properties": {
                        "path": { "type": "string", "description": "Path of the file." },
                        "lines": { "type": "array", "items": {
                            "type": "object",
                            "properties": { "first": { "description": "First line." } },
                        } },
                        "order": { "enum": ["oldest first", "newest"] },
                    },
                }),
            }],
            ..request_with(vec![Message::Assistant(turn), Message::Results(vec![result])])
        };
        // Six words of the result and one of the system prompt. The tool has its name, its
        // description, the description of an outer field, and four fields: `path: string,`,
        // `lines: …,`, `first: any,` and `order: "oldest first" | "newest",`.
        let expected = LeastTokens { texts: 7, tools: 1 + 7 + 5 + 4 + 3 + 4 + 8 };
        assert_eq!(least_tokens(&with_tool), expected);
    }

    /// Actual counts: the larger one of `cl100k_base` and `o200k_base`. These texts have more
    /// tokens than half their bytes.
    #[test]
    fn numbers_hashes_and_base64_are_not_underestimated() {
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
            assert!(text_tokens(text) >= tokens, "{text}");
            assert!(text.len() as u64 / 2 < tokens, "{text} shows nothing");
        }
    }
}
