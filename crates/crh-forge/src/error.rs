//! Errors of forge requests, one variant for each way in which callers handle them. Messages never
//! contain a token: the clients mask replies first.

use std::time::Duration;

use thiserror::Error;

/// Why a forge request failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForgeError {
    /// The forge rejects the token or the App key.
    #[error("`{host}` rejected the credentials: {message}")]
    BadToken {
        /// The host.
        host: String,
        /// Reason given by the host.
        message: String,
    },
    /// The token lacks a permission.
    #[error("the token does not permit `{request}`: {message}{}", needs_suffix(needs.as_deref()))]
    Forbidden {
        /// The request, such as `GET /repos/o/r/pulls/1`.
        request: String,
        /// Reason given by the host.
        message: String,
        /// Permissions that would suffice, as named by the host.
        needs: Option<String>,
    },
    /// Missing, or not visible with this token: forges do not say which.
    #[error("`{request}` failed: not found, or the token cannot see it")]
    NotFound {
        /// The request.
        request: String,
    },
    /// Still rate limited after the last attempt, or for longer than crh waits.
    #[error("rate limited by `{host}`{}", wait_suffix(*wait))]
    RateLimited {
        /// The host.
        host: String,
        /// Time after which the host accepts requests again, if it says so.
        wait: Option<Duration>,
    },
    /// The forge rejected the request. Nothing changed.
    #[error("`{request}` was rejected with status {status}: {message}")]
    Refused {
        /// The request.
        request: String,
        /// HTTP status; 422 for invalid content.
        status: u16,
        /// Reason given by the host, with its list of errors.
        message: String,
    },
    /// The forge may or may not have applied the write. crh reads the state again before it
    /// retries.
    #[error("cannot tell whether `{request}` was applied: {message}")]
    Ambiguous {
        /// The request.
        request: String,
        /// What happened.
        message: String,
    },
    /// The host answered all attempts with server errors. Nothing changed. A smaller request may
    /// succeed.
    #[error("`{host}` answers with server errors: {message}")]
    Failing {
        /// The host.
        host: String,
        /// The host's answer.
        message: String,
    },
    /// The host did not answer after several attempts. Nothing changed.
    #[error("cannot reach `{host}`: {message}")]
    Unreachable {
        /// The host.
        host: String,
        /// What happened.
        message: String,
    },
    /// The reply exceeds the size limit.
    #[error("the reply to `{request}` is larger than {megabytes} MB")]
    TooLarge {
        /// The request.
        request: String,
        /// The size limit.
        megabytes: usize,
    },
    /// A merge proposal of Bazaar branches. crh reads only git.
    #[error(
        "`{request}` returned a merge proposal of Bazaar branches; crh reviews only git branches"
    )]
    Bazaar {
        /// The request.
        request: String,
    },
    /// The server is older than crh supports.
    #[error("`{host}` runs {forge} {version}; crh needs {oldest} or newer")]
    TooOld {
        /// The host.
        host: String,
        /// Name of the forge.
        forge: &'static str,
        /// Version of the server.
        version: String,
        /// Oldest supported version.
        oldest: &'static str,
    },
    /// The reply does not have the expected format.
    #[error("cannot parse the reply to `{request}`: {message}")]
    Unreadable {
        /// The request.
        request: String,
        /// What is wrong with the reply.
        message: String,
    },
}

impl ForgeError {
    /// The reply to a request has not the expected content.
    pub(crate) fn unreadable(request: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Unreadable { request: request.into(), message: message.into() }
    }
}

fn needs_suffix(permissions: Option<&str>) -> String {
    permissions.map(|permissions| format!("; it needs `{permissions}`")).unwrap_or_default()
}

const DAY: u64 = 24 * 60 * 60;

fn wait_suffix(wait: Option<Duration>) -> String {
    match wait.map(|wait| wait.as_secs()) {
        None | Some(0) => String::new(),
        Some(seconds @ 1..120) => format!("; retry in {seconds} seconds"),
        Some(seconds @ ..=DAY) => format!("; retry in {} minutes", seconds.div_ceil(60)),
        Some(_) => "; retry in more than a day".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_day_is_not_more_than_a_day() {
        let suffix = |seconds| wait_suffix(Some(Duration::from_secs(seconds)));
        assert_eq!(suffix(DAY), "; retry in 1440 minutes");
        assert_eq!(suffix(DAY + 1), "; retry in more than a day");
    }
}
