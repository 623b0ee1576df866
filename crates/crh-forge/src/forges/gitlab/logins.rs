//! Servers and tokens of GitLab, from environment variables and from the command-line tool `glab`.

use secrecy::SecretString;

use super::{GitLab, PROFILE, TOKENS};
use crate::rest::{ForgeEnvironment, RestHost, RestHostError, RestLogins, RestToken, yaml_value};

/// Configuration file of `glab`.
const GLAB_CONFIG: &str = "glab-cli/config.yml";

/// User names for git: with the user's token, and with the token of a CI job.
const GIT_USERS: [&str; 2] = ["oauth2", "gitlab-ci-token"];

/// Header of the token of a CI job.
const JOB_HEADER: &str = "job-token";

impl RestLogins for GitLab {
    /// `GITLAB_HOST` or `GITLAB_URI`, then the server of the CI job, then gitlab.com.
    fn default_host(
        &self,
        environment: &dyn ForgeEnvironment,
    ) -> Result<Option<RestHost>, RestHostError> {
        let server = PROFILE.server_variable(environment);
        let mut server = server.unwrap_or_else(|| PROFILE.public_server.to_owned());
        if !server.contains("://") {
            server.insert_str(0, "https://");
        }
        PROFILE.host(&server).map(Some)
    }

    fn known_host(&self, authority: &str, environment: &dyn ForgeEnvironment) -> Option<RestHost> {
        glab_token(authority, environment)?;
        PROFILE.host(&format!("https://{authority}")).ok()
    }

    /// From `GITLAB_TOKEN`, then from `glab`, which may have tokens for several servers, then from
    /// the CI job.
    fn find_token(&self, host: &RestHost, environment: &dyn ForgeEnvironment) -> Option<RestToken> {
        let variable = |name| self.variable_token(&[name], host, environment);
        let token = variable(TOKENS[0]).or_else(|| glab_token(host.authority(), environment));
        token.map(|token| PROFILE.token(token)).or_else(|| {
            let token = variable(TOKENS[1])?;
            Some(RestToken { header: JOB_HEADER, prefix: "", token })
        })
    }

    fn token_hint(&self, host: &RestHost) -> String {
        let name = host.name();
        format!(
            "set `GITLAB_TOKEN` (and `GITLAB_HOST` for a server other than gitlab.com), or run `glab auth login --hostname {name}`"
        )
    }

    fn git_user(&self, token: &RestToken) -> &'static str {
        GIT_USERS[usize::from(token.header == JOB_HEADER)]
    }
}

/// The token of `glab` for a host, from its configuration file.
fn glab_token(host: &str, environment: &dyn ForgeEnvironment) -> Option<SecretString> {
    token_in_config(&environment.read_config(GLAB_CONFIG), host)
}

/// Finds the token of a host below `hosts:`. Hosts are indented less than their settings.
fn token_in_config(config: &str, host: &str) -> Option<SecretString> {
    let mut lines = config.lines().skip_while(|line| line.trim_end() != "hosts:").skip(1);
    let heading = format!("{host}:");
    let indent = |line: &str| line.len() - line.trim_start().len();
    let start = lines.by_ref().find(|line| line.trim() == heading)?;
    let own = lines.take_while(|line| line.trim().is_empty() || indent(line) > indent(start));
    let token = own.filter_map(|line| yaml_value(line, "token")).next()?;
    Some(token.to_owned().into())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

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
