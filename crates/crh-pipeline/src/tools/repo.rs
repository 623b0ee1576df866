//! The repository at the base or the head of the change: files, folders and search, from git objects.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::change::list;
use super::diff::span;
use super::nearest::nearest;
use super::{Bench, Reply, Tool, ToolError};
use crate::revisions::Revisions;
use crh_git::{Entry, Found, Kind, Pattern, Query, ReadError, SearchError, search};
use crh_review::diff::RepoPath;

/// How many lines of a file are shown at a time.
pub(super) const READ_LINES: u32 = 2_000;
/// How many matches a search shows unless more are asked for, and how many it shows at the most.
const MATCHES: u32 = 200;
const MATCHES_MAX: u32 = 10_000;
/// A line of a match that is longer than this is no line that somebody wrote.
const TEXT_CHARS: usize = 2_000;
/// How many names are offered to somebody who asked for one that is not there.
const SUGGESTIONS: usize = 3;
/// How many names are compared letter by letter, those of the most similar length: it takes a fraction of a second.
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

impl Tool for RepoRead {
    const NAME: &'static str = "repo_read";
    const READS_ONE_THING: bool = true;
    type Input = RepoReadInput;

    fn answer(input: RepoReadInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let text = text(bench, revision, &path(repository, revision, &input.path))?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let asked = (input.start_line.map(NonZeroU32::get), input.end_line.map(NonZeroU32::get));
        let path = input.path;
        if total == 0 {
            let reply = json!({ "path": path, "startLine": 0, "endLine": 0, "totalLines": 0, "truncated": false, "content": "" });
            return Reply::json(&reply);
        }
        let (start, end) = span(asked.0, asked.1, READ_LINES, total, "line")?;
        let end = end.min(start.saturating_add(READ_LINES - 1));
        let content: String = lines[start as usize - 1..end as usize].concat();
        Ok(Reply::lines(content, move |content| {
            let shown = content.split_inclusive('\n').count() as u64;
            let end = u64::from(start) + shown - 1;
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

impl Tool for RepoLs {
    const NAME: &'static str = "repo_ls";
    type Input = RepoLsInput;

    fn answer(input: RepoLsInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let path = path(repository, revision, &input.path);
        let entries = repository.objects().folder(revision, &path);
        let entries = entries.map_err(|error| told(bench, revision, error))?;
        let rows: Vec<EntryRow> = entries.iter().map(EntryRow::of).collect();
        list("entries", json!({ "path": input.path, "total": rows.len() }), &rows)
    }
}

impl Tool for RepoGrep {
    const NAME: &'static str = "repo_grep";
    type Input = RepoGrepInput;

    fn answer(input: RepoGrepInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let cap = input.max_matches.map_or(MATCHES, NonZeroU32::get).min(MATCHES_MAX);
        let query = Query {
            pattern: Pattern::Regex(input.pattern),
            glob: input.path_glob,
            ignore_case: input.ignore_case,
            max_matches: cap as usize,
        };
        let found = search(repository.objects(), revision, &query, &|_| true, bench.stop());
        let found = found.map_err(not_searched)?;
        let rows: Vec<MatchRow> = found.matches.iter().map(MatchRow::of).collect();
        let (total, files) = (found.total, found.files);
        let mut beside = json!({
            "total": total,
            "cap": cap,
            "files": files,
            "truncated": total > rows.len() as u64,
        });
        not_all_searched(&found, &mut beside);
        list("matches", beside, &rows)
    }
}

impl Tool for RepoStat {
    const NAME: &'static str = "repo_stat";
    const READS_ONE_THING: bool = true;
    type Input = RepoStatInput;

    fn answer(input: RepoStatInput, bench: &Bench) -> Result<Reply, ToolError> {
        let repository = bench.repository()?;
        let revision = revision(repository, input.revision.as_deref())?;
        let path = path(repository, revision, &input.path);
        let found = repository.objects().stat(revision, &path);
        let (entry, size) = found.map_err(|error| told(bench, revision, error))?;
        let row = EntryRow::of(&entry);
        Reply::json(&json!({
            "path": input.path,
            "type": row.kind,
            "mode": row.mode,
            "oid": row.oid,
            "size": size,
        }))
    }
}

impl EntryRow {
    fn of(entry: &Entry) -> Self {
        let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let (kind, mode) = match entry.kind {
            Kind::File => ("blob", "100644"),
            Kind::Executable => ("blob", "100755"),
            Kind::Link => ("link", "120000"),
            Kind::Folder => ("tree", "040000"),
            Kind::Submodule => ("commit", "160000"),
        };
        Self { path: shown(name), kind, mode, oid: entry.id.clone() }
    }
}

impl MatchRow {
    fn of(found: &crh_git::Match) -> Self {
        let text = String::from_utf8_lossy(&found.text);
        let text = match text.char_indices().nth(TEXT_CHARS) {
            Some((end, _)) => format!("{}… [cut]", &text[..end]),
            None => text.into_owned(),
        };
        Self { path: shown(&found.path), line: found.line, text }
    }
}

pub(super) fn shown(path: &[u8]) -> String {
    RepoPath::new(path).shown().into_owned()
}

/// The commit of a revision's name.
pub(super) fn revision<'a>(
    repository: &'a Revisions,
    name: Option<&str>,
) -> Result<&'a str, ToolError> {
    repository.named(name).ok_or_else(|| {
        let name = name.unwrap_or_default();
        ToolError::TellModel(format!("there is no `{name}` here: `ref` is `head` or `base`"))
    })
}

/// The path that is meant: as it is written, or else as git quotes it, which is how names that are not UTF-8 are
/// shown.
pub(super) fn path(repository: &Revisions, revision: &str, written: &str) -> Vec<u8> {
    let bytes = written.as_bytes();
    match RepoPath::unquoted(bytes) {
        Some(path) if repository.objects().stat(revision, bytes).is_err() => {
            path.as_bytes().to_vec()
        }
        Some(_) | None => bytes.to_vec(),
    }
}

/// The text of a file. What is no text is said to be none.
pub(super) fn text(bench: &Bench, revision: &str, path: &[u8]) -> Result<String, ToolError> {
    let bytes = bench.repository()?.objects().file(revision, path);
    let bytes = bytes.map_err(|error| told(bench, revision, error))?;
    if bytes[..bytes.len().min(8_000)].contains(&0) {
        let (path, size) = (shown(path), bytes.len());
        return Err(ToolError::TellModel(format!("`{path}` is a binary file of {size} bytes")));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// An error in words that the model can act on.
pub(super) fn told(bench: &Bench, revision: &str, error: ReadError) -> ToolError {
    let message = match &error {
        ReadError::NoEntry(path) => format!("{error}{}", suggestions(bench, revision, path)),
        ReadError::BadPath(_)
        | ReadError::NoCommit(_)
        | ReadError::OtherKind { .. }
        | ReadError::TooLarge { .. }
        | ReadError::Broken { .. } => error.to_string(),
    };
    ToolError::TellModel(message)
}

/// Paths that somebody who got one wrong may have meant.
fn suggestions(bench: &Bench, revision: &str, path: &str) -> String {
    let Ok(repository) = bench.repository() else { return String::new() };
    let Ok(mut files) = repository.objects().files(revision) else { return String::new() };
    let wanted = last_name(path.as_bytes());
    let same_name = files.iter().filter(|entry| last_name(&entry.path) == wanted);
    let mut near: Vec<String> =
        same_name.take(SUGGESTIONS).map(|entry| shown(&entry.path)).collect();
    if near.is_empty() {
        if files.len() > COMPARED_MAX {
            files.sort_by_key(|entry| last_name(&entry.path).len().abs_diff(wanted.len()));
            files.truncate(COMPARED_MAX);
        }
        let names: Vec<String> = files.iter().map(|entry| shown(&entry.path)).collect();
        let names = names.iter().map(String::as_str).take_while(|_| bench.check().is_ok());
        near = nearest(path, names).into_iter().take(SUGGESTIONS).map(str::to_owned).collect();
    }
    match near.as_slice() {
        [] => String::new(),
        near => format!("; did you mean `{}`?", near.join("`, `")),
    }
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Says which files could not be searched, and why.
pub(super) fn not_all_searched(found: &Found, beside: &mut Value) {
    if !found.unread.is_empty() {
        let unread: Vec<String> = found.unread.iter().map(|(_, why)| why.to_string()).collect();
        beside["notSearched"] = json!(unread);
    }
}

pub(super) fn not_searched(error: SearchError) -> ToolError {
    match error {
        SearchError::Stopped => ToolError::Abort(error.to_string()),
        SearchError::Pattern(_)
        | SearchError::Glob(_)
        | SearchError::NoFile(_)
        | SearchError::Read(_) => ToolError::TellModel(error.to_string()),
    }
}
