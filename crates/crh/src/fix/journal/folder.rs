//! The folder `fixes/N` of one fix in a run folder.
//!
//! Invariant: `journal.json` exists only if everything that it names is on disk.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

use super::entry::{FileEntry, FileSides, StoredVersion};
use super::{ApplyError, Journal, Steps, lost_error};
use crh_os::files;
use crh_review::identity::content_id;

const JOURNAL: &str = "journal.json";
const STATE: &str = "state.json";
/// Maximum number of fixes per run.
const FIXES_MAX: u32 = 10_000;
/// Maximum size of one stored file.
const FILE_MAX: u64 = 256 << 20;
/// Parent folders of a journal that may be new and must be synced: `fixes`, the run, all runs,
/// `.crh`.
const SYNCED_PARENTS: usize = 4;
/// Number of these folders that belong to the run.
const RUN_PARENTS: usize = 2;
/// Path components that identify a journal: its number, `fixes`, its run.
const NAME_PARTS: usize = 3;
/// Length of the hash in the name of a draft, which avoids collisions with other files.
const DRAFT_CHARS: usize = 12;

/// State of a fix. While crh writes the drafts, there is no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FixPhase {
    /// crh has written the drafts and moves them into place.
    Placing,
    /// The fix is in the tree.
    Applied,
    /// The tree is as before.
    RolledBack,
}

#[derive(Debug, Clone)]
pub(crate) struct FixFolder {
    path: PathBuf,
    draft: String,
}

impl FixFolder {
    pub(super) fn open(path: PathBuf) -> Self {
        // Hash only the run and the number, because a checkout may be moved.
        let parts = path.components().count();
        let name_parts: PathBuf =
            path.components().skip(parts.saturating_sub(NAME_PARTS)).collect();
        let mut hash = content_id(name_parts.as_os_str().as_encoded_bytes());
        hash.truncate(DRAFT_CHARS);
        Self { path, draft: format!(".crh-fix-{hash}") }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The run folder around `fixes/N`.
    pub(super) fn run(&self) -> Option<&Path> {
        self.path.parent()?.parent()
    }

    /// The number, which is the folder's name.
    pub(super) fn number(&self) -> u32 {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.parse().unwrap_or_default()
    }

    /// Prefix of the drafts.
    pub(super) fn draft(&self) -> &str {
        &self.draft
    }

    /// Prefix of the drafts of a rollback.
    pub(super) fn draft_back(&self) -> String {
        format!("{}-back", self.draft)
    }

    /// The folders of all fixes of a run, in order.
    pub(super) fn all(fixes: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(fixes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut folders = Vec::new();
        for entry in entries {
            let folder = Self::open(entry?.path());
            if folder.number() > 0 {
                folders.push(folder);
            }
        }
        folders.sort_by_key(Self::number);
        Ok(folders)
    }

    /// Whether the journal is complete.
    pub(super) fn is_written(&self) -> bool {
        self.path.join(JOURNAL).exists()
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }

    /// Writes a new journal and syncs it.
    pub(super) fn write(
        fixes: &Path,
        journal: &Journal,
        images: &[(String, Vec<u8>)],
        steps: Steps<'_>,
    ) -> io::Result<Self> {
        steps("making the folder of the journal")?;
        files::create_private_folder(fixes)?;
        let last = Self::all(fixes)?.last().map_or(0, Self::number);
        let number = last.saturating_add(1);
        if number > FIXES_MAX {
            return Err(io::Error::other("the run has too many fixes"));
        }
        let folder = Self::open(fixes.join(number.to_string()));
        files::folder_builder(files::PRIVATE_FOLDER).create(&folder.path)?;
        for (name, bytes) in images {
            steps("writing an image")?;
            folder.write_file(name, bytes)?;
        }
        let text = serde_json::to_vec_pretty(journal)?;
        steps("writing the journal")?;
        folder.replace(JOURNAL, &text)?;
        // Sync the parent folders too; the review may have just created them.
        let parents: Vec<&Path> = fixes.ancestors().take(SYNCED_PARENTS).collect();
        for path in &parents[..parents.len().min(RUN_PARENTS)] {
            files::sync_folder(path)?;
        }
        for path in parents.iter().skip(RUN_PARENTS) {
            // They may belong to another user and be unreadable.
            files::sync_folder(path).unwrap_or_default();
        }
        Ok(folder)
    }

    pub(super) fn journal(&self) -> io::Result<Journal> {
        Ok(serde_json::from_slice(&self.read(JOURNAL)?)?)
    }

    /// The stored state, if there is one.
    pub(super) fn state(&self) -> io::Result<Option<FixPhase>> {
        match self.read(STATE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            bytes => Ok(Some(serde_json::from_slice(&bytes?)?)),
        }
    }

    pub(super) fn set_state(&self, state: FixPhase) -> io::Result<()> {
        self.replace(STATE, &serde_json::to_vec(&state)?)
    }

    /// The bytes of a stored version.
    pub(super) fn image(&self, image: &StoredVersion) -> io::Result<Vec<u8>> {
        let bytes = self.read(&image.name)?;
        match content_id(&bytes) == image.hash {
            true => Ok(bytes),
            false => Err(io::Error::other(format!("`{}` was changed since", image.name))),
        }
    }

    /// The bytes before and after.
    pub(super) fn sides(&self, entry: &FileEntry) -> Result<FileSides, ApplyError> {
        let bytes = |image: &Option<StoredVersion>| -> Result<Option<Vec<u8>>, ApplyError> {
            let bytes = image.as_ref().map(|image| self.image(image)).transpose();
            bytes.map_err(|why| lost_error(self, &why))
        };
        Ok(FileSides { before: bytes(&entry.before)?, after: bytes(&entry.after)? })
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        if name.contains('/') {
            return Err(io::Error::other(format!("`{name}` is not a file name")));
        }
        let mut bytes = Vec::new();
        File::open(self.path.join(name))?.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > FILE_MAX {
            true => Err(io::Error::other(format!("`{name}` is too large"))),
            false => Ok(bytes),
        }
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut options = files::open_options(files::PRIVATE_FILE);
        let mut file =
            options.write(true).create(true).truncate(true).open(self.path.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Writes a file atomically.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        self.write_file(&new, bytes)?;
        fs::rename(self.path.join(&new), self.path.join(name))?;
        files::sync_folder(&self.path)
    }
}

impl fmt::Display for FixFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}
