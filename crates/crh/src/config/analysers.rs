//! Settings for linters: whether to run them, and which repositories to trust.

use std::path::PathBuf;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::review::ChoiceValue;
use super::value::{ConfigValue, FolderSetting, PathContext, ValueError, type_mismatch};

/// Whether to run installed linters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum AnalysersChoice {
    /// Run those that are installed
    Auto,
    /// Never run any
    Never,
}

impl ChoiceValue for AnalysersChoice {
    const CHOICES: &'static str = "`auto` or `never`";
}

/// A list of folders, as absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FolderList(pub(crate) Vec<PathBuf>);

impl ConfigValue for FolderList {
    type TomlType = Vec<String>;
    const EXPECTED: &'static str = "a list of folders";

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        let list = value.get_ref().as_array().ok_or_else(|| type_mismatch::<Self>(value))?;
        let mut folders = Vec::new();
        for item in list.iter() {
            match FolderSetting::from_toml(item, paths)? {
                FolderSetting::At(path) => folders.push(path),
                FolderSetting::Unset { .. } => {}
            }
        }
        Ok(Self(folders))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>())
    }
}
