//! `read`, `find` and `ls` for files of the workspace.

use std::fs;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::workspace::{PathKind, Workspace, WorkspacePath};
use crh_git::{GlobError, PathGlobs};

/// Default number of lines in a reply of `read`.
const READ_LINES: usize = 2_000;
/// Default number of paths in a reply of `find`.
const FIND_PATHS: usize = 1_000;
/// Default number of names in a reply of `ls`.
const LS_NAMES: usize = 500;
/// Maximum number of entries to list. More never fit into a reply.
const ENTRIES_MAX: usize = 20_000;

pub(super) struct ReadTool;
pub(super) struct FindTool;
pub(super) struct LsTool;

/// Reads a text file of the workspace: description, CI, comments, instructions for agents. `repo_read` reads source files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadInput {
    /// The path in the workspace, such as `ci.json`.
    path: String,
    /// First line to show.
    offset: Option<NonZeroU32>,
    /// Number of lines; 2,000 by default.
    limit: Option<NonZeroU32>,
}

/// Finds files and folders of the workspace by a glob: `*.json`, `preview-diffs/*/meta.json`, `**/inline/*`. One
/// path per line, from the root of the workspace; folders end with `/`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindInput {
    /// The glob. Without a slash it matches names at any depth; with one, paths from `path` on; with one at its end,
    /// all that is in a folder.
    pattern: String,
    /// The folder to look in; the whole workspace if left out.
    path: Option<String>,
    /// How many paths to show; 1000 if left out.
    limit: Option<NonZeroU32>,
}

/// Lists a folder of the workspace, one name per line; folders end with `/`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LsInput {
    /// The folder; the root of the workspace if left out.
    path: Option<String>,
    /// How many names to show; 500 if left out.
    limit: Option<NonZeroU32>,
}

impl AgentTool for ReadTool {
    const NAME: &'static str = "read";
    type Input = ReadInput;

    fn answer(input: ReadInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let file = workspace.look_up(&input.path)?;
        if file.kind == PathKind::Folder {
            return tell_model(format!("`{}` is a folder; `ls` lists it", input.path));
        }
        let bytes = workspace.bytes(&file.workspace_path)?;
        let text = String::from_utf8_lossy(&bytes);
        let total = text.split_inclusive('\n').count();
        let first = limit_or(input.offset, 1);
        if first > total.max(1) {
            return tell_model(format!(
                "`{}` has {total} lines, so there is no line {first}",
                input.path
            ));
        }
        let line_limit = limit_or(input.limit, READ_LINES);
        let mut excerpt: String =
            text.split_inclusive('\n').skip(first - 1).take(line_limit).collect();
        let last = total.min((first - 1).saturating_add(line_limit));
        if first > 1 || last < total {
            let newline = if excerpt.ends_with('\n') { "" } else { "\n" };
            excerpt.push_str(&format!("{newline}[lines {first}-{last} of {total}]\n"));
        }
        Ok(ToolReply::text(if total == 0 { "[the file is empty]\n".to_owned() } else { excerpt }))
    }
}

impl AgentTool for FindTool {
    const NAME: &'static str = "find";
    type Input = FindInput;

    fn answer(input: FindInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let start = find_folder(workspace, input.path.as_deref())?;
        let glob = parse_glob(&input.pattern)?;
        let paths = walk(&start, ctx)?
            .into_iter()
            .filter(|entry| glob.is_match(entry.path_in_folder.as_bytes()));
        let lines = paths.map(|entry| match entry.kind {
            PathKind::Folder => format!("{}/", entry.workspace_path),
            PathKind::File => entry.workspace_path,
        });
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            return tell_model(format!("nothing in the workspace matches `{}`", input.pattern));
        }
        Ok(ToolReply::text(format_list(&lines, limit_or(input.limit, FIND_PATHS), "paths")))
    }
}

impl AgentTool for LsTool {
    const NAME: &'static str = "ls";
    type Input = LsInput;

