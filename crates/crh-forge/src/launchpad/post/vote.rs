//! Chooses the vote, from the verdict and the account's earlier vote.

use super::text;
use crate::posting::{ProposalComment, ProposalState, ReviewPosting};
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

/// The vote to cast. Launchpad keeps one vote per account. crh does not replace a person's vote,
/// but it replaces its own vote if that no longer holds.
pub(super) fn vote_to_cast(
    posting: &ReviewPosting<'_>,
    report: &Report,
    proposal_state: &ProposalState,
) -> Result<&'static str, SkippedVote> {
    let intended = intended_vote(posting, report, proposal_state);
    let is_vote = |comment: &&ProposalComment| {
        proposal_state.is_ours(comment.author.as_ref()) && comment.vote.is_some()
    };
    let Some(last_vote) = proposal_state.comments.iter().rfind(is_vote) else { return intended };
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
