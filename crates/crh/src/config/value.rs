//! What a setting can be: each kind of value, how it is written, and what is wrong with one that is not.

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

/// Longer than the paths that people write.
const GLOB_MAX: usize = 256;
/// A hundred times what people list; every file of a change is held against all of them.
const GLOBS_MAX: usize = 1_000;
/// Git's own limit for the name of a ref, which is that of a file.
const BRANCH_MAX: usize = 255;
/// What an error shows of a value, so that one value cannot fill it.
const QUOTED_MAX: usize = 100;

/// What counts at the place where a value stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Where relative paths start.
    pub(crate) folder: &'a Path,
    /// What `~/` stands for.
    pub(crate) home: Option<&'a Path>,
}

/// What is wrong with a value: the end of a sentence that starts with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Which bytes of the text it is about.
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
}

impl Wrong {
    /// About all of what was given.
    fn whole(message: impl Into<String>) -> Self {
        Self { at: 0..0, message: message.into() }
    }
}

/// A kind of value. It is written the same way in every file; a variable holds it as plain text.
pub(crate) trait Value: Sized {
    /// What it is in a file, for the schema.
    type Written: JsonSchema;
    /// What is asked for, as it follows "takes".
    const WANTED: &'static str;

    /// The value from a file.
    fn from_toml(value: &Spanned<DeValue<'_>>, place: Place<'_>) -> Result<Self, Wrong>;

    /// The value from a variable, which is not empty.
    fn from_variable(value: &OsStr, place: Place<'_>) -> Result<Self, Wrong> {
        let text = value.to_str().ok_or_else(|| Wrong::whole("is not UTF-8"))?;
        Self::from_toml(&Spanned::new(0..0, DeValue::String(text.into())), place)
    }

    /// The value for people and programs; null where there is none.
    fn json(&self) -> serde_json::Value;

    /// Takes in what a flag adds. What is no list is replaced.
    fn add(&mut self, more: Self) {
        *self = more;
    }
}

/// Text from outside as a piece of a sentence: on one line, and not the whole of a long one.
pub(crate) fn quoted(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(QUOTED_MAX).flat_map(char::escape_debug).collect();
    let rest = if chars.next().is_some() { "…" } else { "" };
    format!("`{start}{rest}`")
}

pub(super) fn mistyped<T: Value>(value: &Spanned<DeValue<'_>>) -> Wrong {
    let message = format!("takes {}, not {}", T::WANTED, given(value.get_ref()));
    Wrong { at: value.span(), message }
}

/// What stands there instead.
fn given(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => quoted(&number.to_string()),
        DeValue::Float(number) => quoted(number.as_str()),
        DeValue::Boolean(given) => format!("`{given}`"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a section".to_owned(),
    }
}

/// The text of a value that is written as one.
pub(super) fn text<'a, T: Value>(value: &'a Spanned<DeValue<'_>>) -> Result<&'a str, Wrong> {
    value.get_ref().as_str().ok_or_else(|| mistyped::<T>(value))
}

/// Which files: a pattern that is known to work. Without a slash it is a name anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob(String);

impl Glob {
    /// Checks a pattern: what can match nothing is refused, since nobody means that.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an empty glob matches nothing".to_owned());
        }
        if text.len() > GLOB_MAX {
            return Err(format!("a glob has at most {GLOB_MAX} bytes"));
        }
        if text.starts_with('!') {
            return Err("a glob cannot be turned round with `!`".to_owned());
        }
        if text.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("a glob starts at the root; `.` and `..` match nothing".to_owned());
        }
        let read = crh_git::Globs::new([text]);
        read.map(|_| Self(text.to_owned())).map_err(|error| error.message)
    }

    /// The pattern as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which files: any that one of these matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Globs(pub(crate) Vec<Glob>);

impl Value for Globs {
    type Written = Vec<String>;
    const WANTED: &'static str = "a list of globs";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let list = value.get_ref().as_array().ok_or_else(|| mistyped::<Self>(value))?;
        if list.len() > GLOBS_MAX {
            let message = format!("has {} globs; at most {GLOBS_MAX} are read", list.len());
            return Err(Wrong { at: value.span(), message });
        }
        let globs = list.iter().map(|item| {
            let not_a_glob = |why: &str| {
                let message = format!("cannot take the glob {}: {why}", given(item.get_ref()));
                Wrong { at: item.span(), message }
            };
            let text = item.get_ref().as_str().ok_or_else(|| not_a_glob("it is no string"))?;
            Glob::parse(text).map_err(|why| not_a_glob(&why))
        });
        globs.collect::<Result<_, _>>().map(Self)
    }

    fn json(&self) -> serde_json::Value {
        self.0.iter().map(Glob::as_str).collect()
    }

    fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }
}

impl Value for NonZeroU64 {
    type Written = Self;
    const WANTED: &'static str = "a whole number from 1 on";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let number = value.get_ref().as_integer().ok_or_else(|| mistyped::<Self>(value))?;
        let read = u64::from_str_radix(number.as_str(), number.radix()).ok().and_then(Self::new);
        read.ok_or_else(|| mistyped::<Self>(value))
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

impl Value for bool {
    type Written = Self;
    const WANTED: &'static str = "`true` or `false`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        value.get_ref().as_bool().ok_or_else(|| mistyped::<Self>(value))
    }

