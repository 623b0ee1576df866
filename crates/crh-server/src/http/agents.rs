//! The page that connects coding agents: the address of MCP, and a token for a signed-in person.

use axum::Form;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::pages::{CsrfForm, SESSION_COOKIE, SignedIn, cookie, find_session, refuse_form};
use super::pages::{require_viewer, show};
use super::{ServerState, Shared};

pub(super) async fn page(State(state): State<Shared>, headers: HeaderMap) -> Response {
    match require_viewer(&state, &headers).await {
        Ok(who) => render(&state, &headers, &who, None),
        Err(response) => response,
    }
}

/// Creates a token: a session of its own, with the same person and the same lifetime.
pub(super) async fn create_token(
    State(state): State<Shared>,
    headers: HeaderMap,
    Form(form): Form<CsrfForm>,
) -> Response {
    let who = match require_viewer(&state, &headers).await {
        Ok(who) => who,
        Err(response) => return response,
    };
    if !state.sessions.same(&form.csrf, &who.csrf) {
        return refuse_form();
    }
    let id = cookie(&headers, SESSION_COOKIE).unwrap_or_default();
    let Some(session) = find_session(&state, id).await else {
        // A loopback server without sign-in needs no token.
        return render(&state, &headers, &who, None);
    };
    tracing::info!(who = who.viewer.name(), "token for an agent created");
    match state.sessions.start(session.viewer, session.token, session.page_token, state.store.now())
    {
        Some(token) => render(&state, &headers, &who, Some(&token)),
        None => (StatusCode::INTERNAL_SERVER_ERROR, "no random numbers\n").into_response(),
    }
}

fn render(
    state: &ServerState,
    headers: &HeaderMap,
    who: &SignedIn,
    token: Option<&str>,
) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let url = state.settings.public_url.clone().unwrap_or_else(|| format!("http://{host}"));
    show(state, who, "agents.html", "Agents", json!({ "url": url, "token": token }))
}
