//! What the next review needs to know about this one, kept in the summary comment: JSON as base64url in one HTML comment.
//!
//! Whoever may write to the repository can edit that comment, so that nothing in it is more than a hint: a reader checks it
//! against what it finds, and shows its texts as it shows those of a model.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::github::{Standing, TopComment};
use crh_review::finding::{AutofixClass, Category, Confidence, Owner, Severity, TITLE_MAX};
use crh_review::identity::{is_summary, marked_state, state_marker};
use crh_review::report::{Issue, Strategy, Validation};
use crh_review::{Location, Quote, stable_json_line};

/// The version of this form. It rises when a reader of the old form would misread the new one.
pub(super) const VERSION: u32 = 1;
/// How long the line may be, in characters: some forty issues, and half of a comment is left for people.
const STATE_MAX: usize = 32_768;
/// How much of a title is kept, in characters: as long as one may be.
const TITLE_KEPT: usize = TITLE_MAX;
/// How much of a reason is kept, in characters: a sentence or two. The conversation has all of it.
const WHY_KEPT: usize = 240;
/// How much of a quote is kept, in characters: enough to find its line again. What is looked for is the kept part.
const QUOTE_KEPT: usize = 160;
/// How many lines of a quote are kept: as many as it takes to prove something.
const QUOTE_LINES: usize = 3;
/// How many visible characters prove something; then no more lines are kept.
const QUOTE_ENOUGH: usize = 8;
/// How many quotes of an issue are kept: its own, and those that tie it to the change.
const QUOTES_KEPT: usize = 3;

/// What a review was made with, apart from what its report says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The hash of the configuration.
    pub configuration: String,
    /// The hash of all prompts in use.
    pub prompt_version: String,
    /// Who would look at a change, sorted: those that need no model and are here, whatever files the change has.
    #[serde(default)]
    pub reviewers: Vec<String>,
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
    /// How it was done.
    pub strategy: Strategy,
    /// Whether everything was looked at.
    pub complete: bool,
    /// What is open.
    pub issues: Vec<OpenIssue>,
    /// How many more are open that the report did not show, and that are not among them.
    #[serde(default)]
    pub withheld: usize,
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
    /// What it does, or the beginning of that; empty if there was no room for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Its quotes, the one from its own file first, each perhaps cut; none if it had none.
    #[serde(default)]
    pub evidence: Vec<Quote>,
    /// Who reported it.
    pub reviewers: Vec<String>,
    /// The rule of the program that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How sure they were together.
    pub confidence: Confidence,
    /// What the check of it said.
    pub validation: Validation,
    /// Whether a fix may be applied without asking.
    pub autofix_class: AutofixClass,
    /// Who acts next.
    pub owner: Owner,
    /// Whether a fix is unfinished until it was checked.
    #[serde(default)]
    pub requires_verification: bool,
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

/// The last line of a summary that keeps a state; none if it is too long to be kept. Reasons are the first to go: they stand
/// in the conversations.
pub(super) fn line(instance: &str, state: &State) -> Option<String> {
    let kept = |state: &State| {
        let json = stable_json_line(state).ok()?;
        let line = state_marker(instance, &URL_SAFE_NO_PAD.encode(json.trim_end()));
        (line.len() <= STATE_MAX).then_some(line)
    };
    kept(state).or_else(|| {
        let mut brief = state.clone();
        for issue in &mut brief.issues {
            issue.why.clear();
        }
        kept(&brief)
    })
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
        // The one that says where it is comes first.
        let (own, others): (Vec<&Quote>, Vec<&Quote>) =
            issue.evidence.iter().partition(|quote| quote.file == issue.location.file);
        let evidence = own.into_iter().chain(others).take(QUOTES_KEPT);
        Self {
            key: issue.dedupe_key.clone(),
            title: cut(&issue.title, TITLE_KEPT),
            severity: issue.severity,
            category: issue.category,
            location: issue.location.clone(),
            why: cut(&issue.why_it_matters, WHY_KEPT),
            evidence: evidence.map(kept_quote).collect(),
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

/// As much of a quote as it takes to find its lines again.
fn kept_quote(quote: &Quote) -> Quote {
    let mut snippet = String::new();
    for line in quote.snippet.lines().take(QUOTE_LINES) {
        if !snippet.is_empty() {
            snippet.push('\n');
        }
        snippet.push_str(line);
        if snippet.chars().filter(|char| !char.is_whitespace()).count() >= QUOTE_ENOUGH {
            break;
        }
    }
    Quote { snippet: cut(&snippet, QUOTE_KEPT), ..quote.clone() }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
#[path = "saved_review/tests.rs"]
mod tests;
