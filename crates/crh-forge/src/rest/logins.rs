//! Servers and tokens of a forge with a plain REST API, as the user's environment names them.

use secrecy::{ExposeSecret, SecretString};

use super::{RestHost, RestHostError, RestToken};

/// What forges may read of the user's environment.
pub trait ForgeEnvironment {
    /// A variable that is set and not empty.
    fn read_variable(&self, name: &str) -> Option<String>;

    /// A variable with a secret.
    fn read_secret(&self, name: &str) -> Option<SecretString>;

    /// A configuration file of another program below the user's configuration folder. A missing
    /// file is empty.
    fn read_config(&self, path: &str) -> String;
}

/// Servers and tokens of the user.
pub trait RestLogins {
    /// The configured server, if any.
    fn default_host(
        &self,
        environment: &dyn ForgeEnvironment,
    ) -> Result<Option<RestHost>, RestHostError>;

    /// A server that the forge's own client has a login for, by host name and port.
    fn known_host(&self, authority: &str, environment: &dyn ForgeEnvironment) -> Option<RestHost>;

    /// The token for a server.
    fn find_token(&self, host: &RestHost, environment: &dyn ForgeEnvironment) -> Option<RestToken>;

    /// How to get a token for a server.
    fn token_hint(&self, host: &RestHost) -> String;

    /// User name with which git accepts a token.
    fn git_user(&self, _token: &RestToken) -> &'static str {
        "oauth2"
    }

    /// The token in the first of these variables that is set. `None` if `host` is not the
    /// configured server.
    fn variable_token(
        &self,
        names: &[&str],
        host: &RestHost,
        environment: &dyn ForgeEnvironment,
    ) -> Option<SecretString> {
        let default = self.default_host(environment).ok().flatten();
        first_token(names, environment).filter(|_| default.is_some_and(|it| it == *host))
    }
}

/// The first token among these variables that is set.
pub(crate) fn first_token(
    names: &[&str],
    environment: &dyn ForgeEnvironment,
) -> Option<SecretString> {
    let is_set = |token: &SecretString| !token.expose_secret().trim().is_empty();
    names.iter().find_map(|name| environment.read_secret(name).filter(is_set))
}

/// Value of `key: value` in a line of YAML, without quotes.
pub(crate) fn yaml_value<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    let line = line.trim().trim_start_matches("- ");
    let value = line.strip_prefix(key)?.strip_prefix(':')?.trim();
    let value = value.strip_prefix("!!null").unwrap_or(value).trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then_some(value)
}
