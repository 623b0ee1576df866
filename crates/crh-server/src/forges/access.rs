//! Access to a forge with a plain REST API, with the token of one account. The token lives only in
//! memory.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use thiserror::Error;

use super::rules::RestForgeRules;
use crate::forge_access::{CheckNotice, ForgeFailure, OpenChange};
use crate::github_app::{SecretError, SecretSource, forge_failure};
use crate::job::ChangeId;
use crate::webhook::plan::CommentRef;
use crh_forge::posting::ForgeRequest;
use crh_forge::rest::{
    RestClient, RestClientConfig, RestHost, RestHostError, RestSetupError, TIMEOUTS,
};
use crh_forge::{ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;

/// Settings of the access.
#[derive(Debug, Clone)]
pub struct RestAccessSettings {
    /// The forge.
    pub rules: &'static dyn RestForgeRules,
    /// Web address of the server.
    pub server: String,
    /// Token of the account. A file can be replaced without a restart.
    pub token: SecretSource,
    /// Secrets of the webhook, one per line during a rotation. `None` for a worker.
    pub webhook_secret: Option<SecretSource>,
    /// Proxies and certificates.
    pub network: NetworkSettings,
    /// Clock.
    pub now: fn() -> SystemTime,
}

/// Why the server cannot use a forge.
#[derive(Debug, Error)]
pub enum RestAccessError {
    /// Invalid address.
    #[error("`{server}`: {error}")]
    Host {
        /// The address.
        server: String,
        /// Cause.
        error: RestHostError,
    },
    /// Unreadable secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// HTTP setup failed.
    #[error(transparent)]
    Setup(#[from] RestSetupError),
}

impl From<RestAccessError> for ForgeFailure {
    fn from(error: RestAccessError) -> Self {
        Self::Denied(error.to_string())
    }
}

/// Access to one forge.
#[derive(Debug)]
pub struct RestAccess {
    settings: RestAccessSettings,
    host: RestHost,
    /// The last client, which has the token.
    client: Mutex<Option<RestClient>>,
}

impl RestAccess {
    /// Creates the access without sending anything. Fails if a secret or the address is invalid.
    pub fn new(settings: RestAccessSettings) -> Result<Self, RestAccessError> {
        let host = settings.rules.host(&settings.server);
        let host =
            host.map_err(|error| RestAccessError::Host { server: settings.server.clone(), error })?;
        let access = Self { settings, host, client: Mutex::default() };
        access.webhook_secrets()?;
        access.client()?;
        Ok(access)
    }

    /// The server.
    pub fn host(&self) -> &RestHost {
        &self.host
    }

    /// The forge.
    pub fn rules(&self) -> &'static dyn RestForgeRules {
        self.settings.rules
    }

    /// Secrets of the webhook.
    pub fn webhook_secrets(&self) -> Result<Vec<SecretString>, SecretError> {
        self.settings.webhook_secret.as_ref().map_or(Ok(Vec::new()), SecretSource::read_lines)
    }

    /// Web address of a change, or of its repository.
    pub fn change_url(&self, change: &ChangeId) -> String {
        self.rules().change_url(self.host.web(), change)
    }

    /// The token. It reaches everything that the account can see.
    pub(super) fn token(&self) -> Result<SecretString, ForgeFailure> {
        Ok(self.settings.token.read().map_err(RestAccessError::from)?)
    }

    pub(super) async fn open_change(
        &self,
        change: &ChangeId,
    ) -> Result<Option<OpenChange>, ForgeFailure> {
        let reply: Value = self.get(&self.rules().change_path(change)).await?;
        self.read_change(&change.repository, reply)
    }

    pub(super) async fn open_changes(
        &self,
        repository: &str,
    ) -> Result<Vec<OpenChange>, ForgeFailure> {
        let replies = self.list(&self.rules().open_changes_path(repository)).await?;
        let changes = replies.into_iter().map(|reply| self.read_change(repository, reply));
        let changes: Result<Vec<Option<OpenChange>>, ForgeFailure> = changes.collect();
        Ok(changes?.into_iter().flatten().collect())
    }

    pub(super) async fn may_write(
        &self,
        repository: &str,
        account: &str,
    ) -> Result<bool, ForgeFailure> {
        if !is_login(account) {
            return Ok(false);
        }
        match self.get(&self.rules().permission_path(repository, account)).await {
            Ok(reply) => Ok(self.rules().may_write(account, &reply)),
            // The account is gone.
            Err(ForgeFailure::Gone(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Whether a comment of the own account has this text.
    pub(super) async fn has_comment(
        &self,
        change: &ChangeId,
        text: &str,
    ) -> Result<bool, ForgeFailure> {
        let own: Value = self.get("/user").await?;
        let rules = self.rules();
        let comments = self.list(&rules.comments_path(change)).await?;
        Ok(comments.iter().any(|comment| {
            let author = rules.login(rules.comment_author(comment));
            author.is_some()
                && author == rules.login(&own)
                && comment["body"].as_str().is_some_and(|body| body.contains(text))
        }))
    }

    pub(super) async fn comment(&self, change: &ChangeId, body: &str) -> Result<(), ForgeFailure> {
        self.write(&self.rules().comment_request(change, body)).await
    }

    pub(super) async fn approve_comment(
        &self,
        change: &ChangeId,
        comment: &CommentRef,
    ) -> Result<(), ForgeFailure> {
        match self.write(&self.rules().approval_request(change, comment)).await {
            // GitLab answers so if the reaction exists, or the comment is gone.
            Err(ForgeFailure::Gone(_)) => Ok(()),
            result => result,
        }
    }

    /// Says in a comment why crh does not review. These forges have no neutral status. Doing it
    /// twice leaves one comment.
    pub(super) async fn report_notice(
        &self,
        change: &ChangeId,
        notice: &CheckNotice,
    ) -> Result<(), ForgeFailure> {
        let mark = format!("<!-- crh notice {} -->", notice.title);
        if self.has_comment(change, &mark).await? {
            return Ok(());
        }
        let body = format!("**{}**\n\n{}\n\n{mark}", notice.title, notice.summary);
        self.comment(change, &body).await
    }

    fn read_change(
        &self,
        repository: &str,
        reply: Value,
    ) -> Result<Option<OpenChange>, ForgeFailure> {
        let change = self.rules().read_change(reply).map_err(|error| {
            ForgeFailure::Unavailable(format!("a change cannot be read: {error}"))
        })?;
        Ok(change.is_open.then(|| OpenChange {
            change: ChangeId {
                forge: self.host.name().to_owned(),
                repository: repository.to_owned(),
                number: change.number.to_string(),
            },
            revision: change.revision().unwrap_or(0),
            authorship: change.authorship(),
            // A label approves only the head that it was added to, and only the delivery says
            // which.
            labelled: false,
            draft: change.is_draft,
            head: change.head,
        }))
    }

    async fn get(&self, path: &str) -> Result<Value, ForgeFailure> {
        let result = self.client()?.get_json(path).await;
        result.map_err(|error| self.failure(error))
    }

    async fn list(&self, path: &str) -> Result<Vec<Value>, ForgeFailure> {
        let result = self.client()?.list(path).await;
        result.map(|list| list.entries).map_err(|error| self.failure(error))
    }

    async fn write(&self, request: &ForgeRequest) -> Result<(), ForgeFailure> {
        let result = self.client()?.write(request.verb, &request.path, &request.body).await;
        result.map(|_| ()).map_err(|error| self.failure(error))
    }

    fn failure(&self, error: ForgeError) -> ForgeFailure {
        forge_failure(error, (self.settings.now)())
    }

    /// A client with the current token.
    fn client(&self) -> Result<RestClient, RestAccessError> {
        let token = self.settings.token.read()?;
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let has_token = |client: &&RestClient| {
            let known = client.token().map(ExposeSecret::expose_secret);
            known == Some(token.expose_secret())
        };
        if let Some(client) = client.as_ref().filter(has_token) {
            return Ok(client.clone());
        }
        let config = RestClientConfig {
            host: self.host.clone(),
            token: Some(self.rules().api_token(token)),
            retry: ForgeRetryPolicy::default(),
            now: self.settings.now,
            seed: 0,
        };
        let network = NetworkSettings { timeouts: TIMEOUTS, ..self.settings.network.clone() };
        let new = RestClient::new(&network, config)?;
        *client = Some(new.clone());
        Ok(new)
    }
}

/// Logins become parts of addresses.
fn is_login(login: &str) -> bool {
    let is_login_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !login.is_empty()
        && login.len() <= 255
        && login.bytes().all(is_login_byte)
        && !login.bytes().all(|byte| byte == b'.')
}
