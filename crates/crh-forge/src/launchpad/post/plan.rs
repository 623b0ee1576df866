//! Plans the comment for a merge proposal: a pure function of the review and the current state.
//!
//! Invariant: once the comment is posted, the next plan is empty.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::placement::{MergeProposalPlacement, place_issues};
use super::saved_summary::{SavedSummary, SummaryState};
use super::vote::{PERSON_VOTED, SkippedVote};
use super::{LaunchpadPosting, text, vote};
use crate::launchpad::{
    LatestDiff, MergeProposalComment, MergeProposalInlineComment, MergeProposalState,
};
use crate::posting::{PostedItem, PostingSkip, mask_report};
use crh_review::identity::{is_key, key_in_comment, review_marker};
use crh_review::report::{Issue, Report};

/// Name of the argument with inline comments.
const INLINE: &str = "inline_comments";

/// The planned write, or a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchpadPostingSteps {
    /// Why nothing is written.
    pub refusal: Option<MergeProposalRefusal>,
    /// The write; `None` if the review is already posted or refused.
    pub write: Option<LaunchpadWrite>,
    /// Items that the write posts.
    pub posted: Vec<PostedItem>,
    /// Items that the write does not post separately, with the reason.
    pub skipped: Vec<(PostedItem, PostingSkip)>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A write request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchpadWrite {
    /// Path in the web service.
    pub path: String,
    /// Arguments, each as JSON.
    pub form: Vec<(String, String)>,
}

impl Serialize for LaunchpadWrite {
    /// Shows arguments as JSON values, not as text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let argument = |(name, text): &(String, String)| {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
            (name.clone(), value)
        };
        let body: BTreeMap<String, Value> = self.form.iter().map(argument).collect();
        let mut fields = serializer.serialize_struct("Write", 3)?;
        fields.serialize_field("method", "POST")?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("body", &body)?;
        fields.end()
    }
}

/// Why nothing is posted.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeProposalRefusal {
    /// The head moved.
    #[error("the head of the merge proposal moved from {reviewed} to {now}")]
    HeadMoved {
        /// The reviewed head.
        reviewed: String,
        /// The current head.
        now: String,
    },
    /// The review is for another proposal.
    #[error("the review is for `{reviewed}`, not for `{target}`")]
    OtherProposal {
        /// The reviewed proposal.
        reviewed: String,
        /// The target of the posting.
        #[serde(rename = "here")]
        target: String,
    },
    /// The proposal was merged, rejected or superseded.
    #[error("the merge proposal is closed: {status}")]
    #[serde(rename = "over")]
    Closed {
        /// Launchpad's status.
        status: String,
    },
    /// Some lists are incomplete. Posting could create duplicates of comments that crh did not
    /// read.
    #[error("cannot read the merge proposal completely: {}", incomplete_lists.join(", "))]
    NotAllRead {
        /// The incomplete lists.
        #[serde(rename = "what")]
        incomplete_lists: Vec<String>,
    },
    /// The account has draft inline comments on this diff. Launchpad would replace the drafts.
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
    #[error("commenting requires a Launchpad login")]
    #[serde(rename = "nobody")]
    NotLoggedIn,
}

impl LaunchpadPostingSteps {
    /// The preview diff that the write comments on.
    pub(super) fn commented_diff<'s>(
        &self,
        proposal_state: &'s MergeProposalState,
    ) -> Option<&'s LatestDiff> {
        let is_inline = |(name, _): &(String, String)| name == INLINE;
        let form = self.write.as_ref().map(|write| &write.form)?;
        proposal_state.latest_diff.as_ref().filter(|_| form.iter().any(is_inline))
    }
}

