//! Decides what is written to a pull request: a pure function of the review and of what stands there.
//!
//! Invariant: once everything that a plan says stands there, the next plan is empty; and that also holds if only some of it
//! came to stand, and was planned again.

#[path = "plan/analysis.rs"]
mod look;
mod review;
mod summary;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;
use thiserror::Error;

use self::look::Look;
use super::Posting;
use super::request::Request;
use crate::github::{PullState, Standing, StandingReview, Verb};
use crate::posted::{Item, Skip, masked};
use crh_review::identity::posted_marker;

/// What is to be written, in this order; or why nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Why nothing is written at all.
    pub refusal: Option<Refusal>,
    /// What is written.
    pub writes: Vec<Write>,
    /// What is not, and why.
    pub skipped: Vec<(Item, Skip)>,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// What is sent.
    pub request: Request,
    /// What it is about.
    pub(super) what: What,
}

/// What a write is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A review with inline comments.
    Review {
        /// The issues of the comments, in their order.
        issues: Vec<Item>,
    },
    /// A review without any, which says more than a comment: alone, so that a refusal tells which of the two it is about.
    Vote {
        /// GitHub's word for what it says.
        event: &'static str,
    },
    /// The end of an own approval that does not hold any more.
    Withdraw {
        /// The number of the review.
        id: u64,
    },
    /// The submission of an own review that was begun and never came to be seen.
    Submit {
        /// The number of the review.
        id: u64,
    },
    /// A new summary comment.
    NewSummary,
    /// Another text for the summary comment.
    Summary {
        /// Its number.
        id: u64,
    },
    /// The end of an own conversation.
    Resolve {
        /// GitHub's id for it.
        node_id: String,
    },
}

/// What was learned while carrying out an earlier plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Learned {
    /// The keys of the issues whose places GitHub refused.
    pub(super) refused: BTreeSet<String>,
    /// Why no review can be posted: everything is in the summary then.
    pub(super) no_review: Option<String>,
    /// Why no review can carry more than comments.
    pub(super) no_vote: Option<String>,
    /// Why an own approval cannot be withdrawn.
    pub(super) no_withdrawing: Option<String>,
    /// Why no conversation can be resolved.
    pub(super) no_resolving: Option<String>,
}

/// Why nothing is posted.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The pull request has another head by now.
    #[error("the review is about {reviewed}, and the head of the pull request is {now}")]
    HeadMoved {
        /// The head that was reviewed.
        reviewed: String,
        /// The head that is there.
        now: String,
    },
    /// The review is about another pull request.
    #[error("the review is about `{reviewed}`, and this is `{here}`")]
    OtherPull {
        /// What was reviewed.
        reviewed: String,
        /// What it was to be posted to.
        here: String,
    },
    /// The pull request is closed.
    #[error("the pull request is closed")]
    Closed,
    /// What stands there is more than was read, so that it would be posted again.
    #[error("not everything that stands on the pull request could be read: {}", what.join(", "))]
    NotAllRead {
        /// What is missing.
        what: Vec<String>,
    },
    /// The account has begun a review that nobody else sees. GitHub takes no other one as long as it is there.
    #[error("this account has an unsubmitted review on the pull request")]
    Unsubmitted,
    /// Something that must not be shown is a word of the report's own form, and without it there is no report.
    #[error("something that must be hidden is part of the report's own form")]
    Hidden,
}

/// What is to be written for a review, given what stands.
pub fn plan(posting: &Posting<'_>, standing: &Standing) -> Plan {
    plan_knowing(posting, standing, &Learned::default())
}

pub(super) fn plan_knowing(posting: &Posting<'_>, standing: &Standing, learned: &Learned) -> Plan {
    if let Some(refusal) = refusal(posting, standing) {
        return Plan { refusal: Some(refusal), ..Plan::default() };
    }
    if let Some(draft) = own_draft(standing) {
        return Plan { writes: vec![submission(draft, standing)], ..Plan::default() };
    }
    let look = Look::new(posting, standing, learned);
    let mut plan = Plan::default();
    review::add(&mut plan, &look);
    summary::add(&mut plan, &look);
    let outdated = if learned.no_resolving.is_none() { look.outdated() } else { Vec::new() };
    for own in outdated {
        plan.writes.push(Write {
            request: Request {
                verb: Verb::Post,
                path: "/graphql".to_owned(),
                body: json!({ "query": RESOLVE, "variables": { "id": own.thread.node_id } }),
            },
            what: What::Resolve { node_id: own.thread.node_id.clone() },
        });
    }
    plan
}

/// The mutation that ends a conversation.
pub(super) const RESOLVE: &str = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } } }";

pub(super) fn refusal(posting: &Posting<'_>, standing: &Standing) -> Option<Refusal> {
    let Some(report) = masked(posting.report, posting.mask) else { return Some(Refusal::Hidden) };
    let (change, pull) = (&report.change, &standing.pull);
    let reviewed = format!("{}#{}", change.repo, change.pr_number);
    let here = format!("{}#{}", pull.repo, pull.number);
    if !reviewed.eq_ignore_ascii_case(&here) {
        return Some(Refusal::OtherPull { reviewed, here });
    }
    if change.head_sha != pull.head {
        let (reviewed, now) = (change.head_sha.clone(), pull.head.clone());
        return Some(Refusal::HeadMoved { reviewed, now });
    }
    if !pull.open {
        return Some(Refusal::Closed);
    }
    if !standing.unread.is_empty() {
        return Some(Refusal::NotAllRead { what: standing.unread.clone() });
    }
    let marker = posted_marker(posting.instance, &report.review_id);
    let is_other = |draft: &StandingReview| !draft.body.starts_with(&marker);
    own_draft(standing).is_some_and(is_other).then_some(Refusal::Unsubmitted)
}

/// The review that our account has begun and not submitted.
fn own_draft(standing: &Standing) -> Option<&StandingReview> {
    let is_ours = |review: &&StandingReview| {
        review.author.as_ref().is_some_and(|author| author.id == standing.viewer.id)
    };
    standing.reviews.iter().filter(is_ours).find(|review| review.state == "PENDING")
}

/// An interrupted posting has left its comments where nobody sees them: they are submitted before anything else is planned.
fn submission(draft: &StandingReview, standing: &Standing) -> Write {
    let StandingReview { id, .. } = *draft;
    let PullState { repo, number, .. } = &standing.pull;
    Write {
        request: Request {
            verb: Verb::Post,
            path: format!("/repos/{repo}/pulls/{number}/reviews/{id}/events"),
            body: json!({ "event": "COMMENT" }),
        },
        what: What::Submit { id },
    }
}

#[cfg(test)]
mod tests;
