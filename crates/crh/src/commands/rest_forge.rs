//! Forges with a plain REST API (GitLab, Gitea and Forgejo), as the commands use them.
//!
//! To add one, implement [`RestForge`] in a folder and name it in [`REST_FORGES`].

use secrecy::SecretString;

use super::forge::posting::{PostRequest, PostResult};
use super::forge::{Forge, ForgeProposal};
use super::gitea::GiteaCommands;
use super::gitlab::GitLabCommands;
use super::rest_session::{self, RestSession};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::posting::{ForgeProfile, ForgeRules, PostingWrite, ProposalState};
use crh_forge::rest::{RestHost, RestToken};
use crh_forge::{ChangeProposal, ForgeError};
use crh_git::{HostedRepository, Repository};
use crh_pipeline::resolve::ReviewedHead;
use crh_pipeline::sinks::ForgeName;

/// All forges with a plain REST API.
pub(crate) const REST_FORGES: [&dyn RestForge; 2] = [&GitLabCommands, &GiteaCommands];

/// What the commands need to know about a forge.
pub(crate) trait RestForge: Sync {
    /// Name of its sinks.
    fn name(&self) -> ForgeName;

    /// Pure part of posting.
    fn rules(&self) -> &'static dyn ForgeRules;

    /// Abilities and words.
    fn profile(&self) -> &'static ForgeProfile {
        self.rules().profile()
    }

    /// Variables with the address of the server.
    fn server_variables(&self) -> &'static [&'static str];

    /// Variables with a token for the configured server.
    fn token_variables(&self) -> &'static [&'static str];

    /// What the token needs.
    fn permissions(&self) -> &'static str;

    /// What the token needs to fetch commits.
    fn fetch_hint(&self) -> &'static str;

    /// How to name a change.
    fn reference_hint(&self) -> &'static str;

    /// How to get a token for a server.
    fn token_hint(&self, host: &RestHost) -> String;

    /// The configured server, if any.
    fn default_host(&self, environment: &Environment) -> Result<Option<RestHost>, Failure>;

    /// The server of the variables.
    fn server_variable(&self, environment: &Environment) -> Option<String> {
        let server = self.server_variables().iter().find_map(|name| environment.variable(name));
        server.map(|server| server.to_string_lossy().into_owned())
    }

    /// The token of a variable. Variables are only for the configured server.
    fn token_variable(
        &self,
        names: &[&'static str],
        host: &RestHost,
        environment: &Environment,
    ) -> Option<SecretString> {
        let default = self.default_host(environment).ok().flatten();
        let token = rest_session::variable_token(names, environment);
        token.filter(|_| default.is_some_and(|default| default == *host))
    }

    /// A server that the forge's own client has a login for, by host name and port.
    fn known_host(&self, authority: &str, environment: &Environment) -> Option<RestHost>;

    /// The token for a server.
    fn find_token(&self, host: &RestHost, environment: &Environment) -> Option<RestToken>;

    /// User name with which git accepts a token.
    fn git_user(&self, token: &RestToken) -> &'static str;

    /// Whether a text names a change of this forge. Plain numbers belong to the clone's forge.
    fn is_reference(&self, text: &str, environment: &Environment) -> bool;

    /// Repository and number of a named change. `clone` is the repository of the current folder.
    fn parse(
        &self,
        text: &str,
        default: Option<&RestHost>,
        clone: Option<&(RestHost, String)>,
    ) -> anyhow::Result<(RestHost, String, u64)>;

    /// Web address of a change.
    fn change_url(&self, change: &RestChangeRef) -> String;

    /// The ref of the target repository with the commits of a change.
    fn head_ref(&self, number: u64) -> String;

    /// Reads a change.
    fn read(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        instance: &str,
    ) -> Result<(ChangeProposal, ProposalState), ForgeError>;

    /// Posts a review, or returns the requests of a dry run.
    fn post(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, ForgeError>;

    /// Sends a withdrawal of an own approval.
    fn withdraw(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        write: &PostingWrite,
    ) -> Result<(), String>;

    /// Number of the newest open change to a target (server and repository) from a branch (source
    /// repository and name).
    fn find_open_change(
        &self,
        session: &RestSession,
        target: (&RestHost, &str),
        branch: (&str, &str),
    ) -> Result<Option<u64>, ForgeError>;
}

/// A change on one of these forges.
#[derive(Clone)]
pub(crate) struct RestChangeRef {
    pub(crate) forge: &'static dyn RestForge,
    pub(crate) host: RestHost,
    /// Target repository, with all groups.
    pub(crate) repository: String,
    pub(crate) number: u64,
}

impl RestChangeRef {
    /// Parses a named change.
    pub(crate) fn parse(
        forge: &'static dyn RestForge,
        text: &str,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let default = forge.default_host(environment)?;
        let clone = repository_of_folder(forge, environment);
        let parsed = match (plain_number(text), clone.clone()) {
            (Some(number), Some((host, repository))) => Ok((host, repository, number)),
            (_, _) => forge.parse(text, default.as_ref(), clone.as_ref()),
        };
        let word = forge.profile().kind.word();
        let (host, repository, number) = parsed.or_fail(FailureKind::Usage).map_err(|failure| {
            failure.hint(format!("copy the address of the {word} from the browser"))
        })?;
        Ok(Self { forge, host, repository, number })
    }

    /// Web address.
    pub(crate) fn url(&self) -> String {
        self.forge.change_url(self)
    }

    /// A session on the server of the change.
    pub(crate) fn open_session(&self, environment: &Environment) -> Result<RestSession, Failure> {
        open_session(self.forge, &self.host, environment)
    }

    /// Posts a review, or returns the requests of a dry run.
    pub(crate) fn post(
        &self,
        request: &PostRequest<'_>,
        environment: &Environment,
    ) -> Result<PostResult, Failure> {
        let session = self.open_session(environment)?;
        let result = self.forge.post(&session, self, request);
        result.map_err(|error| rest_session::to_failure(error, self.forge.permissions()))
    }

    /// Sends a withdrawal of an own approval.
    pub(crate) fn withdraw(
        &self,
        write: &PostingWrite,
        environment: &Environment,
    ) -> Result<Result<(), String>, Failure> {
        let session = self.open_session(environment)?;
        Ok(self.forge.withdraw(&session, self, write))
    }
}

fn open_session(
    forge: &dyn RestForge,
    host: &RestHost,
    environment: &Environment,
) -> Result<RestSession, Failure> {
    let token = forge.find_token(host, environment).ok_or_else(|| {
        let (name, hint) = (host.name(), forge.token_hint(host));
        let hint = format!("{hint}; {}", forge.permissions());
        Failure::usage(format!("there is no token for `{name}`")).hint(hint)
    })?;
    RestSession::open(host, token, environment)
}

/// The forge of a named change.
pub(super) fn forge_of(text: &str, environment: &Environment) -> Option<&'static dyn RestForge> {
    REST_FORGES.into_iter().find(|forge| {
        forge.is_reference(text, environment)
            || plain_number(text).is_some() && repository_of_folder(*forge, environment).is_some()
    })
}

