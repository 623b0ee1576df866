//! Which token goes to which GitHub. A token is looked up by name when it is needed, and goes to its own host only.

use crh_forge::github::Host;
use secrecy::ExposeSecret;
use secrecy::SecretString;

use crate::config::environment::Environment;
use crate::programs;

/// The variables that hold a token for the default host, in their order.
const DEFAULT: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];
/// Those for any other.
const ENTERPRISE: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];
/// The key of a GitHub App, as text.
pub(super) const APP_KEY: &str = "CRH_GITHUB_APP_KEY";

/// Every variable that may hold a secret of GitHub's: what is printed and stored shows none of them.
pub(crate) const SECRETS: [&str; 5] =
    [DEFAULT[0], DEFAULT[1], ENTERPRISE[0], ENTERPRISE[1], APP_KEY];

/// A token, and where it comes from.
pub(crate) struct Found {
    pub(crate) token: SecretString,
    /// The variable, or the command.
    pub(crate) from: String,
}

/// The token for a host; none if there is none.
pub(crate) fn token(host: &Host, default: &Host, environment: &Environment) -> Option<Found> {
    let names = match host.name() == default.name() {
        true => DEFAULT,
        false => ENTERPRISE,
    };
    let mut set = environment.secrets(names);
    let is_set = |token: &SecretString| !token.expose_secret().trim().is_empty();
    let by_name = names.into_iter().find_map(|name| {
        let token = set.remove(name).filter(is_set)?;
        Some(Found { token, from: format!("`{name}`") })
    });
    by_name.or_else(|| {
        let from = format!("`gh auth token --hostname {}`", host.name());
        Some(Found { token: programs::gh_token(host.name())?, from })
    })
}

/// The variables in which a token for a host is looked for, for people.
pub(crate) fn variables(host: &Host, default: &Host) -> String {
    let names = match host.name() == default.name() {
        true => DEFAULT,
        false => ENTERPRISE,
    };
    names.map(|name| format!("`{name}`")).join(" or ")
}
