//! Settings of Launchpad: which one is asked, and where it stands who asks.

use std::path::PathBuf;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{Folder, Place, Value, Wrong, text};
use crh_forge::launchpad::Service;

/// Names the file of credentials.
pub(crate) const CREDENTIALS_VARIABLE: &str = "LP_CREDENTIALS_FILE";

/// The Launchpad that is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServiceRoot(Service);

impl ServiceRoot {
    pub(crate) fn service(&self) -> &Service {
        &self.0
    }
}

impl Value for ServiceRoot {
    type Written = String;
    const WANTED: &'static str = "the name of a Launchpad, or the address of its web service";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let written = text::<Self>(value)?;
        let service = Service::named(written);
        service.map(Self).map_err(|error| Wrong {
            at: value.span(),
            message: format!("cannot be taken: {error}"),
        })
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.api())
    }
}

/// A file of credentials that launchpadlib has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CredentialsFile {
    /// Here, as an absolute path.
    At(PathBuf),
    /// None was named.
    NotNamed,
}

impl Value for CredentialsFile {
    type Written = String;
    const WANTED: &'static str = "the path of a file";

    fn from_toml(value: &Spanned<DeValue<'_>>, place: Place<'_>) -> Result<Self, Wrong> {
        // Paths are written one way, whatever they lead to.
        match Folder::from_toml(value, place)? {
            Folder::At(path) => Ok(Self::At(path)),
            Folder::Nowhere { .. } => Ok(Self::NotNamed),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::At(path) => json!(path.as_os_str().to_string_lossy()),
            Self::NotNamed => serde_json::Value::Null,
        }
    }
}