/// The number of `12` or `#12`.
fn plain_number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number > 0)
}

/// Repository and number from the address of a change.
pub(super) fn parse_url(url: &str, environment: &Environment) -> Option<(String, String)> {
    let is_of = |forge: &&'static dyn RestForge| {
        url.contains("://") && forge.is_reference(url, environment)
    };
    let forge = REST_FORGES.into_iter().find(is_of)?;
    let change = RestChangeRef::parse(forge, url, environment).ok()?;
    Some((change.repository, change.number.to_string()))
}

/// Server and repository of a remote: on the configured server, or on one that the forge's client
/// knows.
fn host_and_repository(
    forge: &dyn RestForge,
    remote: &HostedRepository,
    environment: &Environment,
) -> Option<(RestHost, String)> {
    let default = forge.default_host(environment).ok()?;
    let default = default.filter(|default| remote.host == default.authority());
    let host = default.or_else(|| forge.known_host(&remote.host, environment))?;
    // The path of a server below a path is part of the remote's address.
    let below = host.name().strip_prefix(host.authority()).unwrap_or_default();
    let repository = match below.trim_start_matches('/') {
        "" => Some(remote.name.as_str()),
        below => remote.name.strip_prefix(below).and_then(|rest| rest.strip_prefix('/')),
    };
    let repository = repository?.to_owned();
    Some((host, repository))
}

/// The repository on the forge that the current folder is a clone of.
fn repository_of_folder(
    forge: &dyn RestForge,
    environment: &Environment,
) -> Option<(RestHost, String)> {
    let repository = Repository::discover(&environment.folder).ok()?;
    let remotes = crh_git::hosted_paths(&repository).unwrap_or_default();
    remotes.iter().find_map(|remote| host_and_repository(forge, remote, environment))
}

