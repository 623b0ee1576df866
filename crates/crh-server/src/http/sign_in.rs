//! Sign-in: with GitHub, or with the page token.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Form;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use url::form_urlencoded;

use super::pages::{self, PageResult, SESSION_COOKIE, cookie, require_viewer};
use super::{ServerState, Shared};
use crate::github_app::{SecretSource, list_pages};
use crate::job::InstallationId;
use crate::session::{RepositoryAccess, RepositoryRole, Viewer, is_long_token, is_page_token};
use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, ReplyCache, TIMEOUTS,
};
use crh_forge::{ForgeError, ForgeRetryPolicy};
use crh_http::NetworkSettings;

/// Cookie that binds a sign-in with GitHub to the browser that started it.
const STATE_COOKIE: &str = "crh_sign_in";

/// Delay of the answer to a wrong token, so that guessing takes long.
const WRONG_TOKEN_DELAY: Duration = Duration::from_millis(500);

/// Maximum number of tokens that are checked at the same time. Together with the delay, this limits
/// how many tokens can be guessed per second, over all connections.
pub(super) const GUESSES_MAX: usize = 8;

/// Longest typed token, in bytes.
pub(super) const TYPED_MAX: usize = 1_024;

/// Largest answer of GitHub to the code of a sign-in, in bytes.
const ANSWER_MAX: usize = 64 << 10;

/// GitHub's sign-in of the App.
#[derive(Debug)]
pub struct OAuthSettings {
    /// Client id of the App.
    pub client_id: String,
    /// Client secret of the App.
    pub client_secret: SecretSource,
    /// Proxies and certificates.
    pub network: NetworkSettings,
}

pub(super) async fn form(State(state): State<Shared>) -> Response {
    sign_in_page(&state, StatusCode::OK, "")
}

fn sign_in_page(state: &ServerState, status: StatusCode, message: &str) -> Response {
    let sign_in = &state.settings.sign_in;
    let values = json!({
        "title": "Sign in", "viewer": null, "message": message,
        "has_token": sign_in.token.is_some(), "has_github": sign_in.github.is_some(),
    });
    pages::render(state, status, "sign-in.html", values)
}

#[derive(Deserialize)]
pub(super) struct TokenForm {
    #[serde(default)]
    token: String,
}

pub(super) async fn with_token(
    State(state): State<Shared>,
    Form(form): Form<TokenForm>,
) -> Response {
    let Some(source) = &state.settings.sign_in.token else {
        return sign_in_page(&state, StatusCode::NOT_FOUND, "This server has no token.");
    };
    match check_token(&state, source, &form.token).await {
        TokenCheck::Right(mark) => start_session(&state, Viewer::Operator, None, Some(mark)),
        TokenCheck::Wrong => {
            let message = "This is not the token of the server.";
            sign_in_page(&state, StatusCode::UNAUTHORIZED, message)
        }
        TokenCheck::Unusable(message) => {
            sign_in_page(&state, StatusCode::SERVICE_UNAVAILABLE, message)
        }
    }
}

