//! A stateful fake GitHub on loopback: REST, some GraphQL and git over HTTP, with real
//! repositories.
//!
//! The fake validates writes like GitHub and has scripted faults. `surprises` lists requests that
//! GitHub would accept but that crh should not send.
//!
//! ```ignore
//! let github = FakeGitHub::start();
//! github.repository("acme/shop", &repo);
//! let pull = github.pull("acme/shop", Pull { head: "feature".into(), ..Pull::default() });
//! program.envs(github.environment());
//! assert_eq!(github.render(&pull), "…");
//! ```

mod diff;
mod exchange;
pub(crate) mod faults;
pub(crate) mod git;
mod graphql;
mod json;
mod oauth;
mod render;
mod rest;
mod scenario;
pub(crate) mod server;
mod state;
pub(crate) mod time;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

pub use diff::Side;
pub use exchange::Exchange;
pub use faults::{Fault, FaultKind, FaultTrigger, HoldPoint, WriteHold};
use json::View;
pub use scenario::{Pull, PullHandle};
use serde_json::Value;
use server::FakeGitHubServer;
pub use state::{Comment, Issue, Permission, Review, Sarif, Thread};
use state::{FakeGitHubState, PullRequest};
use tempfile::TempDir;

use crate::http::Server;

/// Account of the program under test.
pub const REVIEWER: &str = "crh-reviewer";

/// Token of [`REVIEWER`].
pub const TOKEN: &str = "ghp_fakeTokenOfTheReviewer0123456789";

/// Private key of the App that [`FakeGitHub::app`] installs.
pub const APP_KEY: &str = include_str!("fake_github/app-key.pem");

/// Environment variable with a folder for recorded REST exchanges: one file per fake, one exchange
/// per line. If it is unset, nothing is recorded.
pub const EXCHANGES: &str = "CRH_FAKE_GITHUB_EXCHANGES";

/// A fake GitHub. Stops when dropped.
#[derive(Debug)]
pub struct FakeGitHub {
    server: Option<Server>,
    service: Arc<FakeGitHubServer>,
    /// Bare repositories.
    folder: TempDir,
}

/// State of a fake at a moment.
#[derive(Debug)]
pub struct GitHubSnapshot(FakeGitHubState);

impl FakeGitHub {
    /// Starts a GitHub without repositories on a free port. It knows [`REVIEWER`] with a [`TOKEN`]
    /// that has all permissions.
    pub fn start() -> Self {
        let service = Arc::new(FakeGitHubServer::default());
        let server = Server::start(service.clone()).unwrap();
        service.set_address(format!("http://{}", server.address()));
        let github = Self { server: Some(server), service, folder: TempDir::new().unwrap() };
        github.token(TOKEN, REVIEWER, &Permission::ALL);
        github
    }

    /// Web address.
    pub fn url(&self) -> String {
        self.service.address().to_owned()
    }

    /// Address of the REST API.
    pub fn api_url(&self) -> String {
        format!("{}/api/v3", self.url())
    }

    /// Address of the GraphQL API.
    pub fn graphql_url(&self) -> String {
        format!("{}/api/graphql", self.url())
    }

