//! Finds stored runs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_git::{OpenError, Repository};
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{FolderError, RunFolder};

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
    reject_untrusted(&repository, root, &folder)?;
    Ok(folder)
}

/// Rejects a folder of runs that comes with the repository: crh did not write these runs, and a
/// symlink could point anywhere.
fn reject_untrusted(repository: &Repository, root: &Path, folder: &Path) -> Result<(), Failure> {
    for path in [root.join(".crh"), folder.to_owned()] {
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            let message = format!("`{}` is a symbolic link", path.display());
            return Err(Failure::usage(message).hint(RUN_DIR_HINT));
        }
    }
    if folder.is_dir() && repository.tracks(RUNS).or_fail(FailureKind::External)? {
        let message =
            format!("`{RUNS}` is committed to this repository, so its runs may not be yours");
        return Err(Failure::usage(message).hint(RUN_DIR_HINT));
    }
    Ok(())
}

/// Finds a run by name, by a prefix of it, or by the path of its folder; by default the newest.
pub(crate) fn run_folder(
    environment: &Environment,
    run_dir: Option<&Path>,
    run: Option<&str>,
) -> Result<RunFolder, Failure> {
    let result = match run {
        Some(path) if path.contains('/') => {
            // Normalises the path for messages: `./a` becomes `a`.
            let path: PathBuf = environment.folder.join(path).components().collect();
            RunFolder::open(&path)
        }
        Some(_) | None => run_folder::find_run(&runs_folder(environment, run_dir)?, run),
    };
    result.map_err(|error| folder_failure_in(error, run_dir))
}

/// Turns the error into a failure with a hint.
pub(crate) fn folder_failure(error: FolderError) -> Failure {
    let default = None;
    folder_failure_in(error, default)
}

/// Like [`folder_failure`], with hints that repeat `--run-dir`.
fn folder_failure_in(error: FolderError, run_dir: Option<&Path>) -> Failure {
    let run_dir_flag =
        run_dir.map(|dir| format!(" --run-dir {}", dir.display())).unwrap_or_default();
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
        FolderError::Ambiguous { .. } => (FailureKind::Usage, "write more of its name".to_owned()),
        FolderError::Unfinished { run, .. } => (
            FailureKind::Usage,
            format!("continue it with `crh review --resume {run}{run_dir_flag}`"),
        ),
        FolderError::InUse(_) => (FailureKind::Usage, "wait until it is finished".to_owned()),
        FolderError::Disk { .. } => (FailureKind::External, RUN_DIR_HINT.to_owned()),
    };
    Failure::new(kind, error).hint(hint)
}
