//! Journal of fixes: writes fixes into a checkout so that a crash can be rolled back. The old and
//! the new bytes are on disk before the tree changes.
//!
//! Invariants: after `recover`, the tree is as before or as after a fix, never in between; every
//! file is complete at every moment; only one process changes a tree at a time.

mod entry;
mod file_swap;
mod folder;
mod marker;
mod rollback;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::entry::{FileEntry, StoredVersion};
use self::file_swap::SwapResult;
use self::folder::FixFolder;
pub(super) use self::folder::FixPhase;
pub(super) use self::marker::DRAFT as MARKER_DRAFT;
pub(crate) use self::marker::MARKER;
use super::fixed_file::FixedFile;
use super::tree::{CheckoutTree, FileSnapshot, InsidePath};
use crate::ui;
use crh_os::names::canonical;
use crh_pipeline::fixer::FileEdit;
use crh_pipeline::run_folder::StampKey;
use crh_review::report::AppliedFix;

/// Number of retries to lock a checkout, and the delay before each. A child process inherits the
/// lock for a moment; a real fix takes longer than this half second.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_DELAY: Duration = Duration::from_millis(20);

/// Files that mark a checkout as being changed.
pub(crate) const MARKERS: [&str; 2] = [MARKER, MARKER_DRAFT];

/// Hook that is called before each step, for tests that stop the program there.
pub(crate) type Steps<'s> = &'s dyn Fn(&str) -> io::Result<()>;

/// Hook that does nothing.
pub(crate) const UNDISTURBED: Steps<'static> = &|_| Ok(());

/// A locked checkout. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct LockedCheckout {
    tree: CheckoutTree,
    /// Key that stamps run folders. A journal counts only in a stamped folder.
    stamp_key: Option<StampKey>,
}

/// Stored record of one fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// Root of the checkout.
    checkout: PathBuf,
    /// Commit of the private store with the tree after the fix.
    pub(super) after: Option<String>,
    /// Origin of the fix; `None` for an undo.
    pub(super) asker: Option<FixOrigin>,
    /// Descriptions for the report, which crh writes later. A crash may prevent that.
    pub(super) fixes: Vec<AppliedFix>,
    /// Files with edits of the user since the review. `after` contains these edits too.
    pub(super) edited: BTreeSet<String>,
    /// Numbers of the fixes that this one undoes.
    undoes: BTreeSet<u32>,
    entries: Vec<FileEntry>,
}

/// Origin of a fix. If the user leaves the questions, crh undoes only the fixes with the origin
/// `Questions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FixOrigin {
    /// An answer in an interactive review.
    Questions,
    /// A mode that asks nothing.
    Mode,
    Command,
}

/// Purpose of edits, stored with them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose<'p> {
    pub(crate) asker: FixOrigin,
    /// Commit of the private store with the tree afterwards.
    pub(crate) after: Option<&'p str>,
    pub(crate) fixes: &'p [AppliedFix],
    /// Files with edits of the user since the review.
    pub(crate) edited: &'p BTreeSet<String>,
}

/// Reversed entries of fixes, and the bytes they need.
type UndoEntries = (Vec<FileEntry>, BTreeMap<String, Vec<u8>>);

/// An interrupted fix that was rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RolledBackFix {
    /// Restored files.
    pub(crate) files: Vec<String>,
    /// Whether it was an undo. Its fixes are in the tree again.
    pub(crate) is_taking_back: bool,
}

/// Why the tree was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("another crh is changing this checkout")]
    Busy,
    #[error("`{path}` {why}")]
    Place { path: String, why: String },
    #[error("`{path}` changed since the review")]
    Changed { path: String },
    #[error("`{path}` was changed after the fix")]
    Edited { path: String },
    #[error("`{path}` was changed between two fixes, and an undo would lose that change")]
    Between { path: String },
    #[error("the run belongs to the checkout `{checkout}`", checkout = checkout.display())]
    Elsewhere { checkout: PathBuf },
    #[error("`{path}` cannot be changed: {why}")]
    Io { path: String, why: io::Error },
    #[error(
        "a fix of this checkout was interrupted, and `{path}` was changed since: its original content is in `{kept}`",
        kept = kept.display()
    )]
    Stuck { path: String, kept: PathBuf },
    #[error(
        "a fix of this checkout was interrupted, and its journal in `{folder}` cannot be read: {why}",
        folder = folder.display()
    )]
    Lost { folder: PathBuf, why: String },
    #[error(
        "the journal of a fix in `{folder}` cannot be read: {why}",
        folder = folder.display()
    )]
    Unread { folder: PathBuf, why: String },
}

