//! Writes one todo file per open issue of the owner `downstream-resolver`, in a folder of the
//! checkout.
//!
//! Invariants: crh never uses an id twice, neither in concurrent processes (it locks the folder)
//! nor after a todo was deleted (the folder stores the highest id). It does not change existing
//! todos.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crh_git::{GitError, Repository};
use crh_llm::Redactor;
use crh_os::files::temp_builder;
use crh_os::names::repository_path;
use crh_pipeline::run_folder::remove_temp_files;
use crh_review::finding::{AutofixClass, Owner};
use crh_review::render;
use crh_review::report::{Issue, Report};

/// Folder in which other tools store todos. crh reads ids and dedupe keys from it and writes nothing there.
const LEGACY: &str = "todos";
/// File that stores the highest id ever used.
const HIGHEST: &str = ".highest-id";
/// Prefix of a file while crh writes it.
const DRAFT: &str = ".crh-";
/// Mode of new files, before the umask.
const FILE_MODE: u32 = 0o644;
/// Maximum bytes to read for front matter, about ten times its usual size.
const FRONT_MATTER_MAX: u64 = 4 << 10;
/// Maximum number of entries in the folder. With more, crh cannot determine a free id and fails.
const ENTRIES_MAX: usize = 100_000;
/// A longer number is a timestamp or a hash, not an id.
const DIGITS_MAX: usize = 9;
/// Largest id with `DIGITS_MAX` digits.
const ID_MAX: u64 = 999_999_999;

/// Writes a todo for each open issue that `downstream-resolver` must work on and that has none yet.
/// Returns the new files. Does nothing without a checkout.
pub(crate) fn write(
    checkout: Option<&Path>,
    report: &Report,
    settings: &Settings,
    redactor: &Redactor,
) -> Result<Vec<PathBuf>, Failure> {
    let Some(root) = checkout else { return Ok(Vec::new()) };
    let mask = |text: &str| redactor.redact(text).into_owned();
    write_masked(root, settings.todos_dir.value.path(), report, &mask)
}

/// The todos of a report's issues, relative to the root of the checkout.
pub(crate) fn of_report(
    root: &Path,
    report: &Report,
    environment: &Environment,
) -> Result<Vec<PathBuf>, Failure> {
    let file = config::file::repository_file(root)?;
    let settings = config::load(environment, file.as_ref(), RawSettings::default())?;
    let dir = settings.todos_dir.value.path();
    let Ok(entries) = fs::read_dir(root.join(dir)) else { return Ok(Vec::new()) };
    let has_todo = |path: &Path| {
        let key = if is_own(path) { key_in(path).ok().flatten() } else { None };
        key.is_some_and(|key| report.all_issues().any(|issue| issue.dedupe_key == key))
    };
    let names = entries.take(ENTRIES_MAX).filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut todos: Vec<PathBuf> =
        names.map(|name| dir.join(name)).filter(|todo| has_todo(&root.join(todo))).collect();
    todos.sort();
    Ok(todos)
}

/// Untracked files that crh wrote into the folder of todos. They are not part of a review.
pub(crate) fn own_untracked_files(
    repository: &Repository,
    dir: &Path,
) -> Result<Vec<PathBuf>, GitError> {
    let Some(root) = &repository.work_tree else { return Ok(Vec::new()) };
    if !root.join(dir).is_dir() {
        return Ok(Vec::new());
    }
    let files = repository.untracked()?.into_iter();
    let files = files.filter_map(|name| Some(root.join(repository_path(&name).ok()?)));
    Ok(files.filter(|file| file.starts_with(root.join(dir)) && is_own(file)).collect())
}

/// Whether crh wrote a file: a todo with a dedupe key, or [`HIGHEST`].
pub(crate) fn is_own(file: &Path) -> bool {
    let is_regular = fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let has_key = || id_of(&name).is_some() && key_in(file).is_ok_and(|key| key.is_some());
    is_regular && (name == HIGHEST || has_key())
}

/// Like [`write()`], with the folders as parameters. `mask` removes secrets from a text.
fn write_masked(
    root: &Path,
    dir: &Path,
    report: &Report,
    mask: &dyn Fn(&str) -> String,
) -> Result<Vec<PathBuf>, Failure> {
    let issues: Vec<&Issue> = downstream_issues(report).collect();
    if issues.is_empty() {
        return Ok(Vec::new());
    }
    let folder = create_folder(root, dir)?;
    let failed = || format!("cannot write todos in `{}`", folder.display());
    let lock = File::open(&folder).with_context(failed).or_fail(FailureKind::External)?;
    lock.lock().with_context(failed).or_fail(FailureKind::External)?;
    remove_temp_files(&folder).with_context(failed).or_fail(FailureKind::External)?;
    let mut existing = ExistingTodos::load(&folder, &root.join(LEGACY))?;
    let mut new = Vec::new();
    for issue in issues {
        if existing.keys.contains(&issue.dedupe_key) {
            continue;
        }
        let path = loop {
            let id = existing.next(&folder)?;
            let text = mask(&render::todo(issue, report, &id));
            let path = folder.join(render::todo_name(issue, &id));
            match create_file(&path, &text) {
                Ok(()) => break path,
                // Another program took this name and id.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(failed).or_fail(FailureKind::External);
                }
            }
        };
        existing.keys.insert(issue.dedupe_key.clone());
        new.push(path);
    }
    Ok(new)
}

