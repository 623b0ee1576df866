//! Reads a workspace back, with checks: it may have been edited, unpacked by halves, or packed by a stranger.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use super::inside::{Inside, InsideKind};
use super::{Comment, Metadata, Outside, RoundMeta, RoundRow, WorkspaceError, inside, is_round_id};
use crh_review::Strict;
use crh_review::diff::Diff;

/// More than any diff that people produce; less than what would bring a laptop down.
const FILE_MAX: u64 = 1 << 30;

/// A workspace on the disk.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    metadata: Metadata,
    rounds: Vec<RoundRow>,
    // A diff is read when a tool first asks for it, and then kept: agents ask again and again.
    diffs: Mutex<BTreeMap<String, Arc<Diff>>>,
}

impl Workspace {
    /// Opens the workspace in a folder.
    pub fn open(folder: &Path) -> Result<Self, WorkspaceError> {
        let not_one =
            |reason: String| WorkspaceError::NotAWorkspace { folder: folder.to_owned(), reason };
        let root = fs::canonicalize(folder).map_err(|error| not_one(error.to_string()))?;
        if !root.is_dir() {
            return Err(not_one("it is a file, not a folder".to_owned()));
        }
        for file in ["metadata.json", "preview-diffs/index.json"] {
            inside::look_up(&root, file).map_err(|reason| not_one(reason.to_string()))?;
        }
        let mut workspace = Self {
            root,
            metadata: Metadata::default(),
            rounds: Vec::new(),
            diffs: Mutex::default(),
        };
        workspace.metadata = workspace.json("metadata.json")?;
        workspace.rounds = workspace.json("preview-diffs/index.json")?;
        workspace.check_rounds()?;
        Ok(workspace)
    }

    /// Where it lies, links resolved.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// What the change is called and where it comes from.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The rounds, from the first to the latest.
    pub fn rounds(&self) -> &[RoundRow] {
        &self.rounds
    }

    /// The round under review; nothing if there is no round at all.
    pub fn latest(&self) -> Option<&RoundRow> {
        self.rounds.last()
    }

    /// A round by its id.
    pub fn round(&self, id: &str) -> Result<&RoundRow, WorkspaceError> {
        self.rounds.iter().find(|round| round.id == id).ok_or_else(|| {
            let ids: Vec<_> = self.rounds.iter().map(|round| format!("`{}`", round.id)).collect();
            let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
            WorkspaceError::NoRound { id: id.to_owned(), known }
        })
    }

    /// The diff of a round.
    pub fn diff(&self, id: &str) -> Result<Arc<Diff>, WorkspaceError> {
        let round = self.round(id)?;
        // Held while reading, so that ten agents that begin together read it once.
        let mut diffs = self.diffs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(diff) = diffs.get(id) {
            return Ok(Arc::clone(diff));
        }
        let path = format!("preview-diffs/{}/diff/raw.diff", round.id);
        let diff = Arc::new(Diff::read(self.bytes(&path)?));
        diffs.insert(id.to_owned(), Arc::clone(&diff));
        Ok(diff)
    }

    /// What was said about the change as a whole while this round was the latest.
    pub fn general_comments(&self, id: &str) -> Result<Vec<Comment>, WorkspaceError> {
        let round = self.round(id)?;
        self.json(&format!("preview-diffs/{}/comments/general.json", round.id))
    }

    /// The comments on lines of a round's numbered diff.
    pub fn inline_comments(&self, id: &str) -> Result<BTreeMap<u32, Vec<Comment>>, WorkspaceError> {
        let folder = format!("preview-diffs/{}/comments/inline", self.round(id)?.id);
        let mut comments = BTreeMap::new();
        for name in self.names(&folder)? {
            let path = format!("{folder}/{name}");
            let line = name.strip_suffix(".json").and_then(|line| line.parse().ok());
            let line = line.ok_or_else(|| damaged(&path, "is not named after a line"))?;
            comments.insert(line, self.json(&path)?);
        }
        Ok(comments)
    }

