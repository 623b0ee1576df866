//! Credentials that stand in the lines of a change, and how they are hidden in everything that is written about it.
//!
//! Every line that a diff shows counts: one that the change takes away or leaves alone can hold a key that still opens a door.

#[cfg(test)]
#[path = "change_secrets/tests.rs"]
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

/// What stands in the place of a secret, the same as in everything else that is stored.
const MASK: &str = "[redacted]";

/// Secrets of so many bytes are hidden in pieces and encodings too. The pieces of a shorter one are ordinary words, and
/// hiding those would make the report unreadable: it is hidden whole.
const LONG: usize = 24;

/// A line of a longer secret, such as a private key, that has so many bytes is one by itself.
const LINE: usize = 16;

/// What stands in the place of a credential where it has to come back: its number among those of the change. A text that looks
/// like one gets a `~` more, so that it comes back as it was. One that is not of the change has no number, and does not come back.
static NUMBERED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[redacted (~*)([0-9]{1,9}|\?)\]").ok());

/// What stands in the place of one that does not come back.
const LOST: &str = "[redacted ?]";

/// Fields of our own that quote code.
const QUOTES: [&str; 2] = ["evidence_snippet", "snippet"];

/// Fields of our own whose texts are words of closed sets: they have to be read again.
const CLOSED: [&str; 19] = [
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

/// Fields of our own whose texts are paths.
const PATHS: [&str; 2] = ["file", "path"];

/// The credentials of a change. Clones share them.
#[derive(Clone)]
pub struct Credentials {
    /// The same change gives the same ones in the same order.
    values: Arc<[String]>,
    /// Those that stand in a path of the change. Hiding them there would tell nobody where a finding is.
    in_paths: Arc<BTreeSet<usize>>,
    /// The paths of the change.
    paths: Arc<BTreeSet<String>>,
    /// The lines of the change that have in them what looks like a [number](NUMBERED).
    marked: Arc<str>,
    whole: Option<AhoCorasick>,
    pieces: Redactor,
}

impl Default for Credentials {
    /// None.
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Credentials {
    /// What the reviewer of credentials recognises in the lines of a diff, whatever becomes of them, in files that nobody
    /// reviews too: a model may still quote those.
    pub fn of(diff: &Diff) -> Self {
        let sides = diff.files().iter().flat_map(|file| {
            let sides = [Side::New].into_iter().chain((file.deletions > 0).then_some(Side::Old));
            sides.map(|side| shown(diff, file, side))
        });
        let found = Self::new(&secrets::values(&sides.collect::<Vec<_>>()));
        let both = diff.files().iter().flat_map(|file| file.old_path.iter().chain([&file.path]));
        let paths: BTreeSet<String> = both.map(|path| path.shown().into_owned()).collect();
        let in_paths = paths.iter().flat_map(|path| {
            let whole = found.whole.iter().flat_map(move |whole| whole.find_iter(path));
            whole.map(|found| found.pattern().as_usize())
        });
        let in_paths = in_paths.collect();
        let lines = diff.files().iter().flat_map(|file| &file.hunks);
        let lines = lines.flat_map(|hunk| diff.lines(hunk));
        let lines = lines.map(|line| String::from_utf8_lossy(line.text()));
        let marked: Vec<_> = lines.filter(|line| looks_numbered(line)).collect();
        let marked = marked.join("\n").into();
        Self { in_paths: Arc::new(in_paths), paths: Arc::new(paths), marked, ..found }
    }

    /// These.
    pub fn new(values: &[String]) -> Self {
        let lines = values.iter().flat_map(|value| value.lines()).map(str::trim);
        let is_own = |line: &&str| line.len() >= LINE && !line.starts_with("-----");
        let whole = values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
        let mut all: Vec<&str> = whole.chain(lines.filter(is_own)).collect();
        all.sort_unstable();
        all.dedup();
        let long = all.iter().filter(|value| value.len() >= LONG);
        let long: Vec<SecretString> = long.map(|value| SecretString::from(*value)).collect();
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest);
        Self {
            // Without any there is nothing to look for, and most changes have none.
            whole: builder.build(&all).ok().filter(|_| !all.is_empty()),
            pieces: Redactor::new(&long).by_value_alone(),
            values: all.into_iter().map(str::to_owned).collect(),
            in_paths: Arc::default(),
            paths: Arc::default(),
            marked: "".into(),
        }
    }

    /// The keys that models are asked by: one that was given a key may repeat it.
    pub(crate) fn keys(keys: &Redactor) -> Self {
        Self { pieces: keys.clone().by_value_alone(), ..Self::default() }
    }

    /// Those that stand in quotes of a value and are not among these: the code that a finding quotes may be outside the change.
    pub(crate) fn quoted_in(&self, value: &Value) -> Self {
        let mut quotes = BTreeSet::new();
        collect_quotes(value, "", "", &mut quotes);
        let files = quotes.into_iter().map(|(path, quote)| {
            let lines = (1..).zip(quote.lines());
            let added = lines
                .map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() })
                .collect();
            ChangedFile { path: path.to_owned(), has_lines: true, added, ..ChangedFile::default() }
        });
        let mut values = secrets::values(&files.collect::<Vec<_>>());
        values.retain(|value| self.values.binary_search(value).is_err());
        let quoted = Self::new(&values);
        // Paths that they are a part of are not known.
        let in_paths = Arc::new((0..quoted.values.len()).collect());
        Self { in_paths, ..quoted }
    }

    /// A text without them.
    pub(crate) fn hide(&self, text: &mut String) {
        let masked = self.pieces.redact(text).into_owned();
        *text = self.replaced(&masked, |_| MASK.to_owned(), str::to_owned);
    }

    /// A path without them, but for those that stand in the paths of the change.
    pub(crate) fn hide_in_path(&self, path: &mut String) {
        if self.paths.contains(path) {
            return;
        }
        let masked = self.pieces.redact(path).into_owned();
        *path = self.replaced(
            &masked,
            |at| {
                let is_kept = self.in_paths.contains(&at);
                let kept = if is_kept { &self.values[at] } else { MASK };
                kept.to_owned()
            },
            str::to_owned,
        );
    }

    /// A value without them, from which [`Credentials::restored`] makes what it was. Words that have to be read again stay: names
    /// of fields, those of closed sets, and the paths of the change.
    pub(crate) fn numbered(&self, value: Value) -> Value {
        let quoted = self.quoted_in(&value);
        each_text(value, &|place, text| match place {
            Place::Name if is_word(&text) => text,
            Place::Of(name) if CLOSED.contains(&name) && is_word(&text) => text,
            Place::Of(name) if PATHS.contains(&name) && self.paths.contains(&text) => text,
            Place::Name | Place::Of(_) => {
                let between = |text: &str| quoted.replaced(text, |_| LOST.to_owned(), escaped);
                let text = self.replaced(&text, |at| format!("[redacted {at}]"), between);
                let text = self.pieces.redact(&text);
                quoted.pieces.redact(&text).into_owned()
            }
        })
    }

    /// A value as it was before it was [numbered](Credentials::numbered), so that what it quotes can be held against the code.
    /// Pieces of a credential do not come back. None if it quotes one that is not of the change.
    pub(crate) fn restored(&self, value: Value) -> Option<Value> {
        let is_lost = Cell::new(false);
        let value = each_text(value, &|place, text| match place {
            // It was left as it is.
            Place::Of(name) if PATHS.contains(&name) && self.paths.contains(&text) => text,
            Place::Name | Place::Of(_) => {
                is_lost.set(is_lost.get() || text.contains(LOST));
                self.original(&text)
            }
        });
        Some(value).filter(|_| !is_lost.get())
    }

    /// The same for a value that may never have been numbered: a line that stands in the change as it is stays so.
    pub fn restored_if_numbered(&self, value: Value) -> Value {
        let is_shown = |line: &str| {
            let line = line.trim();
            looks_numbered(line) && self.marked.contains(line)
        };
        each_text(value, &|_, text| {
            let lines = text.split_inclusive('\n');
            let lines = lines.map(|line| match is_shown(line) {
                true => line.to_owned(),
                false => self.original(line),
            });
            lines.collect()
        })
    }

    fn original(&self, text: &str) -> String {
        let Some(numbered) = NUMBERED.as_ref() else { return text.to_owned() };
        let original = |found: &Captures<'_>| match found[1].strip_prefix('~') {
            Some(rest) => format!("[redacted {rest}{}]", &found[2]),
            None => {
                let value = found[2].parse().ok().and_then(|at: usize| self.values.get(at));
                value.map_or_else(|| found[0].to_owned(), String::clone)
            }
        };
        numbered.replace_all(text, &original).into_owned()
    }

    /// A diff without them, as long as before, for those who show it. What says where its lines stand stays.
    pub fn hidden_in(&self, diff: &Diff) -> Diff {
        let mut raw = diff.raw().to_vec();
        let hunks = diff.files().iter().flat_map(|file| &file.hunks);
        for body in hunks.map(|hunk| diff.body(hunk)) {
            let whole =
                self.whole.iter().flat_map(|whole| whole.find_iter(&diff.raw()[body.clone()]));
            for found in whole {
                raw[body.start + found.start()..body.start + found.end()].fill(b'*');
            }
        }
        Diff::read(raw)
    }

    /// A text with something in the place of each, and something done to what stands between them.
    fn replaced(
        &self,
        text: &str,
        mask: impl Fn(usize) -> String,
        between: impl Fn(&str) -> String,
    ) -> String {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for found in self.whole.iter().flat_map(|whole| whole.find_iter(text)) {
            out.push_str(&between(&text[end..found.start()]));
            out.push_str(&mask(found.pattern().as_usize()));
            end = found.end();
        }
        out.push_str(&between(&text[end..]));
        out
    }
}

