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
    /// The write; `None` if nothing is missing.
    pub write: Option<LaunchpadWrite>,
    /// Items that the write posts.
    pub posted: Vec<PostedItem>,
    /// Items that are not posted separately, with the reason.
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
        let mut shown = serializer.serialize_struct("Write", 3)?;
        shown.serialize_field("method", "POST")?;
        shown.serialize_field("path", &self.path)?;
        shown.serialize_field("body", &body)?;
        shown.end()
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
    Over {
        /// Launchpad's status.
        status: String,
    },
    /// Some lists are incomplete, so that posting could create duplicates.
    #[error("cannot read the merge proposal completely: {}", incomplete_lists.join(", "))]
    NotAllRead {
        /// The incomplete lists.
        #[serde(rename = "what")]
        incomplete_lists: Vec<String>,
    },
    /// The account has draft inline comments on this diff. Launchpad would replace them.
    #[error("`{who}` has unsaved draft comments on the diff, which would be lost")]
    Drafts {
        /// The account.
        who: String,
    },
    /// A secret equals a word of the report format, so that the report cannot be masked.
    #[error("a secret equals a word of the report format")]
    Hidden,
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
    let said = posted_keys(posting.instance, proposal_state);
    let places = place_issues(&report, posting.diff, proposal_state, &said);
    build_steps(posting, proposal_state, &report, &places)
}

/// The masked report, or a refusal.
fn checked_report(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &MergeProposalState,
) -> Result<Report, MergeProposalRefusal> {
    let report = mask_report(posting.report, posting.mask).ok_or(MergeProposalRefusal::Hidden)?;
    match find_refusal(&report, proposal_state) {
        Some(refusal) => Err(refusal),
        None => Ok(report),
    }
}

/// The existing summary, if it is up to date.
pub(super) fn current_summary<'s>(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &'s MergeProposalState,
) -> Option<&'s MergeProposalComment> {
    let report = mask_report(posting.report, posting.mask)?;
    matching_summary(posting, &report, proposal_state)
}

/// The newest summary, or the newest of this review, if it has the same state. A repeated review
/// with another result has the same id but is posted again.
fn matching_summary<'s>(
    posting: &LaunchpadPosting<'_>,
    report: &Report,
    proposal_state: &'s MergeProposalState,
) -> Option<&'s MergeProposalComment> {
    let state = SummaryState::new(posting, report, proposal_state);
    let summaries = own_summaries(posting.instance, proposal_state);
    let is_this =
        |said: &&&MergeProposalComment| is_for_review(posting.instance, said, &report.review_id);
    let newest = [summaries.last(), summaries.iter().rfind(is_this)];
    let says_the_same = |said: &&&MergeProposalComment| {
        SavedSummary::from_comment(posting.instance, said).is_some_and(|kept| kept.state == state)
    };
    newest.into_iter().flatten().find(says_the_same).copied()
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
    for (issue, place) in report.issues.iter().zip(placements) {
        match place {
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
                inline.entry(*line).or_default().push(text::inline(issue, posting.instance));
                plan.posted.push(item(issue));
            }
        }
    }
    let state = SummaryState::new(posting, report, proposal_state);
    let kept = SavedSummary { state, keys: body.keys.iter().cloned().collect() };
    let content = text::summary(report, &body, posting.instance, &kept.marker(posting.instance));
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
    if let (false, Some(round)) = (inline.is_empty(), &proposal_state.latest_diff) {
        let lines: BTreeMap<String, String> =
            inline.into_iter().map(|(line, texts)| (line.to_string(), texts.join("\n"))).collect();
        form.push(("previewdiff_id".to_owned(), round.id.to_string()));
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
    let here = format!("{}/+merge/{}", proposal.repo, proposal.number);
    if reviewed != here {
        return Some(MergeProposalRefusal::OtherProposal { reviewed, target: here });
    }
    if change.head_sha != proposal.head {
        let (reviewed, now) = (change.head_sha.clone(), proposal.head.clone());
        return Some(MergeProposalRefusal::HeadMoved { reviewed, now });
    }
    if proposal.is_closed() {
        return Some(MergeProposalRefusal::Over { status: proposal.status.clone() });
    }
    if !proposal_state.incomplete_lists.is_empty() {
        return Some(MergeProposalRefusal::NotAllRead {
            incomplete_lists: proposal_state.incomplete_lists.clone(),
        });
    }
    proposal_state.viewer.is_none().then_some(MergeProposalRefusal::NotLoggedIn)
}

/// Summaries of our account and this instance, oldest first.
fn own_summaries<'s>(
    instance: &str,
    proposal_state: &'s MergeProposalState,
) -> Vec<&'s MergeProposalComment> {
    let is_ours = |said: &&MergeProposalComment| {
        said.author.is_some() && said.author == proposal_state.viewer
    };
    let said = proposal_state.comments.iter().filter(is_ours);
    said.filter(|said| text::marker_lines(instance, &said.content).is_some()).collect()
}

/// Whether a summary belongs to this review.
fn is_for_review(instance: &str, comment: &MergeProposalComment, review_id: &str) -> bool {
    let marks = text::marker_lines(instance, &comment.content);
    marks.is_some_and(|[which, ..]| which == review_marker(review_id))
}

/// Keys of issues in earlier comments of our account, in any round.
fn posted_keys(instance: &str, proposal_state: &MergeProposalState) -> BTreeSet<String> {
    let is_ours = |said: &&MergeProposalInlineComment| {
        said.author.is_some() && said.author == proposal_state.viewer
    };
    let lines = proposal_state.inline.iter().filter(is_ours).flat_map(|said| said.text.lines());
    let mut before: BTreeSet<String> =
        lines.filter_map(|line| key_in_comment(instance, line)).map(str::to_owned).collect();
    let summaries = own_summaries(instance, proposal_state);
    let kept = summaries.into_iter().filter_map(|said| SavedSummary::from_comment(instance, said));
    before.extend(kept.flat_map(|kept| kept.keys).filter(|key| is_key(key)));
    before
}

fn item(issue: &Issue) -> PostedItem {
    PostedItem::Issue { number: issue.number, key: issue.dedupe_key.clone() }
}
