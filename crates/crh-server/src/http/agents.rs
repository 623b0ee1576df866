//! The page that connects coding agents: the address of MCP, and the tokens of signed-in people.

use axum::Form;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use serde::Deserialize;
use serde_json::{Value, json};

use super::pages::{CsrfForm, SESSION_COOKIE, SignedIn, cookie, find_session, hidden, refuse_form};
use super::pages::{PageResult, show};
use super::sign_in::ask_viewer;
use super::{ServerState, Shared};
use crate::agent_token::AgentToken;
use crate::forge_time::format_time;
use crate::session::Viewer;
use crate::store::{AgentTokenRow, NewAgentToken, StoreResult};

/// Longest name of a token, in characters.
const NAME_MAX: usize = 60;

#[derive(Deserialize)]
pub(super) struct NewTokenForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    name: String,
}

pub(super) async fn page(
    State(state): State<Shared>,
    who: SignedIn,
    headers: HeaderMap,
) -> PageResult {
    render(&state, &headers, &who, None).await
}

/// Creates an agent token for a person who signed in with GitHub. The operator's agent uses the
/// page token.
pub(super) async fn create_token(
    State(state): State<Shared>,
    who: SignedIn,
    headers: HeaderMap,
    Form(form): Form<NewTokenForm>,
) -> PageResult {
    if !state.sessions.same(&form.csrf, &who.csrf) {
        return Err(refuse_form());
    }
    let id = cookie(&headers, SESSION_COOKIE).unwrap_or_default();
    let session = find_session(&state, &state.sessions, id).await;
    let Some(secret) = session.and_then(|session| session.token) else {
        return render(&state, &headers, &who, None).await;
    };
    let text = state.sessions.random_text();
    let sealed = text.as_deref().map(AgentToken::new).and_then(|token| token.seal(&secret));
    let (Some(text), Some(sealed)) = (text, sealed) else {
        return Err((StatusCode::INTERNAL_SERVER_ERROR, "no random numbers\n").into_response());
    };
    let name: String = form.name.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect();
    let hash = AgentToken::new(&text).hash();
    let (who_name, name) = (who.viewer.name(), name.trim());
    let token = NewAgentToken { hash: &hash, who: who_name, name, sealed: &sealed };
    state.store.add_agent_token(&token).await?;
    render(&state, &headers, &who, Some(&text)).await
}

pub(super) async fn revoke_token(
    State(state): State<Shared>,
    who: SignedIn,
    UrlPath(id): UrlPath<String>,
    Form(form): Form<CsrfForm>,
) -> PageResult {
    if !state.sessions.same(&form.csrf, &who.csrf) {
        return Err(refuse_form());
    }
    let tokens = visible_tokens(&state, &who.viewer).await?;
    let Some(token) = tokens.iter().find(|token| token.id.to_string() == id) else {
        return Err(hidden(&state, &who));
    };
    state.store.revoke_agent_token(token, who.viewer.name()).await?;
    state.agents.end(&token.hash);
    Ok(Redirect::to("/agents").into_response())
}

/// What the person of an agent may see. `None` if the agent's token is unknown, or GitHub does not
/// answer.
pub(super) async fn find_viewer(state: &ServerState, typed: &str) -> Option<Viewer> {
    let token = AgentToken::new(typed);
    let hash = token.hash();
    let sealed = match state.store.sealed_by(&hash).await {
        Ok(sealed) => sealed?,
        Err(error) => {
            tracing::warn!(%error, "cannot read the token of an agent");
            return None;
        }
    };
    if let Some(session) = find_session(state, &state.agents, &hash).await {
        return Some(session.viewer);
    }
    let secret = token.open(&sealed)?;
    match ask_viewer(state, &secret).await {
        Ok(viewer) => {
            let now = state.store.now();
            state.agents.keep(&hash, viewer.clone(), Some(secret), None, now);
            Some(viewer)
        }
        Err(error) => {
            tracing::warn!(%error, "cannot read what the person of an agent may see");
            None
        }
    }
}

/// The person's own tokens. The operator sees the tokens of all people.
async fn visible_tokens(state: &ServerState, viewer: &Viewer) -> StoreResult<Vec<AgentTokenRow>> {
    match viewer {
        Viewer::Operator => state.store.agent_tokens(None).await,
        Viewer::Person { login, .. } => state.store.agent_tokens(Some(login)).await,
    }
}

async fn render(
    state: &ServerState,
    headers: &HeaderMap,
    who: &SignedIn,
    token: Option<&str>,
) -> PageResult {
    let tokens = visible_tokens(state, &who.viewer).await?;
    let values = |token: &AgentTokenRow| {
        json!({
            "id": token.id, "who": token.who, "name": token.name,
            "created": format_time(token.created_at), "expires": format_time(token.expires_at),
        })
    };
    let tokens: Vec<Value> = tokens.iter().map(values).collect();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let url = state.settings.public_url.clone().unwrap_or_else(|| format!("http://{host}"));
    let values = json!({ "url": url, "token": token, "tokens": tokens });
    Ok(show(state, who, "agents.html", "Agents", values))
}
