//! One request and its whole answer: within a time, and of a bounded size.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response};
use secrecy::SecretString;
use serde::de::DeserializeOwned;

use crate::ForgeError;
use crate::asking::retry::Trouble;
use crate::asking::said;
use crate::asking::said::NO_SECRET;
use crh_http::Timeouts;

/// The largest answer that is read. A page of a hundred files of whole patches has up to 10 MB.
pub(crate) const REPLY_MAX: usize = 64 << 20;

/// As which program a forge is asked.
pub(crate) const USER_AGENT: &str = concat!("crh/", env!("CARGO_PKG_VERSION"));

/// How long one answer may take, as many times as a host may be silent: a host that sends a byte now and then is never silent,
/// and never ends. By default it is two minutes, in which a slow line brings a page of ten megabytes.
const PATIENCE: u32 = 3;

/// An answer, complete.
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Why there is no whole answer.
pub(crate) enum NoReply {
    Trouble(Trouble, String),
    TooLarge,
}

/// Sends a request once, and reads the answer if one comes in time. What is said about a failure does not hold the secret.
pub(crate) async fn whole(
    request: RequestBuilder,
    timeouts: Timeouts,
    secret: Option<&SecretString>,
) -> Result<Whole, NoReply> {
    let limit = timeouts.idle.saturating_mul(PATIENCE);
    match tokio::time::timeout(limit, answer(request, timeouts, secret)).await {
        Ok(done) => done,
        Err(_) => {
            let message = format!("the answer was not whole after {} s", limit.as_secs_f64());
            Err(NoReply::Trouble(Trouble::Unanswered, message))
        }
    }
}

async fn answer(
    request: RequestBuilder,
    timeouts: Timeouts,
    secret: Option<&SecretString>,
) -> Result<Whole, NoReply> {
    let Timeouts { first_byte, idle, .. } = timeouts;
    let response = match tokio::time::timeout(first_byte, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            let trouble = if error.is_connect() { Trouble::NotSent } else { Trouble::Unanswered };
            return Err(NoReply::Trouble(trouble, said::shown(&causes(&error), secret)));
        }
        Err(_) => return Err(silent(first_byte)),
    };
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = body(response, idle, secret).await?;
    Ok(Whole { status, headers, body })
}

async fn body(
    mut response: Response,
    silence: Duration,
    secret: Option<&SecretString>,
) -> Result<Vec<u8>, NoReply> {
    let mut body = Vec::new();
    loop {
        let chunk = match tokio::time::timeout(silence, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(body),
            Ok(Err(error)) => {
                let message = said::shown(&causes(&error), secret);
                return Err(NoReply::Trouble(Trouble::Unanswered, message));
            }
            Err(_) => return Err(silent(silence)),
        };
        if body.len() + chunk.len() > REPLY_MAX {
            return Err(NoReply::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
}

/// What is in the body of an answer.
pub(crate) fn parsed<T: DeserializeOwned>(what: &str, body: &[u8]) -> Result<T, ForgeError> {
    serde_json::from_slice(body).map_err(|error| ForgeError::Unreadable {
        what: what.to_owned(),
        message: said::shown(&error.to_string(), NO_SECRET),
    })
}

fn silent(limit: Duration) -> NoReply {
    let message = format!("nothing came for {} s", limit.as_secs_f64());
    NoReply::Trouble(Trouble::Unanswered, message)
}

/// The innermost cause says what happened; the outer ones repeat the address.
fn causes(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
