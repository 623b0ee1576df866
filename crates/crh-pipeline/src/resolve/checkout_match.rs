//! Compares the reviewed change with the checkout. crh applies fixes only if the two match.

use serde::{Deserialize, Serialize};

use super::{PinnedChange, ReviewedHead, TargetError, take_snapshot};
use crate::target_args::Target;
use crh_git::{SnapshotScope, Store};

/// Whether the checkout contains the reviewed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckoutMatch {
    /// crh reviewed the checkout or its index, or the checkout is identical to the reviewed branch.
    AsReviewed,
    /// The checkout has uncommitted changes that were not reviewed.
    #[serde(rename = "with_more")]
    WithUnreviewedChanges,
    /// The checkout does not contain the reviewed change, or there is no checkout.
    #[default]
    #[serde(rename = "no")]
    Different,
}

/// Compares the checkout of a repository with a change.
pub fn match_checkout(
    store: &Store,
    target: &Target,
    change: &PinnedChange,
) -> Result<CheckoutMatch, TargetError> {
    match target {
        Target::CurrentBranch | Target::Against(_) | Target::Uncommitted | Target::Staged => {
            Ok(CheckoutMatch::AsReviewed)
        }
        Target::PullRequest(_) => {
            Ok(match change.proposed.as_ref().map(|proposed| proposed.reviewed_head) {
                Some(ReviewedHead::Checkout) => CheckoutMatch::AsReviewed,
                Some(ReviewedHead::Proposed) | None => CheckoutMatch::Different,
            })
        }
        Target::Named(_) => match_branch(store, change),
        Target::Commit(_) | Target::Range(_) | Target::Diff(_) => Ok(CheckoutMatch::Different),
    }
}

/// Compares the checkout with a branch that was reviewed by name: same branch, same commit.
fn match_branch(store: &Store, change: &PinnedChange) -> Result<CheckoutMatch, TargetError> {
    let repository = store.repository();
    let Some(name) = repository.branch().filter(|_| repository.work_tree.is_some()) else {
        return Ok(CheckoutMatch::Different);
    };
    let tip = repository.head()?;
    if change.source != format!("refs/heads/{name}") || tip.is_none() || tip != change.head {
        return Ok(CheckoutMatch::Different);
    }
    let snapshot = take_snapshot(store, SnapshotScope::Tracked, tip.as_deref())?;
    Ok(match snapshot == tip.unwrap_or_default() {
        true => CheckoutMatch::AsReviewed,
        false => CheckoutMatch::WithUnreviewedChanges,
    })
}
