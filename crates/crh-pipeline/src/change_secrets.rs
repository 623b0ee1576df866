//! Finds credentials in the lines of a change and masks them in texts that crh shows or stores.
//!
//! All lines of a diff count: a removed or unchanged line can contain a key that is still valid.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use secrecy::SecretString;
use serde_json::Value;

use crh_lint::{AddedLine, ChangedFile, secrets};
use crh_llm::Redactor;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_review::finding::Side;

/// Fields of the workspace's JSON with texts that people wrote.
const PROSE_FIELDS: [&str; 7] = ["author", "body", "name", "subject", "summary", "text", "title"];

/// Replacement for a secret, as everywhere in the run folder.
const MASK: &str = "[redacted]";

/// Minimum length of a secret whose pieces and encodings are masked too. Pieces of shorter secrets
/// are often ordinary words, and masking them would make reports unreadable.
const LONG_BYTES: usize = 24;

/// Minimum length of a line of a multi-line secret, such as a private key, that is masked on its
/// own.
const LINE_BYTES: usize = 16;

/// Placeholder such as `[redacted 3]`. The number is the index among the credentials of the change.
/// A look-alike in the text gets an extra `~`, which restoring removes. A credential from outside
/// the change has `?` instead of an index and cannot be restored.
static PLACEHOLDER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[redacted (~*)([0-9]{1,9}|\?)\]").ok());

/// Placeholder of a credential that cannot be restored.
const UNRESTORABLE: &str = "[redacted ?]";

/// JSON fields that quote code.
const QUOTE_FIELDS: [&str; 2] = ["evidence_snippet", "snippet"];

/// JSON fields with values from closed sets. They must stay readable.
const CLOSED_SET_FIELDS: [&str; 19] = [
    "action",
    "asked",
    "autofix_class",
    "category",
    "ended",
    "fate",
    "limited",
    "mode",
    "origin",
    "outcome",
    "owner",
    "proof",
    "queue",
    "result",
    "severity",
    "side",
    "state",
    "status",
    "strategy",
];

/// JSON fields that hold paths.
const PATH_FIELDS: [&str; 2] = ["file", "path"];

/// Credentials in a change. Clones share them.
#[derive(Clone)]
pub struct ChangeSecrets {
    /// Values of the credentials. They are sorted, so the same change always has the same indexes.
    values: Arc<[String]>,
    /// Indexes of credentials that occur in a path of the change. They stay visible in paths, since
    /// findings need correct paths.
    in_paths: Arc<BTreeSet<usize>>,
    /// Paths of the change.
    paths: Arc<BTreeSet<String>>,
    /// Lines of the change that contain a look-alike of a [placeholder](PLACEHOLDER).
    look_alikes: Arc<str>,
    /// Finds whole credentials. `None` if there are none.
    whole_matcher: Option<AhoCorasick>,
    /// Masks long credentials, their pieces and their encodings.
    piece_redactor: Redactor,
}

impl Default for ChangeSecrets {
    /// No credentials.
    fn default() -> Self {
        Self::new(&[])
    }
}

impl ChangeSecrets {
    /// Finds the credentials in all lines of a diff, including removed lines and files that are not
    /// reviewed: a model may quote them.
    pub fn from_diff(diff: &Diff) -> Self {
        let sides = diff.files().iter().flat_map(|file| {
            let sides = [Side::New].into_iter().chain((file.deletions > 0).then_some(Side::Old));
            sides.map(|side| shown_side(diff, file, side))
        });
        let secrets = Self::new(&secrets::values(&sides.collect::<Vec<_>>()));
        let old_and_new_paths =
            diff.files().iter().flat_map(|file| file.old_path.iter().chain([&file.path]));
        let paths: BTreeSet<String> =
            old_and_new_paths.map(|path| path.shown().into_owned()).collect();
        let in_paths = paths.iter().flat_map(|path| {
            let hits = secrets.whole_matcher.iter().flat_map(move |whole| whole.find_iter(path));
            hits.map(|hit| hit.pattern().as_usize())
        });
        let in_paths = in_paths.collect();
        let lines = diff.files().iter().flat_map(|file| &file.hunks);
        let lines = lines.flat_map(|hunk| diff.lines(hunk));
        let lines = lines.map(|line| String::from_utf8_lossy(line.text()));
        let look_alike_lines: Vec<_> = lines.filter(|line| has_placeholder(line)).collect();
        let look_alikes = look_alike_lines.join("\n").into();
        Self { in_paths: Arc::new(in_paths), paths: Arc::new(paths), look_alikes, ..secrets }
    }

