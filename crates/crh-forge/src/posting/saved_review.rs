//! State of a review for the next one, stored in the summary comment as base64url-encoded JSON in
//! an HTML comment.
//!
//! Anyone with write access can edit that comment. crh verifies the state when it reads it, and
//! treats its texts as untrusted.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ProposalComment, ProposalState};
use crh_review::finding::{AutofixClass, Category, Confidence, Owner, Severity, TITLE_MAX};
use crh_review::identity::{is_summary, state_in_comment, state_marker};
use crh_review::report::{Issue, Strategy, Validation};
use crh_review::{Location, Quote, stable_json_line};

/// Format version. Increase it when older versions of crh would misread the new format.
pub(super) const VERSION: u32 = 1;
/// Longest state line, in characters: about forty issues. Half of GitHub's limit for a comment
/// stays free for the visible text.
const STATE_MAX: usize = 32_768;
/// Longest stored title, in characters.
const STORED_TITLE_MAX: usize = TITLE_MAX;
/// Longest stored reason, in characters. The comment thread has the whole text.
const STORED_REASON_MAX: usize = 240;
/// Longest stored quote, in characters: enough to find its line again.
const STORED_QUOTE_MAX: usize = 160;
/// Maximum number of lines of a stored quote.
const STORED_QUOTE_LINES_MAX: usize = 3;
/// Visible characters that are enough to find a quote. After that many, no more lines of it are
/// stored.
const STORED_QUOTE_ENOUGH: usize = 8;
/// Maximum number of quotes per issue: from its own file, and those that connect the issue to the
/// change.
const STORED_QUOTES_MAX: usize = 3;

/// Inputs of a review that are not in its report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewBasis {
    /// Hash of the configuration.
    pub configuration: String,
    /// Hash of all prompts.
    pub prompt_version: String,
    /// Available reviewers that need no model, sorted, independent of the changed files.
    #[serde(default)]
    pub reviewers: Vec<String>,
}

/// State of the last review of a proposed change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReview {
    /// Format version.
    pub version: u32,
    /// Review id.
    pub review_id: String,
    /// Base commit.
    pub base: String,
    /// Head commit.
    pub head: String,
    /// Inputs of the review.
    #[serde(flatten)]
    pub basis: ReviewBasis,
    /// Models, sorted and joined with `+`.
    pub models: String,
    /// Review strategy.
    pub strategy: Strategy,
    /// Whether the review covered everything.
    pub complete: bool,
    /// Open issues.
    pub issues: Vec<OpenIssue>,
    /// Number of further open issues that the report did not show.
    #[serde(default)]
    pub withheld: usize,
    /// Keys of issues whose position the forge refused at this head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// An issue of an earlier review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenIssue {
    /// Key, stable across reviews.
    pub key: String,
    /// Title.
    pub title: String,
    /// Severity.
    pub severity: Severity,
    /// Category.
    pub category: Category,
    /// Location.
    #[serde(flatten)]
    pub location: Location,
    /// Consequences, possibly shortened; empty if there was no space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Quotes, possibly shortened; those from the file of the issue first.
    #[serde(default)]
    pub evidence: Vec<Quote>,
    /// Reviewers that reported it.
    pub reviewers: Vec<String>,
    /// Rule of the static check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Combined confidence.
    pub confidence: Confidence,
    /// Result of validation.
    pub validation: Validation,
    /// Whether a fix may be applied without asking.
    pub autofix_class: AutofixClass,
    /// Who has to act on the issue next.
    pub owner: Owner,
    /// Whether a fix needs verification.
    #[serde(default)]
    pub requires_verification: bool,
    /// Head at which the issue was first raised.
    pub since: String,
}

/// Why there is no saved state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoSavedReview {
    /// No own summary.
    #[error("this account and instance have not reviewed this pull request before")]
    NoReview,
    /// A summary without state.
    #[error("the earlier review has no saved state")]
    NoState,
    /// Unreadable state.
    #[error("the state of the earlier review is damaged")]
    Damaged,
    /// Written by another version of crh.
    #[error("the state of the earlier review was written by another version of crh")]
    OtherVersion,
}

