//! One file of a fix: its state before and after, and the steps between them.

use std::io;
use std::io::Write as _;

use serde::{Deserialize, Serialize};

use super::super::tree::{CheckoutTree, FileSnapshot, InsidePath};
use super::file_swap::{FileSwap, SwapResult};
use super::{ApplyError, Steps, inside};
use crh_os::files::set_mode_of;
use crh_review::identity::content_id;

/// Permissions that crh restores: never the setuid, setgid and sticky bits.
const RESTORED: u32 = 0o777;
/// Suffix of a draft until it is complete.
const HALF: &str = ".new";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    /// Number of the entry, which makes the name of its draft unique.
    pub(super) number: usize,
    /// Relative to the root of the checkout.
    pub(super) path: String,
    /// `None` if the file does not exist.
    pub(super) before: Option<StoredVersion>,
    /// `None` if the file is deleted.
    pub(super) after: Option<StoredVersion>,
    /// Folders created for this file only, outermost first.
    pub(super) folders: Vec<String>,
}

/// A stored version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredVersion {
    /// Name of the file with its bytes in the journal folder.
    pub(super) name: String,
    /// Hash of these bytes. Damaged bytes are never written to the tree.
    pub(super) hash: String,
    /// Permissions and owner. `None` for a new file, which gets the defaults.
    kept: Option<FileRights>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileRights {
    mode: u32,
    owner: (u32, u32),
}

/// The bytes before and after. `None` if the file does not exist.
#[derive(Debug, Clone)]
pub(super) struct FileSides {
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

/// The file under the name of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DraftState {
    Nothing,
    /// The draft, which is not in place, or was swapped out again.
    Ready,
    /// The old file, unchanged since it was read.
    Old,
    /// A file of another program that crh has not read.
    Theirs,
}

impl FileSides {
    pub(super) fn reversed(self) -> Self {
        Self { before: self.after, after: self.before }
    }
}

impl StoredVersion {
    /// The version of an existing file.
    pub(super) fn from_snapshot(number: usize, word: &str, found: &FileSnapshot) -> Self {
        let hash = content_id(&found.bytes);
        Self {
            name: format!("{number}.{word}"),
            hash,
            kept: Some(FileRights::from_snapshot(found)),
        }
    }

    /// The version to write, with the permissions of the file that it replaces.
    pub(super) fn like(number: usize, bytes: &[u8], before: Option<&Self>) -> Self {
        let (name, hash) = (format!("{number}.after"), content_id(bytes));
        Self { name, hash, kept: before.and_then(|image| image.kept.clone()) }
    }

    /// The same bytes with the current permissions.
    pub(super) fn like_now(&self, now: Option<&FileSnapshot>) -> Self {
        match now {
            Some(now) => Self { kept: Some(FileRights::from_snapshot(now)), ..self.clone() },
            None => self.clone(),
        }
    }

    /// Whether a file has these permissions and this owner.
    pub(super) fn is_kept_by(&self, found: &FileSnapshot) -> bool {
        self.kept == Some(FileRights::from_snapshot(found))
    }
}

impl FileRights {
    fn from_snapshot(found: &FileSnapshot) -> Self {
        Self { mode: found.mode, owner: found.owner }
    }
}

impl FileEntry {
    /// Name of the draft. `draft` is the prefix of all drafts of the fix.
    fn draft(&self, draft: &str) -> Result<String, ApplyError> {
        Ok(inside(&self.path)?.beside(&format!("{draft}-{}", self.number)))
    }

    /// The entry that undoes this one.
    pub(super) fn reversed(self) -> Self {
        Self { before: self.after, after: self.before, ..self }
    }

