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
    let name = PullRequestRef::parse("octocat/Hello-World#1", &host, None).unwrap();
    let setup = GitHubClientConfig {
        host,
        credentials: GitHubCredentials::Token(token.into()),
        cache: ReplyCache::disabled(),
        retry: ForgeRetryPolicy::default(),
        now,
        seed: 1,
    };
    let client = GitHubClient::new(&NetworkSettings::default(), setup).unwrap();
    let (proposal, standing) = read::pull_request(&client, &name, INSTANCE).await.unwrap();
    assert_eq!((proposal.repo.as_str(), proposal.number.as_str()), ("octocat/Hello-World", "1"));
    assert_eq!(proposal.source.commit, standing.pull.head);
    assert!(!standing.files.is_empty() && !standing.viewer.login.is_empty());
    assert!(!client.limits().is_empty());
}
