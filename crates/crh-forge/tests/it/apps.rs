//! A GitHub App: a claim signed with its key becomes a token of an hour.

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::scene::{INSTANCE, Scene};
use crh_forge::ForgeError;
use crh_forge::github::{App, AppError, Cache, Client, Credentials, Repo, read};
use crh_testkit::fake_github::{APP_KEY, Permission};

fn app(id: u64, repo: &str) -> Result<Credentials, AppError> {
    let repo = Repo::parse(repo).unwrap();
    let app = App::new(&id.to_string(), &SecretString::from(APP_KEY), repo)?;
    Ok(Credentials::App(Box::new(app)))
}

fn client(scene: &Scene, id: u64) -> Client {
    scene.client_with(Cache::none(), app(id, "acme/shop").unwrap())
}

fn tokens(scene: &Scene) -> usize {
    scene.requests().iter().filter(|request| request.contains("/access_tokens")).count()
}

#[tokio::test]
async fn an_app_gets_one_token_for_a_whole_burst_and_another_when_that_ends() {
    let scene = Scene::new();
    let id = scene.github.app("reviews", "acme", &Permission::ALL);
    let client = client(&scene, id);
    let (_, standing) = read::proposal(&client, &scene.name(), INSTANCE).await.unwrap();
    assert_eq!(standing.viewer.login, "reviews[bot]");
    assert_eq!(tokens(&scene), 1);
    scene.github.end_tokens();
    let (_, standing) = read::proposal(&client, &scene.name(), INSTANCE).await.unwrap();
    assert_eq!(standing.viewer.login, "reviews[bot]");
    assert_eq!(tokens(&scene), 2);
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
}

#[tokio::test]
async fn an_app_is_lent_what_it_needs_for_one_repository() {
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
async fn an_app_that_is_not_installed_there_has_no_token() {
    let scene = Scene::new();
    let id = scene.github.app("reviews", "somebody-else", &Permission::ALL);
    let error = read::proposal(&client(&scene, id), &scene.name(), INSTANCE).await.unwrap_err();
    let what = "GET /repos/acme/shop/installation".to_owned();
    assert_eq!(error, ForgeError::NotFound { what });
    let error = read::proposal(&client(&scene, 999), &scene.name(), INSTANCE).await.unwrap_err();
    assert!(matches!(error, ForgeError::BadToken { .. }), "{error}");
    assert_eq!(tokens(&scene), 0);
}

#[test]
fn what_is_no_app_is_refused_and_its_key_is_never_shown() {
    let repo = || Repo::parse("acme/shop").unwrap();
    for (id, key, expected) in [
        ("", APP_KEY, AppError::Id),
        ("1 2", APP_KEY, AppError::Id),
        ("1", "", AppError::Key),
        (
            "1",
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
            AppError::Key,
        ),
    ] {
        let refused = App::new(id, &SecretString::from(key), repo()).unwrap_err();
        assert_eq!(refused, expected, "{id}");
    }
    let shown = format!("{:?}", app(7, "acme/shop").unwrap());
    assert_eq!(shown, r#"App(App { id: "7", repo: Repo { owner: "acme", name: "shop" }, .. })"#);
}
