//! Finds stored runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::{GitError, OpenError, Repository};
use crh_os::files::{check_writable, is_own};
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{FolderError, LocatedRun, RunFolder, RunTrust, StampKey, Timestamp};

/// Folder of crh in a checkout.
pub(crate) const STATE: &str = ".crh";
/// Folder of runs, relative to the root of a checkout.
const RUNS: &str = ".crh/runs";
const RUN_DIR_HINT: &str = "choose another folder with `--run-dir DIR`";

/// The folder of all runs: `--run-dir`, or `.crh/runs` in the checkout, or outside of repositories
/// `.crh/runs` in the current folder. The folder may not exist yet.
pub(crate) fn runs_folder(
    environment: &Environment,
    run_dir: Option<&Path>,
) -> Result<PathBuf, Failure> {
    if let Some(folder) = run_dir {
        return Ok(environment.folder.join(folder));
    }
    let repository = match Repository::discover(&environment.folder) {
        Ok(repository) => repository,
        Err(OpenError::NotARepository(_)) => return Ok(environment.folder.join(RUNS)),
        Err(error) => return Err(Failure::new(FailureKind::Usage, error).hint(RUN_DIR_HINT)),
    };
    let Some(root) = &repository.work_tree else {
        return Err(Failure::usage("a bare repository has no folder for runs").hint(RUN_DIR_HINT));
    };
    let folder = root.join(RUNS);
    reject_linked_state(root)?;
    reject_untrusted(&repository, root, &folder)?;
    Ok(folder)
}

/// Rejects a folder of runs that is a symlink or part of the repository, because crh may not have
/// written the runs in it.
fn reject_untrusted(repository: &Repository, root: &Path, folder: &Path) -> Result<(), Failure> {
    for name in [STATE, RUNS] {
        let path = root.join(name);
        if let Some(problem) = folder_problem(&path) {
            let message = format!("`{}` {problem}", path.display());
            return Err(Failure::usage(message).hint(RUN_DIR_HINT));
        }
    }
    let is_tracked = || -> Result<bool, GitError> {
        Ok(repository.tracks_exactly(STATE)? || repository.tracks(RUNS)?)
    };
    if folder.is_dir() && is_tracked().or_fail(FailureKind::External)? {
        let message =
            format!("`{RUNS}` is committed to this repository, so its runs may not be yours");
        return Err(Failure::usage(message).hint(RUN_DIR_HINT));
    }
    Ok(())
}

/// Rejects a `.crh` that is a symlink, also with `--run-dir`: while crh fixes a checkout, it writes
/// a marker into `.crh`.
pub(crate) fn reject_linked_state(root: &Path) -> Result<(), Failure> {
    let path = root.join(STATE);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_symlink() => {
            let message = format!("`{}` is a symbolic link", path.display());
            Err(Failure::usage(message).hint(
                "replace the link with a folder; to read the runs in it, pass `--run-dir DIR`",
            ))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Why crh cannot create runs in a folder. Writes nothing.
pub(crate) fn write_problem(folder: &Path) -> Option<String> {
    let existing = folder.ancestors().find(|path| path.exists())?;
    check_writable(existing)
        .err()
        .map(|error| format!("cannot write to `{}`: {error}", existing.display()))
}

/// Why crh does not trust `.crh` in a checkout, as the end of a sentence.
pub(crate) fn state_problem(repository: &Repository, root: &Path) -> Option<&'static str> {
    let is_tracked = || repository.tracks_exactly(STATE).unwrap_or(true);
    folder_problem(&root.join(STATE))
        .or_else(|| is_tracked().then_some("is part of this repository"))
}

/// Why a folder is not one that crh has created, as the end of a sentence.
fn folder_problem(path: &Path) -> Option<&'static str> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        return Some("is a symbolic link");
    }
    if !metadata.is_dir() {
        return Some("is not a folder");
    }
    if !is_own(&metadata) {
        return Some("belongs to another user");
    }
    path.join(".git").symlink_metadata().is_ok().then_some("is a git repository of its own")
}

/// Key that stamps runs, if the user's state folder has one. A stamp shows that crh wrote the run
/// on this machine.
pub(crate) fn stamp_key(environment: &Environment) -> Result<Option<StampKey>, Failure> {
    let settings = config::load(environment, None, RawSettings::default())?;
    // Without a home there is no state folder, and crh has stamped nothing.
    let Ok(state) = settings.state_folder.value.path() else { return Ok(None) };
    let key = StampKey::load(state).with_context(|| format!("cannot read `{}`", state.display()));
    key.or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("set `state.folder` in your config to a private folder"))
}

