//! Describes how a question differs from the most similar recorded one.

use serde_json::Value;

use crate::Redactor;
use crate::cassette::question::{QuestionKey, QuestionParts};

/// Length of an excerpt, so that two fit on a screen.
const EXCERPT_CHARS: usize = 80;

/// Characters before the first difference.
const CONTEXT_CHARS: usize = 30;

/// Describes the difference from the most similar recorded question, redacted.
pub(super) fn describe_mismatch<'a>(
    recorded: impl Iterator<Item = (&'a QuestionKey, QuestionParts<&'a Value>)>,
    question: &QuestionKey,
    asked: &QuestionParts<Value>,
    redactor: &Redactor,
) -> String {
    let recorded: Vec<_> = recorded.collect();
    let count = recorded.len();
    let nearest = recorded
        .iter()
        .enumerate()
        .max_by_key(|(index, (candidate, values))| {
            // Prefer the first of equally similar questions.
            (
                shared_pieces(candidate, question),
                shared_characters(values, asked),
                std::cmp::Reverse(*index),
            )
        })
        .map(|(_, (_, values))| values);
    let Some(nearest) = nearest else { return "the recording has no questions".to_owned() };
    let differences = differences(nearest, asked, redactor);
    format!(
        "the recording has no answer to this question; the most similar of its {count} questions differs\n  {}",
        differences.join("\n  ")
    )
}

/// Number of equal pieces, counted from the start and the end of the messages.
fn shared_pieces(recorded: &QuestionKey, asked: &QuestionKey) -> usize {
    let same = |same: bool| usize::from(same);
    let (first, second) = (&recorded.messages, &asked.messages);
    let leading = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let rest = first.len().min(second.len()) - leading;
    let trailing = first.iter().rev().zip(second.iter().rev()).take_while(|(a, b)| a == b).count();
    same(recorded.system == asked.system)
        + same(recorded.tools == asked.tools)
        + same(recorded.settings == asked.settings)
        + leading
        + trailing.min(rest)
}

/// Equal characters at the start and end of the first different message.
fn shared_characters(recorded: &QuestionParts<&Value>, asked: &QuestionParts<Value>) -> usize {
    let mut pairs = recorded.messages.iter().zip(&asked.messages);
    let Some((first, second)) = pairs.find(|(first, second)| **first != *second) else { return 0 };
    let (first, second) = (first.to_string(), second.to_string());
    let leading = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let trailing = first.bytes().rev().zip(second.bytes().rev());
    leading + trailing.take_while(|(a, b)| a == b).count()
}

fn differences(
    recorded: &QuestionParts<&Value>,
    asked: &QuestionParts<Value>,
    redactor: &Redactor,
) -> Vec<String> {
    let mut found = Vec::new();
    let first_difference = |what: &str, was: &Value, is: &Value| {
        if was == is {
            return None;
        }
        let shown = first_difference(what, &redactor.redact_json(was), &redactor.redact_json(is));
        Some(shown.unwrap_or_else(|| format!("in {what}, within text that looks like a key")))
    };
    found.extend(first_difference("the system prompt", recorded.system, &asked.system));
    found.extend(first_difference("the tools", recorded.tools, &asked.tools));
    // List every different setting, since there are few.
    for (name, value) in asked.settings.as_object().into_iter().flatten() {
        let was = recorded.settings.get(name).unwrap_or(&Value::Null);
        found.extend(first_difference(&format!("`{name}`"), was, value));
    }
    let mut pairs = recorded.messages.iter().zip(&asked.messages).enumerate();
    if let Some((index, (was, is))) = pairs.find(|(_, (was, is))| **was != *is) {
        found.extend(first_difference(&format!("message {}", index + 1), was, is));
    }
    let (were, are) = (recorded.messages.len(), asked.messages.len());
    if were != are {
        found.push(format!("in the number of messages: recorded {were}, asked {are}"));
    }
    found
}

/// The first line that differs.
fn first_difference(what: &str, recorded: &Value, asked: &Value) -> Option<String> {
    let (mut were, mut are) = (Vec::new(), Vec::new());
    value_lines(recorded, String::new(), &mut were);
    value_lines(asked, String::new(), &mut are);
    let same = were.iter().zip(&are).take_while(|(was, is)| was.same_text(is)).count();
    if same == were.len().max(are.len()) {
        return None;
    }
    let (was, is) = (were.get(same), are.get(same));
    let same_path = was.zip(is).is_none_or(|(was, is)| was.path == is.path);
    let several = was.into_iter().chain(is).any(|entry| entry.lines > 1);
    let location = is.or(was).filter(|_| same_path).map(|entry| entry.location(several));
    let location = location.unwrap_or_default();
    let text = |entry: &ValueLine| match entry.path.trim_start_matches('.') {
        path if !same_path && !path.is_empty() => format!("{path}: {}", entry.text),
        _ => entry.text.clone(),
    };
    let (was, is) = (was.map(text), is.map(text));
    let common = match (&was, &is) {
        (Some(was), Some(is)) => was.chars().zip(is.chars()).take_while(|(a, b)| a == b).count(),
        (Some(_), None) | (None, Some(_)) | (None, None) => 0,
    };
    let shown = |text: Option<String>| {
        text.map_or_else(|| "nothing".to_owned(), |text| excerpt(&text, common))
    };
    Some(format!("in {what}{location}: recorded {}, asked {}", shown(was), shown(is)))
}

/// One line of a JSON value.
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
    fn location(&self, several: bool) -> String {
        let path = match self.path.trim_start_matches('.') {
            "" => String::new(),
            path => format!(", `{path}`"),
        };
        if several { format!("{path}, line {}", self.line) } else { path }
    }
}

/// Flattens a value: one entry per text line or other value.
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
fn excerpt(text: &str, common: usize) -> String {
    let skipped = common.saturating_sub(CONTEXT_CHARS);
    let quoted: String = text.chars().skip(skipped).take(EXCERPT_CHARS).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let after = if text.chars().count() > skipped + EXCERPT_CHARS { "…" } else { "" };
    format!("{before}{quoted:?}{after}")
}
