//! Settings for todo files and issue trackers.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::ChoiceValue;
use super::value::{ConfigValue, PathContext, ValueError, quoted, text, type_mismatch};

/// Longer than paths that people write.
const PATH_MAX: usize = 256;
/// Twice the longest project key that a tracker allows.
const NAME_MAX: usize = 64;
/// Far more words than people write.
const WORDS_MAX: usize = 100;
/// Longer than any word of such a command.
const WORD_MAX: usize = 4_096;

/// A folder inside the repository, relative to its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TodoFolder(PathBuf);

impl TodoFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for TodoFolder {
    fn default() -> Self {
        Self(".context/compound-engineering/todos".into())
    }
}

impl ConfigValue for TodoFolder {
    type TomlType = String;
    const EXPECTED: &'static str = "the path of a folder inside the repository";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let written = text::<Self>(value)?;
        let wrong = |why: &str| {
            let message = format!("cannot be {}: {why}", quoted(written));
            ValueError { at: value.span(), message }
        };
        if written.len() > PATH_MAX || written.chars().any(char::is_control) {
            return Err(type_mismatch::<Self>(value));
        }
        let mut folder = PathBuf::new();
        for part in Path::new(written).components() {
            match part {
                Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                    return Err(wrong("`.git` belongs to git"));
                }
                Component::Normal(name) => folder.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(wrong(
                        "the path must start at the root of the repository and must not contain `..`",
                    ));
                }
            }
        }
        match folder.as_os_str().is_empty() {
            true => Err(type_mismatch::<Self>(value)),
            false => Ok(Self(folder)),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.to_string_lossy())
    }
}

/// Issue tracker for tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum TrackerChoice {
    /// The one that the project's documentation names, else GitHub issues
    Auto,
    /// GitHub issues
    Github,
    /// Linear
    Linear,
    /// Jira
    Jira,
    /// The program in `tracker.command`
    Command,
    /// No tracker
    None,
}

impl ChoiceValue for TrackerChoice {
    const CHOICES: &'static str = "`auto`, `github`, `linear`, `jira`, `command` or `none`";
}

/// Key of a team or project, if set. Restricted to plain characters because it becomes part of a
/// query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrackerName(Option<String>);

impl TrackerName {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl ConfigValue for TrackerName {
    type TomlType = String;
    const EXPECTED: &'static str = "a key of letters, digits, `_` and `-`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let name = text::<Self>(value)?;
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let good = (1..=NAME_MAX).contains(&name.len()) && name.chars().all(plain);
        if good { Ok(Self(Some(name.to_owned()))) } else { Err(type_mismatch::<Self>(value)) }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// A program and its arguments; empty if not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrackerCommand(Vec<String>);

impl TrackerCommand {
    /// The program and its arguments, if set.
    pub(crate) fn get(&self) -> Option<(&str, &[String])> {
        self.0.split_first().map(|(program, arguments)| (program.as_str(), arguments))
    }
}

impl ConfigValue for TrackerCommand {
    type TomlType = Vec<String>;
    const EXPECTED: &'static str = "a list of a program and its arguments";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let list = value.get_ref().as_array().ok_or_else(|| type_mismatch::<Self>(value))?;
        if list.len() > WORDS_MAX {
            return Err(type_mismatch::<Self>(value));
        }
        let words = list.iter().map(|item| {
            let word = item.get_ref().as_str();
            let is_word = |word: &&str| word.len() <= WORD_MAX && !word.contains('\0');
            word.filter(is_word).map(str::to_owned).ok_or_else(|| type_mismatch::<Self>(item))
        });
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        match words.first().is_some_and(|program| program.trim().is_empty()) {
            true => Err(type_mismatch::<Self>(value)),
            false => Ok(Self(words)),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}
