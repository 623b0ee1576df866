//! Extracts the JSON object from a model's plain text: fenced, surrounded by prose, or slightly
//! malformed.
//!
//! Repairs trailing commas, raw line breaks, invalid escapes and a missing end. The work is linear
//! in the size of the text.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use thiserror::Error;

/// Limit on the scanned bytes, as a multiple of the text's length. Prose with braces needs two or
/// three passes; the limit stops hostile text.
const MAX_PASSES: usize = 8;

/// Tags around a call in the text of Qwen and Hermes models. Servers leave them in the text if they
/// do not know the format.
const CALL_TAGS: (&str, &str) = ("<tool_call>", "</tool_call>");

#[derive(Debug, PartialEq)]
pub(crate) struct ExtractedObject {
    pub(crate) object: Map<String, Value>,
    pub(crate) completeness: Completeness,
    pub(crate) placement: Placement,
}

/// Where an object is in its text. It may be in a code fence or in other JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// At the end of the text, and no prose precedes it on its line.
    Alone,
    /// At the start of the text, and prose follows, but not on its line.
    AtStart,
    /// On lines of its own, between prose. It may be a quote of the change.
    BetweenProse,
    /// On a line with prose. It is probably a quote of the change.
    InProse,
}

/// Whether the object was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completeness {
    Complete,
    /// The text was cut off. Open brackets were closed, and the incomplete last entry was dropped.
    Truncated,
}

/// Why no object was found. The model reads this text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ExtractError {
    #[error("there is no JSON object in it")]
    Missing,
    #[error("the JSON is not valid: {0}")]
    Invalid(String),
    /// The text has only objects without any of the expected keys.
    #[error("no JSON object in it has one of the keys {0}")]
    Keys(String),
    /// One of the objects may be a quote from the change.
    #[error("several JSON objects in it have the keys {0}, and they differ: write one")]
    Ambiguous(String),
}

/// Returns the complete object with one of the keys, or else the last truncated one.
pub(crate) fn find_object(text: &str, keys: &[&str]) -> Result<ExtractedObject, ExtractError> {
    find_object_where(text, keys, |object| keys.iter().any(|key| object.contains_key(*key)))
}

/// Returns the complete list at the start or the end of the text whose entries are all objects that
/// `accept` allows. Returns `None` if the text has several different such lists.
pub(crate) fn find_list(
    text: &str,
    accept: impl Fn(&Map<String, Value>) -> bool,
) -> Option<Vec<Value>> {
    let starts_list = |rest: &str| rest.trim_start().starts_with('{');
    let first = first_json(text);
    let mut lists: Vec<Vec<Value>> = Vec::new();
    let mut is_within_prose = true;
    scan_all(text, '[', starts_list, |scan, start| {
        let placement = placement(text, &first, start..start + scan.length);
        let list = serde_json::from_str::<Vec<Value>>(&scan.json).ok();
        let list = list
            .filter(|list| list.iter().all(|entry| entry.as_object().is_some_and(&accept)))
            .filter(|_| scan.completeness == Completeness::Complete);
        let is_accepted = list.is_some();
        let is_outside = matches!(placement, Placement::Alone | Placement::AtStart);
        is_within_prose &= !(is_accepted && is_outside);
        lists.extend(list);
        is_accepted
    });
    lists.dedup();
    lists.pop().filter(|_| lists.is_empty() && !is_within_prose)
}

/// Returns the complete object that `accept` allows, or else the last truncated one. A different
/// object after a complete one is an error. `keys` are for the error.
pub(crate) fn find_object_where(
    text: &str,
    keys: &[&str],
    accept: impl Fn(&Map<String, Value>) -> bool,
) -> Result<ExtractedObject, ExtractError> {
    let mut best: Option<ExtractedObject> = None;
    let mut error = ExtractError::Missing;
    let mut is_ambiguous = false;
    let first = first_json(text);
    scan_all(text, '{', starts_object, |ObjectScan { json, completeness, length }, start| {
        match serde_json::from_str::<Map<String, Value>>(&json) {
            Ok(object) if accept(&object) => {
                let complete =
                    best.as_ref().filter(|best| best.completeness == Completeness::Complete);
                // A cut object after a complete one may correct it.
                is_ambiguous |= complete.is_some_and(|best| best.object != object);
                if completeness == Completeness::Complete || complete.is_none() {
                    let placement = placement(text, &first, start..start + length);
                    best = Some(ExtractedObject { object, completeness, placement });
                }
                return true;
            }
            Ok(_) => error = ExtractError::Keys(quoted_list(keys)),
            Err(parse_error) => error = ExtractError::Invalid(parse_error.to_string()),
        }
        false
    });
    if is_ambiguous {
        return Err(ExtractError::Ambiguous(quoted_list(keys)));
    }
    best.ok_or(error)
}

