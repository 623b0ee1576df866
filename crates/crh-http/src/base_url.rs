//! Base addresses: where a server is, without anything that could be a secret.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;
use url::Url;

/// The address under which a server answers: `http` or `https`, a host, perhaps a path. It carries no user name, no
/// password and no query, so that it can be shown and stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaseUrl {
    url: Url,
}

/// Why an address is refused. The address itself is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadUrl {
    /// It cannot be read as an address with a host.
    #[error("is no address")]
    NoUrl,
    /// Only the web is spoken.
    #[error("begins neither with `http://` nor with `https://`")]
    Scheme,
    /// A password would be shown and stored with the name.
    #[error("carries a user name or a password: keys come from variables, never from addresses")]
    UserInfo,
    /// A query would be lost, or would carry a key.
    #[error("has a query or a fragment, which a base URL cannot have")]
    Query,
}

impl BaseUrl {
    /// The address without a slash at its end.
    pub fn as_str(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// Scheme, host and port: to whom a key goes. The usual port of the scheme is not written.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Whether the address is nothing but an origin.
    pub fn is_origin(&self) -> bool {
        self.url.path() == "/"
    }

    /// Whether the host is this machine: a loopback address, or `localhost` and names under it.
    pub fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default().trim_end_matches('.');
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) => address.is_loopback(),
            Ok(IpAddr::V6(address)) => {
                address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
            }
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }
}

impl FromStr for BaseUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let mut url = Url::parse(text).map_err(|_| BadUrl::NoUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadUrl::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadUrl::UserInfo);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BadUrl::Query);
        }
        // With and without a slash at the end is the same place.
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self { url })
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = |url: &str| url.parse::<BaseUrl>().unwrap().origin();
        assert_eq!(origin("https://API.openai.com:443/v1"), "https://api.openai.com");
        assert_eq!(origin("http://api.openai.com/v1"), "http://api.openai.com");
        assert_eq!(
            origin("https://api.openai.com.evil.example"),
            "https://api.openai.com.evil.example"
        );
        assert_eq!(origin("http://127.0.0.1:8080/v1"), "http://127.0.0.1:8080");
        // A dot at the end, a letter of another script and what looks like a user are other hosts, or none.
        assert_eq!(origin("https://api.openai.com./v1"), "https://api.openai.com.");
        assert_eq!(origin("https://\u{430}pi.openai.com/v1"), "https://xn--pi-6kc.openai.com");
        assert_eq!(origin(r"https://api.openai.com\@evil.example"), "https://api.openai.com");
        let user = "https://api.openai.com@evil.example/v1".parse::<BaseUrl>();
        assert_eq!(user, Err(BadUrl::UserInfo));
    }

    #[test]
    fn this_machine_is_known_by_its_addresses_and_name() {
        let loopback =
            |host: &str| format!("http://{host}:1/v1").parse::<BaseUrl>().unwrap().is_loopback();
        for host in [
            "127.0.0.1",
            "127.8.9.10",
            "[::1]",
            "localhost",
            "LOCALHOST",
            "a.localhost",
            "2130706433",
        ] {
            assert!(loopback(host), "{host}");
        }
        for host in [
            "128.0.0.1",
            "10.0.0.1",
            "[::2]",
            "localhost.example",
            "127.0.0.1.example",
            "notlocalhost",
        ] {
            assert!(!loopback(host), "{host}");
        }
    }
}
