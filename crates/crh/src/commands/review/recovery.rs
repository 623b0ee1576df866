//! A fix that was interrupted in the checkout that is about to be reviewed. It is rolled back first, for half of it is nobody's
//! change; but only by a review that may change the tree, and only if it is of that tree.

use std::path::Path;

use super::super::fix::rolled_back;
use super::super::forge::Submission;
use super::begin::Beginning;
use super::pinned::Pinned;
use super::resumed::Resumed;
use crate::cli::PreparedArgs;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::Authority;
use crate::{fix, ui};
use crh_pipeline::asked::Target;
use crh_pipeline::target::CheckedOut;

/// Told to whoever reviews it all the same.
const HALF_DONE: &str = "a fix of this checkout was interrupted, and half of it may be part of what is reviewed; `crh fix` rolls it back";

/// What a review may do to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    /// It may change it.
    MayChange,
    /// Nothing.
    Stays,
}

impl Tree {
    pub(super) fn by(authority: &Authority) -> Self {
        match authority {
            Authority::SafeFixes { .. } | Authority::AsAsked => Self::MayChange,
            Authority::Unasked | Authority::Nobody(_) => Self::Stays,
        }
    }
}

impl Beginning {
    /// Rolls back what an earlier fix was interrupted in; why that cannot be done, none if it was or there was nothing to do.
    pub(super) fn rolled_back(
        &self,
        pull: &mut Option<Submission>,
        resumed: Option<&Resumed>,
        runs: Option<&Path>,
        environment: &Environment,
    ) -> Option<Failure> {
        if !fix::is_interrupted(environment)
            || !self.is_of_checkout(pull, resumed, runs, environment)
        {
            return None;
        }
        match self.tree {
            Tree::MayChange => rolled_back(environment).err(),
            Tree::Stays => {
                ui::warn(HALF_DONE);
                None
            }
        }
    }

    fn is_of_checkout(
        &self,
        pull: &mut Option<Submission>,
        resumed: Option<&Resumed>,
        runs: Option<&Path>,
        environment: &Environment,
    ) -> bool {
        match (resumed, &self.prepared) {
            (Some(resumed), _) => return resumed.found.is_of_checkout(),
            (None, PreparedArgs { workspace: None, packed: None, .. }) => {}
            (None, PreparedArgs { .. }) => return false,
        }
        match &self.typed.target {
            Target::CurrentBranch | Target::Against(_) | Target::Uncommitted | Target::Staged => {
                true
            }
            Target::Commit(_) | Target::Range(_) | Target::Diff(_) => false,
            // Of these it is known when they are pinned; they are pinned once more without the fix. Why they cannot be is said then.
            Target::Named(_) | Target::PullRequest(_) => {
                let (asked, flags) = (&self.typed, self.flags.clone());
                Pinned::target(asked, pull, self.untracked, environment, flags, runs, |_| {})
                    .is_ok_and(|pinned| pinned.checked_out != CheckedOut::No)
            }
        }
    }
}
