//! Login at Launchpad: requests a token, waits until the user authorizes it in a browser, and
//! exchanges it for credentials. The caller opens the browser and stores the credentials.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;
use tokio::time::Instant;
use url::form_urlencoded;

use super::client::form;
use super::client::form::FormError;
use super::{LaunchpadCredentials, LaunchpadService};
use crate::http::retry::{RequestPurpose, RetryDecision};
use crate::http::wait_notifier::WaitNotifier;
use crate::http::{message, retry};
use crate::{ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;

/// Requested permission: read and write, including private data, because proposals may be private.
const PERMISSION: &str = "WRITE_PRIVATE";

/// Jitter for `retry::decide`: always the full delay. Jitter spreads out concurrent requests, and a
/// login sends one at a time.
const JITTER: f64 = 1.0;

/// A request token that the user has to authorize.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    service: LaunchpadService,
    consumer: String,
    token: String,
    secret: SecretString,
}

/// How long to wait for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginTimeout {
    /// Time between two polls.
    pub poll_interval: Duration,
    /// Total time.
    pub total: Duration,
}

impl Default for LoginTimeout {
    /// As in Launchpad's own client: enough for a login with a second factor.
    fn default() -> Self {
        Self { poll_interval: Duration::from_secs(1), total: Duration::from_secs(15 * 60) }
    }
}

/// Why the login failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// The user declined, or the request token expired.
    #[error("`{host}` denied the login: {message}")]
    Declined {
        /// Launchpad host.
        host: String,
        /// Its message.
        message: String,
    },
    /// The user did not answer in time.
    #[error("no answer at `{host}` within {} minutes", waited.as_secs().div_ceil(60))]
    TimedOut {
        /// Launchpad host.
        host: String,
        /// The time waited.
        waited: Duration,
    },
    /// A request failed.
    #[error(transparent)]
    Forge(#[from] ForgeError),
}

/// How to retry the request for a token.
#[derive(Debug, Clone, Copy)]
pub struct LoginRetry {
    /// Retry policy.
    pub retry: ForgeRetryPolicy,
    /// Callback for wait messages.
    pub on_wait: fn(&str),
}

/// Requests a token for a consumer. Unused tokens have no effect and expire.
pub async fn request_token(
    network: &NetworkSettings,
    service: &LaunchpadService,
    consumer: &str,
    retry: LoginRetry,
) -> Result<LoginRequest, ForgeError> {
    let form = [
        ("oauth_consumer_key", consumer),
        ("oauth_signature_method", "PLAINTEXT"),
        ("oauth_signature", "&"),
    ];
    let notifier = WaitNotifier::default();
    notifier.set_callback(retry.on_wait);
    let mut attempt = 1;
    let reply = loop {
        let FormError { failure, message, error } =
            match post_token_form(network, service, "+request-token", &form).await {
                Ok(reply) => break reply,
                Err(form_error) => form_error,
            };
        match retry::decide(failure, RequestPurpose::Read, attempt, &retry.retry, JITTER) {
            RetryDecision::Wait(time) => {
                let now = Instant::now();
                notifier.announce(service.name(), failure, &message, attempt, time, now);
                tokio::time::sleep(time).await;
            }
            RetryDecision::GiveUp | RetryDecision::Ambiguous => return Err(error),
        }
        attempt += 1;
    };
    let reply_text = match reply {
        TokenReply::Granted(text) => text,
        TokenReply::Pending(message) | TokenReply::Denied(message) => {
            return Err(ForgeError::BadToken { host: service.name().to_owned(), message });
        }
    };
    let (token, secret) =
        parse_token_pair(&reply_text).ok_or_else(|| unreadable("+request-token"))?;
    let (service, consumer) = (service.clone(), consumer.to_owned());
    Ok(LoginRequest { service, consumer, token, secret })
}

