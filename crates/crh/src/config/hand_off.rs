//! Settings of what a review leaves for later: the folder of todos, and the tracker.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::Word;
use super::value::{Place, Value, Wrong, mistyped, quoted, text};

/// Longer than the paths that people write.
const PATH_MAX: usize = 256;
/// Twice the longest key of a project that a tracker allows.
const NAME_MAX: usize = 64;
/// More words than a command line has that somebody wrote.
const WORDS_MAX: usize = 100;
/// Longer than any word of such a line.
const WORD_MAX: usize = 4_096;

/// A folder inside the repository, by its path from the root.
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

impl Value for TodoFolder {
    type Written = String;
    const WANTED: &'static str = "the path of a folder inside the repository";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let written = text::<Self>(value)?;
        let wrong = |why: &str| {
            let message = format!("cannot take {}: {why}", quoted(written));
            Wrong { at: value.span(), message }
        };
        if written.len() > PATH_MAX || written.chars().any(char::is_control) {
            return Err(mistyped::<Self>(value));
        }
        let mut folder = PathBuf::new();
        for part in Path::new(written).components() {
            match part {
                Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                    return Err(wrong("what is in `.git` is git's"));
                }
                Component::Normal(name) => folder.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(wrong(
                        "it is a path from the root of the repository, without `..`",
                    ));
                }
            }
        }
        match folder.as_os_str().is_empty() {
            true => Err(mistyped::<Self>(value)),
            false => Ok(Self(folder)),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.to_string_lossy())
    }
}

/// Where tickets are filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum TrackerChoice {
    /// Where the project's own texts say
    Auto,
    /// Issues at GitHub
    Github,
    /// Linear
    Linear,
    /// Jira
    Jira,
    /// The command of `tracker.command`
    Command,
    /// Nowhere
    None,
}

impl Word for TrackerChoice {
    const WORDS: &'static str = "`auto`, `github`, `linear`, `jira`, `command` or `none`";
}

/// The key of a team or a project; none if nobody has named one. It enters a query: nothing in it can end a word of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrackerName(Option<String>);

impl TrackerName {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for TrackerName {
    type Written = String;
    const WANTED: &'static str = "a key of letters, digits, `_` and `-`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let name = text::<Self>(value)?;
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let good = (1..=NAME_MAX).contains(&name.len()) && name.chars().all(plain);
        if good { Ok(Self(Some(name.to_owned()))) } else { Err(mistyped::<Self>(value)) }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// A program and its arguments; empty if nobody has named one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandLine(Vec<String>);

impl CommandLine {
    /// The program, and its arguments.
    pub(crate) fn get(&self) -> Option<(&str, &[String])> {
        self.0.split_first().map(|(program, arguments)| (program.as_str(), arguments))
    }
}

impl Value for CommandLine {
    type Written = Vec<String>;
    const WANTED: &'static str = "a list of words: a program and its arguments";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let list = value.get_ref().as_array().ok_or_else(|| mistyped::<Self>(value))?;
        if list.len() > WORDS_MAX {
            return Err(mistyped::<Self>(value));
        }
        let words = list.iter().map(|item| {
            let word = item.get_ref().as_str();
            let is_word = |word: &&str| word.len() <= WORD_MAX && !word.contains('\0');
            word.filter(is_word).map(str::to_owned).ok_or_else(|| mistyped::<Self>(item))
        });
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        match words.first().is_some_and(|program| program.trim().is_empty()) {
            true => Err(mistyped::<Self>(value)),
            false => Ok(Self(words)),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}
