//! GitLab, gitlab.com and self-managed: merge requests.

mod logins;
mod post;
mod read;
mod serving;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::posting::{
    ForgeRequest, PostingWrite, ProposalState, ReviewPosting, WriteAnswer, WriteKind,
};
use crate::rest::{
    RestChangeRef, RestClient, RestForge, RestProfile, WebhookProof, split_reference,
};
use crate::{ChangeProposal, ForgeError, ForgeName};

/// GitLab.
#[derive(Debug)]
pub struct GitLab;

/// Variables with a token: of the user, and of the CI job.
const TOKENS: [&str; 2] = ["GITLAB_TOKEN", "CI_JOB_TOKEN"];

/// Whether the name is one that GitLab gives to accounts of programs: access tokens, such as
/// `project_7_bot_0a1b`, service accounts, and GitLab Duo.
fn is_program(username: &str) -> bool {
    let is_token = ["project_", "group_"].iter().any(|prefix| username.starts_with(prefix));
    (is_token && username.contains("_bot"))
        || username.starts_with("service_account_")
        || username == "GitLabDuo"
}

const PROFILE: RestProfile = RestProfile {
    api: "/api/v4",
    page_size_name: "per_page",
    public_server: "https://gitlab.com",
    host_words: &["gitlab"],
    web_mark: "/-/merge_requests/",
    api_mark: "/merge_requests/",
    head_refs: "refs/merge-requests",
    reference_forms: "its address, `GROUP/NAME!12`, or `!12` inside a clone",
    reference_hint: "pass its address, `GROUP/NAME!N`, or `!N` inside a clone",
    // Two variables of the user, which `glab` reads, too, and one of the CI job.
    server_variables: &["GITLAB_HOST", "GITLAB_URI", "CI_SERVER_URL"],
    token_variables: &TOKENS,
    token_prefix: "Bearer ",
    permissions: "reading needs the scope `read_api`, posting the scope `api` and at least the role Reporter; job tokens cannot post",
    fetch_hint: "the token needs the scope `read_repository` or `api`",
    proof: WebhookProof::SecretOrStandardSignature("x-gitlab-token"),
    event_headers: &["x-gitlab-event"],
    id_headers: &["webhook-id", "idempotency-key", "x-gitlab-event-uuid"],
};

impl RestForge for GitLab {
    fn name(&self) -> ForgeName {
        ForgeName::GitLab
    }

    fn rest_profile(&self) -> &'static RestProfile {
        &PROFILE
    }

    fn repository_path(&self, repository: &str) -> String {
        format!("/projects/{}", repository.replace('/', "%2F"))
    }

    /// `GROUP/NAME!12` or `!12`.
    fn split_short_name<'t>(&self, text: &'t str) -> Option<(&'t str, u64)> {
        split_reference(text, '!').filter(|(path, _)| path.is_empty() || path.contains('/'))
    }

    fn read<'a>(
        &'a self,
        client: &'a RestClient,
        change: &'a RestChangeRef,
        instance: &'a str,
    ) -> BoxFuture<'a, Result<(ChangeProposal, ProposalState), ForgeError>> {
        Box::pin(read::merge_request(client, change, instance))
    }

    fn find_open_change<'a>(
        &'a self,
        client: &'a RestClient,
        target: &'a str,
        branch: (&'a str, &'a str),
    ) -> BoxFuture<'a, Result<Option<u64>, ForgeError>> {
        Box::pin(read::open_merge_request_of_branch(client, target, branch))
    }

    fn status_request<'a>(
        &'a self,
        client: &'a RestClient,
        change: &'a RestChangeRef,
        posting: &'a ReviewPosting<'_>,
    ) -> BoxFuture<'a, Result<Option<ForgeRequest>, ForgeError>> {
        Box::pin(post::status_request(client, change, posting))
    }

    fn classify_error(&self, error: &ForgeError, _: &PostingWrite) -> WriteAnswer {
        post::classify_error(error)
    }

    fn written_url(
        &self,
        reply: &Value,
        write: &PostingWrite,
        change: &RestChangeRef,
    ) -> Option<String> {
        let is_summary =
            matches!(write.kind, WriteKind::NewSummary { .. } | WriteKind::Summary { .. });
        let id = reply["id"].as_u64().filter(|_| is_summary)?;
        Some(format!("{}#note_{id}", change.url()))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::rest::is_rest_reference;

    #[test]
    fn references_of_gitlab_are_recognised() {
        for (text, expected) in [
            ("https://gitlab.com/a/b/-/merge_requests/1", true),
            ("a/b/c!12", true),
            ("!12", true),
            ("https://github.com/a/b/pull/1", false),
            ("a/b#12", false),
            ("branch!12", false),
            ("a/b!x", false),
        ] {
            assert_eq!(is_rest_reference(&GitLab, text), expected, "{text}");
        }
    }

    #[test]
    fn references_in_all_forms_are_parsed() {
        let below_path = PROFILE.host("https://forge.example/gitlab").unwrap();
        let clone = (PROFILE.host(PROFILE.public_server).unwrap(), "acme/shop".to_owned());
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
            let parsed = RestChangeRef::parse(&GitLab, text, Some(&below_path), Some(&clone));
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
        let outside = RestChangeRef::parse(&GitLab, "!3", Some(&below_path), None).unwrap_err();
        assert_eq!(outside.to_string(), "`!3` needs a clone of a GitLab project");
    }
}