impl LoginRequest {
    /// Page on which the user authorizes the token.
    pub fn page(&self) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("oauth_token", &self.token)
            .append_pair("allow_permission", PERMISSION)
            .finish();
        format!("{}/+authorize-token?{query}", self.service.web())
    }

    /// Waits for the user's decision and exchanges the token. A transient error does not end the
    /// wait, because the user may still be busy at the page.
    pub async fn wait(
        &self,
        network: &NetworkSettings,
        timeout: LoginTimeout,
    ) -> Result<LaunchpadCredentials, LoginError> {
        let end = Instant::now() + timeout.total;
        loop {
            tokio::time::sleep(timeout.poll_interval).await;
            let last_error = match self.exchange(network).await {
                Ok(Some(credentials)) => return Ok(credentials),
                Ok(None) => None,
                Err(LoginError::Forge(error)) if is_transient(&error) => Some(error),
                Err(error) => return Err(error),
            };
            if Instant::now() >= end {
                let (host, waited) = (self.service.name().to_owned(), timeout.total);
                return Err(
                    last_error.map_or(LoginError::TimedOut { host, waited }, LoginError::Forge)
                );
            }
        }
    }

    /// Exchanges the token if the user authorized it; `None` while the user has not decided.
    /// Polling has no side effects.
    async fn exchange(
        &self,
        network: &NetworkSettings,
    ) -> Result<Option<LaunchpadCredentials>, LoginError> {
        let signature = format!("&{}", self.secret.expose_secret());
        let form = [
            ("oauth_consumer_key", self.consumer.as_str()),
            ("oauth_signature_method", "PLAINTEXT"),
            ("oauth_token", self.token.as_str()),
            ("oauth_signature", signature.as_str()),
        ];
        let reply = post_token_form(network, &self.service, "+access-token", &form).await;
        let reply_text = match reply.map_err(|form_error| form_error.error)? {
            TokenReply::Granted(text) => text,
            TokenReply::Pending(why) if !is_expired(&why) => return Ok(None),
            TokenReply::Denied(message) | TokenReply::Pending(message) => {
                return Err(LoginError::Declined { host: self.service.name().to_owned(), message });
            }
        };
        let (token, secret) =
            parse_token_pair(&reply_text).ok_or_else(|| unreadable("+access-token"))?;
        let credentials = LaunchpadCredentials::new(&self.consumer, &token, &secret);
        Ok(Some(credentials.map_err(|_| unreadable("+access-token"))?))
    }
}

enum TokenReply {
    Granted(SecretString),
    /// 401: not authorized yet, with the reason.
    Pending(String),
    /// 403: declined or expired.
    Denied(String),
}

async fn post_token_form(
    network: &NetworkSettings,
    service: &LaunchpadService,
    page: &str,
    form: &[(&str, &str)],
) -> Result<TokenReply, FormError> {
    let (status, text) = form::post_form(network, service, page, form).await?;
    Ok(match status {
        401 => TokenReply::Pending(message::single_line(&text, message::NO_SECRET)),
        403 => TokenReply::Denied(message::single_line(&text, message::NO_SECRET)),
        _ => TokenReply::Granted(text.into()),
    })
}

/// Whether Launchpad no longer knows the request token. Tokens can be exchanged once and live for
/// some hours.
fn is_expired(why: &str) -> bool {
    why.starts_with("No request token")
}

fn is_transient(error: &ForgeError) -> bool {
    match error {
        ForgeError::Unreachable { .. }
        | ForgeError::Failing { .. }
        | ForgeError::RateLimited { .. } => true,
        ForgeError::Refused { .. }
        | ForgeError::BadToken { .. }
        | ForgeError::Forbidden { .. }
        | ForgeError::NotFound { .. }
        | ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::TooOld { .. }
        | ForgeError::Unreadable { .. } => false,
    }
}

fn parse_token_pair(reply_text: &SecretString) -> Option<(String, SecretString)> {
    let (mut token, mut secret) = (None, None);
    for (name, value) in form_urlencoded::parse(reply_text.expose_secret().trim().as_bytes()) {
        match &*name {
            "oauth_token" => token = Some(value.into_owned()),
            "oauth_token_secret" => secret = Some(SecretString::from(value.into_owned())),
            _ => {}
        }
    }
    Some((token.filter(|token| !token.is_empty())?, secret?))
}

fn unreadable(page: &str) -> ForgeError {
    ForgeError::unreadable(format!("POST {page}"), "it has no token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_pair_is_parsed() {
        let parse = |text: &str| {
            parse_token_pair(&text.into())
                .map(|(token, secret)| (token, secret.expose_secret().to_owned()))
        };
        let both = Some(("a b".to_owned(), "s&".to_owned()));
        assert_eq!(parse("oauth_token=a+b&oauth_token_secret=s%26&lp.context=None\n"), both);
        for invalid in [
            "",
            "oauth_token=a",
            "oauth_token_secret=b",
            "oauth_token=&oauth_token_secret=b",
            "<html>",
        ] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
    }
}
