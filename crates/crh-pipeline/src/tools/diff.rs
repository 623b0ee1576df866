//! The diff of a round: its files, its numbered lines, and where they stand.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::RoundId;
use super::change::list;
use super::nearest::nearest;
use super::reply::to_value;
use super::{Bench, Reply, Tool, ToolError};
use crate::workspace::{RoundRow, Workspace};
use crh_review::diff::{Diff, FileDiff, MappedLine, RepoPath};
use crh_review::schema::FileRow;

/// How many lines of the numbered diff are shown unless others are asked for.
const NUMBERED_LINES: u32 = 500;
/// How many files are named to somebody who asked for one that is not there.
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

/// Shows the patch of one file, with `lineMap`: line of the numbered diff to line of the file.
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

impl Tool for DiffListFiles {
    const NAME: &'static str = "diff_list_files";
    type Input = DiffListFilesInput;

    fn answer(input: DiffListFilesInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let round = round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let total = u32::try_from(diff.files().len()).unwrap_or(u32::MAX);
        let asked = (input.start.map(NonZeroU32::get), input.end.map(NonZeroU32::get));
        let mut beside = json!({ "previewDiffId": round.id, "total": total });
        let files = match asked {
            (None, None) => diff.files(),
            (start, end) => {
                let (start, end) = span(start, end, total, total, "file")?;
                beside["start"] = json!(start);
                &diff.files()[start as usize - 1..end as usize]
            }
        };
        let rows: Vec<_> = files.iter().map(FileRow::of).collect();
        list("files", beside, &rows)
    }
}

impl Tool for DiffGetFile {
    const NAME: &'static str = "diff_get_file";
    type Input = DiffGetFileInput;

