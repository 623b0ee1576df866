//! Sends one request, as often as that is right, and reads its answer up to a limit.

use std::collections::BTreeMap;

use reqwest::{StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::App;
use super::account::{Kind, Lent};
use super::head::Head;
use super::{ACCEPT, Client, graphql, parsed, said};
use crate::ForgeError;
use crate::asking::retry;
use crate::asking::retry::{Decision, Purpose, Trouble};
use crate::asking::whole::{NoReply, REPLY_MAX, USER_AGENT, Whole, whole};

/// The version of the API that is spoken; GitHub keeps each for at least two years.
const API_VERSION: &str = "2022-11-28";

/// How often an address is followed that a repository has moved to: it moves once when it is renamed.
const MOVES_MAX: u32 = 3;

/// What an App needs at most. It is lent no more, and only for the repository that it is asked about; what the installation
/// does not have cannot be lent.
const NEEDED: [(&str, &str); 7] = [
    ("checks", "write"),
    // Files are only read; to resolve a conversation takes this all the same.
    ("contents", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("security_events", "write"),
    ("statuses", "read"),
];

/// How a request begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Patch,
    Put,
    Delete,
}

impl Method {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A request.
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) purpose: Purpose,
    pub(super) url: String,
    pub(super) body: Option<Vec<u8>>,
    pub(super) etag: Option<String>,
    pub(super) api: Api,
}

/// Which of the two APIs is asked: they tell of failures in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Rest,
    Graphql,
}

/// An answer that was a success, or "not modified".
pub(super) struct Reply {
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
}

/// Whose word goes along: the account's, or the App's own where it asks for a token.
#[derive(Clone)]
struct Bearer(SecretString);

impl Ask {
    pub(super) fn read(url: String, etag: Option<String>) -> Self {
        let (method, purpose, api) = (Method::Get, Purpose::Read, Api::Rest);
        Self { method, purpose, url, body: None, etag, api }
    }

    pub(super) fn write(method: Method, url: String, body: &Value) -> Self {
        let body = match body {
            Value::Null => None,
            body => Some(body.to_string().into_bytes()),
        };
        Self { method, purpose: Purpose::Write, url, body, etag: None, api: Api::Rest }
    }
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
    /// What it was given, by name: `read`, `write` or `admin`.
    #[serde(default)]
    permissions: BTreeMap<String, String>,
}

impl Installation {
    /// What a token is asked for.
    fn wanted(&self, app: &App) -> Value {
        let permissions: BTreeMap<&str, &str> = NEEDED
            .into_iter()
            .filter_map(|(name, most)| {
                let given = self.permissions.get(name)?;
                Some((name, if given == "read" { "read" } else { most }))
            })
            .collect();
        json!({ "repositories": [app.repo().name()], "permissions": permissions })
    }
}

#[derive(Deserialize)]
struct AccessToken {
    token: String,
}

impl Client {
    /// Sends a request as the account of this client.
    pub(super) async fn send(&self, ask: &Ask) -> Result<Reply, ForgeError> {
        let bearer = self.bearer().await?;
        match self.send_as(ask, &bearer).await {
            // A token of an App can be taken back before its time. One that is new is not accepted for another reason.
            Err(ForgeError::BadToken { .. }) if self.forgets(&bearer).await => {
                let bearer = self.bearer().await?;
                self.send_as(ask, &bearer).await
            }
            sent => sent,
        }
    }

    /// The token that git takes along to fetch from this host: the account's own, or what an App is lent. It holds for some
    /// minutes at least.
    pub async fn git_token(&self) -> Result<SecretString, ForgeError> {
        Ok(self.bearer().await?.0)
    }

    /// Forgets a token of an App that was not accepted. Whether there was one.
    async fn forgets(&self, bearer: &Bearer) -> bool {
        let Kind::App(installed) = self.inner.account.kind() else { return false };
        let mut token = installed.token.lock().await;
        let same = |lent: &Lent| lent.token.expose_secret() == bearer.0.expose_secret();
        if token.as_ref().is_some_and(same) {
            *token = None;
        }
        true
    }

