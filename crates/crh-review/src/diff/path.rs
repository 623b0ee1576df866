//! Paths as diffs spell them: quoted, prefixed, with spaces; and as folders of a workspace spell them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::hex;

/// File systems allow 255 bytes a name; this leaves room for what is put around it.
const SAFE_PATH_MAX: usize = 200;
/// What is kept of a longer one, before the hash.
const SAFE_PATH_HEAD: usize = 160;

/// Two paths of the longest kind that systems allow (4,096 bytes) and their prefixes; trying every blank of
/// a longer line would take forever.
const NAMES_MAX: usize = 2 * 4_096 + 64;

/// A path from the root of a repository: bytes, since git does not promise more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// A path from its bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes as git has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text. One that is not UTF-8 is shown as git quotes it, so that two such paths never
    /// look the same and a reviewer that copies it from the diff is understood.
    pub fn shown(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(quoted(&self.0)),
        }
    }

    /// The path that a text is in git's quoting, with nothing around it; none if it is not quoted.
    pub fn unquoted(text: &[u8]) -> Option<Self> {
        unquote(text).filter(|(_, rest)| rest.is_empty()).map(|(path, _)| Self(path))
    }

    /// The name of this path's folder in a workspace: flat, without collisions, safe on any file system.
    pub fn safe(&self) -> String {
        let mut name = String::with_capacity(self.0.len() + 8);
        for &byte in &self.0 {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
                name.push(char::from(byte));
            } else {
                name.push_str(&format!("%{byte:02X}"));
            }
        }
        match name.as_str() {
            // No path of a repository is one of these, but a forged diff can say so, and a folder of
            // that name would be another folder. A `~` is never the result of encoding.
            "" => return "~".to_owned(),
            "." | ".." => return name.replace('.', "%2E"),
            _ => {}
        }
        if name.len() > SAFE_PATH_MAX {
            name.truncate(SAFE_PATH_HEAD);
            name.push('~');
            name.push_str(&hex(&Sha256::digest(&self.0)[..8]));
        }
        name
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}

/// The path of a `diff --git` line's two names, if they are the same file under two prefixes.
///
/// The names are not separated by anything that could not be part of them, so only equality tells
/// where the first ends. Renames have lines of their own that say both paths.
pub(super) fn from_git_line(names: &[u8]) -> Option<RepoPath> {
    if names.starts_with(b"\"") {
        let (old, rest) = unquote(names)?;
        let new = match rest.strip_prefix(b" ")? {
            new if new.starts_with(b"\"") => unquote(new)?.0,
            new => new.to_vec(),
        };
        return common_path(&old, &new);
    }
    // With prefixes of one length, the usual case, the names are equally long.
    let middle = names.len() / 2;
    if names.get(middle) == Some(&b' ')
        && let Some(path) = common_path(&names[..middle], &names[middle + 1..])
    {
        return Some(path);
    }
    if names.len() > NAMES_MAX {
        return None;
    }
    memchr::memchr_iter(b' ', names).find_map(|at| common_path(&names[..at], &names[at + 1..]))
}

/// The path that two names share once their prefixes (`a/` and `b/`, `i/` and `w/`, none) are off.
fn common_path(old: &[u8], new: &[u8]) -> Option<RepoPath> {
    if old == new {
        return Some(RepoPath::new(old));
    }
    let without_prefix = |name: &'_ [u8]| memchr::memchr(b'/', name).map(|slash| slash + 1);
    let (old, new) = (&old[without_prefix(old)?..], &new[without_prefix(new)?..]);
    (old == new && !old.is_empty()).then(|| RepoPath::new(old))
}

/// What a `---` or `+++` line names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// `/dev/null`: there is no file on this side.
    Nothing,
    /// A file, prefix and all.
    File(Vec<u8>),
}

/// The name on a `---` or `+++` line, without the tab (and time stamp) that may follow it.
pub(super) fn from_side_line(name: &[u8]) -> Named {
    let bytes = match unquote(name) {
        Some((name, _)) => name,
        None => name[..memchr::memchr(b'\t', name).unwrap_or(name.len())].to_vec(),
    };
    if bytes == b"/dev/null" { Named::Nothing } else { Named::File(bytes) }
}

/// The paths of a `---`/`+++` pair, the default prefixes taken off where both sides have them.
pub(super) fn from_side_lines(old: Named, new: Named) -> (Option<RepoPath>, Option<RepoPath>) {
    let has = |named: &Named, prefix: &[u8]| match named {
        Named::Nothing => true,
        Named::File(name) => name.starts_with(prefix),
    };
    let prefix = if has(&old, b"a/") && has(&new, b"b/") { 2 } else { 0 };
    let path = |named| match named {
        Named::Nothing => None,
        Named::File(name) => Some(RepoPath::new(&name[prefix..])),
    };
    (path(old), path(new))
}

/// A path of an extended header (`rename from …`): the whole rest of the line, quoted or not.
pub(super) fn from_header(name: &[u8]) -> RepoPath {
    match unquote(name) {
        Some((path, _)) => RepoPath(path),
        None => RepoPath::new(name),
    }
}

/// Reads a string in git's C quoting; returns it and what follows. `None` if it is not one.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((out, rest)),
            b'\\' => {
                let (escaped, after) = unescape(rest)?;
                out.push(escaped);
                rest = after;
            }
            _ => out.push(byte),
        }
    }
}

/// Reads what follows a backslash in git's C quoting.
fn unescape(text: &[u8]) -> Option<(u8, &[u8])> {
    let byte = match text {
        [first @ b'0'..=b'3', second @ b'0'..=b'7', third @ b'0'..=b'7', rest @ ..] => {
            let octal =
                [first, second, third].iter().fold(0, |sum, digit| sum * 8 + (*digit - b'0'));
            return Some((octal, rest));
        }
        [b'a', ..] => 7,
        [b'b', ..] => 8,
        [b't', ..] => b'\t',
        [b'n', ..] => b'\n',
        [b'v', ..] => 11,
        [b'f', ..] => 12,
        [b'r', ..] => b'\r',
        [itself @ (b'"' | b'\\'), ..] => *itself,
        _ => return None,
    };
    Some((byte, &text[1..]))
}

/// A path in git's C quoting, as `core.quotePath` prints it.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}
