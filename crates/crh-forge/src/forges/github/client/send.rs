//! Sends requests with retries, redirects and App tokens.

use std::collections::BTreeMap;

use reqwest::{Method, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::GitHubApp;
use super::identity::{IdentityKind, InstallationToken};
use super::reply_head::ReplyHead;
use super::{ACCEPT, GitHubClient, error_message, graphql, parse_body};
use crate::ForgeError;
use crate::http::reply::{HttpReply, ReplyError, USER_AGENT, fetch_reply, status_text};
use crate::http::retry::{RequestFailure, RequestPurpose};
use crate::http::sender::{FailedAttempt, FailedReply};

/// Version of GitHub's REST API. GitHub supports each version for at least two years.
const API_VERSION: &str = "2022-11-28";

/// Maximum number of redirects to follow. A renamed repository redirects once.
const REDIRECTS_MAX: u32 = 3;

/// Permissions that crh requests for App tokens. A token is for one repository. crh leaves out
/// permissions that the App does not have there.
const APP_PERMISSIONS: [(&str, &str); 7] = [
    ("checks", "write"),
    // A review only reads files, but resolving a thread requires write access.
    ("contents", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("security_events", "write"),
    ("statuses", "read"),
];

pub(super) struct ApiRequest {
    pub(super) method: Method,
    pub(super) purpose: RequestPurpose,
    pub(super) url: String,
    pub(super) body: Option<Vec<u8>>,
    pub(super) etag: Option<String>,
    pub(super) api: ApiKind,
}

/// REST and GraphQL report errors in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiKind {
    Rest,
    Graphql,
}

/// A successful or "not modified" reply.
pub(super) struct ApiReply {
    pub(super) head: ReplyHead,
    pub(super) body: Vec<u8>,
}

/// Token of a request: the account's token, or the App's JWT if the request is for a token.
#[derive(Clone)]
struct Bearer(SecretString);

impl ApiRequest {
    pub(super) fn read(url: String, etag: Option<String>) -> Self {
        let (method, purpose, api) = (Method::GET, RequestPurpose::Read, ApiKind::Rest);
        Self { method, purpose, url, body: None, etag, api }
    }

    pub(super) fn write(method: Method, url: String, body: &Value) -> Self {
        let body = match body {
            Value::Null => None,
            body => Some(body.to_string().into_bytes()),
        };
        Self { method, purpose: RequestPurpose::Write, url, body, etag: None, api: ApiKind::Rest }
    }
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
    /// Granted permissions: `read`, `write` or `admin` by name.
    #[serde(default)]
    permissions: BTreeMap<String, String>,
}

impl Installation {
    /// Body of the request for a token.
    fn token_request(&self, app: &GitHubApp) -> Value {
        let permissions: BTreeMap<&str, &str> = APP_PERMISSIONS
            .into_iter()
            .filter_map(|(name, requested_level)| {
                let granted_level = self.permissions.get(name)?;
                Some((name, if granted_level == "read" { "read" } else { requested_level }))
            })
            .collect();
        json!({ "repositories": [app.repo().name()], "permissions": permissions })
    }
}

#[derive(Deserialize)]
struct AccessToken {
    token: String,
}

impl GitHubClient {
    /// Sends a request with the client's credentials.
    pub(super) async fn send(&self, api_request: &ApiRequest) -> Result<ApiReply, ForgeError> {
        let bearer = self.bearer().await?;
        match self.send_as(api_request, &bearer).await {
            // GitHub may revoke an App's token early. A rejected fresh token has another cause.
            Err(ForgeError::BadToken { .. }) if self.forget_token(&bearer).await => {
                let bearer = self.bearer().await?;
                self.send_as(api_request, &bearer).await
            }
            result => result,
        }
    }

    /// Token for git to fetch from this host, valid for at least some minutes.
    pub async fn git_token(&self) -> Result<SecretString, ForgeError> {
        Ok(self.bearer().await?.0)
    }

    /// Forgets a rejected App token. Returns whether the client belongs to an App.
    async fn forget_token(&self, bearer: &Bearer) -> bool {
        let IdentityKind::App(app_installation) = self.inner.account.kind() else { return false };
        let mut token = app_installation.token.lock().await;
        let is_rejected =
            |current: &InstallationToken| current.token.expose_secret() == bearer.0.expose_secret();
        if token.as_ref().is_some_and(is_rejected) {
            *token = None;
        }
        true
    }

    /// The account's token, renewed if it expires soon.
    async fn bearer(&self) -> Result<Bearer, ForgeError> {
        let app_installation = match self.inner.account.kind() {
            IdentityKind::Token(token) => return Ok(Bearer(token.clone())),
            IdentityKind::App(app_installation) => app_installation,
        };
        // The lock is held during the request, so that concurrent requests renew the token only
        // once.
        let mut token = app_installation.token.lock().await;
        let now = (self.inner.now)();
        if let Some(current) = token.as_ref().filter(|current| current.is_valid(now)) {
            return Ok(Bearer(current.token.clone()));
        }
        let app = &app_installation.app;
        let jwt = app.jwt(now).map_err(|error| ForgeError::BadToken {
            host: self.inner.host.name().to_owned(),
            message: error.to_string(),
        })?;
        let bearer = Bearer(jwt);
        let path = format!("/repos/{}/installation", app.repo());
        let reply = self.send_as(&ApiRequest::read(self.address(&path), None), &bearer).await?;
        let installation: Installation = parse_body(&format!("GET {path}"), &reply.body)?;
        let path = format!("/app/installations/{}/access_tokens", installation.id);
        let body = installation.token_request(app);
        let mut api_request = ApiRequest::write(Method::POST, self.address(&path), &body);
        // Retries are safe, because an unused token does no harm.
        api_request.purpose = RequestPurpose::Read;
        let reply = self.send_as(&api_request, &bearer).await?;
        let AccessToken { token: token_text } = parse_body(&format!("POST {path}"), &reply.body)
            .map_err(|_| ForgeError::unreadable(format!("POST {path}"), "it has no token"))?;
        let new_token = SecretString::from(token_text);
        *token = Some(InstallationToken { token: new_token.clone(), issued_at: now });
        Ok(Bearer(new_token))
    }

    async fn send_as(
        &self,
        api_request: &ApiRequest,
        bearer: &Bearer,
    ) -> Result<ApiReply, ForgeError> {
        let request = self.describe(api_request);
        let (mut attempt, mut redirects, mut url) = (1, 0, api_request.url.clone());
        loop {
            let failed = match self.attempt(api_request, &url, bearer).await {
                Ok(reply) => match self.classify(api_request, reply, bearer) {
                    ClassifiedReply::Success(reply) => return Ok(reply),
                    ClassifiedReply::Redirect(target) if redirects < REDIRECTS_MAX => {
                        (redirects, url) = (redirects + 1, target);
                        continue;
                    }
                    ClassifiedReply::Redirect(_) => {
                        return Err(self.unreachable("redirect loop".to_owned()));
                    }
                    ClassifiedReply::Failed(failure, message, head) => {
                        failed_attempt(failure, message, head)
                    }
                },
                Err(error) => error.into_failed(&request)?,
            };
            self.inner.sender.wait(&request, api_request.purpose, attempt, failed).await?;
            attempt += 1;
        }
    }

    /// Sends once and reads the reply.
    async fn attempt(
        &self,
        api_request: &ApiRequest,
        url: &str,
        bearer: &Bearer,
    ) -> Result<ApiReply, ReplyError> {
        // The semaphore is never closed.
        let _slot = self.inner.sender.slots.acquire().await;
        let mut request = self
            .inner
            .sender
            .http
            .request(api_request.method.clone(), url)
            .bearer_auth(bearer.0.expose_secret())
            .header(header::ACCEPT, ACCEPT)
            .header(header::USER_AGENT, USER_AGENT)
            .header("x-github-api-version", API_VERSION);
        if let Some(etag) = &api_request.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(body) = &api_request.body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let HttpReply { status, headers, body } =
            fetch_reply(request, self.inner.sender.timeouts, Some(&bearer.0)).await?;
        let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Ok(ApiReply { head: ReplyHead::parse(status, get), body })
    }

    /// Classifies a reply and records its rate limit.
    fn classify(
        &self,
        api_request: &ApiRequest,
        reply: ApiReply,
        bearer: &Bearer,
    ) -> ClassifiedReply {
        let ApiReply { head, body } = reply;
        if let Some(limit) = &head.limit {
            let mut limits =
                self.inner.limits.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            limits.insert(limit.resource.clone(), limit.clone());
        }
        let now = (self.inner.now)();
        match head.status {
            200..=299
                if api_request.api == ApiKind::Graphql
                    && graphql::is_limited(&body, head.retry_after) =>
            {
                let message = "GraphQL rate limit exceeded".to_owned();
                ClassifiedReply::Failed(head.rate_limited(now), message, head)
            }
            200..=299 if api_request.api == ApiKind::Graphql && graphql::is_timeout(&body) => {
                let message = "the query timed out".to_owned();
                ClassifiedReply::Failed(
                    RequestFailure::ServerError(head.retry_after),
                    message,
                    head,
                )
            }
            200..=299 => ClassifiedReply::Success(ApiReply { head, body }),
            304 if api_request.etag.is_some() => ClassifiedReply::Success(ApiReply { head, body }),
            301 | 302 | 307 | 308 if api_request.method == Method::GET => {
                match self.redirect_target(&head) {
                    Some(address) => ClassifiedReply::Redirect(address),
                    None => {
                        let message = "it redirects to another host".to_owned();
                        ClassifiedReply::Failed(RequestFailure::Refused, message, head)
                    }
                }
            }
            _ => {
                let message = error_message::message(&body, Some(&bearer.0));
                ClassifiedReply::Failed(head.failure(&message, now), message, head)
            }
        }
    }

    /// Target of a redirect. `None` outside the same API, because the request contains the token.
    fn redirect_target(&self, head: &ReplyHead) -> Option<String> {
        let location = head.location.as_deref()?;
        let path = location.strip_prefix(self.inner.host.api())?;
        path.starts_with('/').then(|| location.to_owned())
    }

    fn unreachable(&self, message: String) -> ForgeError {
        ForgeError::Unreachable { host: self.inner.host.name().to_owned(), message }
    }

    /// The request for messages, without the host's address.
    fn describe(&self, api_request: &ApiRequest) -> String {
        let api = self.inner.host.api();
        let target = match api_request.api {
            ApiKind::Graphql => "a query",
            ApiKind::Rest => api_request.url.strip_prefix(api).unwrap_or(&api_request.url),
        };
        let path = target.split('?').next().unwrap_or(target);
        format!("{} {path}", api_request.method)
    }
}

enum ClassifiedReply {
    Success(ApiReply),
    Redirect(String),
    Failed(RequestFailure, String, ReplyHead),
}

fn failed_attempt(failure: RequestFailure, message: String, head: ReplyHead) -> FailedAttempt {
    let server_error = match head.status {
        ..300 => message.clone(),
        status => status_text(status),
    };
    let (status, needs) = (head.status, head.accepted_permissions);
    FailedAttempt { failure, message, reply: Some(FailedReply { status, needs, server_error }) }
}