    fn answer(input: LsInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let folder = find_folder(workspace, input.path.as_deref())?;
        let mut lines = Vec::new();
        for name in workspace.names(&folder.workspace_path)? {
            ctx.check_stopped()?;
            let path = folder.path.join(&name);
            let suffix = match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => "/".to_owned(),
                Ok(metadata) if metadata.is_symlink() => {
                    let target = fs::read_link(&path).unwrap_or_default();
                    format!(" -> {}", target.display())
                }
                Ok(_) | Err(_) => String::new(),
            };
            lines.push(format!("{name}{suffix}"));
        }
        if lines.is_empty() {
            return Ok(ToolReply::text("[the folder is empty]\n".to_owned()));
        }
        Ok(ToolReply::text(format_list(&lines, limit_or(input.limit, LS_NAMES), "names")))
    }
}

/// An entry below the start of a walk.
pub(super) struct WalkEntry {
    /// Path from the workspace root.
    pub(super) workspace_path: String,
    /// Path from the folder where the walk starts.
    pub(super) path_in_folder: String,
    /// File or folder.
    pub(super) kind: PathKind,
}

/// All entries below a folder, sorted by path. Does not follow symlinks: `latest` would repeat a
/// round.
pub(super) fn walk(start: &WorkspacePath, ctx: &ToolContext) -> Result<Vec<WalkEntry>, ToolError> {
    let mut all_entries = Vec::new();
    let mut folders = vec![(start.path.clone(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        ctx.check_stopped()?;
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| {
            ToolError::Abort(format!("reading `{}`: {error}", folder.display()))
        })?;
        for entry in entries {
            // crh writes only UTF-8 names, and models cannot request others.
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let path_in_folder = format!("{prefix}{name}");
            let kind = if kind.is_dir() {
                PathKind::Folder
            } else if kind.is_file() {
                PathKind::File
            } else {
                continue;
            };
            if kind == PathKind::Folder {
                folders.push((entry.path(), format!("{path_in_folder}/")));
            }
            let workspace_path = if start.workspace_path.is_empty() {
                path_in_folder.clone()
            } else {
                format!("{}/{path_in_folder}", start.workspace_path)
            };
            all_entries.push(WalkEntry { workspace_path, path_in_folder, kind });
        }
    }
    all_entries.sort_by(|a, b| a.workspace_path.cmp(&b.workspace_path));
    Ok(all_entries)
}

/// Parses a glob with the rules used everywhere in crh.
pub(super) fn parse_glob(text: &str) -> Result<PathGlobs, ToolError> {
    PathGlobs::new([text.trim_start_matches("./")]).map_err(|error| {
        let GlobError { glob, message } = error;
        ToolError::TellModel(format!("the glob `{glob}` cannot be used: {message}"))
    })
}

/// The requested limit, or the default.
pub(super) fn limit_or(requested: Option<NonZeroU32>, default: usize) -> usize {
    requested.map_or(default, |limit| usize::try_from(limit.get()).unwrap_or(usize::MAX))
}

fn find_folder(workspace: &Workspace, path: Option<&str>) -> Result<WorkspacePath, ToolError> {
    let entry = workspace.look_up(path.unwrap_or_default())?;
    match entry.kind {
        PathKind::Folder => Ok(entry),
        PathKind::File => {
            tell_model(format!("`{}` is a file; `read` shows it", entry.workspace_path))
        }
    }
}

fn format_list(lines: &[String], limit: usize, noun: &str) -> String {
    let shown_count = limit.min(ENTRIES_MAX).min(lines.len());
    let mut text = lines[..shown_count].join("\n");
    text.push('\n');
    if shown_count < lines.len() {
        text.push_str(&format!(
            "[{shown_count} of {} {noun} shown; narrow the request or raise `limit`]\n",
            lines.len()
        ));
    }
    text
}

fn tell_model<T>(message: String) -> Result<T, ToolError> {
    Err(ToolError::TellModel(message))
}
