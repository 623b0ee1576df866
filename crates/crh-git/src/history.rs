//! The history of a change: its commits, and at most [`HISTORY_BEFORE_BASE`] commits up to the
//! base. `git log` and `git blame` see only these commits, so that their results are the same in
//! every kind of clone.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use crate::bare::BareRepository;
use crate::objects::{EMPTY_TREE, Objects};
use crate::process::{Git, GitError};
use crate::read_error::ReadError;

/// Maximum number of commits up to and including the base. They are few enough to fetch and pack.
pub const HISTORY_BEFORE_BASE: usize = 50;

/// Time limit of `git log` and `git blame`. A reviewer waits for them.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDetails {
    /// Full commit id.
    pub id: String,
    /// Author name.
    pub author: String,
    /// Author date, ISO 8601 with offset.
    pub authored: String,
    /// Commit date, ISO 8601 with offset.
    pub committed: String,
    /// First line of the message.
    pub subject: String,
    /// Rest of the message.
    pub body: String,
}

/// Origin of a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlameLine {
    /// Line number, 1-based.
    pub line: u64,
    /// Commit that introduced the line.
    pub commit: String,
    /// Whether the line may be older, because the visible history ends at this commit.
    pub may_be_older: bool,
    /// Line number in that commit.
    pub original_line: u64,
    /// Path in that commit, quoted by git if needed.
    pub original_path: Vec<u8>,
}

/// Commits of a change, and commits before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeHistory {
    /// Commits of the change, oldest first.
    pub change_commits: Vec<String>,
    /// The base and earlier commits, newest first.
    pub base_commits: Vec<String>,
    /// Commits with a parent outside of this history.
    pub boundary: BTreeSet<String>,
}

impl ChangeHistory {
    /// Loads the history. If the base is the empty tree, the history is only the commit `head`.
    pub fn load(store: &BareRepository, base: &str, head: &str) -> Result<Self, LogError> {
        let change_commits = store.change_commits(base, head)?;
        let limit = HISTORY_BEFORE_BASE.to_string();
        let base_commits = match base {
            EMPTY_TREE => Vec::new(),
            _ => rev_list(store, &["-n", &limit, base])?,
        };
        let mut history = Self { change_commits, base_commits, boundary: BTreeSet::new() };
        history.boundary = history_boundary(&store.objects()?, &history.commits().collect())?;
        Ok(history)
    }

    /// All commits.
    pub fn commits(&self) -> impl Iterator<Item = &str> {
        self.change_commits.iter().chain(&self.base_commits).map(String::as_str)
    }

    /// Parents outside of this history.
    pub(crate) fn parents_outside(&self, objects: &Objects) -> Result<BTreeSet<String>, ReadError> {
        let history_commits: BTreeSet<&str> = self.commits().collect();
        let mut parents = BTreeSet::new();
        for commit in &history_commits {
            parents.extend(objects.parents(commit)?);
        }
        parents.retain(|parent| !history_commits.contains(parent.as_str()));
        Ok(parents)
    }
}

fn rev_list(store: &BareRepository, args: &[&str]) -> Result<Vec<String>, GitError> {
    let output = store.git().text([&["rev-list"], args].concat())?;
    Ok(output.lines().map(str::to_owned).collect())
}

/// Commits with a parent that is not in the set.
fn history_boundary(
    objects: &Objects,
    commits: &BTreeSet<&str>,
) -> Result<BTreeSet<String>, ReadError> {
    let mut boundary = BTreeSet::new();
    for commit in commits {
        if objects.parents(commit)?.iter().any(|parent| !commits.contains(parent.as_str())) {
            boundary.insert((*commit).to_owned());
        }
    }
    Ok(boundary)
}

impl BareRepository {
    /// Commits of a change, oldest first. If the base is the empty tree, only the commit `head`.
    pub fn change_commits(&self, base: &str, head: &str) -> Result<Vec<String>, GitError> {
        match base {
            EMPTY_TREE => rev_list(self, &["-n", "1", head]),
            _ => rev_list(self, &["--topo-order", "--reverse", &format!("{base}..{head}")]),
        }
    }

