//! Known secrets: all their fragments of a minimum length, plain and encoded.
//!
//! Fragments of one length are stored in a hash set, and every substring of that length in a text
//! is looked up. The time is linear in the length of the text. Longer fragments are found as
//! overlapping short ones.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use secrecy::{ExposeSecret, SecretString};

/// Length of the fragments of long secrets, at most half of the secret, so that half a key is
/// masked too. Shorter fragments would match ordinary words.
const FRAGMENT_LEN: usize = 12;

/// Minimum fragment length. Fragments of a secret with fewer than two times `FRAGMENT_LEN` bytes
/// are half as long as the secret, but not shorter than this.
const MIN_FRAGMENT_LEN: usize = 6;

/// Shorter secrets are masked only as a whole and unencoded, because their fragments are too
/// common.
const MIN_ENCODED_LEN: usize = 8;

/// Shorter values are not secrets, and neither are lower-case words of fewer than twelve letters.
/// Users set `x` or `none` for servers that accept any key.
const MIN_SECRET_LEN: usize = 4;

/// Fragments of all known secrets.
#[derive(Clone, Default)]
pub(super) struct SecretValues {
    tables: Arc<Vec<FragmentTable>>,
}

/// Fragments of one length.
struct FragmentTable {
    length: usize,
    /// For each pair of bytes, whether a fragment starts with it. This is a fast filter.
    first_bytes: Box<[bool]>,
    fragments: HashSet<Box<[u8]>>,
}

impl SecretValues {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut fragments: BTreeMap<usize, HashSet<Box<[u8]>>> = BTreeMap::new();
        for secret in secrets {
            for (length, text) in encoded_forms(secret.expose_secret()) {
                let set = fragments.entry(length).or_default();
                set.extend(text.as_bytes().windows(length).map(Box::from));
            }
        }
        Self {
            tables: Arc::new(
                fragments
                    .into_iter()
                    .map(|(length, fragments)| FragmentTable::new(length, fragments))
                    .collect(),
            ),
        }
    }

    /// Ranges of fragments that do not overlap existing masks.
    pub(super) fn find_in(&self, text: &[u8], masks: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for table in self.tables.iter() {
            let mut masks = masks.iter().peekable();
            for (start, fragment) in text.windows(table.length).enumerate() {
                if !table.contains(fragment) {
                    continue;
                }
                let end = start + table.length;
                while masks.next_if(|mask| mask.end <= start).is_some() {}
                if masks.peek().is_some_and(|mask| mask.start < end) {
                    continue;
                }
                match ranges.last_mut() {
                    Some(last) if start <= last.end && last.start <= start => {
                        last.end = last.end.max(end);
                    }
                    Some(_) | None => ranges.push(start..end),
                }
            }
        }
        ranges
    }
}

impl FragmentTable {
    fn new(length: usize, fragments: HashSet<Box<[u8]>>) -> Self {
        let mut first_bytes = vec![false; 1 << 16].into_boxed_slice();
        for fragment in &fragments {
            first_bytes[first_two_bytes(fragment)] = true;
        }
        Self { length, first_bytes, fragments }
    }

    fn contains(&self, fragment: &[u8]) -> bool {
        self.first_bytes[first_two_bytes(fragment)] && self.fragments.contains(fragment)
    }
}

fn first_two_bytes(fragment: &[u8]) -> usize {
    let byte = |index: usize| fragment.get(index).map_or(0, |byte| usize::from(*byte));
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
    let fragment_length =
        if length >= 2 * FRAGMENT_LEN { FRAGMENT_LEN } else { (length / 2).max(MIN_FRAGMENT_LEN) };
    let escaped = json_escaped(secret);
    let mut forms = vec![
        (fragment_length, secret.to_owned()),
        (fragment_length, percent_encoded(secret, HexCase::Upper)),
        (fragment_length, percent_encoded(secret, HexCase::Lower)),
        (fragment_length, escaped.replace('/', "\\/")),
        (fragment_length, escaped),
        (2 * fragment_length, hex_encoded(secret, HexCase::Upper)),
        (2 * fragment_length, hex_encoded(secret, HexCase::Lower)),
    ];
    // Number of base64 characters that depend only on one fragment, at any alignment. Up to four
    // bits at the edges of the fragment share characters with their neighbours.
    let base64_length = (8 * fragment_length - 4) / 6;
    for preceding_bytes in 0..3 {
        forms.push((base64_length, base64_fragment(secret, preceding_bytes, &STANDARD)));
        forms.push((base64_length, base64_fragment(secret, preceding_bytes, &URL_SAFE)));
    }
    forms
}

/// Base64 characters that depend only on the secret, if `preceding_bytes` bytes (modulo three)
/// precede it.
fn base64_fragment(secret: &str, preceding_bytes: usize, engine: &impl Engine) -> String {
    let bytes: Vec<u8> = [0].repeat(preceding_bytes).into_iter().chain(secret.bytes()).collect();
    let encoded = engine.encode(&bytes);
    let start = (8 * preceding_bytes).div_ceil(6);
    let end = 8 * bytes.len() / 6;
    encoded[start..end].to_owned()
}

#[derive(Clone, Copy)]
enum HexCase {
    Upper,
    Lower,
}

/// Percent-encodes all bytes except the unreserved characters of URLs.
fn percent_encoded(secret: &str, hex: HexCase) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
            return out;
        }
        let result = match hex {
            HexCase::Upper => write!(out, "%{byte:02X}"),
            HexCase::Lower => write!(out, "%{byte:02x}"),
        };
        debug_assert!(result.is_ok(), "writing to a string does not fail");
        out
    })
}

fn hex_encoded(secret: &str, hex: HexCase) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        let result = match hex {
            HexCase::Upper => write!(out, "{byte:02X}"),
            HexCase::Lower => write!(out, "{byte:02x}"),
        };
        debug_assert!(result.is_ok(), "writing to a string does not fail");
        out
    })
}

fn json_escaped(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
