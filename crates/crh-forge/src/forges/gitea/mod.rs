//! Gitea and Forgejo: pull requests.

mod logins;
mod post;
mod read;
mod serving;

use futures_util::future::BoxFuture;

use crate::posting::{ForgeRequest, PostingWrite, ProposalState, ReviewPosting, WriteAnswer};
use crate::rest::{
    RestChangeRef, RestClient, RestForge, RestProfile, WebhookProof, is_repository_path,
};
use crate::{ChangeProposal, ForgeError, ForgeName};

/// Gitea and Forgejo.
#[derive(Debug)]
pub struct Gitea;

/// Whether an account belongs to a program, judged by its name: that of Actions, or one that ends
/// with `[bot]`. Programs with other names count as people.
fn is_program(login: &str) -> bool {
    let login = login.to_ascii_lowercase();
    login.ends_with("[bot]") || ["gitea-actions", "forgejo-actions"].contains(&login.as_str())
}

const PROFILE: RestProfile = RestProfile {
    api: "/api/v1",
    page_size_name: "limit",
    public_server: "https://codeberg.org",
    host_words: &["codeberg", "gitea", "forgejo"],
    web_mark: "/pulls/",
    api_mark: "/pulls/",
    head_refs: "refs/pull",
    reference_forms: "an address such as `https://codeberg.org/owner/name/pulls/12`",
    reference_hint: "pass its address, or `N` inside a clone",
    server_variables: &["GITEA_SERVER_URL", "FORGEJO_SERVER_URL"],
    token_variables: &["GITEA_TOKEN", "FORGEJO_TOKEN"],
    token_prefix: "token ",
    permissions: "reading needs the scopes `read:repository`, `read:issue` and `read:user`, posting `write:repository` and `write:issue`",
    fetch_hint: "the token needs the scope `read:repository`",
    proof: WebhookProof::HexSignature(&["x-gitea-signature", "x-forgejo-signature"]),
    event_headers: &["x-gitea-event", "x-forgejo-event"],
    id_headers: &["x-gitea-delivery", "x-forgejo-delivery"],
};

impl RestForge for Gitea {
    fn name(&self) -> ForgeName {
        ForgeName::Gitea
    }

    fn rest_profile(&self) -> &'static RestProfile {
        &PROFILE
    }

    fn repository_path(&self, repository: &str) -> String {
        format!("/repos/{repository}")
    }

    fn is_repository(&self, path: &str) -> bool {
        path.split('/').count() == 2 && is_repository_path(path)
    }

    fn read<'a>(
        &'a self,
        client: &'a RestClient,
        change: &'a RestChangeRef,
        instance: &'a str,
    ) -> BoxFuture<'a, Result<(ChangeProposal, ProposalState), ForgeError>> {
        Box::pin(read::pull_request(client, change, instance))
    }

    fn find_open_change<'a>(
        &'a self,
        client: &'a RestClient,
        target: &'a str,
        branch: (&'a str, &'a str),
    ) -> BoxFuture<'a, Result<Option<u64>, ForgeError>> {
        Box::pin(read::open_pull_of_branch(client, target, branch))
    }

    fn status_request<'a>(
        &'a self,
        client: &'a RestClient,
        change: &'a RestChangeRef,
        posting: &'a ReviewPosting<'_>,
    ) -> BoxFuture<'a, Result<Option<ForgeRequest>, ForgeError>> {
        Box::pin(post::status_request(client, change, posting))
    }

    fn classify_error(&self, error: &ForgeError, write: &PostingWrite) -> WriteAnswer {
        post::classify_error(error, write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let below_path = PROFILE.host("https://forge.example/gitea").unwrap();
        for (url, expected) in [
            ("https://codeberg.org/ann/shop/pulls/12/files#x", Some("codeberg.org ann/shop 12")),
            (
                "https://forge.example/gitea/ann/shop/pulls/1",
                Some("forge.example/gitea ann/shop 1"),
            ),
            ("https://codeberg.org/ann/shop/pull/12", None),
            ("https://codeberg.org/ann/pulls/12", None),
            ("http://codeberg.org/ann/shop/pulls/12", None),
            ("https://codeberg.org/ann/shop/pulls/x", None),
        ] {
            let parsed = RestChangeRef::parse(&Gitea, url, Some(&below_path), None).ok();
            let parsed =
                parsed.map(|it| format!("{} {} {}", it.host.name(), it.repository, it.number));
            assert_eq!(parsed.as_deref(), expected, "{url}");
        }
    }
}
