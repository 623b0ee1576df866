//! Decides whether a review can be incremental, that is, build on the previous review of the same
//! pull request.
//!
//! Invariant: any mismatch or unknown leads to a full review, with a reason for the reader.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::scope::short_commit;
use crh_forge::posting::{NoSavedReview, OpenIssue, ReviewBasis, SavedReview};
use crh_git::{BareRepository, Objects, PathEntry, ReadError};
use crh_review::diff::{Diff, FileDiff, RepoPath};
use crh_review::identity::is_commit_id;
use crh_review::report::{CoverageState, Report, Strategy};

/// Maximum number of issues in a saved review. crh never writes more, since they would not fit into
/// a comment.
const ISSUES_MAX: usize = 200;

/// The previous review of a pull request, if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreviousReviewLookup {
    /// No usable review, with the reason.
    #[serde(rename = "nothing")]
    Unavailable(String),
    /// A previous review.
    Review(Box<PreviousReview>),
}

/// The previous review of a pull request, compared with the current commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousReview {
    /// The state that the previous review stored in its comment at the forge.
    pub state: SavedReview,
    /// Whether the current head descends from the head of the previous review.
    pub history: HeadHistory,
    /// Files of the change that have not changed since that review, by display path.
    #[serde(rename = "unchanged")]
    pub unchanged_files: BTreeSet<String>,
}

/// What happened to the reviewed head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadHistory {
    /// The current head descends from the reviewed head, or is equal to it.
    #[serde(rename = "goes_on")]
    Continued,
    /// A force push or rebase replaced the reviewed head, or its commit cannot be read.
    Rewritten,
}

/// Properties of the current review that must match the previous one.
#[derive(Debug, Clone, Copy)]
pub struct CurrentReview<'a> {
    /// The base commit.
    pub base: &'a str,
    /// The head commit, as in the report.
    pub head: &'a str,
    /// Hashes of configuration and prompts, and the reviewers.
    pub basis: &'a ReviewBasis,
    /// Model names joined by `+`. Empty if no model is used.
    pub models: &'a str,
    /// How the change is divided among reviewers.
    pub strategy: Strategy,
}

/// What an incremental review takes over from the previous one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncrementalReview {
    /// Head of the previous review.
    pub head: String,
    /// Whether the head has moved since the previous review.
    #[serde(rename = "moved")]
    pub head_change: HeadChange,
    /// Files that the previous review covered and that have not changed since.
    #[serde(rename = "unchanged")]
    pub unchanged_files: BTreeSet<String>,
    /// Issues that the previous review left open.
    pub issues: Vec<OpenIssue>,
}

/// Whether the head moved since the previous review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadChange {
    /// The head is a different commit.
    #[serde(rename = "on")]
    Moved,
    /// The head was reviewed already.
    #[serde(rename = "not")]
    Same,
}

/// Why a review is full although an incremental one was requested.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FullReviewReason {
    /// There is no previous review to build on, for this reason.
    #[error("{0}")]
    NoPreviousReview(String),
    /// The previous review did not cover everything.
    #[error("the previous review, of `{head}`, was incomplete")]
    Incomplete {
        /// Its head commit.
        head: String,
    },
    /// The previous review did not list all of its open issues.
    #[error("the previous review, of `{head}`, did not list all of its open issues")]
    Withheld {
        /// Its head commit.
        head: String,
    },
    /// The base commit changed.
    #[error("the base is now `{now}`; the previous review used another one")]
    OtherBase {
        /// The current base commit.
        now: String,
    },
    /// The reviewed head is no longer an ancestor.
    #[error("the head of the previous review, `{head}`, is no longer part of the change")]
    Rewritten {
        /// Its head commit.
        head: String,
    },
    /// The strategy changed.
    #[error("the strategy is now `{now}`; it was `{before}`")]
    OtherStrategy {
        /// Strategy of the previous review.
        before: Strategy,
        /// Strategy of this review.
        now: Strategy,
    },
    /// The models changed.
    #[error("the previous review used another model")]
    OtherModels,
    /// The reviewers changed.
    #[error("the previous review used other reviewers")]
    OtherReviewers,
    /// The prompts changed.
    #[error("the prompts have changed since the previous review")]
    OtherPrompts,
    /// Settings, instructions or the version of crh changed.
    #[error(
        "the settings, the instructions or the version of crh have changed since the previous review"
    )]
    OtherConfiguration,
}

