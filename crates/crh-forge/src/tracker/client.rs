//! HTTP client for Jira and Linear, without retries: the user can repeat the command.
//!
//! crh sends the key only to the configured address and shows it in no message: it does not follow
//! redirects, and it masks the key in replies.

use reqwest::header;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use thiserror::Error;

use super::TrackerError;
use crate::http::message;
use crh_http::{BaseUrl, NetworkSettings};

/// Largest reply, in bytes: a hundred tickets with the longest bodies.
const REPLY_MAX: usize = 8 << 20;

/// Why a client cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrackerSetupError {
    /// The key has characters that are invalid in a header.
    #[error("the key has invalid characters (is there a line break in it?)")]
    Key,
    /// The key would be sent unencrypted.
    #[error("its address does not start with `https://`")]
    NotHttps,
    /// HTTP setup failed.
    #[error(transparent)]
    Network(#[from] crh_http::ClientSetupError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrackerRequestKind {
    /// Changes nothing.
    Read,
    /// Creates something each time it is sent.
    Write,
}

/// Client for one tracker with one key.
pub(super) struct TrackerClient {
    http: reqwest::Client,
    tracker: &'static str,
    base: BaseUrl,
    authorization: HeaderValue,
    secret: SecretString,
    network: NetworkSettings,
}

/// A reply with a status of 200 to 299 or 400 to 499, except 401 and 429.
pub(super) struct TrackerReply {
    pub(super) status: u16,
    /// Null if the body is not JSON.
    pub(super) body: Value,
}

impl TrackerClient {
    /// `authorization` is the value of the whole header. `secret` is the key in it, which messages
    /// must not contain.
    pub(super) fn new(
        network: &NetworkSettings,
        tracker: &'static str,
        base: BaseUrl,
        authorization: &SecretString,
        secret: SecretString,
    ) -> Result<Self, TrackerSetupError> {
        if !base.origin().starts_with("https://") && !base.is_loopback() {
            return Err(TrackerSetupError::NotHttps);
        }
        let is_key =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_key(secret.expose_secret()) {
            return Err(TrackerSetupError::Key);
        }
        let mut authorization = HeaderValue::from_str(authorization.expose_secret())
            .map_err(|_| TrackerSetupError::Key)?;
        authorization.set_sensitive(true);
        let http = crh_http::build_client(network)?;
        Ok(Self { http, tracker, base, authorization, secret, network: network.clone() })
    }

    pub(super) fn base(&self) -> &BaseUrl {
        &self.base
    }

    pub(super) async fn get(&self, path: &str) -> Result<TrackerReply, TrackerError> {
        let request = self.http.get(format!("{}{path}", self.base.as_str()));
        self.send(request, TrackerRequestKind::Read).await
    }

    pub(super) async fn post(
        &self,
        path: &str,
        body: &Value,
        purpose: TrackerRequestKind,
    ) -> Result<TrackerReply, TrackerError> {
        let request = self.http.post(format!("{}{path}", self.base.as_str()));
        let request =
            request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        self.send(request, purpose).await
    }

    /// The tracker's text as one line, with the key masked.
    pub(super) fn mask(&self, text: &str) -> String {
        message::single_line(text, Some(&self.secret))
    }

    pub(super) fn refusal_error(&self, message: &str) -> TrackerError {
        TrackerError::Refused { tracker: self.tracker.to_owned(), message: self.mask(message) }
    }

    /// A failed read, or an unconfirmed write.
    pub(super) fn failure_error(&self, message: &str, purpose: TrackerRequestKind) -> TrackerError {
        let (tracker, message) = (self.tracker.to_owned(), self.mask(message));
        match purpose {
            TrackerRequestKind::Read => TrackerError::Unreachable { tracker, message },
            TrackerRequestKind::Write => TrackerError::OutcomeUnknown { tracker, message },
        }
    }

    pub(super) fn bad_key_error(&self, message: &str) -> TrackerError {
        TrackerError::BadKey { tracker: self.tracker.to_owned(), message: self.mask(message) }
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        purpose: TrackerRequestKind,
    ) -> Result<TrackerReply, TrackerError> {
        let request = request
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, concat!("crh/", env!("CARGO_PKG_VERSION")));
        let limit = self.network.timeouts.first_byte;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            // The request did not arrive, so the tracker created nothing.
            Ok(Err(error)) if error.is_connect() => {
                return Err(self.failure_error(&root_cause(&error), TrackerRequestKind::Read));
            }
            Ok(Err(error)) => return Err(self.failure_error(&root_cause(&error), purpose)),
            Err(_) => return Err(self.failure_error("no reply", purpose)),
        };
        let status = response.status().as_u16();
        let body = match tokio::time::timeout(self.network.timeouts.idle, read_body(response)).await
        {
            Ok(Ok(body)) => body,
            Ok(Err(why)) => return Err(self.failure_error(&why, purpose)),
            Err(_) => return Err(self.failure_error("incomplete reply", purpose)),
        };
        let body = serde_json::from_slice(&body).unwrap_or_default();
        match status {
            401 => Err(self.bad_key_error(
                &error_message(&body).unwrap_or_else(|| "no reason given".to_owned()),
            )),
            429 => Err(self.failure_error("rate limited", TrackerRequestKind::Read)),
            200..=299 | 400..=499 => Ok(TrackerReply { status, body }),
            300..=399 => {
                Err(self.failure_error("it redirects to another address", TrackerRequestKind::Read))
            }
            _ => Err(self.failure_error(&format!("status {status}"), purpose)),
        }
    }
}

async fn read_body(mut response: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| root_cause(&error))? {
        if body.len() + chunk.len() > REPLY_MAX {
            return Err(format!("its reply has more than {} MB", REPLY_MAX >> 20));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The error message in a reply, in the format of Jira or of Linear.
pub(super) fn error_message(body: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let errors = match &body["errors"] {
        Value::Array(errors) => errors
            .iter()
            .filter_map(|error| {
                text(&error["extensions"]["userPresentableMessage"])
                    .or_else(|| text(&error["message"]))
            })
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .filter_map(|(field, error)| Some(format!("{field}: {}", text(error)?)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let messages = body["errorMessages"].as_array().into_iter().flatten().filter_map(text);
    let reasons: Vec<String> = messages.chain(errors).chain(text(&body["message"])).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// The innermost error says what happened; the outer ones repeat the address.
fn root_cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
