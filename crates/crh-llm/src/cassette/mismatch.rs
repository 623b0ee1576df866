//! Says in which places a question differs from the nearest one that was recorded.

use serde_json::Value;

use crate::Redactor;
use crate::cassette::question::{Parts, Question};

/// Characters of an excerpt: enough to recognise a line, few enough that two fit on a screen.
const EXCERPT: usize = 80;

/// Characters before the first one that differs.
const BEFORE: usize = 30;

/// What differs from the nearest of the recorded questions, in words that the redactor has seen.
pub(super) fn from_nearest<'a>(
    recorded: impl Iterator<Item = (&'a Question, Parts<&'a Value>)>,
    question: &Question,
    asked: &Parts<Value>,
    redactor: &Redactor,
) -> String {
    let recorded: Vec<_> = recorded.collect();
    let count = recorded.len();
    let nearest = recorded
        .iter()
        .enumerate()
        .max_by_key(|(index, (candidate, values))| {
            // Of equally near ones the first.
            (nearness(candidate, question), likeness(values, asked), std::cmp::Reverse(*index))
        })
        .map(|(_, (_, values))| values);
    let Some(nearest) = nearest else { return "the recording has no questions".to_owned() };
    let differences = differences(nearest, asked, redactor);
    format!(
        "the recording has no answer to this question; the nearest of its {count} differs\n  {}",
        differences.join("\n  ")
    )
}

/// How many pieces two questions share, from the beginning and from the end of their messages.
fn nearness(recorded: &Question, asked: &Question) -> usize {
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

/// How much of the first message that differs is alike, in characters at both of its ends.
fn likeness(recorded: &Parts<&Value>, asked: &Parts<Value>) -> usize {
    let mut pairs = recorded.messages.iter().zip(&asked.messages);
    let Some((first, second)) = pairs.find(|(first, second)| **first != *second) else { return 0 };
    let (first, second) = (first.to_string(), second.to_string());
    let leading = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let trailing = first.bytes().rev().zip(second.bytes().rev());
    leading + trailing.take_while(|(a, b)| a == b).count()
}

fn differences(recorded: &Parts<&Value>, asked: &Parts<Value>, redactor: &Redactor) -> Vec<String> {
    let mut found = Vec::new();
    let first_difference = |what: &str, was: &Value, is: &Value| {
        if was == is {
            return None;
        }
        let shown = first_difference(what, &redactor.redact_json(was), &redactor.redact_json(is));
        Some(shown.unwrap_or_else(|| format!("in {what}, in what looks like a key")))
    };
    found.extend(first_difference("the system prompt", recorded.system, &asked.system));
    found.extend(first_difference("the tools", recorded.tools, &asked.tools));
    // Settings are few: each that differs is named.
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

/// The first line in which two values differ.
fn first_difference(what: &str, recorded: &Value, asked: &Value) -> Option<String> {
    let (mut were, mut are) = (Vec::new(), Vec::new());
    lines_of(recorded, String::new(), &mut were);
    lines_of(asked, String::new(), &mut are);
    let same = were.iter().zip(&are).take_while(|(was, is)| was.says_the_same(is)).count();
    if same == were.len().max(are.len()) {
        return None;
    }
    let (was, is) = (were.get(same), are.get(same));
    let same_path = was.zip(is).is_none_or(|(was, is)| was.path == is.path);
    let several = was.into_iter().chain(is).any(|entry| entry.lines > 1);
    let place = is.or(was).filter(|_| same_path).map(|entry| entry.place(several));
    let place = place.unwrap_or_default();
    let text = |entry: &Entry| match entry.path.trim_start_matches('.') {
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
    Some(format!("in {what}{place}: recorded {}, asked {}", shown(was), shown(is)))
}

/// One line of a value: where it stands and what it says.
struct Entry {
    path: String,
    /// Which line of a text, from 1.
    line: usize,
    /// How many the text has.
    lines: usize,
    text: String,
}

impl Entry {
    fn says_the_same(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }

    /// Where it stands; the number of the line only where there are several.
    fn place(&self, several: bool) -> String {
        let path = match self.path.trim_start_matches('.') {
            "" => String::new(),
            path => format!(", `{path}`"),
        };
        if several { format!("{path}, line {}", self.line) } else { path }
    }
}

/// A value as lines: each line of a text, each other value as one.
fn lines_of(value: &Value, path: String, lines: &mut Vec<Entry>) {
    match value {
        Value::String(text) => {
            let count = text.split('\n').count();
            lines.extend(text.split('\n').enumerate().map(|(index, text)| Entry {
                path: path.clone(),
                line: index + 1,
                lines: count,
                text: text.to_owned(),
            }));
        }
        Value::Array(values) if !values.is_empty() => {
            for (index, value) in values.iter().enumerate() {
                // Tools and the like are better known by their names than by their numbers.
                let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
                let name = name.unwrap_or_else(|| (index + 1).to_string());
                lines_of(value, format!("{path}.{name}"), lines);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                lines_of(value, format!("{path}.{name}"), lines);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            lines.push(Entry { path, line: 1, lines: 1, text: value.to_string() });
        }
    }
}

/// A quotation of a text around the first character that differs.
fn excerpt(text: &str, common: usize) -> String {
    let skipped = common.saturating_sub(BEFORE);
    let quoted: String = text.chars().skip(skipped).take(EXCERPT).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let after = if text.chars().count() > skipped + EXCERPT { "…" } else { "" };
    format!("{before}{quoted:?}{after}")
}
