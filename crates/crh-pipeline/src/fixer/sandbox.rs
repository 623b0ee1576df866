//! Where a fixer works: the files of its errand in a tree of its own, and nothing else of it.
//!
//! Invariant: nothing is written but plain files that the errand names, whatever is asked for and whatever lies in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use super::splice::{LineEnds, splice};
use super::tools::{EditFile, ReadWorktree, WriteFile};
use crate::text::{cut, numbered_line, one_line};
use crh_git::{WorkTree, check_path};

/// A larger file was not written by hand, and what a model makes of it cannot be looked through.
const FILE_MAX: u64 = 1 << 20;
/// Lines around those that were changed: as many as a diff shows.
const AROUND: u32 = 3;
/// Lines around an issue that are shown with it: most functions.
const FIRST_LOOK: u32 = 30;
/// The most lines that are shown with one.
const FIRST_LOOK_MAX: u32 = 240;
/// The most lines of one answer. Who needs more of a file reads on.
const LINES_MAX: usize = 800;
/// A longer line was not written by hand.
const LINE_CHARS: usize = 400;
/// How many files of the errand are named to whoever names another.
const NAMED_MAX: usize = 10;
/// How much of a path is repeated.
const PATH_CHARS: usize = 200;

/// The files of an errand, laid out.
#[derive(Debug)]
pub(super) struct Desk {
    root: PathBuf,
    /// What may be written.
    files: BTreeSet<String>,
    /// Those of the tree that were not laid out, and why.
    left_out: BTreeMap<String, String>,
    state: Mutex<State>,
}

/// What has happened on a desk.
#[derive(Debug, Default)]
struct State {
    /// The run is over: a tool that is late changes nothing any more.
    is_closed: bool,
    /// What was refused.
    refused: Vec<String>,
    /// What files held before they were first written; none if there was no file.
    before: BTreeMap<String, Option<Vec<u8>>>,
}

/// A call that brought nothing, in a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turned {
    /// It may not be.
    Refused(String),
    /// It did not work out.
    Failed(String),
}

impl Desk {
    pub(super) fn new(tree: &WorkTree, files: &BTreeSet<String>) -> Self {
        let left_out = tree.left_out().iter().filter_map(|it| {
            let path = String::from_utf8(it.path.clone()).ok()?;
            Some((path, it.why.clone()))
        });
        Self {
            root: tree.path().to_owned(),
            files: files.clone(),
            left_out: left_out.collect(),
            state: Mutex::default(),
        }
    }

    /// Ends all changes, and tells what was refused on the way.
    pub(super) fn close(&self) -> Vec<String> {
        let mut state = self.state();
        state.is_closed = true;
        std::mem::take(&mut state.refused)
    }

