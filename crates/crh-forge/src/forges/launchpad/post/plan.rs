//! Plans the comment for a merge proposal: a pure function of the review and the current state.
//!
//! Invariant: once the comment is posted, the next plan is empty.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::placement::{MergeProposalPlacement, place_issues};
use super::saved_summary::{SavedSummary, SummaryState};
use super::vote::{PERSON_VOTED, SkippedVote};
use super::{OPERATION, text, vote};
use crate::posting::{
    ForgeRules, InlineComment, PostedItem, PostingRefusal, PostingSkip, PostingSteps, PostingWrite,
    ProposalComment, ProposalState, ReviewPosting, WriteKind, mask_report,
};
use crh_review::identity::{is_key, key_in_comment, review_marker};
use crh_review::report::Report;

/// Name of the argument with inline comments.
pub(super) const INLINE: &str = "inline_comments";

/// Plans the comment.
pub(super) fn plan_comment(
    rules: &dyn ForgeRules,
    posting: &ReviewPosting<'_>,
    proposal_state: &ProposalState,
) -> PostingSteps {
    // The engine rejects reports that cannot be masked.
    let report = mask_report(posting.report, posting.mask).unwrap_or_default();
    if matching_summary(posting, &report, proposal_state).is_some() {
        let issues = report.issues.iter().map(PostedItem::issue).chain([PostedItem::Summary]);
        let skipped = issues.map(|item| (item, PostingSkip::AlreadyPosted)).collect();
        return PostingSteps { skipped, ..PostingSteps::default() };
    }
    let keys = posted_keys(posting.instance, proposal_state);
    let placements = place_issues(&report, posting.diff, proposal_state, &keys);
    build_steps(rules, posting, proposal_state, &report, &placements)
}

/// The existing summary of this review, if it says the same as a new one would.
pub(super) fn current_summary<'s>(
    posting: &ReviewPosting<'_>,
    proposal_state: &'s ProposalState,
) -> Option<&'s ProposalComment> {
    let report = mask_report(posting.report, posting.mask)?;
    matching_summary(posting, &report, proposal_state)
}

/// The newest own summary, or else the newest own summary of this review, whichever has the state
/// of the summary to post. A repeated review with another result has the same id, but another
/// state, so crh posts it again.
fn matching_summary<'s>(
    posting: &ReviewPosting<'_>,
    report: &Report,
    proposal_state: &'s ProposalState,
) -> Option<&'s ProposalComment> {
    let state = SummaryState::new(posting, report, proposal_state);
    let summaries = own_summaries(posting.instance, proposal_state);
    let is_for_this_review =
        |comment: &&&ProposalComment| is_for_review(posting.instance, comment, &report.review_id);
    let candidates = [summaries.last(), summaries.iter().rfind(is_for_this_review)];
    let has_same_state = |comment: &&&ProposalComment| {
        SavedSummary::from_comment(posting.instance, comment)
            .is_some_and(|saved| saved.state == state)
    };
    candidates.into_iter().flatten().find(has_same_state).copied()
}

fn build_steps(
    rules: &dyn ForgeRules,
    posting: &ReviewPosting<'_>,
    proposal_state: &ProposalState,
    report: &Report,
    placements: &[MergeProposalPlacement],
) -> PostingSteps {
    let mut plan = PostingSteps::default();
    let mut items = Vec::new();
    let body = text::summary_body(report, placements);
    let mut inline: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (issue, placement) in report.issues.iter().zip(placements) {
        match placement {
            MergeProposalPlacement::Existing => {
                plan.skipped.push((PostedItem::issue(issue), PostingSkip::AlreadyPosted));
            }
            MergeProposalPlacement::Summary(why) if body.keys.contains(&issue.dedupe_key) => {
                plan.skipped.push((
                    PostedItem::issue(issue),
                    PostingSkip::InSummary { why: (*why).to_owned() },
                ));
            }
            MergeProposalPlacement::Summary(_) => {
                let why = "no space left in the summary".to_owned();
                plan.skipped.push((PostedItem::issue(issue), PostingSkip::NotPossible { why }));
            }
            MergeProposalPlacement::Row(row) => {
                inline.entry(*row).or_default().push(text::inline_comment(issue, posting.instance));
                items.push(PostedItem::issue(issue));
            }
        }
    }
    let state = SummaryState::new(posting, report, proposal_state);
    let saved = SavedSummary { state, keys: body.keys.iter().cloned().collect() };
    let content = text::summary(report, &body, posting.instance, &saved.marker(posting.instance));
    let mut arguments = json!({ OPERATION: "createComment", "content": content });
    match vote::vote_to_cast(posting, report, proposal_state) {
        Ok(word) => {
            arguments["vote"] = json!(word);
            items.push(PostedItem::Vote { event: word.to_owned() });
        }
        Err(SkippedVote { word, why }) => {
            if why == PERSON_VOTED {
                plan.notes.push(format!("the vote `{word}` was not cast: {why}"));
            }
            let skip = PostingSkip::NotPossible { why: why.to_owned() };
            plan.skipped.push((PostedItem::Vote { event: word.to_owned() }, skip));
        }
    }
    if let (false, Some(diff)) = (inline.is_empty(), &proposal_state.row_diff) {
        if diff.has_drafts {
            let who = proposal_state.viewer_login().unwrap_or_default().to_owned();
            return PostingSteps::refused(PostingRefusal::Drafts { who });
        }
        let rows: BTreeMap<String, String> =
            inline.into_iter().map(|(row, texts)| (row.to_string(), texts.join("\n"))).collect();
        arguments["previewdiff_id"] = json!(diff.id);
        arguments[INLINE] = json!(rows);
    }
    items.push(PostedItem::Summary);
    let kind = WriteKind::WholeReview { items, arguments };
    plan.writes.push(PostingWrite::new(rules, kind, proposal_state));
    plan
}

/// Summaries by this account and this installation, oldest first.
fn own_summaries<'s>(
    instance: &str,
    proposal_state: &'s ProposalState,
) -> Vec<&'s ProposalComment> {
    let is_ours = |comment: &&ProposalComment| proposal_state.is_ours(comment.author.as_ref());
    let own_comments = proposal_state.comments.iter().filter(is_ours);
    own_comments.filter(|comment| text::marker_lines(instance, &comment.body).is_some()).collect()
}

/// Whether a summary belongs to this review.
fn is_for_review(instance: &str, comment: &ProposalComment, review_id: &str) -> bool {
    let markers = text::marker_lines(instance, &comment.body);
    markers.is_some_and(|[review_line, ..]| review_line == review_marker(review_id))
}

/// Keys of issues in earlier comments of this account, in any round. A round is a preview diff with
/// its comments.
fn posted_keys(instance: &str, proposal_state: &ProposalState) -> BTreeSet<String> {
    let comments = proposal_state.threads.iter().flat_map(|thread| &thread.comments);
    let is_ours = |comment: &&InlineComment| comment.ours;
    let lines = comments.filter(is_ours).flat_map(|comment| comment.body.lines());
    let mut keys: BTreeSet<String> =
        lines.filter_map(|line| key_in_comment(instance, line)).map(str::to_owned).collect();
    let summaries = own_summaries(instance, proposal_state);
    let saved =
        summaries.into_iter().filter_map(|summary| SavedSummary::from_comment(instance, summary));
    keys.extend(saved.flat_map(|saved| saved.keys).filter(|key| is_key(key)));
    keys
}
