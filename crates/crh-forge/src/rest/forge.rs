//! What crh needs to know about a forge with a plain REST API. A *change* here is a pull or merge
//! request.

use std::fmt;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::Value;

use super::serving::{RestServing, WebhookProof};
use super::{
    ForgeEnvironment, RestChangeRef, RestClient, RestHost, RestHostError, RestLogins, RestToken,
    is_repository_path,
};
use crate::posting::{
    ForgePoster, ForgeRequest, ForgeRules, PostingWrite, ProposalState, ReviewPosting, WriteAnswer,
};
use crate::{ChangeProposal, ForgeError, ForgeName};

/// A forge with a plain REST API: its names, how crh reads a change, and how it posts. Posting also
/// needs [`ForgeRules`]. [`RestLogins`] finds the forge's servers and tokens. [`RestServing`]
/// handles webhooks and jobs for `crh serve`.
pub trait RestForge: ForgeRules + RestLogins + RestServing + fmt::Debug {
    /// The forge.
    fn name(&self) -> ForgeName;

    /// Names and texts of the forge.
    fn rest_profile(&self) -> &'static RestProfile;

    /// Path of a repository in the API.
    fn repository_path(&self, repository: &str) -> String;

    /// Whether a path can be that of a repository.
    fn is_repository(&self, path: &str) -> bool {
        is_repository_path(path)
    }

    /// Repository path and number in a short name such as `GROUP/NAME!12`. The path is empty if the
    /// name has none (`!12`): then the repository of the current folder is meant.
    fn split_short_name<'t>(&self, _text: &'t str) -> Option<(&'t str, u64)> {
        None
    }

    /// Reads a pull or merge request: its data for the review, and its state for posting.
    /// `instance` is the name of this crh installation.
    fn read<'a>(
        &'a self,
        client: &'a RestClient,
        change: &'a RestChangeRef,
        instance: &'a str,
    ) -> BoxFuture<'a, Result<(ChangeProposal, ProposalState), ForgeError>>;

    /// Number of the newest open change to a target repository from a branch (source repository and
    /// name).
    fn find_open_change<'a>(
        &'a self,
        client: &'a RestClient,
        target: &'a str,
        branch: (&'a str, &'a str),
    ) -> BoxFuture<'a, Result<Option<u64>, ForgeError>>;

    /// Request that sets the commit status of the head, or `None` if the newest status says the
    /// same.
    fn status_request<'a>(
        &'a self,
        client: &'a RestClient,
        change: &'a RestChangeRef,
        posting: &'a ReviewPosting<'_>,
    ) -> BoxFuture<'a, Result<Option<ForgeRequest>, ForgeError>>;

    /// What the error of a write means.
    fn classify_error(&self, error: &ForgeError, write: &PostingWrite) -> WriteAnswer;

    /// Web address of the summary, from the reply to the write that created or updated it; `None`
    /// for other writes.
    fn written_url(
        &self,
        reply: &Value,
        write: &PostingWrite,
        change: &RestChangeRef,
    ) -> Option<String> {
        write.summary_url(reply, change.host.web())
    }
}

/// What the error of any write means. `needs` says which permissions the token needs.
pub(crate) fn classify_error(error: &ForgeError, needs: &str) -> WriteAnswer {
    let error_text = error.to_string();
    match error {
        ForgeError::BadToken { .. }
        | ForgeError::Forbidden { .. }
        | ForgeError::NotFound { .. } => {
            WriteAnswer::Forbidden(format!("{error_text}; it needs {needs}"))
        }
        ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Unreadable { .. } => WriteAnswer::Unconfirmed(error_text),
        ForgeError::Refused { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Failing { .. }
        | ForgeError::Unreachable { .. }
        | ForgeError::TooOld { .. }
        | ForgeError::Bazaar { .. } => WriteAnswer::Failed(error_text),
    }
}

/// Names and texts of a forge with a plain REST API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestProfile {
    /// Path of the API below the web address.
    pub api: &'static str,
    /// Parameter with the length of a page.
    pub page_size_name: &'static str,
    /// Web address of a public server.
    pub public_server: &'static str,
    /// Words in a host name which show that the server runs this forge.
    pub host_words: &'static [&'static str],
    /// Part of a web address between repository and number.
    pub web_mark: &'static str,
    /// Part of an API path between repository and number.
    pub api_mark: &'static str,
    /// Folder of the refs for the heads of changes in the target repository: `refs/pull` for
    /// `refs/pull/12/head`.
    pub head_refs: &'static str,
    /// How to name a change, for error messages: the text after "expected".
    pub reference_forms: &'static str,
    /// How to name a change, as a hint.
    pub reference_hint: &'static str,
    /// Variables with the address of the server. `crh serve` passes the address to its child
    /// processes in the first variable.
    pub server_variables: &'static [&'static str],
    /// Variables with a token for the configured server. `crh serve` uses the first.
    pub token_variables: &'static [&'static str],
    /// Text before the token in the header `authorization`.
    pub token_prefix: &'static str,
    /// Permissions that the token needs.
    pub permissions: &'static str,
    /// Permissions that the token needs to fetch commits.
    pub fetch_hint: &'static str,
    /// How a webhook proves that it comes from the forge.
    pub proof: WebhookProof,
    /// Headers of a webhook with the name of the event. The first one that is there counts.
    pub event_headers: &'static [&'static str],
    /// Headers of a webhook with an id that is the same for a redelivery.
    pub id_headers: &'static [&'static str],
}

impl RestProfile {
    /// The server with this web address, such as `https://forge.example/gitlab`.
    pub fn host(&self, server: &str) -> Result<RestHost, RestHostError> {
        RestHost::new(server, self.api, self.page_size_name)
    }

    /// A token with the header in which the API expects it.
    pub fn token(&self, token: SecretString) -> RestToken {
        RestToken { header: "authorization", prefix: self.token_prefix, token }
    }

    /// The address in the first variable that is set.
    pub(crate) fn server_variable(&self, environment: &dyn ForgeEnvironment) -> Option<String> {
        self.server_variables.iter().find_map(|name| environment.read_variable(name))
    }
}

/// Reads and writes one change.
pub struct RestPoster<'a> {
    /// The client.
    pub client: &'a RestClient,
    /// The change.
    pub change: &'a RestChangeRef,
}

impl ForgePoster for RestPoster<'_> {
    fn rules(&self) -> &'static dyn ForgeRules {
        self.change.forge
    }

    async fn read_state(&self, instance: &str) -> Result<ProposalState, ForgeError> {
        Ok(self.change.forge.read(self.client, self.change, instance).await?.1)
    }

    async fn send(&self, write: &PostingWrite) -> (WriteAnswer, Option<String>) {
        let (forge, request) = (self.change.forge, &write.request);
        match self.client.write(request.verb, &request.path, &request.body).await {
            Ok(reply) => (WriteAnswer::Done, forge.written_url(&reply, write, self.change)),
            Err(error) => (forge.classify_error(&error, write), None),
        }
    }
}