/// Reads the saved state from the summary of our account and this instance.
pub fn last_saved_review(
    proposal_state: &ProposalState,
    instance: &str,
) -> Result<SavedReview, NoSavedReview> {
    let summary = own_summary(proposal_state, instance).ok_or(NoSavedReview::NoReview)?;
    parse_state(instance, &summary.body)
}

/// The summary comment of our account and this instance; the oldest if there are several.
pub(crate) fn own_summary<'a>(
    proposal_state: &'a ProposalState,
    instance: &str,
) -> Option<&'a ProposalComment> {
    let is_ours = |comment: &&ProposalComment| proposal_state.is_ours(comment.author.as_ref());
    let own_comments = proposal_state.comments.iter().filter(is_ours);
    own_comments.into_iter().find(|comment| is_summary(instance, &comment.body))
}

/// The state line of a summary; `None` if it is too long. To save space, crh first drops the
/// reasons, which the comment threads contain.
pub(super) fn state_line(instance: &str, state: &SavedReview) -> Option<String> {
    let encode = |state: &SavedReview| {
        let json = stable_json_line(state).ok()?;
        let line = state_marker(instance, &URL_SAFE_NO_PAD.encode(json.trim_end()));
        (line.len() <= STATE_MAX).then_some(line)
    };
    encode(state).or_else(|| {
        let mut without_reasons = state.clone();
        for issue in &mut without_reasons.issues {
            issue.why.clear();
        }
        encode(&without_reasons)
    })
}

fn parse_state(instance: &str, body: &str) -> Result<SavedReview, NoSavedReview> {
    let data = state_in_comment(instance, body).ok_or(NoSavedReview::NoState)?;
    let json = URL_SAFE_NO_PAD.decode(data).map_err(|_| NoSavedReview::Damaged)?;
    let version: SavedVersion =
        serde_json::from_slice(&json).map_err(|_| NoSavedReview::Damaged)?;
    if version.version != VERSION {
        return Err(NoSavedReview::OtherVersion);
    }
    serde_json::from_slice(&json).map_err(|_| NoSavedReview::Damaged)
}

#[derive(Deserialize)]
struct SavedVersion {
    version: u32,
}

impl OpenIssue {
    /// Shortens an issue for storage.
    pub(super) fn new(issue: &Issue, since: &str) -> Self {
        // Quotes from the issue's own file first.
        let (same_file, other_files): (Vec<&Quote>, Vec<&Quote>) =
            issue.evidence.iter().partition(|quote| quote.file == issue.location.file);
        let evidence = same_file.into_iter().chain(other_files).take(STORED_QUOTES_MAX);
        Self {
            key: issue.dedupe_key.clone(),
            title: cut(&issue.title, STORED_TITLE_MAX),
            severity: issue.severity,
            category: issue.category,
            location: issue.location.clone(),
            why: cut(&issue.why_it_matters, STORED_REASON_MAX),
            evidence: evidence.map(shortened_quote).collect(),
            reviewers: issue.reviewers.clone(),
            rule: issue.rule.clone(),
            confidence: issue.confidence,
            validation: issue.validation,
            autofix_class: issue.autofix_class,
            owner: issue.owner,
            requires_verification: issue.requires_verification,
            since: since.to_owned(),
        }
    }
}

/// Shortens a quote to what is needed to find its lines.
fn shortened_quote(quote: &Quote) -> Quote {
    let mut snippet = String::new();
    for line in quote.snippet.lines().take(STORED_QUOTE_LINES_MAX) {
        if !snippet.is_empty() {
            snippet.push('\n');
        }
        snippet.push_str(line);
        if snippet.chars().filter(|char| !char.is_whitespace()).count() >= STORED_QUOTE_ENOUGH {
            break;
        }
    }
    Quote { snippet: cut(&snippet, STORED_QUOTE_MAX), ..quote.clone() }
}

fn cut(text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests;