/// Result of the check of a typed token.
pub(super) enum TokenCheck {
    /// The page token, with its keyed hash.
    Right(String),
    /// Another text.
    Wrong,
    /// The page token cannot be used.
    Unusable(&'static str),
}

/// Compares a typed token with the page token. A wrong token gets its answer after
/// [`WRONG_TOKEN_DELAY`].
pub(super) async fn check_token(
    state: &ServerState,
    source: &SecretSource,
    typed: &str,
) -> TokenCheck {
    let guess = state.guesses.clone().acquire_owned().await;
    let Ok(expected) = source.load().await else {
        return TokenCheck::Unusable("The token cannot be read.");
    };
    if !is_long_token(&expected) {
        return TokenCheck::Unusable("The token of the server is too short.");
    }
    if typed.len() <= TYPED_MAX && is_page_token(&state.sessions, typed, &expected) {
        return TokenCheck::Right(state.sessions.token_mark(&expected));
    }
    tracing::warn!("wrong token");
    delay_guess(guess).await;
    TokenCheck::Wrong
}

/// Keeps the slot of a wrong guess for a while, also if the client hangs up meanwhile.
async fn delay_guess(guess: Result<OwnedSemaphorePermit, AcquireError>) {
    let delay = tokio::spawn(async move {
        tokio::time::sleep(WRONG_TOKEN_DELAY).await;
        drop(guess);
    });
    drop(delay.await);
}

/// Whether a request carries the page token as bearer token. A request without a bearer token does
/// not count as a guess.
pub(super) async fn has_page_token(state: &ServerState, headers: &HeaderMap) -> bool {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
    match (&state.settings.sign_in.token, bearer) {
        (Some(source), Some(typed)) => {
            matches!(check_token(state, source, typed).await, TokenCheck::Right(_))
        }
        _ => false,
    }
}

/// Sends the browser to GitHub.
pub(super) async fn with_github(State(state): State<Shared>) -> Response {
    let (Some(github), Some(access), Some(word)) =
        (&state.settings.sign_in.github, state.access.github(), state.sessions.random_text())
    else {
        return sign_in_page(
            &state,
            StatusCode::NOT_FOUND,
            "This server has no sign-in with GitHub.",
        );
    };
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("client_id", &github.client_id)
        .append_pair("redirect_uri", &redirect_uri(&state))
        .append_pair("state", &state.sessions.derive("oauth", &word))
        .finish();
    let address = format!("{}/login/oauth/authorize?{query}", access.host().server());
    let mut response = Redirect::to(&address).into_response();
    set_cookie(&state, &mut response, STATE_COOKIE, &word, 600);
    response
}

#[derive(Deserialize)]
pub(super) struct CallbackQuery {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
}

/// Handles the request of a browser that comes back from GitHub with a code.
pub(super) async fn callback(
    State(state): State<Shared>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Response {
    let word = cookie(&headers, STATE_COOKIE);
    let is_own = word.is_some_and(|word| {
        state.sessions.same(&query.state, &state.sessions.derive("oauth", word))
    });
    if !is_own {
        let message = "The sign-in did not start in this browser, or took too long. Try again.";
        return sign_in_page(&state, StatusCode::BAD_REQUEST, message);
    }
    let mut response = match finish_sign_in(&state, &query.code).await {
        Ok((viewer, token)) => start_session(&state, viewer, Some(token), None),
        Err(error) => {
            tracing::warn!(error, "sign-in with GitHub failed");
            sign_in_page(&state, StatusCode::BAD_GATEWAY, "GitHub refused the sign-in. Try again.")
        }
    };
    set_cookie(&state, &mut response, STATE_COOKIE, "", 0);
    response
}

pub(super) async fn sign_out(
    State(state): State<Shared>,
    headers: HeaderMap,
    Form(form): Form<pages::CsrfForm>,
) -> PageResult {
    let signed_in = require_viewer(&state, &headers).await?;
    if !state.sessions.same(&form.csrf, &signed_in.csrf) {
        return Err(pages::refuse_form());
    }
    if let Some(id) = cookie(&headers, SESSION_COOKIE) {
        state.sessions.end(id);
    }
    let mut response = Redirect::to("/sign-in").into_response();
    set_cookie(&state, &mut response, SESSION_COOKIE, "", 0);
    Ok(response)
}

fn start_session(
    state: &ServerState,
    viewer: Viewer,
    token: Option<SecretString>,
    page_token: Option<String>,
) -> Response {
    tracing::info!(who = viewer.name(), "signed in");
    let Some(id) = state.sessions.start(viewer, token, page_token, state.store.now()) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "no random numbers\n").into_response();
    };
    let mut response = Redirect::to("/").into_response();
    set_cookie(state, &mut response, SESSION_COOKIE, &id, 12 * 3_600);
    response
}

