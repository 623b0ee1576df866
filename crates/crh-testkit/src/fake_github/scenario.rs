//! What others do at GitHub: open repositories and pull requests, push, comment, reply, resolve.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::diff::{Diff, Side};
use super::git::Bare;
use super::rest::key_of;
use super::state::{
    App, CheckRun, Comment, Issue, PENDING, Permission, PullRequest, Repository, State, Status,
    Thread, Token,
};
use super::{APP_KEY, FakeGitHub};

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// The branch with the change; `owner:branch` for one in a fork.
    pub head: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// The title.
    pub title: String,
    /// The description.
    pub body: String,
    /// Who opens it.
    pub author: String,
    /// Whether it is unfinished.
    pub draft: bool,
    /// The labels.
    pub labels: Vec<String>,
    /// The numbers of the issues that it closes.
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

/// Which pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullAt {
    /// `owner/name`.
    pub repository: String,
    /// Its number there.
    pub number: u64,
}

impl fmt::Display for PullAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repository, self.number)
    }
}

impl FakeGitHub {
    /// A token of an account, which is made if there is none. One whose name ends in `[bot]` is a bot.
    pub fn token(&self, text: &str, login: &str, permissions: &[Permission]) -> &Self {
        let mut state = self.desk.state();
        state.ensure(login);
        let permissions = permissions.iter().copied().collect();
        let token = Token { login: login.to_owned(), permissions, ends: None, used: 0 };
        state.tokens.insert(text.to_owned(), token);
        drop(state);
        self
    }

    /// All tokens of installations are at their end, as after an hour.
    pub fn end_tokens(&self) {
        for token in self.desk.state().tokens.values_mut() {
            token.ends = token.ends.map(|_| 0);
        }
    }

    /// Removes an account. What it wrote stays, by nobody.
    pub fn remove_account(&self, login: &str) {
        self.desk.state().accounts.retain(|account| account.login != login);
    }

    /// Installs an App that signs with [`APP_KEY`] for the repositories of an owner; its id.
    pub fn app(&self, slug: &str, owner: &str, permissions: &[Permission]) -> u64 {
        let mut state = self.desk.state();
        state.ensure(owner);
        let (id, installation) = (state.id(), (state.id(), owner.to_owned()));
        state.apps.push(App {
            id,
            slug: slug.to_owned(),
            public_key: key_of(APP_KEY),
            installation,
            permissions: permissions.iter().copied().collect(),
        });
        id
    }

    /// A repository `owner/name` with the branches of one of the test's, a [`crate::Repo`] or a folder.
    pub fn repository(&self, name: &str, source: impl AsRef<Path>) -> &Self {
        self.add(name, source.as_ref(), None);
        self
    }

    /// A fork of another repository, with the branches of one of the test's.
    pub fn fork(&self, name: &str, of: &str, source: impl AsRef<Path>) -> &Self {
        self.add(name, source.as_ref(), Some(of));
        self
    }

