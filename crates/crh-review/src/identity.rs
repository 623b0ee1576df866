//! Stable ids of reviews, issues and comments. The ids do not depend on the wording of a model.
//!
//! A marker is an HTML comment in a posted comment. crh recognises its own comments by their
//! markers.

use sha2::{Digest, Sha256};

use crate::finding::Family;
use crate::hex;

/// Hex digits of a review id or dedupe key.
const KEY_DIGITS: usize = 16;

/// Inputs of a review id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReviewKey<'a> {
    /// `owner/name` of the base repository, or the hash of the root commit.
    pub repo: &'a str,
    /// The pull request's number; empty for a local change.
    pub pr_number: &'a str,
    /// The base commit.
    pub base_sha: &'a str,
    /// The head commit, or the hash of the tree that a dirty checkout would commit.
    pub head_sha: &'a str,
    /// Hash of all prompts in use.
    pub prompt_version: &'a str,
    /// Model names, sorted, joined by `+`.
    pub model: &'a str,
    /// Name of the budget and its overrides.
    pub budget_profile: &'a str,
    /// The strategy.
    pub strategy: &'a str,
}

/// Inputs of a dedupe key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueKey<'a> {
    /// Path after the change.
    pub file: &'a str,
    /// The function or type around the line; empty if there is none.
    pub symbol: &'a str,
    /// Text of the line, white space collapsed.
    pub text: &'a str,
    /// Index of the line among equal lines of the symbol.
    pub ordinal: usize,
    /// Category family.
    pub family: Family,
}

/// Id of a review. The same change reviewed in the same way has the same id. Only the fields of the
/// key count: paths that restrict a review do not change its id.
pub fn review_id(key: &ReviewKey<'_>) -> String {
    let ReviewKey { repo, pr_number, base_sha, head_sha, .. } = *key;
    let ReviewKey { prompt_version, model, budget_profile, strategy, .. } = *key;
    key_from_parts(&[
        repo,
        pr_number,
        base_sha,
        head_sha,
        prompt_version,
        model,
        budget_profile,
        strategy,
    ])
}

/// Key of an issue. It stays the same when lines move or a reviewer uses other words.
pub fn dedupe_key(key: &IssueKey<'_>) -> String {
    key_from_parts(&[key.file, key.symbol, key.text, &key.ordinal.to_string(), key.family.word()])
}

/// Key for the second, third, … issue with the same dedupe key. `index` is 1 for the second issue.
pub fn numbered_key(dedupe_key: &str, index: usize) -> String {
    key_from_parts(&[dedupe_key, &index.to_string()])
}

/// Whether a string is a valid review id or dedupe key: lower-case hex digits of the right length.
pub fn is_key(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == KEY_DIGITS && name.bytes().all(is_digit)
}

/// Whether a string is a full commit id (SHA-1 or SHA-256) and not another git revision.
pub fn is_commit_id(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Id of some content: its SHA-256 hash.
pub fn content_id(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The first line of a summary comment.
pub fn review_marker(review_id: &str) -> String {
    format!("<!-- code-review-agent:review_id={} -->", marker_safe(review_id))
}

/// The second line of a summary comment. Identifies the crh instance.
pub fn summary_marker(instance: &str) -> String {
    format!("<!-- crh:{}:summary -->", marker_safe(instance))
}

/// The marker of an inline comment.
pub fn issue_marker(instance: &str, dedupe_key: &str) -> String {
    format!("<!-- crh:{}:{} -->", marker_safe(instance), marker_safe(dedupe_key))
}

/// The first line of a review that carries inline comments.
pub fn inline_review_marker(instance: &str, review_id: &str) -> String {
    format!("<!-- crh:{}:review:{} -->", marker_safe(instance), marker_safe(review_id))
}

/// The last line of a summary comment, which stores state for the next review. `data` is base64url.
pub fn state_marker(instance: &str, data: &str) -> String {
    let is_safe = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let data: String = data.chars().filter(is_safe).collect();
    format!("<!-- crh:{}:state:{data} -->", marker_safe(instance))
}

/// The dedupe key in an inline comment of this instance. Only the last line of a body can be a
/// marker.
pub fn key_in_comment<'a>(instance: &str, body: &'a str) -> Option<&'a str> {
    let line = body.trim_end().lines().next_back()?;
    let key =
        line.strip_prefix(&format!("<!-- crh:{}:", marker_safe(instance)))?.strip_suffix(" -->")?;
    is_key(key).then_some(key)
}

