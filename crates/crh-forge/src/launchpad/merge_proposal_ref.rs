//! Which merge proposal is meant: what people paste.

use std::fmt;

use thiserror::Error;

use super::Service;
use crh_http::BaseUrl;

/// The longest address that is read: names at Launchpad have tens of characters.
const ADDRESS_MAX: usize = 1_000;

/// The versions of the web service that an address may name; the same proposal is asked for in ours.
const VERSIONS: [&str; 3] = ["devel", "1.0", "beta"];

/// A merge proposal of some repository at some Launchpad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Where.
    pub service: Service,
    /// The unique name of the repository that it comes from, such as `~ann/shop/+git/shop`.
    pub repository: String,
    /// Its number.
    pub number: u64,
}

/// Why something is no merge proposal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// It has none of the forms.
    #[error(
        "a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`"
    )]
    NoName,
    /// It is one of Bazaar's.
    #[error("this is a merge proposal of a Bazaar branch, and only those of git are reviewed")]
    Bazaar,
    /// It is where git fetches from.
    #[error("this is the address of a repository, and not of a merge proposal")]
    Repository,
    /// There is no such number.
    #[error("the address names no number of a merge proposal after `/+merge/`")]
    Number,
    /// The address is that of another Launchpad than the one that is asked.
    #[error("`{host}` is not a host of the Launchpad that is asked, `{asked}`")]
    Elsewhere {
        /// The host of the address.
        host: String,
        /// The Launchpad.
        asked: String,
    },
}

impl Name {
    /// Whether this is an address of Launchpad's, or one that only a merge proposal can have.
    pub fn is_meant(text: &str, service: &Service) -> bool {
        let address = text.trim().split(['?', '#']).next().unwrap_or_default();
        let Ok(url) = address.parse::<BaseUrl>() else { return false };
        let origin = url.origin();
        decoded(url.as_str()).contains("/+merge/")
            || service.is_at(&origin)
            || service.keeps_git_at(&origin)
            || Service::known_at(&origin).is_some()
            || Service::known_by_git_at(&origin)
    }

    /// The merge proposal at an address, of its page or of the web service. An address of another instance that is known leads to
    /// that one as long as `service` is production, said or not; any other is the only one.
    pub fn parse(text: &str, service: &Service) -> Result<Self, NameError> {
        let text = text.trim();
        if text.len() > ADDRESS_MAX {
            return Err(NameError::NoName);
        }
        let address = text.split(['?', '#']).next().unwrap_or(text);
        let url: BaseUrl = address.parse().map_err(|_| NameError::NoName)?;
        let origin = url.origin();
        let path = decoded(url.as_str().strip_prefix(&origin).unwrap_or_default());
        let is_git = service.keeps_git_at(&origin) || Service::known_by_git_at(&origin);
        if is_git && !service.is_at(&origin) {
            return Err(NameError::Repository);
        }
        let is_default = *service == Service::default();
        let service = match (service.is_at(&origin), is_default) {
            (true, _) => service.clone(),
            (false, true) => Service::known_at(&origin).ok_or(NameError::NoName)?,
            (false, false) => {
                let host = origin.split_once("://").map_or("", |(_, host)| host).to_owned();
                return Err(NameError::Elsewhere { host, asked: service.name().to_owned() });
            }
        };
        let path = path.trim_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let path = if VERSIONS.contains(&first) { rest } else { path };
        let (repository, rest) = path.split_once("/+merge/").ok_or(NameError::NoName)?;
        let number = rest.split('/').next().and_then(|number| number.parse().ok());
        let number = number.filter(|number| *number > 0).ok_or(NameError::Number)?;
        let parts: Vec<&str> = repository.split('/').collect();
        if !repository.starts_with('~') || !parts.iter().all(|part| is_plain(part)) {
            return Err(NameError::NoName);
        }
        match parts.iter().rev().nth(1) {
            Some(&"+git") => {}
            Some(_) | None => return Err(NameError::Bazaar),
        }
        Ok(Self { service, repository: repository.to_owned(), number })
    }

    /// Its path in the web service and among the pages.
    pub fn path(&self) -> String {
        format!("{}/+merge/{}", self.repository, self.number)
    }