    /// Secrets with these values. Each long line of a multi-line value is a secret, too.
    pub fn new(values: &[String]) -> Self {
        let lines = values.iter().flat_map(|value| value.lines()).map(str::trim);
        let is_secret_line = |line: &&str| line.len() >= LINE_BYTES && !line.starts_with("-----");
        let whole_values =
            values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
        let mut all_values: Vec<&str> = whole_values.chain(lines.filter(is_secret_line)).collect();
        all_values.sort_unstable();
        all_values.dedup();
        let long_values = all_values.iter().filter(|value| value.len() >= LONG_BYTES);
        let long_secrets: Vec<SecretString> =
            long_values.map(|value| SecretString::from(*value)).collect();
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest);
        Self {
            // Most changes have no credentials. Without a matcher, the search is skipped.
            whole_matcher: builder.build(&all_values).ok().filter(|_| !all_values.is_empty()),
            piece_redactor: Redactor::new(&long_secrets).known_secrets_only(),
            values: all_values.into_iter().map(str::to_owned).collect(),
            in_paths: Arc::default(),
            paths: Arc::default(),
            look_alikes: "".into(),
        }
    }

    /// The API keys of the models, since a model may repeat its key.
    pub(crate) fn from_keys(keys: &Redactor) -> Self {
        Self { piece_redactor: keys.clone().known_secrets_only(), ..Self::default() }
    }

    /// Further credentials in the quotes of a value. A finding may quote code outside the change.
    pub(crate) fn quoted_in(&self, value: &Value) -> Self {
        let mut quotes = BTreeSet::new();
        collect_quotes(value, "", "", &mut quotes);
        let mut values = values_in(quotes.into_iter());
        values.retain(|value| self.values.binary_search(value).is_err());
        Self::outside_paths(&values)
    }

    /// Credentials in texts about a change, such as commit messages.
    pub(crate) fn in_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        Self::outside_paths(&values_in(texts.map(|text| ("", text))))
    }

    /// crh does not know in which paths these credentials occur, so [`ChangeSecrets::mask_path`]
    /// keeps those that are shorter than [`LONG_BYTES`].
    fn outside_paths(values: &[String]) -> Self {
        let secrets = Self::new(values);
        let in_paths = Arc::new((0..secrets.values.len()).collect());
        Self { in_paths, ..secrets }
    }

    /// Masks credentials in the prose of a value about a change. `None` if the value has no
    /// credentials. Ids, addresses, branches and paths stay. Otherwise a text of the change could
    /// blank one of them by naming it as a password.
    pub(crate) fn mask_prose_of(value: Value) -> Option<Value> {
        let mut texts = Vec::new();
        collect_texts(&value, &mut texts);
        let secrets = Self::in_texts(texts.into_iter());
        let has_secrets = !secrets.values.is_empty();
        has_secrets.then(|| {
            map_texts(value, &|place, mut text| {
                if let TextPosition::InField(name) = place
                    && PROSE_FIELDS.contains(&name)
                {
                    secrets.mask(&mut text);
                }
                text
            })
        })
    }

    /// Masks credentials in a text.
    pub(crate) fn mask(&self, text: &mut String) {
        let masked = self.piece_redactor.redact(text).into_owned();
        *text = self.replace_matches(&masked, |_| MASK.to_owned(), str::to_owned);
    }

    /// Masks credentials in a path, unless it is a path of the change. A credential that is shorter
    /// than [`LONG_BYTES`] and occurs in a path of the change stays.
    pub(crate) fn mask_path(&self, path: &mut String) {
        if self.paths.contains(path) {
            return;
        }
        let masked = self.piece_redactor.redact(path).into_owned();
        *path = self.replace_matches(
            &masked,
            |index| {
                let occurs_in_path = self.in_paths.contains(&index);
                let replacement = if occurs_in_path { &self.values[index] } else { MASK };
                replacement.to_owned()
            },
            str::to_owned,
        );
    }

    /// Replaces credentials by placeholders that [`ChangeSecrets::restore`] can reverse. Field
    /// names and values of closed sets stay if they look like words of crh. Paths of the change
    /// stay too.
    pub(crate) fn replace_with_placeholders(&self, value: Value) -> Value {
        let quoted = self.quoted_in(&value);
        map_texts(value, &|place, text| match place {
            TextPosition::FieldName if is_word(&text) => text,
            TextPosition::InField(name) if CLOSED_SET_FIELDS.contains(&name) && is_word(&text) => {
                text
            }
            TextPosition::InField(name)
                if PATH_FIELDS.contains(&name) && self.paths.contains(&text) =>
            {
                text
            }
            TextPosition::FieldName | TextPosition::InField(_) => {
                let mask_between = |text: &str| {
                    quoted.replace_matches(text, |_| UNRESTORABLE.to_owned(), escape_placeholders)
                };
                let text = self.replace_matches(
                    &text,
                    |index| format!("[redacted {index}]"),
                    mask_between,
                );
                let text = self.piece_redactor.redact(&text);
                quoted.piece_redactor.redact(&text).into_owned()
            }
        })
    }

    /// Reverses [`ChangeSecrets::replace_with_placeholders`], so that quotes can be verified
    /// against the code. Does not restore pieces of credentials. `None` if the value quotes a
    /// credential from outside the change.
    pub(crate) fn restore(&self, value: Value) -> Option<Value> {
        let is_unrestorable = Cell::new(false);
        let value = map_texts(value, &|place, text| match place {
            // `replace_with_placeholders` does not change these fields.
            TextPosition::InField(name)
                if PATH_FIELDS.contains(&name) && self.paths.contains(&text) =>
            {
                text
            }
            TextPosition::FieldName | TextPosition::InField(_) => {
                is_unrestorable.set(is_unrestorable.get() || text.contains(UNRESTORABLE));
                self.restore_text(&text)
            }
        });
        Some(value).filter(|_| !is_unrestorable.get())
    }

    /// Like `ChangeSecrets::restore`, for a value whose placeholders may be text of the change:
    /// keeps lines that occur literally in the change. Also keeps `[redacted ?]`.
    pub fn restore_if_numbered(&self, value: Value) -> Value {
        let occurs_in_change = |line: &str| {
            let line = line.trim();
            has_placeholder(line) && self.look_alikes.contains(line)
        };
        map_texts(value, &|_, text| {
            let lines = text.split_inclusive('\n');
            let lines = lines.map(|line| match occurs_in_change(line) {
                true => line.to_owned(),
                false => self.restore_text(line),
            });
            lines.collect()
        })
    }

    fn restore_text(&self, text: &str) -> String {
        let Some(placeholder) = PLACEHOLDER.as_ref() else { return text.to_owned() };
        let original = |captures: &Captures<'_>| match captures[1].strip_prefix('~') {
            Some(rest) => format!("[redacted {rest}{}]", &captures[2]),
            None => {
                let value =
                    captures[2].parse().ok().and_then(|index: usize| self.values.get(index));
                value.map_or_else(|| captures[0].to_owned(), String::clone)
            }
        };
        placeholder.replace_all(text, &original).into_owned()
    }

    /// Masks credentials in a diff for display. Length and line numbers stay the same.
    pub fn mask_diff(&self, diff: &Diff) -> Diff {
        let mut raw = diff.raw().to_vec();
        let hunks = diff.files().iter().flat_map(|file| &file.hunks);
        for body in hunks.map(|hunk| diff.body(hunk)) {
            let hits = self
                .whole_matcher
                .iter()
                .flat_map(|whole| whole.find_iter(&diff.raw()[body.clone()]));
            for hit in hits {
                raw[body.start + hit.start()..body.start + hit.end()].fill(b'*');
            }
        }
        Diff::read(raw)
    }

    /// Replaces each match with `mask` and the text between matches with `between`.
    fn replace_matches(
        &self,
        text: &str,
        mask: impl Fn(usize) -> String,
        between: impl Fn(&str) -> String,
    ) -> String {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for hit in self.whole_matcher.iter().flat_map(|whole| whole.find_iter(text)) {
            out.push_str(&between(&text[end..hit.start()]));
            out.push_str(&mask(hit.pattern().as_usize()));
            end = hit.end();
        }
        out.push_str(&between(&text[end..]));
        out
    }
}

