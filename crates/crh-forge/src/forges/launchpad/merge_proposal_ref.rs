//! Parses addresses of merge proposals.

use std::fmt;

use thiserror::Error;

use super::LaunchpadService;
use crh_http::BaseUrl;

/// Longest address, in bytes. Addresses of proposals have about a hundred.
const ADDRESS_MAX: usize = 1_000;

/// Versions of the web service that an address may name. crh ignores them and always uses `devel`.
const VERSIONS: [&str; 3] = ["devel", "1.0", "beta"];

/// A merge proposal on a Launchpad server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeProposalRef {
    /// The Launchpad server.
    pub service: LaunchpadService,
    /// Unique name of the source repository, such as `~ann/shop/+git/shop`.
    pub repository: String,
    /// Number.
    pub number: u64,
}

/// Why an address is not a merge proposal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeProposalRefError {
    /// No known form.
    #[error(
        "not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`"
    )]
    UnknownForm,
    /// A merge proposal of Bazaar branches.
    #[error("this is a merge proposal of a Bazaar branch; crh reviews only git branches")]
    Bazaar,
    /// The address of a git repository.
    #[error("this is the address of a repository, not of a merge proposal")]
    Repository,
    /// Invalid number.
    #[error("the address has no merge proposal number after `/+merge/`")]
    Number,
    /// The address of another Launchpad server than the configured one.
    #[error("`{host}` does not belong to the configured Launchpad, `{configured}`")]
    OtherService {
        /// Host of the address.
        host: String,
        /// Name of the configured server.
        configured: String,
    },
}

impl MergeProposalRef {
    /// Whether the text is an address on the configured or a known Launchpad server, or another
    /// address that contains `/+merge/`, as only those of merge proposals do.
    pub fn is_launchpad_url(text: &str, service: &LaunchpadService) -> bool {
        let address = text.trim().split(['?', '#']).next().unwrap_or_default();
        let Ok(url) = address.parse::<BaseUrl>() else { return false };
        let origin = url.origin();
        percent_decode(url.as_str()).contains("/+merge/")
            || service.has_origin(&origin)
            || service.has_git_origin(&origin)
            || LaunchpadService::find_by_origin(&origin).is_some()
            || LaunchpadService::is_known_git_origin(&origin)
    }

    /// Parses an address of a page or of the web service. If `service` is production, addresses of
    /// other known instances are accepted, too.
    pub fn parse(text: &str, service: &LaunchpadService) -> Result<Self, MergeProposalRefError> {
        let text = text.trim();
        if text.len() > ADDRESS_MAX {
            return Err(MergeProposalRefError::UnknownForm);
        }
        let address = text.split(['?', '#']).next().unwrap_or(text);
        let url: BaseUrl = address.parse().map_err(|_| MergeProposalRefError::UnknownForm)?;
        let origin = url.origin();
        let path = percent_decode(url.as_str().strip_prefix(&origin).unwrap_or_default());
        let is_git =
            service.has_git_origin(&origin) || LaunchpadService::is_known_git_origin(&origin);
        if is_git && !service.has_origin(&origin) {
            return Err(MergeProposalRefError::Repository);
        }
        let is_default = *service == LaunchpadService::default();
        let service = match (service.has_origin(&origin), is_default) {
            (true, _) => service.clone(),
            (false, true) => LaunchpadService::find_by_origin(&origin)
                .ok_or(MergeProposalRefError::UnknownForm)?,
            (false, false) => {
                let host = origin.split_once("://").map_or("", |(_, host)| host).to_owned();
                return Err(MergeProposalRefError::OtherService {
                    host,
                    configured: service.name().to_owned(),
                });
            }
        };
        let path = path.trim_matches('/');
        let (first_segment, rest) = path.split_once('/').unwrap_or((path, ""));
        let path = if VERSIONS.contains(&first_segment) { rest } else { path };
        let (repository, rest) =
            path.split_once("/+merge/").ok_or(MergeProposalRefError::UnknownForm)?;
        let number = rest.split('/').next().and_then(|number| number.parse().ok());
        let number = number.filter(|number| *number > 0).ok_or(MergeProposalRefError::Number)?;
        let parts: Vec<&str> = repository.split('/').collect();
        if !repository.starts_with('~') || !parts.iter().all(|part| is_plain(part)) {
            return Err(MergeProposalRefError::UnknownForm);
        }
        match parts.iter().rev().nth(1) {
            Some(&"+git") => {}
            Some(_) | None => return Err(MergeProposalRefError::Bazaar),
        }
        Ok(Self { service, repository: repository.to_owned(), number })
    }

    /// Path in the web service and on the web site.
    pub fn path(&self) -> String {
        format!("{}/+merge/{}", self.repository, self.number)
    }

    /// Web address.
    pub fn url(&self) -> String {
        format!("{}/{}", self.service.code(), self.path())
    }
}

impl fmt::Display for MergeProposalRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

/// Whether the text can be a segment of a unique name. Allows only characters that need no
/// encoding.
pub(super) fn is_plain(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(is_plain_byte) && !matches!(part, "." | "..")
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+' | b'~')
}

