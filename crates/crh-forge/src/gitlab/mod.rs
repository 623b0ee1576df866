//! GitLab, gitlab.com and self-managed: merge requests.

mod merge_request_ref;
pub mod post;
pub mod read;

pub use merge_request_ref::{MergeRequestRef, MergeRequestRefError};

use crate::rest::{RestHost, RestHostError};

/// Web address of gitlab.com.
pub const GITLAB_COM: &str = "https://gitlab.com";

/// The GitLab with this web address, such as `https://forge.example/gitlab`.
pub fn host(server: &str) -> Result<RestHost, RestHostError> {
    RestHost::new(server, "/api/v4", "per_page")
}
