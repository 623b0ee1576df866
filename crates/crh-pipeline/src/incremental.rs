//! Since: whether a review may build on the last one of its pull request, and what it takes over from it.
//!
//! Invariant: what does not match, or is not known, makes the review larger, never smaller, and the reader is told why.

#[cfg(test)]
#[path = "incremental/tests.rs"]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::scope::short;
use crh_forge::github::post::{Basis, NoState, OpenIssue, State};
use crh_git::{Bare, Entry, Objects, ReadError};
use crh_review::diff::{Diff, FileDiff, RepoPath};
use crh_review::identity::is_commit;
use crh_review::report::{CoverageState, Report, Strategy};

/// A state with more issues was not written by crh: a comment has no room for them.
const ISSUES_MAX: usize = 200;

/// What is known about the last review of a pull request, before it is known how this one is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Last {
    /// There is none to build on, and why.
    Nothing(String),
    /// There was one.
    Review(Box<LastReview>),
}

/// The last review of a pull request, held against the commits of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastReview {
    /// What it said of itself.
    pub state: State,
    /// Whether what is under review now goes on from what it has seen.
    pub history: History,
    /// The files of the change that are the same as they were then, by the paths they are shown with.
    pub unchanged: BTreeSet<String>,
}

/// What became of the head that was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// What is under review goes on from it, or is it.
    GoesOn,
    /// It was replaced.
    Rewritten,
}

/// What this review is made with.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// The base commit.
    pub base: &'a str,
    /// The head, as the report names it.
    pub head: &'a str,
    /// The configuration, the prompts and the reviewers.
    pub basis: &'a Basis,
    /// The names of the models, joined by `+`; empty if none is asked.
    pub models: &'a str,
    /// How the change is divided.
    pub strategy: Strategy,
}

/// A review of what has changed since another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// The head of that review.
    pub head: String,
    /// Whether that is the head under review.
    pub moved: Moved,
    /// The files that were looked at then and are the same now.
    pub unchanged: BTreeSet<String>,
    /// What was open then.
    pub issues: Vec<OpenIssue>,
}

/// Whether there is anything new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// The head is another one.
    On,
    /// The head is the one that was reviewed.
    Not,
}

/// Why everything is reviewed although only what has changed was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Widened {
    /// There is nothing to build on.
    #[error("{0}")]
    Nothing(String),
    /// The last review has not seen everything.
    #[error("the last review, of `{head}`, was not complete")]
    Incomplete {
        /// Its head.
        head: String,
    },
    /// The last review kept issues back.
    #[error("the last review, of `{head}`, did not list all that it found open")]
    Withheld {
        /// Its head.
        head: String,
    },
    /// The change starts elsewhere.
    #[error("the change is compared with `{now}` now, and the last review was not")]
    OtherBase {
        /// The base commit of now.
        now: String,
    },
    /// What was reviewed is not part of the change any more.
    #[error("the head of the last review, `{head}`, is not part of the change any more")]
    Rewritten {
        /// Its head.
        head: String,
    },
    /// It is done in another way.
    #[error("the strategy is `{now}` now, and was `{before}`")]
    OtherStrategy {
        /// That of the last review.
        before: Strategy,
        /// That of now.
        now: Strategy,
    },
    /// Others are asked.
    #[error("the last review was by another model")]
    OtherModels,
    /// Others look at it.
    #[error("the last review was by other reviewers")]
    OtherReviewers,
    /// They are told something else.
    #[error("the prompts are not those of the last review")]
    OtherPrompts,
    /// It is done by other rules.
    #[error(
        "the settings, the instructions or the version of crh are not those of the last review"
    )]
    OtherConfiguration,
}