/// The server that a user of the forge means: that of the clone, or the configured one. `None` if
/// nothing points to this forge.
pub(super) fn relevant_host(
    forge: &dyn RestForge,
    environment: &Environment,
) -> Result<Option<RestHost>, Failure> {
    if let Some((host, _)) = repository_of_folder(forge, environment) {
        return Ok(Some(host));
    }
    let has_server =
        forge.server_variables().iter().any(|name| environment.variable(name).is_some());
    let default = forge.default_host(environment)?;
    let has_token = |host: &RestHost| forge.find_token(host, environment).is_some();
    Ok(default.filter(|host| has_server || has_token(host)))
}

/// Reads a named change.
pub(super) fn read_named(
    forge: &'static dyn RestForge,
    text: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    if settings.git_offline.value {
        let word = forge.profile().kind.word();
        return Err(Failure::usage(format!("a {word} cannot be read offline"))
            .hint("leave out `--offline`, or name a branch"));
    }
    let change = RestChangeRef::parse(forge, text, environment)?;
    read(change, ReviewedHead::Proposed, environment, settings)
}

/// The open change of the current branch, if crh has a token for its server and finds one.
pub(super) fn read_for_current_branch(
    forge: &'static dyn RestForge,
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<ForgeProposal>, Failure> {
    let Ok(repository) = Repository::discover(&environment.folder) else { return Ok(None) };
    let push_target = crh_git::push_target(&repository).or_fail(FailureKind::External)?;
    let Some(push_target) = push_target.filter(|_| !settings.git_offline.value) else {
        return Ok(None);
    };
    let remotes = crh_git::hosted_paths(&repository).unwrap_or_default();
    let pushed_to = |remote: &&HostedRepository| {
        let target = &push_target.repository;
        remote.host == target.host && remote.name.ends_with(&target.name)
    };
    let source = remotes.iter().find(pushed_to);
    let source = source.and_then(|remote| host_and_repository(forge, remote, environment));
    let Some((host, source)) = source else { return Ok(None) };
    if forge.find_token(&host, environment).is_none() {
        return Ok(None);
    }
    let session = open_session(forge, &host, environment)?;
    // In a clone of a fork, a remote may name the target repository.
    for remote in &remotes {
        let target = host_and_repository(forge, remote, environment);
        let Some((_, target)) = target.filter(|(on_host, _)| *on_host == host) else { continue };
        let branch = (source.as_str(), push_target.branch.as_str());
        let found = forge.find_open_change(&session, (&host, &target), branch);
        let found = found.map_err(|error| rest_session::to_failure(error, forge.permissions()))?;
        if let Some(number) = found {
            let change = RestChangeRef { forge, host, repository: target, number };
            return read(change, ReviewedHead::Checkout, environment, settings).map(Some);
        }
    }
    Ok(None)
}

fn read(
    change: RestChangeRef,
    reviewed_head: ReviewedHead,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let forge = change.forge;
    let session = change.open_session(environment)?;
    let (mut proposal, state) = forge
        .read(&session, &change, settings.instance.value.as_str())
        .map_err(|error| rest_session::to_failure(error, forge.permissions()))?;
    rest_session::remove_own_comments(&mut proposal, &state);
    let change = RestChangeRef { repository: proposal.repo.clone(), ..change };
    let url = format!("{}/{}.git", change.host.web(), change.repository);
    let token = forge.find_token(&change.host, environment);
    let git_user = token.map_or("", |token| forge.git_user(&token));
    let target_repository =
        HostedRepository { host: change.host.authority().to_owned(), name: proposal.repo.clone() };
    Ok(ForgeProposal {
        has_clone: rest_session::has_clone(environment, &target_repository, &proposal),
        proposal,
        remotes: session.remotes(&url, git_user, forge.head_ref(change.number))?,
        target_repository,
        reviewed_head,
        secrets: session.secrets(),
        state: Box::new(state),
        forge: Forge::Rest(change),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_changes_are_recognised() {
        for (text, expected) in
            [("12", Some(12)), ("#12", Some(12)), ("0", None), ("#", None), ("x12", None)]
        {
            assert_eq!(plain_number(text), expected, "{text}");
        }
    }
}
