//! Whether what is reviewed is what is checked out, so that something can be done about it there.

use serde::{Deserialize, Serialize};

use super::{Change, TargetError, UnderReview, snapshot};
use crate::asked::Target;
use crh_git::{Snapshot, Store};

/// Whether a checkout has what is reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckedOut {
    /// It has.
    AsReviewed,
    /// It has more: its branch is reviewed without what is not committed there.
    WithMore,
    /// It has something else, or there is none.
    #[default]
    No,
}

/// Whether the checkout of a repository has a change of it.
pub fn checked_out(
    store: &Store,
    target: &Target,
    change: &Change,
) -> Result<CheckedOut, TargetError> {
    match target {
        Target::CurrentBranch | Target::Against(_) | Target::Uncommitted | Target::Staged => {
            Ok(CheckedOut::AsReviewed)
        }
        Target::PullRequest(_) => {
            Ok(match change.proposed.as_ref().map(|proposed| proposed.under_review) {
                Some(UnderReview::Checkout) => CheckedOut::AsReviewed,
                Some(UnderReview::Proposed) | None => CheckedOut::No,
            })
        }
        Target::Named(_) => branch(store, change),
        Target::Commit(_) | Target::Range(_) | Target::Diff(_) => Ok(CheckedOut::No),
    }
}

/// The same of a branch that was named: it is known by what it is called in every clone, and by its commit.
fn branch(store: &Store, change: &Change) -> Result<CheckedOut, TargetError> {
    let repository = store.repository();
    let Some(name) = repository.branch().filter(|_| repository.work_tree.is_some()) else {
        return Ok(CheckedOut::No);
    };
    let tip = repository.head()?;
    if change.source != format!("refs/heads/{name}") || tip.is_none() || tip != change.head {
        return Ok(CheckedOut::No);
    }
    Ok(match snapshot(store, Snapshot::Tracked, tip.as_deref())? == tip.unwrap_or_default() {
        true => CheckedOut::AsReviewed,
        false => CheckedOut::WithMore,
    })
}
