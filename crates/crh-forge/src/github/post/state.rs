//! What the next review needs to know about this one, kept in the summary comment: JSON as base64url in one HTML comment.
//!
//! Whoever may write to the repository can edit that comment, so that nothing in it is more than a hint: a reader checks it
//! against what it finds, and shows its texts as it shows those of a model.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use crh_review::Location;
use crh_review::finding::Category;
use crh_review::finding::Confidence;
use crh_review::finding::Severity;
use crh_review::identity::is_summary;
use crh_review::identity::marked_state;
use crh_review::identity::state_marker;
use crh_review::report::Issue;
use crh_review::report::Strategy;
use crh_review::stable_json_line;
use serde::Deserialize;
use serde::Serialize;
use thiserror::Error;

use crate::github::Standing;
use crate::github::TopComment;

/// The version of this form. It rises when a reader of the old form would misread the new one.
pub(super) const VERSION: u32 = 1;
/// How long the line may be, in characters: some forty issues, and well over half of a comment is left for people.
const STATE_MAX: usize = 24_576;
/// How much of a title and of a quote is kept, in characters: enough to be recognised.
const KEPT_MAX: usize = 120;

/// What a review was made with, apart from what its report says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The hash of the configuration.
    pub configuration: String,
    /// The hash of all prompts in use.
    pub prompt_version: String,
}

/// What is known about the last review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The version of this form.
    pub version: u32,
    /// The id of the review.
    pub review_id: String,
    /// The base commit.
    pub base: String,
    /// The head commit.
    pub head: String,
    /// What it was made with.
    #[serde(flatten)]
    pub basis: Basis,
    /// The models, sorted and joined by `+`.
    pub models: String,
    /// The names of the reviewers, sorted.
    pub reviewers: Vec<String>,
    /// How it was done.
    pub strategy: Strategy,
    /// Whether everything was looked at.
    pub complete: bool,
    /// What is open.
    pub issues: Vec<OpenIssue>,
    /// The keys of issues whose place GitHub refused at this head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// An issue of an earlier review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenIssue {
    /// What names it across runs.
    pub key: String,
    /// What is wrong.
    pub title: String,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of trouble it is.
    pub category: Category,
    /// Where it was.
    #[serde(flatten)]
    pub location: Location,
    /// The first quote, or the beginning of it.
    pub quote: String,
    /// Who reported it.
    pub reviewers: Vec<String>,
    /// How sure they were together.
    pub confidence: Confidence,
    /// The head at which it was raised first.
    pub since: String,
}

/// Why nothing is known about the last review.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoState {
    /// There is no summary of ours.
    #[error("there is no earlier review of this pull request by this account and instance")]
    NoReview,
    /// The summary has none.
    #[error("the earlier review did not keep its state")]
    NotKept,
    /// It cannot be read.
    #[error("the state of the earlier review is damaged")]
    Damaged,
    /// Another version of crh has written it.
    #[error("the state of the earlier review was written by another version of crh")]
    OtherVersion,
}

/// What is known about the last review of a pull request: from the summary that our account wrote under this instance's name.
pub fn last_state(standing: &Standing, instance: &str) -> Result<State, NoState> {
    let summary = own_summary(standing, instance).ok_or(NoState::NoReview)?;
    read(instance, &summary.body)
}

/// The summary comment of this instance; the oldest, should there be several. What others wrote is none.
pub(super) fn own_summary<'a>(standing: &'a Standing, instance: &str) -> Option<&'a TopComment> {
    let is_ours = |comment: &&TopComment| {
        comment.author.as_ref().is_some_and(|author| author.id == standing.viewer.id)
    };
    standing.comments.iter().filter(is_ours).find(|comment| is_summary(instance, &comment.body))
}

/// The last line of a summary that keeps a state; none if it is too long to be kept.
pub(super) fn line(instance: &str, state: &State) -> Option<String> {
    let json = stable_json_line(state).ok()?;
    let line = state_marker(instance, &URL_SAFE_NO_PAD.encode(json.trim_end()));
    (line.len() <= STATE_MAX).then_some(line)
}

fn read(instance: &str, body: &str) -> Result<State, NoState> {
    let data = marked_state(instance, body).ok_or(NoState::NotKept)?;
    let json = URL_SAFE_NO_PAD.decode(data).map_err(|_| NoState::Damaged)?;
    let version: Version = serde_json::from_slice(&json).map_err(|_| NoState::Damaged)?;
    if version.version != VERSION {
        return Err(NoState::OtherVersion);
    }
    serde_json::from_slice(&json).map_err(|_| NoState::Damaged)
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl OpenIssue {
    /// What is kept of an issue.
    pub(super) fn new(issue: &Issue, since: &str) -> Self {
        let quote = issue.evidence_snippet.lines().next().unwrap_or_default();
        Self {
            key: issue.dedupe_key.clone(),
            title: cut(&issue.title),
            severity: issue.severity,
            category: issue.category,
            location: issue.location.clone(),
            quote: cut(quote),
            reviewers: issue.reviewers.clone(),
            confidence: issue.confidence,
            since: since.to_owned(),
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(KEPT_MAX).collect()
}

#[cfg(test)]
mod tests;
