//! `crh man`: the manual pages, made from the command line itself.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;

pub(crate) fn run(args: &ManArgs, environment: &Environment) -> Result<(), Failure> {
    match &args.out {
        // `crh help` has no page of its own.
        None => {
            let page = Man::new(Cli::command().disable_help_subcommand(true));
            ui::result(|out| page.render(out))
        }
        Some(folder) => write(&environment.folder.join(folder)),
    }
}

/// Writes `crh.1`, `crh-merge.1` and so on.
fn write(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| format!("writing manual pages into `{shown}`"))
        .or_fail(Kind::Usage)?;
    ui::note(&format!("wrote the manual pages into `{shown}`; `man -l` shows one"));
    Ok(())
}
