//! HTTP client for Launchpad. All requests except those of the login go through this client: it
//! signs them, retries if that is safe, and limits the size of replies.

pub(super) mod form;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use reqwest::{Method, header};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::{LaunchpadCredentials, LaunchpadService};
use crate::ForgeError;
use crate::http::message;
use crate::http::reply::{HttpReply, ReplyError, USER_AGENT, fetch_reply, parse_body, status_text};
use crate::http::retry::{ForgeRetryPolicy, RequestFailure, RequestPurpose};
use crate::http::sender::{FailedAttempt, FailedReply, RequestSender};
use crh_http::{BaseUrl, ClientSetupError, NetworkSettings, Timeouts};

/// crh waits longer than the half minute that Launchpad may work on a request.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(40),
    idle: Duration::from_secs(40),
};

/// Maximum number of redirects to follow. Reading a file takes one, to Launchpad's file server (the
/// librarian).
const REDIRECTS_MAX: u32 = 3;

/// Maximum number of pages of one list, at 75 entries each: several times the comments of the
/// longest proposals.
const PAGES_MAX: usize = 100;

/// Maximum bytes of one list, so that a hostile list cannot fill the memory.
const BYTES_MAX: usize = 64 << 20;

/// Configuration of a client.
pub struct LaunchpadClientConfig {
    /// The Launchpad server.
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

/// Client for one Launchpad server and one account. Clones share connections.
#[derive(Clone)]
pub struct LaunchpadClient {
    inner: Arc<LaunchpadClientInner>,
}

struct LaunchpadClientInner {
    sender: RequestSender,
    service: LaunchpadService,
    credentials: LaunchpadCredentials,
    now: fn() -> SystemTime,
    nonce: AtomicU64,
}

/// A list, possibly truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection<T> {
    /// Entries in Launchpad's order.
    pub entries: Vec<T>,
    /// Whether crh read all entries.
    pub completeness: CollectionCompleteness,
}

/// Whether a list was read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectionCompleteness {
    /// All entries.
    Complete,
    /// The list exceeds crh's limits for pages or bytes.
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
    credentials_use: CredentialsUse,
}

