//! Plans the writes of a posting: a pure function of the review and the current state.
//!
//! Invariant: after all writes of a plan, the next plan is empty. The same holds if crh applies
//! some of the writes, plans again, and applies that plan. The only exception is a plan that
//! submits a pending review, because such a plan has no other writes.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::position::Anchor;
use super::{
    ForgeRequest, ForgeRules, ItemDelivery, PostedItem, PostingSkip, ProposalState, ReviewPosting,
    mask_report, plan_threads,
};
use crate::ProposalKind;

/// Planned writes in order, or a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostingSteps {
    /// Why nothing is written.
    pub refusal: Option<PostingRefusal>,
    /// Planned writes.
    pub writes: Vec<PostingWrite>,
    /// Items without a write, with the reason.
    pub skipped: Vec<(PostedItem, PostingSkip)>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostingWrite {
    /// The request.
    pub request: ForgeRequest,
    /// Purpose and content of the write.
    pub kind: WriteKind,
}

/// Purpose and content of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteKind {
    /// Inline comments.
    Review {
        /// Text of the review, with its marker.
        body: String,
        /// Comments, in order.
        comments: Vec<PlannedComment>,
    },
    /// A vote: a review without comments. crh posts it separately, so that a refusal clearly
    /// concerns either the vote or the comments.
    Vote {
        /// GitHub's event name.
        event: &'static str,
        /// Text of the vote, with its marker.
        body: String,
    },
    /// Dismisses an own approval that no longer holds.
    Withdraw {
        /// Review id.
        id: u64,
        /// Reason for readers.
        message: String,
    },
    /// Submits an own pending review.
    Submit {
        /// Review id.
        id: u64,
    },
    /// A new summary comment.
    NewSummary {
        /// Text.
        body: String,
    },
    /// Changes the summary comment.
    Summary {
        /// Comment id.
        id: u64,
        /// New text.
        body: String,
    },
    /// Resolves an own thread.
    Resolve {
        /// Id of the thread.
        node_id: String,
    },
    /// Summary, vote and inline comments at once, for Launchpad.
    WholeReview {
        /// Items that it posts.
        items: Vec<PostedItem>,
        /// Arguments by name.
        arguments: Value,
    },
}

/// An inline comment to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedComment {
    /// The issue.
    pub item: PostedItem,
    /// Position.
    pub anchor: Anchor,
    /// Text.
    pub body: String,
}