/// Plans the write for a review, given the current state.
pub fn plan(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &MergeProposalState,
) -> LaunchpadPostingSteps {
    let report = match checked_report(posting, proposal_state) {
        Ok(report) => report,
        Err(refusal) => {
            return LaunchpadPostingSteps {
                refusal: Some(refusal),
                ..LaunchpadPostingSteps::default()
            };
        }
    };
    if matching_summary(posting, &report, proposal_state).is_some() {
        let issues = report.issues.iter().map(item).chain([PostedItem::Summary]);
        let skipped = issues.map(|item| (item, PostingSkip::AlreadyPosted)).collect();
        return LaunchpadPostingSteps { skipped, ..LaunchpadPostingSteps::default() };
    }
    let keys = posted_keys(posting.instance, proposal_state);
    let placements = place_issues(&report, posting.diff, proposal_state, &keys);
    build_steps(posting, proposal_state, &report, &placements)
}

/// The masked report, or a refusal.
fn checked_report(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &MergeProposalState,
) -> Result<Report, MergeProposalRefusal> {
    let report =
        mask_report(posting.report, posting.mask).ok_or(MergeProposalRefusal::Unmaskable)?;
    match find_refusal(&report, proposal_state) {
        Some(refusal) => Err(refusal),
        None => Ok(report),
    }
}

/// The existing summary of this review, if it says the same as a new one would.
pub(super) fn current_summary<'s>(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &'s MergeProposalState,
) -> Option<&'s MergeProposalComment> {
    let report = mask_report(posting.report, posting.mask)?;
    matching_summary(posting, &report, proposal_state)
}

/// The newest own summary, or the newest of this review, if it has the same state. A repeated
/// review with another result has the same id, but another state, so it is posted again.
fn matching_summary<'s>(
    posting: &LaunchpadPosting<'_>,
    report: &Report,
    proposal_state: &'s MergeProposalState,
) -> Option<&'s MergeProposalComment> {
    let state = SummaryState::new(posting, report, proposal_state);
    let summaries = own_summaries(posting.instance, proposal_state);
    let is_for_this_review = |comment: &&&MergeProposalComment| {
        is_for_review(posting.instance, comment, &report.review_id)
    };
    let candidates = [summaries.last(), summaries.iter().rfind(is_for_this_review)];
    let has_same_state = |comment: &&&MergeProposalComment| {
        SavedSummary::from_comment(posting.instance, comment)
            .is_some_and(|saved| saved.state == state)
    };
    candidates.into_iter().flatten().find(has_same_state).copied()
}

fn build_steps(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &MergeProposalState,
    report: &Report,
    placements: &[MergeProposalPlacement],
) -> LaunchpadPostingSteps {
    let mut plan = LaunchpadPostingSteps::default();
    let body = text::summary_body(report, placements);
    let mut inline: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (issue, placement) in report.issues.iter().zip(placements) {
        match placement {
            MergeProposalPlacement::Existing => {
                plan.skipped.push((item(issue), PostingSkip::AlreadyPosted));
            }
            MergeProposalPlacement::Summary(why) if body.keys.contains(&issue.dedupe_key) => {
                plan.skipped.push((item(issue), PostingSkip::InSummary { why: (*why).to_owned() }));
            }
            MergeProposalPlacement::Summary(_) => {
                let why = "no space left in the summary".to_owned();
                plan.skipped.push((item(issue), PostingSkip::NotPossible { why }));
            }
            MergeProposalPlacement::Line(line) => {
                inline
                    .entry(*line)
                    .or_default()
                    .push(text::inline_comment(issue, posting.instance));
                plan.posted.push(item(issue));
            }
        }
    }
    let state = SummaryState::new(posting, report, proposal_state);
    let saved = SavedSummary { state, keys: body.keys.iter().cloned().collect() };
    let content = text::summary(report, &body, posting.instance, &saved.marker(posting.instance));
    let mut form = vec![
        ("ws.op".to_owned(), "createComment".to_owned()),
        ("content".to_owned(), json(&content)),
    ];
    match vote::vote_to_cast(posting, report, proposal_state) {
        Ok(word) => {
            form.push(("vote".to_owned(), json(word)));
            plan.posted.push(PostedItem::Vote { event: word.to_owned() });
        }
        Err(SkippedVote { word, why }) => {
            if why == PERSON_VOTED {
                plan.notes.push(format!("the vote `{word}` was not cast: {why}"));
            }
            let skip = PostingSkip::NotPossible { why: why.to_owned() };
            plan.skipped.push((PostedItem::Vote { event: word.to_owned() }, skip));
        }
    }
    if let (false, Some(latest_diff)) = (inline.is_empty(), &proposal_state.latest_diff) {
        let lines: BTreeMap<String, String> =
            inline.into_iter().map(|(line, texts)| (line.to_string(), texts.join("\n"))).collect();
        form.push(("previewdiff_id".to_owned(), latest_diff.id.to_string()));
        form.push((INLINE.to_owned(), json(&lines)));
    }
    plan.posted.push(PostedItem::Summary);
    plan.write = Some(LaunchpadWrite { path: proposal_state.proposal.path.clone(), form });
    plan
}