/// Whether to send credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CredentialsUse {
    /// Send credentials: the host belongs to the Launchpad server.
    WithCredentials,
    /// Send no credentials: another host, such as the librarian.
    WithoutCredentials,
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
        config: LaunchpadClientConfig,
    ) -> Result<Self, ClientSetupError> {
        let LaunchpadClientConfig { service, credentials, retry, now, seed } = config;
        let inner = LaunchpadClientInner {
            sender: RequestSender::new(network, service.name(), retry, seed)?,
            service,
            credentials,
            now,
            nonce: AtomicU64::new(seed),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The Launchpad server of this client.
    pub fn service(&self) -> &LaunchpadService {
        &self.inner.service
    }

    /// Whether access is anonymous.
    pub fn is_anonymous(&self) -> bool {
        self.inner.credentials.is_anonymous()
    }

    /// Sets the callback for wait messages. The default is silence.
    pub fn on_wait(&self, callback: fn(&str)) {
        self.inner.sender.wait_notifier.set_callback(callback);
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

    /// Path of a link in a reply. Rejects links to other hosts, because crh would send them its
    /// credentials.
    pub(super) fn own_path(&self, request_path: &str, link: &str) -> Result<String, ForgeError> {
        let path = self.inner.service.api_path(link).map(str::to_owned);
        let request = format!("GET {request_path}");
        path.ok_or_else(|| ForgeError::unreadable(request, "it has an address on another host"))
    }

    /// Reads a file that the web service redirects to another host. The other host gets no
    /// credentials.
    pub async fn text(&self, path: &str) -> Result<Vec<u8>, ForgeError> {
        let mut request = ServiceRequest::get(self.address(path), CredentialsUse::WithCredentials);
        for _ in 0..=REDIRECTS_MAX {
            let reply = self.send(&request, RequestPurpose::Read).await?;
            let Some(location) = redirect_location(&reply) else { return Ok(reply.body) };
            let url: Option<BaseUrl> = location.split('?').next().and_then(|url| url.parse().ok());
            let is_safe =
                url.is_some_and(|url| url.as_str().starts_with("https:") || url.is_loopback());
            if !is_safe {
                return Err(self.unreachable("it redirects to an address that is not `https`"));
            }
            let is_own = self.inner.service.api_path(&location).is_some();
            request = ServiceRequest::get(
                location,
                if is_own {
                    CredentialsUse::WithCredentials
                } else {
                    CredentialsUse::WithoutCredentials
                },
            );
        }
        Err(self.unreachable("redirect loop"))
    }

    /// Calls a named operation that creates something, with JSON arguments, and returns the path of
    /// the new entry. Retries only if Launchpad certainly did nothing. An unconfirmed write is
    /// [`ForgeError::Ambiguous`]. Only a reply with the new address counts as success, because a
    /// proxy's page may have a successful status.
    pub(super) async fn create(
        &self,
        path: &str,
        form: &[(String, String)],
    ) -> Result<String, ForgeError> {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let (url, credentials_use) = (self.address(path), CredentialsUse::WithCredentials);
        let request =
            ServiceRequest { method: Method::POST, url, form: Some(form), credentials_use };
        let reply = self.send(&request, RequestPurpose::Write).await?;
        let (request_name, status) = (self.describe(&request), reply.status);
        let link = header_value(&reply, "location").unwrap_or_default();
        match (status, self.inner.service.api_path(&link)) {
            (201, Some(path)) => Ok(path.to_owned()),
            // Unlike 303, these redirects mean that Launchpad did nothing.
            (301 | 302 | 307 | 308, _) => {
                let message = "it moved to another address".to_owned();
                Err(ForgeError::Refused { request: request_name, status, message })
            }
            (_, _) => {
                let message = format!("status {status} does not confirm it");
                Err(ForgeError::Ambiguous { request: request_name, message })
            }
        }
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.inner.service.api())
    }

    async fn get(&self, path: &str) -> Result<Vec<u8>, ForgeError> {
        let mut request = ServiceRequest::get(self.address(path), CredentialsUse::WithCredentials);
        for _ in 0..=REDIRECTS_MAX {
            let reply = self.send(&request, RequestPurpose::Read).await?;
            let Some(location) = redirect_location(&reply) else { return Ok(reply.body) };
            // Follows redirects only to the same server, because the request contains credentials.
            let path = self.own_path(path, &location)?;
            request = ServiceRequest::get(self.address(&path), CredentialsUse::WithCredentials);
        }
        Err(self.unreachable("redirect loop"))
    }

    /// Sends a request with retries. Returns successes and redirects.
    async fn send(
        &self,
        service_request: &ServiceRequest,
        purpose: RequestPurpose,
    ) -> Result<HttpReply, ForgeError> {
        let request = self.describe(service_request);
        let mut attempt = 1;
        loop {
            let failed = match self.attempt(service_request).await {
                Ok(reply) if (200..400).contains(&reply.status) => return Ok(reply),
                Ok(reply) => failed_attempt(&reply, &self.inner.credentials),
                Err(error) => error.into_failed(&request)?,
            };
            self.inner.sender.wait(&request, purpose, attempt, failed).await?;
            attempt += 1;
        }
    }

    /// Sends once and reads the reply.
    async fn attempt(&self, service_request: &ServiceRequest) -> Result<HttpReply, ReplyError> {
        // The semaphore is never closed.
        let _slot = self.inner.sender.slots.acquire().await;
        let inner = &self.inner;
        let mut request = inner
            .sender
            .http
            .request(service_request.method.clone(), &service_request.url)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, USER_AGENT);
        if service_request.credentials_use == CredentialsUse::WithCredentials {
            let now = (inner.now)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let nonce = inner.nonce.fetch_add(1, Ordering::Relaxed);
            let realm = inner.service.api();
            let authorization = inner.credentials.authorization(realm, now.as_secs(), nonce);
            request = request.header(header::AUTHORIZATION, authorization.expose_secret());
        }
        if let Some(form) = &service_request.form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header(header::CONTENT_TYPE, kind).body(form.clone());
        }
        fetch_reply(request, inner.sender.timeouts, inner.credentials.secret()).await
    }

    fn unreachable(&self, message: &str) -> ForgeError {
        let host = self.inner.service.name().to_owned();
        ForgeError::Unreachable { host, message: message.to_owned() }
    }

    /// Method and path of a request for messages, without the server address and the query.
    fn describe(&self, service_request: &ServiceRequest) -> String {
        let path =
            self.inner.service.api_path(&service_request.url).unwrap_or(&service_request.url);
        format!("{} {}", service_request.method, path.split('?').next().unwrap_or(path))
    }
}

impl ServiceRequest {
    fn get(url: String, credentials_use: CredentialsUse) -> Self {
        Self { method: Method::GET, url, form: None, credentials_use }
    }
}

fn failed_attempt(reply: &HttpReply, credentials: &LaunchpadCredentials) -> FailedAttempt {
    let (failure, message) = (classify_failure(reply), failure_message(reply, credentials));
    let server_error = message.clone();
    let reply = Some(FailedReply { status: reply.status, needs: None, server_error });
    FailedAttempt { failure, message, reply }
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
        let text = credentials.mask(&String::from_utf8_lossy(&reply.body));
        let text = message::single_line(&text, secret);
        return if text.is_empty() { "no reason given".to_owned() } else { text };
    }
    let oops = header_value(reply, "x-lazr-oopsid").map(|oops| message::single_line(&oops, secret));
    let oops = oops.map(|oops| format!(", {oops}")).unwrap_or_default();
    format!("{}{oops}", status_text(reply.status))
}
