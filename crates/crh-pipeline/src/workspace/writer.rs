//! Writes the files of a workspace into an empty folder.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use serde::Serialize;

use super::file_meta::write_meta;
use super::{
    RoundEntry, RoundMeta, WorkspaceContents, WorkspaceError, WorkspaceRound, is_round_id,
    workspace_path,
};
use crate::change_secrets::ChangeSecrets;
use crh_os::files;
use crh_review::diff::{Diff, FileDiff, RepoPath, write_number};
use crh_review::stable_json;

/// Maximum number of threads. With more, the threads that create files in one file system only wait
/// for each other.
const THREADS_MAX: usize = 4;
/// Number of files that a thread takes at a time. The number is small, so the threads finish at
/// about the same time.
const FILES_PER_CHUNK: usize = 16;
/// Number of bytes to collect before each write.
const BUFFER_BYTES: usize = 256 * 1024;
/// All users may read a workspace, for any umask, since agents can run as another user.
const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// Sort key of rounds: time, then id, numerically if possible. A round without a date is
/// uncommitted and sorts last.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RoundOrder<'a>(RoundTime<'a>, RoundIdOrder<'a>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RoundTime<'a> {
    Time(&'a str),
    Uncommitted,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RoundIdOrder<'a> {
    Number(u64, &'a str),
    Text(&'a str),
}

/// Validates all names and returns the rounds in order.
pub(super) fn sorted_rounds(
    contents: &WorkspaceContents,
) -> Result<Vec<&WorkspaceRound>, WorkspaceError> {
    let mut ids = BTreeSet::new();
    for round in &contents.rounds {
        if !is_round_id(&round.id) {
            return Err(WorkspaceError::RoundId(round.id.clone()));
        }
        // Some file systems ignore case.
        if !ids.insert(round.id.to_ascii_lowercase()) {
            return Err(WorkspaceError::SameRound(round.id.clone()));
        }
    }
    let mut places = BTreeSet::from(["rules".to_owned(), "skills".to_owned()]);
    for file in &contents.instructions {
        let is_valid = workspace_path::is_relative_path(&file.place) && !file.place.contains('\\');
        if !is_valid || !places.insert(file.place.to_lowercase()) {
            return Err(WorkspaceError::AgentPlace(file.place.clone()));
        }
    }
    let mut rounds: Vec<_> = contents.rounds.iter().collect();
    rounds.sort_by(|a, b| round_order(a).cmp(&round_order(b)));
    Ok(rounds)
}

fn round_order(round: &WorkspaceRound) -> RoundOrder<'_> {
    let id = match round.id.parse() {
        Ok(number) => RoundIdOrder::Number(number, &round.id),
        Err(_) => RoundIdOrder::Text(&round.id),
    };
    RoundOrder(round.created_at.as_deref().map_or(RoundTime::Uncommitted, RoundTime::Time), id)
}

/// Writes everything. `rounds` are sorted; the last is the latest.
pub(super) fn write_tree(
    contents: &WorkspaceContents,
    rounds: &[&WorkspaceRound],
    root: &Path,
) -> Result<(), WorkspaceError> {
    let tree = WorkspaceTree::open(root)?;
    tree.write_json("metadata.json", &contents.metadata)?;
    // A line break would end the heading.
    let title = contents.metadata.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut description = format!("# {title}\n\n{}\n", contents.metadata.body);
    let texts = [contents.metadata.title.as_str(), contents.metadata.body.as_str()];
    ChangeSecrets::in_texts(texts.into_iter()).mask(&mut description);
    tree.write_bytes("description.md", description.as_bytes())?;
    tree.write_json("ci.json", &contents.ci)?;
    tree.write_json("commits.json", &contents.commits)?;
    tree.write_json("linked-issues.json", &contents.linked_issues)?;
    for folder in ["agent", "agent/rules", "agent/skills"] {
        tree.create_folder(folder)?;
    }
    for file in &contents.instructions {
        for (slash, _) in file.place.match_indices('/') {
            tree.create_folder_if_missing(&format!("agent/{}", &file.place[..slash]))?;
        }
        tree.write_bytes(&format!("agent/{}", file.place), &file.bytes)?;
    }
    if !contents.context.is_empty() {
        tree.create_folder("context")?;
    }
    for file in &contents.context {
        tree.write_bytes(&format!("context/{}", file.name), file.text.as_bytes())?;
    }
    tree.create_folder("preview-diffs")?;
    let entries: Vec<_> =
        rounds.iter().enumerate().map(|(index, round)| index_entry(round, index, rounds)).collect();
    tree.write_json("preview-diffs/index.json", &entries)?;
    for round in rounds {
        write_round(&tree, round)?;
    }
    if let Some(latest) = rounds.last() {
        let path = root.join("preview-diffs/latest");
        let link = files::create_name_link(Path::new(&latest.id), &path);
        link.map_err(|why| WorkspaceError::Write { path, why })?;
    }
    Ok(())
}

fn index_entry(round: &WorkspaceRound, index: usize, rounds: &[&WorkspaceRound]) -> RoundEntry {
    RoundEntry {
        id: round.id.clone(),
        created_at: round.created_at.clone(),
        base_rev: round.base_rev.clone(),
        head_rev: round.head_rev.clone(),
        is_latest: index + 1 == rounds.len(),
    }
}

fn write_round(tree: &WorkspaceTree<'_>, round: &WorkspaceRound) -> Result<(), WorkspaceError> {
    let folder = format!("preview-diffs/{}", round.id);
    for subfolder in ["", "/diff", "/diff/files", "/comments", "/comments/inline"] {
        tree.create_folder(&format!("{folder}{subfolder}"))?;
    }
    let meta = RoundMeta {
        id: round.id.clone(),
        created_at: round.created_at.clone(),
        base_rev: round.base_rev.clone(),
        head_rev: round.head_rev.clone(),
    };
    tree.write_json(&format!("{folder}/meta.json"), &meta)?;
    tree.write_json(&format!("{folder}/comments/general.json"), &round.general)?;
    tree.write_json(&format!("{folder}/comments/threads.json"), &round.threads)?;
    for (line, comments) in &round.inline {
        tree.write_json(&format!("{folder}/comments/inline/{line}.json"), comments)?;
    }
    write_diff(tree, &round.diff, &format!("{folder}/diff"))
}

/// Writes the whole diff and the files, on several threads.
fn write_diff(tree: &WorkspaceTree<'_>, diff: &Diff, folder: &str) -> Result<(), WorkspaceError> {
    let files = named_files(diff);
    let next_file = AtomicUsize::new(0);
    let first_error = Mutex::new(None);
    let write_chunks = || -> Result<(), WorkspaceError> {
        let mut buffer = Vec::new();
        loop {
            let start = next_file.fetch_add(FILES_PER_CHUNK, Ordering::Relaxed);
            let Some(rest) = files.get(start..).filter(|rest| !rest.is_empty()) else {
                return Ok(());
            };
            for (name, file) in &rest[..rest.len().min(FILES_PER_CHUNK)] {
                write_file(tree, diff, file, &format!("{folder}/files/{name}"), &mut buffer)?;
            }
        }
    };
    let record_error = |result: Result<(), WorkspaceError>| {
        if let Err(error) = result {
            // Stops the other threads.
            next_file.store(files.len(), Ordering::Relaxed);
            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            record_error(tree.write_bytes(&format!("{folder}/raw.diff"), diff.raw()));
            record_error(write_numbered(tree, diff, &format!("{folder}/numbered.diff")));
        });
        // One thread creates all folders, since file systems do not create folders of the same
        // parent in parallel.
        record_error(
            files
                .iter()
                .try_for_each(|(name, _)| tree.create_folder(&format!("{folder}/files/{name}"))),
        );
        for _ in 1..threads.min(files.len().div_ceil(FILES_PER_CHUNK)) {
            scope.spawn(|| record_error(write_chunks()));
        }
        record_error(write_chunks());
    });
    first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Files with their folder names. A file that changes its type occurs twice in a diff; the second
