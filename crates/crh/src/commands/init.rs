//! `crh init`: writes a commented `crh.toml` to the root of the repository, or sets up a coding
//! agent, a git hook or a local model.

mod agent;
mod local;

use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::cli::InitArgs;
use crate::config::environment::Environment;
use crate::config::file::REPOSITORY_FILE;
use crate::config::page;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::Repository;

pub(crate) fn run(args: &InitArgs, environment: &Environment) -> Result<(), Failure> {
    if let Some(url) = &args.local {
        return local::run(url.as_deref(), environment);
    }
    let repository = Repository::discover(&environment.folder)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("run `crh init` inside a checkout"))?;
    let root = repository.work_tree.clone().ok_or_else(|| {
        Failure::usage("not inside a checkout").hint("run `crh init` inside a checkout")
    })?;
    if !args.agent.is_empty() || !args.hook.is_empty() {
        return agent::run(args, &repository, &root, environment);
    }
    let path = root.join(REPOSITORY_FILE);
    if args.force {
        replace(&path)?;
    } else {
        let hint = format!("`crh init --force` overwrites `{REPOSITORY_FILE}`");
        create(&path, &page::template(), &hint)?;
    }
    ui::note(&format!("wrote `{}`", path.display()));
    Ok(())
}

/// Creates the file, which must not exist; `hint` says what to do if it does. Removes it again if
/// writing fails.
fn create(path: &Path, text: &str, hint: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    if file.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        return Err(
            Failure::usage(format!("`{}` already exists", path.display())).hint(hint.to_owned())
        );
    }
    let result = file.and_then(|mut file| {
        let result = file.write_all(text.as_bytes());
        result.or_else(|error| fs::remove_file(path).and(Err(error)))
    });
    result.map_err(|error| write_failure(path, error))
}

/// Writes a temporary file and renames it, so that the old file is never lost and a symlink is
/// replaced, not followed.
fn replace(path: &Path) -> Result<(), Failure> {
    let new_path = path.with_extension("toml.new");
    // An interrupted `crh init` may have left such a file.
    match fs::remove_file(&new_path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(write_failure(&new_path, error));
        }
        Ok(()) | Err(_) => {}
    }
    create(&new_path, &page::template(), "another `crh init` writes it; try again")?;
    let result = fs::rename(&new_path, path);
    result
        .or_else(|error| fs::remove_file(&new_path).and(Err(error)))
        .map_err(|error| write_failure(path, error))
}

fn write_failure(path: &Path, error: io::Error) -> Failure {
    let message = format!("cannot write `{}`", path.display());
    Failure::new(FailureKind::from_io(&error), anyhow::Error::new(error).context(message))
}
