//! Tools for the diff of a round: files, numbered lines and line mapping.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::RoundId;
use super::change::list_reply;
use super::reply::to_value;
use super::similarity::rank_by_similarity;
use super::{AgentTool, ToolContext, ToolError, ToolReply};
use crate::workspace::{RoundEntry, Workspace};
use crh_review::diff::{Diff, FileDiff, MappedLine, RepoPath};
use crh_review::schema::FileRow;

/// Default number of lines in a reply of `diff_numbered`.
const NUMBERED_LINES: u32 = 500;
/// How many similar paths an error suggests.
const SUGGESTIONS: usize = 3;

pub(super) struct DiffListFiles;
pub(super) struct DiffGetFile;
pub(super) struct DiffNumbered;
pub(super) struct DiffMapLine;

/// Lists the files of the diff in its order, with what happened to each and how many lines were added and
/// removed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DiffListFilesInput {
    /// The round; the latest if left out.
    preview_diff_id: Option<RoundId>,
    /// First file to list, 1-based; 1 if left out.
    start: Option<NonZeroU32>,
    /// Last file to list; the last of all if left out.
    end: Option<NonZeroU32>,
}

/// Shows the patch of one file. `lineMap` maps lines of the numbered diff to lines of the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DiffGetFileInput {
    /// The path, as `diff_list_files` shows it.
    path: String,
    /// The round; the latest if left out.
    preview_diff_id: Option<RoundId>,
}

/// Shows lines of the diff with their numbers, which are how findings cite lines. `totalLines` is the length of
/// the whole diff; ask for the next lines with `start` and `end`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DiffNumberedInput {
    /// First line to show, 1-based; 1 if left out.
    start: Option<NonZeroU32>,
    /// Last line to show; 500 lines from `start` if left out.
    end: Option<NonZeroU32>,
    /// The round; the latest if left out.
    preview_diff_id: Option<RoundId>,
}

/// Tells which line of which file a line of the numbered diff is. `side` is `before` for a removed line, whose
/// `fileLine` counts in the old file, and `after` or `context` for one that counts in the new.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DiffMapLineInput {
    /// The number of the line in the numbered diff.
    diff_line: NonZeroU32,
    /// The file you expect it to be in; any if left out.
    path: Option<String>,
    /// The round; the latest if left out.
    preview_diff_id: Option<RoundId>,
}

impl AgentTool for DiffListFiles {
    const NAME: &'static str = "diff_list_files";
    type Input = DiffListFilesInput;

    fn answer(input: DiffListFilesInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let round = find_round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let total = u32::try_from(diff.files().len()).unwrap_or(u32::MAX);
        let requested = (input.start.map(NonZeroU32::get), input.end.map(NonZeroU32::get));
        let mut fields = json!({ "previewDiffId": round.id, "total": total });
        let files = match requested {
            (None, None) => diff.files(),
            (start, end) => {
                let (start, end) = clamp_range(start, end, total, total, "file")?;
                fields["start"] = json!(start);
                &diff.files()[start as usize - 1..end as usize]
            }
        };
        let rows: Vec<_> = files.iter().map(FileRow::from_file).collect();
        list_reply("files", fields, &rows)
    }
}

impl AgentTool for DiffGetFile {
    const NAME: &'static str = "diff_get_file";
    type Input = DiffGetFileInput;

    fn answer(input: DiffGetFileInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let round = find_round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let named_file = find_file(&diff, &input.path)?;
        let row = to_value(&named_file.row())?;
        let mut lines = Vec::new();
        for file in &named_file.files {
            ctx.check_stopped()?;
            lines.extend(patch_lines(&diff, file));
        }
        let hint = named_file.hint();
        // If the patch is truncated, the line map is too.
        Ok(ToolReply::rows(lines.len(), move |shown| {
            let mut map = Map::new();
            for line in lines[..shown].iter().filter_map(|line| line.position) {
                map.insert(line.number.to_string(), json!(line.entry()));
            }
            let patch: String = lines[..shown].iter().map(|line| line.text.as_str()).collect();
            let mut value = json!({
                "meta": row,
                "patch": patch,
                "shownLines": shown,
                "totalLines": lines.len(),
            });
            value["meta"]["lineMap"] = Value::Object(map);
            if let Some(hint) = &hint {
                value["hint"] = json!(hint);
            }
            value
        }))
    }
}

