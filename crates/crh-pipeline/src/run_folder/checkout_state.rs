//! Branch and commit that were checked out when a review began, so that later commands can detect a
//! change.

use serde::{Deserialize, Serialize};

use crh_git::Repository;
use crh_review::report::ReviewedChange;

const BRANCHES: &str = "refs/heads/";

/// State of the checkout when the runs began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutState {
    /// Short name of the checked-out branch; empty if there is none.
    pub branch: String,
    /// Checked-out commit; empty if there is none.
    pub head_sha: String,
}

impl CheckoutState {
    /// Current state of a repository.
    pub fn from_repository(repository: &Repository) -> Self {
        Self {
            branch: repository.branch().unwrap_or_default(),
            // Callers that need the commit report the error.
            head_sha: repository.head().ok().flatten().unwrap_or_default(),
        }
    }

    /// State outside of a repository, derived from the change.
    pub fn from_change(change: &ReviewedChange) -> Self {
        let branch = change.head_ref.strip_prefix(BRANCHES).unwrap_or_default();
        Self { branch: branch.to_owned(), head_sha: change.head_sha.clone() }
    }
}
