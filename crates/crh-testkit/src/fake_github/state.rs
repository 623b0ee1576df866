//! State of the fake: accounts, tokens, repositories and discussions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::diff::{Diff, Side};
use super::git::{DiffContext, FakeBareRepository, FakeCommit};

/// Start of the fake's clock, 2026-01-01. Each event adds a second.
const FIRST_SECOND: u64 = 1_767_225_600;

pub(super) const PENDING: &str = "PENDING";

#[derive(Debug, Clone, Default)]
pub(super) struct FakeGitHubState {
    pub(super) accounts: Vec<Account>,
    pub(super) tokens: BTreeMap<String, Token>,
    pub(super) repositories: Vec<Repository>,
    pub(super) apps: Vec<App>,
    pub(super) surprises: Vec<String>,
    /// Client id and client secret of the App's sign-in.
    pub(super) oauth: Option<(String, String)>,
    /// Account whose browser signs in.
    pub(super) oauth_login: Option<String>,
    /// Accounts by unused code.
    pub(super) oauth_codes: BTreeMap<String, String>,
    ids: u64,
    second: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) id: u64,
    pub(super) login: String,
    pub(super) bot: bool,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Read files and commits, also with git.
    Contents,
    /// Write files. Also required to resolve a thread.
    WriteContents,
    /// Read pull requests.
    ReadPulls,
    /// Post reviews, and comments on pull requests.
    WritePulls,
    /// Read issues.
    ReadIssues,
    /// Post comments on issues and pull requests.
    WriteIssues,
    /// Read check runs.
    ReadChecks,
    /// Create and change check runs.
    WriteChecks,
    /// Read commit statuses.
    ReadStatuses,
    /// Upload SARIF.
    WriteSecurity,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Contents,
        Self::WriteContents,
        Self::ReadPulls,
        Self::WritePulls,
        Self::ReadIssues,
        Self::WriteIssues,
        Self::ReadChecks,
        Self::WriteChecks,
        Self::ReadStatuses,
        Self::WriteSecurity,
    ];
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) login: String,
    pub(super) permissions: BTreeSet<Permission>,
    /// Expiry in real time; `None` for personal tokens.
    pub(super) ends: Option<u64>,
    /// Requests counted against the rate limit.
    pub(super) used: u64,
}

#[derive(Debug, Clone)]
pub(super) struct App {
    pub(super) id: u64,
    pub(super) slug: String,
    /// DER, as `ring` takes it.
    pub(super) public_key: Vec<u8>,
    /// Installation id and owner.
    pub(super) installation: (u64, String),
    pub(super) permissions: BTreeSet<Permission>,
}

#[derive(Debug, Clone)]
pub(super) struct Repository {
    pub(super) id: u64,
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) private: bool,
    pub(super) fork_of: Option<u64>,
    pub(super) gone: bool,
    pub(super) bare: FakeBareRepository,
    pub(super) associations: BTreeMap<String, String>,
    /// Roles by account: `read`, `triage`, `write`, `maintain`, `admin`.
    pub(super) roles: BTreeMap<String, String>,
    /// Comment ids and reactions, in order of arrival.
    pub(super) reactions: Vec<(u64, String)>,
    pub(super) numbers: u64,
    pub(super) pulls: BTreeMap<u64, PullRequest>,
    pub(super) issues: BTreeMap<u64, Issue>,
    /// Whether issues are disabled.
    pub(super) without_issues: bool,
    /// Existing labels.
    pub(super) labels: BTreeSet<String>,
    pub(super) check_runs: Vec<CheckRun>,
    pub(super) statuses: Vec<Status>,
    pub(super) sarifs: Vec<Sarif>,
}

