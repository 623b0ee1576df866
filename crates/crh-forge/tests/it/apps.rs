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

fn tokens(scene: &Scene) -> usize {
    scene.requests().iter().filter(|request| request.contains("/access_tokens")).count()
}

#[tokio::test]
async fn app_reuses_token_until_it_expires() {
    let scene = Scene::new();
    let id = scene.github.app("reviews", "acme", &Permission::ALL);
    let client = client(&scene, id);
    let (_, standing) = read::pull_request(&client, &scene.name(), INSTANCE).await.unwrap();
    assert_eq!(standing.viewer.login, "reviews[bot]");
    assert_eq!(tokens(&scene), 1);
    scene.github.end_tokens();
    let (_, standing) = read::pull_request(&client, &scene.name(), INSTANCE).await.unwrap();
    assert_eq!(standing.viewer.login, "reviews[bot]");
    assert_eq!(tokens(&scene), 2);
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
}

#[tokio::test]
async fn app_token_has_minimal_permissions() {
    for (given, expected) in [
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
        let id = scene.github.app("reviews", "acme", given);
        let token = client(&scene, id).git_token().await.unwrap();
        assert!(token.expose_secret().starts_with("ghs_"));
        let asked = scene.github.requests().pop().unwrap();
        assert!(asked.path.ends_with("/access_tokens"), "{}", asked.path);
        assert_eq!(asked.body, json!({ "repositories": ["shop"], "permissions": expected }));
    }
}

#[tokio::test]
async fn app_without_installation_gets_no_token() {
    let scene = Scene::new();
    let id = scene.github.app("reviews", "other-owner", &Permission::ALL);
    let error = read::pull_request(&client(&scene, id), &scene.name(), INSTANCE).await.unwrap_err();
    let request = "GET /repos/acme/shop/installation".to_owned();
    assert_eq!(error, ForgeError::NotFound { request });
    let error =
        read::pull_request(&client(&scene, 999), &scene.name(), INSTANCE).await.unwrap_err();
    assert!(matches!(error, ForgeError::BadToken { .. }), "{error}");
    assert_eq!(tokens(&scene), 0);
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
        let refused = GitHubApp::new(id, &SecretString::from(key), repo()).unwrap_err();
        assert_eq!(refused, expected, "{id}");
    }
    let shown = format!("{:?}", app(7, "acme/shop").unwrap());
    assert_eq!(shown, r#"App(App { id: "7", repo: Repo { owner: "acme", name: "shop" }, .. })"#);
}