impl Last {
    /// Holds what the last review said of itself against the commits: `head` is the commit under review, `diff` the change.
    pub fn found(state: Result<State, NoState>, bare: &Bare, head: &str, diff: &Diff) -> Self {
        let state = match state {
            Ok(state) => state,
            Err(why) => return Self::Nothing(why.to_string()),
        };
        // Whoever may write to the repository may have edited it.
        if !is_commit(&state.head) {
            return Self::Nothing(NoState::Damaged.to_string());
        }
        let goes_on = bare.has(&state.head) && bare.is_ancestor(&state.head, head).unwrap_or(false);
        let (history, unchanged) = match (goes_on, bare.objects()) {
            (true, Ok(objects)) => {
                let files = diff.files().iter();
                let same = files.filter(|file| is_same(&objects, &state.head, head, file));
                let same = same.map(|file| file.path.shown().into_owned()).collect();
                (History::GoesOn, same)
            }
            (true, Err(_)) | (false, _) => (History::Rewritten, BTreeSet::new()),
        };
        Self::Review(Box::new(LastReview { state, history, unchanged }))
    }

    /// Nothing can be held against anything.
    pub fn without_commits() -> Self {
        Self::Nothing("the commits of the change are not here".to_owned())
    }

    /// Whether a review may build on it.
    pub fn since(self, now: &Now<'_>) -> Result<Since, Widened> {
        let LastReview { state, history, unchanged } = match self {
            Self::Nothing(why) => return Err(Widened::Nothing(why)),
            Self::Review(last) => *last,
        };
        // A file could say anything here, which is shown and worked on.
        if !is_commit(&state.head) || state.issues.len() > ISSUES_MAX {
            return Err(Widened::Nothing(NoState::Damaged.to_string()));
        }
        let head = short(&state.head).to_owned();
        if !state.complete {
            return Err(Widened::Incomplete { head });
        }
        if state.withheld > 0 {
            return Err(Widened::Withheld { head });
        }
        if history == History::Rewritten {
            return Err(Widened::Rewritten { head });
        }
        if state.base != now.base {
            return Err(Widened::OtherBase { now: short(now.base).to_owned() });
        }
        if state.strategy != now.strategy {
            return Err(Widened::OtherStrategy { before: state.strategy, now: now.strategy });
        }
        if state.models != now.models {
            return Err(Widened::OtherModels);
        }
        if state.basis.reviewers != now.basis.reviewers {
            return Err(Widened::OtherReviewers);
        }
        if state.basis.prompt_version != now.basis.prompt_version {
            return Err(Widened::OtherPrompts);
        }
        let is_known = !state.basis.configuration.is_empty();
        if !is_known || state.basis.configuration != now.basis.configuration {
            return Err(Widened::OtherConfiguration);
        }
        let moved = if state.head == now.head { Moved::Not } else { Moved::On };
        Ok(Since { head: state.head, moved, unchanged, issues: state.issues })
    }
}

impl Since {
    /// The issues that a report has taken over: nobody has looked at their files again.
    pub fn carried(&self, report: &Report) -> Vec<OpenIssue> {
        let seen = report.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
        let seen: BTreeSet<&str> = seen.map(|file| file.path.as_str()).collect();
        let keys: BTreeSet<&str> = report
            .issues
            .iter()
            .filter(|issue| !seen.contains(issue.location.file.as_str()))
            .map(|issue| issue.dedupe_key.as_str())
            .collect();
        self.issues.iter().filter(|old| keys.contains(old.key.as_str())).cloned().collect()
    }

    /// What is reviewed, in a sentence.
    pub fn sentence(&self) -> String {
        let head = short(&self.head);
        match self.moved {
            Moved::On => format!("only what changed since the review of `{head}` is reviewed"),
            Moved::Not => format!(
                "nothing has changed since the review of `{head}`, so nothing is reviewed again: its issues stand"
            ),
        }
    }
}

/// Whether a file of the change is the same in two commits, and so is what it was before it moved. What cannot be read is not.
fn is_same(objects: &Objects, before: &str, now: &str, file: &FileDiff) -> bool {
    let same = |path: &RepoPath| {
        let at = |commit: &str| -> Result<Option<Entry>, ReadError> {
            match objects.entry(commit, path.as_bytes()) {
                Ok(entry) => Ok(Some(entry)),
                Err(ReadError::NoEntry(_)) => Ok(None),
                Err(error) => Err(error),
            }
        };
        matches!((at(before), at(now)), (Ok(before), Ok(now)) if before == now)
    };
    same(&file.path) && file.old_path.as_ref().is_none_or(same)
}
