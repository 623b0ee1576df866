//! A fingerprint of a checkout, to notice that a file was saved.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::process::GitError;
use crate::repository::Repository;
use crh_os::files;
use crh_os::names::repository_path;

/// Fingerprint of a checkout: the current commit, the index, and sizes and times of all files that
/// git does not ignore. Only fingerprints of the same process can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckoutState(u64);

impl Repository {
    /// The state of the checkout now. Reads no file contents and runs no filter.
    pub fn checkout_state(&self) -> Result<CheckoutState, GitError> {
        let mut hasher = DefaultHasher::new();
        self.head()?.hash(&mut hasher);
        // The time of the index does not count: `git status` may write the index without a change.
        let staged = self.git().run(["ls-files", "-z", "--stage"])?;
        staged.hash(&mut hasher);
        let entries = staged.split(|byte| *byte == 0);
        let tracked = entries.filter_map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            Some(&entry[tab + 1..])
        });
        let untracked = self.untracked()?;
        for path in tracked.chain(untracked.iter().map(Vec::as_slice)) {
            path.hash(&mut hasher);
            let file = repository_path(path).map(|path| self.folder().join(path));
            file.ok().and_then(|file| file_state(&file)).hash(&mut hasher);
        }
        Ok(CheckoutState(hasher.finish()))
    }
}

/// Size, time, mode and id of a file, of which a write changes at least one; `None` if there is no
/// file.
fn file_state(path: &Path) -> Option<impl Hash + use<>> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let modified_time = metadata.modified().ok();
    Some((metadata.len(), modified_time, files::mode(&metadata), files::file_id(&metadata)))
}
