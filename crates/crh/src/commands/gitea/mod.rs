//! Pull requests on Gitea and Forgejo, as the commands use them.

use secrecy::SecretString;

use super::forge::posting::{PostRequest, PostResult};
use super::github;
use super::rest_forge::{RestChangeRef, RestForge};
use super::rest_session::{self, RestSession};
use crate::config::environment::Environment;
use crate::failure::Failure;
use crh_forge::gitea::post::{GiteaPoster, GiteaRules, status_request};
use crh_forge::gitea::{GiteaPullRef, host, read};
use crh_forge::posting::{ForgeRules, PostingWrite, ProposalState, send_withdrawal};
use crh_forge::rest::{RestHost, RestToken};
use crh_forge::{ChangeProposal, ForgeError};
use crh_pipeline::sinks::ForgeName;

/// Variables with the server.
const SERVERS: [&str; 2] = ["GITEA_SERVER_URL", "FORGEJO_SERVER_URL"];

/// Variables with a token for the configured server.
const TOKENS: [&str; 2] = ["GITEA_TOKEN", "FORGEJO_TOKEN"];

/// Configuration file of `tea`.
const TEA_CONFIG: &str = "tea/config.yml";

/// Server of `FORGEJO_TOKEN` if no variable names one.
const CODEBERG: &str = "https://codeberg.org";

/// User name with which git accepts any token.
const GIT_USER: &str = "oauth2";

/// Gitea and Forgejo.
pub(super) struct GiteaCommands;

impl RestForge for GiteaCommands {
    fn name(&self) -> ForgeName {
        ForgeName::Gitea
    }

    fn rules(&self) -> &'static dyn ForgeRules {
        &GiteaRules
    }

    fn server_variables(&self) -> &'static [&'static str] {
        &SERVERS
    }

    fn token_variables(&self) -> &'static [&'static str] {
        &TOKENS
    }

    fn permissions(&self) -> &'static str {
        "reading needs the scopes `read:repository`, `read:issue` and `read:user`, posting `write:repository` and `write:issue`"
    }

    fn fetch_hint(&self) -> &'static str {
        "the token needs the scope `read:repository`"
    }

    fn reference_hint(&self) -> &'static str {
        "pass its address, or `N` inside a clone"
    }

    fn token_hint(&self, host: &RestHost) -> String {
        let web = host.web();
        format!("set `GITEA_TOKEN` and `GITEA_SERVER_URL={web}`, or run `tea login add`")
    }

    /// `GITEA_SERVER_URL` or `FORGEJO_SERVER_URL`; codeberg.org if only `FORGEJO_TOKEN` is set.
    fn default_host(&self, environment: &Environment) -> Result<Option<RestHost>, Failure> {
        let server = self.server_variable(environment);
        let codeberg =
            || rest_session::variable_token(&TOKENS[1..], environment).map(|_| CODEBERG.to_owned());
        Ok(server.or_else(codeberg).and_then(|server| host(&server).ok()))
    }

    fn known_host(&self, authority: &str, environment: &Environment) -> Option<RestHost> {
        let config = rest_session::read_config(environment, TEA_CONFIG);
        let urls = config.lines().filter_map(|line| rest_session::yaml_value(line, "url"));
        let mut hosts = urls.filter_map(|url| host(url).ok());
        hosts.find(|host| host.authority().eq_ignore_ascii_case(authority))
    }

    /// `tea` has tokens for other servers than the configured one.
    fn find_token(&self, host: &RestHost, environment: &Environment) -> Option<RestToken> {
        let token = self.token_variable(&TOKENS, host, environment).or_else(|| {
            let config = rest_session::read_config(environment, TEA_CONFIG);
            token_in_config(&config, host.web())
        });
        token.map(|token| RestToken { header: "authorization", prefix: "token ", token })
    }

    fn git_user(&self, _: &RestToken) -> &'static str {
        GIT_USER
    }

    /// Addresses of GitHub have `/pull/`.
    fn is_reference(&self, text: &str, environment: &Environment) -> bool {
        let is_github = github::default_host(environment).is_ok_and(|host| {
            text.strip_prefix(host.server()).is_some_and(|it| it.starts_with('/'))
        });
        text.contains("://") && text.contains("/pulls/") && !is_github
    }

    fn parse(
        &self,
        text: &str,
        default: Option<&RestHost>,
        _: Option<&(RestHost, String)>,
    ) -> anyhow::Result<(RestHost, String, u64)> {
        let parsed = GiteaPullRef::parse(text, default)?;
        Ok((parsed.host, parsed.repository, parsed.number))
    }

    fn change_url(&self, change: &RestChangeRef) -> String {
        pull_ref(change).url()
    }

    fn head_ref(&self, number: u64) -> String {
        format!("refs/pull/{number}/head")
    }

    fn read(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        instance: &str,
    ) -> Result<(ChangeProposal, ProposalState), ForgeError> {
        let pull_ref = pull_ref(change);
        session.runtime.block_on(read::pull_request(&session.client, &pull_ref, instance))
    }

    fn post(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, ForgeError> {
        let pull_ref = pull_ref(change);
        let poster = GiteaPoster { client: &session.client, pull_ref: &pull_ref };
        session.post(&poster, request, |posting| {
            session.runtime.block_on(status_request(&session.client, &pull_ref, posting))
        })
    }

    fn withdraw(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        write: &PostingWrite,
    ) -> Result<(), String> {
        let pull_ref = pull_ref(change);
        let poster = GiteaPoster { client: &session.client, pull_ref: &pull_ref };
        session.runtime.block_on(send_withdrawal(&poster, write))
    }

    fn find_open_change(
        &self,
        session: &RestSession,
        (host, target): (&RestHost, &str),
        (source, branch): (&str, &str),
    ) -> Result<Option<u64>, ForgeError> {
        let (host, repository) = (host.clone(), target.to_owned());
        let base = GiteaPullRef { host, repository, number: 0 };
        let search = read::open_pull_of_branch(&session.client, &base, source, branch);
        session.runtime.block_on(search)
    }
}

fn pull_ref(change: &RestChangeRef) -> GiteaPullRef {
    let RestChangeRef { host, repository, number, .. } = change;
    GiteaPullRef { host: host.clone(), repository: repository.clone(), number: *number }
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