    /// The token of the account, got anew if it is about to end.
    async fn bearer(&self) -> Result<Bearer, ForgeError> {
        let installed = match self.inner.account.kind() {
            Kind::Token(token) => return Ok(Bearer(token.clone())),
            Kind::App(installed) => installed,
        };
        // Held while asking, so that a burst asks once.
        let mut token = installed.token.lock().await;
        let now = (self.inner.now)();
        if let Some(lent) = token.as_ref().filter(|lent| lent.holds(now)) {
            return Ok(Bearer(lent.token.clone()));
        }
        let app = &installed.app;
        let statement = app.statement(now).map_err(|error| ForgeError::BadToken {
            host: self.inner.host.name().to_owned(),
            message: error.to_string(),
        })?;
        let bearer = Bearer(statement);
        let path = format!("/repos/{}/installation", app.repo());
        let reply = self.send_as(&Ask::read(self.address(&path), None), &bearer).await?;
        let installation: Installation = parsed(&format!("GET {path}"), &reply.body)?;
        let path = format!("/app/installations/{}/access_tokens", installation.id);
        let wanted = installation.wanted(app);
        let mut ask = Ask::write(Method::Post, self.address(&path), &wanted);
        // A token that nobody gets to know does no harm.
        ask.purpose = Purpose::Read;
        let reply = self.send_as(&ask, &bearer).await?;
        let AccessToken { token: fresh } = parsed(&format!("POST {path}"), &reply.body)
            .map_err(|_| unreadable(&format!("POST {path}"), "there is no token in it"))?;
        let fresh = SecretString::from(fresh);
        *token = Some(Lent { token: fresh.clone(), since: now });
        Ok(Bearer(fresh))
    }

    async fn send_as(&self, ask: &Ask, bearer: &Bearer) -> Result<Reply, ForgeError> {
        let what = self.what(ask);
        let (mut attempt, mut moves, mut url) = (1, 0, ask.url.clone());
        loop {
            let (trouble, message, head) = match self.attempt(ask, &url, bearer).await {
                Ok(reply) => match self.judged(ask, reply, bearer) {
                    Judged::Fine(reply) => return Ok(reply),
                    Judged::Moved(to) if moves < MOVES_MAX => {
                        (moves, url) = (moves + 1, to);
                        continue;
                    }
                    Judged::Moved(_) => {
                        return Err(self.unreachable("the address moves in circles".to_owned()));
                    }
                    Judged::Trouble(trouble, message, head) => (trouble, message, Some(head)),
                },
                Err(NoReply::TooLarge) => {
                    return Err(ForgeError::TooLarge { what, megabytes: REPLY_MAX >> 20 });
                }
                Err(NoReply::Trouble(trouble, message)) => (trouble, message, None),
            };
            match retry::after(
                trouble,
                ask.purpose,
                attempt,
                &self.inner.retry,
                retry::jitter(&self.inner.jitter),
            ) {
                Decision::Wait(time) => {
                    let host = self.inner.host.name();
                    self.inner.waiting.begins(
                        host,
                        trouble,
                        &message,
                        attempt,
                        time,
                        Instant::now(),
                    );
                    tokio::time::sleep(time).await;
                }
                Decision::Ambiguous => return Err(ForgeError::Ambiguous { what, message }),
                Decision::GiveUp => return Err(self.error(what, trouble, message, head)),
            }
            attempt += 1;
        }
    }

