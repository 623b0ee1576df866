//! A file of settings: every key of it known, of a rank that its owner has, and with a value that works.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::environment::{Environment, UserConfig};
use super::file::ConfigFile;
use super::key::{Key, Origin, Rank};
use super::keys::{KEYS, RawSettings};
use super::value::{Place, quoted};
use crate::failure::Failure;

/// No key is longer, so a longer word is like none of them.
const WORD_MAX: usize = 40;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The repository's: it may set what anyone may.
    Repository,
    /// The user's own: it may set everything.
    User,
}

impl Owner {
    fn may_set(self, key: &Key) -> bool {
        match (self, key.facts.rank) {
            (Self::Repository, Rank::User) => false,
            (Self::Repository, Rank::Anyone) | (Self::User, Rank::Anyone | Rank::User) => true,
        }
    }
}

/// What a file sets. The first thing that is wrong with it is the error.
pub(crate) fn read(
    file: &ConfigFile,
    owner: Owner,
    environment: &Environment,
) -> Result<RawSettings, Failure> {
    let document = DeTable::parse(&file.text).map_err(|error| {
        let at = error.span().unwrap_or_default().start;
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        wrong(file, at, &format!("this is not TOML: {message}"))
            .hint("`crh init` writes a file to start from; `crh config schema` serves editors")
    })?;
    let mut reader = Reader { file, owner, environment, raw: RawSettings::default() };
    for (name, value) in in_order(document.get_ref()) {
        match (find(None, name.get_ref()), section(name.get_ref()), value.get_ref()) {
            (Some(key), _, _) => reader.set(key, name, value)?,
            (None, Some(section), DeValue::Table(table)) => reader.set_all(section, table)?,
            (None, Some(section), _) => {
                let message = format!("`{section}` is a section, not a key");
                return Err(wrong(file, name.span().start, &message)
                    .hint(format!("write `[{section}]`, and its keys on the lines below")));
            }
            (None, None, DeValue::Table(_)) => return Err(reader.unknown_section(name)),
            (None, None, _) => return Err(reader.unknown(None, name)),
        }
    }
    Ok(reader.raw)
}

/// A name in a file and what stands behind it.
type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

/// The entries as they stand in the file, so that the first error of it is the one that is told.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

fn find(section: Option<&str>, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.facts.section == section && key.facts.name == name)
}

fn section(name: &str) -> Option<&'static str> {
    KEYS.iter().filter_map(|key| key.facts.section).find(|section| *section == name)
}

/// A file on its way to settings.
struct Reader<'a> {
    file: &'a ConfigFile,
    owner: Owner,
    environment: &'a Environment,
    raw: RawSettings,
}

impl Reader<'_> {
    fn set_all(&mut self, section: &str, table: &DeTable<'_>) -> Result<(), Failure> {
        for (name, value) in in_order(table) {
            let key = find(Some(section), name.get_ref());
            let key = key.ok_or_else(|| self.unknown(Some(section), name))?;
            self.set(key, name, value)?;
        }
        Ok(())
    }

    fn set(
        &mut self,
        key: &Key,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Failure> {
        let (path, at) = (key.facts.path(), name.span().start);
        if !self.owner.may_set(key) {
            return Err(wrong(self.file, at, &format!("a repository may not set `{path}`"))
                .hint(format!("it belongs in {}", self.places(key))));
        }
        let place = Place { folder: &self.file.folder, home: self.environment.home() };
        let (line, _) = position(&self.file.text, at);
        let origin = Origin::File { name: self.file.name.clone(), line };
        (key.read)(&mut self.raw, value, place, origin).map_err(|found| {
            wrong(self.file, found.at.start, &format!("`{path}` {}", found.message))
                .hint(format!("for example: `{} = {}`", key.facts.name, key.facts.example))
        })
    }

    /// Where a key of the user's can be set.
    fn places(&self, key: &Key) -> String {
        let config = match self.environment.user_config() {
            UserConfig::Named(path) | UserConfig::Usual(path) => {
                format!("your own config (`{}`)", self.environment.shown(&path))
            }
            UserConfig::Nowhere => "your own config".to_owned(),
        };
        let variable = key.facts.variable.map(|name| format!("the variable `{name}`"));
        let flag = key.facts.flag.map(|flag| format!("the flag `{}`", flag.name));
        let mut places: Vec<String> =
            [Some(config), variable, flag].into_iter().flatten().collect();
        let last = places.pop().unwrap_or_default();
        if places.is_empty() { last } else { format!("{} or {last}", places.join(", ")) }
    }

    fn unknown_section(&self, name: &Spanned<DeString<'_>>) -> Failure {
        let message = format!("there is no section {}", quoted(name.get_ref()));
        let failure = wrong(self.file, name.span().start, &message);
        match nearest(name.get_ref(), KEYS.iter().filter_map(|key| key.facts.section)) {
            Some(near) => failure.hint(format!("did you mean `[{near}]`?")),
            None => failure.hint(format!("there are {}", self.sections().join(", "))),
        }
    }

    fn unknown(&self, section: Option<&str>, name: &Spanned<DeString<'_>>) -> Failure {
        let message = format!("there is no key {} {}", quoted(name.get_ref()), standing(section));
        let failure = wrong(self.file, name.span().start, &message);
        let (here, elsewhere): (Vec<&Key>, Vec<&Key>) =
            KEYS.iter().partition(|key| key.facts.section == section);
        if let Some(key) = elsewhere.iter().find(|key| key.facts.name == name.get_ref()) {
            let place = standing(key.facts.section);
            return failure.hint(format!("`{}` stands {place}", key.facts.name));
        }
        let near = |keys: &[&Key]| {
            let near = nearest(name.get_ref(), keys.iter().map(|key| key.facts.name))?;
            keys.iter().find(|key| key.facts.name == near).map(|key| key.facts)
        };
        if let Some(key) = near(&here) {
            return failure.hint(format!("did you mean `{}`?", key.name));
        }
        if let Some(key) = near(&elsewhere) {
            let place = standing(key.section);
            return failure.hint(format!("did you mean `{}`, which stands {place}?", key.name));
        }
        let known = here.into_iter().filter(|key| self.owner.may_set(key));
        let mut known: Vec<String> = known.map(|key| format!("`{}`", key.facts.name)).collect();
        if section.is_none() {
            known.extend(self.sections());
        }
        match known.is_empty() {
            true => failure.hint(format!("a repository may set nothing {}", standing(section))),
            false => failure.hint(format!("there are {}", known.join(", "))),
        }
    }

    /// The sections in which the owner may set something.
    fn sections(&self) -> Vec<String> {
        let keys = KEYS.iter().filter(|key| self.owner.may_set(key));
        let sections = keys.filter_map(|key| key.facts.section);
        let mut sections: Vec<String> = sections.map(|name| format!("`[{name}]`")).collect();
        sections.dedup();
        sections
    }
}

/// Where in a file the keys of a section stand.
fn standing(section: Option<&str>) -> String {
    match section {
        Some(section) => format!("in `[{section}]`"),
        None => "before the sections".to_owned(),
    }
}

/// The known word that somebody may have meant: one slip in three letters is a slip, more is another word.
fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let allowed = word.chars().count().div_ceil(3);
    known
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

fn wrong(file: &ConfigFile, at: usize, message: &str) -> Failure {
    let (line, column) = position(&file.text, at);
    Failure::usage(format!("{}:{line}:{column}: {message}", file.name))
}

/// The line and the column of a byte, both from 1 on, the column in characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
