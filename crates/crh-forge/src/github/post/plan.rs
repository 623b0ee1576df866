//! Plans the writes to a pull request: a pure function of the review and the current state.
//!
//! Invariant: after all writes of a plan, the next plan is empty. The same holds if crh applies
//! some of the writes, plans again, and applies that plan.

mod analysis;
mod review;
mod summary;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;
use thiserror::Error;

use self::analysis::PostingAnalysis;
use super::GitHubPosting;
use super::request::GitHubRequest;
use crate::github::{PullRequestProperties, PullRequestReview, PullRequestState, Verb};
use crate::posting::{PostedItem, PostingSkip, mask_report};
use crh_review::identity::inline_review_marker;

/// Planned writes in order, or a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHubPostingSteps {
    /// Why nothing is written.
    pub refusal: Option<PullRequestRefusal>,
    /// Planned writes.
    pub writes: Vec<GitHubWrite>,
    /// Items without a write, with the reason.
    pub skipped: Vec<(PostedItem, PostingSkip)>,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubWrite {
    /// The request.
    pub request: GitHubRequest,
    /// Purpose of the write.
    pub(super) kind: WriteKind,
}

/// Purpose of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WriteKind {
    /// A review with inline comments.
    Review {
        /// Issues of the comments, in order.
        issues: Vec<PostedItem>,
    },
    /// A vote: a review without comments. crh posts it separately, so that a refusal clearly
    /// concerns either the vote or the comments.
    Vote {
        /// GitHub's event name.
        event: &'static str,
    },
    /// Dismisses an own approval that no longer holds.
    Withdraw {
        /// Review id.
        id: u64,
    },
    /// Submits an own pending review.
    Submit {
        /// Review id.
        id: u64,
    },
    /// A new summary comment.
    NewSummary,
    /// Changes the summary comment.
    Summary {
        /// Comment id.
        id: u64,
    },
    /// Resolves an own thread.
    Resolve {
        /// GraphQL id of the thread.
        node_id: String,
    },
}

/// Restrictions that crh learned from failed writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PostingConstraints {
    /// Keys of issues whose position GitHub refused.
    pub(super) refused_keys: BTreeSet<String>,
    /// Why no review can be posted. All issues go into the summary then.
    pub(super) reason_for_no_review: Option<String>,
    /// Why no vote can be cast.
    pub(super) reason_for_no_vote: Option<String>,
    /// Why an own approval cannot be dismissed.
    pub(super) reason_for_no_withdrawal: Option<String>,
    /// Why threads cannot be resolved.
    pub(super) reason_for_no_resolving: Option<String>,
}

/// Why nothing is posted.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PullRequestRefusal {
    /// The head moved.
    #[error("the head of the pull request moved from {reviewed} to {now}")]
    HeadMoved {
        /// The reviewed head.
        reviewed: String,
        /// The current head.
        now: String,
    },
    /// The review is for another pull request.
    #[error("the review is for `{reviewed}`, not for `{target}`")]
    OtherPull {
        /// The reviewed pull request.
        reviewed: String,
        /// The target of the posting.
        #[serde(rename = "here")]
        target: String,
    },
    /// The pull request is closed.
    #[error("the pull request is closed")]
    Closed,
    /// Some lists are incomplete. Posting could create duplicates of comments that crh did not
    /// read.
    #[error("cannot read the pull request completely: {}", incomplete_lists.join(", "))]
    NotAllRead {
        /// The incomplete lists.
        #[serde(rename = "what")]
        incomplete_lists: Vec<String>,
    },
    /// The account has a pending review. GitHub accepts no other review until that one is submitted
    /// or discarded.
    #[error("this account has a pending review on the pull request")]
    Unsubmitted,
    /// A secret equals a word of the report format. Masking it would make the report unreadable.
    #[error("a secret equals a word of the report format")]
    #[serde(rename = "hidden")]
    Unmaskable,
}

