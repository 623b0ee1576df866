//! Why a model did not answer, by what one can do about it.
//!
//! Messages are ours or the vendor's own sentence, shortened and without secrets; never a request or a header.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A call that brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    /// Wait, then ask again.
    #[error("the model's rate limit is reached: {message}{}", wait(.retry_after.as_ref()))]
    RateLimited {
        /// How long the vendor asks us to wait.
        retry_after: Option<Duration>,
        /// The vendor's sentence.
        message: String,
    },
    /// The vendor has no room: wait, then ask again.
    #[error("the model is overloaded: {message}{}", wait(.retry_after.as_ref()))]
    Overloaded {
        /// How long the vendor asks us to wait.
        retry_after: Option<Duration>,
        /// The vendor's sentence.
        message: String,
    },
    /// The vendor has trouble of its own, which may pass or not: ask again a few times.
    #[error("the model's server fails: {message}")]
    Broken {
        /// The vendor's sentence.
        message: String,
    },
    /// Say less.
    #[error("the conversation is too long for the model: {message}")]
    ContextFull {
        /// The vendor's sentence.
        message: String,
    },
    /// The model will not answer this, whoever asks.
    #[error("the model refuses to answer: {message}")]
    Refused {
        /// The vendor's sentence.
        message: String,
    },
    /// Give another key.
    #[error("the key is not accepted: {message}")]
    BadKey {
        /// The vendor's sentence.
        message: String,
    },
    /// Pay, or raise the limit of the account.
    #[error("the account has no credit left: {message}")]
    NoCredit {
        /// The vendor's sentence.
        message: String,
    },
    /// Ask something else: the vendor does not understand the question (a name, a parameter, a schema).
    #[error("the model does not accept the request: {message}")]
    BadRequest {
        /// The vendor's sentence.
        message: String,
    },
    /// The answer broke off, or what came is no answer. Asking again may help; what it cost is not known.
    #[error("the answer broke off: {message}")]
    CutStream {
        /// What was missing.
        message: String,
    },
    /// The vendor was not reached, or fell silent.
    #[error("the model could not be reached: {message}")]
    Transport {
        /// What failed.
        message: String,
        /// Whether the request may have arrived, and so may cost money.
        spent: Spent,
    },
    /// A recording has no answer to this question.
    #[error("{message}")]
    NotRecorded {
        /// What differs from the nearest recorded question.
        message: String,
    },
}

/// Whether a failed call may cost money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// The vendor did no work.
    Nothing,
    /// Nobody knows: counted at the worst.
    Unknown,
}

impl ModelError {
    /// Whether the call may cost money all the same.
    pub fn spent(&self) -> Spent {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Broken { .. }
            | Self::ContextFull { .. }
            | Self::BadKey { .. }
            | Self::NoCredit { .. }
            | Self::BadRequest { .. }
            | Self::NotRecorded { .. } => Spent::Nothing,
            Self::Refused { .. } | Self::CutStream { .. } => Spent::Unknown,
            Self::Transport { spent, .. } => *spent,
        }
    }
}

/// The delay that the vendor named, to the millisecond.
fn wait(retry_after: Option<&Duration>) -> String {
    let seconds = |delay: &Duration| delay.as_millis() as f64 / 1000.0;
    retry_after.map_or_else(String::new, |delay| format!(" (it asks to wait {} s)", seconds(delay)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_the_vendor_names_is_shown() {
        let message = || "slow down".to_owned();
        for (delay, shown) in [
            (None, ""),
            (Some(30_000), " (it asks to wait 30 s)"),
            (Some(1_500), " (it asks to wait 1.5 s)"),
        ] {
            let retry_after = delay.map(Duration::from_millis);
            let limited = ModelError::RateLimited { retry_after, message: message() };
            assert_eq!(
                limited.to_string(),
                format!("the model's rate limit is reached: slow down{shown}")
            );
            let overloaded = ModelError::Overloaded { retry_after, message: message() };
            assert_eq!(
                overloaded.to_string(),
                format!("the model is overloaded: slow down{shown}")
            );
        }
    }
}
