//! Names that survive a second run: of a review, of an issue, of a comment. No model's wording is in any.

use sha2::{Digest, Sha256};

use crate::finding::Family;
use crate::hex;

/// How many digits of its hash a review or an issue is named by.
const KEY_DIGITS: usize = 16;

/// What names a review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReviewKey<'a> {
    /// `owner/name` of the base repository, or the hash of the root commit.
    pub repo: &'a str,
    /// The pull request's number; empty for a local change.
    pub pr_number: &'a str,
    /// The head commit, or the hash of the tree a dirty checkout would commit.
    pub head_sha: &'a str,
    /// The hash of all prompts in use.
    pub prompt_version: &'a str,
    /// The models, sorted, joined by `+`.
    pub model: &'a str,
    /// The budget's name and whatever overrides it.
    pub budget_profile: &'a str,
}

/// What names an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueKey<'a> {
    /// The file's path after the change.
    pub file: &'a str,
    /// The function or type around the line; empty if there is none.
    pub symbol: &'a str,
    /// The line's text, white space folded.
    pub text: &'a str,
    /// Which of the equal lines in that symbol it is.
    pub ordinal: usize,
    /// The kind of trouble.
    pub family: Family,
}

/// Names a review: the same change reviewed in the same way has the same id.
pub fn review_id(key: &ReviewKey<'_>) -> String {
    let ReviewKey { repo, pr_number, head_sha, prompt_version, model, budget_profile } = *key;
    digest(&[repo, pr_number, head_sha, prompt_version, model, budget_profile])
}

/// Names an issue: the same when lines move or a reviewer finds other words.
pub fn dedupe_key(key: &IssueKey<'_>) -> String {
    digest(&[key.file, key.symbol, key.text, &key.ordinal.to_string(), key.family.word()])
}

/// Names the second, third, … issue that would have a key already given out.
pub fn twin_key(dedupe_key: &str, twin: usize) -> String {
    digest(&[dedupe_key, &twin.to_string()])
}

/// Whether a text can be the name of a review or of an issue: digits of a hash, in small letters.
pub fn is_key(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == KEY_DIGITS && name.bytes().all(is_digit)
}

/// Whether a text is the whole name of a commit, by either hash that git knows, and nothing else that git could read.
pub fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Names a piece of content, for changes that have no commit.
pub fn content_id(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The first line of a summary comment.
pub fn review_marker(review_id: &str) -> String {
    format!("<!-- code-review-agent:review_id={} -->", marked(review_id))
}

/// The second line of a summary comment: ours, of this instance.
pub fn summary_marker(instance: &str) -> String {
    format!("<!-- crh:{}:summary -->", marked(instance))
}

/// The marker of an inline comment.
pub fn issue_marker(instance: &str, dedupe_key: &str) -> String {
    format!("<!-- crh:{}:{} -->", marked(instance), marked(dedupe_key))
}

/// The first line of a review that carries inline comments.
pub fn posted_marker(instance: &str, review_id: &str) -> String {
    format!("<!-- crh:{}:review:{} -->", marked(instance), marked(review_id))
}

/// The last line of a summary comment that keeps something for the next review. `data` is base64url.
pub fn state_marker(instance: &str, data: &str) -> String {
    let plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let data: String = data.chars().filter(plain).collect();
    format!("<!-- crh:{}:state:{data} -->", marked(instance))
}

/// The `dedupe_key` in the marker of an inline comment of this instance. Only the last line of a body can be one.
pub fn marked_key<'a>(instance: &str, body: &'a str) -> Option<&'a str> {
    let line = body.trim_end().lines().next_back()?;
    let key =
        line.strip_prefix(&format!("<!-- crh:{}:", marked(instance)))?.strip_suffix(" -->")?;
    is_key(key).then_some(key)
}

/// What the last line of a summary comment of this instance keeps.
pub fn marked_state<'a>(instance: &str, body: &'a str) -> Option<&'a str> {
    let line = body.trim_end().lines().next_back()?;
    line.strip_prefix(&format!("<!-- crh:{}:state:", marked(instance)))?.strip_suffix(" -->")
}

/// Whether a body is a summary comment of this instance: its first two lines say so.
pub fn is_summary(instance: &str, body: &str) -> bool {
    let mut lines = body.lines();
    let first = lines.next().unwrap_or_default();
    first.starts_with("<!-- code-review-agent:review_id=")
        && lines.next() == Some(summary_marker(instance).as_str())
}

/// A name inside a marker: nothing in it can end the comment.
fn marked(name: &str) -> String {
    let plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
    name.chars().filter(plain).collect::<String>().replace("--", "-")
}

fn digest(parts: &[&str]) -> String {
    hex(&Sha256::digest(parts.join("\n"))[..KEY_DIGITS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_named_as_the_specification_says() {
        let key = ReviewKey {
            repo: "o/r",
            pr_number: "7",
            head_sha: "abc",
            prompt_version: "p1",
            model: "m",
            budget_profile: "quick",
        };
        // printf 'o/r\n7\nabc\np1\nm\nquick' | sha256sum | cut -c1-16
        assert_eq!(review_id(&key), "6b878d0270ed0bad");
    }

    #[test]
    fn an_issue_is_named_by_its_place_and_its_twin_by_it() {
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
        assert_ne!(twin_key(&name, 1), twin_key(&name, 2));
    }

    #[test]
    fn a_marker_is_read_where_it_belongs_and_of_its_instance_alone() {
        let key = "0f8540e5ced1e896";
        let body = format!("**P1** title\r\n\r\n{}\r\n", issue_marker("a", key));
        assert_eq!(marked_key("a", &body), Some(key));
        assert_eq!(marked_key("b", &body), None);
        assert_eq!(marked_key("a", &format!("{body}more")), None);
        assert_eq!(marked_key("a", &summary_marker("a")), None);
        let summary = format!("{}\r\n{}\r\n", review_marker("x"), summary_marker("a"));
        assert!(is_summary("a", &summary) && !is_summary("b", &summary));
        assert!(!is_summary("a", &format!("hi\n{summary}")));
        assert_eq!(marked_state("a", &state_marker("a", "e30-_--")), Some("e30-_--"));
        assert_eq!(marked_state("a", &body), None);
    }

    #[test]
    fn a_key_is_digits_of_a_hash_and_a_commit_a_whole_one() {
        assert!(is_key("0f8540e5ced1e896"));
        for odd in
            ["", "0F8540E5CED1E896", "0f8540e5ced1e89", "0f8540e5ced1e8960", "0f8540e5ced1e8->"]
        {
            assert!(!is_key(odd), "{odd}");
            assert_eq!(marked_key("a", &format!("<!-- crh:a:{odd} -->")), None, "{odd}");
        }
        for (digits, whole) in [(0, false), (7, false), (40, true), (41, false), (64, true)] {
            assert_eq!(is_commit(&"aB".repeat(32)[..digits]), whole, "{digits}");
        }
        assert!(!is_commit(&"g".repeat(40)));
    }

    #[test]
    fn no_name_ends_a_marker() {
        assert_eq!(review_marker("x --> <img>"), "<!-- code-review-agent:review_id=x-img -->");
        assert_eq!(issue_marker("a--b", "k>"), "<!-- crh:a-b:k -->");
    }
}
