//! The HTTP server: webhooks, the page, an API, health and metrics.

mod agents;
mod api;
mod connections;
mod guard;
mod health;
mod live;
mod mcp;
mod pages;
mod rest_webhooks;
mod sign_in;
mod webhooks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tracing::Instrument;

use crate::forges::ServerForges;
use crate::github_app::SecretSource;
use crate::page::PageTemplates;
use crate::run_store::RunStore;
use crate::session::{Sessions, TOKEN_CHARS_MIN, is_long_token};
use crate::store::{BudgetLimits, Store};
use crate::webhook::plan::WebhookRules;
use connections::{ConnectionLimits, serve_connections};
pub(crate) use guard::is_loopback_host;
pub use sign_in::OAuthSettings;

/// Longest time to read a body. GitHub itself waits ten seconds for an answer.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// Settings of the HTTP server.
#[derive(Debug)]
pub struct HttpSettings {
    /// Secrets of the App's webhook, one per line during a rotation. `None` without an App.
    pub webhook_secret: Option<SecretSource>,
    /// Which deliveries lead to a review.
    pub rules: WebhookRules,
    /// Address under which people reach the page, without a trailing slash.
    pub public_url: Option<String>,
    /// How people sign in.
    pub sign_in: SignIn,
    /// State folder, with the runs of this machine.
    pub state_folder: PathBuf,
    /// Copies of the runs of all machines.
    pub runs: Option<RunStore>,
    /// Spending limits, which the page shows.
    pub limits: BudgetLimits,
}

/// How people sign in. Without a page token and without GitHub's sign-in, only loopback addresses
/// may serve the page.
#[derive(Debug, Default)]
pub struct SignIn {
    /// The page token, which gives access to everything.
    pub token: Option<SecretSource>,
    /// GitHub's sign-in of the App.
    pub github: Option<OAuthSettings>,
}

impl SignIn {
    /// Whether anyone can sign in.
    pub fn is_configured(&self) -> bool {
        self.token.is_some() || self.github.is_some()
    }
}

/// Why the server does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A public address without sign-in.
    #[error("the page on `{0}` would be open to everyone")]
    OpenPage(String),
    /// The address is taken or not allowed.
    #[error("cannot listen on `{address}`: {message}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Cause.
        message: String,
    },
    /// The page token is too short.
    #[error("the token of the page has fewer than {TOKEN_CHARS_MIN} characters")]
    ShortToken,
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
    /// A template is invalid. Tests catch this.
    #[error("cannot read the templates: {0}")]
    Templates(#[from] minijinja::Error),
    /// A secret cannot be read.
    #[error(transparent)]
    Secret(#[from] crate::github_app::SecretError),
}

/// What all requests share.
#[derive(Debug)]
struct ServerState {
    store: Store,
    access: ServerForges,
    settings: HttpSettings,
    sessions: Sessions,
    /// Sessions of coding agents, by the hash of their token. They hold what the person of the
    /// agent may see.
    agents: Sessions,
    templates: PageTemplates,
    counters: health::HttpCounters,
    /// Limits how many bodies of deliveries the server reads at the same time.
    bodies: Semaphore,
    /// Limits how many typed tokens the server checks at the same time.
    guesses: Arc<Semaphore>,
    /// Limits the number of open event streams.
    streams: Arc<Semaphore>,
    /// Longest time to read a body.
    body_time: Duration,
    /// Changes when the queue changes.
    queue_version: watch::Receiver<u64>,
}

/// State of the server, shared by all requests.
type Shared = Arc<ServerState>;

/// An HTTP server that listens.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    router: Router,
    address: SocketAddr,
}

impl HttpServer {
    /// Binds the address. Refuses to show the page to everyone.
    pub async fn bind(
        address: SocketAddr,
        store: Store,
        access: impl Into<ServerForges>,
        settings: HttpSettings,
    ) -> Result<Self, StartError> {
        Self::bind_with_body_time(address, store, access, settings, BODY_TIME_MAX).await
    }

