//! The settings that a repository brings along, the same for every command that reads them.

use crate::config::file;
use crate::config::file::{ConfigFile, REPOSITORY_FILE};
use crate::failure::{Failure, Kind, OrFail};
use crh_git::{Objects, ReadError, Repository};

/// The file in the root of the checkout or, where there is none, as it was committed; none if there is no file.
pub(super) fn repository_file(repository: &Repository) -> Result<Option<ConfigFile>, Failure> {
    match &repository.work_tree {
        Some(root) => file::repository_file(root),
        None => committed_file(repository),
    }
}

fn committed_file(repository: &Repository) -> Result<Option<ConfigFile>, Failure> {
    // A repository without a commit has no files.
    let Some(head) = repository.commit("HEAD") else { return Ok(None) };
    let objects = Objects::open(&repository.common_dir).or_fail(Kind::Outside)?;
    file_at(repository, &objects, &head, "HEAD")
}

/// The file as it is in a commit, which is shown by a name.
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
        Err(error) => return Err(not_read(&name, error)),
    };
    if !kind.is_file() {
        return Err(Failure::usage(format!("`{name}` is a {}, not a file", kind.word()))
            .hint("commit the file itself"));
    }
    let bytes = objects.file(commit, REPOSITORY_FILE).map_err(|error| not_read(&name, error))?;
    ConfigFile::new(name, repository.common_dir.clone(), bytes).map(Some)
}

fn not_read(name: &str, error: ReadError) -> Failure {
    Failure::new(Kind::Outside, error)
        .hint(format!("`git cat-file -p {name}` shows it, and fetches it into a partial clone"))
}
