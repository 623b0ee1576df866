//! Decides what is written to a pull request: a pure function of the review and of what stands there.
//!
//! Invariant: once everything that a plan says stands there, the next plan is empty; and that also holds if only some of it
//! came to stand, and was planned again.

mod look;
mod review;
mod summary;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::json;
use thiserror::Error;

use self::look::Look;
use super::Posting;
use super::receipt::Item;
use super::request::Request;
use crate::github::Standing;
use crate::github::Verb;

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

/// Why nothing is written for a part of a posting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// It is there.
    Stands,
    /// A person who decides about the repository said no to it.
    Dismissed {
        /// Who.
        by: String,
    },
    /// It is in the summary and has no comment of its own.
    InSummary {
        /// Why.
        why: String,
    },
    /// It would not be right, or cannot be done.
    Not {
        /// Why.
        why: String,
    },
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands => write!(f, "it stands already"),
            Self::Dismissed { by } => write!(f, "dismissed by {by}"),
            Self::InSummary { why } => write!(f, "it is in the summary: {why}"),
            Self::Not { why } => write!(f, "{why}"),
        }
    }
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
        /// The word that it carries beside them; none for a mere comment.
        vote: Option<&'static str>,
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
}

/// What is to be written for a review, given what stands.
pub fn plan(posting: &Posting<'_>, standing: &Standing) -> Plan {
    plan_knowing(posting, standing, &Learned::default())
}

pub(super) fn plan_knowing(posting: &Posting<'_>, standing: &Standing, learned: &Learned) -> Plan {
    if let Some(refusal) = refusal(posting, standing) {
        return Plan { refusal: Some(refusal), ..Plan::default() };
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
    let (change, pull) = (&posting.report.change, &standing.pull);
    let reviewed = format!("{}#{}", change.repo, change.pr_number);
    let here = format!("{}#{}", pull.repo, pull.number);
    if !reviewed.eq_ignore_ascii_case(&here) {
        return Some(Refusal::OtherPull { reviewed, here });
    }
    if change.head_sha != pull.head {
        let (reviewed, now) = (change.head_sha.clone(), pull.head.clone());
        return Some(Refusal::HeadMoved { reviewed, now });
    }
    (!pull.open).then_some(Refusal::Closed)
}

#[cfg(test)]
mod tests;
