//! HTTP client for Launchpad. All requests go through here: it signs them, retries what is safe to
//! retry, and limits the size of replies.

pub(super) mod form;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode, header};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::form_urlencoded;

use super::{LaunchpadCredentials, LaunchpadService};
use crate::ForgeError;
use crate::http::reply::{HttpReply, REPLY_MAX, ReplyError, USER_AGENT, fetch_reply, parse_body};
use crate::http::retry::{ForgeRetryPolicy, RequestFailure, RequestPurpose, RetryDecision};
use crate::http::wait_notifier::WaitNotifier;
use crate::http::{message, retry};
use crh_http::{BaseUrl, ClientSetupError, NetworkSettings, Timeouts};

/// Most concurrent requests. Launchpad is slow and shared.
pub(super) const CONCURRENT_MAX: usize = 8;

/// Launchpad gives up a request after half a minute.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(40),
    idle: Duration::from_secs(40),
};

/// Most redirects to follow. The librarian needs one.
const REDIRECTS_MAX: u32 = 3;

/// Most pages of one list, at 75 entries each: several times the comments of the longest proposals.
const PAGES_MAX: usize = 100;

/// Most bytes of one list, so that a hostile list cannot fill the memory.
const BYTES_MAX: usize = 64 << 20;

/// Configuration of a client.
pub struct LaunchpadClientConfig {
    /// The Launchpad to talk to.
    pub service: LaunchpadService,
    /// Credentials.
    pub credentials: LaunchpadCredentials,
    /// Retry policy.
    pub retry: ForgeRetryPolicy,
    /// Clock, for the OAuth timestamp.
    pub now: fn() -> SystemTime,
    /// Seed for retry jitter.
    pub seed: u64,
}

/// Client for one Launchpad and one account. Clones share connections.
#[derive(Clone)]
pub struct LaunchpadClient {
    inner: Arc<LaunchpadClientInner>,
}

struct LaunchpadClientInner {
    http: reqwest::Client,
    service: LaunchpadService,
    credentials: LaunchpadCredentials,
    retry: ForgeRetryPolicy,
    now: fn() -> SystemTime,
    /// Source of retry jitter.
    jitter: AtomicU64,
    nonce: AtomicU64,
    timeouts: Timeouts,
    wait_notifier: WaitNotifier,
    slots: Semaphore,
}

/// A list, possibly truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection<T> {
    /// Entries in Launchpad's order.
    pub entries: Vec<T>,
    /// Whether the list is complete.
    pub completeness: CollectionCompleteness,
}

/// Whether a list was read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectionCompleteness {
    /// All of it.
    Complete,
    /// The list exceeds the limit.
    Truncated,
}

#[derive(Deserialize)]
struct CollectionPage<T> {
    entries: Vec<T>,
    next_collection_link: Option<String>,
}

struct ServiceRequest {
    method: Method,
    url: String,
    /// Body of a write.
    form: Option<String>,
    signature: RequestSignature,
}

/// Whether to send credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestSignature {
    /// Yes: a host of the service.
    Own,
    /// No: another host, such as the librarian.
    None,
}

impl fmt::Debug for LaunchpadClient {
    /// Leaves out the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("service", &self.inner.service.name())
            .finish_non_exhaustive()
    }
}

