//! Sends the requests of one client: a few at a time, and with retries.

use std::sync::atomic::AtomicU64;

use reqwest::Method;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::reply::{REPLY_MAX, ReplyError};
use super::retry::{self, ForgeRetryPolicy, RequestFailure, RequestPurpose, RetryDecision};
use super::wait_notifier::WaitNotifier;
use crate::ForgeError;
use crate::posting::Verb;
use crh_http::{ClientSetupError, NetworkSettings, Timeouts};

/// Maximum number of concurrent requests of a client: about as many as crh sends to read one
/// proposed change. GitHub allows a hundred. Launchpad is slow and shared.
pub(crate) const CONCURRENT_MAX: usize = 8;

/// What a client needs to send requests to one host.
pub(crate) struct RequestSender {
    pub(crate) http: reqwest::Client,
    host: String,
    pub(crate) retry: ForgeRetryPolicy,
    /// Source of retry jitter.
    jitter: AtomicU64,
    pub(crate) timeouts: Timeouts,
    pub(crate) wait_notifier: WaitNotifier,
    pub(crate) slots: Semaphore,
}

/// An attempt without success.
pub(crate) struct FailedAttempt {
    pub(crate) failure: RequestFailure,
    pub(crate) message: String,
    /// What the host answered, if it did.
    pub(crate) reply: Option<FailedReply>,
}

/// What an error says about a reply.
pub(crate) struct FailedReply {
    pub(crate) status: u16,
    /// Permissions that would suffice, as named by the host.
    pub(crate) needs: Option<String>,
    /// Message if the host fails.
    pub(crate) server_error: String,
}

pub(crate) fn method(verb: Verb) -> Method {
    match verb {
        Verb::Post => Method::POST,
        Verb::Patch => Method::PATCH,
        Verb::Put => Method::PUT,
    }
}

impl RequestSender {
    pub(crate) fn new(
        network: &NetworkSettings,
        host: &str,
        retry: ForgeRetryPolicy,
        seed: u64,
    ) -> Result<Self, ClientSetupError> {
        Ok(Self {
            http: crh_http::build_client(network)?,
            host: host.to_owned(),
            retry,
            jitter: AtomicU64::new(seed),
            timeouts: network.timeouts,
            wait_notifier: WaitNotifier::default(),
            slots: Semaphore::new(CONCURRENT_MAX),
        })
    }

    /// Waits until the next attempt. If crh makes none, the error says why.
    pub(crate) async fn wait(
        &self,
        request: &str,
        purpose: RequestPurpose,
        attempt: u32,
        failed: FailedAttempt,
    ) -> Result<(), ForgeError> {
        let (failure, jitter) = (failed.failure, retry::jitter(&self.jitter));
        match retry::decide(failure, purpose, attempt, &self.retry, jitter) {
            RetryDecision::Wait(wait) => {
                let (message, now) = (&failed.message, Instant::now());
                self.wait_notifier.announce(&self.host, failure, message, attempt, wait, now);
                tokio::time::sleep(wait).await;
                Ok(())
            }
            RetryDecision::Ambiguous => {
                let (request, message) = (request.to_owned(), failed.message);
                Err(ForgeError::Ambiguous { request, message })
            }
            RetryDecision::GiveUp => Err(failed.into_error(&self.host, request)),
        }
    }
}

impl FailedAttempt {
    pub(crate) fn into_error(self, host: &str, request: &str) -> ForgeError {
        let Self { failure, message, reply } = self;
        let (host, request) = (host.to_owned(), request.to_owned());
        match (failure, reply) {
            (RequestFailure::RateLimited(wait), _) => ForgeError::RateLimited { host, wait },
            (RequestFailure::Refused, Some(FailedReply { status, needs, .. })) => match status {
                401 => ForgeError::BadToken { host, message },
                403 => ForgeError::Forbidden { request, message, needs },
                404 | 410 => ForgeError::NotFound { request },
                _ => ForgeError::Refused { request, status, message },
            },
            (RequestFailure::ServerError(_), Some(reply)) => {
                ForgeError::Failing { host, message: reply.server_error }
            }
            (
                RequestFailure::NotSent
                | RequestFailure::Unanswered
                | RequestFailure::ServerError(_)
                | RequestFailure::Refused,
                _,
            ) => ForgeError::Unreachable { host, message },
        }
    }
}

impl ReplyError {
    /// The failed attempt. crh does not request a reply again that is too large.
    pub(crate) fn into_failed(self, request: &str) -> Result<FailedAttempt, ForgeError> {
        match self {
            Self::Failed(failure, message) => Ok(FailedAttempt { failure, message, reply: None }),
            Self::TooLarge => {
                let request = request.to_owned();
                Err(ForgeError::TooLarge { request, megabytes: REPLY_MAX >> 20 })
            }
        }
    }
}