impl PreviousReviewLookup {
    /// Compares a saved review with the commits. `head` is the commit under review. `diff` is the
    /// diff of the change.
    pub fn compare(
        state: Result<SavedReview, NoSavedReview>,
        bare: &BareRepository,
        head: &str,
        diff: &Diff,
    ) -> Self {
        let state = match state {
            Ok(state) => state,
            Err(why) => return Self::Unavailable(why.to_string()),
        };
        // Anyone with write access may have edited the comment.
        if !is_commit_id(&state.head) {
            return Self::Unavailable(NoSavedReview::Damaged.to_string());
        }
        let is_continued =
            bare.has(&state.head) && bare.is_ancestor(&state.head, head).unwrap_or(false);
        let (history, unchanged_files) = match (is_continued, bare.objects()) {
            (true, Ok(objects)) => {
                let files = diff.files().iter();
                let unchanged_diffs =
                    files.filter(|file| file_is_unchanged(&objects, &state.head, head, file));
                let unchanged_paths =
                    unchanged_diffs.map(|file| file.path.shown().into_owned()).collect();
                (HeadHistory::Continued, unchanged_paths)
            }
            (true, Err(_)) | (false, _) => (HeadHistory::Rewritten, BTreeSet::new()),
        };
        Self::Review(Box::new(PreviousReview { state, history, unchanged_files }))
    }

    /// The result of the lookup if the commits are not available locally.
    pub fn without_commits() -> Self {
        Self::Unavailable("the commits of the change are not available locally".to_owned())
    }

    /// Decides whether the current review can be incremental.
    pub fn incremental(
        self,
        current: &CurrentReview<'_>,
    ) -> Result<IncrementalReview, FullReviewReason> {
        let PreviousReview { state, history, unchanged_files } = match self {
            Self::Unavailable(why) => return Err(FullReviewReason::NoPreviousReview(why)),
            Self::Review(previous) => *previous,
        };
        // The saved state may be forged.
        if !is_commit_id(&state.head) || state.issues.len() > ISSUES_MAX {
            return Err(FullReviewReason::NoPreviousReview(NoSavedReview::Damaged.to_string()));
        }
        let head = short_commit(&state.head).to_owned();
        if !state.complete {
            return Err(FullReviewReason::Incomplete { head });
        }
        if state.withheld > 0 {
            return Err(FullReviewReason::Withheld { head });
        }
        if history == HeadHistory::Rewritten {
            return Err(FullReviewReason::Rewritten { head });
        }
        if state.base != current.base {
            return Err(FullReviewReason::OtherBase { now: short_commit(current.base).to_owned() });
        }
        if state.strategy != current.strategy {
            return Err(FullReviewReason::OtherStrategy {
                before: state.strategy,
                now: current.strategy,
            });
        }
        if state.models != current.models {
            return Err(FullReviewReason::OtherModels);
        }
        if state.basis.reviewers != current.basis.reviewers {
            return Err(FullReviewReason::OtherReviewers);
        }
        if state.basis.prompt_version != current.basis.prompt_version {
            return Err(FullReviewReason::OtherPrompts);
        }
        let is_configuration_known = !state.basis.configuration.is_empty();
        if !is_configuration_known || state.basis.configuration != current.basis.configuration {
            return Err(FullReviewReason::OtherConfiguration);
        }
        let head_change =
            if state.head == current.head { HeadChange::Same } else { HeadChange::Moved };
        Ok(IncrementalReview {
            head: state.head,
            head_change,
            unchanged_files,
            issues: state.issues,
        })
    }
}

impl IncrementalReview {
    /// The issues that a report carries over: their files were not reviewed again.
    pub fn carried_over_issues(&self, report: &Report) -> Vec<OpenIssue> {
        let reviewed = report.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
        let reviewed_paths: BTreeSet<&str> = reviewed.map(|file| file.path.as_str()).collect();
        let keys: BTreeSet<&str> = report
            .issues
            .iter()
            .filter(|issue| !reviewed_paths.contains(issue.location.file.as_str()))
            .map(|issue| issue.dedupe_key.as_str())
            .collect();
        self.issues.iter().filter(|old| keys.contains(old.key.as_str())).cloned().collect()
    }

    /// A sentence on what is reviewed.
    pub fn sentence(&self) -> String {
        let head = short_commit(&self.head);
        match self.head_change {
            HeadChange::Moved => {
                format!("reviewing only what changed since the review of `{head}`")
            }
            HeadChange::Same => {
                format!("nothing has changed since the review of `{head}`; its issues still stand")
            }
        }
    }
}

/// Whether a file, and its old path if it was renamed, is identical in two commits. Unreadable
/// files count as different.
fn file_is_unchanged(objects: &Objects, before: &str, current: &str, file: &FileDiff) -> bool {
    let path_is_unchanged = |path: &RepoPath| {
        let entry_at = |commit: &str| -> Result<Option<PathEntry>, ReadError> {
            match objects.entry(commit, path.as_bytes()) {
                Ok(entry) => Ok(Some(entry)),
                Err(ReadError::NoEntry(_)) => Ok(None),
                Err(error) => Err(error),
            }
        };
        matches!((entry_at(before), entry_at(current)), (Ok(before), Ok(now)) if before == now)
    };
    path_is_unchanged(&file.path) && file.old_path.as_ref().is_none_or(path_is_unchanged)
}
