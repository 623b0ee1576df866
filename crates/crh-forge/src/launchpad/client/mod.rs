//! Asks Launchpad over HTTP: one place that signs, sends, waits, repeats what may be repeated, and reads answers of bounded size.

#[path = "form.rs"]
pub(super) mod page;

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

use super::{Credentials, Service};
use crate::ForgeError;
use crate::asking::retry::{Decision, Purpose, RetryPolicy, Trouble};
use crate::asking::waiting::Waiting;
use crate::asking::whole::{NoReply, REPLY_MAX, USER_AGENT, Whole, parsed, whole};
use crate::asking::{retry, said};
use crh_http::{BaseUrl, Network, SetupError, Timeouts};

/// The most requests that are under way at a time: Launchpad is slower than others, and shared by everybody.
pub(super) const SIDE_BY_SIDE: usize = 8;

/// How long Launchpad is waited for. It gives up an answer of its own after half a minute.
pub const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(40),
    idle: Duration::from_secs(40),
};

/// How often an address is followed that something is found at: to the librarian it is one step.
const MOVES_MAX: u32 = 3;

/// The most pages of one list: at 75 entries each, several times as many comments as the longest proposals have.
const PAGES_MAX: usize = 100;

/// The most bytes of one list, so that a list of hostile texts cannot fill the memory.
const BYTES_MAX: usize = 64 << 20;

/// What a client is made of. Nothing is looked up.
pub struct Setup {
    /// Whom it asks.
    pub service: Service,
    /// As whom.
    pub credentials: Credentials,
    /// How often and how long it tries.
    pub retry: RetryPolicy,
    /// What time it is: it goes into the header that says who asks.
    pub now: fn() -> SystemTime,
    /// Any number; waits differ by it.
    pub seed: u64,
}

/// One Launchpad, asked as one account. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    service: Service,
    credentials: Credentials,
    retry: RetryPolicy,
    now: fn() -> SystemTime,
    /// For the next wait, and for the next header.
    jitter: AtomicU64,
    nonce: AtomicU64,
    timeouts: Timeouts,
    waiting: Waiting,
    slots: Semaphore,
}

/// A list, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection<T> {
    /// What is in it, in Launchpad's order.
    pub entries: Vec<T>,
    /// What is missing.
    pub rest: Rest,
}

/// What of a list was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: it is whole.
    Nothing,
    /// There is more of it than is read.
    LeftOut,
}

#[derive(Deserialize)]
struct Page<T> {
    entries: Vec<T>,
    next_collection_link: Option<String>,
}

/// A request.
struct Ask {
    method: Method,
    url: String,
    /// What goes along with a write.
    form: Option<String>,
    signature: Signature,
}

/// Whether the host is told who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signature {
    /// It is one of the service's.
    Own,
    /// It is another one, such as the librarian's.
    None,
}

