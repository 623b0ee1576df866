//! Paths on the command line that restrict a review.

use std::path::{Component, Path, PathBuf};

use super::super::render::folder_in_repository;
use crate::config::environment::Environment;
use crate::config::key::SettingOrigin;
use crate::config::keys::Settings;
use crate::config::value::{GlobList, GlobPattern};
use crate::failure::{Failure, FailureKind, OrFail};
use crh_git::{Objects, PathGlobs, Repository};
use crh_os::names::{as_repository_path, canonical};
use crh_pipeline::scope::{Scope, ScopeDecision, ScopeFile, SkipReason};
use crh_pipeline::target_args::parse_range;
use crh_review::render::relative_path;

/// Maximum changed files in a hint.
const CHANGED_SHOWN_MAX: usize = 5;

/// Moves words that are paths to the paths. As in git, a revision takes precedence over a path of
/// the same name. A deleted path counts if `revisions`, `HEAD` or a default branch contains it.
pub(super) fn split(
    words: Vec<String>,
    mut paths: Vec<PathBuf>,
    revisions: &[String],
    environment: &Environment,
) -> (Vec<String>, Vec<PathBuf>) {
    let Ok(repository) = Repository::discover(&environment.folder) else { return (words, paths) };
    let is_path = |word: &String| {
        // A number is a pull request, or a commit if it is long.
        if word.is_empty() || word.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let exists = environment.folder.join(word).exists();
        // Ask git last, because that starts a process.
        (exists || is_name(word))
            && repository.commit(word).is_none()
            && (exists || is_deleted_path(word, revisions, &repository, environment))
    };
    let (found, words): (Vec<String>, Vec<String>) = words.into_iter().partition(is_path);
    paths.splice(0..0, found.into_iter().map(PathBuf::from));
    (words, paths)
}

/// The first word that can only be a revision, but names no commit of this clone. [`split`] has
/// removed the paths before.
pub(super) fn unknown_word<'a>(
    words: &'a [String],
    environment: &Environment,
) -> Option<&'a String> {
    let repository = Repository::discover(&environment.folder).ok()?;
    words.iter().find(|word| is_name(word) && repository.commit(word).is_none())
}

/// The failure for a word that is neither a revision nor a path.
pub(super) fn unknown_word_failure(word: &str, environment: &Environment) -> Failure {
    let similar = did_you_mean(similar_tracked_path(word, environment));
    Failure::usage(format!("no branch, commit or path named `{word}`{similar}")).hint(
        "if the name exists only on the remote, run `git fetch`; `git branch --all` lists all branches; write a deleted path after `--`",
    )
}

/// Whether the word can only be a revision or a path: no number, range, URL, or word like
/// `base:main`.
fn is_name(word: &str) -> bool {
    let is_token = ["mode:", "base:", "plan:"].iter().any(|token| word.starts_with(token));
    !(word.is_empty()
        || word.bytes().all(|byte| byte.is_ascii_digit())
        || is_token
        || parse_range(word).is_some()
        || word.contains("://"))
}

/// Whether one of `revisions`, `HEAD` or a default branch contains the path. The caller has checked
/// that the checkout lacks it.
fn is_deleted_path(
    word: &str,
    revisions: &[String],
    repository: &Repository,
    environment: &Environment,
) -> bool {
    let Some(root) = &repository.work_tree else { return false };
    let folder = canonical(&environment.folder).unwrap_or_else(|_| environment.folder.clone());
    let full_path = normalise(&folder.join(word));
    let path = full_path.strip_prefix(root).ok().and_then(as_repository_path);
    let Some(path) = path.filter(|path| !path.is_empty()) else { return false };
    let bases = repository
        .default_branches()
        .into_iter()
        .flat_map(|name| [format!("refs/heads/{name}"), format!("refs/remotes/origin/{name}")]);
    let revisions: Vec<String> =
        revisions.iter().cloned().chain(["HEAD".to_owned()]).chain(bases).collect();
    repository.has_path_at(&revisions, &path)
}

/// Globs that match these files, and everything in these folders. No glob if one of the paths is
/// the whole repository.
pub(super) fn globs(paths: &[PathBuf], environment: &Environment) -> Result<GlobList, Failure> {
    let repository = Repository::discover(&environment.folder).ok();
    let root = repository.and_then(|repository| repository.work_tree);
    let folder = canonical(&environment.folder).unwrap_or_else(|_| environment.folder.clone());
    let root = root.unwrap_or_else(|| folder.clone());
    let mut globs = Vec::new();
    for path in paths {
        let full_path = normalise(&folder.join(path));
        let Ok(relative) = full_path.strip_prefix(&root) else {
            let message = format!("`{}` is outside the repository", path.display());
            return Err(Failure::usage(message).hint("name a path inside the repository"));
        };
        let Some(relative) = as_repository_path(relative) else {
            return Err(Failure::usage(format!("`{}` is not UTF-8", path.display())));
        };
        if relative.is_empty() {
            return Ok(GlobList::default());
        }
        let escaped = escape_glob(&relative);
        for glob in [format!("/{escaped}"), format!("/{escaped}/")] {
            globs.push(GlobPattern::parse(&glob).map_err(Failure::usage)?);
        }
    }
    Ok(GlobList(globs))
}