/// The state stored in the last line of a summary comment of this instance.
pub fn state_in_comment<'a>(instance: &str, body: &'a str) -> Option<&'a str> {
    let line = body.trim_end().lines().next_back()?;
    line.strip_prefix(&format!("<!-- crh:{}:state:", marker_safe(instance)))?.strip_suffix(" -->")
}

/// Whether the first two lines mark a body as a summary comment of this instance.
pub fn is_summary(instance: &str, body: &str) -> bool {
    let mut lines = body.lines();
    let first = lines.next().unwrap_or_default();
    first.starts_with("<!-- code-review-agent:review_id=")
        && lines.next() == Some(summary_marker(instance).as_str())
}

/// Removes every character that could end the HTML comment of a marker.
fn marker_safe(name: &str) -> String {
    let is_safe = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
    name.chars().filter(is_safe).collect::<String>().replace("--", "-")
}

fn key_from_parts(parts: &[&str]) -> String {
    hex(&Sha256::digest(parts.join("\n"))[..KEY_DIGITS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_id_matches_specification() {
        let key = ReviewKey {
            repo: "o/r",
            pr_number: "7",
            base_sha: "abb",
            head_sha: "abc",
            prompt_version: "p1",
            model: "m",
            budget_profile: "quick",
            strategy: "panel",
        };
        // printf 'o/r\n7\nabb\nabc\np1\nm\nquick\npanel' | sha256sum | cut -c1-16
        assert_eq!(review_id(&key), "0b4e26da50c79225");
        let other_base = ReviewKey { base_sha: "abd", ..key };
        let other_strategy = ReviewKey { strategy: "single", ..key };
        for other in [other_base, other_strategy] {
            assert_ne!(review_id(&other), review_id(&key));
        }
    }

    #[test]
    fn dedupe_key_depends_on_location() {
        let key = IssueKey {
            file: "a.rs",
            symbol: "f",
            text: "x += 1;",
            ordinal: 0,
            family: Family::Correctness,
        };
        // printf 'a.rs\nf\nx += 1;\n0\ncorrectness' | sha256sum | cut -c1-16
        let name = dedupe_key(&key);
        assert_eq!(name, "0f8540e5ced1e896");
        assert_ne!(numbered_key(&name, 1), numbered_key(&name, 2));
    }

    #[test]
    fn markers_are_read_per_instance_and_position() {
        let key = "0f8540e5ced1e896";
        let body = format!("**P1** title\r\n\r\n{}\r\n", issue_marker("a", key));
        assert_eq!(key_in_comment("a", &body), Some(key));
        assert_eq!(key_in_comment("b", &body), None);
        assert_eq!(key_in_comment("a", &format!("{body}more")), None);
        assert_eq!(key_in_comment("a", &summary_marker("a")), None);
        let summary = format!("{}\r\n{}\r\n", review_marker("x"), summary_marker("a"));
        assert!(is_summary("a", &summary) && !is_summary("b", &summary));
        assert!(!is_summary("a", &format!("hi\n{summary}")));
        assert_eq!(state_in_comment("a", &state_marker("a", "e30-_--")), Some("e30-_--"));
        assert_eq!(state_in_comment("a", &body), None);
    }

    #[test]
    fn keys_and_commit_ids_are_validated() {
        assert!(is_key("0f8540e5ced1e896"));
        for odd in
            ["", "0F8540E5CED1E896", "0f8540e5ced1e89", "0f8540e5ced1e8960", "0f8540e5ced1e8->"]
        {
            assert!(!is_key(odd), "{odd}");
            assert_eq!(key_in_comment("a", &format!("<!-- crh:a:{odd} -->")), None, "{odd}");
        }
        for (digits, is_full_id) in [(0, false), (7, false), (40, true), (41, false), (64, true)] {
            assert_eq!(is_commit_id(&"aB".repeat(32)[..digits]), is_full_id, "{digits}");
        }
        assert!(!is_commit_id(&"g".repeat(40)));
    }

    #[test]
    fn names_cannot_close_a_marker() {
        assert_eq!(review_marker("x --> <img>"), "<!-- code-review-agent:review_id=x-img -->");
        assert_eq!(issue_marker("a--b", "k>"), "<!-- crh:a-b:k -->");
    }
}
