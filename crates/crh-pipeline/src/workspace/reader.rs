//! Reads and validates a workspace. The workspace may be edited, incomplete, or made by an
//! attacker.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use super::workspace_path::{PathKind, WorkspacePath};
use super::{
    ChangeMetadata, PathError, RoundEntry, RoundMeta, WorkspaceComment, WorkspaceError,
    is_round_id, workspace_path,
};
use crh_os::names::canonical;
use crh_review::StrictJson;
use crh_review::diff::Diff;

/// Maximum size of a file: larger than any real diff, and small enough for a laptop's memory.
const FILE_MAX: u64 = 1 << 30;

/// A workspace on disk.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    metadata: ChangeMetadata,
    rounds: Vec<RoundEntry>,
    // Parsed on first use and cached, since agents ask often.
    diffs: Mutex<BTreeMap<String, Arc<Diff>>>,
}

impl Workspace {
    /// Opens the workspace in a folder.
    pub fn open(folder: &Path) -> Result<Self, WorkspaceError> {
        let not_a_workspace =
            |reason: String| WorkspaceError::NotAWorkspace { folder: folder.to_owned(), reason };
        let root = canonical(folder).map_err(|error| not_a_workspace(error.to_string()))?;
        if !root.is_dir() {
            return Err(not_a_workspace("it is a file, not a folder".to_owned()));
        }
        for file in ["metadata.json", "preview-diffs/index.json"] {
            workspace_path::look_up(&root, file)
                .map_err(|reason| not_a_workspace(reason.to_string()))?;
        }
        let mut workspace = Self {
            root,
            metadata: ChangeMetadata::default(),
            rounds: Vec::new(),
            diffs: Mutex::default(),
        };
        workspace.metadata = workspace.json("metadata.json")?;
        workspace.rounds = workspace.json("preview-diffs/index.json")?;
        workspace.check_rounds()?;
        Ok(workspace)
    }

    /// Path with symlinks resolved.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// Title, description, branches and commits.
    pub fn metadata(&self) -> &ChangeMetadata {
        &self.metadata
    }

    /// Rounds, oldest first.
    pub fn rounds(&self) -> &[RoundEntry] {
        &self.rounds
    }

    /// The round under review. `None` if there is no round.
    pub fn latest(&self) -> Option<&RoundEntry> {
        self.rounds.last()
    }

    /// Finds a round by its id.
    pub fn round(&self, id: &str) -> Result<&RoundEntry, WorkspaceError> {
        self.rounds.iter().find(|round| round.id == id).ok_or_else(|| {
            let ids: Vec<_> = self.rounds.iter().map(|round| format!("`{}`", round.id)).collect();
            let known_ids = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
            WorkspaceError::NoRound { id: id.to_owned(), known: known_ids }
        })
    }

    /// Diff of a round.
    pub fn diff(&self, id: &str) -> Result<Arc<Diff>, WorkspaceError> {
        let round = self.round(id)?;
        // The lock is held while the diff is read, so concurrent agents read it only once.
        let mut diffs = self.diffs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(diff) = diffs.get(id) {
            return Ok(Arc::clone(diff));
        }
        let path = format!("preview-diffs/{}/diff/raw.diff", round.id);
        let diff = Arc::new(Diff::read(self.bytes(&path)?));
        diffs.insert(id.to_owned(), Arc::clone(&diff));
        Ok(diff)
    }

    /// Comments on the whole change that belong to this round.
    pub fn general_comments(&self, id: &str) -> Result<Vec<WorkspaceComment>, WorkspaceError> {
        let round = self.round(id)?;
        self.json(&format!("preview-diffs/{}/comments/general.json", round.id))
    }

    /// Comments by line of a round's numbered diff.
    pub fn inline_comments(
        &self,
        id: &str,
    ) -> Result<BTreeMap<u32, Vec<WorkspaceComment>>, WorkspaceError> {
        let folder = format!("preview-diffs/{}/comments/inline", self.round(id)?.id);
        let mut comments = BTreeMap::new();
        for name in self.names(&folder)? {
            let path = format!("{folder}/{name}");
            let line = name.strip_suffix(".json").and_then(|line| line.parse().ok());
            let line = line.ok_or_else(|| damaged(&path, "is not named after a line number"))?;
            comments.insert(line, self.json(&path)?);
        }
        Ok(comments)
    }

