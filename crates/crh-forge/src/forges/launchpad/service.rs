//! Addresses of a Launchpad server: production, one of its test instances, or a local one.

use thiserror::Error;

use crh_http::{BaseUrl, BaseUrlError};

/// API version: the only version with git and inline comments.
const VERSION: &str = "devel";

/// Names of instances, each with the address of its web service.
const NAMED_INSTANCES: [(&str, &str); 5] = [
    ("production", "https://api.launchpad.net"),
    ("staging", "https://api.staging.launchpad.net"),
    ("qastaging", "https://api.qastaging.launchpad.net"),
    ("dogfood", "https://api.dogfood.paddev.net"),
    ("dev", "https://api.launchpad.test"),
];

/// Addresses of one Launchpad server. crh sends credentials only to its web service and, during
/// login, to its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchpadService {
    api: BaseUrl,
    web: BaseUrl,
    code: BaseUrl,
    git: BaseUrl,
}

/// Why an address cannot be that of a Launchpad server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaunchpadServiceError {
    /// Neither an address nor the name of an instance.
    #[error(
        "the Launchpad service {0}; use `production`, `staging`, `qastaging`, `dogfood`, `dev` or an `https` URL"
    )]
    Address(BaseUrlError),
    /// Unencrypted: a secret would be readable in transit.
    #[error("the Launchpad service is not `https`; the secret would be sent unencrypted")]
    Insecure,
}

impl Default for LaunchpadService {
    /// launchpad.net.
    fn default() -> Self {
        match Self::parse("production") {
            Ok(service) => service,
            Err(_) => unreachable!("the address of launchpad.net is valid"),
        }
    }
}

impl LaunchpadService {
    /// Parses the name of an instance, such as `staging`, or the address of a web service. If the
    /// host starts with `api.`, pages and git are on hosts with other prefixes; otherwise
    /// everything is on one host.
    pub fn parse(root: &str) -> Result<Self, LaunchpadServiceError> {
        let instance = NAMED_INSTANCES.iter().find(|(name, _)| *name == root.trim());
        let root = instance.map_or(root.trim(), |(_, address)| *address);
        let root = parse_secure_url(root)?;
        let origin = root.origin();
        let sibling =
            |name: &str| parse_secure_url(&origin.replacen("://api.", &format!("://{name}"), 1));
        let versioned = match root.as_str().ends_with(&format!("/{VERSION}")) {
            true => root.as_str().to_owned(),
            false => format!("{}/{VERSION}", root.as_str()),
        };
        Ok(Self {
            api: parse_secure_url(&versioned)?,
            web: sibling("")?,
            code: sibling("code.")?,
            git: sibling("git.")?,
        })
    }

    /// The named instance with pages or a web service at this origin.
    pub(super) fn find_by_origin(origin: &str) -> Option<Self> {
        let services = NAMED_INSTANCES.iter().filter_map(|(_, address)| Self::parse(address).ok());
        services.into_iter().find(|service| service.has_origin(origin))
    }

    /// Whether merge proposals of this server have addresses at this origin.
    pub(super) fn has_origin(&self, origin: &str) -> bool {
        [&self.api, &self.web, &self.code].iter().any(|url| url.origin() == origin)
    }

    /// Whether repositories of this server have addresses at this origin.
    pub(super) fn has_git_origin(&self, origin: &str) -> bool {
        self.git.origin() == origin
    }

    /// Whether this is the git origin of a named instance.
    pub(super) fn is_known_git_origin(origin: &str) -> bool {
        let services = NAMED_INSTANCES.iter().filter_map(|(_, address)| Self::parse(address).ok());
        services.into_iter().any(|service| service.has_git_origin(origin))
    }

    /// Host name for display: `launchpad.net`.
    pub fn name(&self) -> &str {
        let origin = self.web.as_str();
        origin.split_once("://").map_or(origin, |(_, name)| name)
    }

