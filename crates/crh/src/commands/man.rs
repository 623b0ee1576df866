//! `crh man`: manual pages generated from the command line definition.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;

pub(crate) fn run(args: &ManArgs, environment: &Environment) -> Result<(), Failure> {
    match &args.out {
        // Leave out `crh help`, which has no page.
        None => {
            let page = Man::new(Cli::command().disable_help_subcommand(true));
            ui::result(|out| page.render(out))
        }
        Some(folder) => write(&environment.folder.join(folder)),
    }
}

/// Writes `crh.1`, `crh-merge.1` and so on.
fn write(folder: &Path) -> Result<(), Failure> {
    let folder_name = folder.display();
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| format!("cannot write manual pages to `{folder_name}`"))
        .or_fail(FailureKind::Usage)?;
    ui::note(&format!("wrote manual pages to `{folder_name}`; read one with `man -l`"));
    Ok(())
}
