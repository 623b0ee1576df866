//! Tools for the history: commits of the change and some before it, and blame.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::change::list_reply;
use super::diff::clamp_range;
use super::repo::{display_path, explain_read_error, read_text, resolve_path, resolve_revision};
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crh_git::{BlameLine, ChangeHistory, CommitDetails, LogError};
use crh_review::diff::RepoPath;

/// Default number of commits in a reply of `repo_log`.
const COMMITS: u32 = 20;
/// Maximum number of lines per call of `repo_blame`.
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

impl AgentTool for RepoLog {
    const NAME: &'static str = "repo_log";
    type Input = RepoLogInput;

    fn answer(input: RepoLogInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let path = resolve_path(repository, revision, &input.path);
        crh_git::check_path(&path).map_err(|error| explain_read_error(ctx, revision, error))?;
        let history = repository.history().map_err(history_error)?;
        let commits = repository.bare().log(&history, revision, utf8_path(&path)?);
        let commits = commits.map_err(history_error)?;
        let of_change: BTreeSet<&str> = history.change_commits.iter().map(String::as_str).collect();
        let limit = input.limit.map_or(COMMITS, NonZeroU32::get) as usize;
        let row = |commit| {
            let mut row = CommitRow::from_commit(commit, &of_change);
            // Git attributes all older changes of the path to the oldest commit of the history.
            let is_boundary = !path.is_empty() && history.boundary.contains(&commit.id);
            row.or_older = is_boundary.then_some(true);
            row
        };
        let rows: Vec<CommitRow<'_>> = commits.iter().take(limit).map(row).collect();
        // If no commit changed the path, it may not exist. Then report an error.
        if commits.is_empty() && !path.is_empty() {
            let entry = repository.objects().stat(revision, &path);
            entry.map_err(|error| explain_read_error(ctx, revision, error))?;
        }
        list_reply("commits", json!({ "total": commits.len() }), &rows)
    }
}

impl AgentTool for RepoBlame {
    const NAME: &'static str = "repo_blame";
    type Input = RepoBlameInput;

    fn answer(input: RepoBlameInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let path = resolve_path(repository, revision, &input.path);
        let text = read_text(ctx, revision, &path)?;
        let lines: Vec<&str> = text.lines().collect();
        let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let start = input.start_line.get();
        let end = input.end_line.map_or(start, NonZeroU32::get);
        let (start, end) = clamp_range(Some(start), Some(end), BLAME_LINES, total, "line")?;
        let end = end.min(start.saturating_add(BLAME_LINES - 1));
        let history = repository.history().map_err(history_error)?;
        let range = (u64::from(start), u64::from(end));
        let blame_lines = repository.bare().blame(&history, revision, utf8_path(&path)?, range);
        let blame_lines = blame_lines.map_err(history_error)?;
        let ids: BTreeSet<String> = blame_lines.iter().map(|line| line.commit.clone()).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        let commits =
            repository.bare().commits(&ids).map_err(|error| history_error(error.into()))?;
        let commits: BTreeMap<&str, &CommitDetails> =
            commits.iter().map(|commit| (commit.id.as_str(), commit)).collect();
        let row = |blame_line| BlameRow::from_blame(blame_line, &lines, &commits, &history);
        let rows: Vec<BlameRow<'_>> = blame_lines.iter().filter_map(row).collect();
        list_reply("lines", json!({ "path": input.path, "totalLines": total }), &rows)
    }
}

impl<'a> CommitRow<'a> {
    fn from_commit(commit: &'a CommitDetails, of_change: &BTreeSet<&str>) -> Self {
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
    fn from_blame(
        blame_line: &'a BlameLine,
        lines: &[&'a str],
        commits: &BTreeMap<&str, &'a CommitDetails>,
        history: &ChangeHistory,
    ) -> Option<Self> {
        let commit = commits.get(blame_line.commit.as_str())?;
        let index = usize::try_from(blame_line.line).ok()?.checked_sub(1)?;
        Some(Self {
            line: blame_line.line,
            text: lines.get(index).copied().unwrap_or_default(),
            commit: &blame_line.commit,
            author: &commit.author,
            date: &commit.authored,
            subject: &commit.subject,
            of_change: history.change_commits.contains(&blame_line.commit),
            or_older: blame_line.may_be_older,
            original_path: original_path(&blame_line.original_path),
            original_line: blame_line.original_line,
        })
    }
}

/// Unquotes a path that git printed.
fn original_path(printed: &[u8]) -> String {
    match RepoPath::from_quoted(printed) {
        Some(path) => path.shown().into_owned(),
        None => display_path(printed),
    }
}

/// A path as a git argument, which must be UTF-8.
fn utf8_path(path: &[u8]) -> Result<&str, ToolError> {
    std::str::from_utf8(path).map_err(|_| {
        let path = display_path(path);
        ToolError::TellModel(format!("the history of `{path}` cannot be read: it is not UTF-8"))
    })
}

fn history_error(error: LogError) -> ToolError {
    ToolError::TellModel(format!("the history cannot be read: {error}"))
}