    /// The files that are not as they were, as far as they were written here.
    pub(super) fn changed(&self) -> BTreeSet<String> {
        let state = self.state();
        let is_changed = |(path, before): &(&String, &Option<Vec<u8>>)| {
            fs::read(self.root.join(path)).ok() != **before
        };
        state.before.iter().filter(is_changed).map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn edit(&self, asked: &EditFile) -> Result<String, Turned> {
        let mut state = self.open_state()?;
        let EditFile { path, old, new } = asked;
        let file = self.counted(&mut state, self.writable(path))?;
        let Some(bytes) = self.counted(&mut state, bytes(path, &file))? else {
            return Err(failed(format!("there is no {} yet: `write_file` makes it", shown(path))));
        };
        let text = self.counted(&mut state, text(path, bytes.clone()))?;
        let spliced = splice(&text, old, new).map_err(Turned::Failed)?;
        let kept = self.put(&mut state, path, &file, Some(bytes), spliced.text.as_bytes());
        self.counted(&mut state, kept)?;
        let rows = rows(&spliced.text, &around(&spliced.lines));
        Ok(format!("{} is changed. Lines as they are now:\n{rows}", shown(path)))
    }

    pub(super) fn write(&self, asked: &WriteFile) -> Result<String, Turned> {
        let mut state = self.open_state()?;
        let WriteFile { path, content } = asked;
        let file = self.counted(&mut state, self.writable(path))?;
        let before = self.counted(&mut state, bytes(path, &file))?;
        let ends = match &before {
            Some(bytes) => LineEnds::of(&self.counted(&mut state, text(path, bytes.clone()))?),
            None => LineEnds::Lf,
        };
        let content = ends.applied(content);
        if content.contains('\0') {
            return Err(failed("`content` has a NUL character, which no text has".to_owned()));
        }
        if before.as_deref() == Some(content.as_bytes()) {
            return Err(failed(format!("{} holds that already", shown(path))));
        }
        let kept = self.put(&mut state, path, &file, before, content.as_bytes());
        self.counted(&mut state, kept)?;
        Ok(format!("{} is written: {} lines.", shown(path), content.lines().count()))
    }

    pub(super) fn read(&self, asked: &ReadWorktree) -> Result<String, Turned> {
        let mut state = self.open_state()?;
        let path = &asked.path;
        let file = self.counted(&mut state, self.inside(path))?;
        let Some(bytes) = self.counted(&mut state, bytes(path, &file))? else {
            return Err(failed(format!("there is no file {} in the tree", shown(path))));
        };
        let text = self.counted(&mut state, text(path, bytes))?;
        let count = text.lines().count();
        let wanted = asked.start.unwrap_or(1).max(1)..=asked.end.unwrap_or(u32::MAX);
        let rows = rows(&text, &wanted);
        if rows.is_empty() {
            return Err(failed(format!("{} has {count} lines: none of those", shown(path))));
        }
        Ok(format!("{} has {count} lines.\n{rows}", shown(path)))
    }

    /// Lines of a file and some around them, for a first look; none if it has no text that can be changed.
    pub(super) fn excerpt(&self, path: &str, lines: RangeInclusive<u32>) -> Option<String> {
        let file = self.inside(path).ok()?;
        let text = text(path, bytes(path, &file).ok()??).ok()?;
        let first = lines.start().saturating_sub(FIRST_LOOK).max(1);
        let last = lines.end().saturating_add(FIRST_LOOK).min(first.saturating_add(FIRST_LOOK_MAX));
        Some(rows(&text, &(first..=last)))
    }

    /// What there is to say about a file of the errand before anybody has looked at it.
    pub(super) fn remark(&self, path: &str) -> String {
        match self.writable(path).and_then(|file| bytes(path, &file)) {
            Ok(Some(_)) => String::new(),
            Ok(None) => " (not there yet)".to_owned(),
            Err(Turned::Refused(told) | Turned::Failed(told)) => format!(" ({told})"),
        }
    }

    /// Where one of the files that may be written is.
    fn writable(&self, path: &str) -> Result<PathBuf, Turned> {
        let file = self.inside(path)?;
        if !self.files.contains(path) {
            let names: Vec<String> =
                self.files.iter().take(NAMED_MAX).map(|name| shown(name)).collect();
            let more = match self.files.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let told = format!(
                "{} is none of your files: you may change {}{more}, and nothing else",
                shown(path),
                names.join(", ")
            );
            return Err(Turned::Refused(told));
        }
        if let Some(why) = self.left_out.get(path) {
            return Err(Turned::Refused(format!("{} cannot be changed: {why}", shown(path))));
        }
        Ok(file)
    }

    /// Where a file of the tree is, or would be. On the way to it are folders only.
    fn inside(&self, path: &str) -> Result<PathBuf, Turned> {
        if path.is_empty() || check_path(path.as_bytes()).is_err() {
            let told = "is no path inside the repository: write it from the root, without `..`";
            return Err(Turned::Refused(format!("{} {told}", shown(path))));
        }
        let mut at = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let found = match fs::symlink_metadata(&at) {
                Ok(found) => found,
                Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
                Err(why) => return Err(failed(format!("{}: {why}", shown(path)))),
            };
            let is_last = parts.peek().is_none();
            if found.is_symlink() {
                let told = format!("{} is or lies behind a link: none is followed", shown(path));
                return Err(Turned::Refused(told));
            }
            if is_last && !found.is_file() {
                return Err(Turned::Refused(format!("{} is no plain file", shown(path))));
            }
            if !is_last && !found.is_dir() {
                return Err(failed(format!("there is no folder for {}", shown(path))));
            }
        }
        Ok(at)
    }

    /// Puts a new text into a file, and keeps what was there first.
    fn put(
        &self,
        state: &mut State,
        path: &str,
        file: &Path,
        before: Option<Vec<u8>>,
        after: &[u8],
    ) -> Result<(), Turned> {
        if after.len() as u64 > FILE_MAX {
            return Err(Turned::Refused(too_large(path)));
        }
        let folder = file.parent().unwrap_or(&self.root);
        state.before.entry(path.to_owned()).or_insert(before);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(file, after))
            .map_err(|why| failed(format!("{} could not be written: {why}", shown(path))))
    }

    /// The same, with what was refused counted.
    fn counted<T>(&self, state: &mut State, done: Result<T, Turned>) -> Result<T, Turned> {
        if let Err(Turned::Refused(told)) = &done {
            state.refused.push(told.clone());
        }
        done
    }

    fn open_state(&self) -> Result<MutexGuard<'_, State>, Turned> {
        let state = self.state();
        if state.is_closed { Err(failed("the run is over".to_owned())) } else { Ok(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in it is half done between two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in a file; none if there is none.
fn bytes(path: &str, file: &Path) -> Result<Option<Vec<u8>>, Turned> {
    let size = match fs::metadata(file) {
        Ok(found) => found.len(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(format!("{}: {why}", shown(path)))),
    };
    if size > FILE_MAX {
        return Err(Turned::Refused(too_large(path)));
    }
    let read = fs::read(file).map(Some);
    read.map_err(|why| failed(format!("{} could not be read: {why}", shown(path))))
}

/// The same as a text that can be given back byte for byte.
fn text(path: &str, bytes: Vec<u8>) -> Result<String, Turned> {
    let told = || Turned::Refused(format!("{} is no text in UTF-8", shown(path)));
    if bytes.contains(&0) {
        return Err(told());
    }
    String::from_utf8(bytes).map_err(|_| told())
}

fn too_large(path: &str) -> String {
    format!("{} would have more than {FILE_MAX} bytes, which are too many for a fixer", shown(path))
}

/// A path as a model has written it, fit to be repeated.
fn shown(path: &str) -> String {
    format!("`{}`", cut(&one_line(path), PATH_CHARS))
}

fn failed(told: String) -> Turned {
    Turned::Failed(told)
}

fn around(lines: &RangeInclusive<u32>) -> RangeInclusive<u32> {
    lines.start().saturating_sub(AROUND).max(1)..=lines.end().saturating_add(AROUND)
}

/// Lines of a text with their numbers.
fn rows(text: &str, wanted: &RangeInclusive<u32>) -> String {
    let lines = (1_u32..).zip(text.lines()).filter(|(number, _)| wanted.contains(number));
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
