//! What a line of code does with a key.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::keys::Origin;
use crate::paths;

/// What a line does with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mention {
    /// It reads it; where in the line that begins, in bytes, and whether there is a value to fall back to.
    Read {
        at: usize,
        has_fallback: bool,
    },
    /// It sets it, or asks whether it is set.
    Sets,
    /// It has the word, at this byte.
    Unclear(usize),
    Unrelated,
}

/// Reads of the environment, in every language of which people read it by a literal. The key is the first group that there is.
static READS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let ways = [
        r#"\benviron\[\s*["'](\w+)["']\s*\]"#,
        r#"\b(?:environ\.get|getenv|Getenv|LookupEnv|GetEnvironmentVariable|env::var|env::var_os)\(\s*["'](\w+)["']"#,
        r"\b(?:process|import\.meta)\.env\.(\w+)",
        r#"\bprocess\.env\[\s*["'](\w+)["']\s*\]"#,
        r#"\bENV\[\s*["'](\w+)["']\s*\]"#,
        r#"\bENV\.fetch\(?\s*["'](\w+)["']"#,
        r#"\b(?:env|config)(?:\.\w+)?\(\s*["'](\w+)["']"#,
    ];
    Regex::new(&ways.join("|")).ok()
});

/// What gives a variable a value, or asks whether it has one.
static SETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let ways = [
        r#"(?i:set_?env|setdefault|putenv|set_var|stub_?env|has_?key|key\?)\w*\(?\s*["'](\w+)["']"#,
        r#"\b(?i:environ|env)(?:\.(\w+)|\[\s*["'](\w+)["']\s*\])\s*(?:\|\||\?\?)?=[^=]"#,
        r#"["'](\w+)["']\s+(?:not\s+)?in\s"#,
        r#"["']?\b(\w+)\b["']?\s*(?::[^:]|=>)"#,
    ];
    Regex::new(&ways.join("|")).ok()
});

/// Reads of a setting of Django.
static DJANGO: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bsettings\.([A-Z][A-Z0-9_]+)\b").ok());

/// The words by which code knows its settings.
const SETTINGS: [&str; 4] = ["config", "settings", "conf", "cfg"];

impl Origin {
    /// What a line of a file does with a key of this kind.
    pub(super) fn mention(self, path: &str, line: &str, key: &str) -> Mention {
        let is_comment = ["#", "//", "*", "/*"].iter().any(|it| line.trim_start().starts_with(it));
        let Some(at) = word(line, key).filter(|_| !is_comment) else { return Mention::Unrelated };
        match self {
            Self::Environment => environment(path, line, key),
            Self::Django => match matched(&DJANGO, line, key) {
                Some((_, to)) if is_assigned(&line[to..]) => Mention::Sets,
                Some((from, _)) => Mention::Read { at: from, has_fallback: false },
                None if line.contains(&format!("\"{key}\""))
                    || line.contains(&format!("'{key}'")) =>
                {
                    Mention::Sets
                }
                None => Mention::Unclear(at),
            },
            Self::Data => data(line, key, at),
        }
    }
}

/// The byte at which a word begins in a line.
fn word(line: &str, key: &str) -> Option<usize> {
    let is_letter = |it: char| it.is_alphanumeric() || it == '_';
    let mut places = line.match_indices(key).map(|(at, _)| at);
    places.find(|at| {
        !line[..*at].ends_with(is_letter) && !line[at + key.len()..].starts_with(is_letter)
    })
}

/// Where a pattern has the key, from and to.
fn matched(pattern: &LazyLock<Option<Regex>>, line: &str, key: &str) -> Option<(usize, usize)> {
    let is_it = |it: &Captures<'_>| {
        it.iter().skip(1).flatten().next().is_some_and(|group| group.as_str() == key)
    };
    let found = pattern.as_ref()?.captures_iter(line).find(is_it)?;
    found.get(0).map(|it| (it.start(), it.end()))
}

fn is_assigned(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('=') && !rest.starts_with("==")
        || rest.starts_with("||=")
        || rest.starts_with("??=")
}

fn environment(path: &str, line: &str, key: &str) -> Mention {
    if let Some((at, end)) = matched(&READS, line, key) {
        let rest = line[end..].trim_start();
        if !is_assigned(rest) {
            return Mention::Read { at, has_fallback: falls_back(rest) };
        }
    }
    // What a test sets is set for the test.
    match matched(&SETS, line, key) {
        Some(_) if !paths::is_sample(path) => Mention::Sets,
        Some(_) | None => Mention::Unrelated,
    }
}

/// Whether what stands behind a read has a value for when there is none.
fn falls_back(rest: &str) -> bool {
    let behind = rest.trim_start_matches([')', ']', '!']).trim_start();
    rest.starts_with(',')
        || ["||", "??", "or ", "{", "do ", "?", ".unwrap_or", ".ok()", ".is_ok", ".or"]
            .iter()
            .any(|it| behind.starts_with(it))
}

/// A member or an entry of something that is called settings: `config.key`, `settings["a"]["key"]`, `cfg.get("key")`.
fn data(line: &str, key: &str, at: usize) -> Mention {
    let is_link = |it: char| it.is_alphanumeric() || "_.()[]\"':&?$@".contains(it);
    let before = &line[..at];
    let from = before
        .rfind(|it: char| !is_link(it))
        .map_or(0, |it| it + before[it..].chars().next().map_or(1, char::len_utf8));
    let chain = before[from..].to_ascii_lowercase();
    let rest = &line[at + key.len()..];
    let is_member = chain.ends_with('.')
        || ["[\"", "['", "[:", "get(\"", "get('", "fetch(:", "fetch(\"", "fetch('"]
            .iter()
            .any(|it| chain.ends_with(it));
    let is_settings = SETTINGS.iter().any(|it| chain.contains(it));
    if !is_member || !is_settings || rest.starts_with('(') {
        return Mention::Unclear(at);
    }
    let behind = rest.trim_start_matches(['"', '\'', ']', ')']);
    if is_assigned(behind) {
        return Mention::Sets;
    }
    let is_fallback = rest.trim_start_matches(['"', '\'']).starts_with(',') || falls_back(behind);
    Mention::Read { at: from, has_fallback: is_fallback }
}
