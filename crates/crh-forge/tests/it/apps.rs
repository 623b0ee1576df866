//! A GitHub App exchanges a signed JWT for a token.

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::scene::{INSTANCE, Scene};
use crh_forge::ForgeError;
use crh_forge::github::{
    GitHubApp, GitHubAppError, GitHubClient, GitHubCredentials, ReplyCache, Repo, read,
};
use crh_testkit::fake_github::{APP_KEY, Permission};

fn app(id: u64, repo: &str) -> Result<GitHubCredentials, GitHubAppError> {
    let repo = Repo::parse(repo).unwrap();
    let app = GitHubApp::new(&id.to_string(), &SecretString::from(APP_KEY), repo)?;
    Ok(GitHubCredentials::App(Box::new(app)))
}

fn client(scene: &Scene, id: u64) -> GitHubClient {
    scene.client_with(ReplyCache::disabled(), app(id, "acme/shop").unwrap())
}

fn token_request_count(scene: &Scene) -> usize {
    scene.requests().iter().filter(|request| request.contains("/access_tokens")).count()
}

#[tokio::test]
async fn app_reuses_token_until_it_expires() {
    let scene = Scene::new();
    let id = scene.github.app("reviews", "acme", &Permission::ALL);
    let client = client(&scene, id);
    let (_, proposal_state) =
        read::pull_request(&client, &scene.pull_ref(), INSTANCE).await.unwrap();
    assert_eq!(proposal_state.viewer_login(), Some("reviews[bot]"));
    assert_eq!(token_request_count(&scene), 1);
    scene.github.end_tokens();
    let (_, proposal_state) =
        read::pull_request(&client, &scene.pull_ref(), INSTANCE).await.unwrap();
    assert_eq!(proposal_state.viewer_login(), Some("reviews[bot]"));
    assert_eq!(token_request_count(&scene), 2);
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
}

#[tokio::test]
async fn app_token_has_minimal_permissions() {
    for (granted_permissions, expected) in [
        (
            &Permission::ALL[..],
            json!({
                "checks": "write", "contents": "write", "issues": "write", "metadata": "read",
                "pull_requests": "write", "security_events": "write", "statuses": "read",
            }),
        ),
        (
            &[Permission::Contents, Permission::WritePulls],
            json!({ "contents": "read", "metadata": "read", "pull_requests": "write" }),
        ),
    ] {
        let scene = Scene::new();
        let id = scene.github.app("reviews", "acme", granted_permissions);
        let token = client(&scene, id).git_token().await.unwrap();
        assert!(token.expose_secret().starts_with("ghs_"));
        let token_request = scene.github.requests().pop().unwrap();
        assert!(token_request.path.ends_with("/access_tokens"), "{}", token_request.path);
        assert_eq!(
            token_request.body,
            json!({ "repositories": ["shop"], "permissions": expected })
        );
    }
}

#[tokio::test]
async fn app_without_installation_gets_no_token() {
    let scene = Scene::new();
    let id = scene.github.app("reviews", "other-owner", &Permission::ALL);
    let error =
        read::pull_request(&client(&scene, id), &scene.pull_ref(), INSTANCE).await.unwrap_err();
    let request = "GET /repos/acme/shop/installation".to_owned();
    assert_eq!(error, ForgeError::NotFound { request });
    let error =
        read::pull_request(&client(&scene, 999), &scene.pull_ref(), INSTANCE).await.unwrap_err();
    assert!(matches!(error, ForgeError::BadToken { .. }), "{error}");
    assert_eq!(token_request_count(&scene), 0);
}

#[test]
fn invalid_app_is_rejected_without_showing_key() {
    let repo = || Repo::parse("acme/shop").unwrap();
    for (id, key, expected) in [
        ("", APP_KEY, GitHubAppError::Id),
        ("1 2", APP_KEY, GitHubAppError::Id),
        ("1", "", GitHubAppError::Key),
        (
            "1",
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
            GitHubAppError::Key,
        ),
    ] {
        let error = GitHubApp::new(id, &SecretString::from(key), repo()).unwrap_err();
        assert_eq!(error, expected, "{id}");
    }
    let debug_text = format!("{:?}", app(7, "acme/shop").unwrap());
    assert_eq!(
        debug_text,
        r#"App(App { id: "7", repo: Repo { owner: "acme", name: "shop" }, .. })"#
    );
}
