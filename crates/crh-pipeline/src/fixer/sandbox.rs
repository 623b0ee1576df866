//! The files of a fix task in a separate working tree.
//!
//! Invariant: a fixer writes only regular files that the task names. Neither its requests nor the
//! contents of the tree change that.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use super::splice::splice;
use super::tools::{EditFile, ReadWorktree, WriteFile};
use crate::text::{cut, numbered_line, one_line};
use crh_git::{TempCheckout, check_path};

/// Maximum size of a file that the fixer may edit. People rarely write larger files by hand, and
/// could not check edits of them.
const FILE_MAX: u64 = 1 << 20;
/// Lines to show around a change, as in a diff.
const CONTEXT_LINES: u32 = 3;
/// Lines to show around an issue. Covers most functions.
const EXCERPT_CONTEXT: u32 = 30;
/// Maximum number of lines to show with an issue.
const EXCERPT_LINES_MAX: u32 = 240;
/// Maximum number of lines per reply. The model can ask for the next lines.
const LINES_MAX: usize = 800;
/// Maximum characters of a line to show. People rarely write longer lines by hand.
const LINE_CHARS: usize = 400;
/// How many files an error lists.
const SHOWN_FILES_MAX: usize = 10;
/// How much of a path an error repeats.
const PATH_CHARS: usize = 200;

/// Working tree of one fixer.
#[derive(Debug)]
pub(super) struct FixSandbox {
    root: PathBuf,
    /// Files that may be written.
    files: BTreeSet<String>,
    /// Files that are missing from the tree, and why.
    missing_files: BTreeMap<String, String>,
    state: Mutex<SandboxState>,
}

#[derive(Debug, Default)]
struct SandboxState {
    /// Whether the run has ended. Then every tool call fails.
    is_closed: bool,
    /// Messages of refused calls.
    refusals: Vec<String>,
    /// Original contents of written files. `None` if the file is new.
    originals: BTreeMap<String, Option<Vec<u8>>>,
}

/// A failed tool call, with a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolRejection {
    /// Not allowed.
    Refused(String),
    /// Allowed, but did not work.
    Failed(String),
}

impl FixSandbox {
    pub(super) fn new(tree: &TempCheckout, files: &BTreeSet<String>) -> Self {
        let missing_files = tree.skipped().iter().filter_map(|skipped| {
            let path = String::from_utf8(skipped.path.clone()).ok()?;
            Some((path, skipped.reason.clone()))
        });
        Self {
            root: tree.path().to_owned(),
            files: files.clone(),
            missing_files: missing_files.collect(),
            state: Mutex::default(),
        }
    }

    /// Blocks further changes and returns the messages of refused calls.
    pub(super) fn finish(&self) -> Vec<String> {
        let mut state = self.state();
        state.is_closed = true;
        std::mem::take(&mut state.refusals)
    }

