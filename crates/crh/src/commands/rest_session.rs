//! Access to a forge with a plain REST API for the duration of a command.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

use secrecy::SecretString;
use tokio::runtime::Runtime;

use super::forge::own_comments;
use super::forge::posting::{PostRequest, PostResult};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::posting::{
    ForgeRequest, ItemDelivery, PostedItem, PostingOutcome, PostingReceipt, PostingSkip,
    ProposalState, plan_review,
};
use crh_forge::rest::{
    ForgeEnvironment, RestChangeRef, RestClient, RestClientConfig, RestForge, RestHost, RestPoster,
    TIMEOUTS,
};
use crh_forge::{ChangeProposal, ForgeError, ForgeRetryPolicy};
use crh_git::{FetchAddress, HostedRepository, Repository};
use crh_http::NetworkSettings;
use crh_pipeline::resolve::ProposalRemotes;
use crh_pipeline::sinks::PostKind;

/// Largest configuration file of another program, in bytes.
const CONFIG_MAX: u64 = 1 << 20;

impl ForgeEnvironment for Environment {
    fn read_variable(&self, name: &str) -> Option<String> {
        self.variable(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn read_secret(&self, name: &str) -> Option<SecretString> {
        self.secrets([name]).remove(name)
    }

    fn read_config(&self, path: &str) -> String {
        let file: Option<PathBuf> =
            self.config_dir().and_then(|own| Some(own.parent()?.join(path)));
        let is_small = |file: &PathBuf| {
            std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= CONFIG_MAX)
        };
        let file = file.filter(is_small);
        file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default()
    }
}

/// A client for one server and one account, with a runtime.
pub(crate) struct RestSession {
    pub(super) client: RestClient,
    pub(super) runtime: Runtime,
    /// User name with which git accepts the token.
    git_user: &'static str,
}

impl RestSession {
    /// Creates a session without sending anything. Fails if there is no token for the server.
    pub(super) fn open(
        forge: &dyn RestForge,
        host: &RestHost,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let token = forge.find_token(host, environment).ok_or_else(|| {
            let (name, hint) = (host.name(), forge.token_hint(host));
            let hint = format!("{hint}; {}", forge.rest_profile().permissions);
            Failure::usage(format!("there is no token for `{name}`")).hint(hint)
        })?;
        let git_user = forge.git_user(&token);
        let config = RestClientConfig {
            host: host.clone(),
            token: Some(token),
            retry: ForgeRetryPolicy::default(),
            now: Environment::clock,
            // Concurrent runs must not retry at the same time.
            seed: RandomState::new().hash_one(()),
        };
        let network = NetworkSettings { timeouts: TIMEOUTS, ..environment.network_settings() };
        let client = RestClient::new(&network, config).or_fail(FailureKind::Usage)?;
        client.on_wait(ui::note);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self { client, git_user, runtime: runtime.or_fail(FailureKind::External)? })
    }

    /// Secrets to mask.
    pub(super) fn secrets(&self) -> Vec<SecretString> {
        self.client.token().cloned().into_iter().collect()
    }

    /// Where to fetch the commits of a proposal. The target repository also has the commits of
    /// forks.
    pub(super) fn remotes(&self, change: &RestChangeRef) -> Result<ProposalRemotes, Failure> {
        let url = change.git_url(&change.repository);
        let address = FetchAddress::new(&url, self.client.token().cloned());
        let address = address.and_then(|address| address.for_user(self.git_user));
        let address = address.or_fail(FailureKind::External)?;
        let head_ref = change.head_ref();
        Ok(ProposalRemotes { target: address.clone(), source: address, head_ref })
    }

    /// Posts a review, or returns the requests of a dry run.
    pub(super) fn post(
        &self,
        change: &RestChangeRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, ForgeError> {
        let (client, web) = (&self.client, self.client.host().web());
        let poster = &RestPoster { client, change };
        match request.kind {
            PostKind::Review | PostKind::Comment | PostKind::CodeScanning => {
                request.post(poster, web, &self.runtime)
            }
            PostKind::CheckRun => request.with_posting(web, |posting| {
                let refusal = self.runtime.block_on(plan_review(poster, posting))?.refusal;
                if let Some(refusal) = refusal {
                    return Ok(PostResult::dry_run(Err(refusal)));
                }
                let status = change.forge.status_request(client, change, posting);
                let status = self.runtime.block_on(status)?;
                Ok(match request.flags.dry_run {
                    true => PostResult::DryRun(status.into_iter().collect()),
                    false => PostResult::Done(self.send_status(status)),
                })
            }),
        }
    }

    /// Sends the request of a commit status, if there is one.
    fn send_status(&self, request: Option<ForgeRequest>) -> PostingOutcome {
        let delivery = match request {
            None => ItemDelivery::Skipped(PostingSkip::AlreadyPosted.to_string()),
            Some(request) => {
                let write = self.client.write(request.verb, &request.path, &request.body);
                match self.runtime.block_on(write) {
                    Ok(_) => ItemDelivery::Posted,
                    Err(error) => ItemDelivery::Failed(error.to_string()),
                }
            }
        };
        let receipts = vec![PostingReceipt { item: PostedItem::CheckRun, delivery }];
        PostingOutcome { receipts, ..PostingOutcome::default() }
    }
}

/// Adds exit code and hint to an error.
pub(super) fn to_failure(error: ForgeError, forge: &dyn RestForge) -> Failure {
    let (kind, hint) = match &error {
        ForgeError::BadToken { .. } => (
            FailureKind::Usage,
            Some("the token may have expired or been revoked; create a new one"),
        ),
        ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => {
            (FailureKind::External, Some(forge.rest_profile().permissions))
        }
        ForgeError::RateLimited { .. } => (FailureKind::External, Some("try again later")),
        ForgeError::Failing { .. } | ForgeError::Unreachable { .. } => (
            FailureKind::External,
            Some(
                "check the network; crh reads proxies and certificates from environment variables such as `HTTPS_PROXY` and `SSL_CERT_FILE`",
            ),
        ),
        ForgeError::TooOld { .. } => (FailureKind::External, Some("update the server")),
        ForgeError::Refused { .. }
        | ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::Unreadable { .. } => (FailureKind::External, None),
    };
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint.to_owned()),
        None => failure,
    }
}

/// Removes crh's own comments from a proposal, by account and marker.
pub(super) fn remove_own_comments(proposal: &mut ChangeProposal, state: &ProposalState) {
    own_comments::remove_own_comments(proposal, |comment| {
        comment.author.is_some()
            && comment.author.as_deref() == state.viewer_login()
            && own_comments::has_marker(&comment.content)
    });
}

/// Whether the current folder is a clone of the target or source repository, or has the head
/// commit.
pub(super) fn has_clone(
    environment: &Environment,
    target: &HostedRepository,
    proposal: &ChangeProposal,
) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let names = [Some(target.name.as_str()), proposal.source.repo.as_deref()];
    let remotes = crh_git::hosted_repositories(&repository).unwrap_or_default();
    let is_remote = remotes.iter().any(|remote| {
        let has_name = |name: &&str| remote.name.eq_ignore_ascii_case(name);
        remote.host == target.host && names.iter().flatten().any(has_name)
    });
    is_remote || repository.commit(&proposal.source.commit).is_some()
}