impl fmt::Debug for Client {
    /// Whom it asks, never as whom.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("service", &self.inner.service.name())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client. Nothing is asked yet.
    pub fn new(network: &Network, setup: Setup) -> Result<Self, SetupError> {
        let Setup { service, credentials, retry, now, seed } = setup;
        let inner = Inner {
            http: crh_http::client(network)?,
            service,
            credentials,
            retry,
            now,
            jitter: AtomicU64::new(seed),
            nonce: AtomicU64::new(seed),
            timeouts: network.timeouts,
            waiting: Waiting::default(),
            slots: Semaphore::new(SIDE_BY_SIDE),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whom it asks.
    pub fn service(&self) -> &Service {
        &self.inner.service
    }

    /// Whether it asks as nobody in particular.
    pub fn is_anonymous(&self) -> bool {
        self.inner.credentials.is_anonymous()
    }

    /// Says to whom it is told that there is a wait. Nobody is told before.
    pub fn tell_waits(&self, tell: fn(&str)) {
        self.inner.waiting.tell_by(tell);
    }

    /// Reads what is at a path of the web service, such as `~ann/shop/+git/shop/+merge/1`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let body = self.get(path).await?;
        parsed(&format!("GET {path}"), &body)
    }

    /// Reads a list, page after page to its end, up to a bound that is said.
    pub async fn collection<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Collection<T>, ForgeError> {
        let (mut entries, mut bytes, mut next) = (Vec::new(), 0, path.to_owned());
        for _ in 0..PAGES_MAX {
            let body = self.get(&next).await?;
            bytes += body.len();
            if bytes > BYTES_MAX {
                return Ok(Collection { entries, rest: Rest::LeftOut });
            }
            let page: Page<T> = parsed(&format!("GET {path}"), &body)?;
            entries.extend(page.entries);
            let Some(link) = page.next_collection_link else {
                return Ok(Collection { entries, rest: Rest::Nothing });
            };
            next = self.own_path(path, &link)?;
        }
        Ok(Collection { entries, rest: Rest::LeftOut })
    }

    /// The path of something that Launchpad names. What is not its own is refused: credentials go along.
    pub(super) fn own_path(&self, what: &str, link: &str) -> Result<String, ForgeError> {
        let path = self.inner.service.path_of(link).map(str::to_owned);
        path.ok_or_else(|| ForgeError::Unreadable {
            what: format!("GET {what}"),
            message: "it names an address of another host".to_owned(),
        })
    }

    /// Reads a file that Launchpad keeps at a path of the web service and gives out at another host, which is not told who asks.
    pub async fn text(&self, path: &str) -> Result<Vec<u8>, ForgeError> {
        let mut ask = Ask::get(self.address(path), Signature::Own);
        for _ in 0..=MOVES_MAX {
            let reply = self.send(&ask, Purpose::Read).await?;
            let Some(location) = location(&reply) else { return Ok(reply.body) };
            let url: Option<BaseUrl> = location.split('?').next().and_then(|url| url.parse().ok());
            let is_safe =
                url.is_some_and(|url| url.as_str().starts_with("https:") || url.is_loopback());
            if !is_safe {
                return Err(self.unreachable("it sends us to an address that is not `https`"));
            }
            let is_own = self.inner.service.path_of(&location).is_some();
            ask = Ask::get(location, if is_own { Signature::Own } else { Signature::None });
        }
        Err(self.unreachable("the address moves in circles"))
    }

    /// Asks for something new at a path, by the name of an operation and its arguments as JSON; its path then. It is sent once
    /// more only if nothing arrived; if nobody knows what became of it, that is [`ForgeError::Ambiguous`]. Only an answer that
    /// says where the new thing is says that it is there: a page of something in between may answer with a status that sounds well.
    pub(super) async fn create(
        &self,
        path: &str,
        form: &[(String, String)],
    ) -> Result<String, ForgeError> {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let (url, signature) = (self.address(path), Signature::Own);
        let ask = Ask { method: Method::POST, url, form: Some(form), signature };
        let reply = self.send(&ask, Purpose::Write).await?;
        let (what, status) = (self.what(&ask), reply.status);
        let link = header_of(&reply, "location").unwrap_or_default();
        match (status, self.inner.service.path_of(&link)) {
            (201, Some(path)) => Ok(path.to_owned()),
            // Unlike 303, these say that it has to be asked elsewhere, so that nothing was done here.
            (301 | 302 | 307 | 308, _) => {
                let message = "it is at another address".to_owned();
                Err(ForgeError::Refused { what, status, message })
            }
            (_, _) => {
                let message = format!("it answers with status {status}, and not that it is there");
                Err(ForgeError::Ambiguous { what, message })
            }
        }
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.inner.service.api())
    }

    async fn get(&self, path: &str) -> Result<Vec<u8>, ForgeError> {
        let mut ask = Ask::get(self.address(path), Signature::Own);
        for _ in 0..=MOVES_MAX {
            let reply = self.send(&ask, Purpose::Read).await?;
            let Some(location) = location(&reply) else { return Ok(reply.body) };
            // Only inside the service: the header goes along.
            let path = self.own_path(path, &location)?;
            ask = Ask::get(self.address(&path), Signature::Own);
        }
        Err(self.unreachable("the address moves in circles"))
    }

    /// Sends a request, as often as that is right. What comes back is a success or a redirect.
    async fn send(&self, ask: &Ask, purpose: Purpose) -> Result<Whole, ForgeError> {
        let mut attempt = 1;
        loop {
            let (trouble, message, status) = match self.attempt(ask).await {
                Ok(reply) if (200..400).contains(&reply.status) => return Ok(reply),
                Ok(reply) => {
                    let told = told(&reply, &self.inner.credentials);
                    (trouble(&reply), told, Some(reply.status))
                }
                Err(NoReply::TooLarge) => {
                    let what = self.what(ask);
                    return Err(ForgeError::TooLarge { what, megabytes: REPLY_MAX >> 20 });
                }
                Err(NoReply::Trouble(trouble, message)) => (trouble, message, None),
            };
            let policy = &self.inner.retry;
            match retry::after(trouble, purpose, attempt, policy, retry::jitter(&self.inner.jitter))
            {
                Decision::Wait(time) => {
                    let (host, now) = (self.inner.service.name(), Instant::now());
                    self.inner.waiting.begins(host, trouble, &message, attempt, time, now);
                    tokio::time::sleep(time).await;
                }
                Decision::Ambiguous => {
                    return Err(ForgeError::Ambiguous { what: self.what(ask), message });
                }
                Decision::GiveUp => {
                    let (host, what) = (self.inner.service.name(), self.what(ask));
                    return Err(error(host, what, trouble, message, status));
                }
            }
            attempt += 1;
        }
    }

