//! Posts a review to a merge proposal.

use super::LaunchpadSession;
use crate::cli::PostFlags;
use crate::commands::forge::posting::{PostRequest, PostResult};
use crate::failure::Failure;
use crh_forge::launchpad::MergeProposalRef;
use crh_forge::launchpad::post::LaunchpadPoster;
use crh_forge::posting::{PostingWrite, send_withdrawal};

impl LaunchpadSession {
    /// Posts a review, or returns the requests of a dry run.
    pub(crate) fn post(
        &self,
        proposal_ref: &MergeProposalRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, Failure> {
        let poster = LaunchpadPoster { client: &self.client, proposal_ref };
        let result = request.post(&poster, proposal_ref.service.code(), &self.runtime);
        result.map_err(|error| self.to_failure(error))
    }

    /// Withdraws an approval by crh.
    pub(crate) fn withdraw(
        &self,
        proposal_ref: &MergeProposalRef,
        write: &PostingWrite,
    ) -> Result<(), String> {
        let poster = LaunchpadPoster { client: &self.client, proposal_ref };
        self.runtime.block_on(send_withdrawal(&poster, write))
    }
}

/// Rejects flags that Launchpad does not support.
pub(crate) fn check_flags(flags: PostFlags) -> Result<(), Failure> {
    let unsupported = [
        ("--request-changes", flags.request_changes, "the vote follows from the verdict"),
        ("--resolve-outdated", flags.resolve_outdated, "inline comments stay"),
    ];
    match unsupported.iter().find(|(_, is_given, _)| *is_given) {
        Some((flag, _, why)) => {
            Err(Failure::usage(format!("`{flag}` does not work with Launchpad"))
                .hint(format!("leave it out: {why}")))
        }
        None => Ok(()),
    }
}