impl LaunchpadClient {
    /// Creates a client without sending anything.
    pub fn new(
        network: &NetworkSettings,
        setup: LaunchpadClientConfig,
    ) -> Result<Self, ClientSetupError> {
        let LaunchpadClientConfig { service, credentials, retry, now, seed } = setup;
        let inner = LaunchpadClientInner {
            http: crh_http::build_client(network)?,
            service,
            credentials,
            retry,
            now,
            jitter: AtomicU64::new(seed),
            nonce: AtomicU64::new(seed),
            timeouts: network.timeouts,
            wait_notifier: WaitNotifier::default(),
            slots: Semaphore::new(CONCURRENT_MAX),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The Launchpad of this client.
    pub fn service(&self) -> &LaunchpadService {
        &self.inner.service
    }

    /// Whether access is anonymous.
    pub fn is_anonymous(&self) -> bool {
        self.inner.credentials.is_anonymous()
    }

    /// Sets the callback for wait messages. The default is silence.
    pub fn on_wait(&self, tell: fn(&str)) {
        self.inner.wait_notifier.set_callback(tell);
    }

    /// Gets the JSON at a path of the web service, such as `~ann/shop/+git/shop/+merge/1`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let body = self.get(path).await?;
        parse_body(&format!("GET {path}"), &body)
    }

    /// Reads the pages of a list up to a size limit.
    pub async fn collection<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Collection<T>, ForgeError> {
        let (mut entries, mut bytes, mut next) = (Vec::new(), 0, path.to_owned());
        for _ in 0..PAGES_MAX {
            let body = self.get(&next).await?;
            bytes += body.len();
            if bytes > BYTES_MAX {
                return Ok(Collection { entries, completeness: CollectionCompleteness::Truncated });
            }
            let page: CollectionPage<T> = parse_body(&format!("GET {path}"), &body)?;
            entries.extend(page.entries);
            let Some(link) = page.next_collection_link else {
                return Ok(Collection { entries, completeness: CollectionCompleteness::Complete });
            };
            next = self.own_path(path, &link)?;
        }
        Ok(Collection { entries, completeness: CollectionCompleteness::Truncated })
    }

    /// Path of an address named by Launchpad. Rejects other hosts, because credentials go along.
    pub(super) fn own_path(&self, what: &str, link: &str) -> Result<String, ForgeError> {
        let path = self.inner.service.api_path(link).map(str::to_owned);
        path.ok_or_else(|| ForgeError::Unreadable {
            request: format!("GET {what}"),
            message: "it has an address on another host".to_owned(),
        })
    }

    /// Reads a file that the web service redirects to another host. The other host gets no
    /// credentials.
    pub async fn text(&self, path: &str) -> Result<Vec<u8>, ForgeError> {
        let mut ask = ServiceRequest::get(self.address(path), RequestSignature::Own);
        for _ in 0..=REDIRECTS_MAX {
            let reply = self.send(&ask, RequestPurpose::Read).await?;
            let Some(location) = redirect_location(&reply) else { return Ok(reply.body) };
            let url: Option<BaseUrl> = location.split('?').next().and_then(|url| url.parse().ok());
            let is_safe =
                url.is_some_and(|url| url.as_str().starts_with("https:") || url.is_loopback());
            if !is_safe {
                return Err(self.unreachable("it redirects to an address that is not `https`"));
            }
            let is_own = self.inner.service.api_path(&location).is_some();
            ask = ServiceRequest::get(
                location,
                if is_own { RequestSignature::Own } else { RequestSignature::None },
            );
        }
        Err(self.unreachable("redirect loop"))
    }

    /// Calls a named operation that creates something, with JSON arguments, and returns the path of
    /// the new entry. Retries only if nothing arrived; an unconfirmed write is
    /// [`ForgeError::Ambiguous`]. Only a reply with the new address counts as success, because a
    /// proxy's page may have a successful status.
    pub(super) async fn create(
        &self,
        path: &str,
        form: &[(String, String)],
    ) -> Result<String, ForgeError> {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let (url, signature) = (self.address(path), RequestSignature::Own);
        let ask = ServiceRequest { method: Method::POST, url, form: Some(form), signature };
        let reply = self.send(&ask, RequestPurpose::Write).await?;
        let (what, status) = (self.describe(&ask), reply.status);
        let link = header_value(&reply, "location").unwrap_or_default();
        match (status, self.inner.service.api_path(&link)) {
            (201, Some(path)) => Ok(path.to_owned()),
            // Unlike 303, these mean that nothing was done here.
            (301 | 302 | 307 | 308, _) => {
                let message = "it moved to another address".to_owned();
                Err(ForgeError::Refused { request: what, status, message })
            }
            (_, _) => {
                let message = format!("status {status} does not confirm it");
                Err(ForgeError::Ambiguous { request: what, message })
            }
        }
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.inner.service.api())
    }

    async fn get(&self, path: &str) -> Result<Vec<u8>, ForgeError> {
        let mut ask = ServiceRequest::get(self.address(path), RequestSignature::Own);
        for _ in 0..=REDIRECTS_MAX {
            let reply = self.send(&ask, RequestPurpose::Read).await?;
            let Some(location) = redirect_location(&reply) else { return Ok(reply.body) };
            // Only within the service, because credentials go along.
            let path = self.own_path(path, &location)?;
            ask = ServiceRequest::get(self.address(&path), RequestSignature::Own);
        }
        Err(self.unreachable("redirect loop"))
    }

    /// Sends a request with retries. Returns successes and redirects.
    async fn send(
        &self,
        service_request: &ServiceRequest,
        purpose: RequestPurpose,
    ) -> Result<HttpReply, ForgeError> {
        let mut attempt = 1;
        loop {
            let (trouble, message, status) = match self.attempt(service_request).await {
                Ok(reply) if (200..400).contains(&reply.status) => return Ok(reply),
                Ok(reply) => {
                    let told = failure_message(&reply, &self.inner.credentials);
                    (classify_failure(&reply), told, Some(reply.status))
                }
                Err(ReplyError::TooLarge) => {
                    let what = self.describe(service_request);
                    return Err(ForgeError::TooLarge { request: what, megabytes: REPLY_MAX >> 20 });
                }
                Err(ReplyError::Failed(trouble, message)) => (trouble, message, None),
            };
            let policy = &self.inner.retry;
            match retry::decide(
                trouble,
                purpose,
                attempt,
                policy,
                retry::jitter(&self.inner.jitter),
            ) {
                RetryDecision::Wait(time) => {
                    let (host, now) = (self.inner.service.name(), Instant::now());
                    self.inner.wait_notifier.announce(host, trouble, &message, attempt, time, now);
                    tokio::time::sleep(time).await;
                }
                RetryDecision::Ambiguous => {
                    return Err(ForgeError::Ambiguous {
                        request: self.describe(service_request),
                        message,
                    });
                }
                RetryDecision::GiveUp => {
                    let (host, what) = (self.inner.service.name(), self.describe(service_request));
                    return Err(to_forge_error(host, what, trouble, message, status));
                }
            }
            attempt += 1;
        }
    }

