//! Settings: read from the repository, the user, the environment and the flags; resolved to one value each,
//! with where it came from.
//!
//! A key is one entry in `keys.rs`; reading, showing, the schema, `crh init` and the reference page follow from
//! it. Nothing outside this folder reads the environment or the current folder.

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
pub(crate) mod review;
#[path = "config/resolve.rs"]
mod settle;
pub(crate) mod value;

use crate::config::environment::Environment;
use crate::config::file::ConfigFile;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::Failure;

/// The settings in effect. The repository's file comes in as a value, since a review of a forge's change takes
/// it from a commit and not from a checkout; the user's is read here.
pub(crate) fn load(
    environment: &Environment,
    repository: Option<&ConfigFile>,
    flags: RawSettings,
) -> Result<Settings, Failure> {
    let user = file::user_file(environment)?;
    settle::settle(environment, user.as_ref(), repository, flags)
}
