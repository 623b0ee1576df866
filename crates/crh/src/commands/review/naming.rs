//! Names a change: its repository, its pull request, its two commits.

use super::super::change_source::ChangeSource;
use super::super::forge;
use crate::cli::WorkspaceArgs;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::ChangeProposal;
use crh_git::{Repository, Store};
use crh_pipeline::resolve::PinnedChange;
use crh_pipeline::workspace::Workspace;
use crh_review::diff::Diff;
use crh_review::identity::content_id;
use crh_review::report;

/// Names a change in the user's repository.
pub(super) fn of_repository(
    change: &PinnedChange,
    opened: &ChangeSource,
) -> Result<report::ReviewedChange, Failure> {
    let head_sha = match (&opened.store, &change.head, &change.created_at) {
        // The id of an uncommitted change is its tree.
        (Some(store), Some(head), None) => {
            let tree = format!("{head}^{{tree}}");
            store.bare().git().text(["rev-parse", &tree]).or_fail(FailureKind::External)?
        }
        (_, Some(head), _) => head.clone(),
        (_, None, _) => content_id(change.diff.raw()),
    };
    let (repo, pr_number, url) = match &change.proposed {
        Some(proposed) => {
            let ChangeProposal { repo, number, url, .. } = &proposed.proposal;
            (repo.clone(), number.clone(), url.clone())
        }
        None => {
            let repo = opened.store.as_ref().map(Store::repository_identity);
            let repo = repo.transpose().or_fail(FailureKind::External)?.unwrap_or_default();
            (repo, String::new(), String::new())
        }
    };
    Ok(report::ReviewedChange {
        repo,
        pr_number,
        url,
        title: change.title.clone(),
        author: change.author.clone(),
        base_ref: change.target.clone(),
        head_ref: change.source.clone(),
        base_sha: change.base.clone().unwrap_or_default(),
        head_sha,
        ..report::ReviewedChange::default()
    })
}

/// Names a prepared change.
pub(super) fn of_workspace(
    workspace: &Workspace,
    diff: &Diff,
    is_folder: bool,
    args: &WorkspaceArgs,
    environment: &Environment,
    settings: &Settings,
) -> report::ReviewedChange {
    let metadata = workspace.metadata().clone();
    let repo = args.repo.as_deref().unwrap_or(&environment.folder);
    // An archive may come from anywhere. crh uses the repository only if it has the change's base.
    let has_base = |repository: &Repository| {
        metadata.base_rev.as_deref().is_some_and(|base| repository.commit(base).is_some())
    };
    let repository = Repository::discover(repo).ok();
    let repository = repository.filter(|repository| is_folder || has_base(repository));
    let repo = repository.and_then(|repository| crh_git::repository_identity(&repository).ok());
    let (repo, pr_number) = match forge::parse_proposal_url(&metadata.url, settings, environment) {
        Some((repo, number)) => (metadata.target_repository.unwrap_or(repo), number),
        None => (repo.unwrap_or_default(), String::new()),
    };
    report::ReviewedChange {
        repo,
        pr_number,
        url: metadata.url,
        title: metadata.title,
        author: metadata.author.unwrap_or_default(),
        base_ref: metadata.target_git_path.unwrap_or_default(),
        head_ref: metadata.source_git_path.unwrap_or_default(),
        base_sha: metadata.base_rev.unwrap_or_default(),
        head_sha: metadata.head_rev.unwrap_or_else(|| content_id(diff.raw())),
        ..report::ReviewedChange::default()
    }
}
