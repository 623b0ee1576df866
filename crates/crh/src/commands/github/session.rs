//! GitHub access for the duration of a command.

use std::hash::{BuildHasher, RandomState};

use secrecy::SecretString;
use tokio::runtime::Runtime;

use super::token::APP_KEY;
use super::{default_host, find_token, token_variables};
use crate::config::environment::{Environment, GITHUB_APP_VARIABLES};
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_forge::github::post::{SarifUploadError, StatusChannel, plan_for_channel, post_to_channel};
use crh_forge::github::{
    GitHubApp, GitHubAppError, GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost,
    NewPullRequest, PullRequestRef, ReplyCache, Repo, TIMEOUTS, open_pull_request, read,
};
use crh_forge::posting::{
    ForgeRequest, PostingOutcome, PostingRefusal, ProposalState, ReviewPosting,
};
use crh_forge::{ChangeProposal, ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;
use crh_pipeline::sinks::{ForgeName, PostKind};

/// Permissions for reading a pull request.
const READ_PERMISSIONS_HINT: &str = "reading needs `Contents: read` and `Pull requests: read`; optional: `Checks: read`, `Commit statuses: read`, `Issues: read`";

/// Largest file with the key of a GitHub App, in bytes.
const KEY_MAX: u64 = 64 << 10;

/// Folder of the reply cache in the store.
const CACHE_FOLDER: &str = "github";

/// A client for one GitHub server and one account, with a runtime.
pub(crate) struct GitHubSession {
    pub(super) client: GitHubClient,
    pub(super) runtime: Runtime,
}

impl GitHubSession {
    /// Creates a session for a repository without sending anything.
    pub(crate) fn open(
        host: &GitHubHost,
        repo: &Repo,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let default_host = default_host(environment)?;
        let credentials = credentials(host, &default_host, repo, environment)?;
        let config = GitHubClientConfig {
            host: host.clone(),
            credentials,
            cache: ReplyCache::in_folder(settings.store_folder.value.path()?.join(CACHE_FOLDER)),
            retry: ForgeRetryPolicy::default(),
            now: Environment::clock,
            // Concurrent runs must not retry at the same time.
            seed: RandomState::new().hash_one(()),
        };
        let network = NetworkSettings { timeouts: TIMEOUTS, ..environment.network_settings() };
        let client = GitHubClient::new(&network, config).or_fail(FailureKind::Usage)?;
        client.on_wait(ui::note);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self { client, runtime: runtime.or_fail(FailureKind::External)? })
    }

    pub(crate) fn client(&self) -> GitHubClient {
        self.client.clone()
    }

    /// Whether crh has credentials for a GitHub server.
    pub(crate) fn has_credentials(
        host: &GitHubHost,
        environment: &Environment,
    ) -> Result<bool, Failure> {
        let default_host = default_host(environment)?;
        let is_app = host.name() == default_host.name()
            && environment.variable(GITHUB_APP_VARIABLES[0]).is_some();
        Ok(is_app || find_token(host, &default_host, environment).is_some())
    }

    pub(crate) fn read(
        &self,
        pull_ref: &PullRequestRef,
        instance: &str,
    ) -> Result<(ChangeProposal, ProposalState), ForgeError> {
        self.runtime.block_on(read::pull_request(&self.client, pull_ref, instance))
    }

    /// Open pull requests of a branch, newest first.
    pub(crate) fn open_pulls(
        &self,
        repo: &Repo,
        owner: &str,
        branch: &str,
    ) -> Result<Vec<PullRequestRef>, ForgeError> {
        self.runtime.block_on(read::open_pulls_of_branch(&self.client, repo, owner, branch))
    }

    /// The repository that a fork was made from.
    pub(crate) fn parent_of_fork(&self, repo: &Repo) -> Result<Option<Repo>, ForgeError> {
        self.runtime.block_on(read::parent_of_fork(&self.client, repo))
    }

    pub(crate) fn open_pull(
        &self,
        repo: &Repo,
        new: &NewPullRequest,
    ) -> Result<String, ForgeError> {
        self.runtime.block_on(open_pull_request(&self.client, repo, new))
    }

    /// Token for git. App tokens expire after an hour, so callers get a new one before each fetch.
    pub(crate) fn token(&self) -> Result<SecretString, ForgeError> {
        self.runtime.block_on(self.client.git_token())
    }

    /// Shows a review as a check run or as code scanning alerts.
    pub(crate) fn post_to_channel(
        &self,
        pull_ref: &PullRequestRef,
        posting: &ReviewPosting<'_>,
        channel: StatusChannel,
    ) -> Result<PostingOutcome, ForgeError> {
        self.runtime.block_on(post_to_channel(&self.client, pull_ref, posting, channel))
    }

    /// The requests that [`Self::post_to_channel`] would send, or a refusal.
    pub(crate) fn plan_for_channel(
        &self,
        pull_ref: &PullRequestRef,
        posting: &ReviewPosting<'_>,
        channel: StatusChannel,
    ) -> Result<Result<Vec<ForgeRequest>, PostingRefusal>, SarifUploadError> {
        self.runtime.block_on(plan_for_channel(&self.client, pull_ref, posting, channel))
    }

    /// Remaining rate limits as a sentence.
    pub(crate) fn rate_limit_message(&self) -> String {
        let limits = self.client.limits();
        let sentences = limits.iter().map(|limit| {
            format!("{} of {} requests to `{}`", limit.remaining, limit.limit, limit.resource)
        });
        let sentences: Vec<String> = sentences.collect();
        match sentences.as_slice() {
            [] => format!("`{}` sent no rate limits", self.client.host().name()),
            sentences => format!("`{}` leaves {}", self.client.host().name(), sentences.join(", ")),
        }
    }
}