    /// Sends once and reads the reply.
    async fn attempt(&self, service_request: &ServiceRequest) -> Result<HttpReply, ReplyError> {
        // The semaphore is never closed.
        let _slot = self.inner.slots.acquire().await;
        let inner = &self.inner;
        let mut request = inner
            .http
            .request(service_request.method.clone(), &service_request.url)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, USER_AGENT);
        if service_request.signature == RequestSignature::Own {
            let now = (inner.now)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let nonce = inner.nonce.fetch_add(1, Ordering::Relaxed);
            let realm = inner.service.api();
            let signed = inner.credentials.authorization(realm, now.as_secs(), nonce);
            request = request.header(header::AUTHORIZATION, signed.expose_secret());
        }
        if let Some(form) = &service_request.form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header(header::CONTENT_TYPE, kind).body(form.clone());
        }
        fetch_reply(request, inner.timeouts, inner.credentials.secret()).await
    }

    fn unreachable(&self, message: &str) -> ForgeError {
        let host = self.inner.service.name().to_owned();
        ForgeError::Unreachable { host, message: message.to_owned() }
    }

    /// The request for messages, without the service address and the query.
    fn describe(&self, service_request: &ServiceRequest) -> String {
        let place =
            self.inner.service.api_path(&service_request.url).unwrap_or(&service_request.url);
        format!("{} {}", service_request.method, place.split('?').next().unwrap_or(place))
    }
}

impl ServiceRequest {
    fn get(url: String, signature: RequestSignature) -> Self {
        Self { method: Method::GET, url, form: None, signature }
    }
}

/// The error after the last attempt.
fn to_forge_error(
    host: &str,
    what: String,
    failure: RequestFailure,
    message: String,
    status: Option<u16>,
) -> ForgeError {
    let host = host.to_owned();
    match (failure, status) {
        (RequestFailure::RateLimited(wait), _) => ForgeError::RateLimited { host, wait },
        (RequestFailure::Refused, Some(401)) => ForgeError::BadToken { host, message },
        (RequestFailure::Refused, Some(403)) => {
            ForgeError::Forbidden { request: what, message, needs: None }
        }
        (RequestFailure::Refused, Some(404 | 410)) => ForgeError::NotFound { request: what },
        (RequestFailure::Refused, Some(status)) => {
            ForgeError::Refused { request: what, status, message }
        }
        (RequestFailure::ServerError(_), Some(_)) => ForgeError::Failing { host, message },
        (
            RequestFailure::NotSent
            | RequestFailure::Unanswered
            | RequestFailure::ServerError(_)
            | RequestFailure::Refused,
            _,
        ) => ForgeError::Unreachable { host, message },
    }
}

fn header_value(reply: &HttpReply, name: &str) -> Option<String> {
    reply.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn redirect_location(reply: &HttpReply) -> Option<String> {
    matches!(reply.status, 301..=303 | 307 | 308).then(|| header_value(reply, "location")).flatten()
}

fn classify_failure(reply: &HttpReply) -> RequestFailure {
    let wait = header_value(reply, "retry-after").and_then(|text| text.trim().parse().ok());
    let wait = wait.map(Duration::from_secs);
    match reply.status {
        429 => RequestFailure::RateLimited(wait),
        408 | 500.. => RequestFailure::ServerError(wait),
        _ => RequestFailure::Refused,
    }
}

/// Launchpad's message, with the OOPS number for its operators.
fn failure_message(reply: &HttpReply, credentials: &LaunchpadCredentials) -> String {
    let secret = credentials.secret();
    if reply.status < 500 {
        let text = credentials.masked(&String::from_utf8_lossy(&reply.body));
        let text = message::single_line(&text, secret);
        return if text.is_empty() { "no reason given".to_owned() } else { text };
    }
    let known = StatusCode::from_u16(reply.status).ok();
    let reason = known.and_then(|status| status.canonical_reason());
    let named = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let oops = header_value(reply, "x-lazr-oopsid").map(|oops| message::single_line(&oops, secret));
    let oops = oops.map(|oops| format!(", {oops}")).unwrap_or_default();
    format!("status {}{named}{oops}", reply.status)
}
