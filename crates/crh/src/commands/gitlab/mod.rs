//! Merge requests on GitLab, as the commands use them.

use secrecy::SecretString;

use super::forge::posting::{PostRequest, PostResult};
use super::rest_forge::{RestChangeRef, RestForge};
use super::rest_session::{self, RestSession};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::gitlab::post::{GitLabPoster, GitLabRules, status_request};
use crh_forge::gitlab::{GITLAB_COM, MergeRequestRef, host, read};
use crh_forge::posting::{ForgeRules, PostingWrite, ProposalState, send_withdrawal};
use crh_forge::rest::{RestHost, RestToken};
use crh_forge::{ChangeProposal, ForgeError};
use crh_pipeline::sinks::ForgeName;

/// Variables with the server: of the user, as `glab` reads it, and of the CI job.
const SERVERS: [&str; 3] = ["GITLAB_HOST", "GITLAB_URI", "CI_SERVER_URL"];

/// Variables with a token for the configured server.
const TOKENS: [&str; 2] = ["GITLAB_TOKEN", "CI_JOB_TOKEN"];

/// Configuration file of `glab`.
const GLAB_CONFIG: &str = "glab-cli/config.yml";

/// User names with which git accepts a token, and the token of a CI job.
const GIT_USERS: [&str; 2] = ["oauth2", "gitlab-ci-token"];

/// Header of the token of a CI job.
const JOB_HEADER: &str = "job-token";

/// GitLab.
pub(super) struct GitLabCommands;

impl RestForge for GitLabCommands {
    fn name(&self) -> ForgeName {
        ForgeName::GitLab
    }

    fn rules(&self) -> &'static dyn ForgeRules {
        &GitLabRules
    }

    fn server_variables(&self) -> &'static [&'static str] {
        &SERVERS
    }

    fn token_variables(&self) -> &'static [&'static str] {
        &TOKENS
    }

    fn permissions(&self) -> &'static str {
        "reading needs the scope `read_api`, posting the scope `api` and at least the role Reporter; job tokens cannot post"
    }

    fn fetch_hint(&self) -> &'static str {
        "the token needs the scope `read_repository` or `api`"
    }

    fn reference_hint(&self) -> &'static str {
        "pass its address, `GROUP/NAME!N`, or `!N` inside a clone"
    }

    fn token_hint(&self, host: &RestHost) -> String {
        let name = host.name();
        format!(
            "set `GITLAB_TOKEN` (and `GITLAB_HOST` for a server other than gitlab.com), or run `glab auth login --hostname {name}`"
        )
    }

    /// `GITLAB_HOST`, then the server of the CI job, then gitlab.com.
    fn default_host(&self, environment: &Environment) -> Result<Option<RestHost>, Failure> {
        let mut server = self.server_variable(environment).unwrap_or(GITLAB_COM.to_owned());
        if !server.contains("://") {
            server.insert_str(0, "https://");
        }
        let host = host(&server).or_fail(FailureKind::Usage);
        host.map(Some).map_err(|failure| failure.hint("check `GITLAB_HOST` and `CI_SERVER_URL`"))
    }

    fn known_host(&self, authority: &str, environment: &Environment) -> Option<RestHost> {
        glab_token(authority, environment)?;
        host(&format!("https://{authority}")).ok()
    }

    /// `glab` has tokens for other servers than the configured one.
    fn find_token(&self, host: &RestHost, environment: &Environment) -> Option<RestToken> {
        let bearer = |token| RestToken { header: "authorization", prefix: "Bearer ", token };
        let variable = |name| self.token_variable(&[name], host, environment);
        variable(TOKENS[0])
            .map(bearer)
            .or_else(|| glab_token(host.authority(), environment).map(bearer))
            .or_else(|| {
                let token = variable(TOKENS[1])?;
                Some(RestToken { header: JOB_HEADER, prefix: "", token })
            })
    }

    fn git_user(&self, token: &RestToken) -> &'static str {
        GIT_USERS[usize::from(token.header == JOB_HEADER)]
    }

    fn is_reference(&self, text: &str, _: &Environment) -> bool {
        is_gitlab_reference(text)
    }

    fn parse(
        &self,
        text: &str,
        default: Option<&RestHost>,
        clone: Option<&(RestHost, String)>,
    ) -> anyhow::Result<(RestHost, String, u64)> {
        let gitlab_com = host(GITLAB_COM)?;
        let parsed = MergeRequestRef::parse(text, default.unwrap_or(&gitlab_com), clone)?;
        Ok((parsed.host, parsed.project, parsed.number))
    }

    fn change_url(&self, change: &RestChangeRef) -> String {
        merge_ref(change).url()
    }

    fn head_ref(&self, number: u64) -> String {
        format!("refs/merge-requests/{number}/head")
    }

    fn read(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        instance: &str,
    ) -> Result<(ChangeProposal, ProposalState), ForgeError> {
        let merge_ref = merge_ref(change);
        session.runtime.block_on(read::merge_request(&session.client, &merge_ref, instance))
    }

    fn post(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, ForgeError> {
        let merge_ref = merge_ref(change);
        let poster = GitLabPoster { client: &session.client, merge_ref: &merge_ref };
        session.post(&poster, request, |posting| {
            session.runtime.block_on(status_request(&session.client, &merge_ref, posting))
        })
    }

    fn withdraw(
        &self,
        session: &RestSession,
        change: &RestChangeRef,
        write: &PostingWrite,
    ) -> Result<(), String> {
        let merge_ref = merge_ref(change);
        let poster = GitLabPoster { client: &session.client, merge_ref: &merge_ref };
        session.runtime.block_on(send_withdrawal(&poster, write))
    }

    fn find_open_change(
        &self,
        session: &RestSession,
        (host, target): (&RestHost, &str),
        (source, branch): (&str, &str),
    ) -> Result<Option<u64>, ForgeError> {
        let base = MergeRequestRef { host: host.clone(), project: target.to_owned(), number: 0 };
        let search = read::open_merge_requests_of_branch(&session.client, &base, source, branch);
        let found = session.runtime.block_on(search)?;
        Ok(found.first().map(|found| found.number))
    }
}

fn merge_ref(change: &RestChangeRef) -> MergeRequestRef {
    let RestChangeRef { host, repository, number, .. } = change;
    MergeRequestRef { host: host.clone(), project: repository.clone(), number: *number }
}

/// Whether a text names a merge request.
fn is_gitlab_reference(text: &str) -> bool {
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
            assert_eq!(is_gitlab_reference(text), expected, "{text}");
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
