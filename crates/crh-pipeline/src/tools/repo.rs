//! Tools for files, folders and search in the repository at base or head, from git objects.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change::list_reply;
use super::diff::clamp_range;
use super::similarity::rank_by_similarity;
use super::symbols::numbered_lines;
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::revisions::Revisions;
use crate::text::cut;
use crh_git::{
    PathEntry, PathEntryKind, ReadError, SearchError, SearchPattern, SearchQuery, SearchResult,
    search,
};
use crh_review::diff::RepoPath;

/// Maximum number of lines per reply.
pub(super) const READ_LINES: u32 = 2_000;
/// Default and maximum number of matches.
const MATCHES: u32 = 200;
const MATCHES_MAX: u32 = 10_000;
/// Maximum characters of a matching line to show. People rarely write longer lines.
const TEXT_CHARS: usize = 500;
/// A search returns what it has found after this time, which is below the timeout of a call.
const SEARCH_TIME: Duration = Duration::from_secs(8);
/// Maximum number of folders for which a search reply shows the number of matches.
const FOLDERS_MAX: usize = 8;
/// How many similar paths an error suggests.
const SUGGESTIONS: usize = 3;
/// Maximum number of paths to compare by edit distance, those of similar length first. Comparing so
/// many takes a fraction of a second.
const COMPARED_MAX: usize = 5_000;

pub(super) struct RepoRead;
pub(super) struct RepoLs;
pub(super) struct RepoGrep;
pub(super) struct RepoStat;

/// Reads numbered lines of a file of the repository, up to 2,000 lines per call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoReadInput {
    /// The path from the root of the repository.
    path: String,
    /// `head` (the default) or `base`.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// First line.
    start_line: Option<NonZeroU32>,
    /// Last line.
    end_line: Option<NonZeroU32>,
}

/// Lists a folder of the repository.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoLsInput {
    /// The folder; the root by default.
    #[serde(default)]
    path: String,
    /// `head` (the default) or `base`.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

/// Searches all text files of the repository for a regular expression, line by line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoGrepInput {
    /// A regular expression without look-around and back references.
    pattern: String,
    /// Which files: `*.rs` anywhere, `src/**` from the root.
    path_glob: Option<String>,
    /// `head` (the default) or `base`.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// Number of matches to show; 200 by default.
    max_matches: Option<NonZeroU32>,
    /// Whether `a` finds `A`.
    #[serde(default)]
    ignore_case: bool,
}

/// Tells what a path of the repository is at the head or the base of the change, its size in bytes and its hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoStatInput {
    /// The path from the root of the repository.
    path: String,
    /// `head` (the default) or `base`.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryRow {
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
    mode: &'static str,
    oid: String,
}

impl AgentTool for RepoRead {
    const NAME: &'static str = "repo_read";
    const IS_QUICK: bool = true;
    type Input = RepoReadInput;

    fn answer(input: RepoReadInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let text = read_text(ctx, revision, &resolve_path(repository, revision, &input.path))?;
        let total = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        let requested =
            (input.start_line.map(NonZeroU32::get), input.end_line.map(NonZeroU32::get));
        let path = input.path;
        let side = input.revision.as_deref().unwrap_or("head");
        if total == 0 {
            return Ok(ToolReply::text(format!("[{path} at {side} is empty]\n")));
        }
        let (start, end) = clamp_range(requested.0, requested.1, READ_LINES, total, "line")?;
        let end = end.min(start.saturating_add(READ_LINES - 1));
        let lines = numbered_lines(&text, &(start..=end));
        Ok(ToolReply::text(format!("{path} at {side}, lines {start}-{end} of {total}:\n{lines}")))
    }
}

impl AgentTool for RepoLs {
    const NAME: &'static str = "repo_ls";
    type Input = RepoLsInput;