/// Returns the different complete objects that `accept` allows, if they are a block at the end of
/// the text: between them are only brackets, code fences and call tags, and no prose precedes them
/// on their line. Returns no objects if the text has a different one elsewhere, which may be a
/// quote, or if one of the objects is truncated.
pub(crate) fn find_block(
    text: &str,
    accept: impl Fn(&Map<String, Value>) -> bool,
) -> Vec<Map<String, Value>> {
    let mut found: Vec<(Map<String, Value>, Range<usize>)> = Vec::new();
    let mut is_cut = false;
    scan_all(text, '{', starts_object, |ObjectScan { json, completeness, length }, start| {
        let object = serde_json::from_str::<Map<String, Value>>(&json).ok().filter(&accept);
        let is_accepted = object.is_some();
        is_cut |= is_accepted && completeness == Completeness::Truncated;
        found.extend(object.map(|object| (object, start..start + length)));
        is_accepted
    });
    let joins = |pair: &[(Map<String, Value>, Range<usize>)]| matches!(pair, [(_, one), (_, other)] if is_separator(&text[one.end..other.start]));
    let block_start = found.windows(2).rposition(|pair| !joins(pair)).map_or(0, |index| index + 1);
    let (earlier, block) = found.split_at(block_start);
    let [(_, first), ..] = block else { return Vec::new() };
    let end = block.last().map_or(first.end, |(_, last)| last.end);
    let is_alone = placement(text, &first_json(text), first.start..end) == Placement::Alone;
    let is_repeated = |object| block.iter().any(|(other, _)| other == object);
    if is_cut || !is_alone || !earlier.iter().all(|(object, _)| is_repeated(object)) {
        return Vec::new();
    }
    let mut objects: Vec<Map<String, Value>> = Vec::new();
    for (object, _) in block {
        if !objects.contains(object) {
            objects.push(object.clone());
        }
    }
    objects
}

/// Whether a text between two objects has no prose.
fn is_separator(text: &str) -> bool {
    let text = text.replace(CALL_TAGS.0, "").replace(CALL_TAGS.1, "");
    text.lines().map(str::trim).all(|line| match line.strip_prefix("```") {
        Some(language) => language.chars().all(char::is_alphanumeric),
        None => line.chars().all(|letter| letter.is_whitespace() || "[]{},`".contains(letter)),
    })
}

fn placement(text: &str, first: &Range<usize>, place: Range<usize>) -> Placement {
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    // The value of a key, such as `"arguments": {…}` in a call that a model wrote as text.
    let is_value = line.starts_with('"')
        && line.trim_end().ends_with("\":")
        && after.trim_start().starts_with('}');
    let starts_line = line.is_empty()
        || line.starts_with(['{', '['])
        || line.starts_with("```")
        || line.starts_with(CALL_TAGS.0);
    let is_end = |letter: char| letter.is_whitespace() || "}]`".contains(letter);
    let ends_line =
        |end: usize| text[end..].split('\n').next().unwrap_or_default().chars().all(is_end);
    let rest = after.trim_end();
    let rest = rest.strip_suffix(CALL_TAGS.1).unwrap_or(rest);
    let is_first = first.start <= place.start && place.end <= first.end && ends_line(first.end);
    if (is_first || starts_line || is_value) && rest.chars().all(is_end) {
        Placement::Alone
    } else if is_first {
        Placement::AtStart
    } else if (starts_line || is_value) && ends_line(place.end) {
        Placement::BetweenProse
    } else {
        Placement::InProse
    }
}

/// The complete JSON with which a text starts, also in a code fence. Empty if there is none.
fn first_json(text: &str) -> Range<usize> {
    let start = text.trim_start();
    let start = start.strip_prefix(CALL_TAGS.0).map_or(start, str::trim_start);
    let json = match start.strip_prefix("```") {
        Some(fenced) => fenced.trim_start_matches(char::is_alphanumeric).trim_start(),
        None => start,
    };
    let start = text.len() - json.len();
    if !json.starts_with(['{', '[']) {
        return start..start;
    }
    let ObjectScan { json, completeness, length } = scan_object(json);
    let is_json = serde_json::from_str::<IgnoredAny>(&json).is_ok();
    start..start + if is_json && completeness == Completeness::Complete { length } else { 0 }
}

