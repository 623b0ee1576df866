//! Merge requests on GitLab: finds, reads and posts to them.

use secrecy::SecretString;

use super::forge::posting::{PostRequest, PostResult};
use super::forge::{Forge, ForgeProposal};
use super::rest_session::{self, RestSession};
use crate::config::environment::{Environment, GITLAB_VARIABLES};
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::ForgeError;
use crh_forge::gitlab::post::{GitLabPoster, status_request};
use crh_forge::gitlab::{GITLAB_COM, MergeRequestRef, host, read};
use crh_forge::posting::plan_review;
use crh_forge::rest::{RestHost, RestToken};
use crh_git::{HostedRepository, Repository};
use crh_pipeline::resolve::ReviewedHead;
use crh_pipeline::sinks::PostKind;

/// Variables with a token for the configured server.
pub(crate) const TOKENS: [&str; 2] = ["GITLAB_TOKEN", "CI_JOB_TOKEN"];

/// What the token needs.
const PERMISSIONS: &str = "reading needs the scope `read_api`, posting the scope `api` and at least the role Reporter; job tokens cannot post";

/// Configuration file of `glab`.
const GLAB_CONFIG: &str = "glab-cli/config.yml";

/// User names with which git accepts a token, and the token of a CI job.
const GIT_USERS: [&str; 2] = ["oauth2", "gitlab-ci-token"];

/// Header of the token of a CI job.
const JOB_HEADER: &str = "job-token";

/// Whether a text names a merge request of GitLab.
pub(super) fn is_reference(text: &str) -> bool {
    let is_short = |(path, number): (&str, &str)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && (path.is_empty() || path.contains('/'))
    };
    match text.contains("://") {
        true => text.contains("/-/merge_requests/"),
        false => text.rsplit_once('!').is_some_and(is_short),
    }
}

/// Repository and number from the address of a merge request.
pub(super) fn parse_url(url: &str, environment: &Environment) -> Option<(String, String)> {
    let merge_ref = MergeRequestRef::parse(url, &default_host(environment).ok()?, None).ok()?;
    is_reference(url).then(|| (merge_ref.project, merge_ref.number.to_string()))
}

/// The configured server: `GITLAB_HOST`, then the server of the CI job, then gitlab.com.
pub(crate) fn default_host(environment: &Environment) -> Result<RestHost, Failure> {
    let server = GITLAB_VARIABLES.iter().find_map(|name| environment.variable(name));
    let server = server.map_or(GITLAB_COM.into(), |server| server.to_string_lossy());
    let server = match server.contains("://") {
        true => server.into_owned(),
        false => format!("https://{server}"),
    };
    host(&server)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("check `GITLAB_HOST` and `CI_SERVER_URL`"))
}

pub(crate) fn parse_ref(text: &str, environment: &Environment) -> Result<MergeRequestRef, Failure> {
    let default = default_host(environment)?;
    let clone = project_of_folder(environment, &default);
    MergeRequestRef::parse(text, &default, clone.as_ref())
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("copy the address of the merge request from the browser"))
}

/// The GitLab project that the current folder is a clone of: on the configured server, or on one
/// that `glab` knows.
fn project_of_folder(environment: &Environment, default: &RestHost) -> Option<(RestHost, String)> {
    let repository = Repository::discover(&environment.folder).ok()?;
    let remotes = crh_git::hosted_paths(&repository).unwrap_or_default();
    remotes.into_iter().find_map(|remote| host_and_project(&remote, environment, default))
}

fn host_and_project(
    remote: &HostedRepository,
    environment: &Environment,
    default: &RestHost,
) -> Option<(RestHost, String)> {
    if remote.host == default.authority() {
        // The path of a server below a path is part of the remote's address.
        let below = default.name().strip_prefix(default.authority()).unwrap_or_default();
        let below = below.trim_start_matches('/');
        let project = match below {
            "" => Some(remote.name.as_str()),
            below => remote.name.strip_prefix(below).and_then(|rest| rest.strip_prefix('/')),
        };
        return Some((default.clone(), project?.to_owned()));
    }
    glab_token(&remote.host, environment)?;
    Some((host(&format!("https://{}", remote.host)).ok()?, remote.name.clone()))
}