impl ApplyError {
    fn io(path: &str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |why| Self::Io { path, why }
    }
}

impl Journal {
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.path.as_str())
    }
}

#[cfg(test)]
impl Journal {
    /// A record with a description and an origin only.
    pub(super) fn of(asker: FixOrigin, fixes: Vec<AppliedFix>) -> Self {
        Self {
            checkout: PathBuf::new(),
            after: None,
            asker: Some(asker),
            fixes,
            edited: BTreeSet::new(),
            undoes: BTreeSet::new(),
            entries: Vec::new(),
        }
    }
}

impl LockedCheckout {
    /// Locks the checkout at this root. Fails if another process has it.
    pub(crate) fn take(root: &Path, stamp_key: Option<&StampKey>) -> Result<Self, ApplyError> {
        let shown = root.display().to_string();
        let tree = CheckoutTree::open(root).map_err(ApplyError::io(&shown))?;
        for attempt in 0..=LOCK_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(LOCK_DELAY);
            }
            // The lock is on the folder itself: it needs no file and ends with the process.
            match tree.root().try_lock() {
                Ok(()) => return Ok(Self { tree, stamp_key: stamp_key.cloned() }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(why)) => {
                    return Err(ApplyError::Io { path: shown, why });
                }
            }
        }
        Err(ApplyError::Busy)
    }

    /// The bytes of a file, or `None` if it does not exist.
    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, ApplyError> {
        Ok(self.read(path)?.map(|found| found.bytes))
    }

    fn read(&self, path: &str) -> Result<Option<FileSnapshot>, ApplyError> {
        read_in(&self.tree, path)
    }

    /// Whether a process was interrupted just before it changed the tree.
    pub(crate) fn has_draft_of_marker(&self) -> Result<bool, ApplyError> {
        Ok(self.bytes(MARKER_DRAFT)?.is_some())
    }

    /// Whether a process was interrupted while it changed the tree.
    pub(crate) fn is_between(&self) -> Result<bool, ApplyError> {
        Ok(self.bytes(MARKER)?.is_some())
    }

    /// Applies all edits or none. Rolls back an interrupted fix first. `fixes` is the folder of the
    /// journals.
    pub(crate) fn apply(
        &self,
        fixes: &Path,
        edits: &[FileEdit],
        purpose: Purpose<'_>,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        self.recover(steps)?;
        remove_incomplete_journals(fixes, steps)?;
        let mut entries = Vec::new();
        let mut images = Vec::new();
        for edit in edits {
            let at = inside(&edit.path)?;
            let found = self.read(&edit.path)?;
            if found.as_ref().map(|found| &found.bytes) != edit.before.as_ref() {
                return Err(ApplyError::Changed { path: edit.path.clone() });
            }
            let folders = self.tree.missing_folders(at).map_err(ApplyError::io(&edit.path))?;
            let number = entries.len();
            let before = found.map(|found| StoredVersion::from_snapshot(number, "before", &found));
            let after =
                edit.after.as_ref().map(|it| StoredVersion::like(number, it, before.as_ref()));
            images.extend(before.iter().map(|image| image.name.clone()).zip(edit.before.clone()));
            images.extend(after.iter().map(|image| image.name.clone()).zip(edit.after.clone()));
            entries.push(FileEntry { number, path: edit.path.clone(), before, after, folders });
        }
        let journal = Journal {
            checkout: self.tree.path().to_owned(),
            after: purpose.after.map(str::to_owned),
            asker: Some(purpose.asker),
            fixes: purpose.fixes.to_vec(),
            edited: purpose.edited.clone(),
            undoes: BTreeSet::new(),
            entries,
        };
        self.apply_journal(fixes, &journal, &images, steps)
    }

    /// Undoes all fixes of a run, or none. Rolls back an interrupted fix first. Returns the files
    /// that it restored, without those whose fixes the user has undone.
    pub(crate) fn undo(&self, fixes: &Path, steps: Steps<'_>) -> Result<Vec<String>, ApplyError> {
        self.recover(steps)?;
        remove_incomplete_journals(fixes, steps)?;
        let applied_fixes = applied_fixes(fixes)?;
        let (mut entries, images) = self.undo_entries(&applied_fixes)?;
        let wanted = entries.iter().flat_map(|entry| entry.before.iter().chain(&entry.after));
        let wanted: BTreeSet<&String> = wanted.map(|image| &image.name).collect();
        let kept: Vec<(String, Vec<u8>)> = images
            .iter()
            .filter(|(name, _)| wanted.contains(name))
            .map(|(name, bytes)| (name.clone(), bytes.clone()))
            .collect();
        let mut already_undone = BTreeSet::new();
        for entry in &mut entries {
            let bytes = |image: &Option<StoredVersion>| {
                let image = image.as_ref().and_then(|image| images.get(&image.name));
                image.map(Vec::as_slice)
            };
            let found = self.read(&entry.path)?;
            let (fixed, original) = (bytes(&entry.before), bytes(&entry.after));
            match found.as_ref().map(|found| found.bytes.as_slice()) {
                now if now == fixed => {}
                // The user has undone this fix by other means, such as git.
                now if FixedFile::new(original, fixed, now).is_undone() => {
                    already_undone.insert(entry.number);
                }
                _ => return Err(ApplyError::Edited { path: entry.path.clone() }),
            }
            // Keep permissions that the owner has changed since.
            for image in entry.before.iter_mut().chain(&mut entry.after) {
                *image = image.like_now(found.as_ref());
            }
        }
        entries.retain(|entry| !already_undone.contains(&entry.number));
        let files = entries.iter().map(|entry| entry.path.clone()).collect();
        let journal = Journal {
            checkout: self.tree.path().to_owned(),
            after: None,
            asker: None,
            fixes: Vec::new(),
            edited: BTreeSet::new(),
            undoes: applied_fixes.keys().copied().collect(),
            entries,
        };
        if !journal.undoes.is_empty() {
            self.apply_journal(fixes, &journal, &kept, steps)?;
        }
        Ok(files)
    }

    /// Whether crh wrote this journal on this machine.
    fn is_own(&self, folder: &FixFolder) -> bool {
        let key = self.stamp_key.as_ref();
        key.is_some_and(|key| folder.run().is_some_and(|run| key.has_stamped(run)))
    }

    /// The combined reverse of several fixes, with the bytes it needs, by file name.
    fn undo_entries(
        &self,
        applied_fixes: &BTreeMap<u32, (FixFolder, Journal)>,
    ) -> Result<UndoEntries, ApplyError> {
        let mut entries: BTreeMap<String, FileEntry> = BTreeMap::new();
        let mut images = BTreeMap::new();
        for (folder, journal) in applied_fixes.values() {
            if !is_of(self.tree.path(), journal, folder) {
                return Err(ApplyError::Elsewhere { checkout: journal.checkout.clone() });
            }
            for entry in &journal.entries {
                for image in entry.before.iter().chain(&entry.after) {
                    let name = format!("{}-{}", folder.number(), image.name);
                    images.insert(
                        name,
                        folder.image(image).map_err(|why| unread_error(folder, &why))?,
                    );
                }
                let entry = entry.renamed(|name| format!("{}-{name}", folder.number()));
                match entries.get_mut(&entry.path) {
                    // Keep the original of the first fix: the undo restores it.
                    Some(first) => {
                        let bytes = |image: &Option<StoredVersion>| {
                            let image = image.as_ref();
                            image.and_then(|image| images.get(&image.name)).map(Vec::as_slice)
                        };
                        let (original, fixed) = (bytes(&first.before), bytes(&first.after));
                        let start = bytes(&entry.before);
                        if start != fixed {
                            let file = FixedFile::new(original, fixed, start);
                            // The user undid the previous fixes with git, and may have edited the
                            // file.
                            if file.is_undone() {
                                first.before = entry.before;
                            } else if !file.is_partly_undone() {
                                return Err(ApplyError::Between { path: entry.path });
                            }
                        }
                        first.after = entry.after;
                        first.folders.extend(entry.folders);
                    }
                    None => drop(entries.insert(entry.path.clone(), entry)),
                }
            }
        }
        let reversed = entries.into_values().map(FileEntry::reversed);
        let reversed = reversed.enumerate().map(|(number, entry)| FileEntry { number, ..entry });
        Ok((reversed.collect(), images))
    }

    /// Writes the journal, then the files.
    fn apply_journal(
        &self,
        fixes: &Path,
        journal: &Journal,
        images: &[(String, Vec<u8>)],
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        // There is only one marker. If crh replaced it, the other journal would be lost.
        if self.is_between()? {
            let why = "says that a fix is under way".to_owned();
            return Err(ApplyError::Place { path: MARKER.to_owned(), why });
        }
        let written = FixFolder::write(fixes, journal, images, steps);
        let shown = fixes.display().to_string();
        let folder = written.map_err(ApplyError::io(&shown))?;
        let touched = Cell::new(0);
        let done = self.set_marker(&folder, steps).and_then(|()| {
            self.write_drafts(&folder, journal, steps)?;
            steps("noting that files take their places").map_err(ApplyError::io(&shown))?;
            folder.set_state(FixPhase::Placing).map_err(ApplyError::io(&shown))?;
            self.put_in_place(&folder, journal, &touched, steps)?;
            steps("noting that it is done").map_err(ApplyError::io(&shown))?;
            folder.set_state(FixPhase::Applied).map_err(ApplyError::io(&shown))
        });
        match done {
            Ok(()) => {
                // The fix is complete. The next process removes the marker.
                if let Err(why) = self.remove_marker(steps) {
                    ui::warn(&format!(
                        "the fixes are applied, but their marker could not be removed: {why}"
                    ));
                }
                Ok(())
            }
            Err(why) => {
                // If this fails too, the marker stays and the next process tries again.
                self.roll_back(&folder, journal, touched.get(), steps)?;
                self.remove_marker(steps)?;
                Err(why)
            }
        }
    }

    /// Writes everything that needs disk space before any file is replaced.
    fn write_drafts(
        &self,
        folder: &FixFolder,
        journal: &Journal,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        for (entry, image) in journal.entries.iter().filter_map(|it| Some((it, it.after.as_ref()?)))
        {
            let bytes = folder.image(image).map_err(|why| lost_error(folder, &why))?;
            entry.write_draft(&self.tree, image, &bytes, folder.draft(), steps)?;
        }
        Ok(())
    }

    /// Moves the drafts into place one by one. `touched` counts them.
    fn put_in_place(
        &self,
        folder: &FixFolder,
        journal: &Journal,
        touched: &Cell<usize>,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        for (at, entry) in journal.entries.iter().enumerate() {
            let sides = folder.sides(entry)?;
            let changed = || ApplyError::Changed { path: entry.path.clone() };
            // An editor may have saved the file since it was read.
            let found = self.read(&entry.path)?;
            let is_same = match (&found, &entry.before) {
                (Some(found), Some(image)) => {
                    sides.before.as_ref() == Some(&found.bytes) && image.is_kept_by(found)
                }
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !is_same {
                return Err(changed());
            }
            touched.set(at + 1);
            let wanted = sides.after.as_deref();
            match entry.put(&self.tree, (found.as_ref(), wanted), folder.draft(), steps)? {
                SwapResult::AsWanted => {}
                SwapResult::Theirs => {
                    // Nothing of the fix is in place.
                    touched.set(at);
                    return Err(changed());
                }
            }
        }
        Ok(())
    }
}