    /// Where it can be looked at.
    pub fn url(&self) -> String {
        format!("{}/{}", self.service.code(), self.path())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

/// Whether this can be a part of a unique name: letters that need no encoding in an address.
pub(super) fn is_plain(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(is_plain_byte) && !matches!(part, "." | "..")
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+' | b'~')
}

/// An address without the encoding that it does not need: browsers and chats write `%7E` and `%2B`. What no name has stays as it
/// is, so that nothing becomes a slash, or a control character, and is refused with its percent sign.
fn decoded(address: &str) -> String {
    let mut decoded = String::with_capacity(address.len());
    let mut rest = address;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let digits =
            after.get(..2).filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|byte| is_plain_byte(*byte)) {
            Some(byte) => {
                decoded.push(char::from(byte));
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push('%');
                rest = after;
            }
        }
    }
    decoded + rest
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn shown(texts: &[&str], service: &Service) -> String {
        let line = |text: &&str| match Name::parse(text, service) {
            Ok(name) => format!("{text}: {name} at {}\n", name.service.api()),
            Err(error) => format!("{text}: {error}\n"),
        };
        texts.iter().map(line).collect()
    }

    #[test]
    fn a_proposal_is_named_by_its_page_or_by_the_web_service() {
        let lines = shown(
            &[
                "https://code.launchpad.net/~ann/shop/+git/shop/+merge/12",
                " https://code.launchpad.net/~ann/shop/+git/shop/+merge/12/ ",
                "https://code.launchpad.net/~ann/shop/+git/shop/+merge/12/comments/7#x",
                "https://api.launchpad.net/devel/~ann/ubuntu/+source/hello/+git/hello/+merge/12",
                "https://api.launchpad.net/1.0/~ann/+git/own/+merge/12",
                "https://code.staging.launchpad.net/~ann/shop/+git/shop/+merge/12",
                "https://code.launchpad.net/~ann/shop/trunk/+merge/12",
                "https://code.launchpad.net/~ann/shop/+git/shop",
                "https://code.launchpad.net/~ann/shop/+git/shop/+merge/x",
                "https://code.launchpad.net/~ann/../+git/shop/+merge/1",
                "https://evil.example/~ann/shop/+git/shop/+merge/12",
                "http://code.launchpad.net/~ann/shop/+git/shop/+merge/12",
                "12",
                "",
            ],
            &Service::default(),
        );
        expect![[r#"
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/12: ~ann/shop/+git/shop/+merge/12 at https://api.launchpad.net/devel
             https://code.launchpad.net/~ann/shop/+git/shop/+merge/12/ : ~ann/shop/+git/shop/+merge/12 at https://api.launchpad.net/devel
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/12/comments/7#x: ~ann/shop/+git/shop/+merge/12 at https://api.launchpad.net/devel
            https://api.launchpad.net/devel/~ann/ubuntu/+source/hello/+git/hello/+merge/12: ~ann/ubuntu/+source/hello/+git/hello/+merge/12 at https://api.launchpad.net/devel
            https://api.launchpad.net/1.0/~ann/+git/own/+merge/12: ~ann/+git/own/+merge/12 at https://api.launchpad.net/devel
            https://code.staging.launchpad.net/~ann/shop/+git/shop/+merge/12: ~ann/shop/+git/shop/+merge/12 at https://api.staging.launchpad.net/devel
            https://code.launchpad.net/~ann/shop/trunk/+merge/12: this is a merge proposal of a Bazaar branch, and only those of git are reviewed
            https://code.launchpad.net/~ann/shop/+git/shop: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/x: the address names no number of a merge proposal after `/+merge/`
            https://code.launchpad.net/~ann/../+git/shop/+merge/1: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
            https://evil.example/~ann/shop/+git/shop/+merge/12: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
            http://code.launchpad.net/~ann/shop/+git/shop/+merge/12: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
            12: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
            : a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`
        "#]].assert_eq(&lines);
    }

    #[test]
    fn an_address_may_be_encoded_and_hides_nothing_by_it() {
        for address in [
            "https://code.launchpad.net/%7Eann/shop/%2Bgit/shop/%2Bmerge/12",
            "https://code.launchpad.net/%7eann/shop/%2bgit/s%68op/%2bmerge/1%32/",
            "https://api.launchpad.net/devel/%7Eann/shop/+git/shop/+merge/12?x=%2f",
        ] {
            let name = Name::parse(address, &Service::default());
            let path = name.map(|name| name.path());
            assert_eq!(path, Ok("~ann/shop/+git/shop/+merge/12".to_owned()), "{address}");
        }
        for hostile in [
            "~ann%2fshop/+git/shop/+merge/12",
            "~ann/shop/+git/shop%2F+merge/12",
            "~ann/shop/+git/sh%00op/+merge/12",
            "~ann/shop/+git/shop%0a/+merge/12",
            "~ann/shop/+git/shop%0D%0AHost:x/+merge/12",
            "~ann/shop/+git/%ff%fe/+merge/12",
            "~ann/shop/+git/%C3%A9/+merge/12",
            "~ann/shop/+git/shop%252F/+merge/12",
            "~ann/shop/+git/%257E/+merge/12",
            "~ann/shop/+git/%/+merge/12",
            "~ann/shop/+git/%2/+merge/12",
            "~ann/shop/+git/%+1/+merge/12",
            "~ann/shop/+git/%é/+merge/12",
            "~ann/shop/+git/shop%3Fx/+merge/12",
            "~ann/shop/+git/shop%40/+merge/12",
            "~ann/shop/+git/shop/+merge/12%2f",
            "%2e%2e/shop/+git/shop/+merge/12",
        ] {
            let address = format!("https://code.launchpad.net/{hostile}");
            assert!(Name::parse(&address, &Service::default()).is_err(), "{hostile}");
        }
        let elsewhere = "https://lp.example/%7Eann/shop/%2Bgit/shop/%2Bmerge/1";
        assert!(Name::is_meant(elsewhere, &Service::default()));
    }

    #[test]
    fn the_address_of_a_repository_is_called_one() {
        let local = Service::named("http://127.0.0.1:5").unwrap();
        for (address, service) in [
            ("https://git.launchpad.net/~ann/shop/+git/shop", &Service::default()),
            ("https://git.launchpad.net/shop", &local),
            ("https://git.staging.launchpad.net/shop", &Service::default()),
        ] {
            assert!(Name::is_meant(address, service), "{address}");
            assert_eq!(Name::parse(address, service), Err(NameError::Repository), "{address}");
        }
        // A Launchpad on one host has its pages where its repositories are.
        let page = "http://127.0.0.1:5/~ann/shop/+git/shop/+merge/12";
        assert!(Name::parse(page, &local).is_ok());
    }

    #[test]
    fn an_address_of_launchpads_is_told_from_others() {
        let local = Service::named("http://127.0.0.1:5").unwrap();
        for (text, service, is_meant) in [
            ("https://code.launchpad.net/~ann/shop", &Service::default(), true),
            ("https://code.staging.launchpad.net/x", &local, true),
            ("http://127.0.0.1:5/x", &local, true),
            ("http://127.0.0.1:5/x", &Service::default(), false),
            ("https://lp.example/~ann/shop/+git/shop/+merge/1", &Service::default(), true),
            ("https://github.com/o/r/pull/1", &Service::default(), false),
            ("~ann/shop/+git/shop/+merge/1", &Service::default(), false),
            ("12", &Service::default(), false),
        ] {
            assert_eq!(Name::is_meant(text, service), is_meant, "{text}");
        }
    }

    #[test]
    fn a_service_that_was_asked_for_is_the_only_one() {
        let local = Service::named("http://127.0.0.1:5").unwrap();
        let lines = shown(
            &[
                "http://127.0.0.1:5/devel/~ann/shop/+git/shop/+merge/12",
                "http://127.0.0.1:5/~ann/shop/+git/shop/+merge/12",
                "http://127.0.0.1:6/~ann/shop/+git/shop/+merge/12",
                "https://code.launchpad.net/~ann/shop/+git/shop/+merge/12",
            ],
            &local,
        );
        expect![[r#"
            http://127.0.0.1:5/devel/~ann/shop/+git/shop/+merge/12: ~ann/shop/+git/shop/+merge/12 at http://127.0.0.1:5/devel
            http://127.0.0.1:5/~ann/shop/+git/shop/+merge/12: ~ann/shop/+git/shop/+merge/12 at http://127.0.0.1:5/devel
            http://127.0.0.1:6/~ann/shop/+git/shop/+merge/12: `127.0.0.1:6` is not a host of the Launchpad that is asked, `127.0.0.1:5`
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/12: `code.launchpad.net` is not a host of the Launchpad that is asked, `127.0.0.1:5`
        "#]].assert_eq(&lines);
    }
}
