//! The real GitHub: `GITHUB_TOKEN=… cargo test -p crh-forge -- --ignored`.

use crate::scene::{INSTANCE, now};
use crh_forge::ForgeRetryPolicy;
use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost, PullRequestRef, ReplyCache,
    read,
};
use crh_http::NetworkSettings;

#[tokio::test]
#[ignore = "asks github.com with the token in the environment"]
#[expect(clippy::disallowed_methods, reason = "a test is asked for by a variable")]
async fn public_pull_request_is_read() {
    let token = std::env::var("GITHUB_TOKEN").unwrap();
    let host = GitHubHost::default();
    let pull_ref = PullRequestRef::parse("octocat/Hello-World#1", &host, None).unwrap();
    let config = GitHubClientConfig {
        host,
        credentials: GitHubCredentials::Token(token.into()),
        cache: ReplyCache::disabled(),
        retry: ForgeRetryPolicy::default(),
        now,
        seed: 1,
    };
    let client = GitHubClient::new(&NetworkSettings::default(), config).unwrap();
    let (proposal, proposal_state) =
        read::pull_request(&client, &pull_ref, INSTANCE).await.unwrap();
    assert_eq!((proposal.repo.as_str(), proposal.number.as_str()), ("octocat/Hello-World", "1"));
    assert_eq!(proposal.source.commit, proposal_state.properties.head);
    assert!(!proposal_state.files.is_empty() && proposal_state.viewer.is_some());
    assert!(!client.limits().is_empty());
}
