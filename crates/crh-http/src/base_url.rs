//! Base URLs without credentials.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;
use url::{Host, Url};

/// Base URL of a server: `http` or `https`, a host, optionally a path. It has no user name,
/// password, query or fragment, so that it can be shown and stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaseUrl {
    url: Url,
}

/// Why a base URL is rejected. The URL itself is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BaseUrlError {
    /// Not a URL with a host.
    #[error("is not a valid URL")]
    Invalid,
    /// Neither `http` nor `https`.
    #[error("must start with `http://` or `https://`")]
    Scheme,
    /// A user name or password, which would be shown and stored.
    #[error("must not contain a user name or password; credentials come from variables")]
    UserInfo,
    /// A query or fragment, which may contain a key.
    #[error("must not have a query or a fragment")]
    Query,
}

impl BaseUrl {
    /// The URL without a trailing slash.
    pub fn as_str(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    /// Scheme, host and port, without the default port. A key belongs to an origin.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Whether the URL has no path.
    pub fn is_origin(&self) -> bool {
        self.url.path() == "/"
    }

    /// Whether the host is a loopback address, `localhost` or a subdomain of it.
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

    /// Whether the host is an address of a private network.
    pub fn is_private(&self) -> bool {
        match self.url.host() {
            Some(Host::Ipv4(address)) => address.is_private() || address.is_link_local(),
            Some(Host::Ipv6(address)) => {
                address.is_unique_local() || address.is_unicast_link_local()
            }
            Some(Host::Domain(_)) | None => false,
        }
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, BaseUrlError> {
        let mut url = Url::parse(text).map_err(|_| BaseUrlError::Invalid)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlError::UserInfo);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlError::Query);
        }
        // URLs that differ only in a trailing slash are equal.
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
    fn origin_is_scheme_host_and_port() {
        let origin = |url: &str| url.parse::<BaseUrl>().unwrap().origin();
        assert_eq!(origin("https://API.openai.com:443/v1"), "https://api.openai.com");
        assert_eq!(origin("http://api.openai.com/v1"), "http://api.openai.com");
        assert_eq!(
            origin("https://api.openai.com.evil.example"),
            "https://api.openai.com.evil.example"
        );
        assert_eq!(origin("http://127.0.0.1:8080/v1"), "http://127.0.0.1:8080");
        // A trailing dot, a homoglyph and a fake user name are different hosts.
        assert_eq!(origin("https://api.openai.com./v1"), "https://api.openai.com.");
        assert_eq!(origin("https://\u{430}pi.openai.com/v1"), "https://xn--pi-6kc.openai.com");
        assert_eq!(origin(r"https://api.openai.com\@evil.example"), "https://api.openai.com");
        let user = "https://api.openai.com@evil.example/v1".parse::<BaseUrl>();
        assert_eq!(user, Err(BaseUrlError::UserInfo));
    }

    #[test]
    fn loopback_hosts_are_recognised() {
        let loopback =
            |host: &str| format!("http://{host}:1/v1").parse::<BaseUrl>().unwrap().is_loopback();
        let loopback_hosts =
            "127.0.0.1 127.8.9.10 [::1] localhost LOCALHOST a.localhost 2130706433";
        for host in loopback_hosts.split(' ') {
            assert!(loopback(host), "{host}");
        }
        let others = "128.0.0.1 10.0.0.1 [::2] localhost.example 127.0.0.1.example notlocalhost";
        for host in others.split(' ') {
            assert!(!loopback(host), "{host}");
        }
    }

    #[test]
    fn private_addresses_are_recognised() {
        let private =
            |host: &str| format!("http://{host}:1/v1").parse::<BaseUrl>().unwrap().is_private();
        for host in "10.0.0.1 172.16.0.1 192.168.1.7 169.254.1.1 [fd00::7] [fe80::1]".split(' ') {
            assert!(private(host), "{host}");
        }
        for host in "127.0.0.1 203.0.113.7 172.32.0.1 [2001:db8::1] localhost".split(' ') {
            assert!(!private(host), "{host}");
        }
    }
}