    fn answer(input: RepoLsInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let path = resolve_path(repository, revision, &input.path);
        let entries = repository.objects().folder(revision, &path);
        let entries = entries.map_err(|error| explain_read_error(ctx, revision, error))?;
        let rows: Vec<EntryRow> = entries.iter().map(EntryRow::from_entry).collect();
        list_reply("entries", json!({ "path": input.path, "total": rows.len() }), &rows)
    }
}

impl AgentTool for RepoGrep {
    const NAME: &'static str = "repo_grep";
    type Input = RepoGrepInput;

    fn answer(input: RepoGrepInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let cap = input.max_matches.map_or(MATCHES, NonZeroU32::get).min(MATCHES_MAX);
        let query = SearchQuery {
            glob: input.path_glob,
            ignore_case: input.ignore_case,
            max_matches: cap as usize,
            time_limit: Some(SEARCH_TIME),
            ..SearchQuery::new(SearchPattern::Regex(input.pattern))
        };
        let result = search(repository.objects(), revision, &query, &|_| true, ctx.stop());
        let result = result.map_err(search_error)?;
        Ok(ToolReply::text(matches_text(&result)))
    }
}

/// Matches as `path:line: text`, and notes on what is not shown.
fn matches_text(result: &SearchResult) -> String {
    let mut text = String::new();
    for line_match in &result.matches {
        let code = String::from_utf8_lossy(&line_match.text);
        let code = cut(code.trim_end(), TEXT_CHARS);
        let path = display_path(&line_match.path);
        let _ = writeln!(text, "{path}:{}: {code}", line_match.line);
    }
    let (shown, total, files) = (result.matches.len(), result.total, result.files);
    if total == 0 && result.is_partial {
        text.push_str("[no match so far]\n");
    } else if total == 0 {
        let _ = writeln!(text, "[no line matches in {files} files]");
    } else if total > shown as u64 {
        let mut folders: Vec<_> = result.folders.iter().collect();
        folders.sort_by_key(|(folder, count)| (Reverse(**count), *folder));
        let folders = folders.iter().take(FOLDERS_MAX).map(|(folder, count)| {
            let folder = display_path(folder);
            format!("{count} in {}", if folder.is_empty() { "." } else { &folder })
        });
        let folders = folders.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "[{shown} of {total} matches shown: {folders}]");
    }
    if result.is_partial {
        text.push_str("[the time ran out before all files were searched; narrow `pathGlob`]\n");
    }
    for (_, why) in &result.unreadable_files {
        let _ = writeln!(text, "[not searched: {why}]");
    }
    text
}

impl AgentTool for RepoStat {
    const NAME: &'static str = "repo_stat";
    const IS_QUICK: bool = true;
    type Input = RepoStatInput;

    fn answer(input: RepoStatInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let path = resolve_path(repository, revision, &input.path);
        let entry_and_size = repository.objects().stat(revision, &path);
        let (entry, size) =
            entry_and_size.map_err(|error| explain_read_error(ctx, revision, error))?;
        let row = EntryRow::from_entry(&entry);
        ToolReply::json(&json!({
            "path": input.path,
            "type": row.kind,
            "mode": row.mode,
            "oid": row.oid,
            "size": size,
        }))
    }
}

impl EntryRow {
    fn from_entry(entry: &PathEntry) -> Self {
        let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let (kind, mode) = match entry.kind {
            PathEntryKind::File => ("blob", "100644"),
            PathEntryKind::Executable => ("blob", "100755"),
            PathEntryKind::Link => ("link", "120000"),
            PathEntryKind::Folder => ("tree", "040000"),
            PathEntryKind::Submodule => ("commit", "160000"),
        };
        Self { path: display_path(name), kind, mode, oid: entry.id.clone() }
    }
}

pub(super) fn display_path(path: &[u8]) -> String {
    RepoPath::new(path).shown().into_owned()
}

