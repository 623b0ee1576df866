//! Forges with plain JSON and numbered pages: what such a forge must tell crh, and a client, which
//! retries if that is safe and limits the size of replies.

mod change_ref;
mod forge;
mod host;
mod logins;
mod serving;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use change_ref::{RestChangeRef, RestChangeRefError, is_rest_reference};
pub(crate) use forge::classify_error;
pub use forge::{RestForge, RestPoster, RestProfile};
pub use host::{RestHost, RestHostError, is_repository_path};
pub(crate) use host::{parse_number, split_reference};
pub use logins::{ForgeEnvironment, RestLogins};
pub(crate) use logins::{first_token, yaml_value};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT as AGENT,
};
use reqwest::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
pub use serving::{
    ChangeAction, ChangeEvent, CommentEvent, RestChange, RestEvent, RestServing, WebhookProof,
};
use thiserror::Error;

use crate::ForgeError;
use crate::http::message;
use crate::http::reply::{HttpReply, ReplyError, USER_AGENT, fetch_reply, parse_body};
use crate::http::retry::{ForgeRetryPolicy, RequestFailure, RequestPurpose};
use crate::http::sender::{self, FailedAttempt, FailedReply, RequestSender};
use crate::posting::Verb;
use crh_http::{ClientSetupError, NetworkSettings, Timeouts};

/// Entries per page. Servers may send fewer.
const PAGE_SIZE: usize = 100;

/// Maximum number of pages of one list. With fifty entries a page this is several times the longest
/// discussion.
const PAGES_MAX: usize = 200;

/// Maximum bytes of one list, so that a hostile list cannot fill the memory.
const LIST_BYTES_MAX: usize = 64 << 20;

/// Maximum number of people whose roles crh looks up. More people hardly write in the threads of
/// one proposal.
const PEOPLE_MAX: usize = 50;

/// Servers give up a request after a minute.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(65),
    idle: Duration::from_secs(65),
};

/// Configuration of a client.
pub struct RestClientConfig {
    /// The server.
    pub host: RestHost,
    /// The token; `None` for public data.
    pub token: Option<RestToken>,
    /// Retry policy.
    pub retry: ForgeRetryPolicy,
    /// Clock, for rate limits that name a time.
    pub now: fn() -> SystemTime,
    /// Seed for retry jitter.
    pub seed: u64,
}

/// A token and the header that carries it.
#[derive(Debug, Clone)]
pub struct RestToken {
    /// Name of the header, in lower case.
    pub header: &'static str,
    /// Text before the token, such as `Bearer `.
    pub prefix: &'static str,
    /// The token.
    pub token: SecretString,
}

/// Why a client cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RestSetupError {
    /// The token has characters that are invalid in a header.
    #[error("the token has invalid characters (is there a line break in it?)")]
    Token,
    /// HTTP setup failed.
    #[error(transparent)]
    Network(#[from] ClientSetupError),
}

/// Client for one server and one account. Clones share connections.
#[derive(Clone)]
pub struct RestClient {
    inner: Arc<RestClientInner>,
}

struct RestClientInner {
    sender: RequestSender,
    host: RestHost,
    token: Option<(HeaderName, HeaderValue, SecretString)>,
    now: fn() -> SystemTime,
}

/// A list, possibly truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestList<T> {
    /// Entries in the forge's order.
    pub entries: Vec<T>,
    /// Whether crh did not read all entries, because of its limits.
    pub is_truncated: bool,
}

impl<T> RestList<T> {
    /// The entries of a list that posting depends on.
    pub(crate) fn required(
        self,
        name: &str,
        notes: &mut Vec<String>,
        incomplete_lists: &mut Vec<String>,
    ) -> Vec<T> {
        if self.is_truncated {
            notes.push(format!("There are more {name} than crh reads."));
            incomplete_lists.push(name.to_owned());
        }
        self.entries
    }
}

impl fmt::Debug for RestClient {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("host", &self.inner.host.name()).finish_non_exhaustive()
    }
}