impl std::fmt::Debug for Credentials {
    /// Says nothing of what it knows.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// All that a diff shows of a file on one side, as if it were added there.
fn shown(diff: &Diff, file: &FileDiff, side: Side) -> ChangedFile {
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

/// Where a text stands in a value.
enum Place<'a> {
    /// It is the name of a field.
    Name,
    /// In the field of this name, or in a list there; empty at the top.
    Of(&'a str),
}

/// A value with something done to each of its texts.
fn each_text(value: Value, act: &impl Fn(Place<'_>, String) -> String) -> Value {
    each_text_of("", value, act)
}

fn each_text_of(name: &str, value: Value, act: &impl Fn(Place<'_>, String) -> String) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(act(Place::Of(name), text)),
        Value::Array(values) => {
            values.into_iter().map(|value| each_text_of(name, value, act)).collect()
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let value = each_text_of(&name, value, act);
                (act(Place::Name, name), value)
            });
            fields.collect()
        }
    }
}

/// The quotes of a value, each with the file that it or what is around it names.
fn collect_quotes<'a>(
    value: &'a Value,
    name: &str,
    file: &'a str,
    quotes: &mut BTreeSet<(&'a str, &'a str)>,
) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if QUOTES.contains(&name) {
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

/// Whether a text is a word as our own are: small letters, `_` and `-`; or a severity.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    text.bytes().all(is_plain) || matches!(text, "P0" | "P1" | "P2" | "P3")
}

fn looks_numbered(text: &str) -> bool {
    NUMBERED.as_ref().is_some_and(|numbered| numbered.is_match(text))
}

/// A text in which nothing is a number that does not stand for a credential.
fn escaped(text: &str) -> String {
    match NUMBERED.as_ref() {
        Some(numbered) => numbered.replace_all(text, "[redacted ~$1$2]").into_owned(),
        None => text.to_owned(),
    }
}