impl AgentTool for DiffNumbered {
    const NAME: &'static str = "diff_numbered";
    type Input = DiffNumberedInput;

    fn answer(input: DiffNumberedInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let round = find_round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let total = u32::try_from(diff.numbered_lines().count()).unwrap_or(u32::MAX);
        if total == 0 {
            return tell_model("the diff is empty".to_owned());
        }
        let requested = (input.start.map(NonZeroU32::get), input.end.map(NonZeroU32::get));
        let (start, end) = clamp_range(requested.0, requested.1, NUMBERED_LINES, total, "line")?;
        let mut content = String::new();
        for (number, line) in diff.numbered_lines().skip(start as usize - 1) {
            if number > end {
                break;
            }
            content.push_str(&format!("{number}  {}", String::from_utf8_lossy(line)));
        }
        let full_length = content.len();
        Ok(ToolReply::lines(content, move |content| {
            let shown_lines = u32::try_from(content.lines().count()).unwrap_or(u32::MAX);
            let last = (start + shown_lines).saturating_sub(1).min(end);
            let mut value = json!({
                "content": content,
                "start": start,
                "end": last,
                "totalLines": total,
                "truncated": last < total,
            });
            // If a single line is longer than a reply, only its beginning is shown.
            if content.len() < full_length && !content.ends_with('\n') {
                value["cutLine"] = json!(true);
            }
            value
        }))
    }
}

impl AgentTool for DiffMapLine {
    const NAME: &'static str = "diff_map_line";
    type Input = DiffMapLineInput;

    fn answer(input: DiffMapLineInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let round = find_round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let number = input.diff_line.get();
        let expected = input.path.as_deref().map(|path| find_file(&diff, path)).transpose()?;
        let Some((file, line)) = diff.locate(number) else {
            return tell_model(not_in_a_hunk(&diff, number));
        };
        let path = file.path.shown();
        if let Some(expected) = expected.filter(|expected| expected.path() != path) {
            let expected_path = expected.path();
            return tell_model(format!(
                "diff line {number} not found in `{expected_path}`: it is in `{path}`"
            ));
        }
        let entry = line.entry();
        ToolReply::json(&json!({ "path": path, "side": entry.side, "fileLine": entry.file_line }))
    }
}

fn not_in_a_hunk(diff: &Diff, number: u32) -> String {
    let total = diff.numbered_lines().count();
    if number as usize > total {
        return format!(
            "diff line {number} not found in any changed file: the diff has {total} lines"
        );
    }
    let header = match diff.file_at(number).map(|index| diff.files()[index].path.shown()) {
        Some(path) => format!("the header of `{path}` or a remark of git's"),
        None => "text before the first file".to_owned(),
    };
    format!("diff line {number} not found in any changed file: it is {header}, not code")
}

/// The round with this id, or the latest one.
pub(super) fn find_round<'a>(
    workspace: &'a Workspace,
    id: Option<&RoundId>,
) -> Result<&'a RoundEntry, ToolError> {
    match id {
        Some(RoundId(id)) => Ok(workspace.round(id)?),
        None => workspace
            .latest()
            .ok_or_else(|| ToolError::TellModel("this change has no diff".to_owned())),
    }
}