/// Finds a run to read by name, by a prefix of it, or by the path of its folder; by default the
/// newest. If the user names a folder, the run may come from another machine.
pub(crate) fn run_folder(
    environment: &Environment,
    run_dir: Option<&Path>,
    run: Option<&str>,
) -> Result<RunFolder, Failure> {
    if run_dir.is_none() && !run.is_some_and(is_path) {
        return own_run_folder(environment, run_dir, run);
    }
    let folder = find(environment, run_dir, run, RunTrust::Named)?;
    match stamp_key(environment)? {
        Some(key) if key.has_stamped(folder.path()) => {}
        Some(_) | None => ui::note(&FolderError::Unstamped(folder.run_id()).to_string()),
    }
    Ok(folder)
}

/// Finds a run to act on, as [`run_folder()`]. crh must have created it on this machine.
pub(crate) fn own_run_folder(
    environment: &Environment,
    run_dir: Option<&Path>,
    run: Option<&str>,
) -> Result<RunFolder, Failure> {
    let key = stamp_key(environment)?;
    let trust = key.as_ref().map_or(RunTrust::Nothing, RunTrust::Stamped);
    find(environment, run_dir, run, trust)
}

fn is_path(run: &str) -> bool {
    run.contains('/')
}

fn find(
    environment: &Environment,
    run_dir: Option<&Path>,
    run: Option<&str>,
    trust: RunTrust<'_>,
) -> Result<RunFolder, Failure> {
    let result = match run {
        Some(path) if is_path(path) => {
            // Normalises the path for messages: `./a` becomes `a`.
            let path: PathBuf = environment.folder.join(path).components().collect();
            trust.open(&path)
        }
        Some(_) | None => {
            let now = Timestamp::from_system_time(environment.now());
            let found = run_folder::find_run(&runs_folder(environment, run_dir)?, run, trust, now);
            found.map(|LocatedRun { folder, skipped }| {
                if let Some(newest) = skipped.first() {
                    ui::warn(&format!("{newest}; crh uses the older run `{}`", folder.run_id()));
                }
                folder
            })
        }
    };
    result.map_err(|error| folder_failure_in(error, run_dir))
}

/// Turns the error into a failure with a hint.
pub(crate) fn folder_failure(error: FolderError) -> Failure {
    let default = None;
    folder_failure_in(error, default)
}

/// The flag `--run-dir` for a command that crh prints. Empty without the flag.
pub(super) fn run_dir_flag(run_dir: Option<&Path>) -> String {
    run_dir.map(|dir| format!(" --run-dir {}", ui::shell_path(dir))).unwrap_or_default()
}

/// Like [`folder_failure`], with hints that repeat `--run-dir`.
fn folder_failure_in(error: FolderError, run_dir: Option<&Path>) -> Failure {
    let run_dir_flag = run_dir_flag(run_dir);
    let (kind, hint) = match &error {
        FolderError::NoRuns(_) => {
            (FailureKind::Usage, format!("create one with `crh review`; {RUN_DIR_HINT}"))
        }
        FolderError::EmptyName
        | FolderError::Unknown { .. }
        | FolderError::Foreign { .. }
        | FolderError::Damaged { .. } => {
            (FailureKind::Usage, format!("`crh show --list{run_dir_flag}` lists the runs"))
        }
        FolderError::Unstamped(_) => (
            FailureKind::Usage,
            "review the change again; `crh show PATH` shows the report of a folder that you trust"
                .to_owned(),
        ),
        FolderError::Ambiguous { .. } => (FailureKind::Usage, "write more of its name".to_owned()),
        FolderError::Unfinished { run, .. } => (
            FailureKind::Usage,
            format!("continue it with `crh review --resume {}{run_dir_flag}`", ui::shell_word(run)),
        ),
        FolderError::InUse(_) => (FailureKind::Usage, "wait until it is finished".to_owned()),
        FolderError::Disk { .. } => (FailureKind::External, RUN_DIR_HINT.to_owned()),
    };
    Failure::new(kind, error).hint(hint)
}
