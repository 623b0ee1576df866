//! `crh config`: shows settings, and prints the JSON Schema of `crh.toml`.

use super::repository_file::repository_file;
use crate::cli::{ConfigCommand, ConfigShowArgs, ListFormatArg};
use crate::config::environment::Environment;
use crate::config::file::{ConfigFile, REPOSITORY_FILE};
use crate::config::keys::RawSettings;
use crate::config::page;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_git::Repository;
use crh_review::stable_json;

pub(crate) fn run(command: ConfigCommand, environment: &Environment) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show(args) => show(*args, environment),
        ConfigCommand::Schema => {
            ui::result_text(&stable_json(&page::schema()).or_fail(FailureKind::Bug)?)
        }
    }
}

fn show(args: ConfigShowArgs, environment: &Environment) -> Result<(), Failure> {
    let repository = current_repository_file(environment)?;
    let mut flags = RawSettings::default();
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.analysers.set(&mut flags);
    args.fix.set(&mut flags);
    args.display.set(&mut flags);
    args.model.set(&mut flags)?;
    args.review.set(&mut flags);
    args.budget.set(&mut flags);
    let settings = config::load(environment, repository.as_ref(), flags)?;
    // `show` prints every value, so a missing store folder is an error here.
    settings.store_folder.value.path()?;
    ui::result_text(&match args.format {
        ListFormatArg::Text => page::settings_text(&settings),
        ListFormatArg::Json => {
            stable_json(&page::settings_json(&settings)).or_fail(FailureKind::Bug)?
        }
    })
}

/// The `crh.toml` of the current repository, if any.
fn current_repository_file(environment: &Environment) -> Result<Option<ConfigFile>, Failure> {
    match Repository::discover(&environment.folder) {
        Ok(repository) => repository_file(&repository),
        Err(error) => {
            ui::note(&format!("{error}: no `{REPOSITORY_FILE}` applies"));
            Ok(None)
        }
    }
}
