//! Redacts secrets in everything that is stored or shown: known secrets by their values, unknown
//! secrets by their shapes (such as `sk-…`).
//!
//! No long fragment of a known secret survives, plain or encoded (`values.rs` has the lengths).
//! Redaction is idempotent and keeps the number of lines.

mod shapes;
mod values;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use secrecy::SecretString;
use serde_json::Value;
use values::SecretValues;

/// Replacement of a secret.
pub(crate) const MASK: &str = "[redacted]";

/// Maximum number of passes. Masking a secret can uncover another one next to it, which the next
/// pass finds. Realistic texts need one or two passes.
const MAX_PASSES: usize = 8;

/// Redacts secrets. Created once from the keys in use, and shared by all writers.
#[derive(Clone, Default)]
pub struct Redactor {
    values: SecretValues,
    shapes: ShapeMasking,
}

/// Whether to mask text that only looks like a secret.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ShapeMasking {
    #[default]
    On,
    Off,
}

impl Redactor {
    /// A redactor for these secrets. Without secrets, it masks only text with the shape of a
    /// secret.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        Self { values: SecretValues::new(secrets), shapes: ShapeMasking::On }
    }

    /// Masks only known secrets. Use it if different texts must stay different, because text with
    /// the shape of a key may be an ordinary name.
    #[must_use]
    pub fn known_secrets_only(self) -> Self {
        Self { shapes: ShapeMasking::Off, ..self }
    }

    /// Redacts a text. Borrows it if there is nothing to mask.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted_text = Cow::Borrowed(text);
        for _ in 0..MAX_PASSES {
            let ranges = self.secrets_in(&redacted_text);
            if ranges.is_empty() {
                break;
            }
            let masked_text = mask_ranges(&redacted_text, ranges);
            if masked_text == redacted_text {
                break;
            }
            redacted_text = Cow::Owned(masked_text);
        }
        redacted_text
    }

    /// Redacts all texts of a value, including field names. A text in a field with the name of a
    /// key header, such as `authorization`, is masked completely, unless only known secrets are
    /// masked.
    pub fn redact_json(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.redact(text).into_owned()),
            Value::Array(values) => values.iter().map(|value| self.redact_json(value)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| {
                    let value = match value {
                        Value::String(_) if self.is_key_field(name) => Value::from(MASK),
                        value => self.redact_json(value),
                    };
                    (self.redact(name).into_owned(), value)
                })
                .collect(),
        }
    }

    /// Whether a field is masked because of its name.
    fn is_key_field(&self, name: &str) -> bool {
        match self.shapes {
            ShapeMasking::On => shapes::is_key_header(name),
            ShapeMasking::Off => false,
        }
    }

    /// Ranges of secrets and existing masks, sorted and disjoint. Empty if there are no secrets.
    fn secrets_in(&self, text: &str) -> Vec<Range<usize>> {
        let masks: Vec<_> =
            text.match_indices(MASK).map(|(start, _)| start..start + MASK.len()).collect();
        let mut ranges = self.values.find_in(text.as_bytes(), &masks);
        match self.shapes {
            ShapeMasking::On => ranges.extend(shapes::find_in(text)),
            ShapeMasking::Off => {}
        }
        if ranges.is_empty() {
            return ranges;
        }
        // Merge secrets with adjacent masks, so that a second redaction changes nothing.
        ranges.extend(masks);
        merge_ranges(ranges)
    }
}

impl fmt::Debug for Redactor {
    /// Shows no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

fn merge_ranges(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged_ranges: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged_ranges.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => merged_ranges.push(range),
        }
    }
    merged_ranges
}

/// Masks each range line by line, so that line numbers stay the same.
fn mask_ranges(text: &str, ranges: Vec<Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied_end = 0;
    for range in ranges {
        let start = text.floor_char_boundary(range.start);
        let end = text.ceil_char_boundary(range.end);
        out.push_str(&text[copied_end..start]);
        for line in text[start..end].split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            if !content.is_empty() {
                out.push_str(MASK);
            }
            out.push_str(&line[content.len()..]);
        }
        copied_end = end;
    }
    out.push_str(&text[copied_end..]);
    out
}

#[cfg(test)]
mod tests;
