//! Which token goes to which GitHub. A token is looked up by name when it is needed, and goes to its own host only.

use secrecy::{ExposeSecret, SecretString};

use crate::config::environment::{Environment, GITHUB_HOST};
use crate::programs;
use crh_forge::github::Host;

/// The variables that hold a token for the default host, in their order.
const DEFAULT: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];
/// Those for the one host that `GH_HOST` names. They do not say themselves whose token they hold, so that without it they are
/// for nobody.
const ENTERPRISE: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
/// The key of a GitHub App, as text.
pub(super) const APP_KEY: &str = "CRH_GITHUB_APP_KEY";

/// Every variable that may hold a token.
pub(crate) const TOKENS: [&str; 4] = [DEFAULT[0], DEFAULT[1], ENTERPRISE[0], ENTERPRISE[1]];
/// Every variable that may hold a secret of GitHub's: what is printed and stored shows none of them.
pub(crate) const SECRETS: [&str; 5] = [TOKENS[0], TOKENS[1], TOKENS[2], TOKENS[3], APP_KEY];

/// A token, and where it comes from.
pub(crate) struct Found {
    pub(crate) token: SecretString,
    /// The variable, or the command.
    pub(crate) from: String,
}

/// What a host is to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// The one that is meant where none is named.
    Default,
    /// The one that `GH_HOST` names.
    Named,
    /// Any other: an address somebody gave, or a remote of a clone.
    Other,
}

impl Known {
    fn of(host: &Host, default: &Host, environment: &Environment) -> Self {
        let named = environment.variable(GITHUB_HOST).and_then(|name| name.to_str());
        if host.name() == default.name() {
            return Self::Default;
        }
        match named.is_some_and(|name| name.eq_ignore_ascii_case(host.name())) {
            true => Self::Named,
            false => Self::Other,
        }
    }

    /// The variables that hold its token.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Default => &DEFAULT,
            Self::Named => &ENTERPRISE,
            Self::Other => &[],
        }
    }
}

/// The token for a host; none if there is none. One that is neither the default nor named by `GH_HOST` has only what the user
/// has logged in with there.
pub(crate) fn token(host: &Host, default: &Host, environment: &Environment) -> Option<Found> {
    let names = Known::of(host, default, environment).variables();
    let mut set = environment.secrets(names.iter().copied());
    let is_set = |token: &SecretString| !token.expose_secret().trim().is_empty();
    let by_name = names.iter().find_map(|name| {
        let token = set.remove(*name).filter(is_set)?;
        Some(Found { token, from: format!("`{name}`") })
    });
    by_name.or_else(|| {
        let from = format!("`gh auth token --hostname {}`", host.name());
        Some(Found { token: programs::gh_token(host.name())?, from })
    })
}

/// The variables in which a token for a host is looked for, for people.
pub(crate) fn variables(host: &Host, default: &Host, environment: &Environment) -> String {
    let or = |names: [&str; 2]| names.map(|name| format!("`{name}`")).join(" or ");
    match Known::of(host, default, environment) {
        Known::Default => or(DEFAULT),
        Known::Named => or(ENTERPRISE),
        Known::Other => format!("`{GITHUB_HOST}={}` and {}", host.name(), or(ENTERPRISE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_a_variable_belongs_to_one_host() {
        let here = Host::default();
        let corp = Host::of("https://ghe.corp:8443").unwrap();
        let other = Host::of("https://codeberg.example").unwrap();
        let check = |gh_host: Option<&str>, default: &Host, expected: [&[&str]; 3]| {
            let variables = gh_host.map(|name| (GITHUB_HOST, name.into()));
            let environment = Environment::new("/here".into(), variables);
            let names = |host: &Host| Known::of(host, default, &environment).variables().to_vec();
            assert_eq!([names(&here), names(&corp), names(&other)], expected, "{gh_host:?}");
        };
        check(None, &here, [&DEFAULT, &[], &[]]);
        check(Some("GHE.corp:8443"), &here, [&DEFAULT, &ENTERPRISE, &[]]);
        check(Some("ghe.corp"), &here, [&DEFAULT, &[], &[]]);
        check(Some("github.com"), &here, [&DEFAULT, &[], &[]]);
        // In Actions of an enterprise, github.com is a stranger.
        check(None, &corp, [&[], &DEFAULT, &[]]);
        check(Some("ghe.corp:8443"), &corp, [&[], &DEFAULT, &[]]);
    }
}
