//! Finds the JSON object in what a model wrote as plain text: in a fence, with prose around it, with small mistakes.
//!
//! Mends trailing commas, line breaks and odd escapes in strings, and an end that is missing. The work is linear in
//! the text, whatever stands in it.

use serde_json::{Map, Value};
use thiserror::Error;

/// How often the text may be read over again to look for an object inside something that was none. Prose with braces
/// needs two or three; text made to be slow gets no more than this.
const PASSES: usize = 8;

/// An object that stood in a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Extracted {
    /// The object.
    pub(crate) object: Map<String, Value>,
    /// Whether its end was there.
    pub(crate) ending: Ending,
}

/// Whether the end of an object was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was.
    Whole,
    /// The text broke off; what was open has been closed, and what was half said has been left out.
    Cut,
}

/// Why a text holds no object of ours, as a clause for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NoObject {
    /// Nothing in it looks like one.
    #[error("there is no JSON object in it")]
    Missing,
    /// Something looks like one and is none.
    #[error("the JSON is not valid: {0}")]
    Invalid(String),
    /// Objects, but none with a key that we know.
    #[error("no JSON object in it has one of the keys {0}")]
    Keys(String),
}

/// The last complete object with one of the keys; if there is none, the last that broke off.
pub(crate) fn object(text: &str, keys: &[&str]) -> Result<Extracted, NoObject> {
    let mut best: Option<Extracted> = None;
    let mut trouble = NoObject::Missing;
    let mut budget = text.len().saturating_mul(PASSES);
    let mut at = 0;
    while let Some(start) = text.get(at..).and_then(|rest| rest.find('{')).map(|found| at + found) {
        at = start + 1;
        if !begins_an_object(&text[at..]) {
            continue;
        }
        let scan = scan(&text[start..]);
        budget = budget.saturating_sub(scan.length);
        match serde_json::from_str::<Map<String, Value>>(&scan.json) {
            Ok(object) if keys.iter().any(|key| object.contains_key(*key)) => {
                at = start + scan.length;
                if scan.ending == Ending::Whole
                    || best.as_ref().is_none_or(|best| best.ending == Ending::Cut)
                {
                    best = Some(Extracted { object, ending: scan.ending });
                }
                continue;
            }
            Ok(_) => trouble = NoObject::Keys(listed(keys)),
            Err(error) => trouble = NoObject::Invalid(error.to_string()),
        }
        // What is no object of ours may hold one; when the passes are used up, it is stepped over.
        if budget == 0 {
            at = start + scan.length;
        }
    }
    best.ok_or(trouble)
}

fn listed(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}

/// Braces of code and prose are seldom followed by a quote, those of an object always or by its end.
fn begins_an_object(after_brace: &str) -> bool {
    // So much white space is looked over: more does not stand at the beginning of an object.
    const SPACE: usize = 200;
    let next = after_brace.bytes().take(SPACE).find(|byte| !byte.is_ascii_whitespace());
    matches!(next, Some(b'"' | b'}') | None)
}

/// An object that was read to its end, or to the end of the text.
struct Scan {
    /// The object as JSON that a strict reader accepts, if it was one.
    json: String,
    /// Bytes of the text.
    length: usize,
    ending: Ending,
}

/// Reads from an opening brace to the one that closes it, or to a bracket that does not match: what it gives back
/// then is no JSON, and the strict reader says so.
fn scan(text: &str) -> Scan {
    let mut json = String::new();
    let mut closers = Vec::new();
    // Up to here the JSON is complete but for what has to be closed.
    let mut sound = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '"' => {
                let is_key = closers.last() == Some(&'}') && !json.ends_with(':');
                let (after, ending) = string(rest, &mut json);
                rest = after;
                if !is_key {
                    sound = json.len();
                }
                if ending == Ending::Cut {
                    break;
                }
            }
            '{' | '[' => {
                closers.push(if first == '{' { '}' } else { ']' });
                json.push(first);
                sound = json.len();
            }
            '}' | ']' => {
                let matches = closers.pop() == Some(first);
                if json.ends_with(',') {
                    json.pop();
                }
                json.push(first);
                sound = json.len();
                if closers.is_empty() || !matches {
                    return Scan { json, length: text.len() - rest.len(), ending: Ending::Whole };
                }
            }
            ',' => {
                sound = json.len();
                json.push(first);
            }
            first if first.is_ascii_whitespace() => {}
            first => json.push(first),
        }
    }
    json.truncate(sound);
    json.extend(closers.iter().rev());
    Scan { json, length: text.len() - rest.len(), ending: Ending::Cut }
}

/// Copies a string whose opening quote has been read, up to and with its closing quote, and returns what follows it.
fn string<'a>(text: &'a str, json: &mut String) -> (&'a str, Ending) {
    json.push('"');
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        match next {
            '"' => {
                json.push('"');
                return (chars.as_str(), Ending::Whole);
            }
            '\\' => match chars.next() {
                Some('u') => {
                    // Fewer than four digits: the text broke off here, or the model is wrong and hears of it.
                    let digits: String =
                        chars.clone().take(4).take_while(char::is_ascii_hexdigit).collect();
                    if digits.len() == 4 || !chars.as_str()[digits.len()..].is_empty() {
                        json.push_str("\\u");
                    } else {
                        chars = "".chars();
                    }
                }
                Some(escape @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
                    json.extend(['\\', escape]);
                }
                // `\'`, `\d`: the backslash was meant as one.
                Some(other) => json.extend(['\\', '\\', other]),
                None => {}
            },
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if control.is_control() && control.is_ascii() => json.push(' '),
            other => json.push(other),
        }
    }
    json.push('"');
    ("", Ending::Cut)
}

#[cfg(test)]
mod tests;
