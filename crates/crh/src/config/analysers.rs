//! Settings of the analysers that are installed: whether they are run, and whose changes are trusted.

use std::path::PathBuf;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::Word;
use super::value::{Folder, Place, Value, Wrong, mistyped};

/// Whether analysers that are installed are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum AnalysersChoice {
    /// Where they are found
    Auto,
    /// Never
    Never,
}

impl Word for AnalysersChoice {
    const WORDS: &'static str = "`auto` or `never`";
}

/// Folders, by their absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folders(pub(crate) Vec<PathBuf>);

impl Value for Folders {
    type Written = Vec<String>;
    const WANTED: &'static str = "a list of folders";

    fn from_toml(value: &Spanned<DeValue<'_>>, place: Place<'_>) -> Result<Self, Wrong> {
        let list = value.get_ref().as_array().ok_or_else(|| mistyped::<Self>(value))?;
        let mut folders = Vec::new();
        for item in list.iter() {
            match Folder::from_toml(item, place)? {
                Folder::At(path) => folders.push(path),
                Folder::Nowhere { .. } => {}
            }
        }
        Ok(Self(folders))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>())
    }
}
