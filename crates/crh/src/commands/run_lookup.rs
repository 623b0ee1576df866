//! Where runs lie, and which one is meant.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crh_git::{OpenError, Repository};
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{FolderError, RunFolder};

/// Where runs lie, from the root of a checkout.
const RUNS: &str = ".crh/runs";
const ELSEWHERE: &str = "`--run-dir DIR` names another folder";

/// The folder of all runs: the named one, or `.crh/runs` in the root of the checkout; outside of a repository in the
/// current folder. It need not be there yet.
pub(crate) fn runs_folder(
    environment: &Environment,
    run_dir: Option<&Path>,
) -> Result<PathBuf, Failure> {
    if let Some(named) = run_dir {
        return Ok(environment.folder.join(named));
    }
    let repository = match Repository::discover(&environment.folder) {
        Ok(repository) => repository,
        Err(OpenError::NotARepository(_)) => return Ok(environment.folder.join(RUNS)),
        Err(error) => return Err(Failure::new(Kind::Usage, error).hint(ELSEWHERE)),
    };
    let Some(root) = &repository.work_tree else {
        return Err(
            Failure::usage("this repository has no checkout to keep runs in").hint(ELSEWHERE)
        );
    };
    let folder = root.join(RUNS);
    trusted(&repository, root, &folder)?;
    Ok(folder)
}

/// Refuses a folder that came with the repository: what it shows was not written by crh, and what is written to it may
/// go anywhere.
fn trusted(repository: &Repository, root: &Path, folder: &Path) -> Result<(), Failure> {
    for path in [root.join(".crh"), folder.to_owned()] {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            let message = format!("`{}` is a symbolic link", path.display());
            return Err(Failure::usage(message).hint(ELSEWHERE));
        }
    }
    if folder.is_dir() && repository.tracks(RUNS).or_fail(Kind::Outside)? {
        let message = format!("`{RUNS}` is part of this repository: its runs may not be yours");
        return Err(Failure::usage(message).hint(ELSEWHERE));
    }
    Ok(())
}

/// The run that the user means: by its name, the beginning of it, or the path of its folder; the newest if nothing is
/// said.
pub(crate) fn run_folder(
    environment: &Environment,
    run_dir: Option<&Path>,
    wanted: Option<&str>,
) -> Result<RunFolder, Failure> {
    let found = match wanted {
        Some(path) if path.contains('/') => {
            // As it would be written by hand, for messages: `./a` is `a`.
            let path: PathBuf = environment.folder.join(path).components().collect();
            RunFolder::open(&path)
        }
        Some(_) | None => run_folder::find(&runs_folder(environment, run_dir)?, wanted),
    };
    found.map_err(|error| failed_in(error, run_dir))
}

/// Why there is no such run, for the user.
pub(crate) fn failed(error: FolderError) -> Failure {
    let default = None;
    failed_in(error, default)
}

/// The same for runs in a folder that was named: what is told to be typed names it, too.
fn failed_in(error: FolderError, run_dir: Option<&Path>) -> Failure {
    let there = run_dir.map(|dir| format!(" --run-dir {}", dir.display())).unwrap_or_default();
    let (kind, hint) = match &error {
        FolderError::NoRuns(_) => (Kind::Usage, format!("`crh review` makes one; {ELSEWHERE}")),
        FolderError::Unknown { .. } | FolderError::Foreign { .. } | FolderError::Damaged { .. } => {
            (Kind::Usage, format!("`crh show --list{there}` lists the runs"))
        }
        FolderError::Ambiguous { .. } => (Kind::Usage, "give more of its name".to_owned()),
        FolderError::Unfinished { run, .. } => {
            (Kind::Usage, format!("`crh review --resume {run}{there}` goes on with it"))
        }
        FolderError::InUse(_) => (Kind::Usage, "wait until it has ended".to_owned()),
        FolderError::Disk { .. } => (Kind::Outside, ELSEWHERE.to_owned()),
    };
    Failure::new(kind, error).hint(hint)
}
