//! Pull requests on Gitea and Forgejo: finds, reads and posts to them.

use secrecy::SecretString;

use super::forge::posting::{PostRequest, PostResult};
use super::forge::{Forge, ForgeProposal};
use super::github;
use super::rest_session::{self, RestSession};
use crate::config::environment::{Environment, GITEA_VARIABLES};
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::ForgeError;
use crh_forge::gitea::post::{GiteaPoster, status_request};
use crh_forge::gitea::{GiteaPullRef, host, read};
use crh_forge::posting::plan_review;
use crh_forge::rest::{RestHost, RestToken};
use crh_git::HostedRepository;
use crh_pipeline::resolve::ReviewedHead;
use crh_pipeline::sinks::PostKind;

/// Variables with a token for the configured server.
pub(crate) const TOKENS: [&str; 2] = ["GITEA_TOKEN", "FORGEJO_TOKEN"];

/// What the token needs.
const PERMISSIONS: &str = "reading needs the scopes `read:repository`, `read:issue` and `read:user`, posting `write:repository` and `write:issue`";

/// Configuration file of `tea`.
const TEA_CONFIG: &str = "tea/config.yml";

/// Server of `FORGEJO_TOKEN` if no variable names one.
const CODEBERG: &str = "https://codeberg.org";

/// User name with which git accepts any token.
const GIT_USER: &str = "oauth2";

/// Whether a text is the address of a pull request of Gitea or Forgejo. Addresses of GitHub have
/// `/pull/`.
pub(super) fn is_reference(text: &str, environment: &Environment) -> bool {
    let is_github = github::default_host(environment)
        .is_ok_and(|host| text.strip_prefix(host.server()).is_some_and(|it| it.starts_with('/')));
    text.contains("://") && text.contains("/pulls/") && !is_github
}

/// Repository and number from the address of a pull request.
pub(super) fn parse_url(url: &str, environment: &Environment) -> Option<(String, String)> {
    let pull_ref = GiteaPullRef::parse(url, default_host(environment).as_ref()).ok()?;
    Some((pull_ref.repository, pull_ref.number.to_string()))
}

/// The configured server: `GITEA_SERVER_URL` or `FORGEJO_SERVER_URL`; codeberg.org if only
/// `FORGEJO_TOKEN` is set.
fn default_host(environment: &Environment) -> Option<RestHost> {
    let server = GITEA_VARIABLES.iter().find_map(|name| environment.variable(name));
    let server = server.map(|server| server.to_string_lossy().into_owned());
    let codeberg =
        || rest_session::variable_token(&TOKENS[1..], environment).map(|_| CODEBERG.to_owned());
    host(&server.or_else(codeberg)?).ok()
}

pub(crate) fn parse_ref(text: &str, environment: &Environment) -> Result<GiteaPullRef, Failure> {
    GiteaPullRef::parse(text, default_host(environment).as_ref())
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("copy the address of the pull request from the browser"))
}

/// Reads the pull request at an address.
pub(super) fn read_named(
    text: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    if settings.git_offline.value {
        return Err(Failure::usage("a pull request cannot be read offline")
            .hint("leave out `--offline`, or name a branch"));
    }
    let pull_ref = parse_ref(text, environment)?;
    let GiteaSession(session) = GiteaSession::open(&pull_ref.host, environment)?;
    let instance = settings.instance.value.as_str();
    let reading = read::pull_request(&session.client, &pull_ref, instance);
    let (mut proposal, state) = session
        .runtime
        .block_on(reading)
        .map_err(|error| rest_session::to_failure(error, PERMISSIONS))?;
    rest_session::remove_own_comments(&mut proposal, &state);
    let pull_ref = GiteaPullRef { repository: proposal.repo.clone(), ..pull_ref };
    let head_ref = format!("refs/pull/{}/head", pull_ref.number);
    let url = pull_ref.git_url(&pull_ref.repository);
    let target_repository = HostedRepository {
        host: pull_ref.host.authority().to_owned(),
        name: proposal.repo.clone(),
    };
    Ok(ForgeProposal {
        has_clone: rest_session::has_clone(environment, &target_repository, &proposal),
        proposal,
        remotes: session.remotes(&url, GIT_USER, head_ref)?,
        target_repository,
        reviewed_head: ReviewedHead::Proposed,
        secrets: session.secrets(),
        state: Box::new(state),
        forge: Forge::Gitea(pull_ref),
    })
}

/// Access to one Gitea or Forgejo.
pub(crate) struct GiteaSession(RestSession);

impl GiteaSession {
    pub(crate) fn open(host: &RestHost, environment: &Environment) -> Result<Self, Failure> {
        let token = find_token(host, environment).ok_or_else(|| {
            let (name, web) = (host.name(), host.web());
            Failure::usage(format!("there is no token for `{name}`")).hint(format!(
                "set `GITEA_TOKEN` and `GITEA_SERVER_URL={web}`, or run `tea login add`; {PERMISSIONS}"
            ))
        })?;
        let token = RestToken { header: "authorization", prefix: "token ", token };
        RestSession::open(host, token, environment).map(Self)
    }

    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        self.0.secrets()
    }

    /// Posts a review, or returns the requests of a dry run.
    pub(crate) fn post(
        &self,
        pull_ref: &GiteaPullRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, Failure> {
        let Self(session) = self;
        let poster = GiteaPoster { client: &session.client, pull_ref };
        let web = pull_ref.host.web();
        let result = match request.kind {
            PostKind::Review | PostKind::Comment | PostKind::CodeScanning => {
                request.post(&poster, web, &session.runtime)
            }
            PostKind::CheckRun => request.with_posting(web, |posting| {
                let refusal = session.runtime.block_on(plan_review(&poster, posting))?.refusal;
                if let Some(refusal) = refusal {
                    return Ok(PostResult::dry_run(Err(refusal)));
                }
                let status = status_request(&session.client, pull_ref, posting);
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

/// The token for a server. Variables are only for the configured server; `tea` has tokens for
/// others.
fn find_token(host: &RestHost, environment: &Environment) -> Option<SecretString> {
    let is_default = default_host(environment).is_some_and(|default| default == *host);
    let token = rest_session::variable_token(&TOKENS, environment).filter(|_| is_default);
    token.or_else(|| {
        let config = rest_session::read_config(environment, TEA_CONFIG);
        token_in_config(&config, host.web())
    })
}

/// Finds the token of the login with this address in the configuration of `tea`.
fn token_in_config(config: &str, web: &str) -> Option<SecretString> {
    let mut lines = config.lines();
    while let Some(line) = lines.next() {
        let url = rest_session::yaml_value(line, "url").unwrap_or_default();
        if !url.trim_end_matches('/').eq_ignore_ascii_case(web) {
            continue;
        }
        let rest = lines.clone().take_while(|line| !line.trim_start().starts_with("- "));
        if let Some(token) = rest.into_iter().find_map(|it| rest_session::yaml_value(it, "token")) {
            return Some(token.to_owned().into());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn token_of_tea_is_found_by_address() {
        let config = "logins:\n    - name: corp\n      url: https://git.corp/gitea/\n      token: one\n      default: true\n    - name: codeberg\n      url: https://codeberg.org\n      token: two\npreferences:\n    editor: false\n";
        for (web, expected) in [
            ("https://git.corp/gitea", Some("one")),
            ("https://codeberg.org", Some("two")),
            ("https://git.corp", None),
        ] {
            let token = token_in_config(config, web);
            assert_eq!(token.as_ref().map(ExposeSecret::expose_secret), expected, "{web}");
        }
    }
}