#[derive(Debug, Clone)]
pub(super) struct PullRequest {
    pub(super) id: u64,
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: String,
    pub(super) draft: bool,
    pub(super) open: bool,
    pub(super) labels: Vec<String>,
    pub(super) base: String,
    pub(super) base_sha: String,
    /// The repository of the head, by its id.
    pub(super) head_repository: u64,
    pub(super) head_owner: String,
    pub(super) head: String,
    pub(super) head_sha: String,
    pub(super) merge_base: String,
    pub(super) diff: Arc<Diff>,
    pub(super) commits: Vec<FakeCommit>,
    pub(super) created: u64,
    pub(super) updated: u64,
    pub(super) closes: Vec<u64>,
    pub(super) comments: Vec<Comment>,
    pub(super) reviews: Vec<Review>,
    pub(super) threads: Vec<Thread>,
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Global id.
    pub id: u64,
    /// Its number in the repository.
    pub number: u64,
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// Author.
    pub author: String,
    /// Labels.
    pub labels: Vec<String>,
    /// Whether it is open.
    pub open: bool,
    pub(super) created: u64,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Id.
    pub id: u64,
    /// Author.
    pub author: String,
    /// The text.
    pub body: String,
    /// Creation time in seconds.
    pub created: u64,
    /// Time of the last change.
    pub updated: u64,
    /// Review that it belongs to.
    pub review: Option<u64>,
    /// Whether it was hidden.
    pub minimized: bool,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Id.
    pub id: u64,
    /// Author.
    pub author: String,
    /// `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED`, `DISMISSED` or `PENDING`.
    pub state: String,
    /// The text.
    pub body: String,
    /// Reviewed commit.
    pub commit: String,
    /// Creation time in seconds.
    pub created: u64,
}

/// An inline thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// GraphQL id.
    pub id: String,
    /// The file.
    pub path: String,
    /// The side of the last line.
    pub side: Side,
    /// Last line in the current diff; `None` if outdated.
    pub line: Option<u32>,
    /// First line of a range.
    pub start_line: Option<u32>,
    /// The side of the first line.
    pub start_side: Option<Side>,
    /// Last line when the thread was opened.
    pub original_line: u32,
    /// First line when the thread was opened.
    pub original_start_line: Option<u32>,
    /// Commit that the thread was opened on.
    pub original_commit: String,
    /// Hunk when the thread was opened, up to the line.
    pub diff_hunk: String,
    /// Distance of the line from the first hunk header.
    pub original_position: usize,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Account that resolved it.
    pub resolved_by: Option<String>,
    /// Whether its lines changed, or left the diff, since the thread was opened.
    pub outdated: bool,
    /// Comments.
    pub comments: Vec<Comment>,
}

#[derive(Debug, Clone)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) head_sha: String,
    pub(super) app: String,
    /// Merged fields of all requests. Only `annotations` has the annotations of all requests.
    pub(super) fields: serde_json::Map<String, Value>,
    pub(super) annotations: Vec<Value>,
}

#[derive(Debug, Clone)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) sha: String,
    pub(super) context: String,
    pub(super) state: String,
    pub(super) created: u64,
}

/// An uploaded SARIF report.
#[derive(Debug, Clone, PartialEq)]
pub struct Sarif {
    /// Upload id.
    pub id: String,
    /// Commit.
    pub commit: String,
    /// Ref.
    pub reference: String,
    /// The report.
    pub report: Value,
}

impl FakeGitHubState {
    /// A new unique id.
    pub(super) fn id(&mut self) -> u64 {
        self.ids += 1;
        1_000 + self.ids
    }

    /// Advances the clock by a second.
    pub(super) fn tick(&mut self) -> u64 {
        self.second += 1;
        FIRST_SECOND + self.second
    }

    /// Creates the account if it does not exist.
    pub(super) fn ensure(&mut self, login: &str) {
        if self.account(login).is_none() {
            let id = self.id();
            let bot = login.ends_with("[bot]");
            self.accounts.push(Account { id, login: login.to_owned(), bot });
        }
    }

    pub(super) fn account(&self, login: &str) -> Option<&Account> {
        self.accounts.iter().find(|account| account.login == login)
    }

