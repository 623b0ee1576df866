//! Path patterns for searches and configuration.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns for paths relative to the repository root.
///
/// As in `.gitignore`, a pattern without a slash matches a name anywhere (`*.rs`), one with a slash
/// is anchored at the root (`src/*.rs`), and a trailing slash matches everything in a folder
/// (`docs/`). `*` and `?` do not match a slash; `**` does. Unlike `.gitignore`, a pattern without a
/// trailing slash never matches a folder, so `src/*` matches only files directly in `src`.
#[derive(Clone, Default)]
pub struct PathGlobs {
    patterns: Vec<String>,
    set: GlobSet,
}

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is not a pattern for paths: {message}")]
pub struct GlobError {
    /// The pattern.
    pub glob: String,
    /// Reason.
    pub message: String,
}

impl PathGlobs {
    /// Parses patterns. Fails at the first invalid one.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, GlobError> {
        let mut set = GlobSetBuilder::new();
        let mut accepted_patterns = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let error = |error: globset::Error| GlobError {
                glob: pattern.to_owned(),
                message: error.kind().to_string(),
            };
            let glob = GlobBuilder::new(&anchored_glob(pattern)).literal_separator(true).build();
            set.add(glob.map_err(error)?);
            accepted_patterns.push(pattern.to_owned());
        }
        // Each pattern is valid, so only their total size can be too large.
        let error = |error: globset::Error| GlobError {
            glob: accepted_patterns.join(" "),
            message: error.kind().to_string(),
        };
        let set = set.build().map_err(error)?;
        Ok(Self { patterns: accepted_patterns, set })
    }

    /// The first matching pattern, as written.
    pub fn first_match(&self, path: &[u8]) -> Option<&str> {
        if self.set.is_empty() {
            return None;
        }
        // `*` also matches invalid UTF-8.
        let matches = self.set.matches(&*String::from_utf8_lossy(path));
        matches.into_iter().min().and_then(|index| self.patterns.get(index)).map(String::as_str)
    }

    /// Whether any pattern matches.
    pub fn is_match(&self, path: &[u8]) -> bool {
        !self.set.is_empty() && self.set.is_match(&*String::from_utf8_lossy(path))
    }

    /// The patterns, as written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// Shows the patterns as written.
impl fmt::Debug for PathGlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Globs").field(&self.patterns).finish()
    }
}

/// Compares the patterns as written.
impl PartialEq for PathGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for PathGlobs {}

/// Converts a `.gitignore`-like pattern to a glob that is matched from the root.
fn anchored_glob(pattern: &str) -> String {
    let (body, suffix) = match pattern.strip_suffix('/') {
        Some(folder) => (folder, "/**"),
        None => (pattern, ""),
    };
    match body.trim_start_matches('/') {
        anchored if body.contains('/') => format!("{anchored}{suffix}"),
        name => format!("**/{name}{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching<'a>(pattern: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let globs = PathGlobs::new([pattern]).unwrap();
        let is_match = |path: &&&str| globs.is_match(path.as_bytes());
        paths.iter().filter(is_match).copied().collect()
    }

    #[test]
    fn patterns_match_like_gitignore() {
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
    fn first_match_returns_the_first_matching_pattern() {
        let globs = PathGlobs::new(["*.md", "docs/", "*"]).unwrap();
        let first = |path: &[u8]| globs.first_match(path).map(str::to_owned);
        assert_eq!(first(b"docs/a.md").as_deref(), Some("*.md"));
        assert_eq!(first(b"docs/a.txt").as_deref(), Some("docs/"));
        assert_eq!(first(b"\xff\xfe").as_deref(), Some("*"));
        assert_eq!(PathGlobs::default().first_match(b"a"), None);
    }

    #[test]
    fn invalid_pattern_is_reported() {
        let error = PathGlobs::new(["*.rs", "a{b"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`a{b` is not a pattern for paths: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"
        );
    }
}