impl std::fmt::Debug for ChangeSecrets {
    /// Prints no secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// One side of a file as shown in the diff, as if all lines were added.
fn shown_side(diff: &Diff, file: &FileDiff, side: Side) -> ChangedFile {
    let number_of = |kind: LineKind, old: u32, new: u32| match side {
        Side::Old => kind.in_old().then_some(old),
        Side::New => kind.in_new().then_some(new),
    };
    let lines = file.hunks.iter().flat_map(|hunk| diff.lines(hunk));
    let added = lines.filter_map(|line| {
        let number = number_of(line.kind, line.old, line.new)?;
        Some(AddedLine { number, text: line.text().to_vec() })
    });
    let path = match side {
        Side::Old => file.old_path.as_ref().unwrap_or(&file.path),
        Side::New => &file.path,
    };
    ChangedFile {
        path: path.shown().into_owned(),
        has_lines: true,
        added: added.collect(),
        ..ChangedFile::default()
    }
}

/// Credentials in texts, each with the path of its file.
fn values_in<'a>(texts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let files = texts.map(|(path, text)| {
        let lines = (1..).zip(text.lines());
        let added = lines
            .map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() })
            .collect();
        ChangedFile { path: path.to_owned(), has_lines: true, added, ..ChangedFile::default() }
    });
    secrets::values(&files.collect::<Vec<_>>())
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
    }
}

