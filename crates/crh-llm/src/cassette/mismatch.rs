//! Describes how a question differs from the most similar recorded one.

use serde_json::Value;

use crate::Redactor;
use crate::cassette::question::{QuestionKey, QuestionParts};

/// Length of an excerpt. Two excerpts fit on a screen.
const EXCERPT_CHARS: usize = 80;

/// Characters of an excerpt before the first difference.
const CONTEXT_CHARS: usize = 30;

/// Describes the difference from the most similar recorded question, redacted.
pub(super) fn describe_mismatch<'a>(
    recorded_questions: impl Iterator<Item = (&'a QuestionKey, QuestionParts<&'a Value>)>,
    request_key: &QuestionKey,
    request_parts: &QuestionParts<Value>,
    redactor: &Redactor,
) -> String {
    let recorded_questions: Vec<_> = recorded_questions.collect();
    let count = recorded_questions.len();
    let nearest = recorded_questions
        .iter()
        .enumerate()
        .max_by_key(|(index, (candidate, values))| {
            // Prefer the first of equally similar questions.
            (
                shared_pieces(candidate, request_key),
                shared_bytes(values, request_parts),
                std::cmp::Reverse(*index),
            )
        })
        .map(|(_, (_, values))| values);
    let Some(nearest) = nearest else { return "the recording has no questions".to_owned() };
    let differences = differences(nearest, request_parts, redactor);
    format!(
        "the recording has no answer to this question; the most similar of its {count} questions differs {}",
        differences.join("; ")
    )
}

/// Number of equal pieces. Messages are compared from the start and from the end.
fn shared_pieces(recorded_key: &QuestionKey, request_key: &QuestionKey) -> usize {
    let points = |is_equal: bool| usize::from(is_equal);
    let (recorded_messages, request_messages) = (&recorded_key.messages, &request_key.messages);
    let leading = common_count(recorded_messages.iter(), request_messages.iter());
    let rest = recorded_messages.len().min(request_messages.len()) - leading;
    let trailing = common_count(recorded_messages.iter().rev(), request_messages.iter().rev());
    points(recorded_key.system == request_key.system)
        + points(recorded_key.tools == request_key.tools)
        + points(recorded_key.settings == request_key.settings)
        + leading
        + trailing.min(rest)
}

/// Number of equal items at the start of two sequences.
fn common_count<T: PartialEq>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).count()
}

/// Number of equal bytes at the start and end of the first two messages that differ, as JSON.
fn shared_bytes(
    recorded_parts: &QuestionParts<&Value>,
    request_parts: &QuestionParts<Value>,
) -> usize {
    let mut pairs = recorded_parts.messages.iter().zip(&request_parts.messages);
    let Some((recorded_message, request_message)) =
        pairs.find(|(recorded_message, request_message)| **recorded_message != *request_message)
    else {
        return 0;
    };
    let (recorded_text, request_text) = (recorded_message.to_string(), request_message.to_string());
    common_count(recorded_text.bytes(), request_text.bytes())
        + common_count(recorded_text.bytes().rev(), request_text.bytes().rev())
}

fn differences(
    recorded_parts: &QuestionParts<&Value>,
    request_parts: &QuestionParts<Value>,
    redactor: &Redactor,
) -> Vec<String> {
    let mut descriptions = Vec::new();
    let mut compare =
        |part_name: &str, recorded: &Value, requested: &Value| {
            if recorded != requested {
                let [recorded, requested] =
                    [recorded, requested].map(|value| redactor.redact_json(value));
                let description = first_difference(part_name, &recorded, &requested);
                descriptions.push(description.unwrap_or_else(|| {
                    format!("in {part_name}, within text that looks like a key")
                }));
            }
        };
    compare("the system prompt", recorded_parts.system, &request_parts.system);
    compare("the tools", recorded_parts.tools, &request_parts.tools);
    // List every different setting, since there are few.
    for (name, value) in request_parts.settings.as_object().into_iter().flatten() {
        let recorded = recorded_parts.settings.get(name).unwrap_or(&Value::Null);
        compare(&format!("`{name}`"), recorded, value);
    }
    let mut pairs = recorded_parts.messages.iter().zip(&request_parts.messages).enumerate();
    if let Some((index, (recorded, requested))) =
        pairs.find(|(_, (recorded, requested))| **recorded != *requested)
    {
        compare(&format!("message {}", index + 1), recorded, requested);
    }
    let (recorded_count, request_count) =
        (recorded_parts.messages.len(), request_parts.messages.len());
    if recorded_count != request_count {
        descriptions.push(format!(
            "in the number of messages: recorded {recorded_count}, asked {request_count}"
        ));
    }
    descriptions
}