    fn from_variable(value: &OsStr, _: Place<'_>) -> Result<Self, Wrong> {
        match value.to_string_lossy().as_ref() {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            text => Err(Wrong::whole(format!(
                "takes `1`, `true`, `0` or `false`, not {}",
                quoted(text)
            ))),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

/// The branch that changes are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Branch {
    /// Found out from the repository.
    Detected,
    /// This one. It cannot be taken for an option or an expression of git.
    Named(String),
}

impl Value for Branch {
    type Written = String;
    const WANTED: &'static str = "the name of a branch";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let name = text::<Self>(value)?;
        let inert =
            |char: char| !char.is_whitespace() && !char.is_control() && !"~^:?*[\\".contains(char);
        let parts = || name.split('/');
        // The rules of `git check-ref-format`.
        let good = name.len() <= BRANCH_MAX
            && name.chars().all(inert)
            && !name.starts_with('-')
            && !name.ends_with('.')
            && name != "@"
            && !name.contains("..")
            && !name.contains("@{")
            && parts().all(|part| !part.is_empty() && !part.starts_with('.'))
            && parts().all(|part| !part.ends_with(".lock"));
        if good { Ok(Self::Named(name.to_owned())) } else { Err(mistyped::<Self>(value)) }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Detected => serde_json::Value::Null,
            Self::Named(name) => json!(name),
        }
    }
}

/// A folder of crh's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Folder {
    /// Here, as an absolute path.
    At(PathBuf),
    /// None was named, and there is no home to put it in. This key, or this variable, would name one.
    Nowhere { key: &'static str, variable: &'static str },
}

impl Folder {
    /// The usual place for what can be made again.
    pub(crate) fn in_cache(environment: &Environment) -> Self {
        let nowhere = Self::Nowhere { key: "store.folder", variable: "CRH_STORE" };
        environment.cache().map_or(nowhere, Self::At)
    }

    /// The usual place for what cannot.
    pub(crate) fn in_state(environment: &Environment) -> Self {
        let nowhere = Self::Nowhere { key: "state.folder", variable: "CRH_STATE" };
        environment.state().map_or(nowhere, Self::At)
    }

    /// Where it is. Asked only by what needs the folder: without a home, everything else still works.
    pub(crate) fn path(&self) -> Result<&Path, Failure> {
        match self {
            Self::At(path) => Ok(path),
            Self::Nowhere { key, variable } => Err(Failure::usage(format!(
                "there is no place for `{key}`: `HOME` is not set to an absolute path"
            ))
            .hint(format!("set `HOME`, or name a folder in `{variable}`"))),
        }
    }
}

impl Value for Folder {
    type Written = String;
    const WANTED: &'static str = "the path of a folder";

    fn from_toml(value: &Spanned<DeValue<'_>>, place: Place<'_>) -> Result<Self, Wrong> {
        let written = text::<Self>(value)?;
        if written.is_empty() || written.contains('\0') {
            return Err(mistyped::<Self>(value));
        }
        let Some(in_home) = written.strip_prefix('~') else {
            return Ok(Self::At(place.folder.join(written)));
        };
        let wrong = |why: &str| {
            let message = format!("cannot take {}: {why}", quoted(written));
            Wrong { at: value.span(), message }
        };
        if !in_home.is_empty() && !in_home.starts_with('/') {
            return Err(wrong("only `~/` is known, for your own home"));
        }
        let home = place.home.ok_or_else(|| wrong("`HOME` is not set to an absolute path"))?;
        Ok(Self::At(home.join(in_home.trim_start_matches('/'))))
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::At(path) => json!(path.as_os_str().to_string_lossy()),
            Self::Nowhere { .. } => serde_json::Value::Null,
        }
    }
}

/// The name of an installation. It enters an HTML comment: nothing in it can end one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstanceName(String);

impl InstanceName {
    /// Checks a name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
        let short = !name.is_empty() && name.len() <= 64;
        if short && name.chars().all(plain) && !name.contains("--") {
            Ok(Self(name.to_owned()))
        } else {
            Err("use letters, digits, `.`, `_` and single `-`, at most 64 of them".to_owned())
        }
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for InstanceName {
    fn default() -> Self {
        Self("crh".to_owned())
    }
}

impl Value for InstanceName {
    type Written = String;
    const WANTED: &'static str = "a name";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let name = text::<Self>(value)?;
        let wrong = |why| format!("cannot take {}: {why}", quoted(name));
        Self::parse(name).map_err(|why| Wrong { at: value.span(), message: wrong(why) })
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// Whether text has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum Color {
    /// On a terminal
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

impl Value for Color {
    type Written = Self;
    const WANTED: &'static str = "`auto`, `always` or `never`";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let name = text::<Self>(value)?;
        let known = [Self::Auto, Self::Always, Self::Never];
        let found = known.into_iter().find(|color| color.name() == name);
        found.ok_or_else(|| mistyped::<Self>(value))
    }

    /// The variable is `NO_COLOR` (<https://no-color.org>): whatever it holds means the same.
    fn from_variable(_: &OsStr, _: Place<'_>) -> Result<Self, Wrong> {
        Ok(Self::Never)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.name())
    }
}

#[cfg(test)]
mod tests;
