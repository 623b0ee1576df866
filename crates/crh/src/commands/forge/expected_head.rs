//! Expected head commit (`--head`). CI runs for one commit; the branch may be pushed to before crh
//! reads it.

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
            false => Err(Failure::usage("`--head` is not a full commit id")
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
        let Some(Self(wanted)) = head else { return Ok(()) };
        let Some(pull) = proposal else {
            return Err(Failure::usage("`--head` needs a pull request or merge proposal")
                .hint("name one: its address, `OWNER/NAME#N`, or `N` inside a clone"));
        };
        let now = &pull.proposal.source.commit;
        match now.eq_ignore_ascii_case(wanted) {
            true => Ok(()),
            false => {
                let word = pull.word();
                let message = anyhow::anyhow!("the head of the {word} is `{now}`, not `{wanted}`");
                Err(Failure::new(FailureKind::External, message).hint(
                    "the branch was pushed to, so nothing was reviewed; leave out `--head` to review the current head",
                ))
            }
        }
    }
}