impl RestClient {
    /// Creates a client without sending anything.
    pub fn new(
        network: &NetworkSettings,
        config: RestClientConfig,
    ) -> Result<Self, RestSetupError> {
        let RestClientConfig { host, token, retry, now, seed } = config;
        let to_header = |RestToken { header, prefix, token }: RestToken| {
            let text = format!("{prefix}{}", token.expose_secret().trim());
            let mut value = HeaderValue::from_str(&text).map_err(|_| RestSetupError::Token)?;
            value.set_sensitive(true);
            Ok::<_, RestSetupError>((HeaderName::from_static(header), value, token))
        };
        let inner = RestClientInner {
            sender: RequestSender::new(network, host.name(), retry, seed)?,
            host,
            token: token.map(to_header).transpose()?,
            now,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The server of this client.
    pub fn host(&self) -> &RestHost {
        &self.inner.host
    }

    /// The token, for git and for masking.
    pub fn token(&self) -> Option<&SecretString> {
        self.inner.token.as_ref().map(|(_, _, token)| token)
    }

    /// Sets the callback for wait messages. The default is silence.
    pub fn on_wait(&self, callback: fn(&str)) {
        self.inner.sender.wait_notifier.set_callback(callback);
    }

    /// Fails if the server is older than crh supports. A version without a number, such as that of
    /// a server built from a branch, counts as new enough.
    pub(crate) fn check_version(
        &self,
        forge: &'static str,
        version: &str,
        oldest: &'static str,
    ) -> Result<(), ForgeError> {
        match is_older(version, oldest) {
            false => Ok(()),
            true => Err(ForgeError::TooOld {
                host: self.host().name().to_owned(),
                forge,
                version: message::single_line(version, self.token()),
                oldest,
            }),
        }
    }

    /// Gets the JSON at a path of the API, such as `/projects/1`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let reply = self.send(Method::GET, path, None).await?;
        parse_body(&describe(&Method::GET, path), &reply.body)
    }

    /// Gets the text at a path of the API.
    pub async fn get_text(&self, path: &str) -> Result<String, ForgeError> {
        let reply = self.send(Method::GET, path, None).await?;
        Ok(String::from_utf8_lossy(&reply.body).into_owned())
    }

    /// Reads the pages of a list up to a size limit. crh counts the pages itself: an address in a
    /// reply could name another host, and crh would send the token there.
    pub async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<RestList<T>, ForgeError> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let size_name = self.inner.host.page_size_name();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for page in 1..=PAGES_MAX {
            let page_path = format!("{path}{separator}{size_name}={PAGE_SIZE}&page={page}");
            let reply = self.send(Method::GET, &page_path, None).await?;
            bytes += reply.body.len();
            if bytes > LIST_BYTES_MAX {
                return Ok(RestList { entries, is_truncated: true });
            }
            let page: Vec<T> = parse_body(&describe(&Method::GET, path), &reply.body)?;
            let is_empty = page.is_empty();
            entries.extend(page);
            if is_empty || !has_next_page(&reply.headers) {
                return Ok(RestList { entries, is_truncated: false });
            }
        }
        Ok(RestList { entries, is_truncated: true })
    }

    /// Sends a write and returns the reply; an empty reply is null. Retries only if the server
    /// certainly did nothing. An unconfirmed write is [`ForgeError::Ambiguous`].
    pub async fn write(&self, verb: Verb, path: &str, body: &Value) -> Result<Value, ForgeError> {
        let method = sender::method(verb);
        let request = describe(&method, path);
        let reply = self.send(method, path, Some(body)).await?;
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        // The server applied the write even if the reply is malformed.
        parse_body(&request, &reply.body)
            .map_err(|error| ForgeError::Ambiguous { request, message: error.to_string() })
    }

