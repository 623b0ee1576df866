//! Settings from the repository, the user's config, the environment and flags, resolved to one
//! value per key.
//!
//! Each key is one entry in `keys.rs`. Parsing, `crh config show`, the JSON Schema, `crh init` and
//! the reference page are derived from that table. In this crate, only this folder and `programs`
//! read environment variables, and only this folder reads the current folder.

pub(crate) mod analysers;
pub(crate) mod checks;
pub(crate) mod environment;
pub(crate) mod file;
pub(crate) mod fix;
pub(crate) mod github;
pub(crate) mod hand_off;
pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod launchpad;
pub(crate) mod models;
pub(crate) mod page;
pub(crate) mod panel;
mod read;
mod resolve;
pub(crate) mod review;
pub(crate) mod value;

use crate::config::environment::Environment;
use crate::config::file::ConfigFile;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::Failure;

/// Resolves the settings in effect. The caller passes the repository's file, because for a pull
/// request it comes from a commit and not from the checkout. This function reads the user's file.
pub(crate) fn load(
    environment: &Environment,
    repository: Option<&ConfigFile>,
    flags: RawSettings,
) -> Result<Settings, Failure> {
    let user = file::user_file(environment)?;
    resolve::resolve(environment, user.as_ref(), repository, flags)
}