/// Decodes unnecessary percent-encoding, such as `%7E` and `%2B` from browsers. Other sequences
/// stay and are rejected later, so that nothing becomes a slash or a control character.
fn percent_decode(address: &str) -> String {
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

    fn parse_all(texts: &[&str], service: &LaunchpadService) -> String {
        let line = |text: &&str| match MergeProposalRef::parse(text, service) {
            Ok(name) => format!("{text}: {name} at {}\n", name.service.api()),
            Err(error) => format!("{text}: {error}\n"),
        };
        texts.iter().map(line).collect()
    }

    #[test]
    fn parses_page_and_web_service_addresses() {
        let lines = parse_all(
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
            &LaunchpadService::default(),
        );
        expect![[r#"
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/12: ~ann/shop/+git/shop/+merge/12 at https://api.launchpad.net/devel
             https://code.launchpad.net/~ann/shop/+git/shop/+merge/12/ : ~ann/shop/+git/shop/+merge/12 at https://api.launchpad.net/devel
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/12/comments/7#x: ~ann/shop/+git/shop/+merge/12 at https://api.launchpad.net/devel
            https://api.launchpad.net/devel/~ann/ubuntu/+source/hello/+git/hello/+merge/12: ~ann/ubuntu/+source/hello/+git/hello/+merge/12 at https://api.launchpad.net/devel
            https://api.launchpad.net/1.0/~ann/+git/own/+merge/12: ~ann/+git/own/+merge/12 at https://api.launchpad.net/devel
            https://code.staging.launchpad.net/~ann/shop/+git/shop/+merge/12: ~ann/shop/+git/shop/+merge/12 at https://api.staging.launchpad.net/devel
            https://code.launchpad.net/~ann/shop/trunk/+merge/12: this is a merge proposal of a Bazaar branch; crh reviews only git branches
            https://code.launchpad.net/~ann/shop/+git/shop: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/x: the address has no merge proposal number after `/+merge/`
            https://code.launchpad.net/~ann/../+git/shop/+merge/1: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
            https://evil.example/~ann/shop/+git/shop/+merge/12: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
            http://code.launchpad.net/~ann/shop/+git/shop/+merge/12: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
            12: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
            : not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
        "#]].assert_eq(&lines);
    }

    #[test]
    fn decodes_only_safe_percent_encoding() {
        for address in [
            "https://code.launchpad.net/%7Eann/shop/%2Bgit/shop/%2Bmerge/12",
            "https://code.launchpad.net/%7eann/shop/%2bgit/s%68op/%2bmerge/1%32/",
            "https://api.launchpad.net/devel/%7Eann/shop/+git/shop/+merge/12?x=%2f",
        ] {
            let name = MergeProposalRef::parse(address, &LaunchpadService::default());
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
            assert!(
                MergeProposalRef::parse(&address, &LaunchpadService::default()).is_err(),
                "{hostile}"
            );
        }
        let elsewhere = "https://lp.example/%7Eann/shop/%2Bgit/shop/%2Bmerge/1";
        assert!(MergeProposalRef::is_launchpad_url(elsewhere, &LaunchpadService::default()));
    }

    #[test]
    fn git_repository_address_is_rejected_with_own_error() {
        let local = LaunchpadService::parse("http://127.0.0.1:5").unwrap();
        for (address, service) in [
            ("https://git.launchpad.net/~ann/shop/+git/shop", &LaunchpadService::default()),
            ("https://git.launchpad.net/shop", &local),
            ("https://git.staging.launchpad.net/shop", &LaunchpadService::default()),
        ] {
            assert!(MergeProposalRef::is_launchpad_url(address, service), "{address}");
            assert_eq!(
                MergeProposalRef::parse(address, service),
                Err(MergeProposalRefError::Repository),
                "{address}"
            );
        }
        // A Launchpad on one host has pages and repositories at the same address.
        let page = "http://127.0.0.1:5/~ann/shop/+git/shop/+merge/12";
        assert!(MergeProposalRef::parse(page, &local).is_ok());
    }

    #[test]
    fn recognises_launchpad_addresses() {
        let local = LaunchpadService::parse("http://127.0.0.1:5").unwrap();
        for (text, service, expected) in [
            ("https://code.launchpad.net/~ann/shop", &LaunchpadService::default(), true),
            ("https://code.staging.launchpad.net/x", &local, true),
            ("http://127.0.0.1:5/x", &local, true),
            ("http://127.0.0.1:5/x", &LaunchpadService::default(), false),
            ("https://lp.example/~ann/shop/+git/shop/+merge/1", &LaunchpadService::default(), true),
            ("https://github.com/o/r/pull/1", &LaunchpadService::default(), false),
            ("~ann/shop/+git/shop/+merge/1", &LaunchpadService::default(), false),
            ("12", &LaunchpadService::default(), false),
        ] {
            assert_eq!(MergeProposalRef::is_launchpad_url(text, service), expected, "{text}");
        }
    }

    #[test]
    fn configured_service_excludes_others() {
        let local = LaunchpadService::parse("http://127.0.0.1:5").unwrap();
        let lines = parse_all(
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
            http://127.0.0.1:6/~ann/shop/+git/shop/+merge/12: `127.0.0.1:6` does not belong to the configured Launchpad, `127.0.0.1:5`
            https://code.launchpad.net/~ann/shop/+git/shop/+merge/12: `code.launchpad.net` does not belong to the configured Launchpad, `127.0.0.1:5`
        "#]].assert_eq(&lines);
    }
}
