//! Decides which pull requests crh reviews without a request. Those of strangers wait, so that a
//! stranger cannot spend the budget.

use crate::queue::{Authorship, StrangerPolicy, may_start_review};

/// Facts that decide whether crh reviews a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestFacts {
    /// Whether it is open.
    pub open: bool,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether its commits come from another repository, or from one that is gone.
    pub from_fork: bool,
    /// GitHub's `author_association` of its author, such as `MEMBER`.
    pub author_association: String,
}

/// Whether a pull request is reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Review it.
    Review,
    /// A person with write access must ask for the review.
    Stranger,
    /// Closed, or a draft.
    NotReady,
}

/// Roles of people who had an earlier change merged, or who belong to the repository.
const KNOWN_ASSOCIATIONS: [&str; 4] = ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"];

impl PullRequestFacts {
    /// Relation of the author to the repository.
    pub fn authorship(&self) -> Authorship {
        let known = KNOWN_ASSOCIATIONS.contains(&self.author_association.as_str());
        if known && !self.from_fork { Authorship::Trusted } else { Authorship::Stranger }
    }
}

/// Decides whether a head is reviewed. `labelled` says whether a person just added the label of
/// `WebhookRules`: a label that stays does not approve later pushes.
pub fn admit(pull: &PullRequestFacts, labelled: bool, policy: StrangerPolicy) -> Admission {
    if !pull.open || pull.draft {
        Admission::NotReady
    } else if may_start_review(pull.authorship(), labelled, policy) {
        Admission::Review
    } else {
        Admission::Stranger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_and_people_without_a_role_are_strangers() {
        let authorship = |association: &str, from_fork: bool| {
            let author_association = association.to_owned();
            PullRequestFacts { author_association, from_fork, ..Default::default() }.authorship()
        };
        for known in KNOWN_ASSOCIATIONS {
            assert_eq!(authorship(known, false), Authorship::Trusted, "{known}");
            assert_eq!(authorship(known, true), Authorship::Stranger, "{known}");
        }
        for stranger in ["NONE", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN", "", "owner"]
        {
            assert_eq!(authorship(stranger, false), Authorship::Stranger, "{stranger}");
        }
    }
}