/// Removes incomplete journals. crh changed no file for them.
fn remove_incomplete_journals(fixes: &Path, steps: Steps<'_>) -> Result<(), ApplyError> {
    let shown = fixes.display().to_string();
    for folder in FixFolder::all(fixes).map_err(ApplyError::io(&shown))? {
        if !folder.is_written() {
            steps("removing half a journal").map_err(ApplyError::io(&shown))?;
            folder.remove().map_err(ApplyError::io(&shown))?;
        }
    }
    Ok(())
}

/// Whether an interrupted fix needs these journals for its rollback.
pub(crate) fn is_needed(fixes: &Path) -> bool {
    let folders = FixFolder::all(fixes).unwrap_or_default();
    folders.into_iter().any(|folder| {
        let Ok(path) = canonical(folder.path()) else { return false };
        // Look in the recorded checkout, and in every folder above the journal, because the
        // checkout may have been moved.
        let made_in = folder.journal().ok().map(|journal| journal.checkout);
        let checkouts = made_in.into_iter().chain(path.ancestors().map(Path::to_owned));
        let mut journals = checkouts.filter_map(|checkout| canonical(marker::of(&checkout)?).ok());
        journals.any(|journal| journal == path)
    })
}

/// Whether a run has any journal.
pub(crate) fn has_journal(fixes: &Path) -> bool {
    FixFolder::all(fixes).is_ok_and(|folders| !folders.is_empty())
}

