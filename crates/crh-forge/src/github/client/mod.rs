//! Asks GitHub over HTTP: one place that sends, waits, repeats what may be repeated, and reads answers of bounded size.

#[path = "identity.rs"]
mod account;
mod cache;
mod graphql;
#[path = "reply_head.rs"]
mod head;
mod link;
mod pages;
#[path = "error_message.rs"]
mod said;
mod send;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use account::Account;
pub use cache::Cache;
use cache::Kept;
pub use graphql::GraphError;
pub use head::Limit;
pub use pages::{Pages, Rest};
use send::{Ask, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::{Credentials, Host};
use crate::ForgeError;
use crate::asking::retry::RetryPolicy;
use crate::asking::waiting::Waiting;
use crate::asking::whole::parsed;
use crh_http::{Network, Timeouts};

/// The most requests that are under way at a time: as many as a burst begins with, and far from the hundred that GitHub allows.
const SIDE_BY_SIDE: usize = 8;

/// How long GitHub is waited for. It gives up an answer of its own after ten seconds; with the requests that are made for one, a
/// host that never says anything is left within two minutes.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(25),
    idle: Duration::from_secs(40),
};

/// The form in which answers are wanted.
const ACCEPT: &str = "application/vnd.github+json";

/// What a client is made of. Nothing is looked up.
pub struct Setup {
    /// Whom it asks.
    pub host: Host,
    /// As whom.
    pub credentials: Credentials,
    /// Where answers are kept.
    pub cache: Cache,
    /// How often and how long it tries.
    pub retry: RetryPolicy,
    /// What time it is. Only Apps and limits without a date of the host's own need it.
    pub now: fn() -> SystemTime,
    /// Any number; waits differ by it.
    pub seed: u64,
}

/// Why GitHub cannot be asked at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The token cannot stand in a header.
    #[error("the token holds characters that no token has; is there a line break in it?")]
    Token,
    /// No host can be reached.
    #[error(transparent)]
    Network(#[from] crh_http::SetupError),
}

/// A change that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Something new.
    Post,
    /// Something else in the place of what is there.
    Patch,
    /// The same, or new.
    Put,
    /// Nothing any more.
    Delete,
}

/// One GitHub, asked as one account. Clones share their connections, limits and tokens.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    host: Host,
    account: Account,
    cache: Cache,
    retry: RetryPolicy,
    now: fn() -> SystemTime,
    /// For the next wait.
    jitter: AtomicU64,
    /// How long a host may be silent.
    timeouts: Timeouts,
    waiting: Waiting,
    limits: Mutex<BTreeMap<String, Limit>>,
    slots: Semaphore,
}

/// An answer to a question that changes nothing.
struct Got {
    body: Vec<u8>,
    link: Option<String>,
    source: Source,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The host has sent it.
    Sent,
    /// The host says that it is what it sent before. That says nothing about what comes after it.
    Kept,
}

impl fmt::Debug for Client {
    /// Whom it asks, never as whom.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("host", &self.inner.host.name()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client. Nothing is asked yet.
    pub fn new(network: &Network, setup: Setup) -> Result<Self, SetupError> {
        let Setup { host, credentials, cache, retry, now, seed } = setup;
        let account = Account::new(credentials, &host).ok_or(SetupError::Token)?;
        let inner = Inner {
            http: crh_http::client(network)?,
            host,
            account,
            cache,
            retry,
            now,
            jitter: AtomicU64::new(seed),
            timeouts: network.timeouts,
            waiting: Waiting::default(),
            limits: Mutex::default(),
            slots: Semaphore::new(SIDE_BY_SIDE),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whom it asks.
    pub fn host(&self) -> &Host {
        &self.inner.host
    }

    /// What is left of the limits, as the host said it last, by the name of what is limited.
    pub fn limits(&self) -> Vec<Limit> {
        let limits = self.inner.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.values().cloned().collect()
    }

    /// Says to whom it is told that there is a wait. Nobody is told before.
    pub fn tell_waits(&self, tell: fn(&str)) {
        self.inner.waiting.tell_by(tell);
    }

    /// Waits as long as after so many failures.
    pub(super) async fn pause(&self, times: u32) {
        let policy = &self.inner.retry;
        let wait = policy.first_wait.saturating_mul(times).min(policy.longest_wait);
        tokio::time::sleep(wait).await;
    }

    /// Reads what is at a path of the API, such as `/repos/o/r/pulls/1`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let got = self.get(&self.address(path)).await?;
        parsed(&format!("GET {path}"), &got.body)
    }

    /// Asks for a change, and gives the answer; nothing is null. It is repeated only if it surely did nothing; if nobody knows
    /// whether it did, that is [`ForgeError::Ambiguous`].
    pub async fn write(&self, verb: Verb, path: &str, body: &Value) -> Result<Value, ForgeError> {
        let method = match verb {
            Verb::Post => Method::Post,
            Verb::Patch => Method::Patch,
            Verb::Put => Method::Put,
            Verb::Delete => Method::Delete,
        };
        let what = format!("{} {path}", method.word());
        let reply = self.send(&Ask::write(method, self.address(path), body)).await?;
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        // It was applied, whatever the answer looks like.
        parsed(&what, &reply.body)
            .map_err(|error| ForgeError::Ambiguous { what, message: error.to_string() })
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.inner.host.api())
    }

    /// What is at an address, from the cache if the host says that it is the same.
    async fn get(&self, url: &str) -> Result<Got, ForgeError> {
        let name = Cache::name(url, ACCEPT, self.inner.account.name());
        let wanted = name.clone();
        let kept = self.on_disk(move |cache| cache.find(&wanted)).await;
        let etag = kept.as_ref().map(|kept| kept.etag.clone());
        let reply = self.send(&Ask::read(url.to_owned(), etag)).await?;
        match (reply.head.status, kept) {
            (304, Some(Kept { link, body, .. })) => {
                let now = (self.inner.now)();
                // What was not marked as used goes a little earlier, and that is all.
                drop(self.on_disk(move |cache| cache.used(&name, now)).await);
                Ok(Got { body, link: reply.head.link.or(link), source: Source::Kept })
            }
            (_, _) => {
                let link = reply.head.link;
                if let Some(etag) = reply.head.etag {
                    let kept = Kept { etag, link, body: reply.body };
                    let keep = move |cache: &Cache| {
                        // An answer that could not be kept is asked for again next time, and that is all.
                        drop(cache.keep(&name, &kept));
                        kept
                    };
                    let Kept { link, body, .. } = self.on_disk(keep).await;
                    return Ok(Got { body, link, source: Source::Sent });
                }
                Ok(Got { body: reply.body, link, source: Source::Sent })
            }
        }
    }

    /// Does something with what is kept, on a thread that may wait for a disk: other answers come meanwhile.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> T + Send + 'static,
    ) -> T {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || work(&inner.cache)).await {
            Ok(done) => done,
            // Nobody cancels it, so that it can only have panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
