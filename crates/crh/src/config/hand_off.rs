//! Settings of what a review leaves for later.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::Place;
use super::value::Value;
use super::value::Wrong;
use super::value::mistyped;
use super::value::quoted;
use super::value::text;

/// Longer than the paths that people write.
const PATH_MAX: usize = 256;

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
