//! State of the fake: accounts, repositories, proposed changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::diff::{FileDiff, moved_line, parse};
use super::{Change, Dialect};
use crate::fake_github::git::FakeBareRepository;

#[derive(Debug)]
pub(super) struct FakeForgeState {
    pub(super) dialect: Dialect,
    pub(super) version: String,
    pub(super) users: BTreeMap<String, u64>,
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) projects: BTreeMap<String, Project>,
    pub(super) surprises: Vec<String>,
    /// Reactions: comment ids and names, in order of arrival.
    pub(super) reactions: Vec<(u64, String)>,
    last_id: u64,
}

#[derive(Debug)]
pub(super) struct Project {
    pub(super) id: u64,
    pub(super) path: String,
    pub(super) bare: FakeBareRepository,
    pub(super) parent: Option<String>,
    pub(super) is_private: bool,
    pub(super) members: BTreeMap<String, u32>,
    pub(super) changes: Vec<ProposedChange>,
    pub(super) statuses: Vec<Status>,
}

#[derive(Debug, Clone)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) sha: String,
    pub(super) state: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) author: String,
}

#[derive(Debug)]
pub(super) struct ProposedChange {
    pub(super) id: u64,
    pub(super) number: u64,
    pub(super) request: Change,
    pub(super) source: String,
    pub(super) is_open: bool,
    pub(super) versions: Vec<Refs>,
    pub(super) comments: Vec<ForgeComment>,
    pub(super) threads: Vec<ForgeThread>,
    pub(super) reviews: Vec<Review>,
    pub(super) approvals: BTreeSet<String>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) closes: Vec<ClosedIssue>,
}

/// A pipeline of GitLab.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) id: u64,
    pub(super) sha: String,
    /// Names and states.
    pub(super) jobs: Vec<(String, String)>,
}

/// An issue that a change closes.
#[derive(Debug, Clone)]
pub(super) struct ClosedIssue {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
}

/// Commits of a version: merge base, target, head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refs {
    pub(super) id: u64,
    pub(super) base: String,
    pub(super) start: String,
    pub(super) head: String,
}

/// A review of Gitea.
#[derive(Debug, Clone)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) author: String,
    pub(super) state: String,
    pub(super) body: String,
    pub(super) commit: String,
    pub(super) is_dismissed: bool,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeComment {
    /// Id.
    pub id: u64,
    /// Login of the author.
    pub author: String,
    /// Text.
    pub body: String,
    pub(super) created_at: String,
}

/// A thread on lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeThread {
    /// Id.
    pub id: String,
    /// File after the change.
    pub path: String,
    /// File before the change.
    pub old_path: String,
    /// Line in the old file, if the thread is on one.
    pub old_line: Option<u32>,
    /// Line in the new file, if the thread is on one.
    pub new_line: Option<u32>,
    /// Whether a push changed the line, or moved it out of the diff.
    pub outdated: bool,
    /// Whether the thread is resolved.
    pub resolved: bool,
    /// Login of the account that resolved it.
    pub resolved_by: Option<String>,
    /// Comments, oldest first.
    pub comments: Vec<ForgeComment>,
    /// Head commit of the version that the position refers to.
    pub(super) head: String,
    /// Position as the client sent it.
    pub(super) sent_position: Value,
    /// Id of the Gitea review that it belongs to, or 0.
    pub(super) review: u64,
}

impl Project {
    /// A project without an id and repository.
    pub(super) fn default_of(path: &str) -> Self {
        Self {
            id: 0,
            path: path.to_owned(),
            bare: FakeBareRepository { path: PathBuf::new(), source: PathBuf::new() },
            parent: None,
            is_private: false,
            members: BTreeMap::new(),
            changes: Vec::new(),
            statuses: Vec::new(),
        }
    }

    pub(super) fn can_read(&self, login: Option<&str>) -> bool {
        !self.is_private || login.is_some_and(|login| self.members.contains_key(login))
    }
}

impl ProposedChange {
    pub(super) fn refs(&self) -> &Refs {
        self.versions.last().unwrap()
    }
}