/// Scans from each `bracket` if `starts` accepts the text after it, and gives the scan and its
/// start to `visit`. If `visit` returns false, the next scan may start inside this one, until the
/// scan budget is used up.
fn scan_all(
    text: &str,
    bracket: char,
    starts: impl Fn(&str) -> bool,
    mut visit: impl FnMut(ObjectScan, usize) -> bool,
) {
    let mut budget = text.len().saturating_mul(MAX_PASSES);
    let mut position = 0;
    while let Some(start) = text[position..].find(bracket).map(|offset| position + offset) {
        position = start + 1;
        if !starts(&text[position..]) {
            continue;
        }
        let scan = scan_object(&text[start..]);
        let end = start + scan.length;
        budget = budget.saturating_sub(scan.length);
        if visit(scan, start) || budget == 0 {
            position = end;
        }
    }
}

fn quoted_list(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}

/// Whether a brace starts a JSON object: a quote, the closing brace or the end of the text follows.
/// This is rare for braces in code and prose.
fn starts_object(after_brace: &str) -> bool {
    // After this much whitespace, the brace counts as the start of an object.
    const MAX_WHITESPACE: usize = 200;
    let next = after_brace.bytes().take(MAX_WHITESPACE).find(|byte| !byte.is_ascii_whitespace());
    matches!(next, Some(b'"' | b'}') | None)
}

struct ObjectScan {
    /// The repaired text, which may still be invalid JSON.
    json: String,
    /// Length of the scanned text in bytes, before repairs.
    length: usize,
    completeness: Completeness,
}

/// Scans from an opening bracket to its closing one, to a mismatched one, or to the end of the
/// text. A mismatch yields invalid JSON, which the parser rejects.
fn scan_object(text: &str) -> ObjectScan {
    let mut json = String::new();
    let mut closers = Vec::new();
    // The JSON is valid up to this length, once open brackets are closed.
    let mut valid_len = 0;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '"' => {
                let is_key = closers.last() == Some(&'}') && !json.ends_with(':');
                let (remaining, completeness) = copy_string(rest, &mut json);
                rest = remaining;
                if !is_key {
                    valid_len = json.len();
                }
                if completeness == Completeness::Truncated {
                    break;
                }
            }
            '{' | '[' => {
                closers.push(if character == '{' { '}' } else { ']' });
                json.push(character);
                valid_len = json.len();
            }
            '}' | ']' => {
                let is_matching = closers.pop() == Some(character);
                if json.ends_with(',') {
                    json.pop();
                }
                json.push(character);
                valid_len = json.len();
                if closers.is_empty() || !is_matching {
                    return ObjectScan {
                        json,
                        length: text.len() - rest.len(),
                        completeness: Completeness::Complete,
                    };
                }
            }
            ',' => {
                valid_len = json.len();
                json.push(character);
            }
            character if character.is_ascii_whitespace() => {}
            character => json.push(character),
        }
    }
    json.truncate(valid_len);
    json.extend(closers.iter().rev());
    ObjectScan { json, length: text.len() - rest.len(), completeness: Completeness::Truncated }
}

/// Copies a string after its opening quote, including the closing quote. Returns the rest of the
/// text.
fn copy_string<'a>(text: &'a str, json: &mut String) -> (&'a str, Completeness) {
    json.push('"');
    let mut chars = text.chars();
    while let Some(character) = chars.next() {
        match character {
            '"' => {
                json.push('"');
                return (chars.as_str(), Completeness::Complete);
            }
            '\\' => match chars.next() {
                Some('u') => {
                    // Fewer than four digits: either the text is cut off here, or the escape is
                    // invalid and the parser reports it.
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
                // `\'`, `\d`: keep the backslash as a literal one.
                Some(other) => json.extend(['\\', '\\', other]),
                None => {}
            },
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            character if character.is_control() && character.is_ascii() => json.push(' '),
            character => json.push(character),
        }
    }
    json.push('"');
    ("", Completeness::Truncated)
}

#[cfg(test)]
mod tests;
