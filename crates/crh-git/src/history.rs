//! The history that reviewers see: the commits of a change and a few before it, and who wrote a line.
//!
//! It ends the same number of commits before the base whether the clone is whole, shallow or packed in a
//! file, so that the same question has the same answer everywhere.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use crate::bare::{Bare, EMPTY_TREE};
use crate::objects::{Objects, ReadError};
use crate::process::{Git, GitError};

/// How many commits up to and with the base belong to the history. Enough to see how a file came to be what it
/// is; few enough to fetch into a shallow clone and to pack.
pub const HISTORY_BEFORE_BASE: usize = 50;

/// Whoever asks about the history has given up after this long.
const LIMIT: Duration = Duration::from_secs(10);

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its full name.
    pub id: String,
    /// The name of its author.
    pub author: String,
    /// When it was written, as ISO 8601 with the author's offset.
    pub authored: String,
    /// When it was committed, the same way.
    pub committed: String,
    /// The first line of its message.
    pub subject: String,
    /// The rest of it.
    pub body: String,
}

/// Where a line of a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    /// The line, 1-based.
    pub line: u64,
    /// The commit that brought it.
    pub commit: String,
    /// Whether it may be older than that: the history that is looked at ends there.
    pub or_older: bool,
    /// The line in that commit's version of the file.
    pub original_line: u64,
    /// The path it had there, as git prints it: quoted if it has odd characters.
    pub original_path: Vec<u8>,
}

/// The commits around a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Those of the change, oldest first.
    pub of_change: Vec<String>,
    /// The base and those before it, newest first.
    pub before: Vec<String>,
    /// Those of them with a parent that is not among them: where the history ends.
    pub ends: BTreeSet<String>,
}

impl History {
    /// The commits between two, and some before. A base that is a tree (a change from nothing) has no history.
    pub fn of(store: &Bare, base: &str, head: &str) -> Result<Self, LogError> {
        let list = |args: &[&str]| -> Result<Vec<String>, GitError> {
            let printed = store.git().text([&["rev-list"], args].concat())?;
            Ok(printed.lines().map(str::to_owned).collect())
        };
        let limit = HISTORY_BEFORE_BASE.to_string();
        let (of_change, before) = if base == EMPTY_TREE {
            (list(&["-n", "1", head])?, Vec::new())
        } else {
            let range = format!("{base}..{head}");
            (list(&["--topo-order", "--reverse", &range])?, list(&["-n", &limit, base])?)
        };
        let mut history = Self { of_change, before, ends: BTreeSet::new() };
        history.ends = ends(&store.objects()?, &history.commits().collect())?;
        Ok(history)
    }

    /// All of its commits.
    pub fn commits(&self) -> impl Iterator<Item = &str> {
        self.of_change.iter().chain(&self.before).map(String::as_str)
    }

    /// The parents that are not among its commits.
    pub(crate) fn parents_outside(&self, objects: &Objects) -> Result<BTreeSet<String>, ReadError> {
        let inside: BTreeSet<&str> = self.commits().collect();
        let mut outside = BTreeSet::new();
        for commit in &inside {
            outside.extend(objects.parents(commit)?);
        }
        outside.retain(|parent| !inside.contains(parent.as_str()));
        Ok(outside)
    }
}

/// Those of some commits that have a parent which is not among them.
fn ends(objects: &Objects, commits: &BTreeSet<&str>) -> Result<BTreeSet<String>, ReadError> {
    let mut ends = BTreeSet::new();
    for commit in commits {
        if objects.parents(commit)?.iter().any(|parent| !commits.contains(parent.as_str())) {
            ends.insert((*commit).to_owned());
        }
    }
    Ok(ends)
}

impl Bare {
    /// What is known of some commits, in the order asked for.
    pub fn commits(&self, ids: &[String]) -> Result<Vec<Commit>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let format = "--format=tformat:%H%x00%an%x00%aI%x00%cI%x00%s%x00%b%x00";
        let args = ["log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8", format];
        let printed = self.git().run_with_input(args, list.as_bytes())?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let fields: Vec<&str> = printed.split('\0').collect();
        // Six fields, and the empty one that `-z` puts behind each commit.
        Ok(fields.chunks_exact(7).map(commit).collect())
    }

    /// Of the commits of a history up to `head`, those that changed a path (all for an empty one), newest
    /// first.
    pub fn log(&self, history: &History, head: &str, path: &str) -> Result<Vec<Commit>, LogError> {
        let view = View::new(self, history)?;
        let mut args = vec!["log", "--topo-order", "--format=tformat:%H", head, "--"];
        args.extend((!path.is_empty()).then_some(path));
        let printed = view.git(self).with_variable("GIT_LITERAL_PATHSPECS", "1").text(args)?;
        let inside: BTreeSet<&str> = history.commits().collect();
        let ids = printed.lines().filter(|id| inside.contains(id)).map(str::to_owned);
        Ok(self.commits(&ids.collect::<Vec<_>>())?)
    }

    /// Where lines of a file come from, as far as a history goes.
    pub fn blame(
        &self,
        history: &History,
        head: &str,
        path: &str,
        (first, last): (u64, u64),
    ) -> Result<Vec<Blamed>, LogError> {
        let view = View::new(self, history)?;
        let range = format!("{first},{last}");
        let args = ["blame", "--line-porcelain", "-M", "-L", &range, head, "--", path];
        let printed = view.git(self).run(args)?;
        Ok(blamed(&printed, history))
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
    /// Its end could not be written down.
    #[error("writing where the history ends")]
    Io(#[from] std::io::Error),
}

/// A history that ends where ours ends, as git is told of it: a list of commits taken to have no parents.
struct View {
    ends: tempfile::NamedTempFile,
}

impl View {
    fn new(store: &Bare, history: &History) -> Result<Self, std::io::Error> {
        let mut ends = tempfile::NamedTempFile::new()?;
        for end in history.ends.union(&store.boundary()) {
            writeln!(ends, "{end}")?;
        }
        ends.flush()?;
        Ok(Self { ends })
    }

    fn git(&self, store: &Bare) -> Git {
        store.git().with_limit(LIMIT).with_variable("GIT_SHALLOW_FILE", self.ends.path())
    }
}

fn commit(fields: &[&str]) -> Commit {
    let text = |at: usize| fields.get(at).copied().unwrap_or_default().to_owned();
    Commit {
        id: text(0).trim_start().to_owned(),
        author: text(1),
        authored: text(2),
        committed: text(3),
        subject: text(4),
        body: text(5).trim_end().to_owned(),
    }
}

/// Reads what `git blame --line-porcelain` printed.
fn blamed(printed: &[u8], history: &History) -> Vec<Blamed> {
    let mut lines = Vec::new();
    let mut current: Option<Blamed> = None;
    for line in printed.split(|byte| *byte == b'\n') {
        if line.starts_with(b"\t") {
            lines.extend(current.take());
        } else if let Some(path) = line.strip_prefix(b"filename ") {
            if let Some(current) = &mut current {
                current.original_path = path.to_vec();
            }
        } else if current.is_none() {
            current = blame_head(&String::from_utf8_lossy(line), history);
        }
    }
    lines
}

fn blame_head(line: &str, history: &History) -> Option<Blamed> {
    let mut words = line.split(' ');
    let commit = words.next()?.to_owned();
    let original_line = words.next()?.parse().ok()?;
    let line = words.next()?.parse().ok()?;
    let or_older = history.ends.contains(&commit);
    Some(Blamed { line, commit, or_older, original_line, original_path: Vec::new() })
}