/// On the default host the credentials of the configured GitHub App, otherwise the token for
/// `host`.
fn credentials(
    host: &GitHubHost,
    default_host: &GitHubHost,
    repo: &Repo,
    environment: &Environment,
) -> Result<GitHubCredentials, Failure> {
    if let Some(id) =
        environment.variable(GITHUB_APP_VARIABLES[0]).filter(|_| host.name() == default_host.name())
    {
        let key = app_key(environment)?;
        let app = GitHubApp::new(&id.to_string_lossy(), &key, repo.clone());
        let app = app.map_err(|error| {
            let hint = match error {
                GitHubAppError::Id => format!("check `{}`", GITHUB_APP_VARIABLES[0]),
                GitHubAppError::Key => {
                    format!("check `{APP_KEY}` or `{}`", GITHUB_APP_VARIABLES[1])
                }
            };
            Failure::new(FailureKind::Usage, error).hint(hint)
        })?;
        return Ok(GitHubCredentials::App(Box::new(app)));
    }
    match find_token(host, default_host, environment) {
        Some(token) => Ok(GitHubCredentials::Token(token.token)),
        None if is_other_forge(host.name()) => {
            Err(Failure::usage(format!("`{}` is not a GitHub server", host.name()))
                .hint("name the change by its address, or name the branch"))
        }
        None => {
            let variables = token_variables(host, default_host, environment);
            Err(Failure::usage(format!("there is no token for `{}`", host.name())).hint(format!(
                "set {variables}, or log in with `gh auth login --hostname {}`; {READ_PERMISSIONS_HINT}",
                host.name()
            )))
        }
    }
}

/// Whether the name of a host shows that it runs another forge. Hosts with any other name may run
/// GitHub Enterprise.
fn is_other_forge(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let rest_words = ForgeName::all_rest().flat_map(|forge| forge.rest_profile().host_words);
    let words: Vec<&str> = rest_words.copied().chain(["bitbucket"]).collect();
    let hosts = ["dev.azure.com", "git.sr.ht"];
    host.split(['.', '-', ':']).any(|part| words.contains(&part)) || hosts.contains(&host.as_str())
}

/// The App key, from the variable or from the named file.
fn app_key(environment: &Environment) -> Result<SecretString, Failure> {
    if let Some(key) = environment.secrets([APP_KEY]).remove(APP_KEY) {
        return Ok(key);
    }
    let Some(file) = environment.variable(GITHUB_APP_VARIABLES[1]) else {
        return Err(Failure::usage(format!(
            "`{}` is set, but no App key",
            GITHUB_APP_VARIABLES[0]
        ))
        .hint(format!("set `{}` or `{}`", APP_KEY, GITHUB_APP_VARIABLES[1])));
    };
    let path = environment.folder.join(file);
    let bytes = input::bytes_from_variable(GITHUB_APP_VARIABLES[1], &path, KEY_MAX)?;
    // Parsing the key reports invalid text.
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

/// Adds exit code and hint to an error while reading.
pub(crate) fn to_failure(error: ForgeError) -> Failure {
    failure_with_permissions(error, READ_PERMISSIONS_HINT)
}

/// Adds exit code and hint to an error while posting.
pub(super) fn post_failure(error: ForgeError, kind: PostKind) -> Failure {
    let permission = match kind {
        PostKind::Review => "posting a review needs `Pull requests: write`",
        PostKind::Comment => "posting a comment needs `Issues: write`",
        PostKind::CheckRun => {
            "a check run needs `Checks: write` and a token of an App or of Actions"
        }
        PostKind::CodeScanning => "uploading alerts needs `Code scanning alerts: write`",
    };
    failure_with_permissions(error, &format!("{permission}; {READ_PERMISSIONS_HINT}"))
}

/// Adds exit code and hint to an error while opening a pull request.
pub(super) fn open_failure(error: ForgeError) -> Failure {
    failure_with_permissions(error, "opening a pull request needs `Pull requests: write`")
}

fn failure_with_permissions(error: ForgeError, permissions: &str) -> Failure {
    let (kind, hint) = match &error {
        ForgeError::BadToken { .. } => (
            FailureKind::Usage,
            Some("`crh doctor` shows which token crh uses; create a new one if it has expired"),
        ),
        ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => {
            (FailureKind::External, Some(permissions))
        }
        ForgeError::RateLimited { .. } => (FailureKind::External, Some("try again later")),
        ForgeError::Refused { .. }
        | ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::TooOld { .. }
        | ForgeError::Unreadable { .. } => (FailureKind::External, None),
        ForgeError::Failing { .. } | ForgeError::Unreachable { .. } => (
            FailureKind::External,
            Some(
                "check the network; crh reads proxies and certificates from environment variables such as `HTTPS_PROXY` and `SSL_CERT_FILE`",
            ),
        ),
    };
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_forges_are_told_by_their_host() {
        for host in ["gitlab.com", "gitlab.corp:8443", "git-gitlab.corp", "bitbucket.org"] {
            assert!(is_other_forge(host), "{host}");
        }
        for host in ["github.com", "ghe.corp:8443", "git.corp", "notgitlab.example"] {
            assert!(!is_other_forge(host), "{host}");
        }
    }
}