    /// Sends once, and reads the answer if one comes in time.
    async fn attempt(&self, ask: &Ask, url: &str, bearer: &Bearer) -> Result<Reply, NoReply> {
        // Fails only if the semaphore is closed, which it never is.
        let _slot = self.inner.slots.acquire().await;
        let method = match ask.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Patch => reqwest::Method::PATCH,
            Method::Put => reqwest::Method::PUT,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut request = self
            .inner
            .http
            .request(method, url)
            .bearer_auth(bearer.0.expose_secret())
            .header(header::ACCEPT, ACCEPT)
            .header(header::USER_AGENT, USER_AGENT)
            .header("x-github-api-version", API_VERSION);
        if let Some(etag) = &ask.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(body) = &ask.body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let Whole { status, headers, body } =
            whole(request, self.inner.timeouts, Some(&bearer.0)).await?;
        let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Reply { head: Head::read(status, get), body })
    }

    /// What an answer is: a success, another address, or trouble. Its limits are written down.
    fn judged(&self, ask: &Ask, reply: Reply, bearer: &Bearer) -> Judged {
        let Reply { head, body } = reply;
        if let Some(limit) = &head.limit {
            let mut limits =
                self.inner.limits.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            limits.insert(limit.resource.clone(), limit.clone());
        }
        let now = (self.inner.now)();
        match head.status {
            200..=299
                if ask.api == Api::Graphql && graphql::is_limited(&body, head.retry_after) =>
            {
                let message = "the limit of GraphQL is used up".to_owned();
                Judged::Trouble(head.limited(now), message, head)
            }
            200..=299 if ask.api == Api::Graphql && graphql::is_timeout(&body) => {
                let message = "it did not come to the end of a query in its time".to_owned();
                Judged::Trouble(Trouble::Failing(head.retry_after), message, head)
            }
            200..=299 => Judged::Fine(Reply { head, body }),
            304 if ask.etag.is_some() => Judged::Fine(Reply { head, body }),
            301 | 302 | 307 | 308 if ask.method == Method::Get => match self.moved_to(&head) {
                Some(address) => Judged::Moved(address),
                None => {
                    let message = "it sends us to another host".to_owned();
                    Judged::Trouble(Trouble::Refused, message, head)
                }
            },
            _ => {
                let message = said::message(&body, Some(&bearer.0));
                Judged::Trouble(head.trouble(&message, now), message, head)
            }
        }
    }

    /// Where a resource has moved to. Only to the same API: the token goes along.
    fn moved_to(&self, head: &Head) -> Option<String> {
        let location = head.location.as_deref()?;
        let inside = location.strip_prefix(self.inner.host.api())?;
        inside.starts_with('/').then(|| location.to_owned())
    }

    fn error(
        &self,
        what: String,
        trouble: Trouble,
        message: String,
        head: Option<Head>,
    ) -> ForgeError {
        let host = self.inner.host.name().to_owned();
        match (trouble, head) {
            (Trouble::Limited(wait), _) => ForgeError::RateLimited { host, wait },
            (Trouble::Refused, Some(head)) => match head.status {
                401 => ForgeError::BadToken { host, message },
                403 => ForgeError::Forbidden { what, message, needs: head.accepted },
                404 | 410 => ForgeError::NotFound { what },
                status => ForgeError::Refused { what, status, message },
            },
            (Trouble::Failing(_), Some(head)) if head.status < 300 => {
                ForgeError::Failing { host, message }
            }
            (Trouble::Failing(_), Some(head)) => {
                let known = StatusCode::from_u16(head.status).ok();
                let reason = known.and_then(|status| status.canonical_reason());
                let named = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                let message = format!("it answers with status {}{named}", head.status);
                ForgeError::Failing { host, message }
            }
            (
                Trouble::NotSent | Trouble::Unanswered | Trouble::Failing(_) | Trouble::Refused,
                _,
            ) => self.unreachable(message),
        }
    }

    fn unreachable(&self, message: String) -> ForgeError {
        ForgeError::Unreachable { host: self.inner.host.name().to_owned(), message }
    }

    /// What is asked, for people: without the address of the host.
    fn what(&self, ask: &Ask) -> String {
        let api = self.inner.host.api();
        let place = match ask.api {
            Api::Graphql => "a query",
            Api::Rest => ask.url.strip_prefix(api).unwrap_or(&ask.url),
        };
        let path = place.split('?').next().unwrap_or(place);
        format!("{} {path}", ask.method.word())
    }
}

enum Judged {
    Fine(Reply),
    Moved(String),
    Trouble(Trouble, String, Head),
}

fn unreadable(what: &str, message: &str) -> ForgeError {
    ForgeError::Unreadable { what: what.to_owned(), message: message.to_owned() }
}
