//! A GitHub that keeps state: REST, some GraphQL and git over HTTP, on loopback, over real repositories.
//!
//! It is as strict as GitHub with what is written to it, and fails on script. What GitHub would have taken in silence and
//! nobody meant to send is in `surprises`.
//!
//! ```ignore
//! let github = FakeGitHub::start();
//! github.repository("acme/shop", &repo);
//! let pull = github.pull("acme/shop", Pull { head: "feature".into(), ..Pull::default() });
//! program.envs(github.environment());
//! assert_eq!(github.shown(&pull), "…");
//! ```

#[path = "fake_github/server.rs"]
pub(crate) mod desk;
mod diff;
mod exchange;
pub(crate) mod faults;
pub(crate) mod git;
mod graphql;
mod json;
#[path = "fake_github/scenario.rs"]
mod play;
mod rest;
#[path = "fake_github/render.rs"]
mod show;
mod state;
pub(crate) mod time;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use desk::Desk;
pub use diff::Side;
pub use exchange::Exchange;
pub use faults::{Fault, Hold, How, Moment, On};
use json::View;
pub use play::{Pull, PullAt};
use serde_json::Value;
pub use state::{Comment, Issue, Permission, Review, Sarif, Thread};
use state::{PullRequest, State};
use tempfile::TempDir;

use crate::http::Server;

/// The account that a program speaks for, unless a test says otherwise.
pub const REVIEWER: &str = "crh-reviewer";

/// Its token.
pub const TOKEN: &str = "ghp_fakeTokenOfTheReviewer0123456789";

/// The private key of the App that [`FakeGitHub::app`] installs. It opens nothing else.
pub const APP_KEY: &str = include_str!("fake_github/app-key.pem");

/// The variable with the folder into which every fake writes what it was asked and what it answered, a file each and an
/// exchange a line. Nothing is written without it.
pub const EXCHANGES: &str = "CRH_FAKE_GITHUB_EXCHANGES";

/// The fake. It listens as long as it lives.
#[derive(Debug)]
pub struct FakeGitHub {
    server: Option<Server>,
    desk: Arc<Desk>,
    /// The bare repositories.
    folder: TempDir,
}

/// Everything that a GitHub had at a moment.
#[derive(Debug)]
pub struct Kept(State);

impl FakeGitHub {
    /// A GitHub without repositories, on a port of its own, that knows [`REVIEWER`] with a [`TOKEN`] that may do
    /// everything.
    pub fn start() -> Self {
        let desk = Arc::new(Desk::default());
        let server = Server::start(desk.clone()).unwrap();
        desk.listens_at(format!("http://{}", server.address()));
        let github = Self { server: Some(server), desk, folder: TempDir::new().unwrap() };
        github.token(TOKEN, REVIEWER, &Permission::ALL);
        github
    }

    /// Its address, as a browser would have it.
    pub fn url(&self) -> String {
        self.desk.address().to_owned()
    }

    /// The address of REST.
    pub fn api_url(&self) -> String {
        format!("{}/api/v3", self.url())
    }

    /// The address of GraphQL.
    pub fn graphql_url(&self) -> String {
        format!("{}/api/graphql", self.url())
    }

