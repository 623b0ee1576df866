//! Where a review is made from: what is checked out there when its runs begin, so that others can tell whether it still is.

use serde::{Deserialize, Serialize};

use crh_git::Repository;
use crh_review::report::Change;

/// How the full name of a branch begins.
const BRANCHES: &str = "refs/heads/";

/// Where a review is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standpoint {
    /// The branch that is checked out, by its short name; empty if there is none.
    pub branch: String,
    /// The commit that is checked out; empty if there is none.
    pub head_sha: String,
}

impl Standpoint {
    /// In a repository, as it is now.
    pub fn in_repository(repository: &Repository) -> Self {
        Self {
            branch: repository.branch().unwrap_or_default(),
            // Whoever needs the commit says what is wrong with it.
            head_sha: repository.head().ok().flatten().unwrap_or_default(),
        }
    }

    /// Outside of any repository, where nothing is known but the change.
    pub fn of_change(change: &Change) -> Self {
        let branch = change.head_ref.strip_prefix(BRANCHES).unwrap_or_default();
        Self { branch: branch.to_owned(), head_sha: change.head_sha.clone() }
    }
}