    /// Address to fetch a repository from with git.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}.git", self.url())
    }

    /// Environment for a program that uses this GitHub as [`REVIEWER`].
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        self.environment_with(TOKEN)
    }

    /// Environment like [`Self::environment`], with another token.
    pub fn environment_with(&self, token: &str) -> Vec<(&'static str, String)> {
        let mut environment = self.environment_without();
        environment.push(("GITHUB_TOKEN", token.to_owned()));
        environment
    }

    /// Environment like [`Self::environment`], without a token.
    pub fn environment_without(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GITHUB_SERVER_URL", self.url()),
            ("GITHUB_API_URL", self.api_url()),
            ("GITHUB_GRAPHQL_URL", self.graphql_url()),
        ]
    }

    /// Adds a fault. Of the faults that fit a request, the first one applies.
    pub fn fail(&self, fault: Fault) -> &Self {
        self.service.traffic().faults.push(fault);
        self
    }

    /// Delays every reply.
    pub fn latency(&self, time: Duration) -> &Self {
        self.service.traffic().latency = time;
        self
    }

    /// Holds a write by number, counted as in [`FaultTrigger::Write`].
    pub fn hold_write(&self, number: usize, moment: HoldPoint) -> WriteHold {
        let hold = WriteHold::new(number, moment);
        self.service.traffic().held.push(hold.held.clone());
        hold
    }

    /// All requests, in order of arrival.
    pub fn requests(&self) -> Vec<Exchange> {
        let traffic = self.service.traffic();
        traffic.exchanges[traffic.forgotten..].to_vec()
    }

    /// Requests that changed something.
    pub fn writes(&self) -> Vec<Exchange> {
        self.requests().into_iter().filter(|exchange| exchange.applied).collect()
    }

    /// Number of received writes, including failed ones.
    pub fn writes_received(&self) -> usize {
        self.service.traffic().writes
    }

    /// Hides the requests so far from `requests` and `writes`. The numbering of writes continues.
    pub fn forget_requests(&self) {
        let mut traffic = self.service.traffic();
        traffic.forgotten = traffic.exchanges.len();
    }

    /// Requests that the fake cannot read, fields that GitHub does not know, and other requests
    /// that crh should not send. Tests expect none.
    pub fn surprises(&self) -> Vec<String> {
        self.state().surprises.clone()
    }

    /// General comments on a pull request, oldest first.
    pub fn comments(&self, handle: &PullHandle) -> Vec<Comment> {
        self.with(handle, |pull| pull.comments.clone())
    }

    /// The reviews of a pull request, oldest first.
    pub fn reviews(&self, handle: &PullHandle) -> Vec<Review> {
        self.with(handle, |pull| pull.reviews.clone())
    }

    /// Inline threads of a pull request, oldest first.
    pub fn threads(&self, handle: &PullHandle) -> Vec<Thread> {
        self.with(handle, |pull| pull.threads.clone())
    }

    /// Issues of a repository, ordered by number.
    pub fn issues(&self, repository: &str) -> Vec<Issue> {
        let (owner, name) = repository.split_once('/').unwrap();
        let state = self.state();
        state.repository(owner, name).unwrap().issues.values().cloned().collect()
    }

    /// Open pull requests of a repository, ordered by number. Their `head` names the owner.
    pub fn pulls(&self, repository: &str) -> Vec<Pull> {
        let (owner, name) = repository.split_once('/').unwrap();
        let state = self.state();
        let pulls = state.repository(owner, name).unwrap().pulls.values();
        let open_pulls = pulls.filter(|pull| pull.open).map(|pull| Pull {
            head: format!("{}:{}", pull.head_owner, pull.head),
            base: pull.base.clone(),
            title: pull.title.clone(),
            body: pull.body.clone(),
            author: pull.author.clone(),
            draft: pull.draft,
            labels: pull.labels.clone(),
            closes: pull.closes.clone(),
        });
        open_pulls.collect()
    }

    /// Head commit of a pull request.
    pub fn head(&self, handle: &PullHandle) -> String {
        self.with(handle, |pull| pull.head_sha.clone())
    }

    /// Check runs of a repository in REST format, with all annotations in `output.annotations`.
    pub fn check_runs(&self, repository: &str) -> Vec<Value> {
        let state = self.state();
        let view = View { state: &state, server: self.service.address() };
        let (owner, name) = repository.split_once('/').unwrap();
        let repository = state.repository(owner, name).unwrap();
        let runs = repository.check_runs.iter().map(|run| {
            let mut value = view.check_run(repository, run);
            value["output"]["annotations"] = run.annotations.iter().cloned().collect();
            value
        });
        runs.collect()
    }

    /// Reactions in a repository: comment ids and words, in order of arrival.
    pub fn reactions(&self, repository: &str) -> Vec<(u64, String)> {
        let (owner, name) = repository.split_once('/').unwrap();
        self.state().repository(owner, name).unwrap().reactions.clone()
    }

    /// SARIF reports of a repository, in order of arrival.
    pub fn sarifs(&self, repository: &str) -> Vec<Sarif> {
        let (owner, name) = repository.split_once('/').unwrap();
        self.state().repository(owner, name).unwrap().sarifs.clone()
    }

    /// The visible content of a pull request as text for comparison: without times, hashes, and ids
    /// of comments.
    pub fn render(&self, handle: &PullHandle) -> String {
        self.with(handle, render::render_pull)
    }

    /// Saves the current state.
    pub fn snapshot(&self) -> GitHubSnapshot {
        GitHubSnapshot(self.state().clone())
    }

    /// Restores a saved state. The surprises stay, the numbering of writes continues, and git keeps
    /// the commits that were pushed since the snapshot.
    pub fn restore(&self, snapshot: &GitHubSnapshot) {
        let mut state = self.state();
        let surprises = std::mem::take(&mut state.surprises);
        *state = snapshot.0.clone();
        state.surprises = surprises;
    }

    fn state(&self) -> MutexGuard<'_, FakeGitHubState> {
        self.service.state()
    }

    fn with<T>(&self, handle: &PullHandle, read: impl FnOnce(&PullRequest) -> T) -> T {
        let state = self.state();
        let (owner, name) = handle.repository.split_once('/').unwrap();
        read(&state.repository(owner, name).unwrap().pulls[&handle.number])
    }
}

impl Drop for FakeGitHub {
    fn drop(&mut self) {
        for held in &self.service.traffic().held {
            held.release();
        }
        drop(self.server.take());
        // `scripts/check-github-api` reads the exchanges from this folder.
        if let Some(folder) = std::env::var_os(EXCHANGES) {
            let traffic = self.service.traffic();
            let lines = traffic.exchanges.iter().filter_map(Exchange::line);
            let lines: Vec<String> = lines.collect();
            let name = self.folder.path().file_name().unwrap_or_default().to_string_lossy();
            let path = Path::new(&folder).join(format!("{}.jsonl", name.trim_start_matches('.')));
            std::fs::write(path, lines.concat()).unwrap();
        }
    }
}
