//! Parses a config file: all keys must be known, allowed for the file's owner, and valid.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::environment::{Environment, UserConfigPath};
use super::file::ConfigFile;
use super::key::{ConfigKey, KeyAccess, SettingOrigin};
use super::keys::{KEYS, RawSettings};
use super::value::{PathContext, quoted};
use crate::failure::Failure;

/// Maximum length of a word that gets a suggestion. Longer words resemble no key.
const WORD_MAX: usize = 40;

/// Who wrote a config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigOwner {
    /// The repository: may not set keys with [`KeyAccess::UserOnly`].
    Repository,
    /// The user: may set every key.
    User,
}

impl ConfigOwner {
    /// Label of a list of keys for a hint.
    fn known_keys_label(self) -> &'static str {
        match self {
            Self::Repository => "a repository may set",
            Self::User => "known keys",
        }
    }

    fn may_set(self, key: &ConfigKey) -> bool {
        match (self, key.spec.access) {
            (Self::Repository, KeyAccess::UserOnly) => false,
            (Self::Repository, KeyAccess::Anyone | KeyAccess::RepositoryStricter)
            | (Self::User, _) => true,
        }
    }
}

/// Parses the settings of a file. Reports the first error in file order.
pub(crate) fn read(
    file: &ConfigFile,
    owner: ConfigOwner,
    environment: &Environment,
) -> Result<RawSettings, Failure> {
    let document = DeTable::parse(&file.text).map_err(|error| {
        let offset = error.span().unwrap_or_default().start;
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        error_at(file, offset, &format!("invalid TOML: {message}")).hint(
            "`crh init` writes a template; `crh config schema` prints a JSON Schema for editors",
        )
    })?;
    let mut reader = ConfigReader { file, owner, environment, raw: RawSettings::default() };
    for (name, value) in in_file_order(document.get_ref()) {
        match (find(None, name.get_ref()), section(name.get_ref()), value.get_ref()) {
            (Some(key), _, _) => reader.set(key, name, value)?,
            (None, Some(section), DeValue::Table(table)) => reader.set_section(section, table)?,
            (None, Some(section), _) => {
                let message = format!("`{section}` is a section, not a key");
                return Err(error_at(file, name.span().start, &message)
                    .hint(format!("write `[{section}]` and put its keys on the lines below")));
            }
            (None, None, DeValue::Table(_)) => return Err(reader.unknown_section(name)),
            (None, None, _) => return Err(reader.unknown_key(None, name)),
        }
    }
    Ok(reader.raw)
}

/// A key and its value in a TOML table.
type TomlEntry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

/// Entries in file order, so that the first error in the file is reported.
fn in_file_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<TomlEntry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

fn find(section: Option<&str>, name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.spec.section == section && key.spec.name == name)
}

/// The name that a file may write in brackets: the section of a key, or a key whose value is a
/// table.
fn bracket_name(key: &ConfigKey) -> Option<&'static str> {
    let is_table = key.spec.section.is_none() && key.spec.example.starts_with('{');
    key.spec.section.or(is_table.then_some(key.spec.name))
}

fn section(name: &str) -> Option<&'static str> {
    KEYS.iter().filter_map(|key| key.spec.section).find(|section| *section == name)
}

struct ConfigReader<'a> {
    file: &'a ConfigFile,
    owner: ConfigOwner,
    environment: &'a Environment,
    raw: RawSettings,
}

