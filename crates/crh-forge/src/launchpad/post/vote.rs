//! Chooses the vote, from the verdict and the account's earlier vote.

use super::{LaunchpadPosting, text};
use crate::launchpad::{MergeProposalComment, MergeProposalState};
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
    posting: &LaunchpadPosting<'_>,
    report: &Report,
    proposal_state: &MergeProposalState,
) -> Result<&'static str, SkippedVote> {
    let word = report.verdict.launchpad_vote();
    match report.verdict {
        Verdict::ReadyToMerge if !posting.options.approve => {
            Err(SkippedVote { word, why: "approving is not enabled" })
        }
        Verdict::ReadyToMerge if proposal_state.proposal.registrant == proposal_state.viewer => {
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

/// The vote to cast. Launchpad keeps one vote per account: crh does not replace a person's vote,
/// and updates its own when it no longer holds.
pub(super) fn vote_to_cast(
    posting: &LaunchpadPosting<'_>,
    report: &Report,
    proposal_state: &MergeProposalState,
) -> Result<&'static str, SkippedVote> {
    let meant = intended_vote(posting, report, proposal_state);
    let is_ours = |said: &&MergeProposalComment| {
        said.author.is_some() && said.author == proposal_state.viewer
    };
    let is_vote = |said: &&MergeProposalComment| is_ours(said) && said.vote.is_some();
    let Some(last) = proposal_state.comments.iter().rfind(is_vote) else { return meant };
    if !text::is_crh_summary(&last.content) {
        let word = meant.unwrap_or_else(|not| not.word);
        return Err(SkippedVote { word, why: PERSON_VOTED });
    }
    let is_open = last.vote.as_deref() == Some(Verdict::NotReady.launchpad_vote());
    let is_of_this = text::marker_lines(posting.instance, &last.content).is_some();
    match meant {
        Err(_) if is_open && is_of_this => Ok(Verdict::Incomplete.launchpad_vote()),
        Ok(_) | Err(_) => meant,
    }
}
