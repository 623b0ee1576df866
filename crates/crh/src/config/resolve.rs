//! From what each source says to the settings in effect. Pure: files and environment come in as values.

use super::environment::Environment;
use super::file::ConfigFile;
use super::key::Origin;
use super::keys::{KEYS, RawSettings, Settings};
use super::read::{Owner, read};
use super::value::Place;
use crate::failure::Failure;

/// What each source says, in the order of their precedence.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) flags: RawSettings,
    pub(crate) variables: RawSettings,
    pub(crate) repository: RawSettings,
    pub(crate) user: RawSettings,
}

/// The settings in effect.
pub(crate) fn settle(
    environment: &Environment,
    user: Option<&ConfigFile>,
    repository: Option<&ConfigFile>,
    flags: RawSettings,
) -> Result<Settings, Failure> {
    let file = |file: Option<&ConfigFile>, owner| {
        file.map_or(Ok(RawSettings::default()), |file| read(file, owner, environment))
    };
    let sources = Sources {
        flags,
        variables: variables(environment)?,
        repository: file(repository, Owner::Repository)?,
        user: file(user, Owner::User)?,
    };
    Ok(Settings::resolve(sources, environment))
}

/// What the variables of the environment say.
fn variables(environment: &Environment) -> Result<RawSettings, Failure> {
    let mut raw = RawSettings::default();
    let place = Place { folder: &environment.folder, home: environment.home() };
    for key in KEYS {
        let Some(name) = key.facts.variable else { continue };
        let Some(value) = environment.variable(name) else { continue };
        (key.read_variable)(&mut raw, value, place, Origin::Variable(name)).map_err(|wrong| {
            Failure::usage(format!("the variable `{name}` {}", wrong.message))
                .hint(format!("it stands for `{}`; unset it, or correct it", key.facts.path()))
        })?;
    }
    Ok(raw)
}

#[cfg(test)]
#[path = "resolve/tests.rs"]
mod tests;