    /// Where git fetches a repository from.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}.git", self.url())
    }

    /// What a program has in its environment to speak with this GitHub as [`REVIEWER`].
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        self.environment_with(TOKEN)
    }

    /// The same with another token.
    pub fn environment_with(&self, token: &str) -> Vec<(&'static str, String)> {
        let mut environment = self.environment_without();
        environment.push(("GITHUB_TOKEN", token.to_owned()));
        environment
    }

    /// The same without a token.
    pub fn environment_without(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GITHUB_SERVER_URL", self.url()),
            ("GITHUB_API_URL", self.api_url()),
            ("GITHUB_GRAPHQL_URL", self.graphql_url()),
        ]
    }

    /// Makes something go wrong. Faults are tried in the order in which they were named, one at a request.
    pub fn fail(&self, fault: Fault) -> &Self {
        self.desk.traffic().faults.push(fault);
        self
    }

    /// Lets every answer wait so long.
    pub fn latency(&self, time: Duration) -> &Self {
        self.desk.traffic().latency = time;
        self
    }

    /// Holds the write of a number, counted from the fake's first as in [`On::Write`].
    pub fn hold_write(&self, number: usize, moment: Moment) -> Hold {
        let hold = Hold::new(number, moment);
        self.desk.traffic().held.push(hold.held.clone());
        hold
    }

    /// All requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Exchange> {
        let traffic = self.desk.traffic();
        traffic.exchanges[traffic.forgotten..].to_vec()
    }

    /// The requests that changed something.
    pub fn writes(&self) -> Vec<Exchange> {
        self.requests().into_iter().filter(|exchange| exchange.applied).collect()
    }

    /// How many writes have come, whatever became of them: the number of the last one.
    pub fn writes_received(&self) -> usize {
        self.desk.traffic().writes
    }

    /// Leaves the requests so far out of `requests` and `writes`; writes are still counted on.
    pub fn forget_requests(&self) {
        let mut traffic = self.desk.traffic();
        traffic.forgotten = traffic.exchanges.len();
    }

    /// What came that GitHub does not know or that nobody means to send: tests want it empty.
    pub fn surprises(&self) -> Vec<String> {
        self.state().surprises.clone()
    }

    /// The comments on a pull request as a whole, oldest first.
    pub fn comments(&self, at: &PullAt) -> Vec<Comment> {
        self.with(at, |pull| pull.comments.clone())
    }

    /// The reviews of a pull request, oldest first.
    pub fn reviews(&self, at: &PullAt) -> Vec<Review> {
        self.with(at, |pull| pull.reviews.clone())
    }

    /// The conversations about lines of a pull request, oldest first.
    pub fn threads(&self, at: &PullAt) -> Vec<Thread> {
        self.with(at, |pull| pull.threads.clone())
    }

    /// The issues of a repository that were not deleted, by their numbers.
    pub fn issues(&self, repository: &str) -> Vec<Issue> {
        let (owner, name) = repository.split_once('/').unwrap();
        let state = self.state();
        let issues = state.repository(owner, name).unwrap().issues.values();
        issues.filter(|issue| !issue.deleted).cloned().collect()
    }

    /// The open pull requests of a repository as they were opened, by their numbers.
    pub fn pulls(&self, repository: &str) -> Vec<Pull> {
        let (owner, name) = repository.split_once('/').unwrap();
        let state = self.state();
        let pulls = state.repository(owner, name).unwrap().pulls.values();
        let opened = pulls.filter(|pull| pull.open).map(|pull| Pull {
            head: format!("{}:{}", pull.head_owner, pull.head),
            base: pull.base.clone(),
            title: pull.title.clone(),
            body: pull.body.clone(),
            author: pull.author.clone(),
            draft: pull.draft,
            labels: pull.labels.clone(),
            closes: pull.closes.clone(),
        });
        opened.collect()
    }

    /// The commit at the head of a pull request.
    pub fn head(&self, at: &PullAt) -> String {
        self.with(at, |pull| pull.head_sha.clone())
    }

    /// The check runs of a repository as REST shows them, with all annotations in `output.annotations`.
    pub fn check_runs(&self, repository: &str) -> Vec<Value> {
        let state = self.state();
        let view = View { state: &state, server: self.desk.address() };
        let (owner, name) = repository.split_once('/').unwrap();
        let repository = state.repository(owner, name).unwrap();
        let runs = repository.check_runs.iter().map(|run| {
            let mut value = view.check_run(repository, run);
            value["output"]["annotations"] = run.annotations.iter().cloned().collect();
            value
        });
        runs.collect()
    }

    /// The SARIF reports of a repository, in the order in which they came.
    pub fn sarifs(&self, repository: &str) -> Vec<Sarif> {
        let (owner, name) = repository.split_once('/').unwrap();
        self.state().repository(owner, name).unwrap().sarifs.clone()
    }

    /// All that can be seen of a pull request, as a text to compare: no times, no commits by their hashes, numbers in the
    /// order in which they came.
    pub fn shown(&self, at: &PullAt) -> String {
        self.with(at, show::pull)
    }

    /// Everything that is there now, to begin from again.
    pub fn kept(&self) -> Kept {
        Kept(self.state().clone())
    }

    /// Makes everything as it was. Writes are still counted on, and git has what was pushed meanwhile.
    pub fn put_back(&self, kept: &Kept) {
        let mut state = self.state();
        let surprises = std::mem::take(&mut state.surprises);
        *state = kept.0.clone();
        state.surprises = surprises;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.desk.state()
    }

    fn with<T>(&self, at: &PullAt, look: impl FnOnce(&PullRequest) -> T) -> T {
        let state = self.state();
        let (owner, name) = at.repository.split_once('/').unwrap();
        look(&state.repository(owner, name).unwrap().pulls[&at.number])
    }
}

impl Drop for FakeGitHub {
    fn drop(&mut self) {
        for held in &self.desk.traffic().held {
            held.release();
        }
        drop(self.server.take());
        // The check of requests and replies against GitHub's own description reads them from there.
        if let Some(folder) = std::env::var_os(EXCHANGES) {
            let traffic = self.desk.traffic();
            let lines = traffic.exchanges.iter().filter_map(Exchange::line);
            let lines: Vec<String> = lines.collect();
            let name = self.folder.path().file_name().unwrap_or_default().to_string_lossy();
            let path = Path::new(&folder).join(format!("{}.jsonl", name.trim_start_matches('.')));
            std::fs::write(path, lines.concat()).unwrap();
        }
    }
}
