//! Requests that a worker itself sends to a forge. The `crh` commands that it starts send the
//! others.

use std::future::Future;

use secrecy::SecretString;

use crate::{
    clock::UnixMillis,
    job::{AttemptFailure, ChangeId, InstallationId, RetryAdvice},
    queue::Authorship,
};

/// Access to a forge in the name of an installation.
///
/// Implementations keep tokens in memory only, and follow no redirect to another host.
pub trait ForgeAccess: Send + Sync + 'static {
    /// A token for this repository. At GitHub it is valid for no other repository. At other forges
    /// it is the token of the server's account.
    fn token(
        &self,
        forge: &str,
        installation: InstallationId,
        repository: &str,
    ) -> impl Future<Output = ForgeResult<SecretString>> + Send;

    /// The current state of a pull request, or `None` if it is closed.
    fn open_change(
        &self,
        installation: InstallationId,
        change: &ChangeId,
    ) -> impl Future<Output = ForgeResult<Option<OpenChange>>> + Send;

    /// All open pull requests of a repository.
    fn open_changes(
        &self,
        forge: &str,
        installation: InstallationId,
        repository: &str,
    ) -> impl Future<Output = ForgeResult<Vec<OpenChange>>> + Send;

    /// Whether an account may write to a repository.
    fn may_write(
        &self,
        forge: &str,
        installation: InstallationId,
        repository: &str,
        account: &str,
    ) -> impl Future<Output = ForgeResult<bool>> + Send;

    /// Tells the author why crh does not review a commit. At GitHub, it shows a check run that does
    /// not pass, so that a required check does not pass without a review. At other forges, it
    /// comments. Doing it twice shows one notice.
    fn report_check(
        &self,
        installation: InstallationId,
        change: &ChangeId,
        head: &str,
        notice: &CheckNotice,
    ) -> impl Future<Output = ForgeResult<()>> + Send;
}

/// An open pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenChange {
    /// The pull request.
    pub change: ChangeId,
    /// Head commit.
    pub head: String,
    /// Time of its last update, in milliseconds.
    pub revision: i64,
    /// Relation of its author to the repository.
    pub authorship: Authorship,
    /// Whether a person approved the review of this head, with the label for pull requests of
    /// strangers. `false` if the forge does not say to which head the label was added.
    pub labelled: bool,
    /// Whether it is a draft.
    pub draft: bool,
}

/// Text of a check run, or of a comment at forges other than GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckNotice {
    /// One line.
    pub title: String,
    /// A paragraph.
    pub summary: String,
}

/// Result of a request to a forge.
pub type ForgeResult<T> = Result<T, ForgeFailure>;

/// Why a request to a forge failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeFailure {
    /// Too many requests.
    #[error("the forge's rate limit is reached")]
    RateLimited {
        /// When requests are allowed again.
        until: UnixMillis,
    },
    /// Network, server error, timeout: trying again can help.
    #[error("the forge is not available: {0}")]
    Unavailable(String),
    /// The repository, pull request or installation does not exist any more, or the server has no
    /// access to it.
    #[error("{0} does not exist at the forge, or crh may not see it")]
    Gone(String),
    /// The forge rejects the server's key or token, or a permission is missing.
    #[error("the forge refuses access: {0}")]
    Denied(String),
}

impl From<ForgeFailure> for AttemptFailure {
    fn from(failure: ForgeFailure) -> Self {
        let retry = match &failure {
            ForgeFailure::RateLimited { until } => RetryAdvice::NotBefore(*until),
            ForgeFailure::Unavailable(_) => RetryAdvice::Backoff,
            // A key may be rotated and a permission granted, so later attempts can succeed.
            ForgeFailure::Denied(_) => RetryAdvice::Backoff,
            ForgeFailure::Gone(_) => RetryAdvice::Never,
        };
        Self { reason: failure.to_string(), retry }
    }
}