    /// Sorted paths of the instruction files under `agent/`.
    pub fn instruction_files(&self) -> Result<Vec<String>, WorkspaceError> {
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for name in self.names(&format!("agent{folder}"))? {
                let path = format!("{folder}/{name}");
                match self.look_up_or_damaged(&format!("agent{path}"))?.kind {
                    PathKind::File => files.push(path[1..].to_owned()),
                    PathKind::Folder => folders.push(path),
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Looks up a path from the workspace root. Follows no symlink except the one to the latest
    /// round.
    pub fn look_up(&self, path: &str) -> Result<WorkspacePath, PathError> {
        workspace_path::look_up(&self.root, path)
    }

    /// Contents of a file, by its path from the root.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        let entry = self.look_up_or_damaged(path)?;
        if entry.kind == PathKind::Folder {
            return Err(damaged(path, "is a folder, not a file"));
        }
        let mut bytes = Vec::new();
        let read_size = File::open(&entry.path).and_then(|file| {
            // Reserve the whole size at once, since a growing vector may need twice the memory.
            let size = file.metadata()?.len().min(FILE_MAX);
            bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
            file.take(FILE_MAX + 1).read_to_end(&mut bytes)
        });
        let read_size =
            read_size.map_err(|error| damaged(path, &format!("cannot be read: {error}")))?;
        if u64::try_from(read_size).unwrap_or(u64::MAX) > FILE_MAX {
            return Err(damaged(path, "is larger than 1 GiB"));
        }
        Ok(bytes)
    }

    /// Sorted names in a folder. Names that are not UTF-8 are shown lossily.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, WorkspaceError> {
        let entry = self.look_up_or_damaged(folder)?;
        let read_error =
            |error: std::io::Error| damaged(folder, &format!("cannot be read: {error}"));
        let mut names = fs::read_dir(&entry.path)
            .map_err(read_error)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(read_error)?;
        names.sort();
        Ok(names)
    }

    pub(super) fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, WorkspaceError> {
        let bytes = self.bytes(path)?;
        let value = serde_json::from_slice(&bytes).map(|StrictJson(value)| value);
        value.map_err(|error| damaged(path, &format!("is not JSON: {error}"))).and_then(|value| {
            serde_path_to_error::deserialize(value)
                .map_err(|error| damaged(path, &format!("has the wrong format: {error}")))
        })
    }

    fn look_up_or_damaged(&self, path: &str) -> Result<WorkspacePath, WorkspaceError> {
        self.look_up(path).map_err(|error| match error {
            PathError::Missing(_) => damaged(path, "is missing"),
            PathError::Link(_) => damaged(path, "is a symbolic link, or lies behind one"),
            PathError::Absolute(_)
            | PathError::Home(_)
            | PathError::Parent(_)
            | PathError::Nul
            | PathError::Special(_) => damaged(path, "is not a file or folder of the workspace"),
        })
    }

    /// Checks that the index, the folders and the link to the latest round agree.
    fn check_rounds(&self) -> Result<(), WorkspaceError> {
        let index = "preview-diffs/index.json";
        let mut ids = BTreeSet::new();
        for (position, round) in self.rounds.iter().enumerate() {
            if !is_round_id(&round.id) || !ids.insert(&round.id) {
                let reason = format!("has a round with the invalid id `{}`", round.id);
                return Err(damaged(index, &reason));
            }
            if round.is_latest != (position + 1 == self.rounds.len()) {
                return Err(damaged(index, "does not mark the last round as the latest"));
            }
            let path = format!("preview-diffs/{}/meta.json", round.id);
            let meta: RoundMeta = self.json(&path)?;
            let is_same_round = meta.id == round.id
                && meta.created_at == round.created_at
                && meta.base_rev == round.base_rev
                && meta.head_rev == round.head_rev;
            if !is_same_round {
                return Err(damaged(&path, "and the index disagree"));
            }
            self.look_up_or_damaged(&format!("preview-diffs/{}/diff/raw.diff", round.id))?;
        }
        let link = self.root.join("preview-diffs/latest");
        let linked_id =
            fs::symlink_metadata(&link).ok().map(|_| workspace_path::linked_round(&link));
        let latest_id = self.latest().map(|round| Some(round.id.clone()));
        if linked_id != latest_id {
            return Err(damaged("preview-diffs/latest", "is not a link to the latest round"));
        }
        Ok(())
    }
}

pub(super) fn damaged(path: &str, reason: &str) -> WorkspaceError {
    WorkspaceError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}
