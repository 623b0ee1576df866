//! The marker: a file in the checkout that names the journal while crh changes the tree.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::super::tree::InsidePath;
use super::folder::FixFolder;
use super::{ApplyError, LockedCheckout, Steps};
use crh_os::names::os_str;

/// Path of the marker in the checkout.
pub(crate) const MARKER: &str = ".crh/fixing";
/// Path of the marker while crh writes it.
pub(crate) const DRAFT: &str = ".crh/fixing.new";
const FOLDER: &str = ".crh";

/// The journal folder that a marker names: all bytes except the final newline. A folder inside the
/// checkout is stored as a relative path, because a checkout may be moved or mounted elsewhere.
pub(super) fn named(checkout: &Path, marker: &[u8]) -> PathBuf {
    // On Windows, bytes that are not Unicode name no journal.
    checkout.join(os_str(marker.strip_suffix(b"\n").unwrap_or(marker)).unwrap_or_default())
}

/// The journal folder that the marker of a checkout names, if there is a marker.
pub(super) fn of(checkout: &Path) -> Option<PathBuf> {
    fs::read(checkout.join(MARKER)).ok().map(|marker| named(checkout, &marker))
}

impl LockedCheckout {
    pub(super) fn set_marker(
        &self,
        folder: &FixFolder,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        let path = folder.path();
        let path = path.strip_prefix(self.tree.path()).unwrap_or(path);
        let mut text = path.as_os_str().as_encoded_bytes().to_vec();
        text.push(b'\n');
        let written = || -> io::Result<()> {
            steps("making the folder of the marker")?;
            self.tree.make_folder(InsidePath::new(FOLDER).map_err(io::Error::other)?)?;
            let (draft, marker) = (
                InsidePath::new(DRAFT).map_err(io::Error::other)?,
                InsidePath::new(MARKER).map_err(io::Error::other)?,
            );
            self.tree.remove(draft)?;
            steps("writing the marker")?;
            let mut file = self.tree.create(draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            steps("setting the marker")?;
            self.tree.rename(draft, marker)
        };
        written().map_err(ApplyError::io(MARKER))
    }

    pub(super) fn remove_marker(&self, steps: Steps<'_>) -> Result<(), ApplyError> {
        let removed = || -> io::Result<()> {
            for path in [DRAFT, MARKER] {
                steps("removing the marker")?;
                self.tree.remove(InsidePath::new(path).map_err(io::Error::other)?)?;
            }
            self.tree.remove_empty_folder(InsidePath::new(FOLDER).map_err(io::Error::other)?)
        };
        removed().map_err(ApplyError::io(MARKER))
    }
}
