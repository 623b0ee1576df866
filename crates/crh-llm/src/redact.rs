//! Masks secrets in everything that is stored or shown: known ones by their value, others by their shape.
//!
//! A known secret does not survive whole, in pieces, or encoded; what is masked once stays as it is when it is
//! masked again, and no line is added or lost.

mod shapes;
mod values;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use secrecy::SecretString;
use serde_json::Value;
use values::Values;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "[redacted]";

/// Masking can uncover a shape that was glued to what is now masked; each further pass finds what the one before
/// uncovered. Texts of any sense need one or two.
const PASSES_MAX: usize = 8;

/// Masks secrets. Made once from the keys in use, shared by everything that writes.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Values,
    shapes: Shapes,
}

/// What becomes of text that only has the shape of a secret.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Shapes {
    #[default]
    Masked,
    Left,
}

impl Redactor {
    /// A redactor that knows these secrets; without any it goes by shapes alone.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self { values: Values::new(secrets), shapes: Shapes::Masked }
    }

    /// The same, for known secrets alone. For what has to come back as it was: two texts stay two, and what looks like a
    /// key to us may be a name to others.
    #[must_use]
    pub fn by_value_alone(self) -> Self {
        Self { shapes: Shapes::Left, ..self }
    }

    /// The text without secrets; borrowed if there was none in it.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        for _ in 0..PASSES_MAX {
            let secrets = self.secrets_in(&redacted);
            if secrets.is_empty() {
                break;
            }
            let next = masked(&redacted, secrets);
            if next == redacted {
                break;
            }
            redacted = Cow::Owned(next);
        }
        redacted
    }

    /// The value with its texts redacted, names of fields included. A field that is called like a header of keys is
    /// masked like one.
    pub fn redact_json(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.redact(text).into_owned()),
            Value::Array(values) => values.iter().map(|value| self.redact_json(value)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| {
                    let value = match value {
                        Value::String(_) if self.is_masked_by(name) => Value::from(MASK),
                        value => self.redact_json(value),
                    };
                    (self.redact(name).into_owned(), value)
                })
                .collect(),
        }
    }

    /// Whether the value of a field is masked for the field's name.
    fn is_masked_by(&self, name: &str) -> bool {
        match self.shapes {
            Shapes::Masked => shapes::is_header_of_keys(name),
            Shapes::Left => false,
        }
    }

    /// Where secrets stand, sorted, without overlaps.
    fn secrets_in(&self, text: &str) -> Vec<Range<usize>> {
        let masks: Vec<_> = text.match_indices(MASK).map(|(at, _)| at..at + MASK.len()).collect();
        let mut found = self.values.found_in(text.as_bytes(), &masks);
        match self.shapes {
            Shapes::Masked => found.extend(shapes::found_in(text)),
            Shapes::Left => {}
        }
        if found.is_empty() {
            return found;
        }
        // Masks that touch become one, or a second pass would not find the text as it left it.
        found.extend(masks);
        joined(found)
    }
}

impl fmt::Debug for Redactor {
    /// Says nothing of what it knows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => joined.push(range),
        }
    }
    joined
}

/// The text with each range replaced, line by line, so that line numbers stay what they are.
fn masked(text: &str, ranges: Vec<Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for range in ranges {
        let start = text.floor_char_boundary(range.start);
        let end = text.ceil_char_boundary(range.end);
        out.push_str(&text[kept..start]);
        for line in text[start..end].split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            if !content.is_empty() {
                out.push_str(MASK);
            }
            out.push_str(&line[content.len()..]);
        }
        kept = end;
    }
    out.push_str(&text[kept..]);
    out
}

#[cfg(test)]
mod tests;
