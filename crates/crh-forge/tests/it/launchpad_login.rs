//! Login at a fake Launchpad.

use std::time::Duration;

use crate::launchpad_scene::{LaunchpadScene, network};
use crate::scene::QUICK;
use crh_forge::launchpad::login::{LoginError, LoginRequest, LoginRetry, LoginTimeout};
use crh_forge::launchpad::{LaunchpadCredentials, login, read};
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind};

/// Timeout for tests in which the user has already decided.
const SHORT: LoginTimeout = LoginTimeout { poll_interval: Duration::ZERO, total: Duration::ZERO };

/// Timeout for tests in which the user decides later.
const LONG: LoginTimeout =
    LoginTimeout { poll_interval: Duration::from_millis(1), total: Duration::from_secs(60) };

/// Retries without delay.
const AT_ONCE: LoginRetry = LoginRetry { retry: QUICK, on_wait: |_| {} };

/// Requests a token. Returns the login and the token's name.
async fn request_login(scene: &LaunchpadScene) -> (LoginRequest, String) {
    let login = login::request_token(&network(), &scene.service(), "crh", AT_ONCE).await.unwrap();
    (login, scene.launchpad.request_tokens().pop().unwrap())
}

async fn login_error(login: &LoginRequest, timeout: LoginTimeout) -> LoginError {
    login.wait(&network(), timeout).await.unwrap_err()
}

#[tokio::test]
async fn token_is_requested_authorized_and_exchanged() {
    let scene = LaunchpadScene::new();
    let (login, token) = request_login(&scene).await;
    let page = format!(
        "{}/+authorize-token?oauth_token={token}&allow_permission=WRITE_PRIVATE",
        scene.service().web()
    );
    assert_eq!(login.page(), page);
    let error = login_error(&login, SHORT).await;
    assert!(matches!(error, LoginError::TimedOut { .. }), "{error}");
    scene.launchpad.authorize(&token, "zoe");
    let credentials = login.wait(&network(), SHORT).await.unwrap();
    let stored_credentials =
        LaunchpadCredentials::from_file(&credentials.to_file().unwrap()).unwrap();
    let client = scene.client_as(stored_credentials);
    assert_eq!(read::viewer(&client).await.unwrap().as_deref(), Some("zoe"));
    let (_, proposal_state) = read::merge_proposal(&client, &scene.proposal_ref()).await.unwrap();
    assert_eq!(proposal_state.viewer_login(), Some("zoe"));
    // A token can be exchanged once.
    let error = login_error(&login, LONG).await;
    assert!(matches!(error, LoginError::Declined { .. }), "{error}");
}

#[tokio::test]
async fn declined_login_fails() {
    let scene = LaunchpadScene::new();
    let (login, token) = request_login(&scene).await;
    scene.launchpad.decline(&token);
    let error = login_error(&login, LONG).await;
    assert!(matches!(error, LoginError::Declined { .. }), "{error}");
    assert!(error.to_string().contains("refused to authorize"), "{error}");
}

#[tokio::test]
async fn transient_failures_are_retried() {
    let scene = LaunchpadScene::new();
    let (login, token) = request_login(&scene).await;
    let fault = |how| LaunchpadFault::on("POST", "/+access-token", how).times(2);
    scene
        .launchpad
        .fail(fault(LaunchpadFaultKind::StatusBefore(503)))
        .fail(fault(LaunchpadFaultKind::CutBefore));
    let error = login_error(&login, SHORT).await;
    assert!(matches!(error, LoginError::Forge(_)), "{error}");
    assert!(error.to_string().contains("status 503 (Service Unavailable), OOPS-fake1"), "{error}");
    scene.launchpad.authorize(&token, "zoe");
    assert!(login.wait(&network(), LONG).await.is_ok());
}

#[tokio::test]
async fn token_request_is_retried_then_explained() {
    let scene = LaunchpadScene::new();
    let fault = |how| LaunchpadFault::on("POST", "/+request-token", how);
    scene
        .launchpad
        .fail(fault(LaunchpadFaultKind::StatusBefore(503)))
        .fail(fault(LaunchpadFaultKind::CutBefore));
    request_login(&scene).await;
    let request_count = || scene.launchpad.requests().len();
    assert_eq!(request_count(), 3);
    let request_token =
        || async { login::request_token(&network(), &scene.service(), "crh", AT_ONCE).await };
    let attempts = QUICK.attempts as usize;
    scene.launchpad.fail(fault(LaunchpadFaultKind::StatusBefore(500)).times(attempts));
    let error = request_token().await.unwrap_err().to_string();
    assert!(error.contains("status 500 (Internal Server Error), OOPS-fake"), "{error}");
    assert_eq!(request_count(), 3 + attempts);
    let elsewhere = "https://login.example/+openid?secret=x".to_owned();
    scene.launchpad.fail(fault(LaunchpadFaultKind::Redirect(elsewhere)));
    let error = request_token().await.unwrap_err().to_string();
    assert!(error.ends_with(": it redirects to `https://login.example/+openid`"), "{error}");
    assert_eq!(request_count(), 4 + attempts, "what is refused is not asked for again");
}