/// Reads a named merge request.
pub(super) fn read_named(
    text: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    if settings.git_offline.value {
        return Err(Failure::usage("a merge request cannot be read offline")
            .hint("leave out `--offline`, or name a branch"));
    }
    read(parse_ref(text, environment)?, ReviewedHead::Proposed, environment, settings)
}

/// The open merge request of the current branch, if crh has a token for its server and finds one.
pub(super) fn read_for_current_branch(
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<ForgeProposal>, Failure> {
    let Ok(repository) = Repository::discover(&environment.folder) else { return Ok(None) };
    let push_target = crh_git::push_target(&repository).or_fail(FailureKind::External)?;
    let Some(push_target) = push_target.filter(|_| !settings.git_offline.value) else {
        return Ok(None);
    };
    let default = default_host(environment)?;
    let remotes = crh_git::hosted_paths(&repository).unwrap_or_default();
    let pushed_to = |remote: &&HostedRepository| {
        let target = &push_target.repository;
        remote.host == target.host && remote.name.ends_with(&target.name)
    };
    let source = remotes.iter().find(pushed_to);
    let source = source.and_then(|remote| host_and_project(remote, environment, &default));
    let Some((host, source)) = source else { return Ok(None) };
    if find_token(&host, environment).is_none() {
        return Ok(None);
    }
    let session = GitLabSession::open(&host, environment)?;
    // In a clone of a fork, a remote may name the target project.
    for remote in remotes {
        let Some((_, project)) = host_and_project(&remote, environment, &default) else { continue };
        let base = MergeRequestRef { host: host.clone(), project, number: 0 };
        let (client, branch) = (&session.0.client, &push_target.branch);
        let search = read::open_merge_requests_of_branch(client, &base, &source, branch);
        let found = session.0.runtime.block_on(search);
        let found = found.map_err(|error| rest_session::to_failure(error, PERMISSIONS))?;
        if let Some(merge_ref) = found.into_iter().next() {
            return read(merge_ref, ReviewedHead::Checkout, environment, settings).map(Some);
        }
    }
    Ok(None)
}

fn read(
    merge_ref: MergeRequestRef,
    reviewed_head: ReviewedHead,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let GitLabSession(session) = GitLabSession::open(&merge_ref.host, environment)?;
    let instance = settings.instance.value.as_str();
    let reading = read::merge_request(&session.client, &merge_ref, instance);
    let (mut proposal, state) = session
        .runtime
        .block_on(reading)
        .map_err(|error| rest_session::to_failure(error, PERMISSIONS))?;
    rest_session::remove_own_comments(&mut proposal, &state);
    let merge_ref = MergeRequestRef { project: proposal.repo.clone(), ..merge_ref };
    let head_ref = format!("refs/merge-requests/{}/head", merge_ref.number);
    let url = merge_ref.git_url(&merge_ref.project);
    let token = find_token(&merge_ref.host, environment);
    let is_job = token.is_some_and(|token| token.header == JOB_HEADER);
    let git_user = GIT_USERS[usize::from(is_job)];
    let target_repository = HostedRepository {
        host: merge_ref.host.authority().to_owned(),
        name: proposal.repo.clone(),
    };
    Ok(ForgeProposal {
        has_clone: rest_session::has_clone(environment, &target_repository, &proposal),
        proposal,
        remotes: session.remotes(&url, git_user, head_ref)?,
        target_repository,
        reviewed_head,
        secrets: session.secrets(),
        state: Box::new(state),
        forge: Forge::GitLab(merge_ref),
    })
}

/// Access to one GitLab.
pub(crate) struct GitLabSession(RestSession);

impl GitLabSession {
    pub(crate) fn open(host: &RestHost, environment: &Environment) -> Result<Self, Failure> {
        let token = find_token(host, environment).ok_or_else(|| {
            let name = host.name();
            Failure::usage(format!("there is no token for `{name}`")).hint(format!(
                "set `GITLAB_TOKEN` (and `GITLAB_HOST` for a server other than gitlab.com), or run `glab auth login --hostname {name}`; {PERMISSIONS}"
            ))
        })?;
        RestSession::open(host, token, environment).map(Self)
    }

    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        self.0.secrets()
    }

    /// Posts a review, or returns the requests of a dry run.
    pub(crate) fn post(
        &self,
        merge_ref: &MergeRequestRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, Failure> {
        let Self(session) = self;
        let poster = GitLabPoster { client: &session.client, merge_ref };
        let web = merge_ref.host.web();
        let result = match request.kind {
            PostKind::Review | PostKind::Comment | PostKind::CodeScanning => {
                request.post(&poster, web, &session.runtime)
            }
            PostKind::CheckRun => request.with_posting(web, |posting| {
                let refusal = session.runtime.block_on(plan_review(&poster, posting))?.refusal;
                if let Some(refusal) = refusal {
                    return Ok(PostResult::dry_run(Err(refusal)));
                }
                let status = status_request(&session.client, merge_ref, posting);
                let status = session.runtime.block_on(status)?;
                Ok::<_, ForgeError>(match request.flags.dry_run {
                    true => PostResult::DryRun(status.into_iter().collect()),
                    false => PostResult::Done(session.send_status(status)),
                })
            }),
        };
        result.map_err(|error| rest_session::to_failure(error, PERMISSIONS))
    }
}

/// The token for a server. Variables are only for the configured server; `glab` has tokens for
/// others.
pub(crate) fn find_token(host: &RestHost, environment: &Environment) -> Option<RestToken> {
    let is_default = default_host(environment).is_ok_and(|default| default == *host);
    let bearer = |token| RestToken { header: "authorization", prefix: "Bearer ", token };
    let variable = |name| rest_session::variable_token(&[name], environment).filter(|_| is_default);
    variable(TOKENS[0])
        .map(bearer)
        .or_else(|| glab_token(host.authority(), environment).map(bearer))
        .or_else(|| {
            let token = variable(TOKENS[1])?;
            Some(RestToken { header: JOB_HEADER, prefix: "", token })
        })
}

/// The token of `glab` for a host, from its configuration file.
fn glab_token(host: &str, environment: &Environment) -> Option<SecretString> {
    let config = rest_session::read_config(environment, GLAB_CONFIG);
    token_in_config(&config, host)
}

/// Finds the token of a host below `hosts:`. Hosts are indented less than their settings.
fn token_in_config(config: &str, host: &str) -> Option<SecretString> {
    let mut lines = config.lines().skip_while(|line| line.trim_end() != "hosts:").skip(1);
    let heading = format!("{host}:");
    let indent = |line: &str| line.len() - line.trim_start().len();
    let start = lines.by_ref().find(|line| line.trim() == heading)?;
    let own = lines.take_while(|line| line.trim().is_empty() || indent(line) > indent(start));
    let token = own.filter_map(|line| rest_session::yaml_value(line, "token")).next()?;
    Some(token.to_owned().into())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn references_of_gitlab_are_recognised() {
        for (text, expected) in [
            ("https://gitlab.com/a/b/-/merge_requests/1", true),
            ("a/b/c!12", true),
            ("!12", true),
            ("https://github.com/a/b/pull/1", false),
            ("a/b#12", false),
            ("branch!12", false),
            ("a/b!x", false),
        ] {
            assert_eq!(is_reference(text), expected, "{text}");
        }
    }

    #[test]
    fn token_of_glab_is_found_by_host() {
        let config = "git_protocol: ssh\nhosts:\n    gitlab.com:\n        api_protocol: https\n        token: glpat-one\n    git.corp:8443:\n        token: \"glpat-two\"\n        user: ann\n    empty.example:\n        token:\nlast: x\n";
        for (host, expected) in [
            ("gitlab.com", Some("glpat-one")),
            ("git.corp:8443", Some("glpat-two")),
            ("empty.example", None),
            ("other.example", None),
        ] {
            let token = token_in_config(config, host);
            assert_eq!(token.as_ref().map(ExposeSecret::expose_secret), expected, "{host}");
        }
    }
}