/// Numbers of the first and the last of `total` things, from 1. A larger last number becomes
/// `total`.
pub(super) fn clamp_range(
    start: Option<u32>,
    end: Option<u32>,
    default_count: u32,
    total: u32,
    noun: &str,
) -> Result<(u32, u32), ToolError> {
    let start = start.unwrap_or(1);
    if start > total {
        let count_text =
            if total == 1 { format!("is 1 {noun}") } else { format!("are {total} {noun}s") };
        return tell_model(format!("there {count_text}, so none from {start} on"));
    }
    let end = end.unwrap_or(start.saturating_add(default_count.saturating_sub(1)));
    if end < start {
        return tell_model(format!("the end ({end}) is before the start ({start})"));
    }
    Ok((start, end.min(total)))
}

/// Diff entries of one path: two if the file changes its type, otherwise one.
pub(super) struct NamedFile<'a> {
    files: Vec<&'a FileDiff>,
    is_old_path: bool,
}

/// Finds a file by its path, its path as quoted by git, or its old path.
pub(super) fn find_file<'a>(diff: &'a Diff, path: &str) -> Result<NamedFile<'a>, ToolError> {
    let files_where = |predicate: &dyn Fn(&FileDiff) -> bool| -> Vec<&'a FileDiff> {
        diff.files().iter().filter(|file| predicate(file)).collect()
    };
    let mut files = files_where(&|file| file.path.shown() == path);
    // A model may copy the path from a diff header, in which git quotes it.
    if let (true, Some(unquoted)) = (files.is_empty(), RepoPath::from_quoted(path.as_bytes())) {
        files = files_where(&|file| file.path == unquoted);
    }
    if !files.is_empty() {
        return Ok(NamedFile { files, is_old_path: false });
    }
    let files = files_where(&|file| file.old_path.as_ref().is_some_and(|old| old.shown() == path));
    match files.as_slice() {
        [] => {
            let names: Vec<_> = diff.files().iter().map(|file| file.path.shown()).collect();
            let similar = rank_by_similarity(path, names.iter().map(|name| &**name));
            let similar: Vec<_> =
                similar.iter().take(SUGGESTIONS).map(|name| format!("`{name}`")).collect();
            tell_model(match similar.as_slice() {
                [] => format!("`{path}` is not in the diff, which has no file"),
                similar => format!(
                    "`{path}` is not in the diff; did you mean {}? `diff_list_files` lists all",
                    similar.join(", ")
                ),
            })
        }
        [first, ..] => Ok(NamedFile { files: vec![first], is_old_path: true }),
    }
}

impl NamedFile<'_> {
    /// Path in the diff.
    pub(super) fn path(&self) -> String {
        self.files.first().map(|file| file.path.shown().into_owned()).unwrap_or_default()
    }

    /// One row for all entries.
    fn row(&self) -> Option<FileRow> {
        let (first, rest) = self.files.split_first()?;
        let mut row = FileRow::from_file(first);
        for file in rest {
            row.status = crh_review::diff::FileStatus::Modified;
            row.additions = row.additions.saturating_add(file.additions);
            row.deletions = row.deletions.saturating_add(file.deletions);
        }
        Some(row)
    }

    fn hint(&self) -> Option<String> {
        let first = self.files.first()?;
        match (&first.old_path, self.files.len()) {
            (Some(old), _) if self.is_old_path => {
                Some(format!("`{}` is `{}` after this change", old.shown(), first.path.shown()))
            }
            (_, 2..) => Some("the file changes its type: it is removed and added again".to_owned()),
            _ => None,
        }
    }
}

/// A line of a patch, with its position if it is code.
struct PatchLine {
    text: String,
    position: Option<MappedLine>,
}

fn patch_lines(diff: &Diff, file: &FileDiff) -> Vec<PatchLine> {
    let map = diff.line_map(file);
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n');
    (file.first_line()..)
        .zip(lines)
        .map(|(number, line)| PatchLine {
            text: String::from_utf8_lossy(line).into_owned(),
            position: map.get(number).copied(),
        })
        .collect()
}

fn tell_model<T>(message: String) -> Result<T, ToolError> {
    Err(ToolError::TellModel(message))
}
