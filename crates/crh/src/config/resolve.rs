//! Resolves the settings in effect from all sources. Does no I/O: files and environment are
//! arguments.

use super::environment::Environment;
use super::file::ConfigFile;
use super::key::{ResolvedSetting, SettingOrigin, SourcedValue};
use super::keys::{KEYS, RawSettings, Settings};
use super::read::{ConfigOwner, read};
use super::value::{ConfigValue, PathContext};
use crate::failure::Failure;

/// Settings of each source, by descending precedence.
#[derive(Debug, Default)]
pub(crate) struct SettingSources {
    pub(crate) flags: RawSettings,
    pub(crate) variables: RawSettings,
    pub(crate) repository: RawSettings,
    pub(crate) user: RawSettings,
}

/// Parses the files and variables and resolves every key.
pub(crate) fn resolve(
    environment: &Environment,
    user: Option<&ConfigFile>,
    repository: Option<&ConfigFile>,
    flags: RawSettings,
) -> Result<Settings, Failure> {
    let read_file = |file: Option<&ConfigFile>, owner| {
        file.map_or(Ok(RawSettings::default()), |file| read(file, owner, environment))
    };
    let sources = SettingSources {
        flags,
        variables: variables(environment)?,
        repository: read_file(repository, ConfigOwner::Repository)?,
        user: read_file(user, ConfigOwner::User)?,
    };
    Ok(Settings::resolve(sources, environment))
}

impl Settings {
    /// A warning about a `review.fail_on` of the repository that has no effect.
    pub(crate) fn milder_fail_on(&self) -> Option<String> {
        let ResolvedSetting { value, origins, milder } = &self.review_fail_on;
        let SourcedValue { value: ignored, origin: file } = milder.as_ref()?;
        let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
        Some(format!(
            "`{file}`: `review.fail_on = {}` is ignored: a repository can only be stricter than {} ({})",
            ignored.json(),
            value.json(),
            origins.join(", ")
        ))
    }
}

/// Settings from environment variables.
fn variables(environment: &Environment) -> Result<RawSettings, Failure> {
    let mut raw = RawSettings::default();
    let paths = PathContext { folder: &environment.folder, home: environment.home() };
    for key in KEYS {
        let Some(name) = key.spec.variable else { continue };
        let Some(value) = environment.variable(name) else { continue };
        (key.read_variable)(&mut raw, value, paths, SettingOrigin::Variable(name)).map_err(
            |error| {
                Failure::usage(format!("the variable `{name}` {}", error.message))
                    .hint(format!("it sets `{}`; correct or unset it", key.spec.path()))
            },
        )?;
    }
    Ok(raw)
}

#[cfg(test)]
mod tests;
