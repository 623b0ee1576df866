//! What the fake knows: accounts, tokens, repositories, and all that was said on pull requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::diff::{Diff, Side};
use super::git::{Bare, Commit, Context};

/// The first second of the fake's own time, 2026-01-01. What is written later is so many seconds younger.
const FIRST_SECOND: u64 = 1_767_225_600;

/// The state of a review that was not submitted.
pub(super) const PENDING: &str = "PENDING";

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) accounts: Vec<Account>,
    pub(super) tokens: BTreeMap<String, Token>,
    pub(super) repositories: Vec<Repository>,
    pub(super) apps: Vec<App>,
    pub(super) surprises: Vec<String>,
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
    /// Read files, commits, and by git.
    Contents,
    /// Change files; strangely also needed to resolve a thread.
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
    /// Create check runs.
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
    /// When it ends, in real time; a person's token does not.
    pub(super) ends: Option<u64>,
    /// How many requests were counted against its limit.
    pub(super) used: u64,
}

#[derive(Debug, Clone)]
pub(super) struct App {
    pub(super) id: u64,
    pub(super) slug: String,
    /// DER, as `ring` takes it.
    pub(super) public_key: Vec<u8>,
    /// The installation's id, and the owner whose repositories it is for.
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
    pub(super) bare: Bare,
    pub(super) associations: BTreeMap<String, String>,
    pub(super) numbers: u64,
    pub(super) pulls: BTreeMap<u64, PullRequest>,
    pub(super) issues: BTreeMap<u64, Issue>,
    /// Whether issues are switched off.
    pub(super) without_issues: bool,
    /// The labels that there are.
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
    pub(super) commits: Vec<Commit>,
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
    /// GitHub's number for it among all things.
    pub id: u64,
    /// Its number in the repository.
    pub number: u64,
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// Who has opened it.
    pub author: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// Whether it is not closed.
    pub open: bool,
    pub(super) created: u64,
    pub(super) deleted: bool,
}

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// GitHub's number for it.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// The text.
    pub body: String,
    /// When, in seconds.
    pub created: u64,
    /// When it was changed for the last time.
    pub updated: u64,
    /// The review that it came with, if it did.
    pub review: Option<u64>,
    /// Whether it was hidden.
    pub minimized: bool,
}

/// A review that was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// GitHub's number for it.
    pub id: u64,
    /// Who posted it.
    pub author: String,
    /// `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED`, `DISMISSED`; `PENDING` as long as its author alone sees it.
    pub state: String,
    /// The text.
    pub body: String,
    /// The commit that it is about.
    pub commit: String,
    /// When, in seconds.
    pub created: u64,
}

/// A conversation about lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The global id.
    pub id: String,
    /// The file.
    pub path: String,
    /// The side of the last line.
    pub side: Side,
    /// The last line on the current diff; none if the thread is outdated.
    pub line: Option<u32>,
    /// The first line, if there are several.
    pub start_line: Option<u32>,
    /// The side of the first line.
    pub start_side: Option<Side>,
    /// The last line when the thread began.
    pub original_line: u32,
    /// The first line when the thread began.
    pub original_start_line: Option<u32>,
    /// The head when the thread began.
    pub original_commit: String,
    /// The hunk when the thread began, down to the line.
    pub diff_hunk: String,
    /// How far below the first header the line was.
    pub original_position: usize,
    /// Whether somebody called it settled.
    pub resolved: bool,
    /// Who did.
    pub resolved_by: Option<String>,
    /// Whether the code under it has changed since.
    pub outdated: bool,
    /// What was said.
    pub comments: Vec<Comment>,
}

#[derive(Debug, Clone)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) head_sha: String,
    pub(super) app: String,
    /// What was sent, later requests over earlier ones; annotations are all of them.
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
    /// The id that the upload was given.
    pub id: String,
    /// The commit it is about.
    pub commit: String,
    /// The ref it is about.
    pub reference: String,
    /// The report.
    pub report: Value,
}

impl State {
    /// A number that nothing else has.
    pub(super) fn id(&mut self) -> u64 {
        self.ids += 1;
        1_000 + self.ids
    }

    /// The time of something that happens now; nothing happens in the same second.
    pub(super) fn tick(&mut self) -> u64 {
        self.second += 1;
        FIRST_SECOND + self.second
    }

    /// The account with a name, made if there is none.
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

    /// The repository with a name in any case, unless it is gone.
    pub(super) fn repository(&self, owner: &str, name: &str) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.is(owner, name))
    }

    pub(super) fn repository_mut(&mut self, owner: &str, name: &str) -> Option<&mut Repository> {
        self.repositories.iter_mut().find(|repository| repository.is(owner, name))
    }

    pub(super) fn repository_by_id(&self, id: u64) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.id == id && !repository.gone)
    }

    /// The thread with a global id, and where it is.
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

    /// The comment with a global id, whatever it is about.
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

    /// What somebody is to this repository.
    pub(super) fn association(&self, login: &str) -> &str {
        let known = self.associations.get(login).map(String::as_str);
        known.unwrap_or(if self.owner == login { "OWNER" } else { "NONE" })
    }
}

impl PullRequest {
    /// Looks again at what is between base and head, and where that leaves the threads.
    pub(super) fn compare(&mut self, bare: &Bare) {
        let base = bare.merge_base(&self.base_sha, &self.head_sha);
        self.merge_base = base.unwrap_or_else(|| self.base_sha.clone());
        self.diff = Arc::new(bare.diff(&self.merge_base, &self.head_sha, Context::Three));
        self.commits = bare.commits(&self.base_sha, &self.head_sha);
        let mut since: HashMap<String, Diff> = HashMap::new();
        for thread in &mut self.threads {
            let changed = since.entry(thread.original_commit.clone()).or_insert_with(|| {
                bare.diff(&thread.original_commit, &self.head_sha, Context::None)
            });
            thread.place(changed, &self.diff);
        }
    }

    /// Whether a comment is in a review that was not submitted.
    pub(super) fn is_pending(&self, comment: &Comment) -> bool {
        let of = |review: &&Review| Some(review.id) == comment.review;
        self.reviews.iter().find(of).is_some_and(|review| review.state == PENDING)
    }

    /// Whether a commit is one that this pull request proposes.
    pub(super) fn proposes(&self, sha: &str) -> bool {
        self.head_sha == sha || self.commits.iter().any(|commit| commit.sha == sha)
    }
}

impl Thread {
    /// Where its lines are now: on the right, those that became of them if they still say the same; and only if the diff
    /// still shows them.
    fn place(&mut self, changed: &Diff, diff: &Diff) {
        let now = |side: Side, line: u32| {
            let mapped = match (side, changed.file(&self.path)) {
                (Side::Left, _) | (Side::Right, None) => line,
                (Side::Right, Some(file)) => file.mapped(line)?,
            };
            diff.file(&self.path)?.shown(side, mapped).map(|_| mapped)
        };
        let line = now(self.side, self.original_line);
        let first = self.original_start_line;
        let start = first.map(|first| now(self.start_side.unwrap_or(self.side), first));
        let gone = line.is_none() || start == Some(None);
        self.outdated = gone;
        self.line = line.filter(|_| !gone);
        self.start_line = start.flatten().filter(|_| !gone);
    }
}
