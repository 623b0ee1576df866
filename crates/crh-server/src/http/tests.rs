//! The server on loopback, with a fake GitHub and a database in a temporary folder.

mod agents;
mod deliveries;
mod looking;
mod rest_deliveries;

use std::sync::Arc;
use std::time::SystemTime;

use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::github_app::{GitHubAccess, GitHubAppSettings};
use crate::job::{AttemptFailure, InstallationId, Job, JobId, RetryAdvice};
use crate::queue::RetryPolicy;
use crate::store::{ClaimRequest, DatabaseUrl, JobFilter, LeaseEnd};
use crate::webhook::signature::sign;
use crh_forge::github::GitHubHost;
use crh_http::NetworkSettings;
use crh_testkit::FakeGitHub;
use crh_testkit::fake_github::{APP_KEY, Permission};

const SECRET: &str = "webhook secret";
const PAGE_TOKEN: &str = "the page token of the tests";
const HEAD: &str = "1111111111111111111111111111111111111111";

#[expect(clippy::disallowed_methods, reason = "the fake compares tokens with real time")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A running server. It stops when dropped.
struct TestServer {
    url: String,
    store: Store,
    github: FakeGitHub,
    http: reqwest::Client,
    folder: TempDir,
    installation: InstallationId,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

/// How people sign in at a test server.
#[derive(Clone, Copy)]
enum TestSignIn {
    None,
    Token,
    GitHub,
}

fn access(github: &FakeGitHub) -> Arc<GitHubAccess> {
    install(github).0
}

/// Installs an App.
fn install(github: &FakeGitHub) -> (Arc<GitHubAccess>, InstallationId) {
    let id = github.app("crh", "acme", &Permission::ALL);
    let installation = InstallationId(github.installation(id).try_into().unwrap());
    let id = id.to_string();
    let urls = [github.url(), github.api_url(), github.graphql_url()];
    let [server, api, graphql] = urls.each_ref().map(|text| Some(text.as_str()));
    let host = GitHubHost::from_variables(server, api, graphql).unwrap();
    let (key, network) = (SecretSource::Value(APP_KEY.into()), NetworkSettings::default());
    let access = GitHubAccess::new(GitHubAppSettings { host, id, key, network, now }).unwrap();
    (Arc::new(access), installation)
}

fn settings(folder: &TempDir, sign_in: SignIn, public_url: Option<String>) -> HttpSettings {
    HttpSettings {
        webhook_secret: Some(SecretSource::Value(SECRET.into())),
        rules: WebhookRules { strangers: Default::default(), label: "crh-review".to_owned() },
        public_url,
        sign_in,
        state_folder: folder.path().to_owned(),
        runs: None,
        limits: BudgetLimits::default(),
    }
}

impl TestServer {
    async fn start(kind: TestSignIn) -> Self {
        Self::start_with(kind, FakeGitHub::start(), TempDir::new().unwrap()).await
    }

    /// Stops a server with GitHub's sign-in, and starts another one with the same database.
    async fn restart(mut self) -> Self {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
        Self::start_with(TestSignIn::GitHub, self.github, self.folder).await
    }

    async fn start_with(kind: TestSignIn, github: FakeGitHub, folder: TempDir) -> Self {
        let url = DatabaseUrl::Sqlite(folder.path().join("crh.db"));
        let store = Store::open(&url).await.unwrap();
        // GitHub sends the browser back to a known address.
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let (sign_in, public_url) = match kind {
            TestSignIn::None => (SignIn::default(), None),
            TestSignIn::Token => {
                let token_file = folder.path().join("page-token");
                std::fs::write(&token_file, PAGE_TOKEN).unwrap();
                let token = Some(SecretSource::File(token_file));
                (SignIn { token, github: None }, None)
            }
            TestSignIn::GitHub => {
                let (client_id, secret) = github.sign_in_as("ann");
                let (client_secret, network) =
                    (SecretSource::Value(secret.into()), NetworkSettings::default());
                let oauth = OAuthSettings { client_id, client_secret, network };
                let sign_in = SignIn { token: None, github: Some(oauth) };
                (sign_in, Some(format!("http://{address}")))
            }
        };
        let settings = settings(&folder, sign_in, public_url);
        let (access, installation) = install(&github);
        let server = HttpServer::bind(address, store.clone(), access, settings).await.unwrap();
        let url = format!("http://{}", server.address());
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let stopped = async move { drop(stopped.await) };
            server.serve(stopped).await;
        });
        let http = crh_http::build_client(&NetworkSettings::default()).unwrap();
        let (stop, task) = (Some(stop), Some(task));
        Self { url, store, github, http, folder, installation, stop, task }
    }

    /// Sends a signed delivery and returns the status.
    async fn deliver(&self, event: &str, id: &str, payload: &Value) -> u16 {
        let body = payload.to_string();
        let signature = sign(&SecretString::from(SECRET), body.as_bytes());
        self.send_delivery(
            &[("x-github-event", event), ("x-github-delivery", id)],
            &signature,
            body,
        )
        .await
    }

    async fn send_delivery(&self, headers: &[(&str, &str)], signature: &str, body: String) -> u16 {
        let mut request = self
            .http
            .post(format!("{}/webhooks/github", self.url))
            .header("content-type", "application/json")
            .header("x-hub-signature-256", signature)
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().status().as_u16()
    }

    async fn jobs(&self) -> Vec<Job> {
        self.store.jobs(&JobFilter { limit: 500, ..JobFilter::default() }).await.unwrap()
    }

    /// Makes a job dead, as a worker would.
    async fn kill_next_job(&self, reason: &str) -> JobId {
        let limits = BudgetLimits::default();
        let retry = RetryPolicy::default();
        let request = ClaimRequest { worker: "w", lease_ms: 60_000, retry, limits: &limits };
        let leased = self.store.claim(&request).await.unwrap().unwrap();
        let failure = AttemptFailure { reason: reason.to_owned(), retry: RetryAdvice::Never };
        let end = LeaseEnd::Failed(failure);
        self.store.end(&leased.lease, &end, &retry).await.unwrap();
        leased.job.id
    }

    /// Gets a page with a cookie: status, body, and the cookie of the answer.
    async fn get(&self, path: &str, cookie: &str) -> (u16, String, String) {
        answer(self.http.get(format!("{}{path}", self.url)).header("cookie", cookie)).await
    }

    async fn post(&self, path: &str, cookie: &str, form: &str) -> (u16, String, String) {
        let request = self
            .http
            .post(format!("{}{path}", self.url))
            .header("cookie", cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.to_owned());
        answer(request).await
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        if let Some(task) = self.task.take() {
            task.await.unwrap();
        }
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, String, String) {
    let answer = request.send().await.unwrap();
    let header =
        |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let cookie = header("set-cookie").unwrap_or_default();
    let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
    let location = header("location");
    let status = answer.status().as_u16();
    let body = answer.text().await.unwrap();
    // The templates escape slashes.
    (status, location.unwrap_or(body.replace("&#x2f;", "/")), cookie)
}

/// A push to a pull request of a member.
fn push(repository: &str, number: u64, head: &str, second: u32) -> Value {
    json!({
        "action": "synchronize", "number": number,
        "pull_request": {
            "number": number, "state": "open", "draft": false, "author_association": "MEMBER",
            "updated_at": format!("2026-11-17T20:30:{second:02}Z"),
            "head": { "sha": head, "repo": { "full_name": repository } },
        },
        "repository": { "full_name": repository, "private": true },
        "installation": { "id": 7, "account": { "login": "acme" } },
        "sender": { "login": "ann", "type": "User" },
    })
}
