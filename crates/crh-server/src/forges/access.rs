//! Access to a forge with a plain REST API, with the token of one account. The token lives only in
//! memory.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use thiserror::Error;

use super::{INSTANCE, events};
use crate::forge_access::{CheckNotice, ForgeFailure, ForgeResult, OpenChange};
use crate::github_app::{SecretError, SecretSource, forge_failure};
use crate::job::ChangeId;
use crate::webhook::plan::CommentRef;
use crh_forge::forge_code::{
    CommitResult, FILE_MODES, FileCommit, FileVersion, FixSuggestion, HeadFile, OwnConversation,
    PullHead, decode, issue_key,
};
use crh_forge::posting::{
    ForgeRequest, InlineComment, InlineThread, ProposalState, Verb, mark_line,
};
use crh_forge::rest::{
    RestChange, RestChangeRef, RestClient, RestClientConfig, RestForge, RestHost, RestHostError,
    RestSetupError, TIMEOUTS,
};
use crh_forge::{DiffSpot, ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;
use crh_review::finding::Side;

/// Settings of the access.
#[derive(Debug, Clone)]
pub struct RestAccessSettings {
    /// The forge.
    pub forge: &'static dyn RestForge,
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
    /// The last client. It is used again until the token changes.
    client: Mutex<Option<RestClient>>,
}

impl RestAccess {
    /// Creates the access without sending a request. Fails if a secret or the address is invalid.
    pub fn new(settings: RestAccessSettings) -> Result<Self, RestAccessError> {
        let host = settings.forge.rest_profile().host(&settings.server);
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
    pub fn forge(&self) -> &'static dyn RestForge {
        self.settings.forge
    }

    /// Secrets of the webhook.
    pub fn webhook_secrets(&self) -> Result<Vec<SecretString>, SecretError> {
        self.settings.webhook_secret.as_ref().map_or(Ok(Vec::new()), SecretSource::read_lines)
    }

    /// Web address of a change, or of its repository.
    pub fn change_url(&self, change: &ChangeId) -> String {
        match change.number.as_str() {
            "" => format!("{}/{}", self.host.web(), change.repository),
            _ => self.change_ref(change).url(),
        }
    }

    fn change_ref(&self, change: &ChangeId) -> RestChangeRef {
        RestChangeRef {
            forge: self.forge(),
            host: self.host.clone(),
            repository: change.repository.clone(),
            // The server stores only numbers. No change has the number 0.
            number: change.number.parse().unwrap_or_default(),
        }
    }

    /// The token. It reaches everything that the account can see.
    pub(super) fn token(&self) -> ForgeResult<SecretString> {
        Ok(self.settings.token.read().map_err(RestAccessError::from)?)
    }

    pub(super) async fn open_change(&self, change: &ChangeId) -> ForgeResult<Option<OpenChange>> {
        let reply: Value = self.get(&self.change_ref(change).api_path()).await?;
        self.read_change(&change.repository, reply)
    }

    pub(super) async fn open_changes(&self, repository: &str) -> ForgeResult<Vec<OpenChange>> {
        let replies = self.list(&self.forge().open_changes_path(repository)).await?;
        let changes = replies.into_iter().map(|reply| self.read_change(repository, reply));
        let changes: ForgeResult<Vec<Option<OpenChange>>> = changes.collect();
        Ok(changes?.into_iter().flatten().collect())
    }

    pub(super) async fn may_write(&self, repository: &str, account: &str) -> ForgeResult<bool> {
        if !is_login(account) {
            return Ok(false);
        }
        match self.get(&self.forge().permission_path(repository, account)).await {
            Ok(reply) => Ok(self.forge().may_write(account, &reply)),
            // The account is gone.
            Err(ForgeFailure::Gone(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Whether a comment of the server's account has this mark.
    pub(super) async fn has_marked_comment(
        &self,
        change: &ChangeId,
        mark: &str,
    ) -> ForgeResult<bool> {
        let own: Value = self.get("/user").await?;
        let forge = self.forge();
        let comments = self.list(&forge.comments_path(&self.change_ref(change))).await?;
        Ok(comments.iter().any(|comment| {
            let author = forge.login(forge.comment_author(comment));
            author.is_some()
                && author == forge.login(&own)
                && comment["body"].as_str().is_some_and(|body| mark_line(body) == mark)
        }))
    }

    pub(super) async fn comment(&self, change: &ChangeId, body: &str) -> ForgeResult<()> {
        let path = self.forge().comments_path(&self.change_ref(change));
        self.write(&ForgeRequest { verb: Verb::Post, path, body: json!({ "body": body }) }).await
    }

    pub(super) async fn approve_comment(
        &self,
        change: &ChangeId,
        comment: &CommentRef,
    ) -> ForgeResult<()> {
        match self
            .write(&self.forge().thumbs_up_request(&self.change_ref(change), comment.id))
            .await
        {
            // Some forges also answer "not found" if the reaction exists already.
            Err(ForgeFailure::Gone(_)) => Ok(()),
            result => result,
        }
    }

    /// The conversation that contains this reply of a person, if crh started it about an issue.
    pub(super) async fn own_conversation(
        &self,
        change: &ChangeId,
        reply: u64,
    ) -> ForgeResult<Option<OwnConversation>> {
        let state = self.state(change).await?;
        let has_reply = |thread: &&InlineThread| {
            let is_it = |comment: &InlineComment| comment.id == reply;
            thread.comments.iter().any(|it| is_it(it) && !it.ours && !it.by_bot)
        };
        let Some(thread) = state.threads.iter().find(has_reply) else { return Ok(None) };
        let root = thread.comments.first().filter(|root| root.ours);
        let Some((root, key)) = root.and_then(|root| Some((root, issue_key(&root.body)?))) else {
            return Ok(None);
        };
        let side = thread.side.unwrap_or(Side::New);
        let spot = thread.line.map(|line| DiffSpot { file: thread.path.clone(), side, line });
        Ok(Some(OwnConversation {
            thread: thread.node_id.clone(),
            root: root.id,
            spot,
            resolved: thread.resolved,
            issue_key: key.to_owned(),
            own_texts: own_texts(&state),
        }))
    }

    pub(super) async fn reply(
        &self,
        change: &ChangeId,
        conversation: &OwnConversation,
        body: &str,
    ) -> ForgeResult<()> {
        match self.forge().reply_request(&self.change_ref(change), conversation, body) {
            Some(request) => self.write(&request).await,
            None => self.comment(change, body).await,
        }
    }

    /// Resolves a conversation, if the forge's API can.
    pub(super) async fn resolve(&self, change: &ChangeId, thread: &str) -> ForgeResult<()> {
        match self.forge().resolve_request(&self.change_ref(change), thread) {
            Some(request) => self.write(&request).await,
            None => Ok(()),
        }
    }

    pub(super) async fn pull_head(&self, change: &ChangeId) -> ForgeResult<PullHead> {
        let reply: Value = self.get(&self.change_ref(change).api_path()).await?;
        let RestChange { head, branch, from_fork, .. } = self.parse_change(reply)?;
        Ok(PullHead { commit: head, branch, is_own_branch: !from_fork })
    }

    pub(super) async fn commit_message(
        &self,
        repository: &str,
        commit: &str,
    ) -> ForgeResult<String> {
        let reply = self.get(&self.forge().commit_path(repository, commit)).await?;
        Ok(self.forge().commit_message(&reply).unwrap_or_default().to_owned())
    }

    pub(super) async fn file_at(
        &self,
        repository: &str,
        commit: &str,
        path: &str,
    ) -> ForgeResult<Option<HeadFile>> {
        if let Some(folder) = self.forge().folder_path(repository, commit, path) {
            let is_file = |entry: &Value| {
                let mode = entry["mode"].as_str().unwrap_or_default();
                entry["path"] == path && FILE_MODES.contains(&mode)
            };
            match self.list(&folder).await {
                Ok(entries) if entries.iter().any(is_file) => {}
                Ok(_) | Err(ForgeFailure::Gone(_)) => return Ok(None),
                Err(failure) => return Err(failure),
            }
        }
        let reply = match self.get(&self.forge().file_path(repository, commit, path)).await {
            Err(ForgeFailure::Gone(_)) => return Ok(None),
            reply => reply?,
        };
        let version = self.forge().file_version(&reply).map(str::to_owned);
        let text = serde_json::from_value(reply).ok().and_then(decode);
        let file = text.zip(version);
        Ok(file.map(|(text, version)| HeadFile { text, version: FileVersion::Id(version) }))
    }

    pub(super) async fn commit_file(
        &self,
        repository: &str,
        commit: &FileCommit<'_>,
    ) -> ForgeResult<CommitResult> {
        let FileVersion::Id(version) = &commit.file.version else {
            return Ok(CommitResult::Refused);
        };
        let content = STANDARD.encode(commit.text);
        let request = self.forge().file_request(repository, commit, version, &content);
        let reply = self.try_write(&request).await?;
        let sha = reply.as_ref().and_then(|reply| self.forge().new_commit(reply));
        Ok(sha.map_or(CommitResult::Refused, |sha| CommitResult::Committed(sha.to_owned())))
    }

    pub(super) async fn suggest(
        &self,
        change: &ChangeId,
        suggestion: &FixSuggestion<'_>,
    ) -> ForgeResult<bool> {
        let state = self.state(change).await?;
        if own_texts(&state).iter().any(|text| mark_line(text) == suggestion.mark) {
            return Ok(true);
        }
        let refs = state.properties.diff_refs.unwrap_or_default();
        match self.forge().suggestion_request(&self.change_ref(change), &refs, suggestion) {
            Some(request) => Ok(self.try_write(&request).await?.is_some()),
            None => Ok(false),
        }
    }

    async fn state(&self, change: &ChangeId) -> ForgeResult<ProposalState> {
        let (client, change) = (self.client()?, self.change_ref(change));
        let read = self.forge().read(&client, &change, INSTANCE).await;
        read.map(|(_, state)| state).map_err(|error| self.failure(error))
    }

    /// Sends a write. `None` if the forge refused it.
    async fn try_write(&self, request: &ForgeRequest) -> ForgeResult<Option<Value>> {
        match self.client()?.write(request.verb, &request.path, &request.body).await {
            Ok(reply) => Ok(Some(reply)),
            Err(
                ForgeError::Forbidden { .. }
                | ForgeError::Refused { .. }
                | ForgeError::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Says in a comment why crh does not review. These forges have no neutral status. Doing it
    /// twice leaves one comment.
    pub(super) async fn report_notice(
        &self,
        change: &ChangeId,
        notice: &CheckNotice,
    ) -> ForgeResult<()> {
        let mark = format!("<!-- crh notice {} -->", notice.title);
        if self.has_marked_comment(change, &mark).await? {
            return Ok(());
        }
        let body = format!("**{}**\n\n{}\n\n{mark}", notice.title, notice.summary);
        self.comment(change, &body).await
    }

    fn read_change(&self, repository: &str, reply: Value) -> ForgeResult<Option<OpenChange>> {
        let change = self.parse_change(reply)?;
        Ok(change.is_open.then(|| OpenChange {
            change: ChangeId {
                forge: self.host.name().to_owned(),
                repository: repository.to_owned(),
                number: change.number.to_string(),
            },
            revision: events::revision(&change).unwrap_or(0),
            authorship: events::authorship(&change),
            // A label approves only the head that it was added to. Only the webhook's delivery says
            // which head that is.
            labelled: false,
            draft: change.is_draft,
            head: change.head,
        }))
    }

    fn parse_change(&self, reply: Value) -> ForgeResult<RestChange> {
        self.forge()
            .read_change(reply)
            .map_err(|error| ForgeFailure::Unavailable(format!("a change cannot be read: {error}")))
    }

    async fn get(&self, path: &str) -> ForgeResult<Value> {
        let result = self.client()?.get_json(path).await;
        result.map_err(|error| self.failure(error))
    }

    async fn list(&self, path: &str) -> ForgeResult<Vec<Value>> {
        let result = self.client()?.list(path).await;
        result.map(|list| list.entries).map_err(|error| self.failure(error))
    }

    async fn write(&self, request: &ForgeRequest) -> ForgeResult<()> {
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
            token: Some(self.forge().rest_profile().token(token)),
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

/// Texts of crh's own comments.
fn own_texts(state: &ProposalState) -> Vec<String> {
    let on_lines = state.threads.iter().flat_map(|thread| &thread.comments);
    let on_lines = on_lines.filter(|comment| comment.ours).map(|comment| &comment.body);
    let general = state.comments.iter().filter(|comment| state.is_ours(comment.author.as_ref()));
    on_lines.chain(general.map(|comment| &comment.body)).cloned().collect()
}

/// Whether a text can be a login. Logins become parts of addresses.
fn is_login(login: &str) -> bool {
    let is_login_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !login.is_empty()
        && login.len() <= 255
        && login.bytes().all(is_login_byte)
        && !login.bytes().all(|byte| byte == b'.')
}
