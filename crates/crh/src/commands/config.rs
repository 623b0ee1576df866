//! `crh config`: the settings in effect, and the schema of the repository's file.

use super::repository_file::repository_file;
use crate::cli::{ConfigCommand, ConfigShowArgs, ListingArg};
use crate::config::environment::Environment;
use crate::config::file::{ConfigFile, REPOSITORY_FILE};
use crate::config::keys::RawSettings;
use crate::config::page;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, ui};
use crh_git::Repository;
use crh_review::stable_json;

pub(crate) fn run(command: ConfigCommand, environment: &Environment) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show(args) => show(*args, environment),
        ConfigCommand::Schema => ui::result_text(&stable_json(&page::schema()).or_fail(Kind::Bug)?),
    }
}

fn show(args: ConfigShowArgs, environment: &Environment) -> Result<(), Failure> {
    let repository = file_in_effect(environment)?;
    let mut flags = RawSettings::default();
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    args.analysers.set(&mut flags);
    args.fix.set(&mut flags);
    args.look.set(&mut flags);
    args.model.set(&mut flags)?;
    args.review.set(&mut flags);
    args.budget.set(&mut flags);
    let settings = config::load(environment, repository.as_ref(), flags)?;
    // Every value is promised, and this one may have no place to be.
    settings.store_folder.value.path()?;
    ui::result_text(&match args.format {
        ListingArg::Text => page::shown_text(&settings),
        ListingArg::Json => stable_json(&page::shown_json(&settings)).or_fail(Kind::Bug)?,
    })
}

/// The file of the repository that the user is in, if they are in one.
fn file_in_effect(environment: &Environment) -> Result<Option<ConfigFile>, Failure> {
    match Repository::discover(&environment.folder) {
        Ok(repository) => repository_file(&repository),
        Err(outside) => {
            ui::note(&format!("{outside}, so no `{REPOSITORY_FILE}` is in effect"));
            Ok(None)
        }
    }
}
