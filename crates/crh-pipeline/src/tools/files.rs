//! `read`, `find` and `ls`: the files of the workspace, and nothing else.

use std::fs;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Bench, Reply, Tool, ToolError};
use crate::workspace::{Inside, InsideKind, Workspace};
use crh_git::{GlobError, Globs};

/// What is shown of a file unless more is asked for: a long source file.
const READ_LINES: usize = 2_000;
/// What is listed of a search unless more is asked for.
const FIND_PATHS: usize = 1_000;
/// What is listed of a folder unless more is asked for.
const LS_NAMES: usize = 500;
/// More entries than this never fit a reply.
const ENTRIES_MAX: usize = 20_000;

pub(super) struct Read;
pub(super) struct Find;
pub(super) struct Ls;

/// Reads a text file of the workspace (metadata, description, CI, agent instructions, diffs, comments). The workspace
/// is not a checkout: source files are read with `repo_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadInput {
    /// Path from the root of the workspace, such as `description.md`.
    path: String,
    /// First line to show, 1-based; 1 if left out.
    offset: Option<NonZeroU32>,
    /// How many lines to show; 2000 if left out.
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

impl Tool for Read {
    const NAME: &'static str = "read";
    type Input = ReadInput;

    fn answer(input: ReadInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let file = workspace.look_up(&input.path)?;
        if file.kind == InsideKind::Folder {
            return tell(format!("`{}` is a folder; `ls` lists it", input.path));
        }
        let bytes = workspace.bytes(&file.shown)?;
        let text = String::from_utf8_lossy(&bytes);
        let total = text.split_inclusive('\n').count();
        let first = at_most(input.offset, 1);
        if first > total.max(1) {
            return tell(format!(
                "`{}` has {total} lines, so there is no line {first}",
                input.path
            ));
        }
        let wanted = at_most(input.limit, READ_LINES);
        let mut shown: String = text.split_inclusive('\n').skip(first - 1).take(wanted).collect();
        let last = total.min((first - 1).saturating_add(wanted));
        if first > 1 || last < total {
            let newline = if shown.ends_with('\n') { "" } else { "\n" };
            shown.push_str(&format!("{newline}[lines {first}-{last} of {total}]\n"));
        }
        Ok(Reply::text(if total == 0 { "[the file is empty]\n".to_owned() } else { shown }))
    }
}

impl Tool for Find {
    const NAME: &'static str = "find";
    type Input = FindInput;

    fn answer(input: FindInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let start = folder(workspace, input.path.as_deref())?;
        let glob = glob(&input.pattern)?;
        let paths = below(&start, bench)?
            .into_iter()
            .filter(|found| glob.is_match(found.relative.as_bytes()));
        let lines = paths.map(|found| match found.kind {
            InsideKind::Folder => format!("{}/", found.shown),
            InsideKind::File => found.shown,
        });
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            return tell(format!("nothing in the workspace matches `{}`", input.pattern));
        }
        Ok(Reply::text(listed(&lines, at_most(input.limit, FIND_PATHS), "paths")))
    }
}

impl Tool for Ls {
    const NAME: &'static str = "ls";
    type Input = LsInput;

    fn answer(input: LsInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let folder = folder(workspace, input.path.as_deref())?;
        let mut lines = Vec::new();
        for name in workspace.names(&folder.shown)? {
            bench.check()?;
            let path = folder.path.join(&name);
            let mark = match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => "/".to_owned(),
                Ok(found) if found.is_symlink() => {
                    let target = fs::read_link(&path).unwrap_or_default();
                    format!(" -> {}", target.display())
                }
                Ok(_) | Err(_) => String::new(),
            };
            lines.push(format!("{name}{mark}"));
        }
        if lines.is_empty() {
            return Ok(Reply::text("[the folder is empty]\n".to_owned()));
        }
        Ok(Reply::text(listed(&lines, at_most(input.limit, LS_NAMES), "names")))
    }
}

/// Something below the folder where a walk began.
pub(super) struct Below {
    /// The path from the root of the workspace.
    pub(super) shown: String,
    /// The path from where the walk began.
    pub(super) relative: String,
    /// What it is.
    pub(super) kind: InsideKind,
}

/// Everything below a folder, sorted by path. Links are not followed: `latest` would show a round twice.
pub(super) fn below(start: &Inside, bench: &Bench) -> Result<Vec<Below>, ToolError> {
    let mut found = Vec::new();
    let mut folders = vec![(start.path.clone(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        bench.check()?;
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| {
            ToolError::Abort(format!("reading `{}`: {error}", folder.display()))
        })?;
        for entry in entries {
            // We write no name that is not text; one that came from elsewhere cannot be asked for either.
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let relative = format!("{prefix}{name}");
            let kind = if kind.is_dir() {
                InsideKind::Folder
            } else if kind.is_file() {
                InsideKind::File
            } else {
                continue;
            };
            if kind == InsideKind::Folder {
                folders.push((entry.path(), format!("{relative}/")));
            }
            let shown = if start.shown.is_empty() {
                relative.clone()
            } else {
                format!("{}/{relative}", start.shown)
            };
            found.push(Below { shown, relative, kind });
        }
    }
    found.sort_by(|a, b| a.shown.cmp(&b.shown));
    Ok(found)
}

/// A glob as people write them, by the one rule for paths.
pub(super) fn glob(text: &str) -> Result<Globs, ToolError> {
    Globs::new([text.trim_start_matches("./")]).map_err(|error| {
        let GlobError { glob, message } = error;
        ToolError::TellModel(format!("the glob `{glob}` cannot be used: {message}"))
    })
}

/// A number that a model gave, within reason, or the usual one.
pub(super) fn at_most(asked: Option<NonZeroU32>, usual: usize) -> usize {
    asked.map_or(usual, |asked| usize::try_from(asked.get()).unwrap_or(usize::MAX))
}

fn folder(workspace: &Workspace, path: Option<&str>) -> Result<Inside, ToolError> {
    let found = workspace.look_up(path.unwrap_or_default())?;
    match found.kind {
        InsideKind::Folder => Ok(found),
        InsideKind::File => tell(format!("`{}` is a file; `read` shows it", found.shown)),
    }
}

fn listed(lines: &[String], limit: usize, what: &str) -> String {
    let shown = limit.min(ENTRIES_MAX).min(lines.len());
    let mut text = lines[..shown].join("\n");
    text.push('\n');
    if shown < lines.len() {
        text.push_str(&format!(
            "[{shown} of {} {what} shown; narrow the request or raise `limit`]\n",
            lines.len()
        ));
    }
    text
}

fn tell<T>(message: String) -> Result<T, ToolError> {
    Err(ToolError::TellModel(message))
}
