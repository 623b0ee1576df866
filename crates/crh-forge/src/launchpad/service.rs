//! A Launchpad: where its web service, its pages and its repositories are. The one that everybody uses, those that it is tried
//! out on, and a local instance.

use thiserror::Error;

use crh_http::{BadUrl, BaseUrl};

/// The version of the web service that is spoken: the only one that knows git and inline comments.
const VERSION: &str = "devel";

/// The instances that have a name.
const KNOWN: [(&str, &str); 5] = [
    ("production", "https://api.launchpad.net"),
    ("staging", "https://api.staging.launchpad.net"),
    ("qastaging", "https://api.qastaging.launchpad.net"),
    ("dogfood", "https://api.dogfood.paddev.net"),
    ("dev", "https://api.launchpad.test"),
];

/// Addresses of one Launchpad. Credentials go to its web service, and to its pages for the token flow, and to no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    api: BaseUrl,
    web: BaseUrl,
    code: BaseUrl,
    git: BaseUrl,
}

/// Why there can be no Launchpad at an address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// It is no address, and no name of an instance.
    #[error(
        "the service root {0}; it is `production`, `staging`, `qastaging`, `dogfood`, `dev` or the address of a web service"
    )]
    Address(BadUrl),
    /// A secret would be readable on its way.
    #[error("the service root is not `https`, and a secret would be readable on its way")]
    Insecure,
}

impl Default for Service {
    /// launchpad.net.
    fn default() -> Self {
        match Self::named("production") {
            Ok(service) => service,
            Err(_) => unreachable!("the address of launchpad.net is one"),
        }
    }
}

impl Service {
    /// The instance with a name, such as `staging`, or the one whose web service is at an address. A host that begins with `api.`
    /// has others beside it for pages and for git; anywhere else all is at one host.
    pub fn named(root: &str) -> Result<Self, ServiceError> {
        let known = KNOWN.iter().find(|(name, _)| *name == root.trim());
        let root = known.map_or(root.trim(), |(_, address)| *address);
        let root = secure(root)?;
        let origin = root.origin();
        let beside = |name: &str| secure(&origin.replacen("://api.", &format!("://{name}"), 1));
        let versioned = match root.as_str().ends_with(&format!("/{VERSION}")) {
            true => root.as_str().to_owned(),
            false => format!("{}/{VERSION}", root.as_str()),
        };
        Ok(Self {
            api: secure(&versioned)?,
            web: beside("")?,
            code: beside("code.")?,
            git: beside("git.")?,
        })
    }

    /// The instance with a name that has pages or a web service at this origin.
    pub(super) fn known_at(origin: &str) -> Option<Self> {
        let services = KNOWN.iter().filter_map(|(_, address)| Self::named(address).ok());
        services.into_iter().find(|service| service.is_at(origin))
    }

    /// Whether merge proposals of this Launchpad have addresses of this origin.
    pub(super) fn is_at(&self, origin: &str) -> bool {
        [&self.api, &self.web, &self.code].iter().any(|place| place.origin() == origin)
    }

    /// Whether its repositories have addresses of this origin.
    pub(super) fn keeps_git_at(&self, origin: &str) -> bool {
        self.git.origin() == origin
    }

    /// Whether an instance with a name keeps its repositories at this origin.
    pub(super) fn known_by_git_at(origin: &str) -> bool {
        let services = KNOWN.iter().filter_map(|(_, address)| Self::named(address).ok());
        services.into_iter().any(|service| service.keeps_git_at(origin))
    }

    /// The name of its host, for readers: `launchpad.net`.
    pub fn name(&self) -> &str {
        let origin = self.web.as_str();
        origin.split_once("://").map_or(origin, |(_, name)| name)
    }

    /// Where its web service is, without a slash at the end.
    pub fn api(&self) -> &str {
        self.api.as_str()
    }

    /// Where people log in, without a slash at the end.
    pub fn web(&self) -> &str {
        self.web.as_str()
    }

    /// Where merge proposals are looked at, without a slash at the end.
    pub fn code(&self) -> &str {
        self.code.as_str()
    }

    /// Where git fetches a repository by its unique name.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}", self.git.as_str())
    }

    /// The path of an address in the web service, without a slash before it; none if the address is another host's.
    pub(super) fn path_of<'l>(&self, link: &'l str) -> Option<&'l str> {
        link.strip_prefix(self.api())?.strip_prefix('/')
    }
}

fn secure(address: &str) -> Result<BaseUrl, ServiceError> {
    let url: BaseUrl = address.parse().map_err(ServiceError::Address)?;
    if url.as_str().starts_with("https:") || url.is_loopback() {
        return Ok(url);
    }
    Err(ServiceError::Insecure)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_service_is_named_or_addressed() {
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
            let line = match Service::named(root) {
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
            the service root is not `https`, and a secret would be readable on its way
            the service root carries a user name or a password: keys come from variables, never from addresses; it is `production`, `staging`, `qastaging`, `dogfood`, `dev` or the address of a web service
            the service root is no address; it is `production`, `staging`, `qastaging`, `dogfood`, `dev` or the address of a web service
        "#]].assert_eq(&lines);
    }

    #[test]
    fn only_its_own_links_are_followed() {
        let service = Service::default();
        let link = |link| service.path_of(link);
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
