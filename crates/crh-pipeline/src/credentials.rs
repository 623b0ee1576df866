//! Credentials that stand in the lines of a change, and how they are hidden in everything that is written about it.
//!
//! Every line that a diff shows counts: one that the change takes away or leaves alone can hold a key that still opens a door.

use std::sync::Arc;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use aho_corasick::MatchKind;
use crh_lint::AddedLine;
use crh_lint::ChangedFile;
use crh_lint::secrets;
use crh_llm::Redactor;
use crh_review::diff::Diff;
use crh_review::diff::FileDiff;
use crh_review::diff::LineKind;
use crh_review::finding::Side;
use regex::Captures;
use regex::Regex;
use secrecy::SecretString;
use serde_json::Value;

/// What stands in the place of a secret, the same as in everything else that is stored.
const MASK: &str = "[redacted]";

/// Secrets of so many bytes are hidden in pieces and encodings too. The pieces of a shorter one are ordinary words, and
/// hiding those would make the report unreadable: it is hidden whole.
const LONG: usize = 24;

/// A line of a longer secret, such as a private key, that has so many bytes is one by itself.
const LINE: usize = 16;

/// What stands in the place of a credential where it has to come back: its number among those of the change.
static NUMBERED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[redacted ([0-9]{1,9})\]").ok());

/// The credentials of a change. Clones share them.
#[derive(Clone)]
pub struct Credentials {
    /// The same change gives the same ones in the same order.
    values: Arc<[String]>,
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
        Self::new(&secrets::values(&sides.collect::<Vec<_>>()))
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
        }
    }

    /// The keys that models are asked by: one that was given a key may repeat it.
    pub(crate) fn keys(keys: &Redactor) -> Self {
        Self { pieces: keys.clone().by_value_alone(), ..Self::default() }
    }

    /// A text without them.
    pub(crate) fn hide(&self, text: &mut String) {
        let masked = self.pieces.redact(text).into_owned();
        *text = self.replaced(masked, |_| MASK.to_owned());
    }

    /// A value without them, from which [`Credentials::restored`] makes what it was.
    pub(crate) fn numbered(&self, value: Value) -> Value {
        if self.values.is_empty() {
            return value;
        }
        each_text(value, &|text| {
            let text = self.replaced(text, |at| format!("[redacted {at}]"));
            self.pieces.redact(&text).into_owned()
        })
    }

    /// A value as it was before it was [numbered](Credentials::numbered), so that what it quotes can be held against the code.
    /// Pieces of a credential do not come back.
    pub fn restored(&self, value: Value) -> Value {
        let Some(numbered) = NUMBERED.as_ref().filter(|_| !self.values.is_empty()) else {
            return value;
        };
        let original = |found: &Captures<'_>| {
            let value = found[1].parse().ok().and_then(|at: usize| self.values.get(at));
            value.map_or_else(|| found[0].to_owned(), String::clone)
        };
        each_text(value, &|text| numbered.replace_all(&text, &original).into_owned())
    }

    /// A diff without them, as long as before, for those who show it.
    pub fn hidden_in(&self, diff: &Diff) -> Diff {
        let mut raw = diff.raw().to_vec();
        for found in self.whole.iter().flat_map(|whole| whole.find_iter(diff.raw())) {
            raw[found.range()].fill(b'*');
        }
        Diff::read(raw)
    }

    fn replaced(&self, text: String, mask: impl Fn(usize) -> String) -> String {
        let Some(whole) = self.whole.as_ref().filter(|whole| whole.is_match(&text)) else {
            return text;
        };
        let mut out = String::with_capacity(text.len());
        whole.replace_all_with(&text, &mut out, |found, _, out| {
            out.push_str(&mask(found.pattern().as_usize()));
            true
        });
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

/// A value with something done to each of its texts, names of fields included.
fn each_text(value: Value, act: &impl Fn(String) -> String) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(act(text)),
        Value::Array(values) => values.into_iter().map(|value| each_text(value, act)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (act(name), each_text(value, act))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEPT: &str = "postgres://app:Xk29vQp41mZr@db.corp.net/main";

    fn token() -> String {
        format!("gh{}", "p_16C7e42F292c6912E7710c838347Ae178B4a")
    }

    fn diff() -> Diff {
        let (removed, added) = (token(), "x = 2");
        Diff::read(format!(
            "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n u = '{KEPT}'\n-key = '{removed}'\n+{added}\n"
        ))
    }

    #[test]
    fn what_a_change_takes_away_or_leaves_alone_is_hidden_like_what_it_adds() {
        let diff = diff();
        let credentials = Credentials::of(&diff);
        let hidden = credentials.hidden_in(&diff);
        let shown = String::from_utf8_lossy(hidden.raw()).into_owned();
        assert!(!shown.contains("Xk29vQp41mZr") && !shown.contains(&token()), "{shown}");
        assert_eq!(hidden.files(), diff.files());
        let mut text = format!("it has {}, {} and {KEPT}", token(), &token()[..20]);
        credentials.hide(&mut text);
        let expected =
            "it has [redacted], [redacted] and postgres://app:[redacted]@db.corp.net/main";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_numbered_comes_back_as_it_was() {
        let credentials = Credentials::of(&diff());
        let value = json!({ "snippet": format!("key = '{}'", token()), "other": [KEPT, 3, null] });
        let numbered = credentials.numbered(value.clone());
        assert_eq!(
            numbered,
            json!({
                "snippet": "key = '[redacted 1]'",
                "other": ["postgres://app:[redacted 0]@db.corp.net/main", 3, null],
            })
        );
        assert_eq!(credentials.restored(numbered), value);
        assert_eq!(credentials.restored(json!("[redacted 7]")), json!("[redacted 7]"));
    }
}
