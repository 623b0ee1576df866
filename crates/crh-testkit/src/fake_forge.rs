//! A stateful fake of forges with plain REST APIs, on loopback: GitLab, or Gitea and Forgejo. It
//! serves the API and git over HTTP, with real repositories and scripted faults.
//!
//! `surprises` lists requests that crh should not send. `scripts/check-gitlab-fake` and
//! `scripts/check-gitea-fake` test the fake with public client libraries.
//!
//! ```ignore
//! let forge = FakeForge::start(Dialect::GitLab);
//! forge.repository("acme/web/shop", &repo);
//! let change = forge.change("acme/web/shop", Change::default());
//! program.envs(forge.environment());
//! ```

mod code;
mod diff;
mod gitea;
mod gitlab;
mod server;
mod state;

use std::sync::{Arc, MutexGuard};

use server::{FakeForgeServer, ForgeCall, ForgeReply};
use state::{ClosedIssue, FakeForgeState, Pipeline, Project, ProposedChange};
pub use state::{ForgeComment, ForgeThread};
use tempfile::TempDir;

use crate::fake_github::git::FakeBareRepository;
pub use crate::fake_github::{Exchange, Fault, FaultKind, HoldPoint, WriteHold};
use crate::http::Server;
use crate::repo::Repo;

/// Account of the program under test.
pub const REVIEWER: &str = "crh-reviewer";

/// Token of [`REVIEWER`].
pub const TOKEN: &str = "glpat-fakeTokenOfTheReviewer";

/// Token of a CI job, which may only read.
pub const JOB_TOKEN: &str = "fakeJobToken";

/// Which forge the fake imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// GitLab, API v4.
    GitLab,
    /// Gitea and Forgejo, API v1.
    Gitea,
}

/// How a dialect differs from the others.
struct DialectRules {
    version: &'static str,
    api_path: &'static str,
    /// Path between repository and number in the web address of a change.
    change_path: &'static str,
    /// Path between `refs/` and the number in the name of a change's ref.
    ref_path: &'static str,
    server_variable: &'static str,
    token_variable: &'static str,
    /// Status and message for a comment on a line outside the diff.
    bad_line: (u16, &'static str),
    answer: fn(&mut FakeForgeState, &ForgeCall) -> ForgeReply,
}

impl Dialect {
    fn rules(self) -> &'static DialectRules {
        match self {
            Self::GitLab => &gitlab::RULES,
            Self::Gitea => &gitea::RULES,
        }
    }
}

/// A change to propose.
#[derive(Debug, Clone)]
pub struct Change {
    /// Source branch.
    pub head: String,
    /// Target branch.
    pub base: String,
    /// Repository of the source branch; the target repository if empty.
    pub source: String,
    /// Title.
    pub title: String,
    /// Description.
    pub body: String,
    /// Login of the author.
    pub author: String,
    /// Labels.
    pub labels: Vec<String>,
    /// Whether it is a draft.
    pub draft: bool,
}

impl Default for Change {
    fn default() -> Self {
        Self {
            head: "feature".to_owned(),
            base: "main".to_owned(),
            source: String::new(),
            title: "A change".to_owned(),
            body: String::new(),
            author: "author".to_owned(),
            labels: Vec::new(),
            draft: false,
        }
    }
}

/// Names a proposed change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeHandle {
    /// Target repository.
    pub repository: String,
    /// Number.
    pub number: u64,
}

/// A fake forge. Stops when dropped.
#[derive(Debug)]
pub struct FakeForge {
    server: Option<Server>,
    service: Arc<FakeForgeServer>,
    /// Bare repositories.
    folder: TempDir,
}

impl FakeForge {
    /// Starts a forge without repositories on a free port.
    pub fn start(dialect: Dialect) -> Self {
        Self::start_below(dialect, "")
    }

    /// Starts a forge whose pages are below a path, such as `/gitlab`.
    pub fn start_below(dialect: Dialect, path: &str) -> Self {
        let service = Arc::new(FakeForgeServer::new(dialect, path));
        let server = Server::start(service.clone()).unwrap();
        service.set_address(format!("http://{}{path}", server.address()));
        let forge = Self { server: Some(server), service, folder: TempDir::new().unwrap() };
        forge.token(TOKEN, REVIEWER);
        forge
    }

    /// Web address.
    pub fn url(&self) -> String {
        self.service.address().to_owned()
    }

    /// Web address of a change.
    pub fn change_url(&self, change: &ChangeHandle) -> String {
        let path = self.service.dialect.rules().change_path;
        format!("{}/{}/{path}/{}", self.url(), change.repository, change.number)
    }

