//! Expected head commit (`--head`). A CI job runs for one commit, but the branch may move before
//! crh reads the proposal.

use super::ForgeProposal;
use crate::failure::{Failure, FailureKind};
use crh_review::identity::is_commit_id;

/// A full commit id in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpectedHead(String);

impl ExpectedHead {
    /// From the flag `--head` or the CI event.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        match is_commit_id(text) {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(Failure::usage("the value of `--head` is not a full commit id")
                .hint("`git rev-parse HEAD` prints it")),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Fails if the proposal has another head, or if there is no proposal.
    pub(crate) fn check(
        head: Option<&Self>,
        proposal: Option<&ForgeProposal>,
    ) -> Result<(), Failure> {
        let Some(Self(expected_head)) = head else { return Ok(()) };
        let Some(proposal) = proposal else {
            return Err(Failure::usage("`--head` needs a pull request or merge proposal")
                .hint("name one: its address, `OWNER/NAME#N`, or `N` inside a clone"));
        };
        let current_head = &proposal.proposal.source.commit;
        match current_head.eq_ignore_ascii_case(expected_head) {
            true => Ok(()),
            false => {
                let kind = proposal.word();
                let message = anyhow::anyhow!(
                    "the head of the {kind} is `{current_head}`, not `{expected_head}`"
                );
                Err(Failure::new(FailureKind::External, message).hint(
                    "the branch was pushed to, so nothing was reviewed; leave out `--head` to review the current head",
                ))
            }
        }
    }
}
