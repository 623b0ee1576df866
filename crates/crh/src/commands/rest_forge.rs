//! Finds, reads and posts to changes on forges with a plain REST API.

use super::forge::posting::{PostRequest, PostResult};
use super::forge::{Forge, ForgeProposal};
use super::github;
use super::rest_session::{self, RestSession};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::posting::{PostingWrite, send_withdrawal};
use crh_forge::rest::{RestChangeRef, RestForge, RestHost, RestPoster, is_rest_reference};
use crh_git::{HostedRepository, PushTarget, Repository};
use crh_pipeline::resolve::ReviewedHead;
use crh_pipeline::sinks::ForgeName;

/// Parses a named change.
pub(super) fn parse(
    forge: &'static dyn RestForge,
    text: &str,
    environment: &Environment,
) -> Result<RestChangeRef, Failure> {
    let default = default_host(forge, environment)?;
    let clone = repository_of_folder(forge, environment);
    if let (Some(number), Some((host, repository))) = (plain_number(text), clone.clone()) {
        return Ok(RestChangeRef { forge, host, repository, number });
    }
    let parsed = RestChangeRef::parse(forge, text, default.as_ref(), clone.as_ref());
    let word = forge.name().word();
    parsed.or_fail(FailureKind::Usage).map_err(|failure| {
        failure.hint(format!("pass the address of the {word} that your browser shows"))
    })
}

/// Posts a review, or returns the requests of a dry run.
pub(super) fn post(
    change: &RestChangeRef,
    request: &PostRequest<'_>,
    environment: &Environment,
) -> Result<PostResult, Failure> {
    let session = RestSession::open(change.forge, &change.host, environment)?;
    session.post(change, request).map_err(|error| rest_session::to_failure(error, change.forge))
}

/// Withdraws an approval by crh.
pub(super) fn withdraw(
    change: &RestChangeRef,
    write: &PostingWrite,
    environment: &Environment,
) -> Result<Result<(), String>, Failure> {
    let session = RestSession::open(change.forge, &change.host, environment)?;
    let poster = RestPoster { client: &session.client, change };
    Ok(session.runtime.block_on(send_withdrawal(&poster, write)))
}

/// The configured server of a forge, if any.
fn default_host(
    forge: &dyn RestForge,
    environment: &Environment,
) -> Result<Option<RestHost>, Failure> {
    forge.default_host(environment).or_fail(FailureKind::Usage).map_err(|failure| {
        let names = forge.rest_profile().server_variables.join("`, `");
        failure.hint(format!("check `{names}`"))
    })
}

/// The forge of a named change.
pub(super) fn forge_of(text: &str, environment: &Environment) -> Option<&'static dyn RestForge> {
    ForgeName::all_rest().find(|forge| {
        is_reference(*forge, text, environment)
            || plain_number(text).is_some() && repository_of_folder(*forge, environment).is_some()
    })
}

/// Whether a text names a change of a forge. False for addresses on the GitHub server, which can
/// look like addresses of other forges.
fn is_reference(forge: &dyn RestForge, text: &str, environment: &Environment) -> bool {
    let is_github = github::default_host(environment)
        .is_ok_and(|host| text.strip_prefix(host.server()).is_some_and(|it| it.starts_with('/')));
    is_rest_reference(forge, text) && !is_github
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
        url.contains("://") && is_reference(*forge, url, environment)
    };
    let change = parse(ForgeName::all_rest().find(is_of)?, url, environment).ok()?;
    Some((change.repository, change.number.to_string()))
}

/// Server and repository of a remote, if the server is the configured one, or one for which the
/// forge's own client has a login.
fn host_and_repository(
    forge: &dyn RestForge,
    remote: &HostedRepository,
    environment: &Environment,
) -> Option<(RestHost, String)> {
    let default = forge.default_host(environment).ok()?;
    let default = default.filter(|default| remote.host == default.authority());
    let host = default.or_else(|| forge.known_host(&remote.host, environment))?;
    // If the server is below a path, the remote's address contains that path, too.
    let server_path = host.name().strip_prefix(host.authority()).unwrap_or_default();
    let repository = match server_path.trim_start_matches('/') {
        "" => Some(remote.name.as_str()),
        path => remote.name.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')),
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

/// The server of a forge: the server of the clone, or the configured server. `None` if there is no
/// clone, no variable names a server, and crh has no token.
pub(super) fn relevant_host(
    forge: &dyn RestForge,
    environment: &Environment,
) -> Result<Option<RestHost>, Failure> {
    if let Some((host, _)) = repository_of_folder(forge, environment) {
        return Ok(Some(host));
    }
    let profile = forge.rest_profile();
    let has_server =
        profile.server_variables.iter().any(|name| environment.variable(name).is_some());
    let default = default_host(forge, environment)?;
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
        let word = forge.name().word();
        return Err(Failure::usage(format!("a {word} cannot be read offline"))
            .hint("leave out `--offline`, or name a branch"));
    }
    let change = parse(forge, text, environment)?;
    read(change, ReviewedHead::Proposed, environment, settings)
}

/// The open change of a pushed branch, if crh has a token for its server and finds one.
pub(super) fn read_for_branch(
    forge: &'static dyn RestForge,
    repository: &Repository,
    push_target: &PushTarget,
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<ForgeProposal>, Failure> {
    let remotes = crh_git::hosted_paths(repository).unwrap_or_default();
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
    let session = RestSession::open(forge, &host, environment)?;
    // In a clone of a fork, a remote may name the target repository.
    for remote in &remotes {
        let target = host_and_repository(forge, remote, environment);
        let Some((_, target)) = target.filter(|(on_host, _)| *on_host == host) else { continue };
        let branch = (source.as_str(), push_target.branch.as_str());
        let search = forge.find_open_change(&session.client, &target, branch);
        let found = session.runtime.block_on(search);
        let found = found.map_err(|error| rest_session::to_failure(error, forge))?;
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
    let session = RestSession::open(forge, &change.host, environment)?;
    let reading = forge.read(&session.client, &change, settings.instance.value.as_str());
    let read = session.runtime.block_on(reading);
    let (mut proposal, state) = read.map_err(|error| rest_session::to_failure(error, forge))?;
    rest_session::remove_own_comments(&mut proposal, &state);
    let change = RestChangeRef { repository: proposal.repo.clone(), ..change };
    let target_repository =
        HostedRepository { host: change.host.authority().to_owned(), name: proposal.repo.clone() };
    Ok(ForgeProposal {
        has_clone: rest_session::has_clone(environment, &target_repository, &proposal),
        proposal,
        remotes: session.remotes(&change)?,
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