    /// Details of commits, in the requested order.
    pub fn commits(&self, ids: &[String]) -> Result<Vec<CommitDetails>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let format = "--format=tformat:%H%x00%an%x00%aI%x00%cI%x00%s%x00%b%x00";
        let args = ["log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8", format];
        let output = self.git().run_with_input(args, list.as_bytes())?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let fields: Vec<&str> = output.split('\0').collect();
        // A commit has six fields, and `-z` adds an empty one.
        Ok(fields.chunks_exact(7).map(parse_commit).collect())
    }

    /// Commits of a history up to `head` that changed a path, newest first. An empty path selects
    /// all.
    pub fn log(
        &self,
        history: &ChangeHistory,
        head: &str,
        path: &str,
    ) -> Result<Vec<CommitDetails>, LogError> {
        let view = HistoryView::new(self, history)?;
        let mut args = vec!["log", "--topo-order", "--format=tformat:%H", head, "--"];
        args.extend((!path.is_empty()).then_some(path));
        let output = view.git(self).with_variable("GIT_LITERAL_PATHSPECS", "1").text(args)?;
        let history_commits: BTreeSet<&str> = history.commits().collect();
        let ids = output.lines().filter(|id| history_commits.contains(id)).map(str::to_owned);
        Ok(self.commits(&ids.collect::<Vec<_>>())?)
    }

    /// Origin of lines, within a history.
    pub fn blame(
        &self,
        history: &ChangeHistory,
        head: &str,
        path: &str,
        (first, last): (u64, u64),
    ) -> Result<Vec<BlameLine>, LogError> {
        let view = HistoryView::new(self, history)?;
        let range = format!("{first},{last}");
        let args = ["blame", "--line-porcelain", "-M", "-L", &range, head, "--", path];
        let output = view.git(self).run(args)?;
        Ok(parse_blame(&output, history))
    }
}

/// Why a history could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A commit could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The boundary file could not be written.
    #[error("writing where the history ends")]
    Io(#[from] std::io::Error),
}

/// File with the boundary of a history, which git reads as its shallow file.
struct HistoryView {
    shallow_file: tempfile::NamedTempFile,
}

impl HistoryView {
    fn new(store: &BareRepository, history: &ChangeHistory) -> Result<Self, std::io::Error> {
        let mut shallow_file = tempfile::NamedTempFile::new()?;
        for commit in history.boundary.union(&store.boundary()) {
            writeln!(shallow_file, "{commit}")?;
        }
        shallow_file.flush()?;
        Ok(Self { shallow_file })
    }

    fn git(&self, store: &BareRepository) -> Git {
        store
            .git()
            .with_limit(TIME_LIMIT)
            .with_variable("GIT_SHALLOW_FILE", self.shallow_file.path())
    }
}

fn parse_commit(fields: &[&str]) -> CommitDetails {
    let text = |index: usize| fields.get(index).copied().unwrap_or_default().to_owned();
    CommitDetails {
        id: text(0).trim_start().to_owned(),
        author: text(1),
        authored: text(2),
        committed: text(3),
        subject: text(4),
        body: text(5).trim_end().to_owned(),
    }
}

/// Parses `git blame --line-porcelain`.
fn parse_blame(output: &[u8], history: &ChangeHistory) -> Vec<BlameLine> {
    let mut lines = Vec::new();
    let mut current: Option<BlameLine> = None;
    for line in output.split(|byte| *byte == b'\n') {
        if line.starts_with(b"\t") {
            lines.extend(current.take());
        } else if let Some(path) = line.strip_prefix(b"filename ") {
            if let Some(current) = &mut current {
                current.original_path = path.to_vec();
            }
        } else if current.is_none() {
            current = parse_blame_header(&String::from_utf8_lossy(line), history);
        }
    }
    lines
}

fn parse_blame_header(line: &str, history: &ChangeHistory) -> Option<BlameLine> {
    let mut words = line.split(' ');
    let commit = words.next()?.to_owned();
    let original_line = words.next()?.parse().ok()?;
    let line = words.next()?.parse().ok()?;
    let may_be_older = history.boundary.contains(&commit);
    Some(BlameLine { line, commit, may_be_older, original_line, original_path: Vec::new() })
}
