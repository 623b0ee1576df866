//! Value types of settings: parsing and error messages.

use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::environment::Environment;
use crate::failure::Failure;

/// Maximum length of a glob in bytes: longer than paths that people write.
const GLOB_MAX: usize = 256;
/// Maximum globs in a list: a hundred times what people list. There is a limit because every
/// changed file is matched against all globs.
const GLOBS_MAX: usize = 1_000;
/// Maximum length of a branch name in bytes. Git stores refs as files, and most file systems limit
/// file names to 255 bytes.
const BRANCH_MAX: usize = 255;
/// Maximum characters of a quoted value in an error message.
const QUOTED_MAX: usize = 100;

/// How to resolve paths in a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathContext<'a> {
    /// Folder that relative paths start from.
    pub(crate) folder: &'a Path,
    /// Replacement for `~/`.
    pub(crate) home: Option<&'a Path>,
}

/// Why a value is invalid. The message completes a sentence that starts with the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueError {
    /// Byte range of the problem in the file.
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
}

impl ValueError {
    /// An error about the whole value.
    fn without_position(message: impl Into<String>) -> Self {
        Self { span: 0..0, message: message.into() }
    }
}

/// A type of setting values.
pub(crate) trait ConfigValue: Sized {
    /// Type in a config file, for the JSON Schema.
    type TomlType: JsonSchema;
    /// Description of valid values; completes "must be".
    const EXPECTED: &'static str;

    /// Parses the value of a config file.
    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError>;

    /// Parses the value of an environment variable, which is not empty.
    fn from_variable(value: &OsStr, paths: PathContext<'_>) -> Result<Self, ValueError> {
        let text = value.to_str().ok_or_else(|| ValueError::without_position("is not UTF-8"))?;
        Self::from_toml(&Spanned::new(0..0, DeValue::String(text.into())), paths)
    }

    /// The value as JSON; null if there is none.
    fn json(&self) -> serde_json::Value;

    /// Whether a repository may replace the other value by this one, for keys that a repository
    /// cannot make milder.
    fn is_not_milder_than(&self, _other: &Self) -> bool {
        false
    }

    /// Adds the value of a flag. A value that is not a list is replaced instead.
    fn add(&mut self, flag_value: Self) {
        *self = flag_value;
    }
}

/// Quotes untrusted text for a message: on one line, shortened, in backticks.
pub(crate) fn quoted(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(QUOTED_MAX).flat_map(char::escape_debug).collect();
    let rest = if chars.next().is_some() { "…" } else { "" };
    format!("`{start}{rest}`")
}

pub(super) fn type_mismatch<T: ConfigValue>(value: &Spanned<DeValue<'_>>) -> ValueError {
    let message = format!("must be {}, not {}", T::EXPECTED, describe(value.get_ref()));
    ValueError { span: value.span(), message }
}

/// Describes an unexpected value for a message.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => quoted(&number.to_string()),
        DeValue::Float(number) => quoted(number.as_str()),
        DeValue::Boolean(boolean) => format!("`{boolean}`"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a section".to_owned(),
    }
}

/// The text of a string value.
pub(super) fn text<'a, T: ConfigValue>(
    value: &'a Spanned<DeValue<'_>>,
) -> Result<&'a str, ValueError> {
    value.get_ref().as_str().ok_or_else(|| type_mismatch::<T>(value))
}

/// A valid glob. Without a slash it matches a file name in any folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GlobPattern(String);

impl GlobPattern {
    /// Parses a glob. Also rejects negated patterns, and patterns that cannot match anything.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an empty glob matches nothing".to_owned());
        }
        if text.len() > GLOB_MAX {
            return Err(format!("a glob has at most {GLOB_MAX} bytes"));
        }
        if text.starts_with('!') {
            return Err("a glob cannot be negated with `!`".to_owned());
        }
        if text.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(
                "globs start at the root of the repository; `.` and `..` match nothing".to_owned()
            );
        }
        let glob = crh_git::PathGlobs::new([text]);
        glob.map(|_| Self(text.to_owned())).map_err(|error| error.message)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Matches files that match any of these globs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GlobList(pub(crate) Vec<GlobPattern>);

impl ConfigValue for GlobList {
    type TomlType = Vec<String>;
    const EXPECTED: &'static str = "a list of globs";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let list = value.get_ref().as_array().ok_or_else(|| type_mismatch::<Self>(value))?;
        if list.len() > GLOBS_MAX {
            let message = format!("has {} globs; at most {GLOBS_MAX} are allowed", list.len());
            return Err(ValueError { span: value.span(), message });
        }
        let globs = list.iter().map(|item| {
            let invalid_glob = |reason: &str| {
                let message = format!("has an invalid glob {}: {reason}", describe(item.get_ref()));
                ValueError { span: item.span(), message }
            };
            let text = item.get_ref().as_str().ok_or_else(|| invalid_glob("not a string"))?;
            GlobPattern::parse(text).map_err(|reason| invalid_glob(&reason))
        });
        globs.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        self.0.iter().map(GlobPattern::as_str).collect()
    }

    fn add(&mut self, flag_value: Self) {
        self.0.extend(flag_value.0);
    }
}

impl ConfigValue for NonZeroU64 {
    type TomlType = Self;
    const EXPECTED: &'static str = "a positive integer";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let number = value.get_ref().as_integer().ok_or_else(|| type_mismatch::<Self>(value))?;
        let parsed_number =
            u64::from_str_radix(number.as_str(), number.radix()).ok().and_then(Self::new);
        parsed_number.ok_or_else(|| type_mismatch::<Self>(value))
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

impl ConfigValue for bool {
    type TomlType = Self;
    const EXPECTED: &'static str = "`true` or `false`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        value.get_ref().as_bool().ok_or_else(|| type_mismatch::<Self>(value))
    }

