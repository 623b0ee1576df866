//! A small forge for `crh serve --demo`: one repository on a loopback address, with the calls of
//! GitHub's API that a review needs, and a page that shows what crh posted.
//!
//! It keeps everything in memory, accepts every token, and answers only under loopback names.

mod api;
mod page;
mod records;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::http::is_loopback_host;
use crate::webhook::signature::sign;
use crh_http::NetworkSettings;
use records::ForgeRecords;

/// Private key of the demo's App. It opens nothing: only the demo forge accepts it.
pub const APP_KEY: &str = include_str!("app-key.pem");

/// Account of the demo's App.
const BOT: (u64, &str) = (1, "crh-demo[bot]");

/// Installation of the demo's App.
const INSTALLATION: u64 = 1;

/// Time of all pull requests and comments.
const TIME: &str = "2026-01-01T12:00:00Z";

/// Answers a fetch of git. Takes the client's protocol version and the body of its request, which
/// is `None` for the first request.
pub type UploadPack = Box<dyn Fn(&str, Option<&[u8]>) -> Result<Vec<u8>, String> + Send + Sync>;

/// A pull request of the demo.
#[derive(Debug, Clone)]
pub struct DemoPull {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Login of its author.
    pub author: String,
    /// GitHub's word for the author's relation to the repository, such as `MEMBER`.
    pub association: String,
    /// Repository of its branch.
    pub head_repository: String,
    /// Its branch.
    pub branch: String,
    /// Its newest commit.
    pub head: String,
    /// Commit of `main`.
    pub base: String,
    /// Changed files and their hunks.
    pub files: Vec<(String, String)>,
}

/// What the demo forge offers.
pub struct DemoContent {
    /// Repository, as `owner/name`.
    pub repository: String,
    /// Its pull requests.
    pub pulls: Vec<DemoPull>,
    /// Serves its commits.
    pub upload_pack: UploadPack,
}

struct ForgeState {
    content: DemoContent,
    address: SocketAddr,
    records: Mutex<ForgeRecords>,
}

impl ForgeState {
    fn records(&self) -> MutexGuard<'_, ForgeRecords> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pull(&self, number: u64) -> Option<&DemoPull> {
        self.content.pulls.iter().find(|pull| pull.number == number)
    }
}

type SharedForge = Arc<ForgeState>;

/// The forge of the demo, which serves until its runtime ends.
pub struct DemoForge {
    state: SharedForge,
}

impl DemoForge {
    /// Starts the forge on a free loopback port.
    pub async fn start(content: DemoContent) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(ForgeState { content, address, records: Mutex::default() });
        let router = api::router()
            .merge(page::router())
            .layer(middleware::from_fn(guard_host))
            .with_state(state.clone());
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the forge of the demo stopped");
            }
        });
        Ok(Self { state })
    }

    /// Address of the forge.
    pub fn url(&self) -> String {
        format!("http://{}", self.state.address)
    }

    /// Web address of a pull request.
    pub fn pull_url(&self, number: u64) -> String {
        api::pull_url(&self.state, number)
    }

    /// Tells a server about the installation and the pull requests, with signed deliveries.
    pub async fn announce(&self, server: SocketAddr, secret: &SecretString) -> Result<(), String> {
        let content = &self.state.content;
        let installation = json!({ "id": INSTALLATION, "account": { "login": "demo" } });
        let repository = json!({ "full_name": content.repository, "private": false });
        let mut deliveries = vec![(
            "installation",
            json!({ "action": "created", "installation": installation, "repositories": [repository] }),
        )];
        for pull in &content.pulls {
            let payload = json!({
                "action": "opened", "number": pull.number, "installation": installation,
                "repository": repository, "pull_request": api::pull_json(&self.state, pull),
                "sender": { "login": pull.author, "type": "User" },
            });
            deliveries.push(("pull_request", payload));
        }
        let http = crh_http::build_client(&NetworkSettings::default())
            .map_err(|error| error.to_string())?;
        for (number, (event, payload)) in deliveries.into_iter().enumerate() {
            let body = payload.to_string();
            let request = http
                .post(format!("http://{server}/webhooks/github"))
                .header("content-type", "application/json")
                .header("x-github-event", event)
                .header("x-github-delivery", format!("demo-{number}"))
                .header("x-hub-signature-256", sign(secret, body.as_bytes()))
                .body(body);
            let answer = request.send().await.map_err(|error| error.to_string())?;
            if !answer.status().is_success() {
                return Err(format!("the server answered a delivery with {}", answer.status()));
            }
        }
        Ok(())
    }
}

/// Refuses other host names, so that no web site can read the demo by DNS rebinding.
async fn guard_host(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(is_loopback_host) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "the demo answers only on this machine\n").into_response()
}

fn user(id: u64, login: &str) -> Value {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    json!({ "id": id, "login": login, "type": kind })
}
