//! Whether a line of code reads a key, sets it, or only contains it.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::keys::ConfigKind;
use crate::paths;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyMention {
    /// Reads the key: byte offset of the read, and whether the code has a fallback value.
    Read {
        at: usize,
        has_fallback: bool,
    },
    /// Sets the key, or checks whether it is set.
    Sets,
    /// Contains the key at this byte offset, but neither reads nor sets it in a known way.
    Unclear(usize),
    Unrelated,
}

/// Reads of environment variables by a literal name. The key is the first group of the pattern that
/// matches.
static READ_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"\benviron\[\s*["'](\w+)["']\s*\]"#,
        r#"\b(?:environ\.get|getenv|Getenv|LookupEnv|GetEnvironmentVariable|env::var|env::var_os)\(\s*["'](\w+)["']"#,
        r"\b(?:process|import\.meta)\.env\.(\w+)",
        r#"\bprocess\.env\[\s*["'](\w+)["']\s*\]"#,
        r#"\bENV\[\s*["'](\w+)["']\s*\]"#,
        r#"\bENV\.fetch\(?\s*["'](\w+)["']"#,
        r#"\b(?:env|config)(?:\.\w+)?\(\s*["'](\w+)["']"#,
    ];
    Regex::new(&patterns.join("|")).ok()
});

/// Code that sets a variable or checks whether it is set.
static SET_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"(?i:set_?env|setdefault|putenv|set_var|stub_?env|has_?key|key\?)\w*\(?\s*["'](\w+)["']"#,
        r#"\b(?i:environ|env)(?:\.(\w+)|\[\s*["'](\w+)["']\s*\])\s*(?:\|\||\?\?)?=[^=]"#,
        r#"["'](\w+)["']\s+(?:not\s+)?in\s"#,
        r#"["']?\b(\w+)\b["']?\s*(?::[^:]|=>)"#,
    ];
    Regex::new(&patterns.join("|")).ok()
});

/// Reads of a Django setting.
static DJANGO_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bsettings\.([A-Z][A-Z0-9_]+)\b").ok());

/// Names of settings objects in code.
const SETTINGS: [&str; 4] = ["config", "settings", "conf", "cfg"];

impl ConfigKind {
    /// Classifies a line that contains a key of this kind.
    pub(super) fn classify(self, path: &str, line: &str, key: &str) -> KeyMention {
        let is_comment = ["#", "//", "*", "/*"].iter().any(|it| line.trim_start().starts_with(it));
        let Some(at) = word_offset(line, key).filter(|_| !is_comment) else {
            return KeyMention::Unrelated;
        };
        match self {
            Self::Environment => classify_environment(path, line, key),
            Self::Django => match match_key(&DJANGO_PATTERN, line, key) {
                Some((_, to)) if is_assigned(&line[to..]) => KeyMention::Sets,
                Some((from, _)) => KeyMention::Read { at: from, has_fallback: false },
                None if line.contains(&format!("\"{key}\""))
                    || line.contains(&format!("'{key}'")) =>
                {
                    KeyMention::Sets
                }
                None => KeyMention::Unclear(at),
            },
            Self::Data => classify_data(line, key, at),
        }
    }
}

/// The byte offset of a whole word in a line.
fn word_offset(line: &str, key: &str) -> Option<usize> {
    let is_letter = |it: char| it.is_alphanumeric() || it == '_';
    let mut offsets = line.match_indices(key).map(|(at, _)| at);
    offsets.find(|at| {
        !line[..*at].ends_with(is_letter) && !line[at + key.len()..].starts_with(is_letter)
    })
}

/// The range of a match that contains the key.
fn match_key(pattern: &LazyLock<Option<Regex>>, line: &str, key: &str) -> Option<(usize, usize)> {
    let is_key_match = |captures: &Captures<'_>| {
        captures.iter().skip(1).flatten().next().is_some_and(|group| group.as_str() == key)
    };
    let captures = pattern.as_ref()?.captures_iter(line).find(is_key_match)?;
    captures.get(0).map(|it| (it.start(), it.end()))
}

fn is_assigned(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('=') && !rest.starts_with("==")
        || rest.starts_with("||=")
        || rest.starts_with("??=")
}

fn classify_environment(path: &str, line: &str, key: &str) -> KeyMention {
    if let Some((at, end)) = match_key(&READ_PATTERN, line, key) {
        let rest = line[end..].trim_start();
        if !is_assigned(rest) {
            return KeyMention::Read { at, has_fallback: has_fallback_after(rest) };
        }
    }
    // A variable that a test sets is not set in production.
    match match_key(&SET_PATTERN, line, key) {
        Some(_) if !paths::is_sample(path) => KeyMention::Sets,
        Some(_) | None => KeyMention::Unrelated,
    }
}

/// Whether the code after a read provides a fallback.
fn has_fallback_after(rest: &str) -> bool {
    let after_brackets = rest.trim_start_matches([')', ']', '!']).trim_start();
    rest.starts_with(',')
        || ["||", "??", "or ", "{", "do ", "?", ".unwrap_or", ".ok()", ".is_ok", ".or"]
            .iter()
            .any(|it| after_brackets.starts_with(it))
}

/// Classifies a line by whether the key is a member or entry of a settings object: `config.key`,
/// `settings["a"]["key"]`, `cfg.get("key")`.
fn classify_data(line: &str, key: &str, at: usize) -> KeyMention {
    let is_chain_char = |it: char| it.is_alphanumeric() || "_.()[]\"':&?$@".contains(it);
    let before = &line[..at];
    let start = before
        .rfind(|it: char| !is_chain_char(it))
        .map_or(0, |it| it + before[it..].chars().next().map_or(1, char::len_utf8));
    let chain = before[start..].to_ascii_lowercase();
    let rest = &line[at + key.len()..];
    let is_member = chain.ends_with('.')
        || ["[\"", "['", "[:", "get(\"", "get('", "fetch(:", "fetch(\"", "fetch('"]
            .iter()
            .any(|it| chain.ends_with(it));
    let is_settings = SETTINGS.iter().any(|it| chain.contains(it));
    if !is_member || !is_settings || rest.starts_with('(') {
        return KeyMention::Unclear(at);
    }
    let after_key = rest.trim_start_matches(['"', '\'', ']', ')']);
    if is_assigned(after_key) {
        return KeyMention::Sets;
    }
    let has_fallback =
        rest.trim_start_matches(['"', '\'']).starts_with(',') || has_fallback_after(after_key);
    KeyMention::Read { at: start, has_fallback }
}