impl FakeForgeState {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            version: dialect.rules().version.to_owned(),
            users: BTreeMap::new(),
            tokens: BTreeMap::new(),
            projects: BTreeMap::new(),
            surprises: Vec::new(),
            reactions: Vec::new(),
            last_id: 100,
        }
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Id of an account, which is created if it does not exist.
    pub(super) fn user_id(&mut self, login: &str) -> u64 {
        if let Some(id) = self.users.get(login) {
            return *id;
        }
        let id = self.next_id();
        self.users.insert(login.to_owned(), id);
        id
    }

    pub(super) fn change_mut(
        &mut self,
        repository: &str,
        number: u64,
    ) -> Option<&mut ProposedChange> {
        let changes = &mut self.projects.get_mut(repository)?.changes;
        changes.iter_mut().find(|change| change.number == number)
    }

    pub(super) fn change(&self, repository: &str, number: u64) -> Option<&ProposedChange> {
        let changes = &self.projects.get(repository)?.changes;
        changes.iter().find(|change| change.number == number)
    }

    /// Creation time of the newest object. Each new id adds a second.
    fn time(&self) -> String {
        let seconds = self.last_id;
        format!(
            "2026-01-01T{:02}:{:02}:{:02}Z",
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60
        )
    }

    pub(super) fn propose(&mut self, repository: &str, request: Change) -> u64 {
        self.user_id(&request.author);
        let id = self.next_id();
        let source = match request.source.as_str() {
            "" => repository.to_owned(),
            source => source.to_owned(),
        };
        let project = self.projects.get_mut(repository).unwrap();
        let number = u64::try_from(project.changes.len()).unwrap() + 1;
        project.changes.push(ProposedChange {
            id,
            number,
            request,
            source,
            is_open: true,
            versions: Vec::new(),
            comments: Vec::new(),
            threads: Vec::new(),
            reviews: Vec::new(),
            approvals: BTreeSet::new(),
            pipelines: Vec::new(),
            closes: Vec::new(),
        });
        self.push(repository, number);
        number
    }

    /// Adds a version and moves the threads to it.
    pub(super) fn push(&mut self, repository: &str, number: u64) {
        let id = self.next_id();
        let change = self.change(repository, number).unwrap();
        let (source, head, base) =
            (change.source.clone(), change.request.head.clone(), change.request.base.clone());
        let source = self.projects[&source].bare.clone();
        let target = self.projects[repository].bare.clone();
        source.refresh();
        target.refresh();
        let head = source.tip(&head).unwrap();
        let prefix = self.dialect.rules().ref_path;
        target.fetch_ref(&source, &head, &format!("refs/{prefix}/{number}/head"));
        let start = target.tip(&base).unwrap();
        let base = target.merge_base(&start, &head).unwrap();
        let shown = parse(&target.diff_text(&base, &head));
        let change = self.change_mut(repository, number).unwrap();
        if let Some(last) = change.versions.last() {
            let push = parse(&target.diff_text(&last.head, &head));
            for thread in &mut change.threads {
                thread.follow_push(&push, &shown, &head);
            }
        }
        change.versions.push(Refs { id, base, start, head });
    }

    /// Diff of a change.
    pub(super) fn diff(&self, repository: &str, number: u64) -> Vec<FileDiff> {
        let refs = self.change(repository, number).unwrap().refs();
        parse(&self.projects[repository].bare.diff_text(&refs.base, &refs.head))
    }

    pub(super) fn new_comment(&mut self, author: &str, body: &str) -> ForgeComment {
        self.user_id(author);
        let id = self.next_id();
        let (author, body) = (author.to_owned(), body.to_owned());
        ForgeComment { id, author, body, created_at: self.time() }
    }

    pub(super) fn add_comment(
        &mut self,
        repository: &str,
        number: u64,
        author: &str,
        body: &str,
    ) -> u64 {
        let comment = self.new_comment(author, body);
        let id = comment.id;
        self.change_mut(repository, number).unwrap().comments.push(comment);
        id
    }

    pub(super) fn add_thread(
        &mut self,
        repository: &str,
        number: u64,
        author: &str,
        (path, line): (&str, u32),
        body: &str,
    ) -> String {
        let comment = self.new_comment(author, body);
        let id = format!("{:040x}", comment.id);
        let change = self.change_mut(repository, number).unwrap();
        let head = change.refs().head.clone();
        change.threads.push(ForgeThread {
            id: id.clone(),
            path: path.to_owned(),
            old_path: path.to_owned(),
            old_line: None,
            new_line: Some(line),
            outdated: false,
            resolved: false,
            resolved_by: None,
            comments: vec![comment],
            head,
            sent_position: Value::Null,
            review: 0,
        });
        id
    }

    pub(super) fn add_reply(
        &mut self,
        repository: &str,
        number: u64,
        thread: &str,
        author: &str,
        body: &str,
    ) -> u64 {
        let comment = self.new_comment(author, body);
        let id = comment.id;
        let change = self.change_mut(repository, number).unwrap();
        let thread = change.threads.iter_mut().find(|found| found.id == thread).unwrap();
        thread.comments.push(comment);
        id
    }
}

impl ForgeThread {
    /// Moves the thread to a new head if its line is unchanged and still shown; otherwise the
    /// thread becomes outdated. A thread on a line of the old file always moves.
    fn follow_push(&mut self, push: &[FileDiff], shown: &[FileDiff], head: &str) {
        if self.outdated {
            return;
        }
        let is_shown = |line: u32| {
            let file = shown.iter().find(|file| file.new_path == self.path);
            file.is_some_and(|file| file.lines.iter().any(|shown| shown.new == line))
        };
        match self.new_line.map(|line| moved_line(push, &self.path, line)) {
            Some(Some(line)) if is_shown(line) => {
                self.new_line = Some(line);
                head.clone_into(&mut self.head);
            }
            Some(_) => self.outdated = true,
            None => head.clone_into(&mut self.head),
        }
    }
}