/// Whether a fix of a run was applied, even if it is undone now. An unreadable journal counts.
pub(crate) fn has_applied(fixes: &Path) -> bool {
    let folders = FixFolder::all(fixes).unwrap_or_default();
    folders.iter().any(|folder| matches!(folder.state(), Ok(Some(FixPhase::Applied)) | Err(_)))
}

/// The fixes of a run that are in the tree, by number.
pub(super) fn applied_fixes(
    fixes: &Path,
) -> Result<BTreeMap<u32, (FixFolder, Journal)>, ApplyError> {
    let shown = fixes.display().to_string();
    let mut applied_fixes = BTreeMap::new();
    let mut undone = BTreeSet::new();
    for folder in FixFolder::all(fixes).map_err(ApplyError::io(&shown))? {
        let state = folder.state().map_err(|why| unread_error(&folder, &why))?;
        match state {
            Some(FixPhase::Applied) => {
                let journal = folder.journal().map_err(|why| unread_error(&folder, &why))?;
                undone.extend(journal.undoes.iter().copied());
                if journal.undoes.is_empty() {
                    applied_fixes.insert(folder.number(), (folder, journal));
                }
            }
            // After a rollback, such a fix is not in the tree.
            Some(FixPhase::Placing | FixPhase::RolledBack) | None => {}
        }
    }
    applied_fixes.retain(|number, _| !undone.contains(number));
    Ok(applied_fixes)
}

