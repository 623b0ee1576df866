//! Gitea and Forgejo: pull requests.

pub mod post;
mod pull_ref;
pub mod read;

pub use pull_ref::{GiteaPullRef, GiteaPullRefError};

use crate::rest::{RestHost, RestHostError};

/// The Gitea or Forgejo with this web address.
pub fn host(server: &str) -> Result<RestHost, RestHostError> {
    RestHost::new(server, "/api/v1", "limit")
}
