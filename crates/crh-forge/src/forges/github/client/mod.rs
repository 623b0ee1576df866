//! HTTP client for GitHub. All requests go through this client: it retries if that is safe, and
//! limits the size of replies.

mod cache;
mod error_message;
mod graphql;
mod identity;
mod link;
mod pages;
mod reply_head;
mod send;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use cache::CachedReply;
pub use cache::ReplyCache;
pub use graphql::GraphError;
use identity::GitHubIdentity;
pub use pages::{PageCompleteness, Pages};
pub use reply_head::RateLimit;
use send::ApiRequest;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::{GitHubCredentials, GitHubHost};
use crate::ForgeError;
use crate::http::reply::parse_body;
use crate::http::retry::ForgeRetryPolicy;
use crate::http::sender::{self, RequestSender};
use crate::posting::Verb;
use crh_http::{NetworkSettings, Timeouts};

/// GitHub gives up a request after ten seconds. With retries, crh gives up a silent host within two
/// minutes.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(25),
    idle: Duration::from_secs(40),
};

/// Media type of replies.
const ACCEPT: &str = "application/vnd.github+json";

/// Configuration of a client.
pub struct GitHubClientConfig {
    /// The GitHub server.
    pub host: GitHubHost,
    /// Credentials.
    pub credentials: GitHubCredentials,
    /// Reply cache.
    pub cache: ReplyCache,
    /// Retry policy.
    pub retry: ForgeRetryPolicy,
    /// Clock, for App tokens and for rate limits without a server date.
    pub now: fn() -> SystemTime,
    /// Seed for retry jitter.
    pub seed: u64,
}

/// Why a client cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GitHubSetupError {
    /// The token has characters that are invalid in a header.
    #[error("the token has invalid characters (is there a line break in it?)")]
    Token,
    /// HTTP setup failed.
    #[error(transparent)]
    Network(#[from] crh_http::ClientSetupError),
}

/// Client for one GitHub server and one account. Clones share connections, limits and tokens.
#[derive(Clone)]
pub struct GitHubClient {
    inner: Arc<GitHubClientInner>,
}

struct GitHubClientInner {
    sender: RequestSender,
    host: GitHubHost,
    account: GitHubIdentity,
    cache: ReplyCache,
    now: fn() -> SystemTime,
    limits: Mutex<BTreeMap<String, RateLimit>>,
}

struct GetReply {
    body: Vec<u8>,
    link: Option<String>,
    source: GetSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GetSource {
    /// The host sent the reply.
    Fresh,
    /// The host confirmed that the cached reply is current. Later pages of the list may still be
    /// new.
    NotModified,
}

impl fmt::Debug for GitHubClient {
    /// Leaves out the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("host", &self.inner.host.name()).finish_non_exhaustive()
    }
}

impl GitHubClient {
    /// Creates a client without sending anything.
    pub fn new(
        network: &NetworkSettings,
        config: GitHubClientConfig,
    ) -> Result<Self, GitHubSetupError> {
        let GitHubClientConfig { host, credentials, cache, retry, now, seed } = config;
        let account = GitHubIdentity::new(credentials, &host).ok_or(GitHubSetupError::Token)?;
        let inner = GitHubClientInner {
            sender: RequestSender::new(network, host.name(), retry, seed)?,
            host,
            account,
            cache,
            now,
            limits: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The GitHub server of this client.
    pub fn host(&self) -> &GitHubHost {
        &self.inner.host
    }

    /// Latest known rate limits, by resource.
    pub fn limits(&self) -> Vec<RateLimit> {
        let limits = self.inner.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.values().cloned().collect()
    }

    /// Sets the callback for wait messages. The default is silence.
    pub fn on_wait(&self, callback: fn(&str)) {
        self.inner.sender.wait_notifier.set_callback(callback);
    }

    /// Waits `failures` times the first retry delay, at most the longest.
    pub(super) async fn pause(&self, failures: u32) {
        let policy = &self.inner.sender.retry;
        let wait = policy.first_wait.saturating_mul(failures).min(policy.longest_wait);
        tokio::time::sleep(wait).await;
    }

    /// Gets the JSON at a path of the API, such as `/repos/o/r/pulls/1`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let reply = self.get(&self.address(path)).await?;
        parse_body(&format!("GET {path}"), &reply.body)
    }

    /// Sends a write and returns the reply; an empty reply is null. Retries only if GitHub
    /// certainly did nothing. An unconfirmed write is [`ForgeError::Ambiguous`].
    pub async fn write(&self, verb: Verb, path: &str, body: &Value) -> Result<Value, ForgeError> {
        let method = sender::method(verb);
        let request = format!("{method} {path}");
        let reply = self.send(&ApiRequest::write(method, self.address(path), body)).await?;
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        // GitHub applied the write even if the reply is malformed.
        parse_body(&request, &reply.body)
            .map_err(|error| ForgeError::Ambiguous { request, message: error.to_string() })
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.inner.host.api())
    }

    /// Gets the reply of an address. If the host says "not modified", the body is from the cache.
    async fn get(&self, url: &str) -> Result<GetReply, ForgeError> {
        let cache_name = ReplyCache::name(url, ACCEPT, self.inner.account.cache_id());
        let lookup_name = cache_name.clone();
        let cached = self.with_cache(move |cache| cache.find(&lookup_name)).await;
        let etag = cached.as_ref().map(|cached| cached.etag.clone());
        let reply = self.send(&ApiRequest::read(url.to_owned(), etag)).await?;
        match (reply.head.status, cached) {
            (304, Some(CachedReply { link, body, .. })) => {
                let now = (self.inner.now)();
                // An error only means that pruning may remove the reply earlier.
                drop(self.with_cache(move |cache| cache.touch(&cache_name, now)).await);
                Ok(GetReply {
                    body,
                    link: reply.head.link.or(link),
                    source: GetSource::NotModified,
                })
            }
            (_, _) => {
                let link = reply.head.link;
                if let Some(etag) = reply.head.etag {
                    let cached = CachedReply { etag, link, body: reply.body };
                    let store = move |cache: &ReplyCache| {
                        // An error only means another download next time.
                        drop(cache.store(&cache_name, &cached));
                        cached
                    };
                    let CachedReply { link, body, .. } = self.with_cache(store).await;
                    return Ok(GetReply { body, link, source: GetSource::Fresh });
                }
                Ok(GetReply { body: reply.body, link, source: GetSource::Fresh })
            }
        }
    }

    /// Uses the cache on a blocking thread, so that other replies can arrive meanwhile.
    async fn with_cache<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&ReplyCache) -> T + Send + 'static,
    ) -> T {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || operation(&inner.cache)).await {
            Ok(result) => result,
            // The task is never cancelled, so it panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
