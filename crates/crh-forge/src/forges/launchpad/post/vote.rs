//! Chooses the vote, from the verdict and the account's earlier vote.

use serde_json::json;

use super::saved_summary::SavedSummary;
use super::{OPERATION, text};
use crate::posting::{
    PostedItem, ProposalComment, ProposalState, ReviewPosting, WriteKind, withdrawal_message,
};
use crh_review::report::Report;
use crh_review::verdict::Verdict;

/// A vote that is not cast, with the reason.
pub(super) struct SkippedVote {
    pub(super) word: &'static str,
    pub(super) why: &'static str,
}

/// Reason if a person cast the account's last vote.
pub(super) const PERSON_VOTED: &str = "a person voted with this account";

/// The vote for a verdict, regardless of earlier votes.
pub(super) fn intended_vote(
    posting: &ReviewPosting<'_>,
    report: &Report,
    proposal_state: &ProposalState,
) -> Result<&'static str, SkippedVote> {
    let word = report.verdict.launchpad_vote();
    match report.verdict {
        Verdict::ReadyToMerge if !posting.options.votes.approve => {
            Err(SkippedVote { word, why: "approving is not enabled" })
        }
        Verdict::ReadyToMerge if report.is_suppressed_by_change() => {
            Err(SkippedVote { word, why: "the change suppresses findings about itself" })
        }
        Verdict::ReadyToMerge
            if proposal_state.is_ours(proposal_state.properties.author.as_ref()) =>
        {
            Err(SkippedVote {
                word,
                why: "the posting account is the author of the merge proposal",
            })
        }
        Verdict::ReadyToMerge
        | Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ChecksPassed => Ok(word),
    }
}

/// The vote to cast. Launchpad keeps one vote per account, and crh does not replace a person's
/// vote. If crh may not cast the new vote, it replaces this installation's vote against the change
/// by Abstain.
pub(super) fn vote_to_cast(
    posting: &ReviewPosting<'_>,
    report: &Report,
    proposal_state: &ProposalState,
) -> Result<&'static str, SkippedVote> {
    let intended = intended_vote(posting, report, proposal_state);
    let Some(last_vote) = last_vote(proposal_state) else { return intended };
    if !text::is_crh_summary(&last_vote.body) {
        let word = intended.unwrap_or_else(|skipped| skipped.word);
        return Err(SkippedVote { word, why: PERSON_VOTED });
    }
    let requests_fixes = last_vote.vote.as_deref() == Some(Verdict::NotReady.launchpad_vote());
    let is_from_this_instance = text::marker_lines(posting.instance, &last_vote.body).is_some();
    match intended {
        Err(_) if requests_fixes && is_from_this_instance => {
            Ok(Verdict::Incomplete.launchpad_vote())
        }
        Ok(_) | Err(_) => intended,
    }
}

/// The account's last comment with a vote.
fn last_vote(proposal_state: &ProposalState) -> Option<&ProposalComment> {
    let is_vote = |comment: &&ProposalComment| {
        proposal_state.is_ours(comment.author.as_ref()) && comment.vote.is_some()
    };
    proposal_state.comments.iter().rfind(is_vote)
}

/// Replaces this installation's approval of an older head by Abstain. Launchpad has no other way to
/// withdraw a vote.
pub(super) fn withdraw_approval(
    instance: &str,
    proposal_state: &ProposalState,
) -> Option<WriteKind> {
    let approved = Verdict::ReadyToMerge.launchpad_vote();
    let approval = last_vote(proposal_state).filter(|it| it.vote.as_deref() == Some(approved))?;
    let [review_line, ..] = text::marker_lines(instance, &approval.body)?;
    let head = &proposal_state.properties.head;
    let saved = SavedSummary::from_comment(instance, approval);
    if saved.is_some_and(|saved| saved.state.is_for_head(head)) {
        return None;
    }
    let state_line = SavedSummary::withdrawn(head).marker(instance);
    let content = text::withdrawal(&withdrawal_message(head), [review_line, &state_line], instance);
    let word = Verdict::Incomplete.launchpad_vote();
    let arguments = json!({ OPERATION: "createComment", "content": content, "vote": word });
    let items = vec![PostedItem::Vote { event: word.to_owned() }];
    Some(WriteKind::WholeReview { items, arguments })
}