    /// Environment for a program that uses this forge as [`REVIEWER`].
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let rules = self.service.dialect.rules();
        vec![(rules.server_variable, self.url()), (rules.token_variable, TOKEN.to_owned())]
    }

    /// Adds a token of an account.
    pub fn token(&self, token: &str, login: &str) -> &Self {
        self.state().user_id(login);
        self.state().tokens.insert(token.to_owned(), login.to_owned());
        self
    }

    /// Adds a repository with the branches of a test repository.
    pub fn repository(&self, path: &str, repo: &Repo) -> &Self {
        self.add_project(path, repo, None)
    }

    /// Adds a fork.
    pub fn fork(&self, path: &str, parent: &str, repo: &Repo) -> &Self {
        self.add_project(path, repo, Some(parent))
    }

    fn add_project(&self, path: &str, repo: &Repo, parent: Option<&str>) -> &Self {
        let folder = self.folder.path().join(format!("{}.git", path.replace('/', "+")));
        let bare = FakeBareRepository::new(folder, repo.path());
        let mut state = self.state();
        let id = state.next_id();
        let parent = parent.map(str::to_owned);
        let project = Project { id, bare, parent, ..Project::default_of(path) };
        state.projects.insert(path.to_owned(), project);
        drop(state);
        self.member(path, REVIEWER, 30)
    }

    /// Sets the access level of a member: 20 is a reporter, 30 a developer.
    pub fn member(&self, path: &str, login: &str, level: u32) -> &Self {
        let mut state = self.state();
        state.user_id(login);
        state.projects.get_mut(path).unwrap().members.insert(login.to_owned(), level);
        self
    }

    /// Hides a repository from everyone but its members.
    pub fn hide(&self, path: &str) -> &Self {
        self.state().projects.get_mut(path).unwrap().is_private = true;
        self
    }

    /// Sets the version that the forge reports.
    pub fn set_version(&self, version: &str) -> &Self {
        self.state().version = version.to_owned();
        self
    }

    /// Proposes a change.
    pub fn change(&self, repository: &str, change: Change) -> ChangeHandle {
        let number = self.state().propose(repository, change);
        ChangeHandle { repository: repository.to_owned(), number }
    }

    /// Fetches the current branches of the test repositories and updates the change, as after a
    /// push.
    pub fn push(&self, change: &ChangeHandle) {
        self.state().push(&change.repository, change.number);
    }

    /// Closes a change.
    pub fn close(&self, change: &ChangeHandle) {
        self.with(change, |found| found.is_open = false);
    }

    /// Adds a general comment.
    pub fn comment(&self, change: &ChangeHandle, author: &str, body: &str) -> u64 {
        self.state().add_comment(&change.repository, change.number, author, body)
    }

    /// Adds a thread on a line of the new file.
    pub fn thread(
        &self,
        change: &ChangeHandle,
        author: &str,
        at: (&str, u32),
        body: &str,
    ) -> String {
        self.state().add_thread(&change.repository, change.number, author, at, body)
    }

    /// Replies in a thread. Returns the id of the reply.
    pub fn reply(&self, change: &ChangeHandle, thread: &str, author: &str, body: &str) -> u64 {
        self.state().add_reply(&change.repository, change.number, thread, author, body)
    }

    /// Adds a GitLab pipeline at the head, with the names and states of its jobs.
    pub fn pipeline(&self, change: &ChangeHandle, jobs: &[(&str, &str)]) {
        let id = self.state().next_id();
        let jobs = jobs.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned()));
        self.with(change, |found| {
            let sha = found.refs().head.clone();
            found.pipelines.push(Pipeline { id, sha, jobs: jobs.collect() });
        });
    }

    /// Makes a change close an issue.
    pub fn closes_issue(&self, change: &ChangeHandle, number: u64, title: &str, body: &str) {
        let (title, body) = (title.to_owned(), body.to_owned());
        self.with(change, |found| found.closes.push(ClosedIssue { number, title, body }));
    }

    /// Reactions: comment ids and names, in order of arrival.
    pub fn reactions(&self) -> Vec<(u64, String)> {
        self.state().reactions.clone()
    }

    /// Adds a fault. Of the faults that fit a request, the first one applies.
    pub fn fail(&self, fault: Fault) -> &Self {
        self.service.traffic().faults.push(fault);
        self
    }

    /// Holds a write by number until the test releases it.
    pub fn hold_write(&self, number: usize, moment: HoldPoint) -> WriteHold {
        let hold = WriteHold::new(number, moment);
        self.service.traffic().held.push(hold.held.clone());
        hold
    }

    /// All requests, in order of arrival.
    pub fn requests(&self) -> Vec<Exchange> {
        self.service.traffic().exchanges.clone()
    }

    /// Number of writes that arrived.
    pub fn writes_received(&self) -> usize {
        self.service.traffic().writes
    }

    /// Requests that the forge does not know or that crh should not send. Tests expect none.
    pub fn surprises(&self) -> Vec<String> {
        self.state().surprises.clone()
    }

    /// General comments, oldest first.
    pub fn comments(&self, change: &ChangeHandle) -> Vec<ForgeComment> {
        self.with(change, |found| found.comments.clone())
    }

    /// Threads on lines, oldest first.
    pub fn threads(&self, change: &ChangeHandle) -> Vec<ForgeThread> {
        self.with(change, |found| found.threads.clone())
    }

    /// Logins of the accounts that approved.
    pub fn approvals(&self, change: &ChangeHandle) -> Vec<String> {
        self.with(change, |found| found.approvals.iter().cloned().collect())
    }

    /// States and descriptions of the commit statuses, oldest first.
    pub fn statuses(&self, repository: &str) -> Vec<(String, String)> {
        let state = self.state();
        let statuses = state.projects[repository].statuses.iter();
        statuses.map(|status| (status.state.clone(), status.description.clone())).collect()
    }

    /// Head commit of a change.
    pub fn head(&self, change: &ChangeHandle) -> String {
        self.with(change, |found| found.refs().head.clone())
    }

    fn state(&self) -> MutexGuard<'_, FakeForgeState> {
        self.service.state()
    }

    fn with<T>(&self, change: &ChangeHandle, run: impl FnOnce(&mut ProposedChange) -> T) -> T {
        run(self.state().change_mut(&change.repository, change.number).unwrap())
    }
}

impl Drop for FakeForge {
    fn drop(&mut self) {
        drop(self.server.take());
    }
}
