//! Tools for files, folders and search in the repository at base or head, from git objects.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change::list_reply;
use super::diff::clamp_range;
use super::similarity::rank_by_similarity;
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::revisions::Revisions;
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
/// Maximum characters of a matching line to show. Longer lines are hardly written by hand.
const TEXT_CHARS: usize = 2_000;
/// How many similar paths an error suggests.
const SUGGESTIONS: usize = 3;
/// Maximum number of paths to compare by edit distance, those of similar length first. Comparing so
/// many takes a fraction of a second.
const COMPARED_MAX: usize = 5_000;

pub(super) struct RepoRead;
pub(super) struct RepoLs;
pub(super) struct RepoGrep;
pub(super) struct RepoStat;

/// Reads lines of a file of the repository as it is at the head or the base of the change. Up to 2,000 lines a
/// call; `totalLines` is the length of the whole file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoReadInput {
    /// The path from the root of the repository.
    path: String,
    /// `head` (after the change) or `base` (before it); `head` if left out.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// First line to show, 1-based; 1 if left out.
    start_line: Option<NonZeroU32>,
    /// Last line to show; 2,000 lines from `startLine` if left out.
    end_line: Option<NonZeroU32>,
}

/// Lists a folder of the repository at the head or the base of the change, one level deep, sorted by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoLsInput {
    /// The folder from the root of the repository; the root if left out.
    #[serde(default)]
    path: String,
    /// `head` (after the change) or `base` (before it); `head` if left out.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

/// Searches all text files of the repository at the head or the base of the change for a regular expression, line
/// by line. Matches come in the order of paths and lines; `total` counts all of them, also those not shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoGrepInput {
    /// A regular expression, as in Rust or RE2: no look-around and no back references.
    pattern: String,
    /// Which files: `*.rs` is a name anywhere, `src/**` a path from the root, `docs/` a folder. All if left out.
    path_glob: Option<String>,
    /// `head` (after the change) or `base` (before it); `head` if left out.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// How many matches to show; 200 if left out.
    max_matches: Option<NonZeroU32>,
    /// Whether `a` finds `A`; not if left out.
    #[serde(default)]
    ignore_case: bool,
}

/// Tells what a path of the repository is at the head or the base of the change, its size in bytes and its hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RepoStatInput {
    /// The path from the root of the repository.
    path: String,
    /// `head` (after the change) or `base` (before it); `head` if left out.
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

#[derive(Debug, Serialize)]
struct MatchRow {
    path: String,
    line: u64,
    text: String,
}

impl AgentTool for RepoRead {
    const NAME: &'static str = "repo_read";
    const IS_QUICK: bool = true;
    type Input = RepoReadInput;

    fn answer(input: RepoReadInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let repository = ctx.repository()?;
        let revision = resolve_revision(repository, input.revision.as_deref())?;
        let text = read_text(ctx, revision, &resolve_path(repository, revision, &input.path))?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let requested =
            (input.start_line.map(NonZeroU32::get), input.end_line.map(NonZeroU32::get));
        let path = input.path;
        if total == 0 {
            let reply = json!({ "path": path, "startLine": 0, "endLine": 0, "totalLines": 0, "truncated": false, "content": "" });
            return ToolReply::json(&reply);
        }
        let (start, end) = clamp_range(requested.0, requested.1, READ_LINES, total, "line")?;
        let end = end.min(start.saturating_add(READ_LINES - 1));
        let content: String = lines[start as usize - 1..end as usize].concat();
        Ok(ToolReply::lines(content, move |content| {
            let shown_lines = content.split_inclusive('\n').count() as u64;
            let end = u64::from(start) + shown_lines - 1;
            json!({
                "path": path,
                "startLine": start,
                "endLine": end,
                "totalLines": total,
                "truncated": start > 1 || end < u64::from(total),
                "content": content,
            })
        }))
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
            pattern: SearchPattern::Regex(input.pattern),
            glob: input.path_glob,
            ignore_case: input.ignore_case,
            max_matches: cap as usize,
        };
        let result = search(repository.objects(), revision, &query, &|_| true, ctx.stop());
        let result = result.map_err(search_error)?;
        let rows: Vec<MatchRow> = result.matches.iter().map(MatchRow::from_match).collect();
        let (total, files) = (result.total, result.files);
        let mut fields = json!({
            "total": total,
            "cap": cap,
            "files": files,
            "truncated": total > rows.len() as u64,
        });
        add_unsearched(&result, &mut fields);
        list_reply("matches", fields, &rows)
    }
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

impl MatchRow {
    fn from_match(line_match: &crh_git::LineMatch) -> Self {
        let text = String::from_utf8_lossy(&line_match.text);
        let text = match text.char_indices().nth(TEXT_CHARS) {
            Some((end, _)) => format!("{}… [cut]", &text[..end]),
            None => text.into_owned(),
        };
        Self { path: display_path(&line_match.path), line: line_match.line, text }
    }
}

pub(super) fn display_path(path: &[u8]) -> String {
    RepoPath::new(path).shown().into_owned()
}

/// Resolves `head` or `base` to a commit.
pub(super) fn resolve_revision<'a>(
    repository: &'a Revisions,
    name: Option<&str>,
) -> Result<&'a str, ToolError> {
    repository.resolve(name).ok_or_else(|| {
        let name = name.unwrap_or_default();
        ToolError::TellModel(format!("there is no `{name}` here: `ref` is `head` or `base`"))
    })
}

/// The path as written, or unquoted if that does not exist: paths that are not UTF-8 are shown
/// quoted.
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
