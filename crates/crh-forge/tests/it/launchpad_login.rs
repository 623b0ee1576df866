//! The way to a token at a Launchpad that keeps state.

use std::time::Duration;

use crate::launchpad_scene::{LaunchpadScene, network};
use crate::scene::QUICK;
use crh_forge::launchpad::login::{Again, Begun, LoginError, Patience};
use crh_forge::launchpad::{Credentials, login, read};
use crh_testkit::fake_launchpad::{Fault, How};

/// A person who decides at once.
const SHORT: Patience = Patience { every: Duration::ZERO, at_most: Duration::ZERO };

/// A person who is waited for.
const LONG: Patience =
    Patience { every: Duration::from_millis(1), at_most: Duration::from_secs(60) };

/// Without time between two requests.
const AT_ONCE: Again = Again { retry: QUICK, tell: |_| {} };

/// A token that was asked for, and its name.
async fn begun(scene: &LaunchpadScene) -> (Begun, String) {
    let begun = login::begin(&network(), &scene.service(), "crh", AT_ONCE).await.unwrap();
    (begun, scene.launchpad.request_tokens().pop().unwrap())
}

async fn failed(begun: &Begun, patience: Patience) -> LoginError {
    begun.wait(&network(), patience).await.unwrap_err()
}

#[tokio::test]
async fn a_token_is_got_in_three_steps() {
    let scene = LaunchpadScene::new();
    let (begun, token) = begun(&scene).await;
    let page = format!(
        "{}/+authorize-token?oauth_token={token}&allow_permission=WRITE_PRIVATE",
        scene.service().web()
    );
    assert_eq!(begun.page(), page);
    let nobody = failed(&begun, SHORT).await;
    assert!(matches!(nobody, LoginError::TimedOut { .. }), "{nobody}");
    scene.launchpad.authorize(&token, "zoe");
    let credentials = begun.wait(&network(), SHORT).await.unwrap();
    let kept = Credentials::from_file(&credentials.to_file().unwrap()).unwrap();
    let client = scene.client_as(kept);
    assert_eq!(read::viewer(&client).await.unwrap().as_deref(), Some("zoe"));
    let (_, standing) = read::proposal(&client, &scene.name()).await.unwrap();
    assert_eq!(standing.viewer.as_deref(), Some("zoe"));
    // It is exchanged once.
    let again = failed(&begun, LONG).await;
    assert!(matches!(again, LoginError::Declined { .. }), "{again}");
}

#[tokio::test]
async fn a_person_may_say_no() {
    let scene = LaunchpadScene::new();
    let (begun, token) = begun(&scene).await;
    scene.launchpad.decline(&token);
    let no = failed(&begun, LONG).await;
    assert!(matches!(no, LoginError::Declined { .. }), "{no}");
    assert!(no.to_string().contains("refused to authorize"), "{no}");
}

#[tokio::test]
async fn a_launchpad_that_fails_for_a_while_is_waited_for() {
    let scene = LaunchpadScene::new();
    let (begun, token) = begun(&scene).await;
    let fails = |how| Fault::on("POST", "/+access-token", how).times(2);
    scene.launchpad.fail(fails(How::StatusBefore(503))).fail(fails(How::CutBefore));
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
async fn a_launchpad_that_gives_out_no_token_is_asked_again_and_says_why() {
    let scene = LaunchpadScene::new();
    let fails = |how| Fault::on("POST", "/+request-token", how);
    scene.launchpad.fail(fails(How::StatusBefore(503))).fail(fails(How::CutBefore));
    begun(&scene).await;
    let asked = || scene.launchpad.requests().len();
    assert_eq!(asked(), 3);
    let begin = || async { login::begin(&network(), &scene.service(), "crh", AT_ONCE).await };
    let attempts = QUICK.attempts as usize;
    scene.launchpad.fail(fails(How::StatusBefore(500)).times(attempts));
    let failing = begin().await.unwrap_err().to_string();
    assert!(failing.contains("status 500 (Internal Server Error), OOPS-fake"), "{failing}");
    assert_eq!(asked(), 3 + attempts);
    let elsewhere = "https://login.example/+openid?secret=x".to_owned();
    scene.launchpad.fail(fails(How::Redirect(elsewhere)));
    let moved = begin().await.unwrap_err().to_string();
    assert!(moved.ends_with(": it sends us to `https://login.example/+openid`"), "{moved}");
    assert_eq!(asked(), 4 + attempts, "what is refused is not asked for again");
}