impl ConfigReader<'_> {
    fn set_section(&mut self, section: &str, table: &DeTable<'_>) -> Result<(), Failure> {
        for (name, value) in in_file_order(table) {
            let key = find(Some(section), name.get_ref());
            let key = key.ok_or_else(|| self.unknown_key(Some(section), name))?;
            self.set(key, name, value)?;
        }
        Ok(())
    }

    fn set(
        &mut self,
        key: &ConfigKey,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Failure> {
        let (path, offset) = (key.spec.path(), name.span().start);
        if !self.owner.may_set(key) {
            let message = format!("`{path}` is not allowed in a repository's `crh.toml`");
            return Err(error_at(self.file, offset, &message)
                .hint(format!("set it in {}", self.allowed_sources(key))));
        }
        let paths = PathContext { folder: &self.file.folder, home: self.environment.home() };
        let (line, _) = position(&self.file.text, offset);
        let origin = SettingOrigin::File { name: self.file.name.clone(), line };
        (key.read)(&mut self.raw, value, paths, origin).map_err(|error| {
            error_at(self.file, error.span.start, &format!("`{path}` {}", error.message))
                .hint(format!("example: `{} = {}`", key.spec.name, key.spec.example))
        })
    }

    /// Where the user can set a key, for a hint.
    fn allowed_sources(&self, key: &ConfigKey) -> String {
        let config = match self.environment.user_config() {
            UserConfigPath::Explicit(path) | UserConfigPath::Default(path) => {
                format!("`{}`", self.environment.display_path(&path))
            }
            UserConfigPath::NoHome => "your own config".to_owned(),
        };
        let variable = key.spec.variable.map(|name| format!("the variable `{name}`"));
        let flag = key.spec.flag.map(|flag| format!("the flag `{}`", flag.name));
        let others: Vec<String> = variable.into_iter().chain(flag).collect();
        match others.is_empty() {
            true => config,
            false => format!("{config}, or use {}", others.join(" or ")),
        }
    }

    fn unknown_section(&self, name: &Spanned<DeString<'_>>) -> Failure {
        let message = format!("unknown section {}", quoted(name.get_ref()));
        let failure = error_at(self.file, name.span().start, &message);
        match nearest(name.get_ref(), KEYS.iter().filter_map(bracket_name)) {
            Some(suggestion) => failure.hint(format!("did you mean `[{suggestion}]`?")),
            None => failure.hint(format!("known sections: {}", self.sections().join(", "))),
        }
    }

    fn unknown_key(&self, section: Option<&str>, name: &Spanned<DeString<'_>>) -> Failure {
        let message = format!("unknown key {} {}", quoted(name.get_ref()), location(section));
        let failure = error_at(self.file, name.span().start, &message);
        let (in_section, in_other_sections): (Vec<&ConfigKey>, Vec<&ConfigKey>) =
            KEYS.iter().partition(|key| key.spec.section == section);
        if let Some(key) = in_other_sections.iter().find(|key| key.spec.name == name.get_ref()) {
            let section_text = location(key.spec.section);
            return failure.hint(format!("`{}` belongs {section_text}", key.spec.name));
        }
        let find_similar = |keys: &[&'static ConfigKey]| {
            let similar_name = nearest(name.get_ref(), keys.iter().map(|key| key.spec.name))?;
            keys.iter().find(|key| key.spec.name == similar_name).copied()
        };
        if let Some(key) = find_similar(&in_section) {
            let place = match self.owner.may_set(key) {
                true => String::new(),
                false => format!(" Set it in {}", self.allowed_sources(key)),
            };
            return failure.hint(format!("did you mean `{}`?{place}", key.spec.name));
        }
        let settable: Vec<&ConfigKey> =
            in_other_sections.into_iter().filter(|key| self.owner.may_set(key)).collect();
        if let Some(key) = find_similar(&settable) {
            let section_text = location(key.spec.section);
            return failure
                .hint(format!("did you mean `{}`, which belongs {section_text}?", key.spec.name));
        }
        let allowed_keys = in_section.into_iter().filter(|key| self.owner.may_set(key));
        let mut known_names: Vec<String> =
            allowed_keys.map(|key| format!("`{}`", key.spec.name)).collect();
        if section.is_none() {
            let sections = self.sections();
            known_names
                .retain(|name| !sections.contains(&format!("`[{}]`", name.trim_matches('`'))));
            known_names.extend(sections);
        }
        match known_names.is_empty() {
            true => failure.hint(format!("a repository cannot set any key {}", location(section))),
            false => failure.hint(format!(
                "{}: {}",
                self.owner.known_keys_label(),
                known_names.join(", ")
            )),
        }
    }

    /// Names in brackets that the owner may write.
    fn sections(&self) -> Vec<String> {
        let keys = KEYS.iter().filter(|key| self.owner.may_set(key));
        let mut sections: Vec<String> =
            keys.filter_map(bracket_name).map(|name| format!("`[{name}]`")).collect();
        sections.dedup();
        sections
    }
}

/// Where in a file the keys of a section belong.
fn location(section: Option<&str>) -> String {
    match section {
        Some(section) => format!("in `[{section}]`"),
        None => "above the first section".to_owned(),
    }
}

/// The most similar known word, with at most one typo per three letters, rounded up.
fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let max_typos = word.chars().count().div_ceil(3);
    candidates
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(distance, _)| *distance <= max_typos)
        .min()
        .map(|(_, name)| name)
}

fn error_at(file: &ConfigFile, offset: usize, message: &str) -> Failure {
    let (line, column) = position(&file.text, offset);
    Failure::usage(format!("{}:{line}:{column}: {message}", file.name))
}

/// Line and column of a byte, both starting at 1; columns count characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let text_before = text.get(..offset).unwrap_or(text);
    let line_start = text_before.rfind('\n').map_or(0, |newline| newline + 1);
    (text_before.matches('\n').count() + 1, text_before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
