//! One request and its complete reply, limited in time and size.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response, StatusCode};
use secrecy::SecretString;
use serde::de::DeserializeOwned;

use crate::ForgeError;
use crate::http::message;
use crate::http::message::NO_SECRET;
use crate::http::retry::RequestFailure;
use crh_http::Timeouts;

/// Largest reply, in bytes. A page of a hundred files with full patches has up to 10 MB.
pub(crate) const REPLY_MAX: usize = 64 << 20;

pub(crate) const USER_AGENT: &str = concat!("crh/", env!("CARGO_PKG_VERSION"));

/// Time limit for a complete reply, as a multiple of the idle timeout. The idle timeout alone is
/// not enough: a host that sends a byte now and then is never idle. The limit is two minutes or
/// more, enough for ten megabytes on a slow line.
const TOTAL_TIMEOUT_FACTOR: u32 = 3;

pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

pub(crate) enum ReplyError {
    Failed(RequestFailure, String),
    TooLarge,
}

/// Sends a request once and reads the reply. Error messages do not contain the secret.
pub(crate) async fn fetch_reply(
    request: RequestBuilder,
    timeouts: Timeouts,
    secret: Option<&SecretString>,
) -> Result<HttpReply, ReplyError> {
    let total_timeout = timeouts.idle.saturating_mul(TOTAL_TIMEOUT_FACTOR);
    match tokio::time::timeout(total_timeout, send_and_read(request, timeouts, secret)).await {
        Ok(result) => result,
        Err(_) => {
            let message = format!("no complete reply after {} s", total_timeout.as_secs_f64());
            Err(ReplyError::Failed(RequestFailure::Unanswered, message))
        }
    }
}

async fn send_and_read(
    request: RequestBuilder,
    timeouts: Timeouts,
    secret: Option<&SecretString>,
) -> Result<HttpReply, ReplyError> {
    let Timeouts { first_byte, idle, .. } = timeouts;
    let response = match tokio::time::timeout(first_byte, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            let failure = if error.is_connect() {
                RequestFailure::NotSent
            } else {
                RequestFailure::Unanswered
            };
            return Err(ReplyError::Failed(
                failure,
                message::single_line(&root_cause(&error), secret),
            ));
        }
        Err(_) => return Err(no_data_error(first_byte)),
    };
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = read_body(response, idle, secret).await?;
    Ok(HttpReply { status, headers, body })
}

async fn read_body(
    mut response: Response,
    idle_timeout: Duration,
    secret: Option<&SecretString>,
) -> Result<Vec<u8>, ReplyError> {
    let mut body = Vec::new();
    loop {
        let chunk = match tokio::time::timeout(idle_timeout, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(body),
            Ok(Err(error)) => {
                let message = message::single_line(&root_cause(&error), secret);
                return Err(ReplyError::Failed(RequestFailure::Unanswered, message));
            }
            Err(_) => return Err(no_data_error(idle_timeout)),
        };
        if body.len() + chunk.len() > REPLY_MAX {
            return Err(ReplyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
}

/// Parses the JSON body of a reply.
pub(crate) fn parse_body<T: DeserializeOwned>(
    request_name: &str,
    body: &[u8],
) -> Result<T, ForgeError> {
    serde_json::from_slice(body).map_err(|error| ForgeError::Unreadable {
        request: request_name.to_owned(),
        message: message::single_line(&error.to_string(), NO_SECRET),
    })
}

fn no_data_error(limit: Duration) -> ReplyError {
    let message = format!("no data for {} s", limit.as_secs_f64());
    ReplyError::Failed(RequestFailure::Unanswered, message)
}

/// A status with its reason: `status 502 (Bad Gateway)`.
pub(crate) fn status_text(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("status {status}{reason}")
}

/// The innermost error says what happened; the outer ones repeat the address.
fn root_cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