    /// Finds a repository, ignoring case.
    pub(super) fn repository(&self, owner: &str, name: &str) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.is(owner, name))
    }

    pub(super) fn repository_mut(&mut self, owner: &str, name: &str) -> Option<&mut Repository> {
        self.repositories.iter_mut().find(|repository| repository.is(owner, name))
    }

    pub(super) fn repository_by_id(&self, id: u64) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.id == id && !repository.gone)
    }

    /// Finds a thread by GraphQL id.
    pub(super) fn thread(&self, id: &str) -> Option<(&Repository, &PullRequest, &Thread)> {
        self.repositories.iter().find_map(|repository| {
            repository.pulls.values().find_map(|pull| {
                let thread = pull.threads.iter().find(|thread| thread.id == id)?;
                Some((repository, pull, thread))
            })
        })
    }

    pub(super) fn thread_mut(&mut self, id: &str) -> Option<&mut Thread> {
        self.pulls_mut().flat_map(|pull| &mut pull.threads).find(|thread| thread.id == id)
    }

    /// Finds a comment by GraphQL id.
    pub(super) fn comment_mut(&mut self, id: &str) -> Option<&mut Comment> {
        let (prefix, number) = id.split_once('_')?;
        let number: u64 = number.parse().ok()?;
        match prefix {
            "IC" => {
                let mut comments = self.pulls_mut().flat_map(|pull| &mut pull.comments);
                comments.find(|comment| comment.id == number)
            }
            "PRRC" => {
                let threads = self.pulls_mut().flat_map(|pull| &mut pull.threads);
                let mut comments = threads.flat_map(|thread| &mut thread.comments);
                comments.find(|comment| comment.id == number)
            }
            _ => None,
        }
    }

    fn pulls_mut(&mut self) -> impl Iterator<Item = &mut PullRequest> {
        self.repositories.iter_mut().flat_map(|repository| repository.pulls.values_mut())
    }
}

impl Repository {
    fn is(&self, owner: &str, name: &str) -> bool {
        let same = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
        !self.gone && same(&self.owner, owner) && same(&self.name, name)
    }

    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Role of an account in GitHub's words.
    pub(super) fn role(&self, login: &str) -> &str {
        match self.roles.get(login) {
            Some(role) => role,
            None if self.owner == login => "admin",
            None if self.private => "",
            None => "read",
        }
    }

    /// Association of an account.
    pub(super) fn association(&self, login: &str) -> &str {
        let association = self.associations.get(login).map(String::as_str);
        association.unwrap_or(if self.owner == login { "OWNER" } else { "NONE" })
    }
}

impl PullRequest {
    /// Recomputes the diff and the positions of the threads.
    pub(super) fn compare(&mut self, bare: &FakeBareRepository) {
        let base = bare.merge_base(&self.base_sha, &self.head_sha);
        self.merge_base = base.unwrap_or_else(|| self.base_sha.clone());
        self.diff = Arc::new(bare.diff(&self.merge_base, &self.head_sha, DiffContext::Three));
        self.commits = bare.commits(&self.base_sha, &self.head_sha);
        let mut since: HashMap<String, Diff> = HashMap::new();
        for thread in &mut self.threads {
            let changed = since.entry(thread.original_commit.clone()).or_insert_with(|| {
                bare.diff(&thread.original_commit, &self.head_sha, DiffContext::None)
            });
            thread.place(changed, &self.diff);
        }
    }

    pub(super) fn is_pending(&self, comment: &Comment) -> bool {
        let is_review = |review: &&Review| Some(review.id) == comment.review;
        self.reviews.iter().find(is_review).is_some_and(|review| review.state == PENDING)
    }

    /// Whether the pull request contains a commit.
    pub(super) fn proposes(&self, sha: &str) -> bool {
        self.head_sha == sha || self.commits.iter().any(|commit| commit.sha == sha)
    }
}

impl Thread {
    /// Updates the position: follows unchanged lines on the new side, if the diff still shows them.
    fn place(&mut self, changed: &Diff, diff: &Diff) {
        let now = |side: Side, line: u32| {
            let mapped = match (side, changed.file(&self.path)) {
                (Side::Left, _) | (Side::Right, None) => line,
                (Side::Right, Some(file)) => file.map_line(line)?,
            };
            diff.file(&self.path)?.find_row(side, mapped).map(|_| mapped)
        };
        let line = now(self.side, self.original_line);
        let start_line = self.original_start_line;
        let start = start_line.map(|first| now(self.start_side.unwrap_or(self.side), first));
        let gone = line.is_none() || start == Some(None);
        self.outdated = gone;
        self.line = line.filter(|_| !gone);
        self.start_line = start.flatten().filter(|_| !gone);
    }
}
