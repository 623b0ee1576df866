//! Names that survive a second run: of a review, of an issue, of a comment. No model's wording is in any.

use sha2::Digest;
use sha2::Sha256;

use crate::finding::Family;
use crate::hex;

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
    /// Which of the issues that share all of the above it is; 0 for nearly all.
    pub twin: usize,
}

/// Names a review: the same change reviewed in the same way has the same id.
pub fn review_id(key: &ReviewKey<'_>) -> String {
    let ReviewKey { repo, pr_number, head_sha, prompt_version, model, budget_profile } = *key;
    digest(&[repo, pr_number, head_sha, prompt_version, model, budget_profile])
}

/// Names an issue: the same when lines move or a reviewer finds other words.
pub fn dedupe_key(key: &IssueKey<'_>) -> String {
    let (ordinal, twin) = (key.ordinal.to_string(), key.twin.to_string());
    let parts = [key.file, key.symbol, key.text, &ordinal, key.family.word(), &twin];
    // A twin is rare; without one the key is made of the five parts that anyone can compute.
    digest(if key.twin == 0 { &parts[..5] } else { &parts })
}

/// Names a piece of content, for changes that have no commit.
pub fn content_id(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The first line of a summary comment.
pub fn review_marker(review_id: &str) -> String {
    format!("<!-- code-review-agent:review_id={review_id} -->")
}

/// The second line of a summary comment: ours, of this instance.
pub fn summary_marker(instance: &str) -> String {
    format!("<!-- crh:{instance}:summary -->")
}

/// The marker of an inline comment.
pub fn issue_marker(instance: &str, dedupe_key: &str) -> String {
    format!("<!-- crh:{instance}:{dedupe_key} -->")
}

fn digest(parts: &[&str]) -> String {
    hex(&Sha256::digest(parts.join("\n"))[..8])
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
    fn twins_have_different_keys() {
        let key = IssueKey {
            file: "a.rs",
            symbol: "f",
            text: "x += 1;",
            ordinal: 0,
            family: Family::Correctness,
            twin: 0,
        };
        // printf 'a.rs\nf\nx += 1;\n0\ncorrectness' | sha256sum | cut -c1-16
        assert_eq!(dedupe_key(&key), "0f8540e5ced1e896");
        assert_ne!(dedupe_key(&key), dedupe_key(&IssueKey { twin: 1, ..key }));
    }
}
