//! Paths in diffs (quoted, prefixed, with spaces) and their folder names in a workspace.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::{FileChange, STRIP_MAX};
use crate::hex;

/// Maximum length of a folder name in bytes. File systems allow 255 bytes; the remaining bytes are
/// for prefixes and suffixes.
const MAX_FOLDER_NAME: usize = 200;
/// Bytes of a longer name that are kept before its hash.
const FOLDER_NAME_HEAD: usize = 160;

/// Maximum length of a `diff --git` line in bytes: two paths of the maximum length (4,096 bytes)
/// and their prefixes. Limits a quadratic search.
const MAX_GIT_LINE: usize = 2 * 4_096 + 64;

/// A path from the repository root. Bytes, because git paths need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Creates a path from bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes as git stores them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text. A path that is not UTF-8, or that begins with a quotation mark, is quoted
    /// as git does, so that two paths never look the same and a copied path can be resolved.
    pub fn shown(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.starts_with('"') => Cow::Borrowed(text),
            Ok(_) | Err(_) => Cow::Owned(quote(&self.0)),
        }
    }

    /// Parses a path in git's quoting; `None` if the text is not quoted.
    pub fn from_quoted(text: &[u8]) -> Option<Self> {
        unquote(text).filter(|(_, rest)| rest.is_empty()).map(|(path, _)| Self(path))
    }

    /// The folder name of this path in a workspace: flat, unique, safe on any file system.
    pub fn folder_name(&self) -> String {
        let mut name = String::with_capacity(self.0.len() + 8);
        for &byte in &self.0 {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
                name.push(char::from(byte));
            } else {
                name.push_str(&format!("%{byte:02X}"));
            }
        }
        match name.as_str() {
            // A forged diff can contain these names, which would be another folder. Encoding never
            // produces a `~`.
            "" => return "~".to_owned(),
            "." | ".." => return name.replace('.', "%2E"),
            _ => {}
        }
        if name.len() > MAX_FOLDER_NAME {
            name.truncate(FOLDER_NAME_HEAD);
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

/// The path of a `diff --git` line, if both names are the same file under two prefixes.
///
/// A space separates the names and can also be part of a name, so only equality shows where the
/// first name ends. Renames have separate lines with both paths.
pub(super) fn from_git_line(names: &[u8]) -> Option<RepoPath> {
    if names.starts_with(b"\"") {
        let (old, rest) = unquote(names)?;
        let new = match rest.strip_prefix(b" ")? {
            new if new.starts_with(b"\"") => unquote(new)?.0,
            new => new.to_vec(),
        };
        return common_path(&old, &new);
    }
    // With prefixes of the same length, the usual case, the names have the same length.
    let middle = names.len() / 2;
    if names.get(middle) == Some(&b' ')
        && let Some(path) = common_path(&names[..middle], &names[middle + 1..])
    {
        return Some(path);
    }
    if names.len() > MAX_GIT_LINE {
        return None;
    }
    memchr::memchr_iter(b' ', names)
        .find_map(|offset| common_path(&names[..offset], &names[offset + 1..]))
}

/// The path that two names share without their prefixes (`a/` and `b/`, `i/` and `w/`, or none).
fn common_path(old: &[u8], new: &[u8]) -> Option<RepoPath> {
    if old == new {
        return Some(RepoPath::new(old));
    }
    let path_start = |name: &'_ [u8]| memchr::memchr(b'/', name).map(|slash| slash + 1);
    let (old, new) = (&old[path_start(old)?..], &new[path_start(new)?..]);
    (old == new && !old.is_empty()).then(|| RepoPath::new(old))
}

/// Whether the names of a `diff --git` line have no prefixes, as with `diff.noprefix`. `old_path` is
/// the path of the first name.
pub(super) fn lacks_prefixes(names: &[u8], old_path: &RepoPath) -> bool {
    match unquote(names) {
        Some((name, _)) => name == old_path.0,
        None => names.strip_prefix(old_path.as_bytes()).is_some_and(|rest| rest.starts_with(b" ")),
    }
}

/// The names of a `---`/`+++` pair. `None` for `/dev/null`: there is no file on this side.
#[derive(Debug, Default)]
pub(super) struct SideNames {
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
    /// Number of leading folders of the names that are not part of the paths.
    pub(super) strip: usize,
}

impl SideNames {
    /// Parses the names.
    pub(super) fn parse(old: &[u8], new: &[u8]) -> Self {
        let (old, new) = (from_side_line(old), from_side_line(new));
        let strip = match (&old, &new) {
            (Some(old), Some(new)) => prefix_folders(old, new),
            (None, Some(name)) => usize::from(name.starts_with(b"b/")),
            (Some(name), None) => usize::from(name.starts_with(b"a/")),
            (None, None) => 0,
        };
        Self { old, new, strip }
    }

    /// The old and the new path.
    pub(super) fn paths(&self) -> [Option<RepoPath>; 2] {
        [&self.old, &self.new].map(|name| {
            let name = name.as_deref()?;
            Some(RepoPath::new(without_folders(name, self.strip).unwrap_or(name)))
        })
    }
}

/// Parses the name on a `---` or `+++` line, without a trailing tab and timestamp.
fn from_side_line(name: &[u8]) -> Option<Vec<u8>> {
    let bytes = match unquote(name) {
        Some((name, _)) => name,
        None => name[..memchr::memchr(b'\t', name).unwrap_or(name.len())].to_vec(),
    };
    (bytes != b"/dev/null").then_some(bytes)
}

/// The smallest number of leading folders without which two names are the same path, such as 1 for
/// `old/a.c` and `new/a.c`. If there is none, the names belong to two files.
fn prefix_folders(old: &[u8], new: &[u8]) -> usize {
    if old.starts_with(b"a/") && new.starts_with(b"b/") {
        return 1;
    }
    let smallest = usize::from(old.starts_with(b"./") && new.starts_with(b"./"));
    let is_same = |folders: &usize| {
        let path = without_folders(old, *folders);
        path.is_some() && path == without_folders(new, *folders)
    };
    (smallest..=STRIP_MAX).find(is_same).unwrap_or(smallest)
}

/// A name without leading folders. `None` if nothing is left.
pub(super) fn without_folders(name: &[u8], folders: usize) -> Option<&[u8]> {
    let rest =
        (0..folders).try_fold(name, |rest, _| Some(&rest[memchr::memchr(b'/', rest)? + 1..]));
    rest.filter(|rest| !rest.is_empty())
}

/// Whether a `---` or `+++` line has the time that `diff -N` prints for a missing file.
pub(super) fn has_epoch_time(line: &[u8]) -> bool {
    let Some(tab) = memchr::memchr(b'\t', line) else { return false };
    // The date depends on the time zone.
    let dates = [&b"1970-01-01 "[..], b"1969-12-31 "];
    dates.iter().any(|date| line[tab + 1..].starts_with(date))
}

/// The `---` and the `+++` line of a file, as git prints them.
pub(super) fn side_lines(path: &[u8], change: FileChange) -> Vec<u8> {
    let name = |prefix: &[u8]| {
        let prefixed = [prefix, path].concat();
        let is_escaped = |byte: &u8| matches!(*byte, b'"' | b'\\') || byte.is_ascii_control();
        if prefixed.iter().any(is_escaped) {
            quote(&prefixed).into_bytes()
        } else if prefixed.contains(&b' ') {
            [&prefixed[..], b"\t"].concat()
        } else {
            prefixed
        }
    };
    let nothing = || b"/dev/null".to_vec();
    let old = if change == FileChange::Added { nothing() } else { name(b"a/") };
    let new = if change == FileChange::Deleted { nothing() } else { name(b"b/") };
    [&b"--- "[..], &old[..], b"\n+++ ", &new[..], b"\n"].concat()
}

/// The path of an extended header (`rename from …`): the rest of the line, quoted or not.
pub(super) fn from_header(name: &[u8]) -> RepoPath {
    match unquote(name) {
        Some((path, _)) => RepoPath(path),
        None => RepoPath::new(name),
    }
}

/// Parses a string in git's C quoting and returns it with the rest of the text.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    loop {
        let (&byte, remaining) = rest.split_first()?;
        rest = remaining;
        match byte {
            b'"' => return Some((out, rest)),
            b'\\' => {
                let (escaped, remaining) = unescape(rest)?;
                out.push(escaped);
                rest = remaining;
            }
            _ => out.push(byte),
        }
    }
}

/// Parses an escape after a backslash in git's C quoting.
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
        [literal @ (b'"' | b'\\'), ..] => *literal,
        _ => return None,
    };
    Some((byte, &text[1..]))
}

/// A path in git's C quoting, as `core.quotePath` prints it.
fn quote(bytes: &[u8]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_paths_never_look_the_same() {
        let raw = RepoPath::new(*b"a\xff.py");
        let imitation = RepoPath::new(raw.shown().as_bytes());
        assert_ne!(imitation.shown(), raw.shown());
        for path in [raw, imitation] {
            assert_eq!(RepoPath::from_quoted(path.shown().as_bytes()), Some(path));
        }
    }
}