/// folder gets a `~`, which no encoded path contains.
fn named_files(diff: &Diff) -> Vec<(String, &FileDiff)> {
    let mut counts: HashMap<&RepoPath, u32> = HashMap::new();
    let mut files = Vec::with_capacity(diff.files().len());
    for file in diff.files() {
        let count = counts.entry(&file.path).or_default();
        *count += 1;
        let name = match count {
            1 => file.path.folder_name(),
            _ => format!("{}~{count}", file.path.folder_name()),
        };
        files.push((name, file));
    }
    files
}

fn write_file(
    tree: &WorkspaceTree<'_>,
    diff: &Diff,
    file: &FileDiff,
    folder: &str,
    buffer: &mut Vec<u8>,
) -> Result<(), WorkspaceError> {
    tree.write_bytes(&format!("{folder}/patch"), diff.patch(file))?;
    let path = format!("{folder}/meta.json");
    buffer.clear();
    write_meta(diff, file, buffer).map_err(|error| not_json(&path, &error))?;
    tree.write_bytes(&path, buffer)
}

/// Writes the numbered diff in pieces, so the whole text is never in memory.
fn write_numbered(tree: &WorkspaceTree<'_>, diff: &Diff, path: &str) -> Result<(), WorkspaceError> {
    tree.write_stream(path, |file| {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4);
        for (number, line) in diff.numbered_lines() {
            write_number(&mut buffer, number);
            buffer.extend_from_slice(b"  ");
            buffer.extend_from_slice(line);
            if buffer.len() >= BUFFER_BYTES {
                file.write_all(&buffer)?;
                buffer.clear();
            }
        }
        file.write_all(&buffer)
    })
}

