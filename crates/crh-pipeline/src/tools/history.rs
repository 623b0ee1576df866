//! How the repository came to be what it is: the commits of the change and some before it, and who wrote a
//! line.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::change::list;
use super::diff::span;
use super::repo::{path, revision, shown, text, told};
use super::{Bench, Reply, Tool, ToolError};
use crh_git::{Blamed, Commit, History, LogError};
use crh_review::diff::RepoPath;

/// How many commits are shown unless more are asked for.
const COMMITS: u32 = 20;
/// How many lines are looked up at a time.
const BLAME_LINES: u32 = 200;

pub(super) struct RepoLog;
pub(super) struct RepoBlame;

/// Lists commits up to the head or the base of the change, newest first: those of the change (`ofChange`) and up to
/// 50 before it. Older history is not part of a review: in the log of a path, `orOlder` marks a commit where it
/// ends, since an older one may have brought what is there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoLogInput {
    /// Only commits that changed this file or folder; all if left out.
    #[serde(default)]
    path: String,
    /// `head` (after the change) or `base` (before it); `head` if left out.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// How many commits to show; 20 if left out.
    limit: Option<NonZeroU32>,
}

/// Tells which commit brought each of some lines of a file: whether it is part of the change (`ofChange`), or was
/// there before. `orOlder` marks lines from before the history that is looked at. Up to 200 lines a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoBlameInput {
    /// The path from the root of the repository.
    path: String,
    /// First line, 1-based.
    start_line: NonZeroU32,
    /// Last line; only the first if left out.
    end_line: Option<NonZeroU32>,
    /// `head` (after the change) or `base` (before it); `head` if left out.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CommitRow<'a> {
    id: &'a str,
    author: &'a str,
    date: &'a str,
    subject: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    body: &'a str,
    of_change: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    or_older: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BlameRow<'a> {
    line: u64,
    text: &'a str,
    commit: &'a str,
    author: &'a str,
    date: &'a str,
    subject: &'a str,
    of_change: bool,
    or_older: bool,
    original_path: String,
    original_line: u64,
}

impl Tool for RepoLog {
    const NAME: &'static str = "repo_log";
    type Input = RepoLogInput;

    fn answer(input: RepoLogInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let path = path(repository, revision, &input.path);
        crh_git::check_path(&path).map_err(|error| told(bench, revision, error))?;
        let history = repository.history().map_err(not_read)?;
        let commits = repository.bare().log(&history, revision, for_git(&path)?);
        let commits = commits.map_err(not_read)?;
        let of_change: BTreeSet<&str> = history.of_change.iter().map(String::as_str).collect();
        let limit = input.limit.map_or(COMMITS, NonZeroU32::get) as usize;
        let row = |commit| {
            let mut row = CommitRow::of(commit, &of_change);
            // Git takes the last commit of the history for one that brought all that is there.
            let is_end = !path.is_empty() && history.ends.contains(&commit.id);
            row.or_older = is_end.then_some(true);
            row
        };
        let rows: Vec<CommitRow<'_>> = commits.iter().take(limit).map(row).collect();
        // A path that no commit touched and a path that never was look the same; the model should know which.
        if commits.is_empty() && !path.is_empty() {
            let found = repository.objects().stat(revision, &path);
            found.map_err(|error| told(bench, revision, error))?;
        }
        list("commits", json!({ "total": commits.len() }), &rows)
    }
}

impl Tool for RepoBlame {
    const NAME: &'static str = "repo_blame";
    type Input = RepoBlameInput;

    fn answer(input: RepoBlameInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let path = path(repository, revision, &input.path);
        let text = text(bench, revision, &path)?;
        let lines: Vec<&str> = text.lines().collect();
        let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let start = input.start_line.get();
        let end = input.end_line.map_or(start, NonZeroU32::get);
        let (start, end) = span(Some(start), Some(end), BLAME_LINES, total, "line")?;
        let end = end.min(start.saturating_add(BLAME_LINES - 1));
        let history = repository.history().map_err(not_read)?;
        let range = (u64::from(start), u64::from(end));
        let blamed = repository.bare().blame(&history, revision, for_git(&path)?, range);
        let blamed = blamed.map_err(not_read)?;
        let ids: BTreeSet<String> = blamed.iter().map(|line| line.commit.clone()).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        let commits = repository.bare().commits(&ids).map_err(|error| not_read(error.into()))?;
        let commits: BTreeMap<&str, &Commit> =
            commits.iter().map(|commit| (commit.id.as_str(), commit)).collect();
        let row = |blamed| BlameRow::of(blamed, &lines, &commits, &history);
        let rows: Vec<BlameRow<'_>> = blamed.iter().filter_map(row).collect();
        list("lines", json!({ "path": input.path, "totalLines": total }), &rows)
    }
}

impl<'a> CommitRow<'a> {
    fn of(commit: &'a Commit, of_change: &BTreeSet<&str>) -> Self {
        Self {
            id: &commit.id,
            author: &commit.author,
            date: &commit.authored,
            subject: &commit.subject,
            body: &commit.body,
            of_change: of_change.contains(commit.id.as_str()),
            or_older: None,
        }
    }
}

impl<'a> BlameRow<'a> {
    fn of(
        blamed: &'a Blamed,
        lines: &[&'a str],
        commits: &BTreeMap<&str, &'a Commit>,
        history: &History,
    ) -> Option<Self> {
        let commit = commits.get(blamed.commit.as_str())?;
        let at = usize::try_from(blamed.line).ok()?.checked_sub(1)?;
        Some(Self {
            line: blamed.line,
            text: lines.get(at).copied().unwrap_or_default(),
            commit: &blamed.commit,
            author: &commit.author,
            date: &commit.authored,
            subject: &commit.subject,
            of_change: history.of_change.contains(&blamed.commit),
            or_older: blamed.or_older,
            original_path: original_path(&blamed.original_path),
            original_line: blamed.original_line,
        })
    }
}

/// The path that git printed: quoted if anything in it is odd.
fn original_path(printed: &[u8]) -> String {
    match RepoPath::unquoted(printed) {
        Some(path) => path.shown().into_owned(),
        None => shown(printed),
    }
}

/// The path as an argument of git's, which has to be text.
fn for_git(path: &[u8]) -> Result<&str, ToolError> {
    std::str::from_utf8(path).map_err(|_| {
        let path = shown(path);
        ToolError::TellModel(format!("the history of `{path}` cannot be read: it is not UTF-8"))
    })
}

fn not_read(error: LogError) -> ToolError {
    ToolError::TellModel(format!("the history cannot be read: {error}"))
}
