//! Which vote goes along with a review: it follows from the verdict, and from the vote of the same account that stands. Pure.

use super::{Posting, text};
use crate::launchpad::{Said, Standing};
use crh_review::report::Report;
use crh_review::verdict::Verdict;

/// A vote that is not cast: which one it would be, and why.
pub(super) struct NotCast {
    pub(super) word: &'static str,
    pub(super) why: &'static str,
}

/// What is said of a vote in whose place another one stands, that a person has cast.
pub(super) const OWN_VOTE: &str = "the account has voted with a comment that is not crh's";

/// The vote that a verdict asks for, whatever stands; or which one would fit and why it is not cast.
pub(super) fn meant(
    posting: &Posting<'_>,
    report: &Report,
    standing: &Standing,
) -> Result<&'static str, NotCast> {
    let word = report.verdict.launchpad_vote();
    match report.verdict {
        Verdict::ReadyToMerge if !posting.terms.approve => {
            Err(NotCast { word, why: "an approval was not asked for" })
        }
        Verdict::ReadyToMerge if standing.proposal.registrant == standing.viewer => {
            Err(NotCast { word, why: "the merge proposal is by the account that posts" })
        }
        Verdict::ReadyToMerge
        | Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ChecksPassed => Ok(word),
    }
}

/// The vote that is cast. Launchpad keeps one of each account: what a person has said by it is not replaced, and what an earlier
/// review has said is not left standing when it is not so any more.
pub(super) fn cast(
    posting: &Posting<'_>,
    report: &Report,
    standing: &Standing,
) -> Result<&'static str, NotCast> {
    let meant = meant(posting, report, standing);
    let is_ours = |said: &&Said| said.author.is_some() && said.author == standing.viewer;
    let is_vote = |said: &&Said| is_ours(said) && said.vote.is_some();
    let Some(last) = standing.comments.iter().rfind(is_vote) else { return meant };
    if !text::is_of_crh(&last.content) {
        let word = meant.unwrap_or_else(|not| not.word);
        return Err(NotCast { word, why: OWN_VOTE });
    }
    let is_open = last.vote.as_deref() == Some(Verdict::NotReady.launchpad_vote());
    let is_of_this = text::marks(posting.instance, &last.content).is_some();
    match meant {
        Err(_) if is_open && is_of_this => Ok(Verdict::Incomplete.launchpad_vote()),
        Ok(_) | Err(_) => meant,
    }
}