fn not_json(path: &str, error: &serde_json::Error) -> WorkspaceError {
    WorkspaceError::Json { path: path.to_owned(), reason: error.to_string() }
}

/// A folder that is being filled. Paths are relative to it.
struct WorkspaceTree<'a> {
    root: &'a Path,
    modes: ModePolicy,
}

/// Whether new files already get the right permissions. Setting them costs a system call per file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModePolicy {
    KeepDefault,
    SetExplicitly,
}

impl<'a> WorkspaceTree<'a> {
    /// Creates a probe folder once, to see which permissions the umask and the file system give it.
    fn open(root: &'a Path) -> Result<Self, WorkspaceError> {
        let tree = Self { root, modes: ModePolicy::SetExplicitly };
        let modes = tree.probe_umask().map_err(|source| tree.write_error("", source))?;
        Ok(Self { root, modes })
    }

    fn write_error(&self, path: &str, why: io::Error) -> WorkspaceError {
        WorkspaceError::Write { path: self.root.join(path), why }
    }

    fn write_json<T: Serialize + ?Sized>(
        &self,
        path: &str,
        value: &T,
    ) -> Result<(), WorkspaceError> {
        let json = serde_json::to_value(value).map_err(|error| not_json(path, &error))?;
        let text = match ChangeSecrets::mask_prose_of(json) {
            Some(masked) => stable_json(&masked),
            None => stable_json(value),
        };
        let text = text.map_err(|error| not_json(path, &error))?;
        self.write_bytes(path, text.as_bytes())
    }

    fn write_bytes(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.write_stream(path, |file| file.write_all(bytes))
    }

    fn write_stream(
        &self,
        path: &str,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), WorkspaceError> {
        self.new_file(&self.root.join(path))
            .and_then(|mut file| fill(&mut file))
            .map_err(|source| self.write_error(path, source))
    }

    fn create_folder_if_missing(&self, path: &str) -> Result<(), WorkspaceError> {
        if self.root.join(path).is_dir() { Ok(()) } else { self.create_folder(path) }
    }

    fn create_folder(&self, path: &str) -> Result<(), WorkspaceError> {
        self.new_folder(&self.root.join(path)).map_err(|source| self.write_error(path, source))
    }
}

impl WorkspaceTree<'_> {
    fn probe_umask(&self) -> io::Result<ModePolicy> {
        let probe = self.root.join("agent");
        files::folder_builder(FOLDER_MODE).create(&probe)?;
        let mode = files::mode(&fs::symlink_metadata(&probe)?);
        fs::remove_dir(&probe)?;
        // If the umask keeps the permissions of a folder, it also keeps those of a file.
        let is_kept = mode.is_none_or(|mode| mode & 0o777 == FOLDER_MODE);
        Ok(if is_kept { ModePolicy::KeepDefault } else { ModePolicy::SetExplicitly })
    }

    fn new_file(&self, path: &Path) -> io::Result<File> {
        let file = files::open_options(FILE_MODE).write(true).create_new(true).open(path)?;
        match self.modes {
            ModePolicy::KeepDefault => {}
            ModePolicy::SetExplicitly => files::set_mode_of(&file, FILE_MODE)?,
        }
        Ok(file)
    }

    fn new_folder(&self, path: &Path) -> io::Result<()> {
        files::folder_builder(FOLDER_MODE).create(path)?;
        match self.modes {
            ModePolicy::KeepDefault => Ok(()),
            ModePolicy::SetExplicitly => files::set_mode(path, FOLDER_MODE),
        }
    }
}