/// A warning about paths of the command line in which the change has no file. Fails if it has no
/// file in any path, also of the user's configuration file.
pub(in crate::commands) fn unmatched_paths_warning(
    scope: &Scope,
    settings: &Settings,
    environment: &Environment,
) -> Result<Option<String>, Failure> {
    let folder = folder_in_repository(environment);
    let changed: Vec<String> = scope.files.iter().map(|file| file.path.shown().into()).collect();
    let mut unmatched = Vec::new();
    for glob in path_globs(settings) {
        let globs = PathGlobs::new([glob.to_owned(), format!("{}/", glob.trim_end_matches('/'))]);
        let globs = globs.or_fail(FailureKind::Usage)?;
        if scope.files.iter().any(|file| globs.is_match(file.path.as_bytes())) {
            continue;
        }
        unmatched.push(match glob.strip_prefix('/') {
            Some(path) => {
                let path = path_from(&folder, &path.replace('\\', ""));
                let similar = similar_path(&path, changed.iter().map(String::as_str), &folder);
                format!("`{path}`{}", did_you_mean(similar))
            }
            // A glob of the user's configuration file.
            None => format!("`{glob}`"),
        });
    }
    if unmatched.is_empty() {
        return Ok(None);
    }
    let warning = format!("the change does not contain {}", unmatched.join(", "));
    let is_outside =
        |file: &ScopeFile| file.decision == ScopeDecision::Out(SkipReason::OutsidePaths);
    if scope.files.is_empty() || !scope.files.iter().all(is_outside) {
        // Configured paths apply to every review, and most changes have no file in some of them.
        let origins = &settings.scope_paths.origins;
        let is_typed = origins.iter().any(|origin| matches!(origin, SettingOrigin::Flag(_)));
        return Ok(is_typed.then_some(warning));
    }
    let listed = changed.iter().take(CHANGED_SHOWN_MAX);
    let listed: Vec<String> =
        listed.map(|path| format!("`{}`", path_from(&folder, path))).collect();
    let more = match changed.len().saturating_sub(CHANGED_SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = listed.join(", ");
    Err(Failure::usage(format!("nothing to review: {warning}"))
        .hint(format!("the change has {listed}{more}; name one of these, or a folder with one")))
}

/// The globs without the second one of each path, which ends with a slash and matches folders.
fn path_globs(settings: &Settings) -> impl Iterator<Item = &str> {
    let globs = settings.scope_paths.value.0.iter().map(GlobPattern::as_str);
    let others = globs.clone();
    globs.filter(move |glob| {
        let first = glob.strip_suffix('/');
        first.is_none_or(|first| others.clone().all(|other| other != first))
    })
}

/// A path from the repository root as seen from a folder of the repository.
fn path_from(folder: &str, path: &str) -> String {
    match relative_path(path, folder) {
        relative if relative.is_empty() => ".".to_owned(),
        relative => relative,
    }
}

/// The shortest path of one of the files, or of a folder with one, that ends with the typed path.
/// In a subfolder, users type paths from the root; in the root, they leave out folders.
fn similar_path<'a>(
    typed: &str,
    files: impl Iterator<Item = &'a str>,
    folder: &str,
) -> Option<String> {
    let parts = typed.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    let end = format!("/{}/", parts.collect::<Vec<_>>().join("/"));
    let paths = files.filter_map(|file| {
        let file = format!("/{file}/");
        let start = file.find(&end)?;
        Some(file[1..start + end.len() - 1].to_owned())
    });
    paths.min_by_key(String::len).map(|path| path_from(folder, &path))
}

/// Like [`similar_path`], with the files of the last commit. `None` for a word that is more likely
/// the name of a branch, such as `main`.
fn similar_tracked_path(word: &str, environment: &Environment) -> Option<String> {
    if !word.contains(['/', '.']) {
        return None;
    }
    let repository = Repository::discover(&environment.folder).ok()?;
    let head = repository.commit("HEAD")?;
    let files = Objects::open(&repository.common_dir).ok()?.files(&head).ok()?;
    let files = files.iter().filter_map(|file| std::str::from_utf8(&file.path).ok());
    let word = as_repository_path(Path::new(word))?;
    similar_path(&word, files, &folder_in_repository(environment))
}

/// A suggestion for a message. Empty without a path.
fn did_you_mean(similar: Option<String>) -> String {
    similar.map_or_else(String::new, |path| format!(" (did you mean the path `{path}`?)"))
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
