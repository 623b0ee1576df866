//! MCP over streamable HTTP: coding agents read the reviews of the server, and ask for new ones.
//!
//! Invariants:
//! - A request needs a known host name and no foreign origin. If sign-in is configured, it also
//!   needs the page token or the token of a person's agent.
//! - A person reaches only repositories that GitHub lets them read, and only their own MCP
//!   sessions.
//! - If the client that started a review leaves, the server cancels the review.

mod arguments;
mod clients;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use futures_util::StreamExt as _;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use self::clients::ClientSessions;
use self::tools::ReviewTools;
use super::sign_in::{TYPED_MAX, has_page_token};
use super::{Shared, agents, guard};
use crate::session::Viewer;
use crh_mcp::mcp::AgentServer;

/// Header with the id of an MCP session.
const SESSION_HEADER: &str = "mcp-session-id";
/// Largest message of a client, in bytes. The longest argument is the reason of a dismissal.
const MESSAGE_MAX: usize = 1 << 20;
/// Time without a connection after which a session may end to make room for another one.
const IDLE_TIME: Duration = Duration::from_secs(5 * 60);
/// Maximum sessions at once. A session has a task and little memory.
const SESSIONS_MAX: usize = 256;

/// Who sent a request, for the tools.
#[derive(Debug, Clone)]
struct Caller {
    viewer: Viewer,
    /// Id of the MCP session.
    session: Option<String>,
}

/// The endpoint `/mcp`.
#[derive(Clone)]
struct McpEndpoint {
    state: Shared,
    service: StreamableHttpService<AgentServer<ReviewTools>, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    clients: Arc<ClientSessions>,
}

/// The route of `/mcp`.
pub(super) fn route(state: &Shared) -> MethodRouter<Shared> {
    let clients = Arc::new(ClientSessions::default());
    let mut sessions = LocalSessionManager::default();
    // A call without progress is silent until its review ends.
    sessions.session_config.keep_alive = Some(tools::JOB_WAIT + IDLE_TIME);
    let sessions = Arc::new(sessions);
    let tools = AgentServer(ReviewTools::new(state.clone(), clients.clone()));
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MESSAGE_MAX)
        // `guard` decides: it knows the public name of the server.
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions.clone(), config);
    let endpoint = McpEndpoint { state: state.clone(), service, sessions, clients };
    any(move |request: Request| async move { endpoint.answer(request).await })
}

impl McpEndpoint {
    async fn answer(&self, mut request: Request) -> Response {
        let viewer = match self.admit(request.headers()).await {
            Ok(viewer) => viewer,
            Err(response) => return response,
        };
        let session = header_text(request.headers(), SESSION_HEADER).map(str::to_owned);
        match &session {
            // The same answer whether the session ended or belongs to another person.
            Some(session) if !self.clients.belongs_to(session, viewer.name()) => {
                return text(StatusCode::NOT_FOUND, "there is no such session");
            }
            Some(_) => {}
            None if !self.has_room().await => {
                return text(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; try again later");
            }
            None => {}
        }
        let is_end = request.method() == Method::DELETE;
        let owner = viewer.name().to_owned();
        request.extensions_mut().insert(Caller { viewer, session: session.clone() });
        let response = self.service.handle(request).await.map(Body::new);
        if let Some(new) = header_text(response.headers(), SESSION_HEADER) {
            let open = self.sessions.sessions.read().await;
            self.clients.retain(|id| open.contains_key(id));
            self.clients.add(new, &owner);
        }
        match session {
            Some(session) if is_end => {
                self.clients.end(&session);
                // The client of the Python SDK takes 202 for a failure.
                match response.status() {
                    StatusCode::ACCEPTED => StatusCode::NO_CONTENT.into_response(),
                    _ => response,
                }
            }
            Some(session) => self.track_connection(&session, response),
            None => response,
        }
    }

    /// Whether there may be one more session. Ends idle ones if there are too many.
    async fn has_room(&self) -> bool {
        let count = async || self.sessions.sessions.read().await.len();
        if count().await < SESSIONS_MAX {
            return true;
        }
        for id in self.clients.idle(IDLE_TIME) {
            self.clients.end(&id);
            if let Err(error) = self.sessions.close_session(&id.into()).await {
                tracing::warn!(%error, "cannot end an MCP session");
            }
        }
        count().await < SESSIONS_MAX
    }

    /// Counts an answer as a connection of its session until the client has read or left it.
    fn track_connection(&self, session: &str, response: Response) -> Response {
        let connection = self.clients.connect(session);
        response.map(|body| {
            Body::from_stream(body.into_data_stream().map(move |bytes| {
                let _open = &connection;
                bytes
            }))
        })
    }

    /// Checks host, origin and token.
    async fn admit(&self, headers: &HeaderMap) -> Result<Viewer, Response> {
        let settings = &self.state.settings;
        let public_url = settings.public_url.as_deref();
        if !guard::is_known_host(headers, public_url) {
            let message = "this server has another name: set `--public-url`";
            return Err(text(StatusCode::FORBIDDEN, message));
        }
        if !guard::is_same_origin(headers, public_url) {
            return Err(text(StatusCode::FORBIDDEN, "the request comes from another site"));
        }
        if !settings.sign_in.is_configured() {
            return Ok(Viewer::Operator);
        }
        let authorization = header_text(headers, header::AUTHORIZATION.as_str());
        let Some(typed) = authorization.and_then(|value| value.strip_prefix("Bearer ")) else {
            return Err(unauthorized("send a token as `Authorization: Bearer TOKEN`"));
        };
        // Agents' tokens cannot be guessed, so they are checked first and without delay. Guesses of
        // the page token do not slow agents down.
        if typed.len() <= TYPED_MAX
            && let Some(viewer) = agents::find_viewer(&self.state, typed).await
        {
            return Ok(viewer);
        }
        if has_page_token(&self.state, headers).await {
            return Ok(Viewer::Operator);
        }
        Err(unauthorized(
            "the token is unknown, revoked or too old; the page `/agents` creates a new one",
        ))
    }
}

fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn text(status: StatusCode, message: &str) -> Response {
    (status, format!("{message}\n")).into_response()
}

fn unauthorized(message: &str) -> Response {
    let mut response = text(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