    /// The same entry with other names for the stored bytes.
    pub(super) fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let image =
            |image: &StoredVersion| StoredVersion { name: name(&image.name), ..image.clone() };
        let (before, after) = (self.before.as_ref().map(image), self.after.as_ref().map(image));
        Self { before, after, ..self.clone() }
    }

    /// Writes the new version next to the file and syncs it. Renames it to the name of the draft
    /// when it is complete.
    pub(super) fn write_draft(
        &self,
        tree: &CheckoutTree,
        image: &StoredVersion,
        bytes: &[u8],
        draft: &str,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        let name = self.draft(draft)?;
        let half = format!("{name}{HALF}");
        let written = || -> io::Result<()> {
            for folder in &self.folders {
                steps("making a folder")?;
                tree.make_folder(InsidePath::new(folder).map_err(io::Error::other)?)?;
            }
            let half = InsidePath::new(&half).map_err(io::Error::other)?;
            tree.remove(half)?;
            steps("making the draft")?;
            let mut file = match &image.kept {
                Some(_) => tree.create_private(half)?,
                None => tree.create(half)?,
            };
            steps("writing the draft")?;
            file.write_all(bytes)?;
            if let Some(FileRights { mode, owner }) = &image.kept {
                steps("setting the owner")?;
                tree.set_owner(&file, *owner)?;
                steps("setting the mode")?;
                set_mode_of(&file, mode & RESTORED)?;
            }
            steps("syncing the draft")?;
            file.sync_all()?;
            let whole = InsidePath::new(&name).map_err(io::Error::other)?;
            match steps("naming the draft").and_then(|()| tree.rename_to_new(half, whole)) {
                Err(why) if why.kind() == io::ErrorKind::Unsupported => tree.rename(half, whole),
                named => named,
            }
        };
        written().map_err(ApplyError::io(&self.path))
    }

    /// Moves the draft into place, or deletes the file.
    pub(super) fn put(
        &self,
        tree: &CheckoutTree,
        (seen, wanted): (Option<&FileSnapshot>, Option<&[u8]>),
        draft: &str,
        steps: Steps<'_>,
    ) -> Result<SwapResult, ApplyError> {
        let (at, name) = (inside(&self.path)?, self.draft(draft)?);
        let place = FileSwap { tree, at, draft: inside(&name)?, steps };
        let placed = place.put(seen, wanted).map_err(ApplyError::io(&self.path))?;
        if placed == SwapResult::AsWanted && wanted.is_none() {
            self.remove_folders(tree, steps)?;
        }
        Ok(placed)
    }

    /// Moves the file under the draft's name back into place.
    pub(super) fn put_back(
        &self,
        tree: &CheckoutTree,
        ours: Option<&[u8]>,
        draft: &str,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        let (at, name) = (inside(&self.path)?, self.draft(draft)?);
        let place = FileSwap { tree, at, draft: inside(&name)?, steps };
        place.put_back(ours).map_err(ApplyError::io(&self.path))
    }

    /// Removes the folders of this file if they are empty.
    pub(super) fn remove_folders(
        &self,
        tree: &CheckoutTree,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        for folder in self.folders.iter().rev() {
            steps("removing a folder").map_err(ApplyError::io(folder))?;
            tree.remove_empty_folder(inside(folder)?).map_err(ApplyError::io(folder))?;
        }
        Ok(())
    }

    /// Classifies the file under the name of the draft.
    pub(super) fn lying(
        &self,
        tree: &CheckoutTree,
        draft: &str,
        sides: &FileSides,
    ) -> Result<DraftState, ApplyError> {
        let name = self.draft(draft)?;
        let Ok(found) = tree.read(inside(&name)?) else { return Ok(DraftState::Theirs) };
        let Some(found) = found else { return Ok(DraftState::Nothing) };
        let is_old = sides.before.as_ref() == Some(&found.bytes)
            && self.before.as_ref().is_some_and(|image| image.is_kept_by(&found));
        Ok(match sides.after.as_ref() == Some(&found.bytes) {
            true => DraftState::Ready,
            false if is_old => DraftState::Old,
            false => DraftState::Theirs,
        })
    }

    /// Removes the draft and the old file. Leaves files of other programs.
    pub(super) fn remove_draft(
        &self,
        tree: &CheckoutTree,
        draft: &str,
        sides: &FileSides,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        let name = self.draft(draft)?;
        let found = tree.read(inside(&name)?);
        let bytes = found.as_ref().ok().and_then(Option::as_ref).map(|found| &found.bytes);
        if bytes.is_some() && [sides.before.as_ref(), sides.after.as_ref()].contains(&bytes) {
            steps("removing a draft").map_err(ApplyError::io(&name))?;
            tree.remove(inside(&name)?).map_err(ApplyError::io(&name))?;
        }
        let half = format!("{name}{HALF}");
        steps("removing half a draft").map_err(ApplyError::io(&half))?;
        match tree.remove(inside(&half)?) {
            // A folder of another program has the name of the draft.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
            removed => removed.map_err(ApplyError::io(&half)),
        }
    }
}
