//! A GitHub: where its pages, its API and its repositories are. github.com, GitHub Enterprise, and whatever the variables of
//! Actions name.

use thiserror::Error;

use super::Repo;
use crh_http::{BadUrl, BaseUrl};

/// Addresses of one GitHub. A token goes to these and to no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    server: BaseUrl,
    api: BaseUrl,
    graphql: BaseUrl,
}

/// Why there can be no GitHub at an address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// It is no address.
    #[error("{what} {problem}")]
    Address {
        /// Which of the addresses.
        what: &'static str,
        /// What is wrong with it.
        problem: BadUrl,
    },
    /// A token would be readable on its way.
    #[error("{what} is not `https`, and a token would be readable on its way")]
    Insecure {
        /// Which of the addresses.
        what: &'static str,
    },
}

impl Default for Host {
    /// github.com.
    fn default() -> Self {
        match Self::of(GITHUB) {
            Ok(host) => host,
            Err(_) => unreachable!("the address of github.com is one"),
        }
    }
}

/// What everybody means who names no other.
const GITHUB: &str = "https://github.com";

impl Host {
    /// The GitHub whose pages are at this address, such as `https://github.example`.
    pub fn of(server: &str) -> Result<Self, HostError> {
        Self::at("the address", server, None, None)
    }

    /// The GitHub that the variables `GITHUB_SERVER_URL`, `GITHUB_API_URL` and `GITHUB_GRAPHQL_URL` name: they are set in Actions.
    /// What is not set follows from the server, and a server that is not set is github.com.
    pub fn from_variables(
        server: Option<&str>,
        api: Option<&str>,
        graphql: Option<&str>,
    ) -> Result<Self, HostError> {
        Self::at("`GITHUB_SERVER_URL`", server.unwrap_or(GITHUB), api, graphql)
    }

    fn at(
        what: &'static str,
        server: &str,
        api: Option<&str>,
        graphql: Option<&str>,
    ) -> Result<Self, HostError> {
        let server = secure(what, server)?;
        let origin = server.origin();
        // `www` is another name for the same pages, and has no API.
        let server = match origin.as_str() {
            "https://www.github.com" => secure(what, GITHUB)?,
            _ => secure(what, &origin)?,
        };
        let base = api_of(&server);
        let api = secure("`GITHUB_API_URL`", api.unwrap_or(&base.rest))?;
        let graphql = secure("`GITHUB_GRAPHQL_URL`", graphql.unwrap_or(&base.graphql))?;
        Ok(Self { server, api, graphql })
    }

    /// Its name, with its port if that is not the usual one: `github.com`.
    pub fn name(&self) -> &str {
        let origin = self.server.as_str();
        origin.split_once("://").map_or(origin, |(_, name)| name)
    }

    /// Where its pages are, without a slash at the end.
    pub fn server(&self) -> &str {
        self.server.as_str()
    }

    /// Where its REST API is, without a slash at the end.
    pub fn api(&self) -> &str {
        self.api.as_str()
    }

    /// Where its GraphQL API is.
    pub fn graphql(&self) -> &str {
        self.graphql.as_str()
    }

    /// Where git fetches a repository of it.
    pub fn git_url(&self, repo: &Repo) -> String {
        format!("{}/{repo}.git", self.server())
    }

    /// Scheme, host and port of its pages: what an address that is typed is held against.
    pub fn origin(&self) -> String {
        self.server.origin()
    }
}

struct Api {
    rest: String,
    graphql: String,
}

/// Where the API of a server is: github.com and the hosts of GitHub Enterprise Cloud have a host of its own for it, GitHub
/// Enterprise Server has a path.
fn api_of(server: &BaseUrl) -> Api {
    let server = server.as_str();
    let host = server.split_once("://").map_or(server, |(_, host)| host);
    if host == "github.com" || host.ends_with(".ghe.com") {
        let rest = format!("https://api.{host}");
        return Api { graphql: format!("{rest}/graphql"), rest };
    }
    Api { rest: format!("{server}/api/v3"), graphql: format!("{server}/api/graphql") }
}

fn secure(what: &'static str, address: &str) -> Result<BaseUrl, HostError> {
    let url: BaseUrl = address.parse().map_err(|problem| HostError::Address { what, problem })?;
    if url.as_str().starts_with("https:") || url.is_loopback() {
        return Ok(url);
    }
    Err(HostError::Insecure { what })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_api_follows_from_the_server_unless_it_is_named() {
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
            let line = match Host::from_variables(server, api, graphql) {
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
            `GITHUB_SERVER_URL` is not `https`, and a token would be readable on its way
            `GITHUB_API_URL` is not `https`, and a token would be readable on its way
            `GITHUB_SERVER_URL` carries a user name or a password: keys come from variables, never from addresses
            `GITHUB_SERVER_URL` is no address
        "#]].assert_eq(&lines);
    }
}
