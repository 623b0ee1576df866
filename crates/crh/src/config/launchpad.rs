//! Settings for Launchpad: the instance and the credentials file.

use std::path::PathBuf;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{ConfigValue, FolderSetting, PathContext, ValueError, text};
use crh_forge::launchpad::LaunchpadService;

/// Variable with the path of the credentials file.
pub(crate) const CREDENTIALS_VARIABLE: &str = "LP_CREDENTIALS_FILE";

/// The Launchpad instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServiceRoot(LaunchpadService);

impl ServiceRoot {
    pub(crate) fn service(&self) -> &LaunchpadService {
        &self.0
    }
}

impl ConfigValue for ServiceRoot {
    type TomlType = String;
    const EXPECTED: &'static str =
        "the name of a Launchpad instance, or the URL of its web service";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let root = text::<Self>(value)?;
        let service = LaunchpadService::parse(root);
        service.map(Self).map_err(|error| ValueError {
            span: value.span(),
            message: format!("is invalid: {error}"),
        })
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.api())
    }
}

/// Credentials file written by launchpadlib.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CredentialsFile {
    /// An absolute path.
    At(PathBuf),
    /// Not set.
    Unset,
}

impl ConfigValue for CredentialsFile {
    type TomlType = String;
    const EXPECTED: &'static str = "the path of a file";

    fn from_toml(value: &Spanned<DeValue<'_>>, paths: PathContext<'_>) -> Result<Self, ValueError> {
        // File paths are parsed like folder paths.
        match FolderSetting::from_toml(value, paths)? {
            FolderSetting::At(path) => Ok(Self::At(path)),
            FolderSetting::Unset { .. } => Ok(Self::Unset),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::At(path) => json!(path.as_os_str().to_string_lossy()),
            Self::Unset => serde_json::Value::Null,
        }
    }
}
