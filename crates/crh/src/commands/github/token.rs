//! Finds the token for a GitHub server. crh sends a token only to the host that it is for.

use secrecy::{ExposeSecret, SecretString};

use crate::config::environment::{Environment, GH_HOST_VARIABLE};
use crate::programs;
use crh_forge::github::GitHubHost;

/// Variables with a token for the default host, in order of precedence.
const DEFAULT_HOST_TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];
/// Variables with a token for the host in `GH_HOST`. Without `GH_HOST` they are ignored.
const GH_HOST_TOKENS: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
/// Variable with the key of a GitHub App.
pub(super) const APP_KEY: &str = "CRH_GITHUB_APP_KEY";

/// Variables that may contain a token.
pub(crate) const TOKENS: [&str; 4] =
    [DEFAULT_HOST_TOKENS[0], DEFAULT_HOST_TOKENS[1], GH_HOST_TOKENS[0], GH_HOST_TOKENS[1]];
/// Variables that may contain a secret. crh masks their values.
pub(crate) const SECRETS: [&str; 5] = [TOKENS[0], TOKENS[1], TOKENS[2], TOKENS[3], APP_KEY];

pub(crate) struct GitHubToken {
    pub(crate) token: SecretString,
    /// Variable or command that provided the token.
    pub(crate) from: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostKind {
    /// The default host.
    Default,
    /// The host in `GH_HOST`.
    Named,
    /// Another host, from an address or a remote.
    Other,
}

impl HostKind {
    fn new(host: &GitHubHost, default_host: &GitHubHost, environment: &Environment) -> Self {
        let gh_host = environment.variable(GH_HOST_VARIABLE).and_then(|name| name.to_str());
        if host.name() == default_host.name() {
            return Self::Default;
        }
        match gh_host.is_some_and(|name| name.eq_ignore_ascii_case(host.name())) {
            true => Self::Named,
            false => Self::Other,
        }
    }

    /// Variables that may contain the token for such a host.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Default => &DEFAULT_HOST_TOKENS,
            Self::Named => &GH_HOST_TOKENS,
            Self::Other => &[],
        }
    }
}

/// The token for a host. For hosts other than the default and `GH_HOST`, only `gh auth token` is
/// used.
pub(crate) fn find_token(
    host: &GitHubHost,
    default_host: &GitHubHost,
    environment: &Environment,
) -> Option<GitHubToken> {
    let names = HostKind::new(host, default_host, environment).variables();
    let mut values = environment.secrets(names.iter().copied());
    let is_set = |token: &SecretString| !token.expose_secret().trim().is_empty();
    let from_variables = names.iter().find_map(|name| {
        let token = values.remove(*name).filter(is_set)?;
        Some(GitHubToken { token, from: format!("`{name}`") })
    });
    from_variables.or_else(|| {
        let from = format!("`gh auth token --hostname {}`", host.name());
        Some(GitHubToken { token: programs::gh_token(host.name())?, from })
    })
}

/// Names of the token variables, for messages.
pub(crate) fn token_variables(
    host: &GitHubHost,
    default_host: &GitHubHost,
    environment: &Environment,
) -> String {
    let join = |names: [&str; 2]| names.map(|name| format!("`{name}`")).join(" or ");
    match HostKind::new(host, default_host, environment) {
        HostKind::Default => join(DEFAULT_HOST_TOKENS),
        HostKind::Named => join(GH_HOST_TOKENS),
        HostKind::Other => {
            format!("`{GH_HOST_VARIABLE}={}` and {}", host.name(), join(GH_HOST_TOKENS))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_variable_belongs_to_one_host() {
        let github_com = GitHubHost::default();
        let corp = GitHubHost::from_server_url("https://ghe.corp:8443").unwrap();
        let other = GitHubHost::from_server_url("https://codeberg.example").unwrap();
        let check = |gh_host: Option<&str>, default: &GitHubHost, expected: [&[&str]; 3]| {
            let variables = gh_host.map(|name| (GH_HOST_VARIABLE, name.into()));
            let environment = Environment::new("/here".into(), variables);
            let names =
                |host: &GitHubHost| HostKind::new(host, default, &environment).variables().to_vec();
            assert_eq!([names(&github_com), names(&corp), names(&other)], expected, "{gh_host:?}");
        };
        check(None, &github_com, [&DEFAULT_HOST_TOKENS, &[], &[]]);
        check(Some("GHE.corp:8443"), &github_com, [&DEFAULT_HOST_TOKENS, &GH_HOST_TOKENS, &[]]);
        check(Some("ghe.corp"), &github_com, [&DEFAULT_HOST_TOKENS, &[], &[]]);
        check(Some("github.com"), &github_com, [&DEFAULT_HOST_TOKENS, &[], &[]]);
        // In GitHub Actions on an enterprise server, github.com is another host.
        check(None, &corp, [&[], &DEFAULT_HOST_TOKENS, &[]]);
        check(Some("ghe.corp:8443"), &corp, [&[], &DEFAULT_HOST_TOKENS, &[]]);
    }
}