    /// The instruction files, as paths under `agent/`, sorted.
    pub fn agent_files(&self) -> Result<Vec<String>, WorkspaceError> {
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for name in self.names(&format!("agent{folder}"))? {
                let path = format!("{folder}/{name}");
                match self.inside(&format!("agent{path}"))?.kind {
                    InsideKind::File => files.push(path[1..].to_owned()),
                    InsideKind::Folder => folders.push(path),
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Looks up a path from the workspace's root. Links are not followed, but for the one to the latest round.
    pub fn look_up(&self, path: &str) -> Result<Inside, Outside> {
        inside::look_up(&self.root, path)
    }

    /// The bytes of a file, by its path from the root.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        let inside = self.inside(path)?;
        if inside.kind == InsideKind::Folder {
            return Err(damaged(path, "is a folder, not a file"));
        }
        let mut bytes = Vec::new();
        let read = File::open(&inside.path).and_then(|file| {
            // Room for the whole file at once: a vector that grows as it goes may need twice as much.
            let size = file.metadata()?.len().min(FILE_MAX);
            bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
            file.take(FILE_MAX + 1).read_to_end(&mut bytes)
        });
        let read = read.map_err(|error| damaged(path, &format!("cannot be read: {error}")))?;
        if u64::try_from(read).unwrap_or(u64::MAX) > FILE_MAX {
            return Err(damaged(path, "is larger than 1 GiB"));
        }
        Ok(bytes)
    }

    /// The names in a folder, sorted; those that are not text are shown as far as they are.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, WorkspaceError> {
        let inside = self.inside(folder)?;
        let unreadable =
            |error: std::io::Error| damaged(folder, &format!("cannot be read: {error}"));
        let mut names = fs::read_dir(&inside.path)
            .map_err(unreadable)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(unreadable)?;
        names.sort();
        Ok(names)
    }

    pub(super) fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, WorkspaceError> {
        let bytes = self.bytes(path)?;
        let value = serde_json::from_slice(&bytes).map(|Strict(value)| value);
        value.map_err(|error| damaged(path, &format!("is not JSON: {error}"))).and_then(|value| {
            serde_path_to_error::deserialize(value)
                .map_err(|error| damaged(path, &format!("is not what it should be: {error}")))
        })
    }

    fn inside(&self, path: &str) -> Result<Inside, WorkspaceError> {
        self.look_up(path).map_err(|error| match error {
            Outside::Missing(_) => damaged(path, "is missing"),
            Outside::Link(_) => damaged(path, "is a symbolic link, or lies behind one"),
            Outside::Absolute(_)
            | Outside::Home(_)
            | Outside::Parent(_)
            | Outside::Nul
            | Outside::Special(_) => damaged(path, "is not a file or folder of the workspace"),
        })
    }

    /// Whether the index, the folders and the link to the latest agree.
    fn check_rounds(&self) -> Result<(), WorkspaceError> {
        let index = "preview-diffs/index.json";
        let mut ids = BTreeSet::new();
        for (at, round) in self.rounds.iter().enumerate() {
            if !is_round_id(&round.id) || !ids.insert(&round.id) {
                let reason = format!("has a round with the id `{}`, which cannot be", round.id);
                return Err(damaged(index, &reason));
            }
            if round.is_latest != (at + 1 == self.rounds.len()) {
                return Err(damaged(index, "does not say that the last round is the latest"));
            }
            let path = format!("preview-diffs/{}/meta.json", round.id);
            let meta: RoundMeta = self.json(&path)?;
            let same = meta.id == round.id
                && meta.created_at == round.created_at
                && meta.base_rev == round.base_rev
                && meta.head_rev == round.head_rev;
            if !same {
                return Err(damaged(&path, "and the index do not say the same"));
            }
            self.inside(&format!("preview-diffs/{}/diff/raw.diff", round.id))?;
        }
        let link = self.root.join("preview-diffs/latest");
        let linked = fs::symlink_metadata(&link).ok().map(|_| inside::linked_round(&link));
        let latest = self.latest().map(|round| Some(round.id.clone()));
        if linked != latest {
            return Err(damaged("preview-diffs/latest", "is not a link to the latest round"));
        }
        Ok(())
    }
}

pub(super) fn damaged(path: &str, reason: &str) -> WorkspaceError {
    WorkspaceError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}