/// The bytes of a file before the first fix of a run and after the last one.
pub(super) type FixedBytes = [Option<Vec<u8>>; 2];

/// The fixed files of a run by path. Empty if the fixes were made in another checkout than the one
/// at this root.
pub(super) fn fixed_bytes(
    fixes: &Path,
    root: &Path,
) -> Result<BTreeMap<String, FixedBytes>, ApplyError> {
    let mut files: BTreeMap<String, FixedBytes> = BTreeMap::new();
    for (folder, journal) in applied_fixes(fixes)?.into_values() {
        if !is_of(root, &journal, &folder) {
            return Ok(BTreeMap::new());
        }
        for entry in journal.entries {
            let bytes = |image: &Option<StoredVersion>| {
                let image = image.as_ref().map(|image| folder.image(image)).transpose();
                image.map_err(|why| unread_error(&folder, &why))
            };
            let (before, after) = (bytes(&entry.before)?, bytes(&entry.after)?);
            files.entry(entry.path).or_insert([before, None])[1] = after;
        }
    }
    Ok(files)
}

/// The bytes of a file in the checkout at this root, or `None` if it does not exist. Reads without
/// the lock.
pub(super) fn checkout_bytes(root: &Path, path: &str) -> Result<Option<Vec<u8>>, ApplyError> {
    let tree = CheckoutTree::open(root).map_err(ApplyError::io(path))?;
    Ok(read_in(&tree, path)?.map(|found| found.bytes))
}

/// The file at a path. A symlink or a folder is a [`ApplyError::Place`], an error of the system is
/// [`ApplyError::Io`].
fn read_in(tree: &CheckoutTree, path: &str) -> Result<Option<FileSnapshot>, ApplyError> {
    tree.read(inside(path)?).map_err(|error| match error.kind() {
        io::ErrorKind::Other => place_error(path, &error),
        _ => ApplyError::io(path)(error),
    })
}

/// Whether a fix was made in the checkout at this root. Compares the paths. If the path in the
/// journal does not exist any more, checks whether the journal is inside this checkout.
fn is_of(root: &Path, journal: &Journal, folder: &FixFolder) -> bool {
    journal.checkout == root || !journal.checkout.exists() && folder.path().starts_with(root)
}

fn inside(path: &str) -> Result<InsidePath<'_>, ApplyError> {
    InsidePath::new(path)
        .map_err(|why| ApplyError::Place { path: path.to_owned(), why: why.to_owned() })
}

fn place_error(path: &str, error: &io::Error) -> ApplyError {
    ApplyError::Place { path: path.to_owned(), why: format!("cannot be changed: {error}") }
}

fn unread_error(folder: &FixFolder, why: &dyn std::fmt::Display) -> ApplyError {
    ApplyError::Unread { folder: folder.path().to_owned(), why: why.to_string() }
}

fn lost_error(folder: &FixFolder, why: &dyn std::fmt::Display) -> ApplyError {
    ApplyError::Lost { folder: folder.path().to_owned(), why: why.to_string() }
}
