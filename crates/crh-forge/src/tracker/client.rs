//! Asks a tracker over HTTP, once: a person stands by who can ask again.
//!
//! The key goes to one address only, and is in nothing that is told: no redirect is followed, and what a host says is masked.

use reqwest::header;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use thiserror::Error;

use super::TrackerError;
use crate::asking::said;
use crh_http::{BaseUrl, Network};

/// The largest answer that is read: a hundred tickets of the longest bodies.
const REPLY_MAX: usize = 8 << 20;

/// Why a tracker cannot be asked at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The key cannot stand in a header.
    #[error("the key holds characters that no key has; is there a line break in it?")]
    Key,
    /// The key would go over the network for all to read.
    #[error("its address does not begin with `https://`")]
    Plain,
    /// No host can be reached.
    #[error(transparent)]
    Network(#[from] crh_http::SetupError),
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It changes nothing.
    Read,
    /// It makes something, and again if it is made again.
    Write,
}

/// One tracker, asked with one key.
pub(super) struct Wire {
    http: reqwest::Client,
    tracker: &'static str,
    base: BaseUrl,
    authorization: HeaderValue,
    secret: SecretString,
    network: Network,
}

/// An answer: a success, or a refusal that says why.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Null if it is no JSON.
    pub(super) body: Value,
}

impl Wire {
    /// `authorization` is the whole header; `secret` is what must not be told.
    pub(super) fn new(
        network: &Network,
        tracker: &'static str,
        base: BaseUrl,
        authorization: &SecretString,
        secret: SecretString,
    ) -> Result<Self, SetupError> {
        if !base.origin().starts_with("https://") && !base.is_loopback() {
            return Err(SetupError::Plain);
        }
        let is_key =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_key(secret.expose_secret()) {
            return Err(SetupError::Key);
        }
        let mut authorization =
            HeaderValue::from_str(authorization.expose_secret()).map_err(|_| SetupError::Key)?;
        authorization.set_sensitive(true);
        let http = crh_http::client(network)?;
        Ok(Self { http, tracker, base, authorization, secret, network: network.clone() })
    }

    /// Where the tracker is.
    pub(super) fn base(&self) -> &BaseUrl {
        &self.base
    }

    pub(super) async fn get(&self, path: &str) -> Result<Answer, TrackerError> {
        let request = self.http.get(format!("{}{path}", self.base.as_str()));
        self.ask(request, Purpose::Read).await
    }

    pub(super) async fn post(
        &self,
        path: &str,
        body: &Value,
        purpose: Purpose,
    ) -> Result<Answer, TrackerError> {
        let request = self.http.post(format!("{}{path}", self.base.as_str()));
        let request =
            request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        self.ask(request, purpose).await
    }

    /// A sentence of the tracker's, as it can be told.
    pub(super) fn told(&self, text: &str) -> String {
        said::shown(text, Some(&self.secret))
    }

    pub(super) fn refused(&self, message: &str) -> TrackerError {
        TrackerError::Refused { tracker: self.tracker.to_owned(), message: self.told(message) }
    }

    /// What could not be asked, or of which nobody knows what became.
    pub(super) fn failed(&self, message: &str, purpose: Purpose) -> TrackerError {
        let (tracker, message) = (self.tracker.to_owned(), self.told(message));
        match purpose {
            Purpose::Read => TrackerError::Unreachable { tracker, message },
            Purpose::Write => TrackerError::Unknown { tracker, message },
        }
    }

    pub(super) fn bad_key(&self, message: &str) -> TrackerError {
        TrackerError::BadKey { tracker: self.tracker.to_owned(), message: self.told(message) }
    }

    async fn ask(
        &self,
        request: reqwest::RequestBuilder,
        purpose: Purpose,
    ) -> Result<Answer, TrackerError> {
        let request = request
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, concat!("crh/", env!("CARGO_PKG_VERSION")));
        let limit = self.network.timeouts.first_byte;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            // Nothing arrived, so that nothing was made.
            Ok(Err(error)) if error.is_connect() => {
                return Err(self.failed(&causes(&error), Purpose::Read));
            }
            Ok(Err(error)) => return Err(self.failed(&causes(&error), purpose)),
            Err(_) => return Err(self.failed("it does not answer", purpose)),
        };
        let status = response.status().as_u16();
        let body = match tokio::time::timeout(self.network.timeouts.idle, whole(response)).await {
            Ok(Ok(body)) => body,
            Ok(Err(why)) => return Err(self.failed(&why, purpose)),
            Err(_) => return Err(self.failed("its answer does not end", purpose)),
        };
        let body = serde_json::from_slice(&body).unwrap_or_default();
        match status {
            401 => {
                Err(self.bad_key(&reason(&body).unwrap_or_else(|| "no reason is given".to_owned())))
            }
            429 => Err(self.failed("it wants no more requests for now", Purpose::Read)),
            200..=299 | 400..=499 => Ok(Answer { status, body }),
            300..=399 => Err(self.failed("it sends us to another address", Purpose::Read)),
            _ => Err(self.failed(&format!("it answers with status {status}"), purpose)),
        }
    }
}

async fn whole(mut response: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| causes(&error))? {
        if body.len() + chunk.len() > REPLY_MAX {
            return Err(format!("its answer has more than {} MB", REPLY_MAX >> 20));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What a body says about a failure, in the forms of both trackers.
pub(super) fn reason(body: &Value) -> Option<String> {
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
    let all: Vec<String> = messages.chain(errors).chain(text(&body["message"])).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The innermost cause says what happened; the outer ones repeat the address.
fn causes(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