fn set_cookie(state: &ServerState, response: &mut Response, name: &str, value: &str, seconds: u32) {
    let public_url = state.settings.public_url.as_deref().unwrap_or_default();
    let secure = if public_url.starts_with("https:") { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

fn redirect_uri(state: &ServerState) -> String {
    let public_url = state.settings.public_url.as_deref().unwrap_or_default();
    format!("{public_url}/sign-in/github/callback")
}

/// Exchanges the code for the person's token, and asks who the person is.
async fn finish_sign_in(state: &ServerState, code: &str) -> Result<(Viewer, SecretString), String> {
    #[derive(Deserialize)]
    struct TokenAnswer {
        access_token: Option<String>,
        error: Option<String>,
    }
    let github = state.settings.sign_in.github.as_ref().ok_or("no sign-in with GitHub")?;
    let access = state.access.github().ok_or("no GitHub App")?;
    let secret = github.client_secret.load().await.map_err(|error| error.to_string())?;
    let http = crh_http::build_client(&github.network).map_err(|error| error.to_string())?;
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("client_id", &github.client_id)
        .append_pair("client_secret", secret.expose_secret())
        .append_pair("code", code)
        .append_pair("redirect_uri", &redirect_uri(state))
        .finish();
    let address = format!("{}/login/oauth/access_token", access.host().server());
    let request = http
        .post(address)
        .timeout(TIMEOUTS.first_byte)
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("user-agent", "crh")
        .body(form);
    // Errors of the HTTP client name the address, not the body, which has the secret.
    let mut answer = request.send().await.map_err(|error| error.to_string())?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| error.to_string())? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_MAX {
            return Err("the answer is too large".to_owned());
        }
    }
    let answer: TokenAnswer =
        serde_json::from_slice(&body).map_err(|_| "the answer is not JSON")?;
    let token = answer.access_token.ok_or(answer.error.unwrap_or_else(|| "no token".to_owned()))?;
    let token = SecretString::from(token);
    let viewer = ask_viewer(state, &token).await.map_err(|error| error.to_string())?;
    Ok((viewer, token))
}

/// Asks GitHub whose token this is and which repositories of the App the person may see.
pub(super) async fn ask_viewer(
    state: &ServerState,
    token: &SecretString,
) -> Result<Viewer, ForgeError> {
    #[derive(Deserialize)]
    struct UserAnswer {
        login: String,
    }
    #[derive(Deserialize)]
    struct InstallationsAnswer {
        installations: Vec<InstallationAnswer>,
    }
    #[derive(Deserialize)]
    struct InstallationAnswer {
        id: i64,
    }
    #[derive(Deserialize)]
    struct RepositoriesAnswer {
        repositories: Vec<RepositoryAnswer>,
    }
    #[derive(Deserialize)]
    struct RepositoryAnswer {
        full_name: String,
        #[serde(default)]
        permissions: PermissionsAnswer,
    }
    #[derive(Default, Deserialize)]
    struct PermissionsAnswer {
        #[serde(default)]
        push: bool,
    }
    let client = user_client(state, token)?;
    let login = client.get_json::<UserAnswer>("/user").await?.login;
    let mut repositories = BTreeMap::new();
    let installations =
        list_pages(&client, "/user/installations", |page: InstallationsAnswer| page.installations);
    for installation in installations.await? {
        let path = format!("/user/installations/{}/repositories", installation.id);
        let page_entries = |page: RepositoriesAnswer| page.repositories;
        for repository in list_pages(&client, &path, page_entries).await? {
            let role = if repository.permissions.push {
                RepositoryRole::Write
            } else {
                RepositoryRole::Read
            };
            let access = RepositoryAccess { installation: InstallationId(installation.id), role };
            repositories.insert(repository.full_name.to_ascii_lowercase(), access);
        }
    }
    Ok(Viewer::Person { login, repositories })
}

fn user_client(state: &ServerState, token: &SecretString) -> Result<GitHubClient, ForgeError> {
    let network = state.settings.sign_in.github.as_ref().map(|github| github.network.clone());
    let unreachable = |message: String| {
        let host = state.access.names().first().copied().unwrap_or_default().to_owned();
        ForgeError::Unreachable { host, message }
    };
    let access = state.access.github().ok_or_else(|| unreachable("no GitHub App".to_owned()))?;
    let config = GitHubClientConfig {
        host: access.host().clone(),
        credentials: GitHubCredentials::Token(token.clone()),
        cache: ReplyCache::disabled(),
        retry: ForgeRetryPolicy::default(),
        now: access.clock(),
        seed: 0,
    };
    let network = NetworkSettings { timeouts: TIMEOUTS, ..network.unwrap_or_default() };
    GitHubClient::new(&network, config).map_err(|error| unreachable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn guess_keeps_its_slot_after_the_client_hung_up() {
        let guesses = Arc::new(Semaphore::new(1));
        let guess = guesses.clone().acquire_owned().await;
        let hung_up = tokio::time::timeout(Duration::ZERO, delay_guess(guess)).await;
        assert!(hung_up.is_err());
        assert_eq!(guesses.available_permits(), 0);
        let next = tokio::time::timeout(Duration::from_secs(60), guesses.acquire()).await;
        assert!(next.is_ok());
    }
}