/// Describes the first line that differs. `None` if the redacted values are equal.
fn first_difference(part_name: &str, recorded: &Value, requested: &Value) -> Option<String> {
    let (mut recorded_lines, mut request_lines) = (Vec::new(), Vec::new());
    value_lines(recorded, String::new(), &mut recorded_lines);
    value_lines(requested, String::new(), &mut request_lines);
    let equal_lines = recorded_lines
        .iter()
        .zip(&request_lines)
        .take_while(|(recorded, requested)| recorded.same_text(requested))
        .count();
    if equal_lines == recorded_lines.len().max(request_lines.len()) {
        return None;
    }
    let (recorded_line, request_line) =
        (recorded_lines.get(equal_lines), request_lines.get(equal_lines));
    let same_path = recorded_line
        .zip(request_line)
        .is_none_or(|(recorded_line, request_line)| recorded_line.path == request_line.path);
    let is_multiline = recorded_line.into_iter().chain(request_line).any(|entry| entry.lines > 1);
    let location = request_line
        .or(recorded_line)
        .filter(|_| same_path)
        .map(|entry| entry.location(is_multiline));
    let location = location.unwrap_or_default();
    let text = |entry: &ValueLine| match entry.path.trim_start_matches('.') {
        path if !same_path && !path.is_empty() => format!("{path}: {}", entry.text),
        _ => entry.text.clone(),
    };
    let (recorded_line, request_line) = (recorded_line.map(text), request_line.map(text));
    let common_chars = match (&recorded_line, &request_line) {
        (Some(recorded_line), Some(request_line)) => {
            common_count(recorded_line.chars(), request_line.chars())
        }
        (Some(_), None) | (None, Some(_)) | (None, None) => 0,
    };
    let quote = |text: Option<String>| {
        text.map_or_else(|| "nothing".to_owned(), |text| excerpt(&text, common_chars))
    };
    Some(format!(
        "in {part_name}{location}: recorded {}, asked {}",
        quote(recorded_line),
        quote(request_line)
    ))
}

/// One line of a text in a JSON value, or another value without fields.
struct ValueLine {
    path: String,
    /// Line number within the text, from 1.
    line: usize,
    /// Number of lines of the text.
    lines: usize,
    text: String,
}

impl ValueLine {
    fn same_text(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }

    /// Path of the line, with a line number if there are several lines.
    fn location(&self, is_multiline: bool) -> String {
        let path = match self.path.trim_start_matches('.') {
            "" => String::new(),
            path => format!(", `{path}`"),
        };
        if is_multiline { format!("{path}, line {}", self.line) } else { path }
    }
}

/// Flattens a JSON value: one entry per line of a text, and per other value without fields.
fn value_lines(value: &Value, path: String, lines: &mut Vec<ValueLine>) {
    match value {
        Value::String(text) => {
            let count = text.split('\n').count();
            lines.extend(text.split('\n').enumerate().map(|(index, text)| ValueLine {
                path: path.clone(),
                line: index + 1,
                lines: count,
                text: text.to_owned(),
            }));
        }
        Value::Array(values) if !values.is_empty() => {
            for (index, value) in values.iter().enumerate() {
                // Prefer names over indices, for example for tools.
                let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
                let name = name.unwrap_or_else(|| (index + 1).to_string());
                value_lines(value, format!("{path}.{name}"), lines);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                value_lines(value, format!("{path}.{name}"), lines);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            lines.push(ValueLine { path, line: 1, lines: 1, text: value.to_string() });
        }
    }
}

/// Quotes a text around the first difference.
fn excerpt(text: &str, common_chars: usize) -> String {
    let skipped = common_chars.saturating_sub(CONTEXT_CHARS);
    let quoted: String = text.chars().skip(skipped).take(EXCERPT_CHARS).collect();
    let prefix = if skipped > 0 { "…" } else { "" };
    let suffix = if text.chars().count() > skipped + EXCERPT_CHARS { "…" } else { "" };
    format!("{prefix}{quoted:?}{suffix}")
}