/// Restrictions that crh learned from failed writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostingConstraints {
    /// Keys of issues whose position the forge refused.
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
pub enum PostingRefusal {
    /// The head moved.
    #[error("the head of the {} moved from {reviewed} to {now}", kind.word())]
    HeadMoved {
        /// Kind of the proposed change.
        #[serde(skip)]
        kind: ProposalKind,
        /// The reviewed head.
        reviewed: String,
        /// The current head.
        now: String,
    },
    /// The review is for another proposed change.
    #[error("the review is for `{reviewed}`, not for `{target}`")]
    OtherProposal {
        /// The reviewed change.
        reviewed: String,
        /// The target of the posting.
        #[serde(rename = "here")]
        target: String,
    },
    /// The proposed change was merged, rejected or closed.
    #[error("the {} is closed{}", kind.word(), status_suffix(status))]
    Closed {
        /// Kind of the proposed change.
        #[serde(skip)]
        kind: ProposalKind,
        /// The forge's word for it; empty if it has none.
        status: String,
    },
    /// Some lists are incomplete. Posting could create duplicates of comments that crh did not
    /// read.
    #[error("cannot read the {} completely: {}", kind.word(), incomplete_lists.join(", "))]
    NotAllRead {
        /// Kind of the proposed change.
        #[serde(skip)]
        kind: ProposalKind,
        /// The incomplete lists.
        #[serde(rename = "what")]
        incomplete_lists: Vec<String>,
    },
    /// The account has a pending review. The forge accepts no other review until that one is
    /// submitted or discarded.
    #[error("this account has a pending review on the pull request")]
    Unsubmitted,
    /// The account has draft inline comments on this diff, which the forge would replace.
    #[error("`{who}` has unsaved draft comments on the diff, which would be lost")]
    Drafts {
        /// The account.
        who: String,
    },
    /// A secret equals a word of the report format. Masking it would make the report unreadable.
    #[error("a secret equals a word of the report format")]
    #[serde(rename = "hidden")]
    Unmaskable,
    /// Commenting requires a login.
    #[error("commenting requires a {0} login")]
    #[serde(rename = "nobody")]
    NotLoggedIn(&'static str),
}

fn status_suffix(status: &str) -> String {
    if status.is_empty() { String::new() } else { format!(": {status}") }
}

/// Plans the writes for a review, given the current state.
pub fn plan(
    rules: &dyn ForgeRules,
    posting: &ReviewPosting<'_>,
    state: &ProposalState,
) -> PostingSteps {
    plan_within(rules, posting, state, &PostingConstraints::default())
}

pub(super) fn plan_within(
    rules: &dyn ForgeRules,
    posting: &ReviewPosting<'_>,
    state: &ProposalState,
    constraints: &PostingConstraints,
) -> PostingSteps {
    match find_refusal(rules, posting, state) {
        Some(refusal) => PostingSteps::refused(refusal),
        None => rules
            .plan_whole(posting, state)
            .unwrap_or_else(|| plan_threads(rules, posting, state, constraints)),
    }
}

/// Why nothing may be posted to this proposed change.
pub(crate) fn find_refusal(
    rules: &dyn ForgeRules,
    posting: &ReviewPosting<'_>,
    state: &ProposalState,
) -> Option<PostingRefusal> {
    let Some(report) = mask_report(posting.report, posting.mask) else {
        return Some(PostingRefusal::Unmaskable);
    };
    let (change, properties, profile) = (&report.change, &state.properties, rules.profile());
    let kind = profile.kind;
    let reviewed = format!("{}{}{}", change.repo, profile.separator, change.pr_number);
    let target = format!("{}{}{}", properties.repo, profile.separator, properties.number);
    if !reviewed.eq_ignore_ascii_case(&target) {
        return Some(PostingRefusal::OtherProposal { reviewed, target });
    }
    if change.head_sha != properties.head {
        let (reviewed, now) = (change.head_sha.clone(), properties.head.clone());
        return Some(PostingRefusal::HeadMoved { kind, reviewed, now });
    }
    if !properties.open {
        return Some(PostingRefusal::Closed { kind, status: properties.status.clone() });
    }
    if !state.incomplete_lists.is_empty() {
        let incomplete_lists = state.incomplete_lists.clone();
        return Some(PostingRefusal::NotAllRead { kind, incomplete_lists });
    }
    state.viewer.is_none().then_some(PostingRefusal::NotLoggedIn(profile.name))
}

impl PostingSteps {
    /// Nothing to write, because of a refusal.
    pub(crate) fn refused(refusal: PostingRefusal) -> Self {
        Self { refusal: Some(refusal), ..Self::default() }
    }
}

impl PostingWrite {
    pub(crate) fn new(rules: &dyn ForgeRules, kind: WriteKind, state: &ProposalState) -> Self {
        Self { request: rules.request(&kind, state), kind }
    }

    /// Items that the write delivers.
    pub(crate) fn deliveries(&self) -> Vec<(PostedItem, ItemDelivery)> {
        match &self.kind {
            WriteKind::Review { comments, .. } => comments
                .iter()
                .map(|comment| (comment.item.clone(), ItemDelivery::Posted))
                .collect(),
            WriteKind::Vote { event, .. } => {
                vec![(PostedItem::Vote { event: (*event).to_owned() }, ItemDelivery::Posted)]
            }
            WriteKind::Withdraw { .. } => {
                vec![(PostedItem::withdrawal(), ItemDelivery::Updated)]
            }
            WriteKind::Submit { id } => vec![(PostedItem::Draft { id: *id }, ItemDelivery::Posted)],
            WriteKind::NewSummary { .. } => vec![(PostedItem::Summary, ItemDelivery::Posted)],
            WriteKind::Summary { .. } => vec![(PostedItem::Summary, ItemDelivery::Updated)],
            WriteKind::Resolve { node_id } => {
                vec![(PostedItem::Thread { node_id: node_id.clone() }, ItemDelivery::Updated)]
            }
            WriteKind::WholeReview { items, .. } => {
                items.iter().map(|item| (item.clone(), ItemDelivery::Posted)).collect()
            }
        }
    }

    /// Address of the summary in a reply, unless it is on another host.
    pub(crate) fn summary_url(&self, reply: &Value, web: &str) -> Option<String> {
        let is_summary =
            matches!(self.kind, WriteKind::NewSummary { .. } | WriteKind::Summary { .. });
        let url = reply["html_url"].as_str().filter(|_| is_summary)?;
        url.starts_with(web).then(|| url.to_owned())
    }

    /// Whether a second write would change nothing.
    pub(super) fn is_idempotent(&self) -> bool {
        match &self.kind {
            WriteKind::Review { .. }
            | WriteKind::Vote { .. }
            | WriteKind::NewSummary { .. }
            | WriteKind::WholeReview { .. } => false,
            WriteKind::Withdraw { .. }
            | WriteKind::Submit { .. }
            | WriteKind::Summary { .. }
            | WriteKind::Resolve { .. } => true,
        }
    }
}
