//! What names a change: its repository, its proposal, and its two commits.

use super::super::forge;
use super::super::opened::Opened;
use crate::cli::PreparedArgs;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind, OrFail};
use crh_forge::Proposal;
use crh_git::Repository;
use crh_pipeline::target::Change;
use crh_pipeline::workspace::Workspace;
use crh_review::diff::Diff;
use crh_review::identity::content_id;
use crh_review::report;

/// What names a change of the user's repository.
pub(super) fn of_repository(change: &Change, opened: &Opened) -> Result<report::Change, Failure> {
    let head_sha = match (&opened.store, &change.head, &change.created_at) {
        // What is not committed has no commit of its own: it is named by the tree that it would be.
        (Some(store), Some(head), None) => {
            let tree = format!("{head}^{{tree}}");
            store.bare().git().text(["rev-parse", &tree]).or_fail(Kind::Outside)?
        }
        (_, Some(head), _) => head.clone(),
        (_, None, _) => content_id(change.diff.raw()),
    };
    let repository = opened.store.as_ref().map(|store| crh_git::identity(store.repository()));
    let (repo, pr_number, url) = match &change.proposed {
        Some(proposed) => {
            let Proposal { repo, number, url, .. } = &proposed.proposal;
            (repo.clone(), number.clone(), url.clone())
        }
        None => {
            let repo = repository.transpose().or_fail(Kind::Outside)?.unwrap_or_default();
            (repo, String::new(), String::new())
        }
    };
    Ok(report::Change {
        repo,
        pr_number,
        url,
        title: change.title.clone(),
        author: change.author.clone(),
        base_ref: change.target.clone(),
        head_ref: change.source.clone(),
        base_sha: change.base.clone().unwrap_or_default(),
        head_sha,
    })
}

/// What names a change that was prepared.
pub(super) fn of_workspace(
    workspace: &Workspace,
    diff: &Diff,
    is_folder: bool,
    args: &PreparedArgs,
    environment: &Environment,
    settings: &Settings,
) -> report::Change {
    let metadata = workspace.metadata().clone();
    let repo = args.repo.as_deref().unwrap_or(&environment.folder);
    let repository = is_folder.then(|| Repository::discover(repo).ok()).flatten();
    let repo = repository.and_then(|repository| crh_git::identity(&repository).ok());
    let (repo, pr_number) = match forge::named(&metadata.url, settings) {
        Some((repo, number)) => (metadata.target_repository.unwrap_or(repo), number),
        None => (repo.unwrap_or_default(), String::new()),
    };
    report::Change {
        repo,
        pr_number,
        url: metadata.url,
        title: metadata.title,
        author: metadata.author.unwrap_or_default(),
        base_ref: metadata.target_git_path.unwrap_or_default(),
        head_ref: metadata.source_git_path.unwrap_or_default(),
        base_sha: metadata.base_rev.unwrap_or_default(),
        head_sha: metadata.head_rev.unwrap_or_else(|| content_id(diff.raw())),
    }
}