/// The open issues that need work by the owner `downstream-resolver`.
fn downstream_issues(report: &Report) -> impl Iterator<Item = &Issue> {
    report.open_issues().filter(|issue| {
        issue.owner == Owner::DownstreamResolver
            && issue.autofix_class != AutofixClass::Advisory
            && !issue.pre_existing
    })
}

/// Creates the folder inside the checkout. Fails on a symlink, because the repository controls
/// where it leads.
fn create_folder(root: &Path, dir: &Path) -> Result<PathBuf, Failure> {
    let mut folder = root.to_owned();
    for part in dir {
        folder.push(part);
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let found = fs::symlink_metadata(&folder);
                if !found.is_ok_and(|found| found.is_dir()) {
                    let shown = folder.display();
                    return Err(Failure::usage(format!("`{shown}` is a symlink or a file"))
                        .hint("make it a folder, or set another one with `dir` in `[todos]`"));
                }
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot create `{}`", folder.display()))
                    .or_fail(FailureKind::External);
            }
        }
    }
    Ok(folder)
}

/// Existing todos.
#[derive(Debug, PartialEq, Eq)]
struct ExistingTodos {
    /// Highest id ever used.
    highest: u64,
    /// Dedupe keys of issues that have a todo.
    keys: BTreeSet<String>,
}

impl ExistingTodos {
    fn load(folder: &Path, legacy: &Path) -> Result<Self, Failure> {
        let mut existing = Self { highest: stored_highest_id(folder)?, keys: BTreeSet::new() };
        for place in [folder, legacy] {
            existing
                .read(place)
                .with_context(|| format!("cannot read the todos in `{}`", place.display()))
                .or_fail(FailureKind::External)?;
        }
        Ok(existing)
    }

    fn read(&mut self, folder: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for (at, entry) in entries.enumerate() {
            if at == ENTRIES_MAX {
                return Err(io::Error::other(format!("it has more than {ENTRIES_MAX} entries")));
            }
            let entry = entry?;
            let name = entry.file_name();
            let Some(id) = id_of(&name.to_string_lossy()) else { continue };
            self.highest = self.highest.max(id);
            // Open only regular files: opening a pipe would block.
            if entry.file_type()?.is_file() {
                self.keys.extend(key_in(&entry.path())?);
            }
        }
        Ok(())
    }

    /// The next id. Stores it in `.highest-id` before crh writes the todo.
    fn next(&mut self, folder: &Path) -> Result<String, Failure> {
        if self.highest >= ID_MAX {
            return Err(Failure::usage(format!("no todo id is left in `{}`", folder.display()))
                .hint(format!(
                    "rename the todo that starts with {ID_MAX}, and delete `{HIGHEST}`"
                )));
        }
        self.highest += 1;
        let path = folder.join(HIGHEST);
        let stored = draft(folder, &format!("{}\n", self.highest))
            .and_then(|file| file.persist(&path).map_err(|error| error.error));
        stored
            .with_context(|| format!("cannot write `{}`", path.display()))
            .or_fail(FailureKind::External)?;
        Ok(format!("{:03}", self.highest))
    }
}

/// The id in a file name: the digits before its first dash.
fn id_of(name: &str) -> Option<u64> {
    let (digits, _) = name.split_once('-')?;
    let is_id = (1..=DIGITS_MAX).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_id)
}

/// The dedupe key in a todo. `None` if it has none, or if the file was deleted meanwhile.
fn key_in(path: &Path) -> io::Result<Option<String>> {
    let mut start = Vec::new();
    match File::open(path).and_then(|file| file.take(FRONT_MATTER_MAX).read_to_end(&mut start)) {
        Ok(_) => Ok(render::todo_key(&String::from_utf8_lossy(&start)).map(str::to_owned)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The stored highest id, or 0.
fn stored_highest_id(folder: &Path) -> Result<u64, Failure> {
    let path = folder.join(HIGHEST);
    let mut text = String::new();
    let read = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => {
            File::open(&path).and_then(|file| file.take(FRONT_MATTER_MAX).read_to_string(&mut text))
        }
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => Err(error),
    };
    let failed = || format!("cannot read `{}`", path.display());
    read.with_context(failed).or_fail(FailureKind::External)?;
    match text.trim().parse() {
        Ok(highest) if highest <= ID_MAX => Ok(highest),
        Ok(_) | Err(_) => Err(Failure::usage(format!("`{}` contains no id", path.display()))
            .hint("write the highest todo id ever used into it")),
    }
}

/// Creates a file atomically. Fails if a file of that name exists.
fn create_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    draft(folder, text)?.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

fn draft(folder: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let mut file = temp_builder(FILE_MODE).prefix(DRAFT).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests;