/// Position of a text in a JSON value.
enum TextPosition<'a> {
    FieldName,
    /// In the field with this name, or in a list in that field. Empty at the top level.
    InField(&'a str),
}

/// Maps every text of a value.
fn map_texts(value: Value, map_text: &impl Fn(TextPosition<'_>, String) -> String) -> Value {
    map_texts_in("", value, map_text)
}

fn map_texts_in(
    name: &str,
    value: Value,
    map_text: &impl Fn(TextPosition<'_>, String) -> String,
) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(map_text(TextPosition::InField(name), text)),
        Value::Array(values) => {
            values.into_iter().map(|value| map_texts_in(name, value, map_text)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let value = map_texts_in(&name, value, map_text);
                (map_text(TextPosition::FieldName, name), value)
            });
            fields.collect()
        }
    }
}

/// Collects the quotes of a value, each with the file name of its object or of an enclosing
/// object.
fn collect_quotes<'a>(
    value: &'a Value,
    name: &str,
    file: &'a str,
    quotes: &mut BTreeSet<(&'a str, &'a str)>,
) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if QUOTE_FIELDS.contains(&name) {
                quotes.insert((file, text));
            }
        }
        Value::Array(values) => {
            values.iter().for_each(|value| collect_quotes(value, name, file, quotes));
        }
        Value::Object(fields) => {
            let file = fields.get("file").and_then(Value::as_str).unwrap_or(file);
            fields.iter().for_each(|(name, value)| collect_quotes(value, name, file, quotes));
        }
    }
}

/// Whether a text looks like a word of crh: a severity, or lower case letters, `_` and `-`.
fn is_word(text: &str) -> bool {
    let is_word_byte = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    text.bytes().all(is_word_byte) || matches!(text, "P0" | "P1" | "P2" | "P3")
}

fn has_placeholder(text: &str) -> bool {
    PLACEHOLDER.as_ref().is_some_and(|placeholder| placeholder.is_match(text))
}

/// Escapes look-alikes of placeholders.
fn escape_placeholders(text: &str) -> String {
    match PLACEHOLDER.as_ref() {
        Some(placeholder) => placeholder.replace_all(text, "[redacted ~$1$2]").into_owned(),
        None => text.to_owned(),
    }
}
