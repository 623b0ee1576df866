//! `crh init`: a commented file of settings in the root of the repository.

use std::fs;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;

use crate::cli::InitArgs;
use crate::config::environment::Environment;
use crate::config::file::REPOSITORY_FILE;
use crate::config::page;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_git::Repository;

pub(crate) fn run(args: &InitArgs, environment: &Environment) -> Result<(), Failure> {
    let repository = Repository::discover(&environment.folder)
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("run `crh init` inside a checkout"))?;
    let root = repository.work_tree.ok_or_else(|| {
        Failure::usage("there is no checkout here to write into")
            .hint("run `crh init` inside a checkout")
    })?;
    let path = root.join(REPOSITORY_FILE);
    if args.force {
        replace(&path)?;
    } else {
        create(&path)?;
    }
    ui::note(&format!("wrote `{}`", path.display()));
    Ok(())
}

/// Writes a file that is not there yet. Half a file is taken away again.
fn create(path: &Path) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    if file.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        return Err(Failure::usage(format!("there is a `{}` already", path.display()))
            .hint(format!("move it away; `--force` replaces a `{REPOSITORY_FILE}`")));
    }
    let written = file.and_then(|mut file| {
        let written = file.write_all(page::template().as_bytes());
        written.or_else(|error| fs::remove_file(path).and(Err(error)))
    });
    written.with_context(|| writing(path)).or_fail(Kind::Usage)
}

/// Writes a new file beside the old one and puts it in its place: the old one is not lost halfway, and a link is
/// replaced and not followed.
fn replace(path: &Path) -> Result<(), Failure> {
    let new = path.with_extension("toml.new");
    create(&new)?;
    let replaced = fs::rename(&new, path);
    replaced
        .or_else(|error| fs::remove_file(&new).and(Err(error)))
        .with_context(|| writing(path))
        .or_fail(Kind::Usage)
}

fn writing(path: &Path) -> String {
    format!("writing `{}`", path.display())
}
