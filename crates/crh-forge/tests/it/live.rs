//! The real GitHub, if it is asked for: `GITHUB_TOKEN=… cargo test -p crh-forge -- --ignored`.

use crate::scene::{INSTANCE, now};
use crh_forge::RetryPolicy;
use crh_forge::github::{Cache, Client, Credentials, Host, Name, Setup, read};
use crh_http::Network;

#[tokio::test]
#[ignore = "asks github.com with the token in the environment"]
#[expect(clippy::disallowed_methods, reason = "a test is asked for by a variable")]
async fn a_public_pull_request_is_read() {
    let token = std::env::var("GITHUB_TOKEN").unwrap();
    let host = Host::default();
    let name = Name::parse("octocat/Hello-World#1", &host, None).unwrap();
    let setup = Setup {
        host,
        credentials: Credentials::Token(token.into()),
        cache: Cache::none(),
        retry: RetryPolicy::default(),
        now,
        seed: 1,
    };
    let client = Client::new(&Network::default(), setup).unwrap();
    let (proposal, standing) = read::proposal(&client, &name, INSTANCE).await.unwrap();
    assert_eq!((proposal.repo.as_str(), proposal.number.as_str()), ("octocat/Hello-World", "1"));
    assert_eq!(proposal.source.commit, standing.pull.head);
    assert!(!standing.files.is_empty() && !standing.viewer.login.is_empty());
    assert!(!client.limits().is_empty());
}
