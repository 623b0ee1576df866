//! The folder of one fix in a run folder: `fixes/N` with what is written down of it.
//!
//! Invariant: `journal.json` is there only when all that it names is on the disk.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Image, Sides};
use super::{Journal, NotApplied, Steps, lost};
use crh_review::identity::content_id;

const JOURNAL: &str = "journal.json";
const STATE: &str = "state.json";
/// Nobody fixes that often what one review has found.
const FIXES_MAX: u32 = 10_000;
/// More than all files of a fix have together.
const FILE_MAX: u64 = 256 << 20;
/// The folders around a journal that may be as new as it is: `fixes`, that of the run, that of all runs, `.crh`.
const AROUND: usize = 4;
/// As many of them are a run's own.
const OWN: usize = 2;
/// As many of the names in the path of a journal tell it from others: its number, `fixes`, its run.
const NAMING: usize = 3;
/// As much of a hash as keeps the draft of one fix from being taken for somebody's own file.
const DRAFT_CHARS: usize = 12;

/// What became of a fix. Of one whose drafts are being written, nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Its drafts are written, and take their places in the tree one by one.
    Placing,
    /// It stands in the tree.
    Applied,
    /// The tree is as it was before.
    RolledBack,
}

/// The folder of one fix.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    draft: String,
}

impl Folder {
    pub(super) fn at(path: PathBuf) -> Self {
        // By its run and its number: a checkout may be moved.
        let parts = path.components().count();
        let named: PathBuf = path.components().skip(parts.saturating_sub(NAMING)).collect();
        let mut hash = content_id(named.as_os_str().as_encoded_bytes());
        hash.truncate(DRAFT_CHARS);
        Self { path, draft: format!(".crh-fix-{hash}") }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its number, which is its name.
    pub(super) fn number(&self) -> u32 {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.parse().unwrap_or_default()
    }

    /// What the draft of a file is called, in whatever folder it is.
    pub(super) fn draft(&self) -> &str {
        &self.draft
    }

    /// The same for the way back.
    pub(super) fn draft_back(&self) -> String {
        format!("{}-back", self.draft)
    }

    /// The folders of all fixes of a run, in their order; none if there are none.
    pub(super) fn all(fixes: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(fixes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut folders = Vec::new();
        for entry in entries {
            let folder = Self::at(entry?.path());
            if folder.number() > 0 {
                folders.push(folder);
            }
        }
        folders.sort_by_key(Self::number);
        Ok(folders)
    }

    /// Whether it was written to its end.
    pub(super) fn is_written(&self) -> bool {
        self.path.join(JOURNAL).exists()
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }

    /// Writes a new one, to the disk.
    pub(super) fn write(
        fixes: &Path,
        journal: &Journal,
        images: &[(String, Vec<u8>)],
        steps: Steps<'_>,
    ) -> io::Result<Self> {
        steps("making the folder of the journal")?;
        DirBuilder::new().recursive(true).mode(0o700).create(fixes)?;
        let last = Self::all(fixes)?.last().map_or(0, Self::number);
        let number = last.saturating_add(1);
        if number > FIXES_MAX {
            return Err(io::Error::other("there were too many fixes in this run"));
        }
        let folder = Self::at(fixes.join(number.to_string()));
        DirBuilder::new().mode(0o700).create(&folder.path)?;
        for (name, bytes) in images {
            steps("writing an image")?;
            folder.write_file(name, bytes)?;
        }
        let text = serde_json::to_vec_pretty(journal)?;
        steps("writing the journal")?;
        folder.replace(JOURNAL, &text)?;
        // With the folders it is in, which the review may just have made: of a run, of all runs, and of all that is ours.
        let around: Vec<&Path> = fixes.ancestors().take(AROUND).collect();
        for path in &around[..around.len().min(OWN)] {
            File::open(path)?.sync_all()?;
        }
        for path in around.iter().skip(OWN) {
            // They may be somebody else's, and not to be read.
            File::open(path).and_then(|folder| folder.sync_all()).unwrap_or_default();
        }
        Ok(folder)
    }

    pub(super) fn journal(&self) -> io::Result<Journal> {
        Ok(serde_json::from_slice(&self.read(JOURNAL)?)?)
    }

    /// What became of it; none if it was never said.
    pub(super) fn state(&self) -> io::Result<Option<State>> {
        match self.read(STATE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            bytes => Ok(Some(serde_json::from_slice(&bytes?)?)),
        }
    }

    pub(super) fn set_state(&self, state: State) -> io::Result<()> {
        self.replace(STATE, &serde_json::to_vec(&state)?)
    }

    /// The bytes of a file as it was or will be.
    pub(super) fn image(&self, image: &Image) -> io::Result<Vec<u8>> {
        let bytes = self.read(&image.name)?;
        match content_id(&bytes) == image.hash {
            true => Ok(bytes),
            false => Err(io::Error::other(format!("`{}` was changed since", image.name))),
        }
    }

    /// The bytes of a file before and after.
    pub(super) fn sides(&self, entry: &Entry) -> Result<Sides, NotApplied> {
        let bytes = |image: &Option<Image>| -> Result<Option<Vec<u8>>, NotApplied> {
            let bytes = image.as_ref().map(|image| self.image(image)).transpose();
            bytes.map_err(|why| lost(self, &why))
        };
        Ok(Sides { before: bytes(&entry.before)?, after: bytes(&entry.after)? })
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        if name.contains('/') {
            return Err(io::Error::other(format!("`{name}` is no name of a file in it")));
        }
        let mut bytes = Vec::new();
        File::open(self.path.join(name))?.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > FILE_MAX {
            true => Err(io::Error::other(format!("`{name}` is too large"))),
            false => Ok(bytes),
        }
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.path.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Writes a file that is whole or not there.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        self.write_file(&new, bytes)?;
        fs::rename(self.path.join(&new), self.path.join(name))?;
        File::open(&self.path)?.sync_all()
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}