/// Resolves `head`, `base` or the hash of one of them to a commit.
pub(super) fn resolve_revision<'a>(
    repository: &'a Revisions,
    name: Option<&str>,
) -> Result<&'a str, ToolError> {
    repository.resolve(name).ok_or_else(|| {
        let name = name.unwrap_or_default();
        ToolError::TellModel(format!("there is no `{name}` here: `ref` is `head` or `base`"))
    })
}

/// The path as written. If it does not exist, the unquoted path, since crh shows paths that are not
/// UTF-8 in git's quoted form.
pub(super) fn resolve_path(repository: &Revisions, revision: &str, requested: &str) -> Vec<u8> {
    let bytes = requested.as_bytes();
    match RepoPath::from_quoted(bytes) {
        Some(path) if repository.objects().stat(revision, bytes).is_err() => {
            path.as_bytes().to_vec()
        }
        Some(_) | None => bytes.to_vec(),
    }
}

/// Text of a file. Binary files are an error.
pub(super) fn read_text(
    ctx: &ToolContext,
    revision: &str,
    path: &[u8],
) -> Result<String, ToolError> {
    let bytes = ctx.repository()?.objects().file(revision, path);
    let bytes = bytes.map_err(|error| explain_read_error(ctx, revision, error))?;
    if bytes[..bytes.len().min(8_000)].contains(&0) {
        let (path, size) = (display_path(path), bytes.len());
        return Err(ToolError::TellModel(format!("`{path}` is a binary file of {size} bytes")));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Converts an error to a message that the model can act on.
pub(super) fn explain_read_error(ctx: &ToolContext, revision: &str, error: ReadError) -> ToolError {
    let message = match &error {
        ReadError::NoEntry(path) => format!("{error}{}", suggestions(ctx, revision, path)),
        ReadError::BadPath(_)
        | ReadError::NoCommit(_)
        | ReadError::OtherKind { .. }
        | ReadError::TooManyFiles(_)
        | ReadError::TooDeep(_)
        | ReadError::TooLarge { .. }
        | ReadError::Broken { .. } => error.to_string(),
    };
    ToolError::TellModel(message)
}

/// Similar paths for an error message.
fn suggestions(ctx: &ToolContext, revision: &str, path: &str) -> String {
    let Ok(repository) = ctx.repository() else { return String::new() };
    let Ok(mut files) = repository.objects().files(revision) else { return String::new() };
    let requested_name = last_name(path.as_bytes());
    let same_name = files.iter().filter(|entry| last_name(&entry.path) == requested_name);
    let mut similar: Vec<String> =
        same_name.take(SUGGESTIONS).map(|entry| display_path(&entry.path)).collect();
    if similar.is_empty() {
        if files.len() > COMPARED_MAX {
            files.sort_by_key(|entry| last_name(&entry.path).len().abs_diff(requested_name.len()));
            files.truncate(COMPARED_MAX);
        }
        let names: Vec<String> = files.iter().map(|entry| display_path(&entry.path)).collect();
        let names = names.iter().map(String::as_str).take_while(|_| ctx.check_stopped().is_ok());
        similar = rank_by_similarity(path, names)
            .into_iter()
            .take(SUGGESTIONS)
            .map(str::to_owned)
            .collect();
    }
    match similar.as_slice() {
        [] => String::new(),
        similar => format!("; did you mean `{}`?", similar.join("`, `")),
    }
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Adds the files that could not be searched, with the reason.
pub(super) fn add_unsearched(result: &SearchResult, fields: &mut Value) {
    if !result.unreadable_files.is_empty() {
        let reasons: Vec<String> =
            result.unreadable_files.iter().map(|(_, why)| why.to_string()).collect();
        fields["notSearched"] = json!(reasons);
    }
}

pub(super) fn search_error(error: SearchError) -> ToolError {
    match error {
        SearchError::Stopped => ToolError::Abort(error.to_string()),
        SearchError::Pattern(_)
        | SearchError::Glob(_)
        | SearchError::NoFile(_)
        | SearchError::Read(_) => ToolError::TellModel(error.to_string()),
    }
}
