//! Servers and tokens of Gitea and Forgejo, from environment variables and from the command-line
//! tool `tea`.

use secrecy::SecretString;

use super::{Gitea, PROFILE};
use crate::rest::{
    ForgeEnvironment, RestHost, RestHostError, RestLogins, RestToken, first_token, yaml_value,
};

/// Configuration file of `tea`.
const TEA_CONFIG: &str = "tea/config.yml";

impl RestLogins for Gitea {
    /// `GITEA_SERVER_URL` or `FORGEJO_SERVER_URL`; otherwise codeberg.org if `FORGEJO_TOKEN` is
    /// set.
    fn default_host(
        &self,
        environment: &dyn ForgeEnvironment,
    ) -> Result<Option<RestHost>, RestHostError> {
        let server = PROFILE.server_variable(environment).or_else(|| {
            let token = first_token(&PROFILE.token_variables[1..], environment);
            token.map(|_| PROFILE.public_server.to_owned())
        });
        Ok(server.and_then(|server| PROFILE.host(&server).ok()))
    }

    fn known_host(&self, authority: &str, environment: &dyn ForgeEnvironment) -> Option<RestHost> {
        let config = environment.read_config(TEA_CONFIG);
        let urls = config.lines().filter_map(|line| yaml_value(line, "url"));
        let mut hosts = urls.filter_map(|url| PROFILE.host(url).ok());
        hosts.find(|host| host.authority().eq_ignore_ascii_case(authority))
    }

    /// From a variable, otherwise from `tea`, which may have tokens for several servers.
    fn find_token(&self, host: &RestHost, environment: &dyn ForgeEnvironment) -> Option<RestToken> {
        let token = self.variable_token(PROFILE.token_variables, host, environment);
        let token =
            token.or_else(|| token_in_config(&environment.read_config(TEA_CONFIG), host.web()));
        token.map(|token| PROFILE.token(token))
    }

    fn token_hint(&self, host: &RestHost) -> String {
        let web = host.web();
        format!("set `GITEA_TOKEN` and `GITEA_SERVER_URL={web}`, or run `tea login add`")
    }
}

/// Finds the token of the login with this address in the configuration of `tea`.
fn token_in_config(config: &str, web: &str) -> Option<SecretString> {
    let mut lines = config.lines();
    while let Some(line) = lines.next() {
        let url = yaml_value(line, "url").unwrap_or_default();
        if !url.trim_end_matches('/').eq_ignore_ascii_case(web) {
            continue;
        }
        let rest = lines.clone().take_while(|line| !line.trim_start().starts_with("- "));
        if let Some(token) = rest.into_iter().find_map(|it| yaml_value(it, "token")) {
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