    /// Sends a request with retries.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<HttpReply, ForgeError> {
        let purpose =
            if method == Method::GET { RequestPurpose::Read } else { RequestPurpose::Write };
        let request = describe(&method, path);
        let mut attempt = 1;
        loop {
            let failed = match self.attempt(&method, path, body).await {
                Ok(reply) if (200..300).contains(&reply.status) => return Ok(reply),
                Ok(reply) => self.failed_attempt(&reply),
                Err(error) => error.into_failed(&request)?,
            };
            self.inner.sender.wait(&request, purpose, attempt, failed).await?;
            attempt += 1;
        }
    }

    /// Sends once and reads the reply.
    async fn attempt(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<HttpReply, ReplyError> {
        // The semaphore is never closed.
        let _slot = self.inner.sender.slots.acquire().await;
        let url = format!("{}{path}", self.inner.host.api());
        let mut request = self.inner.sender.http.request(method.clone(), url);
        request = request.header(ACCEPT, "application/json").header(AGENT, USER_AGENT);
        if let Some((name, value, _)) = &self.inner.token {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        fetch_reply(request, self.inner.sender.timeouts, self.token()).await
    }

    fn failed_attempt(&self, reply: &HttpReply) -> FailedAttempt {
        let (status, message) = (reply.status, self.error_message(reply));
        let server_error = format!("status {status}: {message}");
        let failure = classify(reply, (self.inner.now)());
        let reply = Some(FailedReply { status, needs: None, server_error });
        FailedAttempt { failure, message, reply }
    }

    /// The server's reason, in one line: the first field of the reply that has one, otherwise the
    /// status.
    fn error_message(&self, reply: &HttpReply) -> String {
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let reason = ["message", "error_description", "error", "errors"]
            .into_iter()
            .filter_map(|name| body.get(name))
            .find(|value| !value.is_null());
        let text = match reason {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => {
                let reason = StatusCode::from_u16(reply.status).ok();
                let reason = reason.and_then(|status| status.canonical_reason());
                format!("status {}, {}", reply.status, reason.unwrap_or("no reason given"))
            }
        };
        message::single_line(&text, self.token())
    }
}

/// Method and path of a request for messages, without the query.
fn describe(method: &Method, path: &str) -> String {
    format!("{method} {}", path.split('?').next().unwrap_or(path))
}

fn classify(reply: &HttpReply, now: SystemTime) -> RequestFailure {
    match reply.status {
        429 => RequestFailure::RateLimited(rate_limit_wait(&reply.headers, now)),
        408 | 500.. => RequestFailure::ServerError(retry_after(&reply.headers)),
        _ => RequestFailure::Refused,
    }
}

/// Time to wait after a rate limit: `Retry-After`, or until the time in `RateLimit-Reset`.
fn rate_limit_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    retry_after(headers).or_else(|| {
        let reset = Duration::from_secs(number(headers, "ratelimit-reset")?);
        Some(reset.saturating_sub(now.duration_since(UNIX_EPOCH).unwrap_or_default()))
    })
}

/// Whether a version is older than another one, by their first two numbers. A version without a
/// number is not.
fn is_older(version: &str, oldest: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let text = text.trim_start_matches('v');
        text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).take(2).collect()
    };
    let version = numbers(version);
    !version.is_empty() && version < numbers(oldest)
}

/// The people whose roles crh looks up: the author, then others in ascending order of their ids or
/// names, without the account of the token. People beyond [`PEOPLE_MAX`] count as strangers, who
/// cannot dismiss issues.
pub(crate) fn people_with_roles<T: Ord>(
    author: Option<T>,
    others: impl Iterator<Item = T>,
    viewer: Option<&T>,
) -> Vec<T> {
    let others: BTreeSet<T> = others.filter(|other| Some(other) != author.as_ref()).collect();
    let people = author.into_iter().chain(others);
    people.filter(|person| Some(person) != viewer).take(PEOPLE_MAX).collect()
}

fn has_next_page(headers: &HeaderMap) -> bool {
    let has_link = |value: &HeaderValue| {
        value.to_str().is_ok_and(|link| link.contains("rel=\"next\"") || link.contains("rel=next"))
    };
    let has_number = headers.get("x-next-page").is_some_and(|value| !value.is_empty());
    has_number || headers.get_all("link").iter().any(has_link)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    number(headers, "retry-after").map(Duration::from_secs)
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_without_a_number_is_not_too_old() {
        let check =
            |version, expected| assert_eq!(is_older(version, "15.7"), expected, "{version}");
        check("15.6.8-ee", true);
        check("9", true);
        check("15.7.0", false);
        check("v16.1", false);
        check("main-a1b2c3", false);
        check("", false);
    }

    #[test]
    fn timeouts_and_server_errors_are_retried() {
        let kind = |status| {
            let reply = HttpReply { status, headers: HeaderMap::new(), body: Vec::new() };
            classify(&reply, UNIX_EPOCH)
        };
        for status in [408, 500, 503] {
            assert_eq!(kind(status), RequestFailure::ServerError(None), "{status}");
        }
        assert_eq!(kind(429), RequestFailure::RateLimited(None));
        assert_eq!(kind(404), RequestFailure::Refused);
    }

    #[test]
    fn role_of_the_author_is_looked_up_first() {
        let people = people_with_roles(Some(99), (1..99).rev().chain([99]), Some(&2));
        assert_eq!((people.len(), &people[..3]), (PEOPLE_MAX, &[99, 1, 3][..]));
        assert_eq!(people_with_roles(Some(7), [7, 8].into_iter(), Some(&7)), [8]);
    }
}
