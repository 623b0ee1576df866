//! Actions of people on GitHub: create repositories and pull requests, push, comment, reply,
//! resolve.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::diff::{Diff, Side};
use super::git::FakeBareRepository;
use super::rest::public_key;
use super::state::{
    App, CheckRun, Comment, FakeGitHubState, Issue, PENDING, Permission, PullRequest, Repository,
    Status, Thread, Token,
};
use super::{APP_KEY, FakeGitHub};

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Source branch; `owner:branch` for a fork.
    pub head: String,
    /// Target branch.
    pub base: String,
    /// The title.
    pub title: String,
    /// The description.
    pub body: String,
    /// Author.
    pub author: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// The labels.
    pub labels: Vec<String>,
    /// Numbers of issues that it closes.
    pub closes: Vec<u64>,
}

impl Default for Pull {
    fn default() -> Self {
        Self {
            head: "feature".to_owned(),
            base: "main".to_owned(),
            title: "A change".to_owned(),
            body: String::new(),
            author: "author".to_owned(),
            draft: false,
            labels: Vec::new(),
            closes: Vec::new(),
        }
    }
}

/// Identifies a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullHandle {
    /// `owner/name`.
    pub repository: String,
    /// Number.
    pub number: u64,
}

impl fmt::Display for PullHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repository, self.number)
    }
}

impl FakeGitHub {
    /// Adds a token, and its account if needed. Accounts ending in `[bot]` are bots.
    pub fn token(&self, text: &str, login: &str, permissions: &[Permission]) -> &Self {
        let mut state = self.service.state();
        state.ensure(login);
        let permissions = permissions.iter().copied().collect();
        let token = Token { login: login.to_owned(), permissions, ends: None, used: 0 };
        state.tokens.insert(text.to_owned(), token);
        drop(state);
        self
    }

    /// Expires all tokens of Apps and of users who signed in.
    pub fn end_tokens(&self) {
        for token in self.service.state().tokens.values_mut() {
            token.ends = token.ends.map(|_| 0);
        }
    }

    /// Deletes an account. Its texts stay without an author.
    pub fn remove_account(&self, login: &str) {
        self.service.state().accounts.retain(|account| account.login != login);
    }

    /// Id of the installation of an App.
    pub fn installation(&self, app: u64) -> u64 {
        let state = self.service.state();
        state.apps.iter().find(|one| one.id == app).unwrap().installation.0
    }

    /// Installs an App that signs with [`APP_KEY`] for the repositories of an owner. Returns
    /// the id of the App.
    pub fn app(&self, slug: &str, owner: &str, permissions: &[Permission]) -> u64 {
        let mut state = self.service.state();
        state.ensure(owner);
        let (id, installation) = (state.id(), (state.id(), owner.to_owned()));
        state.apps.push(App {
            id,
            slug: slug.to_owned(),
            public_key: public_key(APP_KEY),
            installation,
            permissions: permissions.iter().copied().collect(),
        });
        id
    }

    /// Adds a repository `owner/name` with the branches of a [`crate::Repo`] or a folder.
    pub fn repository(&self, name: &str, source: impl AsRef<Path>) -> &Self {
        self.add(name, source.as_ref(), None);
        self
    }

    /// Adds a fork with the branches of a test repository.
    pub fn fork(&self, name: &str, parent: &str, source: impl AsRef<Path>) -> &Self {
        self.add(name, source.as_ref(), Some(parent));
        self
    }

    fn add(&self, name: &str, source: &Path, parent: Option<&str>) {
        let bare = FakeBareRepository::new(self.folder.path().join(format!("{name}.git")), source);
        let mut state = self.service.state();
        let fork_of = parent.map(|of| {
            let (owner, name) = of.split_once('/').unwrap();
            state.repository(owner, name).unwrap().id
        });
        let (owner, name) = name.split_once('/').unwrap();
        state.ensure(owner);
        let id = state.id();
        state.repositories.push(Repository {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private: false,
            fork_of,
            gone: false,
            bare,
            associations: Default::default(),
            roles: Default::default(),
            reactions: Vec::new(),
            numbers: 0,
            pulls: Default::default(),
            issues: Default::default(),
            without_issues: false,
            labels: Default::default(),
            check_runs: Vec::new(),
            statuses: Vec::new(),
            sarifs: Vec::new(),
        });
    }