    /// Sends once, and reads the answer if one comes in time.
    async fn attempt(&self, ask: &Ask) -> Result<Whole, NoReply> {
        // Fails only if the semaphore is closed, which it never is.
        let _slot = self.inner.slots.acquire().await;
        let inner = &self.inner;
        let mut request = inner
            .http
            .request(ask.method.clone(), &ask.url)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, USER_AGENT);
        if ask.signature == Signature::Own {
            let now = (inner.now)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let nonce = inner.nonce.fetch_add(1, Ordering::Relaxed);
            let realm = inner.service.api();
            let signed = inner.credentials.header(realm, now.as_secs(), nonce);
            request = request.header(header::AUTHORIZATION, signed.expose_secret());
        }
        if let Some(form) = &ask.form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header(header::CONTENT_TYPE, kind).body(form.clone());
        }
        whole(request, inner.timeouts, inner.credentials.secret()).await
    }

    fn unreachable(&self, message: &str) -> ForgeError {
        let host = self.inner.service.name().to_owned();
        ForgeError::Unreachable { host, message: message.to_owned() }
    }

    /// What is asked, for people: without the address of the service and without what follows a question mark.
    fn what(&self, ask: &Ask) -> String {
        let place = self.inner.service.path_of(&ask.url).unwrap_or(&ask.url);
        format!("{} {}", ask.method, place.split('?').next().unwrap_or(place))
    }
}

impl Ask {
    fn get(url: String, signature: Signature) -> Self {
        Self { method: Method::GET, url, form: None, signature }
    }
}

/// What it comes to if nothing is tried any more.
fn error(
    host: &str,
    what: String,
    trouble: Trouble,
    message: String,
    status: Option<u16>,
) -> ForgeError {
    let host = host.to_owned();
    match (trouble, status) {
        (Trouble::Limited(wait), _) => ForgeError::RateLimited { host, wait },
        (Trouble::Refused, Some(401)) => ForgeError::BadToken { host, message },
        (Trouble::Refused, Some(403)) => ForgeError::Forbidden { what, message, needs: None },
        (Trouble::Refused, Some(404 | 410)) => ForgeError::NotFound { what },
        (Trouble::Refused, Some(status)) => ForgeError::Refused { what, status, message },
        (Trouble::Failing(_), Some(_)) => ForgeError::Failing { host, message },
        (Trouble::NotSent | Trouble::Unanswered | Trouble::Failing(_) | Trouble::Refused, _) => {
            ForgeError::Unreachable { host, message }
        }
    }
}

fn header_of(reply: &Whole, name: &str) -> Option<String> {
    reply.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Where something is instead.
fn location(reply: &Whole) -> Option<String> {
    matches!(reply.status, 301..=303 | 307 | 308).then(|| header_of(reply, "location")).flatten()
}

fn trouble(reply: &Whole) -> Trouble {
    let wait = header_of(reply, "retry-after").and_then(|text| text.trim().parse().ok());
    let wait = wait.map(Duration::from_secs);
    match reply.status {
        429 => Trouble::Limited(wait),
        408 | 500.. => Trouble::Failing(wait),
        _ => Trouble::Refused,
    }
}

/// What Launchpad says about a failure: its own words, and the number by which its people find it.
fn told(reply: &Whole, credentials: &Credentials) -> String {
    let secret = credentials.secret();
    if reply.status < 500 {
        let text = credentials.masked(&String::from_utf8_lossy(&reply.body));
        let text = said::shown(&text, secret);
        return if text.is_empty() { "no reason is given".to_owned() } else { text };
    }
    let known = StatusCode::from_u16(reply.status).ok();
    let reason = known.and_then(|status| status.canonical_reason());
    let named = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let oops = header_of(reply, "x-lazr-oopsid").map(|oops| said::shown(&oops, secret));
    let oops = oops.map(|oops| format!(", {oops}")).unwrap_or_default();
    format!("it answers with status {}{named}{oops}", reply.status)
}