    /// Written files whose contents differ from the original.
    pub(super) fn changed_files(&self) -> BTreeSet<String> {
        let state = self.state();
        let is_changed = |(path, before): &(&String, &Option<Vec<u8>>)| {
            fs::read(self.root.join(path)).ok() != **before
        };
        state.originals.iter().filter(is_changed).map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn edit(&self, input: &EditFile) -> Result<String, ToolRejection> {
        let mut state = self.open_state()?;
        let EditFile { path, old, new } = input;
        let file = self.record_refusal(&mut state, self.writable_path(path))?;
        let Some(bytes) = self.record_refusal(&mut state, read_bytes(path, &file))? else {
            return Err(failed(format!(
                "there is no {} yet: `write_file` makes it",
                display_path(path)
            )));
        };
        let text = self.record_refusal(&mut state, decode_text(path, bytes.clone()))?;
        let spliced = splice(&text, old, new).map_err(ToolRejection::Failed)?;
        let write_result =
            self.write_text(&mut state, path, &file, Some(bytes), spliced.text.as_bytes());
        self.record_refusal(&mut state, write_result)?;
        let rows = numbered_rows(&spliced.text, &with_context(&spliced.lines));
        Ok(format!("{} is changed. Lines as they are now:\n{rows}", display_path(path)))
    }

    pub(super) fn write(&self, input: &WriteFile) -> Result<String, ToolRejection> {
        let mut state = self.open_state()?;
        let WriteFile { path, content } = input;
        let file = self.record_refusal(&mut state, self.writable_path(path))?;
        if file.exists() && !state.originals.get(path).is_some_and(Option::is_none) {
            return Err(failed(format!(
                "{} is there already: `edit_file` changes it",
                display_path(path)
            )));
        }
        if content.contains('\0') {
            return Err(failed("`content` has a NUL character, which no text has".to_owned()));
        }
        let write_result = self.write_text(&mut state, path, &file, None, content.as_bytes());
        self.record_refusal(&mut state, write_result)?;
        Ok(format!("{} is written: {} lines.", display_path(path), content.lines().count()))
    }

    pub(super) fn read(&self, input: &ReadWorktree) -> Result<String, ToolRejection> {
        let mut state = self.open_state()?;
        let path = &input.path;
        let file = self.record_refusal(&mut state, self.resolve_path(path))?;
        let Some(bytes) = self.record_refusal(&mut state, read_bytes(path, &file))? else {
            return Err(failed(format!("there is no file {} in the tree", display_path(path))));
        };
        let text = self.record_refusal(&mut state, decode_text(path, bytes))?;
        let count = text.lines().count();
        let range = input.start.unwrap_or(1).max(1)..=input.end.unwrap_or(u32::MAX);
        let rows = numbered_rows(&text, &range);
        if rows.is_empty() {
            return Err(failed(format!("{} has {count} lines: none of those", display_path(path))));
        }
        Ok(format!("{} has {count} lines.\n{rows}", display_path(path)))
    }

    /// Lines of a file with some context. `None` if the file has no editable text.
    pub(super) fn code_excerpt(&self, path: &str, lines: RangeInclusive<u32>) -> Option<String> {
        let file = self.resolve_path(path).ok()?;
        let text = decode_text(path, read_bytes(path, &file).ok()??).ok()?;
        let first = lines.start().saturating_sub(EXCERPT_CONTEXT).max(1);
        let last = lines
            .end()
            .saturating_add(EXCERPT_CONTEXT)
            .min(first.saturating_add(EXCERPT_LINES_MAX - 1));
        Some(numbered_rows(&text, &(first..=last)))
    }

    /// Remark about a file for the first prompt.
    pub(super) fn file_note(&self, path: &str) -> String {
        match self.writable_path(path).and_then(|file| read_bytes(path, &file)) {
            Ok(Some(_)) => String::new(),
            Ok(None) => " (not there yet)".to_owned(),
            Err(ToolRejection::Refused(message) | ToolRejection::Failed(message)) => {
                format!(" ({message})")
            }
        }
    }

    /// Path of a file that may be written.
    fn writable_path(&self, path: &str) -> Result<PathBuf, ToolRejection> {
        let file = self.resolve_path(path)?;
        if !self.files.contains(path) {
            let names: Vec<String> =
                self.files.iter().take(SHOWN_FILES_MAX).map(|name| display_path(name)).collect();
            let rest_text = match self.files.len().saturating_sub(SHOWN_FILES_MAX) {
                0 => String::new(),
                omitted => format!(" and {omitted} more"),
            };
            let message = format!(
                "{} is none of your files: you may change {}{rest_text}, and nothing else",
                display_path(path),
                names.join(", ")
            );
            return Err(ToolRejection::Refused(message));
        }
        if let Some(why) = self.missing_files.get(path) {
            return Err(ToolRejection::Refused(format!(
                "{} cannot be changed: {why}",
                display_path(path)
            )));
        }
        Ok(file)
    }

    /// Path of an existing or new file in the tree. Rejects a path through a symlink.
    fn resolve_path(&self, path: &str) -> Result<PathBuf, ToolRejection> {
        if path.is_empty() || check_path(path.as_bytes()).is_err() {
            let message = "is no path inside the repository: write it from the root, without `..`";
            return Err(ToolRejection::Refused(format!("{} {message}", display_path(path))));
        }
        let mut resolved = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            resolved.push(part);
            let metadata = match fs::symlink_metadata(&resolved) {
                Ok(found) => found,
                Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                Err(why) => return Err(failed(format!("{}: {why}", display_path(path)))),
            };
            let is_last = parts.peek().is_none();
            if metadata.is_symlink() {
                let message =
                    format!("{} is or lies behind a link: none is followed", display_path(path));
                return Err(ToolRejection::Refused(message));
            }
            if is_last && !metadata.is_file() {
                return Err(ToolRejection::Refused(format!(
                    "{} is no plain file",
                    display_path(path)
                )));
            }
            if !is_last && !metadata.is_dir() {
                return Err(failed(format!("there is no folder for {}", display_path(path))));
            }
        }
        Ok(resolved)
    }

