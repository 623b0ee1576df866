//! Settings for todo files and issue trackers.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::ChoiceValue;
use super::value::{ConfigValue, PathContext, ValueError, quoted, text, type_mismatch};

/// Maximum length of a folder path in bytes: longer than paths that people write.
const PATH_MAX: usize = 256;
/// Maximum length of a team or project key: twice the longest key that a tracker allows.
const NAME_MAX: usize = 64;
/// Maximum words of a tracker command: far more than people write.
const WORDS_MAX: usize = 100;
/// Maximum length of one word in bytes: longer than any word of a tracker command.
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
    const EXPECTED: &'static str =
        "the path of a folder inside the repository, relative to its root";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let path_text = text::<Self>(value)?;
        let invalid_path = |reason: &str| {
            let message = format!("cannot be {}: {reason}", quoted(path_text));
            ValueError { span: value.span(), message }
        };
        if path_text.len() > PATH_MAX || path_text.chars().any(char::is_control) {
            return Err(type_mismatch::<Self>(value));
        }
        let mut folder = PathBuf::new();
        for part in Path::new(path_text).components() {
            match part {
                Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                    return Err(invalid_path("`.git` belongs to git"));
                }
                Component::Normal(name) => folder.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(invalid_path(
                        "write a path relative to the root of the repository, without `..`",
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

/// Key of a team or project, if set. The key becomes part of a query, so it has only letters,
/// digits, `_` and `-`.
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
        let is_allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let is_valid = (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_allowed);
        if is_valid { Ok(Self(Some(name.to_owned()))) } else { Err(type_mismatch::<Self>(value)) }
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
