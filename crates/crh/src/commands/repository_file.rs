//! Reads the `crh.toml` of a repository.

use crate::config::file;
use crate::config::file::{ConfigFile, REPOSITORY_FILE};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::{Objects, ReadError, Repository};

/// The `crh.toml` of the checkout, or of HEAD in a bare repository.
pub(super) fn repository_file(repository: &Repository) -> Result<Option<ConfigFile>, Failure> {
    match &repository.work_tree {
        Some(root) => file::repository_file(root),
        None => committed_file(repository),
    }
}

/// The `crh.toml` of HEAD.
fn committed_file(repository: &Repository) -> Result<Option<ConfigFile>, Failure> {
    // A repository without commits has no files.
    let Some(head) = repository.commit("HEAD") else { return Ok(None) };
    let objects = Objects::open(&repository.common_dir).or_fail(FailureKind::External)?;
    file_at(repository, &objects, &head, "HEAD")
}

/// The `crh.toml` of a commit. `name` identifies the commit in messages.
pub(super) fn file_at(
    repository: &Repository,
    objects: &Objects,
    commit: &str,
    name: &str,
) -> Result<Option<ConfigFile>, Failure> {
    let name = format!("{name}:{REPOSITORY_FILE}");
    let kind = match objects.stat(commit, REPOSITORY_FILE) {
        Ok((entry, _)) => entry.kind,
        Err(ReadError::NoEntry(_)) => return Ok(None),
        Err(error) => return Err(read_failure(&name, error)),
    };
    if !kind.is_file() {
        return Err(Failure::usage(format!("`{name}` is a {}, not a file", kind.name()))
            .hint("commit a regular file"));
    }
    let bytes =
        objects.file(commit, REPOSITORY_FILE).map_err(|error| read_failure(&name, error))?;
    ConfigFile::new(name, repository.common_dir.clone(), bytes).map(Some)
}

fn read_failure(name: &str, error: ReadError) -> Failure {
    Failure::new(FailureKind::External, error).hint(format!(
        "`git cat-file -p {}` shows it, and fetches it in a partial clone",
        ui::shell_word(name)
    ))
}