    /// Writes a file and remembers its original contents.
    fn write_text(
        &self,
        state: &mut SandboxState,
        path: &str,
        file: &Path,
        before: Option<Vec<u8>>,
        after: &[u8],
    ) -> Result<(), ToolRejection> {
        if after.len() as u64 > FILE_MAX {
            return Err(ToolRejection::Refused(too_large(path)));
        }
        let folder = file.parent().unwrap_or(&self.root);
        state.originals.entry(path.to_owned()).or_insert(before);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(file, after))
            .map_err(|why| failed(format!("{} could not be written: {why}", display_path(path))))
    }

    /// Records the message of a refusal and returns the result.
    fn record_refusal<T>(
        &self,
        state: &mut SandboxState,
        result: Result<T, ToolRejection>,
    ) -> Result<T, ToolRejection> {
        if let Err(ToolRejection::Refused(message)) = &result {
            state.refusals.push(message.clone());
        }
        result
    }

    fn open_state(&self) -> Result<MutexGuard<'_, SandboxState>, ToolRejection> {
        let state = self.state();
        if state.is_closed { Err(failed("the run is over".to_owned())) } else { Ok(state) }
    }

    fn state(&self) -> MutexGuard<'_, SandboxState> {
        // A panic leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a file. `None` if it does not exist.
fn read_bytes(path: &str, file: &Path) -> Result<Option<Vec<u8>>, ToolRejection> {
    let size = match fs::metadata(file) {
        Ok(metadata) => metadata.len(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(format!("{}: {why}", display_path(path)))),
    };
    if size > FILE_MAX {
        return Err(ToolRejection::Refused(too_large(path)));
    }
    let contents = fs::read(file).map(Some);
    contents.map_err(|why| failed(format!("{} could not be read: {why}", display_path(path))))
}

/// Decodes UTF-8 text; anything else is refused, since it could not be written back unchanged.
fn decode_text(path: &str, bytes: Vec<u8>) -> Result<String, ToolRejection> {
    let refusal = || ToolRejection::Refused(format!("{} is no text in UTF-8", display_path(path)));
    if bytes.contains(&0) {
        return Err(refusal());
    }
    String::from_utf8(bytes).map_err(|_| refusal())
}

fn too_large(path: &str) -> String {
    format!(
        "{} would have more than {FILE_MAX} bytes, which are too many for a fixer",
        display_path(path)
    )
}

/// A path from a model, safe to repeat.
fn display_path(path: &str) -> String {
    format!("`{}`", cut(&one_line(path), PATH_CHARS))
}

fn failed(message: String) -> ToolRejection {
    ToolRejection::Failed(message)
}

fn with_context(lines: &RangeInclusive<u32>) -> RangeInclusive<u32> {
    lines.start().saturating_sub(CONTEXT_LINES).max(1)..=lines.end().saturating_add(CONTEXT_LINES)
}

/// Lines of a text with their numbers.
fn numbered_rows(text: &str, range: &RangeInclusive<u32>) -> String {
    let lines = (1_u32..).zip(text.lines()).filter(|(number, _)| range.contains(number));
    let mut rows: Vec<String> = lines
        .take(LINES_MAX + 1)
        .map(|(number, line)| numbered_line(number, line, LINE_CHARS))
        .collect();
    if rows.len() > LINES_MAX {
        rows.truncate(LINES_MAX);
        rows.push(format!("… only {LINES_MAX} lines are shown at once\n"));
    }
    rows.concat()
}
