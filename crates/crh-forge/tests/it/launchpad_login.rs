//! Login at a fake Launchpad.

use std::time::Duration;

use crate::launchpad_scene::{LaunchpadScene, network};
use crate::scene::QUICK;
use crh_forge::launchpad::login::{LoginError, LoginRequest, LoginRetry, LoginTimeout};
use crh_forge::launchpad::{LaunchpadCredentials, login, read};
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind};

/// For a person who decides at once.
const SHORT: LoginTimeout = LoginTimeout { poll_interval: Duration::ZERO, total: Duration::ZERO };

/// For a person who needs time.
const LONG: LoginTimeout =
    LoginTimeout { poll_interval: Duration::from_millis(1), total: Duration::from_secs(60) };

/// Retries without delay.
const AT_ONCE: LoginRetry = LoginRetry { retry: QUICK, on_wait: |_| {} };

/// A requested token and its name.
async fn begun(scene: &LaunchpadScene) -> (LoginRequest, String) {
    let begun = login::request_token(&network(), &scene.service(), "crh", AT_ONCE).await.unwrap();
    (begun, scene.launchpad.request_tokens().pop().unwrap())
}

async fn failed(login: &LoginRequest, timeout: LoginTimeout) -> LoginError {
    login.wait(&network(), timeout).await.unwrap_err()
}

#[tokio::test]
async fn token_is_requested_authorized_and_exchanged() {
    let scene = LaunchpadScene::new();
    let (begun, token) = begun(&scene).await;
    let page = format!(
        "{}/+authorize-token?oauth_token={token}&allow_permission=WRITE_PRIVATE",
        scene.service().web()
    );
    assert_eq!(begun.page(), page);
    let error = failed(&begun, SHORT).await;
    assert!(matches!(error, LoginError::TimedOut { .. }), "{error}");
    scene.launchpad.authorize(&token, "zoe");
    let credentials = begun.wait(&network(), SHORT).await.unwrap();
    let kept = LaunchpadCredentials::from_file(&credentials.to_file().unwrap()).unwrap();
    let client = scene.client_as(kept);
    assert_eq!(read::viewer(&client).await.unwrap().as_deref(), Some("zoe"));
    let (_, standing) = read::merge_proposal(&client, &scene.name()).await.unwrap();
    assert_eq!(standing.viewer.as_deref(), Some("zoe"));
    // A token can be exchanged once.
    let again = failed(&begun, LONG).await;
    assert!(matches!(again, LoginError::Declined { .. }), "{again}");
}

#[tokio::test]
async fn declined_login_fails() {
    let scene = LaunchpadScene::new();
    let (begun, token) = begun(&scene).await;
    scene.launchpad.decline(&token);
    let no = failed(&begun, LONG).await;
    assert!(matches!(no, LoginError::Declined { .. }), "{no}");
    assert!(no.to_string().contains("refused to authorize"), "{no}");
}

#[tokio::test]
async fn transient_failures_are_retried() {
    let scene = LaunchpadScene::new();
    let (begun, token) = begun(&scene).await;
    let fails = |how| LaunchpadFault::on("POST", "/+access-token", how).times(2);
    scene
        .launchpad
        .fail(fails(LaunchpadFaultKind::StatusBefore(503)))
        .fail(fails(LaunchpadFaultKind::CutBefore));
    let failing = failed(&begun, SHORT).await;
    assert!(matches!(failing, LoginError::Forge(_)), "{failing}");
    assert!(
        failing.to_string().contains("status 503 (Service Unavailable), OOPS-fake1"),
        "{failing}"
    );
    scene.launchpad.authorize(&token, "zoe");
    assert!(begun.wait(&network(), LONG).await.is_ok());
}

#[tokio::test]
async fn token_request_is_retried_then_explained() {
    let scene = LaunchpadScene::new();
    let fails = |how| LaunchpadFault::on("POST", "/+request-token", how);
    scene
        .launchpad
        .fail(fails(LaunchpadFaultKind::StatusBefore(503)))
        .fail(fails(LaunchpadFaultKind::CutBefore));
    begun(&scene).await;
    let asked = || scene.launchpad.requests().len();
    assert_eq!(asked(), 3);
    let begin =
        || async { login::request_token(&network(), &scene.service(), "crh", AT_ONCE).await };
    let attempts = QUICK.attempts as usize;
    scene.launchpad.fail(fails(LaunchpadFaultKind::StatusBefore(500)).times(attempts));
    let failing = begin().await.unwrap_err().to_string();
    assert!(failing.contains("status 500 (Internal Server Error), OOPS-fake"), "{failing}");
    assert_eq!(asked(), 3 + attempts);
    let elsewhere = "https://login.example/+openid?secret=x".to_owned();
    scene.launchpad.fail(fails(LaunchpadFaultKind::Redirect(elsewhere)));
    let moved = begin().await.unwrap_err().to_string();
    assert!(moved.ends_with(": it redirects to `https://login.example/+openid`"), "{moved}");
    assert_eq!(asked(), 4 + attempts, "what is refused is not asked for again");
}