/// Encodes an argument as JSON, so that text is not parsed as a number.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    // Strings and maps of strings always serialise.
    serde_json::to_string(value).unwrap_or_default()
}

fn find_refusal(
    report: &Report,
    proposal_state: &MergeProposalState,
) -> Option<MergeProposalRefusal> {
    let (change, proposal) = (&report.change, &proposal_state.proposal);
    let reviewed = format!("{}/+merge/{}", change.repo, change.pr_number);
    let target = format!("{}/+merge/{}", proposal.repo, proposal.number);
    if reviewed != target {
        return Some(MergeProposalRefusal::OtherProposal { reviewed, target });
    }
    if change.head_sha != proposal.head {
        let (reviewed, now) = (change.head_sha.clone(), proposal.head.clone());
        return Some(MergeProposalRefusal::HeadMoved { reviewed, now });
    }
    if proposal.is_closed() {
        return Some(MergeProposalRefusal::Closed { status: proposal.status.clone() });
    }
    if !proposal_state.incomplete_lists.is_empty() {
        return Some(MergeProposalRefusal::NotAllRead {
            incomplete_lists: proposal_state.incomplete_lists.clone(),
        });
    }
    proposal_state.viewer.is_none().then_some(MergeProposalRefusal::NotLoggedIn)
}

/// Summaries by this account and this installation, oldest first.
fn own_summaries<'s>(
    instance: &str,
    proposal_state: &'s MergeProposalState,
) -> Vec<&'s MergeProposalComment> {
    let is_ours = |comment: &&MergeProposalComment| {
        comment.author.is_some() && comment.author == proposal_state.viewer
    };
    let own_comments = proposal_state.comments.iter().filter(is_ours);
    own_comments
        .filter(|comment| text::marker_lines(instance, &comment.content).is_some())
        .collect()
}

/// Whether a summary belongs to this review.
fn is_for_review(instance: &str, comment: &MergeProposalComment, review_id: &str) -> bool {
    let markers = text::marker_lines(instance, &comment.content);
    markers.is_some_and(|[review_line, ..]| review_line == review_marker(review_id))
}

/// Keys of issues in earlier comments of this account, in any round. A round is a preview diff with
/// its comments.
fn posted_keys(instance: &str, proposal_state: &MergeProposalState) -> BTreeSet<String> {
    let is_ours = |comment: &&MergeProposalInlineComment| {
        comment.author.is_some() && comment.author == proposal_state.viewer
    };
    let lines = proposal_state
        .inline_comments
        .iter()
        .filter(is_ours)
        .flat_map(|comment| comment.text.lines());
    let mut keys: BTreeSet<String> =
        lines.filter_map(|line| key_in_comment(instance, line)).map(str::to_owned).collect();
    let summaries = own_summaries(instance, proposal_state);
    let saved =
        summaries.into_iter().filter_map(|summary| SavedSummary::from_comment(instance, summary));
    keys.extend(saved.flat_map(|saved| saved.keys).filter(|key| is_key(key)));
    keys
}

fn item(issue: &Issue) -> PostedItem {
    PostedItem::Issue { number: issue.number, key: issue.dedupe_key.clone() }
}