    async fn bind_with_body_time(
        address: SocketAddr,
        store: Store,
        access: impl Into<ServerForges>,
        settings: HttpSettings,
        body_time: Duration,
    ) -> Result<Self, StartError> {
        let public_url = settings.public_url.as_deref().unwrap_or_default();
        if !settings.sign_in.is_configured() {
            if !address.ip().is_loopback() {
                return Err(StartError::OpenPage(address.to_string()));
            }
            if !public_url.is_empty() && !guard::is_loopback_url(public_url) {
                return Err(StartError::OpenPage(public_url.to_owned()));
            }
        }
        // A missing secret should stop the start, not the first delivery.
        if let Some(secret) = &settings.webhook_secret {
            secret.read_lines()?;
        }
        if let Some(token) = &settings.sign_in.token
            && !is_long_token(&token.read()?)
        {
            return Err(StartError::ShortToken);
        }
        let listen_error =
            |error: std::io::Error| StartError::Listen { address, message: error.to_string() };
        let listener = TcpListener::bind(address).await.map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let state = ServerState {
            queue_version: live::watch_queue(store.clone()),
            store,
            access: access.into(),
            settings,
            sessions: Sessions::new().ok_or(StartError::Random)?,
            agents: Sessions::new().ok_or(StartError::Random)?,
            templates: PageTemplates::new()?,
            counters: health::HttpCounters::default(),
            bodies: Semaphore::new(webhooks::BODIES_MAX),
            guesses: Arc::new(Semaphore::new(sign_in::GUESSES_MAX)),
            streams: Arc::new(Semaphore::new(live::STREAMS_MAX)),
            body_time,
        };
        Ok(Self { listener, router: router(Arc::new(state)), address })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends, then finishes the requests that run.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let limits = ConnectionLimits::default();
        serve_connections(self.listener, self.router, limits, stop).await;
    }
}

fn router(state: Shared) -> Router {
    let pages = Router::new()
        .route("/", get(pages::overview))
        .route("/reviews", get(pages::reviews))
        .route("/reviews/{id}", get(pages::review))
        .route("/reviews/{id}/report", get(pages::report))
        .route("/repositories", get(pages::repositories))
        .route("/repositories/{*name}", get(pages::repository))
        .route("/jobs/{id}", get(pages::job))
        .route("/jobs/{id}/retry", post(pages::retry))
        .route("/jobs/{id}/cancel", post(pages::cancel))
        .route("/audit", get(pages::audit))
        .route("/agents", get(agents::page).post(agents::create_token))
        .route("/agents/{id}/revoke", post(agents::revoke_token))
        .route("/api/queue", get(api::queue))
        .route("/api/jobs", get(api::jobs))
        .route("/api/reviews", get(api::reviews))
        .route("/events", get(live::events))
        .route("/sign-in", get(sign_in::form).post(sign_in::with_token))
        .route("/sign-in/github", get(sign_in::with_github))
        .route("/sign-in/github/callback", get(sign_in::callback))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/assets/page.css", get(pages::style_sheet))
        .route("/assets/live.js", get(pages::script))
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard_page));
    Router::new()
        .route("/webhooks/github", post(webhooks::github))
        .route("/mcp", mcp::route(&state))
        .route("/webhooks/{forge}", post(rest_webhooks::receive_rest))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .merge(pages)
        .fallback(not_found)
        .layer(middleware::from_fn(log_request))
        .with_state(state)
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is no such page\n").into_response()
}

/// Logs method, path, status and client, and adds `X-Content-Type-Options`. Query strings may
/// contain codes of a sign-in, so the log leaves them out.
async fn log_request(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let span = tracing::info_span!("request", %method, path, status = tracing::field::Empty);
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("status", status);
    tracing::info!(%method, path, status, peer = %peer.ip(), "request");
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests;
