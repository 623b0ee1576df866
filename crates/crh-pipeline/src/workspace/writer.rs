//! Writes the files of a workspace into an empty folder.

use std::collections::{BTreeSet, HashMap};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use serde::Serialize;

use super::line_map::write_meta;
use super::{Contents, Round, RoundMeta, RoundRow, WorkspaceError, inside, is_round_id};
use crh_review::diff::{Diff, FileDiff, RepoPath, write_number};
use crh_review::stable_json;

/// Beyond this, threads that make files in one file system only wait for each other.
const THREADS_MAX: usize = 4;
/// How many files of a diff a thread takes at a time: enough to keep them apart, few enough to end together.
const CHUNK: usize = 16;
/// What is collected before it goes to the disk.
const BUFFER: usize = 256 * 1024;

/// Sorts rounds from the first to the latest: by when they were made, then by id, numbers as numbers. What has no date is not
/// committed yet, and so later than everything that is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RoundOrder<'a>(MadeAt<'a>, RoundIdOrder<'a>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum MadeAt<'a> {
    Time(&'a str),
    NotYet,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RoundIdOrder<'a> {
    Number(u64, &'a str),
    Text(&'a str),
}

/// The rounds in their order, after everything that would be the name of a file was looked at.
pub(super) fn checked(contents: &Contents) -> Result<Vec<&Round>, WorkspaceError> {
    let mut ids = BTreeSet::new();
    for round in &contents.rounds {
        if !is_round_id(&round.id) {
            return Err(WorkspaceError::RoundId(round.id.clone()));
        }
        // Some file systems do not tell `a` from `A`.
        if !ids.insert(round.id.to_ascii_lowercase()) {
            return Err(WorkspaceError::SameRound(round.id.clone()));
        }
    }
    let mut places = BTreeSet::from(["rules".to_owned(), "skills".to_owned()]);
    for file in &contents.agent {
        let is_place = inside::is_plain(&file.place) && !file.place.contains('\\');
        if !is_place || !places.insert(file.place.to_lowercase()) {
            return Err(WorkspaceError::AgentPlace(file.place.clone()));
        }
    }
    let mut rounds: Vec<_> = contents.rounds.iter().collect();
    rounds.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(rounds)
}

fn order(round: &Round) -> RoundOrder<'_> {
    let id = match round.id.parse() {
        Ok(number) => RoundIdOrder::Number(number, &round.id),
        Err(_) => RoundIdOrder::Text(&round.id),
    };
    RoundOrder(round.created_at.as_deref().map_or(MadeAt::NotYet, MadeAt::Time), id)
}

/// Writes everything. `rounds` are in their order; the last is the latest.
pub(super) fn write_tree(
    contents: &Contents,
    rounds: &[&Round],
    root: &Path,
) -> Result<(), WorkspaceError> {
    let tree = Tree::begin(root)?;
    tree.json("metadata.json", &contents.metadata)?;
    // A title of several lines would be a heading and stray text.
    let title = contents.metadata.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let description = format!("# {title}\n\n{}\n", contents.metadata.body);
    tree.file("description.md", description.as_bytes())?;
    tree.json("ci.json", &contents.ci)?;
    tree.json("commits.json", &contents.commits)?;
    tree.json("linked-issues.json", &contents.linked_issues)?;
    for folder in ["agent", "agent/rules", "agent/skills"] {
        tree.folder(folder)?;
    }
    for file in &contents.agent {
        for (at, _) in file.place.match_indices('/') {
            tree.folder_if_missing(&format!("agent/{}", &file.place[..at]))?;
        }
        tree.file(&format!("agent/{}", file.place), &file.bytes)?;
    }
    tree.folder("preview-diffs")?;
    let rows: Vec<_> =
        rounds.iter().enumerate().map(|(at, round)| row(round, at, rounds)).collect();
    tree.json("preview-diffs/index.json", &rows)?;
    for round in rounds {
        write_round(&tree, round)?;
    }
    if let Some(latest) = rounds.last() {
        let path = root.join("preview-diffs/latest");
        link(&latest.id, &path).map_err(|why| WorkspaceError::Write { path, why })?;
    }
    Ok(())
}

fn row(round: &Round, at: usize, rounds: &[&Round]) -> RoundRow {
    RoundRow {
        id: round.id.clone(),
        created_at: round.created_at.clone(),
        base_rev: round.base_rev.clone(),
        head_rev: round.head_rev.clone(),
        is_latest: at + 1 == rounds.len(),
    }
}

fn write_round(tree: &Tree<'_>, round: &Round) -> Result<(), WorkspaceError> {
    let folder = format!("preview-diffs/{}", round.id);
    for below in ["", "/diff", "/diff/files", "/comments", "/comments/inline"] {
        tree.folder(&format!("{folder}{below}"))?;
    }
    let meta = RoundMeta {
        id: round.id.clone(),
        created_at: round.created_at.clone(),
        base_rev: round.base_rev.clone(),
        head_rev: round.head_rev.clone(),
    };
    tree.json(&format!("{folder}/meta.json"), &meta)?;
    tree.json(&format!("{folder}/comments/general.json"), &round.general)?;
    tree.json(&format!("{folder}/comments/threads.json"), &round.threads)?;
    for (line, comments) in &round.inline {
        tree.json(&format!("{folder}/comments/inline/{line}.json"), comments)?;
    }
    write_diff(tree, &round.diff, &format!("{folder}/diff"))
}

/// Writes the diff as a whole and file by file, on several threads.
fn write_diff(tree: &Tree<'_>, diff: &Diff, folder: &str) -> Result<(), WorkspaceError> {
    let files = named_files(diff);
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || -> Result<(), WorkspaceError> {
        let mut buffer = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(rest) = files.get(start..).filter(|rest| !rest.is_empty()) else {
                return Ok(());
            };
            for (name, file) in &rest[..rest.len().min(CHUNK)] {
                write_file(tree, diff, file, &format!("{folder}/files/{name}"), &mut buffer)?;
            }
        }
    };
    let keep = |result: Result<(), WorkspaceError>| {
        if let Err(error) = result {
            // The others find nothing left to do.
            next.store(files.len(), Ordering::Relaxed);
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            keep(tree.file(&format!("{folder}/raw.diff"), diff.raw()));
            keep(write_numbered(tree, diff, &format!("{folder}/numbered.diff")));
        });
        // By one thread: two that make folders in one folder only wait for each other.
        keep(files.iter().try_for_each(|(name, _)| tree.folder(&format!("{folder}/files/{name}"))));
        for _ in 1..threads.min(files.len().div_ceil(CHUNK)) {
            scope.spawn(|| keep(work()));
        }
        keep(work());
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The files with the names of their folders. A file that changes its type is in a diff twice; the second one's
/// folder is told apart by a `~`, which no encoded path has.
fn named_files(diff: &Diff) -> Vec<(String, &FileDiff)> {
    let mut seen: HashMap<&RepoPath, u32> = HashMap::new();
    let mut files = Vec::with_capacity(diff.files().len());
    for file in diff.files() {
        let count = seen.entry(&file.path).or_default();
        *count += 1;
        let name = match count {
            1 => file.path.safe(),
            _ => format!("{}~{count}", file.path.safe()),
        };
        files.push((name, file));
    }
    files
}

fn write_file(
    tree: &Tree<'_>,
    diff: &Diff,
    file: &FileDiff,
    folder: &str,
    buffer: &mut Vec<u8>,
) -> Result<(), WorkspaceError> {
    tree.file(&format!("{folder}/patch"), diff.patch(file))?;
    let path = format!("{folder}/meta.json");
    buffer.clear();
    write_meta(diff, file, buffer).map_err(|error| not_json(&path, &error))?;
    tree.file(&path, buffer)
}

/// Line by line, so that the numbered text is never in memory as a whole.
fn write_numbered(tree: &Tree<'_>, diff: &Diff, path: &str) -> Result<(), WorkspaceError> {
    tree.stream(path, |file| {
        let mut buffer = Vec::with_capacity(BUFFER + BUFFER / 4);
        for (number, line) in diff.numbered() {
            write_number(&mut buffer, number);
            buffer.extend_from_slice(b"  ");
            buffer.extend_from_slice(line);
            if buffer.len() >= BUFFER {
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

/// A folder that is being filled. Paths are from its root.
struct Tree<'a> {
    root: &'a Path,
    modes: Modes,
}

/// Whether what is made has the right permissions already. Setting them anew costs a call for each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modes {
    AsMade,
    Corrected,
}

impl<'a> Tree<'a> {
    /// Looks at what the user's umask (or the file system) makes of a new folder, once.
    fn begin(root: &'a Path) -> Result<Self, WorkspaceError> {
        let tree = Self { root, modes: Modes::Corrected };
        let modes = tree.try_umask().map_err(|source| tree.failed("", source))?;
        Ok(Self { root, modes })
    }

    fn failed(&self, path: &str, why: io::Error) -> WorkspaceError {
        WorkspaceError::Write { path: self.root.join(path), why }
    }

    fn json<T: Serialize + ?Sized>(&self, path: &str, value: &T) -> Result<(), WorkspaceError> {
        let text = stable_json(value).map_err(|error| not_json(path, &error))?;
        self.file(path, text.as_bytes())
    }

    fn file(&self, path: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.stream(path, |file| file.write_all(bytes))
    }

    fn stream(
        &self,
        path: &str,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), WorkspaceError> {
        self.new_file(&self.root.join(path))
            .and_then(|mut file| fill(&mut file))
            .map_err(|source| self.failed(path, source))
    }

    fn folder_if_missing(&self, path: &str) -> Result<(), WorkspaceError> {
        if self.root.join(path).is_dir() { Ok(()) } else { self.folder(path) }
    }

    fn folder(&self, path: &str) -> Result<(), WorkspaceError> {
        self.new_folder(&self.root.join(path)).map_err(|source| self.failed(path, source))
    }
}

impl Tree<'_> {
    fn try_umask(&self) -> io::Result<Modes> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

        let trial = self.root.join("agent");
        DirBuilder::new().mode(0o755).create(&trial)?;
        let mode = fs::symlink_metadata(&trial)?.permissions().mode();
        fs::remove_dir(&trial)?;
        // A mask that leaves a folder its bits leaves a file the fewer it has.
        Ok(if mode & 0o777 == 0o755 { Modes::AsMade } else { Modes::Corrected })
    }

    fn new_file(&self, path: &Path) -> io::Result<File> {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
        match self.modes {
            Modes::AsMade => {}
            Modes::Corrected => file.set_permissions(fs::Permissions::from_mode(0o644))?,
        }
        Ok(file)
    }

    fn new_folder(&self, path: &Path) -> io::Result<()> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

        DirBuilder::new().mode(0o755).create(path)?;
        match self.modes {
            Modes::AsMade => Ok(()),
            Modes::Corrected => fs::set_permissions(path, fs::Permissions::from_mode(0o755)),
        }
    }
}

fn link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}