    /// Address of the web service, without a trailing slash.
    pub fn api(&self) -> &str {
        self.api.as_str()
    }

    /// Address of the web site for login, without a trailing slash.
    pub fn web(&self) -> &str {
        self.web.as_str()
    }

    /// Address of the merge proposal pages, without a trailing slash.
    pub fn code(&self) -> &str {
        self.code.as_str()
    }

    /// Address to fetch a repository from with git.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}", self.git.as_str())
    }

    /// Path of an address in the web service, without a leading slash; `None` for another host.
    pub(super) fn api_path<'l>(&self, link: &'l str) -> Option<&'l str> {
        link.strip_prefix(self.api())?.strip_prefix('/')
    }
}

fn parse_secure_url(address: &str) -> Result<BaseUrl, LaunchpadServiceError> {
    let url: BaseUrl = address.parse().map_err(LaunchpadServiceError::Address)?;
    if url.as_str().starts_with("https:") || url.is_loopback() {
        return Ok(url);
    }
    Err(LaunchpadServiceError::Insecure)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn parses_service_names_and_addresses() {
        let mut lines = String::new();
        for root in [
            "production",
            "staging",
            "dogfood",
            "https://api.launchpad.test:8085/",
            "https://launchpad.example/devel",
            "http://127.0.0.1:5",
            "http://api.launchpad.net",
            "https://me:secret@api.launchpad.net",
            "nowhere",
        ] {
            let line = match LaunchpadService::parse(root) {
                Ok(it) => format!(
                    "{} | {} | {} | {} | {}",
                    it.name(),
                    it.api(),
                    it.web(),
                    it.code(),
                    it.git_url("~o/p/+git/r")
                ),
                Err(error) => error.to_string(),
            };
            lines += &format!("{line}\n");
        }
        expect![[r#"
            launchpad.net | https://api.launchpad.net/devel | https://launchpad.net | https://code.launchpad.net | https://git.launchpad.net/~o/p/+git/r
            staging.launchpad.net | https://api.staging.launchpad.net/devel | https://staging.launchpad.net | https://code.staging.launchpad.net | https://git.staging.launchpad.net/~o/p/+git/r
            dogfood.paddev.net | https://api.dogfood.paddev.net/devel | https://dogfood.paddev.net | https://code.dogfood.paddev.net | https://git.dogfood.paddev.net/~o/p/+git/r
            launchpad.test:8085 | https://api.launchpad.test:8085/devel | https://launchpad.test:8085 | https://code.launchpad.test:8085 | https://git.launchpad.test:8085/~o/p/+git/r
            launchpad.example | https://launchpad.example/devel | https://launchpad.example | https://launchpad.example | https://launchpad.example/~o/p/+git/r
            127.0.0.1:5 | http://127.0.0.1:5/devel | http://127.0.0.1:5 | http://127.0.0.1:5 | http://127.0.0.1:5/~o/p/+git/r
            the Launchpad service is not `https`; the secret would be sent unencrypted
            the Launchpad service must not contain a user name or password; credentials come from variables; use `production`, `staging`, `qastaging`, `dogfood`, `dev` or an `https` URL
            the Launchpad service is not a valid URL; use `production`, `staging`, `qastaging`, `dogfood`, `dev` or an `https` URL
        "#]].assert_eq(&lines);
    }

    #[test]
    fn foreign_links_have_no_api_path() {
        let service = LaunchpadService::default();
        let link = |link| service.api_path(link);
        assert_eq!(link("https://api.launchpad.net/devel/~ann"), Some("~ann"));
        for other in [
            "https://api.launchpad.net/develish/~ann",
            "https://api.launchpad.net.evil.example/devel/~ann",
            "http://api.launchpad.net/devel/~ann",
            "https://launchpadlibrarian.net/1/x",
        ] {
            assert_eq!(link(other), None, "{other}");
        }
    }
}