    fn answer(input: DiffGetFileInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let round = round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let found = file_named(&diff, &input.path)?;
        let row = to_value(&found.row())?;
        let mut lines = Vec::new();
        for file in &found.files {
            bench.check()?;
            lines.extend(patch_lines(&diff, file));
        }
        let hint = found.hint();
        // A patch that is too long loses lines, and the map with it what is about those lines.
        Ok(Reply::rows(lines.len(), move |shown| {
            let mut map = Map::new();
            for line in lines[..shown].iter().filter_map(|line| line.mapped) {
                map.insert(line.number.to_string(), json!(line.place()));
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

impl Tool for DiffNumbered {
    const NAME: &'static str = "diff_numbered";
    type Input = DiffNumberedInput;

    fn answer(input: DiffNumberedInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let round = round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let total = u32::try_from(diff.numbered().count()).unwrap_or(u32::MAX);
        if total == 0 {
            return tell("the diff is empty".to_owned());
        }
        let asked = (input.start.map(NonZeroU32::get), input.end.map(NonZeroU32::get));
        let (start, end) = span(asked.0, asked.1, NUMBERED_LINES, total, "line")?;
        let mut content = String::new();
        for (number, line) in diff.numbered().skip(start as usize - 1) {
            if number > end {
                break;
            }
            content.push_str(&format!("{number}  {}", String::from_utf8_lossy(line)));
        }
        let whole = content.len();
        Ok(Reply::lines(content, move |content| {
            let shown = u32::try_from(content.lines().count()).unwrap_or(u32::MAX);
            let last = (start + shown).saturating_sub(1).min(end);
            let mut value = json!({
                "content": content,
                "start": start,
                "end": last,
                "totalLines": total,
                "truncated": last < total,
            });
            // One line that is longer than a reply: there is no other way to it, so its beginning is shown.
            if content.len() < whole && !content.ends_with('\n') {
                value["cutLine"] = json!(true);
            }
            value
        }))
    }
}

impl Tool for DiffMapLine {
    const NAME: &'static str = "diff_map_line";
    type Input = DiffMapLineInput;

    fn answer(input: DiffMapLineInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let round = round(workspace, input.preview_diff_id.as_ref())?;
        let diff = workspace.diff(&round.id)?;
        let number = input.diff_line.get();
        let expected = input.path.as_deref().map(|path| file_named(&diff, path)).transpose()?;
        let Some((file, line)) = diff.locate(number) else {
            return tell(not_in_a_hunk(&diff, number));
        };
        let path = file.path.shown();
        if let Some(expected) = expected.filter(|expected| expected.path() != path) {
            let asked = expected.path();
            return tell(format!("diff line {number} not found in `{asked}`: it is in `{path}`"));
        }
        let place = line.place();
        Reply::json(&json!({ "path": path, "side": place.side, "fileLine": place.file_line }))
    }
}

fn not_in_a_hunk(diff: &Diff, number: u32) -> String {
    let total = diff.numbered().count();
    if number as usize > total {
        return format!(
            "diff line {number} not found in any changed file: the diff has {total} lines"
        );
    }
    let header = match diff.file_at(number).map(|at| diff.files()[at].path.shown()) {
        Some(path) => format!("the header of `{path}` or a remark of git's"),
        None => "text before the first file".to_owned(),
    };
    format!("diff line {number} not found in any changed file: it is {header}, not code")
}

/// The round with this id, or the latest.
pub(super) fn round<'a>(
    workspace: &'a Workspace,
    id: Option<&RoundId>,
) -> Result<&'a RoundRow, ToolError> {
    match id {
        Some(RoundId(id)) => Ok(workspace.round(id)?),
        None => workspace
            .latest()
            .ok_or_else(|| ToolError::TellModel("this change has no diff".to_owned())),
    }
}

/// The first and the last of `total` things, 1-based, from what was asked for.
pub(super) fn span(
    start: Option<u32>,
    end: Option<u32>,
    usual: u32,
    total: u32,
    what: &str,
) -> Result<(u32, u32), ToolError> {
    let start = start.unwrap_or(1);
    if start > total {
        let counted =
            if total == 1 { format!("is 1 {what}") } else { format!("are {total} {what}s") };
        return tell(format!("there {counted}, so none from {start} on"));
    }
    let end = end.unwrap_or(start.saturating_add(usual.saturating_sub(1)));
    if end < start {
        return tell(format!("the end ({end}) is before the start ({start})"));
    }
    Ok((start, end.min(total)))
}

/// The entries of a diff for one path: two if the file changes its type, else one.
pub(super) struct NamedFile<'a> {
    files: Vec<&'a FileDiff>,
    asked_by_old_path: bool,
}

/// Finds a file by the path that `diff_list_files` shows, or by how git quotes it, or by the path it had.
pub(super) fn file_named<'a>(diff: &'a Diff, path: &str) -> Result<NamedFile<'a>, ToolError> {
    let all = |is_meant: &dyn Fn(&FileDiff) -> bool| -> Vec<&'a FileDiff> {
        diff.files().iter().filter(|file| is_meant(file)).collect()
    };
    let mut files = all(&|file| file.path.shown() == path);
    // A model may copy the name from a header of the diff.
    if let (true, Some(unquoted)) = (files.is_empty(), RepoPath::unquoted(path.as_bytes())) {
        files = all(&|file| file.path == unquoted);
    }
    if !files.is_empty() {
        return Ok(NamedFile { files, asked_by_old_path: false });
    }
    let files = all(&|file| file.old_path.as_ref().is_some_and(|old| old.shown() == path));
    match files.as_slice() {
        [] => {
            let names: Vec<_> = diff.files().iter().map(|file| file.path.shown()).collect();
            let near = nearest(path, names.iter().map(|name| &**name));
            let near: Vec<_> =
                near.iter().take(SUGGESTIONS).map(|name| format!("`{name}`")).collect();
            tell(match near.as_slice() {
                [] => format!("`{path}` is not in the diff, which has no file"),
                near => format!(
                    "`{path}` is not in the diff; did you mean {}? `diff_list_files` lists all",
                    near.join(", ")
                ),
            })
        }
        [first, ..] => Ok(NamedFile { files: vec![first], asked_by_old_path: true }),
    }
}

impl NamedFile<'_> {
    /// The path as the diff has it now.
    pub(super) fn path(&self) -> String {
        self.files.first().map(|file| file.path.shown().into_owned()).unwrap_or_default()
    }

    /// One row for all entries.
    fn row(&self) -> Option<FileRow> {
        let (first, rest) = self.files.split_first()?;
        let mut row = FileRow::of(first);
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
            (Some(old), _) if self.asked_by_old_path => {
                Some(format!("`{}` is `{}` after this change", old.shown(), first.path.shown()))
            }
            (_, 2..) => Some("the file changes its type: it is removed and added again".to_owned()),
            _ => None,
        }
    }
}

/// A line of a patch, and where it stands if it is code.
struct PatchLine {
    text: String,
    mapped: Option<MappedLine>,
}

fn patch_lines(diff: &Diff, file: &FileDiff) -> Vec<PatchLine> {
    let map = diff.line_map(file);
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n');
    (file.first_line()..)
        .zip(lines)
        .map(|(number, line)| PatchLine {
            text: String::from_utf8_lossy(line).into_owned(),
            mapped: map.get(number).copied(),
        })
        .collect()
}

fn tell<T>(message: String) -> Result<T, ToolError> {
    Err(ToolError::TellModel(message))
}
