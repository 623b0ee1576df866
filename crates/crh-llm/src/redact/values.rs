//! Known secrets: every run of a secret that is long enough to be worth hiding, plain and encoded.
//!
//! All runs of the shortest length that is hidden are kept in a table; a text is searched by looking up each of its
//! own runs of that length. That is linear in the text, and longer runs are found as overlapping short ones.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use secrecy::{ExposeSecret, SecretString};

/// A run of so many characters of a key is hidden, so that no half of a key that was split survives. Shorter runs are
/// not: three letters of a key are three letters of many words.
const RUN: usize = 12;

/// Of keys too short for two runs of twelve, half the key is hidden, but never fewer characters than this.
const RUN_MIN: usize = 6;

/// Shorter secrets are hidden whole and unencoded only: their parts and their encodings are too common.
const SHORT: usize = 8;

/// Shorter ones are no secrets, nor are words of a dozen letters: people give `x`, `none` or `anything` to servers of their own that want
/// any key, and hiding it would hide that word wherever it stands.
const ANY: usize = 4;

/// The runs of all known secrets.
#[derive(Clone, Default)]
pub(super) struct Values {
    tables: Arc<Vec<Table>>,
}

/// The runs of one length.
struct Table {
    length: usize,
    /// Whether any run begins with these two bytes: most places of a text are passed over by this alone.
    begins: Box<[bool]>,
    runs: HashSet<Box<[u8]>>,
}

impl Values {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut runs: BTreeMap<usize, HashSet<Box<[u8]>>> = BTreeMap::new();
        for secret in secrets {
            for (length, text) in forms(secret.expose_secret()) {
                let set = runs.entry(length).or_default();
                set.extend(text.as_bytes().windows(length).map(Box::from));
            }
        }
        Self {
            tables: Arc::new(
                runs.into_iter().map(|(length, runs)| Table::new(length, runs)).collect(),
            ),
        }
    }

    /// Where runs stand that touch nothing which is masked already.
    pub(super) fn found_in(&self, text: &[u8], masks: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for table in self.tables.iter() {
            let mut masks = masks.iter().peekable();
            for (start, run) in text.windows(table.length).enumerate() {
                if !table.holds(run) {
                    continue;
                }
                let end = start + table.length;
                while masks.next_if(|mask| mask.end <= start).is_some() {}
                if masks.peek().is_some_and(|mask| mask.start < end) {
                    continue;
                }
                match found.last_mut() {
                    Some(last) if start <= last.end && last.start <= start => {
                        last.end = last.end.max(end);
                    }
                    Some(_) | None => found.push(start..end),
                }
            }
        }
        found
    }
}

impl Table {
    fn new(length: usize, runs: HashSet<Box<[u8]>>) -> Self {
        let mut begins = vec![false; 1 << 16].into_boxed_slice();
        for run in &runs {
            begins[beginning(run)] = true;
        }
        Self { length, begins, runs }
    }

    fn holds(&self, run: &[u8]) -> bool {
        self.begins[beginning(run)] && self.runs.contains(run)
    }
}

fn beginning(run: &[u8]) -> usize {
    let byte = |index: usize| run.get(index).map_or(0, |byte| usize::from(*byte));
    byte(0) << 8 | byte(1)
}

/// The forms in which a secret may stand in a text, each with the length of its runs.
fn forms(secret: &str) -> Vec<(usize, String)> {
    let length = secret.len();
    let is_word = length < RUN && secret.bytes().all(|byte| byte.is_ascii_lowercase());
    if length < ANY || is_word {
        return Vec::new();
    }
    if length < SHORT {
        return vec![(length, secret.to_owned())];
    }
    let run = if length >= 2 * RUN { RUN } else { (length / 2).max(RUN_MIN) };
    let escaped = json_escaped(secret);
    let mut forms = vec![
        (run, secret.to_owned()),
        (run, percent_encoded(secret, Hex::Upper)),
        (run, percent_encoded(secret, Hex::Lower)),
        (run, escaped.replace('/', "\\/")),
        (run, escaped),
        (2 * run, hex_encoded(secret, Hex::Upper)),
        (2 * run, hex_encoded(secret, Hex::Lower)),
    ];
    // A run of n bytes holds this many whole characters of base64, wherever it begins: up to four bits at its edges
    // belong to characters that its neighbours have a part in.
    let encoded_run = (8 * run - 4) / 6;
    for before in 0..3 {
        forms.push((encoded_run, base64_inside(secret, before, &STANDARD)));
        forms.push((encoded_run, base64_inside(secret, before, &URL_SAFE)));
    }
    forms
}

/// The characters of base64 that a secret alone decides when so many bytes (modulo three) stand before it.
fn base64_inside(secret: &str, before: usize, engine: &impl Engine) -> String {
    let bytes: Vec<u8> = [0].repeat(before).into_iter().chain(secret.bytes()).collect();
    let encoded = engine.encode(&bytes);
    let first = (8 * before).div_ceil(6);
    let end = 8 * bytes.len() / 6;
    encoded[first..end].to_owned()
}

#[derive(Clone, Copy)]
enum Hex {
    Upper,
    Lower,
}

/// Everything but the characters that never need it is encoded, as in a query.
fn percent_encoded(secret: &str, hex: Hex) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
            return out;
        }
        let written = match hex {
            Hex::Upper => write!(out, "%{byte:02X}"),
            Hex::Lower => write!(out, "%{byte:02x}"),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        out
    })
}

fn hex_encoded(secret: &str, hex: Hex) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        let written = match hex {
            Hex::Upper => write!(out, "{byte:02X}"),
            Hex::Lower => write!(out, "{byte:02x}"),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        out
    })
}

fn json_escaped(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