/// Plans the writes for a review, given the current state.
pub fn plan(posting: &GitHubPosting<'_>, pull_state: &PullRequestState) -> GitHubPostingSteps {
    plan_within(posting, pull_state, &PostingConstraints::default())
}

pub(super) fn plan_within(
    posting: &GitHubPosting<'_>,
    pull_state: &PullRequestState,
    constraints: &PostingConstraints,
) -> GitHubPostingSteps {
    if let Some(refusal) = find_refusal(posting, pull_state) {
        return GitHubPostingSteps { refusal: Some(refusal), ..GitHubPostingSteps::default() };
    }
    if let Some(draft) = own_draft(pull_state) {
        return GitHubPostingSteps {
            writes: vec![submission(draft, pull_state)],
            ..GitHubPostingSteps::default()
        };
    }
    let analysis = PostingAnalysis::new(posting, pull_state, constraints);
    let mut plan = GitHubPostingSteps::default();
    review::add_reviews(&mut plan, &analysis);
    summary::add_summary(&mut plan, &analysis);
    let threads_to_resolve = if constraints.reason_for_no_resolving.is_none() {
        analysis.threads_to_resolve()
    } else {
        Vec::new()
    };
    for own_thread in threads_to_resolve {
        plan.writes.push(GitHubWrite {
            request: GitHubRequest {
                verb: Verb::Post,
                path: "/graphql".to_owned(),
                body: json!({ "query": RESOLVE, "variables": { "id": own_thread.thread.node_id } }),
            },
            kind: WriteKind::Resolve { node_id: own_thread.thread.node_id.clone() },
        });
    }
    plan
}

/// Mutation that resolves a thread.
pub(super) const RESOLVE: &str = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } } }";

pub(super) fn find_refusal(
    posting: &GitHubPosting<'_>,
    pull_state: &PullRequestState,
) -> Option<PullRequestRefusal> {
    let Some(report) = mask_report(posting.report, posting.mask) else {
        return Some(PullRequestRefusal::Unmaskable);
    };
    let (change, pull) = (&report.change, &pull_state.pull);
    let reviewed = format!("{}#{}", change.repo, change.pr_number);
    let target = format!("{}#{}", pull.repo, pull.number);
    if !reviewed.eq_ignore_ascii_case(&target) {
        return Some(PullRequestRefusal::OtherPull { reviewed, target });
    }
    if change.head_sha != pull.head {
        let (reviewed, now) = (change.head_sha.clone(), pull.head.clone());
        return Some(PullRequestRefusal::HeadMoved { reviewed, now });
    }
    if !pull.open {
        return Some(PullRequestRefusal::Closed);
    }
    if !pull_state.incomplete_lists.is_empty() {
        return Some(PullRequestRefusal::NotAllRead {
            incomplete_lists: pull_state.incomplete_lists.clone(),
        });
    }
    let marker = inline_review_marker(posting.instance, &report.review_id);
    let is_of_other_review = |draft: &PullRequestReview| !draft.body.starts_with(&marker);
    own_draft(pull_state).is_some_and(is_of_other_review).then_some(PullRequestRefusal::Unsubmitted)
}

/// The pending review of the token's account.
fn own_draft(pull_state: &PullRequestState) -> Option<&PullRequestReview> {
    let is_ours = |review: &&PullRequestReview| {
        review.author.as_ref().is_some_and(|author| author.id == pull_state.viewer.id)
    };
    pull_state.reviews.iter().filter(is_ours).find(|review| review.state == "PENDING")
}

/// Submits the pending review that an interrupted posting left, before anything else is planned.
fn submission(draft: &PullRequestReview, pull_state: &PullRequestState) -> GitHubWrite {
    let PullRequestReview { id, .. } = *draft;
    let PullRequestProperties { repo, number, .. } = &pull_state.pull;
    GitHubWrite {
        request: GitHubRequest {
            verb: Verb::Post,
            path: format!("/repos/{repo}/pulls/{number}/reviews/{id}/events"),
            body: json!({ "event": "COMMENT" }),
        },
        kind: WriteKind::Submit { id },
    }
}

#[cfg(test)]
mod tests;
