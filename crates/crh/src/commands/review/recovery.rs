//! Rolls back an interrupted fix of a checkout before crh reviews that checkout. A review that may
//! not edit the checkout only prints a warning.

use std::path::Path;

use super::super::forge::ForgeProposal;
use super::resolved_change::ResolvedChange;
use super::resumed_run::ResumedRun;
use super::session::ReviewRequest;
use crate::cli::WorkspaceArgs;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::edit_authority::EditAuthority;
use crate::fix::interrupted_fix::{is_interrupted, roll_back_interrupted_fix};
use crate::ui;
use crh_pipeline::resolve::CheckoutMatch;
use crh_pipeline::target_args::Target;

/// Warning of a review that may not edit the checkout.
const HALF_DONE: &str = "a fix of this checkout was interrupted, and the reviewed code may contain half of it; run `crh fix` to roll it back";

/// Whether a review may edit the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeAccess {
    MayChange,
    Stays,
}

impl TreeAccess {
    pub(super) fn from_authority(authority: &EditAuthority) -> Self {
        match authority {
            EditAuthority::SafeFixes { .. } | EditAuthority::AsAsked(_) => Self::MayChange,
            EditAuthority::Unasked | EditAuthority::NotAllowed(_) => Self::Stays,
        }
    }
}

impl ReviewRequest {
    /// Rolls back an interrupted fix. Returns the failure, if any.
    pub(super) fn rolled_back(
        &self,
        pull: &mut Option<ForgeProposal>,
        resumed: Option<&ResumedRun>,
        runs: Option<&Path>,
        environment: &Environment,
    ) -> Option<Failure> {
        if !is_interrupted(environment) || !self.is_of_checkout(pull, resumed, runs, environment) {
            return None;
        }
        match self.tree {
            TreeAccess::MayChange => roll_back_interrupted_fix(environment).err(),
            TreeAccess::Stays => {
                ui::warn(HALF_DONE);
                None
            }
        }
    }

    fn is_of_checkout(
        &self,
        pull: &mut Option<ForgeProposal>,
        resumed: Option<&ResumedRun>,
        runs: Option<&Path>,
        environment: &Environment,
    ) -> bool {
        match (resumed, &self.prepared) {
            (Some(resumed), _) => return resumed.change_facts.is_of_checkout(),
            (None, WorkspaceArgs { workspace: None, packed: None, .. }) => {}
            (None, WorkspaceArgs { .. }) => return false,
        }
        match &self.parsed_target.target {
            Target::CurrentBranch | Target::Against(_) | Target::Uncommitted | Target::Staged => {
                true
            }
            Target::Commit(_) | Target::Range(_) | Target::Diff(_) => false,
            // crh must resolve these targets to find out whether they are checked out. It ignores
            // errors here, because it resolves the target again after the rollback.
            Target::Named(_) | Target::PullRequest(_) => {
                let (parsed, flags) = (&self.parsed_target, self.flags.clone());
                ResolvedChange::target(
                    parsed,
                    pull,
                    self.untracked,
                    environment,
                    flags,
                    runs,
                    |_| {},
                )
                .is_ok_and(|resolved| resolved.checked_out != CheckoutMatch::Different)
            }
        }
    }
}