    fn add(&self, name: &str, source: &Path, of: Option<&str>) {
        let bare = Bare::new(self.folder.path().join(format!("{name}.git")), source);
        let mut state = self.desk.state();
        let fork_of = of.map(|of| {
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

    /// Deletes a repository, as people do with their forks.
    pub fn delete_repository(&self, name: &str) {
        self.in_repository(name, |repository| repository.gone = true);
    }

    /// Says what somebody is to a repository, by GitHub's word: `MEMBER`, `COLLABORATOR`, `CONTRIBUTOR`. The owner is
    /// `OWNER` and all others are `NONE` without being told.
    pub fn association(&self, name: &str, login: &str, word: &str) -> &Self {
        self.in_repository(name, |repository| {
            repository.associations.insert(login.to_owned(), word.to_owned());
        });
        self
    }

    /// Opens an issue; its number.
    pub fn issue(&self, repository: &str, author: &str, title: &str, body: &str) -> u64 {
        let mut state = self.desk.state();
        state.ensure(author);
        let (id, created) = (state.id(), state.tick());
        drop(state);
        let (title, body, author) = (title.to_owned(), body.to_owned(), author.to_owned());
        self.in_repository(repository, |repository| {
            repository.numbers += 1;
            let number = repository.numbers;
            let (labels, open, deleted) = (Vec::new(), true, false);
            let issue = Issue { id, number, title, body, author, labels, open, created, deleted };
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

    /// Switches the issues of a repository off.
    pub fn disable_issues(&self, repository: &str) {
        self.in_repository(repository, |repository| repository.without_issues = true);
    }

    /// Makes a label.
    pub fn label(&self, repository: &str, name: &str) {
        self.in_repository(repository, |repository| repository.labels.insert(name.to_owned()));
    }

    /// Deletes an issue.
    pub fn delete_issue(&self, repository: &str, number: u64) {
        self.in_repository(repository, |repository| {
            repository.issues.get_mut(&number).unwrap().deleted = true;
        });
    }

    /// Opens a pull request.
    pub fn pull(&self, repository: &str, pull: Pull) -> PullAt {
        let mut state = self.desk.state();
        state.ensure(&pull.author);
        let (owner, name) = repository.split_once('/').unwrap();
        let number = state.open((owner, name), pull).unwrap();
        let at = PullAt { repository: repository.to_owned(), number };
        state.push(&at).unwrap();
        at
    }

    /// Takes the branches of a pull request as they are now in the test's repositories: a push, or a force-push.
    pub fn push(&self, at: &PullAt) {
        self.desk.state().push(at).unwrap();
    }

    /// Takes the branches of a repository as they are now in the test's. Pull requests stay as they are.
    pub fn refresh(&self, name: &str) {
        self.in_repository(name, |repository| repository.bare.refresh());
    }

    /// Closes a pull request.
    pub fn close(&self, at: &PullAt) {
        self.in_pull(at, |pull| pull.open = false);
    }

    /// Calls a pull request unfinished.
    pub fn make_draft(&self, at: &PullAt) {
        self.in_pull(at, |pull| pull.draft = true);
    }

    /// Comments on a pull request as a whole; the comment's number.
    pub fn comment(&self, at: &PullAt, author: &str, body: &str) -> u64 {
        let comment = self.written(author, body);
        let id = comment.id;
        self.in_pull(at, |pull| pull.comments.push(comment));
        id
    }

    /// Deletes a comment on a pull request as a whole.
    pub fn delete_comment(&self, at: &PullAt, id: u64) {
        self.in_pull(at, |pull| pull.comments.retain(|comment| comment.id != id));
    }

    /// Leaves the last review of a pull request as an interruption does: begun, and not submitted.
    ///
    /// # Panics
    /// If there is none.
    pub fn unsubmit(&self, at: &PullAt) {
        self.in_pull(at, |pull| pull.reviews.last_mut().unwrap().state = PENDING.to_owned());
    }

    /// Begins a conversation about a line on the right side; its global id.
    ///
    /// # Panics
    /// If the diff does not show the line.
    pub fn thread(
        &self,
        at: &PullAt,
        author: &str,
        (path, line): (&str, u32),
        body: &str,
    ) -> String {
        let comment = self.written(author, body);
        let id = format!("PRRT_{}", self.desk.state().id());
        let thread = id.clone();
        self.in_pull(at, |pull| {
            let file = pull.diff.file(path).unwrap();
            let shown = file.shown(Side::Right, line).unwrap();
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
                diff_hunk: file.hunk_down_to(shown),
                original_position: file.position(shown),
                resolved: false,
                resolved_by: None,
                outdated: false,
                comments: vec![comment],
            };
            pull.threads.push(thread);
        });
        id
    }

    /// Replies in a conversation about lines; the reply's number.
    pub fn reply(&self, thread: &str, author: &str, body: &str) -> u64 {
        let comment = self.written(author, body);
        let id = comment.id;
        self.desk.state().thread_mut(thread).unwrap().comments.push(comment);
        id
    }

    /// Calls a conversation settled.
    pub fn resolve(&self, thread: &str, login: &str) {
        let mut state = self.desk.state();
        state.ensure(login);
        let thread = state.thread_mut(thread).unwrap();
        thread.resolved = true;
        thread.resolved_by = Some(login.to_owned());
    }

    /// A check run of another App on a commit. Without a conclusion it is still running.
    pub fn check(
        &self,
        repository: &str,
        sha: &str,
        name: &str,
        conclusion: Option<&str>,
    ) -> &Self {
        let id = self.desk.state().id();
        let status = if conclusion.is_some() { "completed" } else { "in_progress" };
        let fields = json!({ "name": name, "status": status, "conclusion": conclusion });
        let run = CheckRun {
            id,
            head_sha: sha.to_owned(),
            app: "ci".to_owned(),
            fields: fields.as_object().cloned().unwrap_or_default(),
            annotations: Vec::new(),
        };
        self.desk.state().ensure("ci[bot]");
        self.in_repository(repository, |repository| repository.check_runs.push(run));
        self
    }

    /// A commit status, by GitHub's word: `success`, `failure`, `error` or `pending`.
    pub fn status(&self, repository: &str, sha: &str, context: &str, word: &str) -> &Self {
        let mut state = self.desk.state();
        let (id, created) = (state.id(), state.tick());
        drop(state);
        let (sha, context, word) = (sha.to_owned(), context.to_owned(), word.to_owned());
        self.in_repository(repository, |repository| {
            repository.statuses.push(Status { id, sha, context, state: word, created });
        });
        self
    }

    fn written(&self, author: &str, body: &str) -> Comment {
        let mut state = self.desk.state();
        state.ensure(author);
        let (id, created) = (state.id(), state.tick());
        let (author, body) = (author.to_owned(), body.to_owned());
        Comment { id, author, body, created, updated: created, review: None, minimized: false }
    }

    fn in_pull<T>(&self, at: &PullAt, change: impl FnOnce(&mut PullRequest) -> T) -> T {
        let mut state = self.desk.state();
        let now = state.tick();
        let (owner, name) = at.repository.split_once('/').unwrap();
        let repository = state.repository_mut(owner, name).unwrap();
        let pull = repository.pulls.get_mut(&at.number).unwrap();
        pull.updated = now;
        change(pull)
    }

    fn in_repository<T>(&self, name: &str, change: impl FnOnce(&mut Repository) -> T) -> T {
        let mut state = self.desk.state();
        let (owner, name) = name.split_once('/').unwrap();
        change(state.repository_mut(owner, name).unwrap())
    }
}

impl State {
    /// Opens a pull request, without what its branches have; its number. None without a repository that it could come from.
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
        let opened = PullRequest {
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
        base.pulls.insert(number, opened);
        Some(number)
    }

    /// Takes the branches of a pull request as they are; else the name of the one that is not there.
    pub(super) fn push(&mut self, at: &PullAt) -> Result<(), String> {
        let updated = self.tick();
        let (owner, name) = at.repository.split_once('/').unwrap();
        let repository = self.repository(owner, name).unwrap();
        let bare = repository.bare.clone();
        let pull = &repository.pulls[&at.number];
        let from = self.repository_by_id(pull.head_repository).unwrap().bare.clone();
        bare.refresh();
        from.refresh();
        let head_sha = from.tip(&pull.head).ok_or_else(|| pull.head.clone())?;
        let base_sha = bare.tip(&pull.base).ok_or_else(|| pull.base.clone())?;
        bare.take_head(&from, &head_sha, at.number);
        let repository = self.repository_mut(owner, name).unwrap();
        let pull = repository.pulls.get_mut(&at.number).unwrap();
        (pull.head_sha, pull.base_sha, pull.updated) = (head_sha, base_sha, updated);
        pull.compare(&bare);
        Ok(())
    }
}
