//! Opens a finished review again, to act on its findings.

use super::super::models::ModelLoading;
use super::recovery::TreeAccess;
use super::session::{ReopenPurpose, ReviewRequest, ReviewSession, StoragePolicy};
use crate::cli::{TrustArgs, WorkspaceArgs};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::Failure;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::ReviewMode;

/// The run to open, with flags.
pub(in crate::commands) struct ReopenRequest<'r> {
    pub(in crate::commands) run: &'r RunFolder,
    pub(in crate::commands) trust: TrustArgs,
    pub(in crate::commands) flags: RawSettings,
}

/// Opens the run and locks it.
pub(in crate::commands) fn reopened(
    reopening: ReopenRequest<'_>,
    environment: &Environment,
) -> Result<ReviewSession, Failure> {
    let ReopenRequest { run, trust, flags } = reopening;
    let resume = Some(run.path().display().to_string());
    let prepared = WorkspaceArgs { resume, ..WorkspaceArgs::default() };
    let request = ReviewRequest {
        // The stored mode of the run replaces this one.
        mode: ReviewMode::Interactive,
        trust,
        kept: StoragePolicy::Run,
        reopen_purpose: ReopenPurpose::Fixing,
        loading: ModelLoading::OnFirstQuestion,
        // The caller has rolled back an interrupted fix.
        tree: TreeAccess::Stays,
        ..ReviewRequest::from_prepared(prepared, flags)
    };
    request.begin(environment)
}
