//! Reference to a merge request: an address, `GROUP/SUB/NAME!N`, or `!N` inside a clone.

use thiserror::Error;

use super::host;
use crate::rest::{RestHost, RestHostError, is_repository_path, parse_number, split_reference};

/// Part of an address between project and number.
const PATH_MARK: &str = "/-/merge_requests/";

/// A merge request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequestRef {
    /// The GitLab server.
    pub host: RestHost,
    /// Path of the project, with groups.
    pub project: String,
    /// Number in the project.
    pub number: u64,
}

/// Why a text is no merge request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeRequestRefError {
    /// Unknown form.
    #[error("not a merge request: expected its address, `GROUP/NAME!12`, or `!12` inside a clone")]
    UnknownForm,
    /// `!N` outside a clone.
    #[error("`!{0}` needs a clone of a GitLab project")]
    NoProject(u64),
    /// Bad server address.
    #[error(transparent)]
    Host(#[from] RestHostError),
}

impl MergeRequestRef {
    /// Parses a reference. `default` is the configured server; `clone` is the project of the current
    /// folder with its server.
    pub fn parse(
        text: &str,
        default: &RestHost,
        clone: Option<&(RestHost, String)>,
    ) -> Result<Self, MergeRequestRefError> {
        if text.contains("://") {
            return Self::parse_url(text, default);
        }
        let (path, number) = split_reference(text, '!').ok_or(MergeRequestRefError::UnknownForm)?;
        let (host, project) = match (path, clone) {
            ("", Some((host, project))) => (host.clone(), project.clone()),
            ("", None) => return Err(MergeRequestRefError::NoProject(number)),
            (path, _) => (default.clone(), path.to_owned()),
        };
        Self { host, project, number }.checked()
    }

    fn parse_url(url: &str, default: &RestHost) -> Result<Self, MergeRequestRefError> {
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let (project_url, rest) =
            url.split_once(PATH_MARK).ok_or(MergeRequestRefError::UnknownForm)?;
        let number = rest.split('/').next().and_then(parse_number);
        let number = number.ok_or(MergeRequestRefError::UnknownForm)?;
        if let Some(project) = default.path(project_url) {
            return Self { host: default.clone(), project: project.to_owned(), number }.checked();
        }
        // Another server: only a configured one can be below a path.
        let (scheme, rest) =
            project_url.split_once("://").ok_or(MergeRequestRefError::UnknownForm)?;
        let (authority, project) = rest.split_once('/').ok_or(MergeRequestRefError::UnknownForm)?;
        let host = host(&format!("{scheme}://{authority}"))?;
        Self { host, project: project.to_owned(), number }.checked()
    }

    fn checked(self) -> Result<Self, MergeRequestRefError> {
        match is_repository_path(&self.project) {
            true => Ok(self),
            false => Err(MergeRequestRefError::UnknownForm),
        }
    }

    /// Web address.
    pub fn url(&self) -> String {
        format!("{}/{}{PATH_MARK}{}", self.host.web(), self.project, self.number)
    }

    /// Address to fetch the project from with git.
    pub fn git_url(&self, project: &str) -> String {
        format!("{}/{project}.git", self.host.web())
    }

    /// Path in the API.
    pub(super) fn api_path(&self) -> String {
        format!("{}/merge_requests/{}", self.project_path(), self.number)
    }

    /// Path of the project in the API.
    pub(super) fn project_path(&self) -> String {
        format!("/projects/{}", self.project.replace('/', "%2F"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::gitlab::GITLAB_COM;

    #[test]
    fn references_in_all_forms_are_parsed() {
        let below_path = host("https://forge.example/gitlab").unwrap();
        let clone = (host(GITLAB_COM).unwrap(), "acme/shop".to_owned());
        let mut lines = String::new();
        for text in [
            "https://gitlab.com/acme/web/shop/-/merge_requests/12/diffs?x=1#note_3",
            "https://forge.example/gitlab/acme/shop/-/merge_requests/12",
            "https://git.corp:8443/acme/shop/-/merge_requests/7",
            "acme/web/shop!3",
            "!3",
            "http://gitlab.com/a/b/-/merge_requests/1",
            "https://gitlab.com/a/b/merge_requests/1",
            "https://gitlab.com/a/../-/merge_requests/1",
            "acme/shop!0",
            "shop!1",
        ] {
            let parsed = MergeRequestRef::parse(text, &below_path, Some(&clone));
            let line = match parsed {
                Ok(parsed) => format!("{} {}", parsed.url(), parsed.api_path()),
                Err(error) => error.to_string(),
            };
            lines += &format!("{line}\n");
        }
        expect![[r#"
            https://gitlab.com/acme/web/shop/-/merge_requests/12 /projects/acme%2Fweb%2Fshop/merge_requests/12
            https://forge.example/gitlab/acme/shop/-/merge_requests/12 /projects/acme%2Fshop/merge_requests/12
            https://git.corp:8443/acme/shop/-/merge_requests/7 /projects/acme%2Fshop/merge_requests/7
            https://forge.example/gitlab/acme/web/shop/-/merge_requests/3 /projects/acme%2Fweb%2Fshop/merge_requests/3
            https://gitlab.com/acme/shop/-/merge_requests/3 /projects/acme%2Fshop/merge_requests/3
            the address is not `https`; the token would be sent unencrypted
            not a merge request: expected its address, `GROUP/NAME!12`, or `!12` inside a clone
            not a merge request: expected its address, `GROUP/NAME!12`, or `!12` inside a clone
            not a merge request: expected its address, `GROUP/NAME!12`, or `!12` inside a clone
            not a merge request: expected its address, `GROUP/NAME!12`, or `!12` inside a clone
        "#]]
        .assert_eq(&lines);
        let outside = MergeRequestRef::parse("!3", &below_path, None);
        assert_eq!(outside, Err(MergeRequestRefError::NoProject(3)));
    }
}
