//! What can go wrong with a forge, as its caller branches on it. No text in here holds a token: what a host says is masked
//! before it comes here.

use std::time::Duration;

use thiserror::Error;

/// Why a forge did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForgeError {
    /// The token or the key of an App is not accepted.
    #[error("`{host}` does not accept the token: {message}")]
    BadToken {
        /// The host.
        host: String,
        /// What it said.
        message: String,
    },
    /// The token may not do this.
    #[error("the token may not do `{what}`: {message}{}", needed(needs.as_deref()))]
    Forbidden {
        /// What was asked, such as `GET /repos/o/r/pulls/1`.
        what: String,
        /// What the host said.
        message: String,
        /// The permissions that would do, in the host's words; none if it named none.
        needs: Option<String>,
    },
    /// It is not there, or the token cannot see it: a forge does not tell which.
    #[error("`{what}` is not there, or the token cannot see it")]
    NotFound {
        /// What was asked.
        what: String,
    },
    /// Too much was asked in too short a time, and waiting for the end of it would take too long.
    #[error("`{host}` wants no more requests{}", pause(*wait))]
    RateLimited {
        /// The host.
        host: String,
        /// How long it wants to be left alone; none if it did not say.
        wait: Option<Duration>,
    },
    /// The request was understood and refused, and nothing has changed.
    #[error("`{what}` was refused with status {status}: {message}")]
    Refused {
        /// What was asked.
        what: String,
        /// The status: 422 for what does not fit.
        status: u16,
        /// What the host said, with its list of errors.
        message: String,
    },
    /// A write of which nobody knows whether it was applied. It is not repeated before somebody has looked.
    #[error("nobody knows whether `{what}` was applied: {message}")]
    Ambiguous {
        /// What was asked.
        what: String,
        /// What happened.
        message: String,
    },
    /// The host answered that it failed, also after several tries. Nothing has changed; less may be possible.
    #[error("`{host}` could not be asked: {message}")]
    Failing {
        /// The host.
        host: String,
        /// What it answered.
        message: String,
    },
    /// The host did not answer, or not properly, also after several tries. Nothing has changed.
    #[error("`{host}` could not be asked: {message}")]
    Unreachable {
        /// The host.
        host: String,
        /// What happened.
        message: String,
    },
    /// There was an answer, and more of it than is read.
    #[error("the answer to `{what}` is larger than {megabytes} MB")]
    TooLarge {
        /// What was asked.
        what: String,
        /// As much is read.
        megabytes: usize,
    },
    /// It is about branches of Bazaar's, whose commits cannot be had.
    #[error("`{what}` is a merge proposal of Bazaar branches, and only those of git are reviewed")]
    Bazaar {
        /// What was asked.
        what: String,
    },
    /// There was an answer, and it does not have the shape that it should have.
    #[error("the answer to `{what}` cannot be read: {message}")]
    Unreadable {
        /// What was asked.
        what: String,
        /// What is wrong with it.
        message: String,
    },
}

fn needed(permissions: Option<&str>) -> String {
    permissions.map(|named| format!("; it needs `{named}`")).unwrap_or_default()
}

/// In seconds.
const DAY: u64 = 24 * 60 * 60;

fn pause(wait: Option<Duration>) -> String {
    match wait.map(|wait| wait.as_secs()) {
        None | Some(0) => String::new(),
        Some(seconds @ 1..120) => format!(" for {seconds} seconds"),
        Some(seconds @ ..DAY) => format!(" for {} minutes", seconds.div_ceil(60)),
        Some(_) => " for more than a day".to_owned(),
    }
}
