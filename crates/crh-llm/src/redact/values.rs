//! Known secrets: all their fragments of a minimum length, plain and encoded.
//!
//! Fragments of one length are stored in a hash set, and each window of a text is looked up. This
//! is linear in the text; longer fragments are found as overlapping short ones.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use secrecy::{ExposeSecret, SecretString};

/// Length of a masked fragment, so that half of a key is masked too. Shorter fragments would match
/// ordinary words.
const FRAGMENT_LEN: usize = 12;

/// Minimum fragment length for keys too short for two fragments, of which half the key is used.
const MIN_FRAGMENT_LEN: usize = 6;

/// Shorter secrets are masked only whole and unencoded, because their fragments are too common.
const MIN_ENCODED_LEN: usize = 8;

/// Shorter values, and plain words of up to a dozen letters, are not secrets. Users set `x` or
/// `none` for servers that accept any key.
const MIN_SECRET_LEN: usize = 4;

/// Fragments of all known secrets.
#[derive(Clone, Default)]
pub(super) struct SecretValues {
    tables: Arc<Vec<FragmentTable>>,
}

/// Fragments of one length.
struct FragmentTable {
    length: usize,
    /// Whether a fragment starts with these two bytes, as a fast filter.
    begins: Box<[bool]>,
    runs: HashSet<Box<[u8]>>,
}

impl SecretValues {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut runs: BTreeMap<usize, HashSet<Box<[u8]>>> = BTreeMap::new();
        for secret in secrets {
            for (length, text) in encoded_forms(secret.expose_secret()) {
                let set = runs.entry(length).or_default();
                set.extend(text.as_bytes().windows(length).map(Box::from));
            }
        }
        Self {
            tables: Arc::new(
                runs.into_iter().map(|(length, runs)| FragmentTable::new(length, runs)).collect(),
            ),
        }
    }

    /// Ranges of fragments that do not overlap existing masks.
    pub(super) fn find_in(&self, text: &[u8], masks: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for table in self.tables.iter() {
            let mut masks = masks.iter().peekable();
            for (start, run) in text.windows(table.length).enumerate() {
                if !table.contains(run) {
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

impl FragmentTable {
    fn new(length: usize, runs: HashSet<Box<[u8]>>) -> Self {
        let mut begins = vec![false; 1 << 16].into_boxed_slice();
        for run in &runs {
            begins[first_two_bytes(run)] = true;
        }
        Self { length, begins, runs }
    }

    fn contains(&self, run: &[u8]) -> bool {
        self.begins[first_two_bytes(run)] && self.runs.contains(run)
    }
}

fn first_two_bytes(run: &[u8]) -> usize {
    let byte = |index: usize| run.get(index).map_or(0, |byte| usize::from(*byte));
    byte(0) << 8 | byte(1)
}

/// Encodings of a secret, each with its fragment length.
fn encoded_forms(secret: &str) -> Vec<(usize, String)> {
    let length = secret.len();
    let is_word = length < FRAGMENT_LEN && secret.bytes().all(|byte| byte.is_ascii_lowercase());
    if length < MIN_SECRET_LEN || is_word {
        return Vec::new();
    }
    if length < MIN_ENCODED_LEN {
        return vec![(length, secret.to_owned())];
    }
    let run =
        if length >= 2 * FRAGMENT_LEN { FRAGMENT_LEN } else { (length / 2).max(MIN_FRAGMENT_LEN) };
    let escaped = json_escaped(secret);
    let mut forms = vec![
        (run, secret.to_owned()),
        (run, percent_encoded(secret, HexCase::Upper)),
        (run, percent_encoded(secret, HexCase::Lower)),
        (run, escaped.replace('/', "\\/")),
        (run, escaped),
        (2 * run, hex_encoded(secret, HexCase::Upper)),
        (2 * run, hex_encoded(secret, HexCase::Lower)),
    ];
    // Complete base64 characters in a fragment of n bytes at any alignment. Up to four bits at its
    // edges share characters with their neighbours.
    let encoded_run = (8 * run - 4) / 6;
    for before in 0..3 {
        forms.push((encoded_run, base64_fragment(secret, before, &STANDARD)));
        forms.push((encoded_run, base64_fragment(secret, before, &URL_SAFE)));
    }
    forms
}

/// Base64 characters that depend only on the secret, if this many bytes (modulo three) precede it.
fn base64_fragment(secret: &str, before: usize, engine: &impl Engine) -> String {
    let bytes: Vec<u8> = [0].repeat(before).into_iter().chain(secret.bytes()).collect();
    let encoded = engine.encode(&bytes);
    let first = (8 * before).div_ceil(6);
    let end = 8 * bytes.len() / 6;
    encoded[first..end].to_owned()
}

#[derive(Clone, Copy)]
enum HexCase {
    Upper,
    Lower,
}

/// Encodes all but unreserved characters.
fn percent_encoded(secret: &str, hex: HexCase) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
            return out;
        }
        let written = match hex {
            HexCase::Upper => write!(out, "%{byte:02X}"),
            HexCase::Lower => write!(out, "%{byte:02x}"),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        out
    })
}

fn hex_encoded(secret: &str, hex: HexCase) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        let written = match hex {
            HexCase::Upper => write!(out, "{byte:02X}"),
            HexCase::Lower => write!(out, "{byte:02x}"),
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        out
    })
}

fn json_escaped(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