    /// Makes a repository private.
    pub fn make_private(&self, name: &str) -> &Self {
        self.in_repository(name, |repository| repository.private = true);
        self
    }

    /// Deletes a repository.
    pub fn delete_repository(&self, name: &str) {
        self.in_repository(name, |repository| repository.gone = true);
    }

    /// Sets an account's `author_association`: `MEMBER`, `COLLABORATOR`, `CONTRIBUTOR`. The default
    /// is `OWNER` for the owner and `NONE` for others.
    pub fn association(&self, name: &str, login: &str, word: &str) -> &Self {
        self.in_repository(name, |repository| {
            repository.associations.insert(login.to_owned(), word.to_owned());
        });
        self
    }

    /// Gives an account a role: `read`, `triage`, `write`, `maintain` or `admin`.
    pub fn role(&self, name: &str, login: &str, role: &str) -> &Self {
        self.service.state().ensure(login);
        self.in_repository(name, |repository| {
            repository.roles.insert(login.to_owned(), role.to_owned());
        });
        self
    }

    /// Lets a browser sign in as an account. Returns client id and client secret of the App.
    pub fn sign_in_as(&self, login: &str) -> (String, String) {
        let mut state = self.service.state();
        state.ensure(login);
        state.oauth_login = Some(login.to_owned());
        let client = ("Iv1.fake".to_owned(), "fake-client-secret".to_owned());
        state.oauth = Some(client.clone());
        client
    }

    /// Opens an issue and returns its number.
    pub fn issue(&self, repository: &str, author: &str, title: &str, body: &str) -> u64 {
        let mut state = self.service.state();
        state.ensure(author);
        let (id, created) = (state.id(), state.tick());
        drop(state);
        let (title, body, author) = (title.to_owned(), body.to_owned(), author.to_owned());
        self.in_repository(repository, |repository| {
            repository.numbers += 1;
            let number = repository.numbers;
            let (labels, open) = (Vec::new(), true);
            let issue = Issue { id, number, title, body, author, labels, open, created };
            repository.issues.insert(number, issue);
            number
        })
    }

    /// Closes an issue.
    pub fn close_issue(&self, repository: &str, number: u64) {
        self.in_repository(repository, |repository| {
            repository.issues.get_mut(&number).unwrap().open = false;
        });
    }

    /// Disables the issues of a repository.
    pub fn disable_issues(&self, repository: &str) {
        self.in_repository(repository, |repository| repository.without_issues = true);
    }

    /// Makes a label.
    pub fn label(&self, repository: &str, name: &str) {
        self.in_repository(repository, |repository| repository.labels.insert(name.to_owned()));
    }

    /// Opens a pull request.
    pub fn pull(&self, repository: &str, pull: Pull) -> PullHandle {
        let mut state = self.service.state();
        state.ensure(&pull.author);
        let (owner, name) = repository.split_once('/').unwrap();
        let number = state.open((owner, name), pull).unwrap();
        let handle = PullHandle { repository: repository.to_owned(), number };
        state.push(&handle).unwrap();
        handle
    }

    /// Pushes (or force-pushes) the current branches of the test repositories.
    pub fn push(&self, handle: &PullHandle) {
        self.service.state().push(handle).unwrap();
    }

    /// Updates the branches of a repository without touching pull requests.
    pub fn refresh(&self, name: &str) {
        self.in_repository(name, |repository| repository.bare.refresh());
    }

    /// Closes a pull request.
    pub fn close(&self, handle: &PullHandle) {
        self.in_pull(handle, |pull| pull.open = false);
    }

    /// Makes a pull request a draft.
    pub fn make_draft(&self, handle: &PullHandle) {
        self.in_pull(handle, |pull| pull.draft = true);
    }

