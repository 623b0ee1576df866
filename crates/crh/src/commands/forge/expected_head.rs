//! The commit that must be the head of what is proposed: CI runs for one, and somebody may push before it is read.

use super::Submission;
use crate::failure::{Failure, Kind};
use crh_review::identity::is_commit;

/// A commit by its whole name, in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head(String);

impl Head {
    /// By the flag `--head`, or by what CI says in its place.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        match is_commit(text) {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(Failure::usage("`--head` is not the whole name of a commit")
                .hint("`git rev-parse HEAD` prints it")),
        }
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Refuses what is proposed with another head than it must have, and what is proposed nowhere and must have one.
    pub(crate) fn is_of(head: Option<&Self>, pull: Option<&Submission>) -> Result<(), Failure> {
        let Some(Self(wanted)) = head else { return Ok(()) };
        let Some(pull) = pull else {
            return Err(Failure::usage("`--head` is for a pull request, and this is none")
                .hint("name one: its address, `OWNER/NAME#N`, or `N` inside a clone"));
        };
        let now = &pull.proposal.source.commit;
        match now.eq_ignore_ascii_case(wanted) {
            true => Ok(()),
            false => {
                let word = pull.word();
                let message =
                    anyhow::anyhow!("the head of the {word} is `{now}`, and not `{wanted}`");
                Err(Failure::new(Kind::Outside, message).hint(
                    "nothing was reviewed, since somebody has pushed; leave `--head` out to take what is there now",
                ))
            }
        }
    }
}
