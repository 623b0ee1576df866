//! Paths on the command line that restrict a review.

use std::path::{Component, Path, PathBuf};

use crate::config::environment::Environment;
use crate::config::value::{GlobList, GlobPattern};
use crate::failure::Failure;
use crh_git::Repository;

/// Moves words that are paths to the paths. As in git, a revision takes precedence over a path of
/// the same name.
pub(super) fn split(
    words: Vec<String>,
    mut paths: Vec<PathBuf>,
    environment: &Environment,
) -> (Vec<String>, Vec<PathBuf>) {
    let repository = Repository::discover(&environment.folder).ok();
    let is_path = |word: &String| {
        // A short number is a pull request.
        !word.is_empty()
            && !word.bytes().all(|byte| byte.is_ascii_digit())
            && environment.folder.join(word).exists()
            && repository.as_ref().is_some_and(|repository| repository.commit(word).is_none())
    };
    let (found, words): (Vec<String>, Vec<String>) = words.into_iter().partition(is_path);
    paths.splice(0..0, found.into_iter().map(PathBuf::from));
    (words, paths)
}

/// Globs that match these files, and everything in these folders. No glob if one of the paths is the
/// whole repository.
pub(super) fn globs(paths: &[PathBuf], environment: &Environment) -> Result<GlobList, Failure> {
    let repository = Repository::discover(&environment.folder).ok();
    let root = repository.and_then(|repository| repository.work_tree);
    let folder = environment.folder.canonicalize().unwrap_or_else(|_| environment.folder.clone());
    let root = root.unwrap_or_else(|| folder.clone());
    let mut globs = Vec::new();
    for path in paths {
        let full_path = normalise(&folder.join(path));
        let Ok(relative) = full_path.strip_prefix(&root) else {
            let message = format!("`{}` is outside the repository", path.display());
            return Err(Failure::usage(message).hint("name a path inside the repository"));
        };
        let Some(relative) = relative.to_str() else {
            return Err(Failure::usage(format!("`{}` is not UTF-8", path.display())));
        };
        if relative.is_empty() {
            return Ok(GlobList::default());
        }
        let escaped = escape_glob(relative);
        for glob in [format!("/{escaped}"), format!("/{escaped}/")] {
            globs.push(GlobPattern::parse(&glob).map_err(Failure::usage)?);
        }
    }
    Ok(GlobList(globs))
}

/// Resolves `.` and `..` without reading the file system, since a path may be deleted.
fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// Escapes the characters that have a meaning in globs.
fn escape_glob(path: &str) -> String {
    path.chars().fold(String::new(), |mut escaped, char| {
        if matches!(char, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            escaped.push('\\');
        }
        escaped.push(char);
        escaped
    })
}
