//! Addresses of one GitHub server: github.com, GitHub Enterprise, or the server that the Actions
//! variables name.

use thiserror::Error;

use super::Repo;
use crh_http::{BaseUrl, BaseUrlError};

/// Addresses of one GitHub server. crh sends a token only to these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubHost {
    server: BaseUrl,
    api: BaseUrl,
    graphql: BaseUrl,
}

/// Why an address cannot be that of a GitHub server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GitHubHostError {
    /// Not a valid address.
    #[error("{address_name} {problem}")]
    Address {
        /// Which address.
        address_name: &'static str,
        /// What is wrong with it.
        problem: BaseUrlError,
    },
    /// Unencrypted: the token would be readable in transit.
    #[error("{address_name} is not `https`; the token would be sent unencrypted")]
    Insecure {
        /// Which address.
        address_name: &'static str,
    },
}

impl Default for GitHubHost {
    /// github.com.
    fn default() -> Self {
        match Self::from_server_url(GITHUB) {
            Ok(host) => host,
            Err(_) => unreachable!("the address of github.com is valid"),
        }
    }
}

const GITHUB: &str = "https://github.com";

impl GitHubHost {
    /// The GitHub with this web address, such as `https://github.example`.
    pub fn from_server_url(server: &str) -> Result<Self, GitHubHostError> {
        Self::from_urls("the address", server, None, None)
    }

    /// The GitHub named by `GITHUB_SERVER_URL`, `GITHUB_API_URL` and `GITHUB_GRAPHQL_URL`, which
    /// Actions sets. Unset API addresses follow from the server; the default server is github.com.
    pub fn from_variables(
        server: Option<&str>,
        api: Option<&str>,
        graphql: Option<&str>,
    ) -> Result<Self, GitHubHostError> {
        Self::from_urls("`GITHUB_SERVER_URL`", server.unwrap_or(GITHUB), api, graphql)
    }

    fn from_urls(
        address_name: &'static str,
        server: &str,
        api: Option<&str>,
        graphql: Option<&str>,
    ) -> Result<Self, GitHubHostError> {
        let server = parse_secure_url(address_name, server)?;
        let origin = server.origin();
        // `www.github.com` serves the same pages but has no API.
        let server = match origin.as_str() {
            "https://www.github.com" => parse_secure_url(address_name, GITHUB)?,
            _ => parse_secure_url(address_name, &origin)?,
        };
        let default_urls = api_urls(&server);
        let api = parse_secure_url("`GITHUB_API_URL`", api.unwrap_or(&default_urls.rest))?;
        let graphql =
            parse_secure_url("`GITHUB_GRAPHQL_URL`", graphql.unwrap_or(&default_urls.graphql))?;
        Ok(Self { server, api, graphql })
    }

    /// Host name, with a port if it is not the default one: `github.com`.
    pub fn name(&self) -> &str {
        let origin = self.server.as_str();
        origin.split_once("://").map_or(origin, |(_, name)| name)
    }

    /// Web address, without a trailing slash.
    pub fn server(&self) -> &str {
        self.server.as_str()
    }

    /// Address of the REST API, without a trailing slash.
    pub fn api(&self) -> &str {
        self.api.as_str()
    }

    /// Address of the GraphQL API.
    pub fn graphql(&self) -> &str {
        self.graphql.as_str()
    }

    /// Address to fetch a repository from with git.
    pub fn git_url(&self, repo: &Repo) -> String {
        format!("{}/{repo}.git", self.server())
    }

    /// Scheme, host and port of the web address, for comparison with typed addresses.
    pub fn origin(&self) -> String {
        self.server.origin()
    }
}

struct ApiUrls {
    rest: String,
    graphql: String,
}

/// github.com and GitHub Enterprise Cloud have a separate API host; GitHub Enterprise Server has a
/// path.
fn api_urls(server: &BaseUrl) -> ApiUrls {
    let server = server.as_str();
    let host = server.split_once("://").map_or(server, |(_, host)| host);
    if host == "github.com" || host.ends_with(".ghe.com") {
        let rest = format!("https://api.{host}");
        return ApiUrls { graphql: format!("{rest}/graphql"), rest };
    }
    ApiUrls { rest: format!("{server}/api/v3"), graphql: format!("{server}/api/graphql") }
}

fn parse_secure_url(address_name: &'static str, address: &str) -> Result<BaseUrl, GitHubHostError> {
    let url: BaseUrl =
        address.parse().map_err(|problem| GitHubHostError::Address { address_name, problem })?;
    if url.as_str().starts_with("https:") || url.is_loopback() {
        return Ok(url);
    }
    Err(GitHubHostError::Insecure { address_name })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn api_address_defaults_to_server_address() {
        let mut lines = String::new();
        for (server, api, graphql) in [
            (None, None, None),
            (Some("https://www.github.com/"), None, None),
            (Some("https://GitHub.example:8443"), None, None),
            (Some("https://acme.ghe.com"), None, None),
            (Some("http://127.0.0.1:5/some/path"), None, None),
            (
                Some("http://127.0.0.1:5"),
                Some("http://127.0.0.1:6/api/v3/"),
                Some("http://localhost:7/graphql"),
            ),
            (Some("http://github.com"), None, None),
            (None, Some("http://api.github.com"), None),
            (Some("https://me:secret@github.com"), None, None),
            (Some("github.com"), None, None),
        ] {
            let line = match GitHubHost::from_variables(server, api, graphql) {
                Ok(host) => {
                    let repo = Repo::parse("o/r.js").unwrap();
                    let (name, git) = (host.name(), host.git_url(&repo));
                    format!("{name} | {} | {} | {git}", host.api(), host.graphql())
                }
                Err(error) => error.to_string(),
            };
            lines += &format!("{line}\n");
        }
        expect![[r#"
            github.com | https://api.github.com | https://api.github.com/graphql | https://github.com/o/r.js.git
            github.com | https://api.github.com | https://api.github.com/graphql | https://github.com/o/r.js.git
            github.example:8443 | https://github.example:8443/api/v3 | https://github.example:8443/api/graphql | https://github.example:8443/o/r.js.git
            acme.ghe.com | https://api.acme.ghe.com | https://api.acme.ghe.com/graphql | https://acme.ghe.com/o/r.js.git
            127.0.0.1:5 | http://127.0.0.1:5/api/v3 | http://127.0.0.1:5/api/graphql | http://127.0.0.1:5/o/r.js.git
            127.0.0.1:5 | http://127.0.0.1:6/api/v3 | http://localhost:7/graphql | http://127.0.0.1:5/o/r.js.git
            `GITHUB_SERVER_URL` is not `https`; the token would be sent unencrypted
            `GITHUB_API_URL` is not `https`; the token would be sent unencrypted
            `GITHUB_SERVER_URL` must not contain a user name or password; credentials come from variables
            `GITHUB_SERVER_URL` is not a valid URL
        "#]].assert_eq(&lines);
    }
}
