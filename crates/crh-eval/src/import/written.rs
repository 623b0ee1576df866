//! Writes a case folder atomically, and never over an existing one.

use std::path::Path;
use std::{fs, io};

use anyhow::Context;

use super::case_file::{ChangeWords, case_file};
use crate::case::{Case, CaseSource, Files};
use crate::suite::folder::{BASE, CASE_FILE, DIFF, HEAD};
use crh_pipeline::failure::{Failure, FailureKind, OrFail};

/// Checks that none of the cases exists before the first one is written.
pub(super) fn check_room<'a>(
    out: &Path,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    for id in ids {
        if fs::symlink_metadata(out.join(id)).is_ok() {
            let message = format!("the case `{id}` already exists in `{}`", out.display());
            return Err(Failure::usage(message)
                .hint("pass another name with `--id`, or move the old case away"));
        }
    }
    Ok(())
}

pub(super) fn write(out: &Path, case: &Case, twin: Option<&ChangeWords>) -> Result<(), Failure> {
    let folder = out.join(&case.id);
    // The leading dot keeps an incomplete folder out of the suite.
    let partial = out.join(format!(".{}.partial", case.id));
    let write = || -> io::Result<()> {
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        fs::create_dir_all(&partial)?;
        let removed = contents(&partial, &case.source)?;
        let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
        fs::write(partial.join(CASE_FILE), case_file(case, &removed, twin))?;
        fs::rename(&partial, &folder)
    };
    let written = write();
    if written.is_err() && partial.exists() {
        // Clean up; the first error is the one to report.
        fs::remove_dir_all(&partial).unwrap_or_default();
    }
    written
        .with_context(|| format!("cannot write `{}`", folder.display()))
        .or_fail(FailureKind::Usage)
}

/// Writes the files of the change. Returns the paths that it deletes.
fn contents(folder: &Path, source: &CaseSource) -> io::Result<Vec<String>> {
    match source {
        CaseSource::Files { base, head } => {
            let changed = head.iter().filter(|(path, bytes)| base.get(*path) != Some(*bytes));
            let changed = changed.map(|(path, bytes)| (path.clone(), bytes.clone())).collect();
            write_all(&folder.join(BASE), base)?;
            write_all(&folder.join(HEAD), &changed)?;
            Ok(base.keys().filter(|path| !head.contains_key(*path)).cloned().collect())
        }
        CaseSource::Commits { diff, .. } | CaseSource::Diff(diff) => {
            fs::write(folder.join(DIFF), diff)?;
            Ok(Vec::new())
        }
    }
}

/// Writes files below a folder. Their paths were validated.
fn write_all(folder: &Path, files: &Files) -> io::Result<()> {
    for (path, bytes) in files {
        let path = folder.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}
