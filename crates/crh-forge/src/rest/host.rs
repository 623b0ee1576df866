//! Addresses of one server, possibly below a path.

use thiserror::Error;

use crh_http::{BaseUrl, BaseUrlError};

/// Addresses of one server. crh sends a token only there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestHost {
    server: BaseUrl,
    api: String,
    page_size_name: &'static str,
}

/// Why an address cannot be that of a server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RestHostError {
    /// Not a valid address.
    #[error("the address {0}")]
    Address(#[from] BaseUrlError),
    /// Unencrypted: the token would be readable in transit.
    #[error("the address is not `https`; the token would be sent unencrypted")]
    Insecure,
}

impl RestHost {
    /// The server with this web address. `api` is the path of the API below it, and
    /// `page_size_name` the parameter with the length of a page.
    pub(crate) fn new(
        server: &str,
        api: &str,
        page_size_name: &'static str,
    ) -> Result<Self, RestHostError> {
        let server: BaseUrl = server.trim_end_matches('/').parse()?;
        if !server.as_str().starts_with("https:") && !server.is_loopback() {
            return Err(RestHostError::Insecure);
        }
        let api = format!("{}{api}", server.as_str().trim_end_matches('/'));
        Ok(Self { server, api, page_size_name })
    }

    /// Host name with port and path: `gitlab.com`, `forge.example/gitlab`.
    pub fn name(&self) -> &str {
        self.web().split_once("://").map_or(self.web(), |(_, name)| name)
    }

    /// Host name with port, without the path.
    pub fn authority(&self) -> &str {
        self.name().split('/').next().unwrap_or_default()
    }

    /// Web address, without a trailing slash.
    pub fn web(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }

    /// Address of the API, without a trailing slash.
    pub fn api(&self) -> &str {
        &self.api
    }

    pub(super) fn page_size_name(&self) -> &'static str {
        self.page_size_name
    }

    /// Path of an address below the web address, without the first slash. `None` for an address of
    /// another server.
    pub fn path<'t>(&self, url: &'t str) -> Option<&'t str> {
        let web = self.web();
        let start = url.get(..web.len()).filter(|start| start.eq_ignore_ascii_case(web))?;
        url[start.len()..].strip_prefix('/')
    }
}

/// Splits `owner/name` and number at a separator: `acme/shop!12`. The path may be empty.
pub(crate) fn split_reference(text: &str, separator: char) -> Option<(&str, u64)> {
    let (path, number) = text.rsplit_once(separator)?;
    Some((path, parse_number(number)?))
}

/// A number from 1 on, without a sign.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number > 0)
}

/// Whether a path has at least two segments and each is a name: not empty, `.`, `..` or `-`, and
/// without white space, control characters and characters that are special in an address.
pub fn is_repository_path(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name != "."
            && name != ".."
            && name != "-"
            && !name.contains(|char: char| {
                char.is_control() || char.is_whitespace() || "?#%\\".contains(char)
            })
    };
    path.contains('/') && path.split('/').all(is_name)
}
