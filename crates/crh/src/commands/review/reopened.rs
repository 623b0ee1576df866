//! Opens a finished review again, to act on its findings.

use super::begin::{Beginning, Begun, GoesOn, Kept};
use super::recovery::Tree;
use crate::cli::{TrustArgs, WorkspaceArgs};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::Failure;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::ReviewMode;

/// The run to open, with flags.
pub(in crate::commands) struct Reopening<'r> {
    pub(in crate::commands) run: &'r RunFolder,
    pub(in crate::commands) trust: TrustArgs,
    pub(in crate::commands) flags: RawSettings,
}

/// Opens the run and locks it.
pub(in crate::commands) fn reopened(
    reopening: Reopening<'_>,
    environment: &Environment,
) -> Result<Begun, Failure> {
    let Reopening { run, trust, flags } = reopening;
    let resume = Some(run.path().display().to_string());
    let prepared = WorkspaceArgs { resume, ..WorkspaceArgs::default() };
    let beginning = Beginning {
        // Replaced by the stored mode of the run.
        mode: ReviewMode::Interactive,
        trust,
        kept: Kept::Run,
        goes_on: GoesOn::Fixing,
        // The caller has rolled back already.
        tree: Tree::Stays,
        ..Beginning::of_prepared(prepared, flags)
    };
    beginning.begin(environment)
}