    fn from_variable(value: &OsStr, _: PathContext<'_>) -> Result<Self, ValueError> {
        match value.to_string_lossy().as_ref() {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            text => Err(ValueError::without_position(format!(
                "must be `1`, `true`, `0` or `false`, not {}",
                quoted(text)
            ))),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

/// The branch to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseBranch {
    /// Detected from the repository.
    Detected,
    /// A valid branch name, which git cannot mistake for an option or a revision expression.
    Named(String),
}

impl BaseBranch {
    /// The name that the setting gives, if any.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Detected => None,
            Self::Named(name) => Some(name),
        }
    }
}

impl ConfigValue for BaseBranch {
    type TomlType = String;
    const EXPECTED: &'static str = "the name of a branch";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let name = text::<Self>(value)?;
        let is_allowed =
            |char: char| !char.is_whitespace() && !char.is_control() && !"~^:?*[\\".contains(char);
        let parts = || name.split('/');
        // The rules of `git check-ref-format`.
        let is_valid = name.len() <= BRANCH_MAX
            && name.chars().all(is_allowed)
            && !name.starts_with('-')
            && !name.ends_with('.')
            && name != "@"
            && !name.contains("..")
            && !name.contains("@{")
            && parts().all(|part| !part.is_empty() && !part.starts_with('.'))
            && parts().all(|part| !part.ends_with(".lock"));
        if is_valid { Ok(Self::Named(name.to_owned())) } else { Err(type_mismatch::<Self>(value)) }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Detected => serde_json::Value::Null,
            Self::Named(name) => json!(name),
        }
    }
}

/// A folder where crh stores data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FolderSetting {
    /// An absolute path.
    At(PathBuf),
    /// Not set, and there is no home for the default. The user can set the folder with `key` or
    /// `variable`.
    Unset { key: &'static str, variable: &'static str },
}

impl FolderSetting {
    /// The default folder for caches.
    pub(crate) fn default_cache(environment: &Environment) -> Self {
        let unset = Self::Unset { key: "store.folder", variable: "CRH_STORE" };
        environment.cache_dir().map_or(unset, Self::At)
    }

    /// The default folder for user decisions.
    pub(crate) fn default_state(environment: &Environment) -> Self {
        let unset = Self::Unset { key: "state.folder", variable: "CRH_STATE" };
        environment.state_dir().map_or(unset, Self::At)
    }

    /// The path. Only commands that need the folder call this function, so all other commands work
    /// without a home.
    pub(crate) fn path(&self) -> Result<&Path, Failure> {
        match self {
            Self::At(path) => Ok(path),
            Self::Unset { key, variable } => Err(Failure::usage(format!(
                "no folder for `{key}`: `HOME` is not set to an absolute path"
            ))
            .hint(format!("set `HOME`, or set `{variable}` to a folder"))),
        }
    }
}

impl ConfigValue for FolderSetting {
    type TomlType = String;
    const EXPECTED: &'static str = "the path of a folder";

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        let path_text = text::<Self>(value)?;
        if path_text.is_empty() || path_text.contains('\0') {
            return Err(type_mismatch::<Self>(value));
        }
        let Some(after_tilde) = path_text.strip_prefix('~') else {
            return Ok(Self::At(paths.folder.join(path_text)));
        };
        let invalid_path = |reason: &str| {
            let message = format!("cannot be {}: {reason}", quoted(path_text));
            ValueError { span: value.span(), message }
        };
        if !after_tilde.is_empty() && !after_tilde.starts_with('/') {
            return Err(invalid_path("only `~/`, your own home, is supported"));
        }
        let home =
            paths.home.ok_or_else(|| invalid_path("`HOME` is not set to an absolute path"))?;
        Ok(Self::At(home.join(after_tilde.trim_start_matches('/'))))
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::At(path) => json!(path.as_os_str().to_string_lossy()),
            Self::Unset { .. } => serde_json::Value::Null,
        }
    }
}

/// Name of an installation. crh writes the name into an HTML comment, so the name must not contain
/// `--`, which could end the comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstanceName(String);

impl InstanceName {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let is_allowed =
            |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
        let has_valid_length = !name.is_empty() && name.len() <= 64;
        if has_valid_length && name.chars().all(is_allowed) && !name.contains("--") {
            Ok(Self(name.to_owned()))
        } else {
            Err("use at most 64 letters, digits, `.`, `_` and `-`, but not `--`".to_owned())
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for InstanceName {
    fn default() -> Self {
        Self("crh".to_owned())
    }
}

impl ConfigValue for InstanceName {
    type TomlType = String;
    const EXPECTED: &'static str = "a name";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let name = text::<Self>(value)?;
        let message = |reason| format!("cannot be {}: {reason}", quoted(name));
        Self::parse(name)
            .map_err(|reason| ValueError { span: value.span(), message: message(reason) })
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum Color {
    /// Only on a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

impl ConfigValue for Color {
    type TomlType = Self;
    const EXPECTED: &'static str = "`auto`, `always` or `never`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let name = text::<Self>(value)?;
        let choices = [Self::Auto, Self::Always, Self::Never];
        let choice = choices.into_iter().find(|color| color.name() == name);
        choice.ok_or_else(|| type_mismatch::<Self>(value))
    }

    /// `NO_COLOR` (<https://no-color.org>) with any value means `never`.
    fn from_variable(_: &OsStr, _: PathContext<'_>) -> Result<Self, ValueError> {
        Ok(Self::Never)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.name())
    }
}

#[cfg(test)]
mod tests;