    /// Adds a general comment and returns its id.
    pub fn comment(&self, handle: &PullHandle, author: &str, body: &str) -> u64 {
        let comment = self.new_comment(author, body);
        let id = comment.id;
        self.in_pull(handle, |pull| pull.comments.push(comment));
        id
    }

    /// Deletes a general comment.
    pub fn delete_comment(&self, handle: &PullHandle, id: u64) {
        self.in_pull(handle, |pull| pull.comments.retain(|comment| comment.id != id));
    }

    /// Makes the last review pending, as if its author was interrupted before submitting it.
    ///
    /// # Panics
    ///
    /// If there is no review.
    pub fn unsubmit(&self, handle: &PullHandle) {
        self.in_pull(handle, |pull| pull.reviews.last_mut().unwrap().state = PENDING.to_owned());
    }

    /// Opens a thread on a line of the new side and returns its GraphQL id.
    ///
    /// # Panics
    ///
    /// If the diff does not show the line.
    pub fn thread(
        &self,
        at: &PullHandle,
        author: &str,
        (path, line): (&str, u32),
        body: &str,
    ) -> String {
        let comment = self.new_comment(author, body);
        let id = format!("PRRT_{}", self.service.state().id());
        let thread = id.clone();
        self.in_pull(at, |pull| {
            let file = pull.diff.file(path).unwrap();
            let row = file.find_row(Side::Right, line).unwrap();
            let thread = Thread {
                id: thread,
                path: path.to_owned(),
                side: Side::Right,
                line: Some(line),
                start_line: None,
                start_side: None,
                original_line: line,
                original_start_line: None,
                original_commit: pull.head_sha.clone(),
                diff_hunk: file.hunk_down_to(row),
                original_position: file.position(row),
                resolved: false,
                resolved_by: None,
                outdated: false,
                comments: vec![comment],
            };
            pull.threads.push(thread);
        });
        id
    }

    /// Replies in a thread and returns the comment id.
    pub fn reply(&self, thread: &str, author: &str, body: &str) -> u64 {
        let comment = self.new_comment(author, body);
        let id = comment.id;
        self.service.state().thread_mut(thread).unwrap().comments.push(comment);
        id
    }

    /// Deletes a reply.
    ///
    /// # Panics
    ///
    /// If there is no such thread.
    pub fn delete_reply(&self, thread: &str, id: u64) {
        let mut state = self.service.state();
        state.thread_mut(thread).unwrap().comments.retain(|comment| comment.id != id);
    }

    /// Changes the text of the first comment of a thread, as an account with write access may.
    ///
    /// # Panics
    ///
    /// If there is no such thread.
    pub fn edit_first_comment(&self, thread: &str, edit: impl Fn(&str) -> String) {
        let mut state = self.service.state();
        let comment = &mut state.thread_mut(thread).unwrap().comments[0];
        comment.body = edit(&comment.body);
    }

    /// Resolves a thread.
    pub fn resolve(&self, thread: &str, login: &str) {
        let mut state = self.service.state();
        state.ensure(login);
        let thread = state.thread_mut(thread).unwrap();
        thread.resolved = true;
        thread.resolved_by = Some(login.to_owned());
    }

    /// Adds a check run of another App. Without a conclusion it is still running.
    pub fn check(
        &self,
        repository: &str,
        sha: &str,
        name: &str,
        conclusion: Option<&str>,
    ) -> &Self {
        let id = self.service.state().id();
        let status = if conclusion.is_some() { "completed" } else { "in_progress" };
        let fields = json!({ "name": name, "status": status, "conclusion": conclusion });
        let run = CheckRun {
            id,
            head_sha: sha.to_owned(),
            app: "ci".to_owned(),
            fields: fields.as_object().cloned().unwrap_or_default(),
            annotations: Vec::new(),
        };
        self.service.state().ensure("ci[bot]");
        self.in_repository(repository, |repository| repository.check_runs.push(run));
        self
    }

