//! Finds an interrupted fix in a checkout and rolls it back.

use std::path::{Path, PathBuf};

use super::journal::{
    ApplyError, LockedCheckout, MARKER, MARKER_DRAFT, RolledBackFix, UNDISTURBED,
};
use crate::commands::run_lookup;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::ui;
use crh_git::Repository;

/// Whether a fix was interrupted in the current checkout.
pub(crate) fn is_interrupted(environment: &Environment) -> bool {
    interrupted_checkout(environment).is_some()
}

/// Rolls back an interrupted fix and prints a note.
pub(crate) fn roll_back_interrupted_fix(environment: &Environment) -> Result<(), Failure> {
    if let Some(recovered) = recover(environment)? {
        ui::note(&recovery_message(&recovered));
    }
    Ok(())
}

fn recovery_message(RolledBackFix { files, is_taking_back }: &RolledBackFix) -> String {
    let event = match is_taking_back {
        true => "an undo was interrupted, and the fixes are in place again",
        false => "rolled back an interrupted fix",
    };
    format!("{event}: {}", files.join(", "))
}

/// The root of the current checkout if a fix was interrupted there.
fn interrupted_checkout(environment: &Environment) -> Option<PathBuf> {
    // The caller that needs the repository reports its errors.
    let root = Repository::discover(&environment.folder).ok()?.work_tree?;
    [MARKER, MARKER_DRAFT].iter().any(|name| root.join(name).exists()).then_some(root)
}

/// Rolls back an interrupted fix in the current checkout, if there is one.
fn recover(environment: &Environment) -> Result<Option<RolledBackFix>, Failure> {
    let Some(root) = interrupted_checkout(environment) else { return Ok(None) };
    let stamp_key = run_lookup::stamp_key(environment)?;
    let locked = LockedCheckout::take(&root, stamp_key.as_ref())?;
    Ok(recovered(&locked, &root)?)
}

/// Rolls back an interrupted fix. Fails if the marker or its folder is part of the repository,
/// because then crh did not write it.
pub(super) fn recovered(
    locked: &LockedCheckout,
    root: &Path,
) -> Result<Option<RolledBackFix>, ApplyError> {
    let refused = |path: &str, why: &str| {
        Err(ApplyError::Place { path: path.to_owned(), why: why.to_owned() })
    };
    let Ok(repository) = Repository::discover(root) else {
        return refused(MARKER, "is not in a repository");
    };
    if let Some(problem) = run_lookup::state_problem(&repository, root) {
        return refused(run_lookup::STATE, problem);
    }
    for (path, exists) in
        [(MARKER, locked.is_between()?), (MARKER_DRAFT, locked.has_draft_of_marker()?)]
    {
        if exists && !matches!(repository.tracks(path), Ok(false)) {
            return refused(path, "is part of this repository");
        }
    }
    locked.recover(UNDISTURBED)
}
