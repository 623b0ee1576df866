//! Path patterns as people write them, one rule for searches and for rules about files.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns over paths from the root of a repository.
///
/// As in `.gitignore`, a pattern without a slash is a name anywhere (`*.rs`), one with a slash starts at the
/// root (`src/*.rs`), and one that ends in a slash is everything in a folder (`docs/`). `*` and `?` stay
/// inside one name; `**` does not. Unlike there, a pattern without a final slash never means a folder, so
/// that `src/*` is the files of `src` and nothing deeper.
#[derive(Clone, Default)]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is not a pattern for paths: {message}")]
pub struct GlobError {
    /// What was given.
    pub glob: String,
    /// What is wrong with it.
    pub message: String,
}

impl Globs {
    /// Reads patterns; the first that is none is the error.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, GlobError> {
        let mut set = GlobSetBuilder::new();
        let mut kept = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let error = |error: globset::Error| GlobError {
                glob: pattern.to_owned(),
                message: error.kind().to_string(),
            };
            let built = GlobBuilder::new(&from_root(pattern)).literal_separator(true).build();
            set.add(built.map_err(error)?);
            kept.push(pattern.to_owned());
        }
        // Each pattern was read, so only their sum can be too large.
        let error = |error: globset::Error| GlobError {
            glob: kept.join(" "),
            message: error.kind().to_string(),
        };
        let set = set.build().map_err(error)?;
        Ok(Self { patterns: kept, set })
    }

    /// The first pattern that matches a path, as it was written.
    pub fn first_match(&self, path: &[u8]) -> Option<&str> {
        if self.set.is_empty() {
            return None;
        }
        // What is not UTF-8 is no character that a pattern could name, but `*` still covers it.
        let matches = self.set.matches(&*String::from_utf8_lossy(path));
        matches.into_iter().min().and_then(|at| self.patterns.get(at)).map(String::as_str)
    }

    /// Whether any pattern matches a path.
    pub fn is_match(&self, path: &[u8]) -> bool {
        !self.set.is_empty() && self.set.is_match(&*String::from_utf8_lossy(path))
    }

    /// The patterns, as they were written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// As they were written: what they are compiled to says nothing to people.
impl fmt::Debug for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Globs").field(&self.patterns).finish()
    }
}

/// The same patterns match the same paths.
impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for Globs {}

/// The pattern as it reads from the root.
fn from_root(pattern: &str) -> String {
    let (body, rest) = match pattern.strip_suffix('/') {
        Some(folder) => (folder, "/**"),
        None => (pattern, ""),
    };
    match body.trim_start_matches('/') {
        anchored if body.contains('/') => format!("{anchored}{rest}"),
        name => format!("**/{name}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching<'a>(pattern: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let globs = Globs::new([pattern]).unwrap();
        let is_match = |path: &&&str| globs.is_match(path.as_bytes());
        paths.iter().filter(is_match).copied().collect()
    }

    #[test]
    fn a_name_is_anywhere_a_path_is_from_the_root_and_a_slash_at_the_end_is_a_folder() {
        let paths = ["a.rs", "src/a.rs", "src/deep/a.rs", "docs/src/b.md", "src.rs"];
        for (pattern, expected) in [
            ("*.rs", vec!["a.rs", "src/a.rs", "src/deep/a.rs", "src.rs"]),
            ("/*.rs", vec!["a.rs", "src.rs"]),
            ("src/*", vec!["src/a.rs"]),
            ("src/**", vec!["src/a.rs", "src/deep/a.rs"]),
            ("src/", vec!["src/a.rs", "src/deep/a.rs", "docs/src/b.md"]),
            ("/src/", vec!["src/a.rs", "src/deep/a.rs"]),
            ("src", vec![]),
        ] {
            assert_eq!(matching(pattern, &paths), expected, "{pattern}");
        }
    }

    #[test]
    fn the_first_pattern_that_matches_is_the_one_that_is_named() {
        let globs = Globs::new(["*.md", "docs/", "*"]).unwrap();
        let first = |path: &[u8]| globs.first_match(path).map(str::to_owned);
        assert_eq!(first(b"docs/a.md").as_deref(), Some("*.md"));
        assert_eq!(first(b"docs/a.txt").as_deref(), Some("docs/"));
        assert_eq!(first(b"\xff\xfe").as_deref(), Some("*"));
        assert_eq!(Globs::default().first_match(b"a"), None);
    }

    #[test]
    fn a_pattern_that_is_none_is_said() {
        let error = Globs::new(["*.rs", "a{b"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`a{b` is not a pattern for paths: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"
        );
    }
}