    /// Adds a commit status: `success`, `failure`, `error` or `pending`.
    pub fn status(&self, repository: &str, sha: &str, context: &str, word: &str) -> &Self {
        let mut state = self.service.state();
        let (id, created) = (state.id(), state.tick());
        drop(state);
        let (sha, context, word) = (sha.to_owned(), context.to_owned(), word.to_owned());
        self.in_repository(repository, |repository| {
            repository.statuses.push(Status { id, sha, context, state: word, created });
        });
        self
    }

    fn new_comment(&self, author: &str, body: &str) -> Comment {
        let mut state = self.service.state();
        state.ensure(author);
        let (id, created) = (state.id(), state.tick());
        let (author, body) = (author.to_owned(), body.to_owned());
        Comment { id, author, body, created, updated: created, review: None, minimized: false }
    }

    fn in_pull<T>(&self, handle: &PullHandle, change: impl FnOnce(&mut PullRequest) -> T) -> T {
        let mut state = self.service.state();
        let now = state.tick();
        let (owner, name) = handle.repository.split_once('/').unwrap();
        let repository = state.repository_mut(owner, name).unwrap();
        let pull = repository.pulls.get_mut(&handle.number).unwrap();
        pull.updated = now;
        change(pull)
    }

    fn in_repository<T>(&self, name: &str, change: impl FnOnce(&mut Repository) -> T) -> T {
        let mut state = self.service.state();
        let (owner, name) = name.split_once('/').unwrap();
        change(state.repository_mut(owner, name).unwrap())
    }
}

impl FakeGitHubState {
    /// Opens a pull request without its commits and returns its number; `None` if the source or
    /// target repository is missing.
    pub(super) fn open(&mut self, (owner, name): (&str, &str), pull: Pull) -> Option<u64> {
        let (id, created) = (self.id(), self.tick());
        let base = self.repository(owner, name)?;
        let (head_owner, head) = match pull.head.split_once(':') {
            None => (owner.to_owned(), pull.head.clone()),
            Some((owner, head)) => (owner.to_owned(), head.to_owned()),
        };
        let from = self.repositories.iter().find(|repository| {
            let of_base = repository.id == base.id || repository.fork_of == Some(base.id);
            of_base && repository.owner == head_owner
        });
        let head_repository = from?.id;
        let base = self.repository_mut(owner, name)?;
        base.numbers += 1;
        let number = base.numbers;
        let pull_request = PullRequest {
            id,
            number,
            title: pull.title,
            body: pull.body,
            author: pull.author,
            draft: pull.draft,
            open: true,
            labels: pull.labels,
            base: pull.base,
            base_sha: String::new(),
            head_repository,
            head_owner,
            head,
            head_sha: String::new(),
            merge_base: String::new(),
            diff: Arc::new(Diff::default()),
            commits: Vec::new(),
            created,
            updated: created,
            closes: pull.closes,
            comments: Vec::new(),
            reviews: Vec::new(),
            threads: Vec::new(),
        };
        base.pulls.insert(number, pull_request);
        Some(number)
    }

    /// Updates the branches of a pull request, or returns the name of a missing branch.
    pub(super) fn push(&mut self, handle: &PullHandle) -> Result<(), String> {
        let updated = self.tick();
        let (owner, name) = handle.repository.split_once('/').unwrap();
        let repository = self.repository(owner, name).unwrap();
        let bare = repository.bare.clone();
        let pull = &repository.pulls[&handle.number];
        let from = self.repository_by_id(pull.head_repository).unwrap().bare.clone();
        bare.refresh();
        from.refresh();
        let head_sha = from.tip(&pull.head).ok_or_else(|| pull.head.clone())?;
        let base_sha = bare.tip(&pull.base).ok_or_else(|| pull.base.clone())?;
        bare.fetch_head(&from, &head_sha, handle.number);
        let repository = self.repository_mut(owner, name).unwrap();
        let pull = repository.pulls.get_mut(&handle.number).unwrap();
        (pull.head_sha, pull.base_sha, pull.updated) = (head_sha, base_sha, updated);
        pull.compare(&bare);
        Ok(())
    }
}
