//! Fixes on their way into a checkout. What is written, and what stood there before, is on disk before the first byte of the tree
//! changes; whatever ends the program, the next one brings the tree to where it was.
//!
//! Invariants: the tree is as before or as after, never between, once `recover` has looked at it; every file is whole at every
//! moment; only one process at a time changes a tree.

mod entry;
mod folder;
mod marker;
mod place;
#[cfg(test)]
mod tests;
mod way_back;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::entry::{Entry, Image};
use self::folder::Folder;
pub(super) use self::folder::State;
pub(super) use self::marker::DRAFT as MARKER_DRAFT;
pub(crate) use self::marker::MARKER;
use self::place::Placed;
use super::tree::{Found, Inside, Tree};
use crate::ui;
use crh_pipeline::fixer::FileEdit;
use crh_review::report::AppliedFix;

/// How often, and how far apart, it is looked whether a checkout is free. A child that is just being started holds for a moment what
/// its parent had locked; whoever fixes something takes longer than this half second.
const LOOKS: u32 = 25;
const LOOK: Duration = Duration::from_millis(20);

/// What says in a checkout that somebody is changing it.
pub(crate) const MARKERS: [&str; 2] = [MARKER, MARKER_DRAFT];

/// What happens next, for tests that end the program there.
pub(crate) type Steps<'s> = &'s dyn Fn(&str) -> io::Result<()>;

/// Nobody ends anything.
pub(crate) const UNDISTURBED: Steps<'static> = &|_| Ok(());

/// A checkout that is ours to change, as long as this lives.
#[derive(Debug)]
pub(crate) struct Locked {
    tree: Tree,
}

/// Fixes that stand in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The root of the checkout.
    checkout: PathBuf,
    /// The commit of the private store that the tree is like afterwards.
    pub(super) after: Option<String>,
    /// Who asked for it; none if it takes others back.
    pub(super) asker: Option<Asker>,
    /// What it does, for the report: that is written later, and may never be.
    pub(super) fixes: Vec<AppliedFix>,
    /// The files that were not as they were reviewed: what somebody has changed in them is in `after`, too.
    pub(super) edited: BTreeSet<String>,
    /// The fixes of this run that it takes back, by their numbers.
    undoes: BTreeSet<u32>,
    entries: Vec<Entry>,
}

/// Who asks for fixes: what questions have made is taken back with them, and nothing else is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Asker {
    /// Whoever answers the questions about a review.
    Questions,
    /// A mode that asks nobody.
    Mode,
    /// `crh fix`.
    Command,
}

/// What edits are for, and what is kept of that beside them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose<'p> {
    pub(crate) asker: Asker,
    /// The commit of the private store that the tree is like afterwards.
    pub(crate) after: Option<&'p str>,
    pub(crate) fixes: &'p [AppliedFix],
    /// The files that were not as they were reviewed.
    pub(crate) edited: &'p BTreeSet<String>,
}

/// The files of fixes with their sides exchanged, and the bytes of these sides.
type WayBack = (Vec<Entry>, BTreeMap<String, Vec<u8>>);

/// What was found half done, and rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The files that are as they were before.
    pub(crate) files: Vec<String>,
    /// Whether fixes were being taken back, so that they stand again.
    pub(crate) is_taking_back: bool,
}

/// Why the tree was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotApplied {
    #[error("another crh is changing this checkout")]
    Busy,
    #[error("`{path}` {why}")]
    Place { path: String, why: String },
    #[error("`{path}` is not as it was when it was reviewed")]
    Changed { path: String },
    #[error("`{path}` is not as the fix has left it")]
    Edited { path: String },
    #[error("`{path}` was changed between two fixes, and would lose that with them")]
    Between { path: String },
    #[error("the run is about the checkout `{checkout}`", checkout = checkout.display())]
    Elsewhere { checkout: PathBuf },
    #[error("`{path}` cannot be changed: {why}")]
    Io { path: String, why: io::Error },
    #[error(
        "a fix of this checkout was interrupted, and `{path}` was changed since: what it had before is in `{kept}`",
        kept = kept.display()
    )]
    Stuck { path: String, kept: PathBuf },
    #[error(
        "a fix of this checkout was interrupted, and what it has written down in `{folder}` cannot be read: {why}",
        folder = folder.display()
    )]
    Lost { folder: PathBuf, why: String },
    #[error(
        "what a fix of this run has written down in `{folder}` cannot be read: {why}",
        folder = folder.display()
    )]
    Unread { folder: PathBuf, why: String },
}

impl NotApplied {
    fn io(path: &str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |why| Self::Io { path, why }
    }
}

impl Journal {
    /// The files that it changes.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.path.as_str())
    }
}

#[cfg(test)]
impl Journal {
    /// One that says only what was done, and for whom.
    pub(super) fn of(asker: Asker, fixes: Vec<AppliedFix>) -> Self {
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

impl Locked {
    /// Takes the checkout at a root, unless another process has it.
    pub(crate) fn take(root: &Path) -> Result<Self, NotApplied> {
        let shown = root.display().to_string();
        let tree = Tree::open(root).map_err(NotApplied::io(&shown))?;
        for look in 0..=LOOKS {
            if look > 0 {
                std::thread::sleep(LOOK);
            }
            // The lock is on the folder itself: no file is needed for it, and it dies with its process.
            match tree.root().try_lock() {
                Ok(()) => return Ok(Self { tree }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(why)) => {
                    return Err(NotApplied::Io { path: shown, why });
                }
            }
        }
        Err(NotApplied::Busy)
    }

    /// The bytes of a file as it lies there; none if there is none.
    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, NotApplied> {
        Ok(self.found(path)?.map(|found| found.bytes))
    }

    fn found(&self, path: &str) -> Result<Option<Found>, NotApplied> {
        self.tree.found(inside(path)?).map_err(|error| place(path, &error))
    }

    /// Whether somebody was interrupted when it was about to change it.
    pub(crate) fn has_draft_of_marker(&self) -> Result<bool, NotApplied> {
        Ok(self.bytes(MARKER_DRAFT)?.is_some())
    }

    /// Whether somebody was interrupted in the middle of changing it.
    pub(crate) fn is_between(&self) -> Result<bool, NotApplied> {
        Ok(self.bytes(MARKER)?.is_some())
    }

    /// Applies edits, all of them or none, after rolling back what somebody was interrupted in. `fixes` is where journals lie.
    pub(crate) fn apply(
        &self,
        fixes: &Path,
        edits: &[FileEdit],
        purpose: Purpose<'_>,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        self.recover(steps)?;
        swept(fixes, steps)?;
        let mut entries = Vec::new();
        let mut images = Vec::new();
        for edit in edits {
            let at = inside(&edit.path)?;
            let found = self.found(&edit.path)?;
            if found.as_ref().map(|found| &found.bytes) != edit.before.as_ref() {
                return Err(NotApplied::Changed { path: edit.path.clone() });
            }
            let folders = self.tree.missing_folders(at).map_err(NotApplied::io(&edit.path))?;
            let number = entries.len();
            let before = found.map(|found| Image::of(number, "before", &found));
            let after = edit.after.as_ref().map(|it| Image::like(number, it, before.as_ref()));
            images.extend(before.iter().map(|image| image.name.clone()).zip(edit.before.clone()));
            images.extend(after.iter().map(|image| image.name.clone()).zip(edit.after.clone()));
            entries.push(Entry { number, path: edit.path.clone(), before, after, folders });
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
        self.carry_out(fixes, &journal, &images, steps)
    }

    /// Takes back all that the fixes of one run have done, all of it or nothing, after rolling back what somebody was interrupted
    /// in. The files that it was in.
    pub(crate) fn undo(&self, fixes: &Path, steps: Steps<'_>) -> Result<Vec<String>, NotApplied> {
        self.recover(steps)?;
        swept(fixes, steps)?;
        let standing = standing(fixes)?;
        let (mut entries, images) = self.way_back(&standing)?;
        let wanted = entries.iter().flat_map(|entry| entry.before.iter().chain(&entry.after));
        let wanted: BTreeSet<&String> = wanted.map(|image| &image.name).collect();
        let kept: Vec<(String, Vec<u8>)> = images
            .iter()
            .filter(|(name, _)| wanted.contains(name))
            .map(|(name, bytes)| (name.clone(), bytes.clone()))
            .collect();
        let files = entries.iter().map(|entry| entry.path.clone()).collect();
        let mut done = BTreeSet::new();
        for entry in &mut entries {
            let bytes =
                |image: &Option<Image>| image.as_ref().and_then(|image| images.get(&image.name));
            let found = self.found(&entry.path)?;
            match found.as_ref().map(|found| &found.bytes) {
                now if now == bytes(&entry.before) => {}
                // Somebody has taken it back by other means.
                now if now == bytes(&entry.after) => drop(done.insert(entry.number)),
                _ => return Err(NotApplied::Edited { path: entry.path.clone() }),
            }
            // Who may read it, or run it, is for its owner to say, also since.
            for image in entry.before.iter_mut().chain(&mut entry.after) {
                *image = image.like_now(found.as_ref());
            }
        }
        entries.retain(|entry| !done.contains(&entry.number));
        let journal = Journal {
            checkout: self.tree.path().to_owned(),
            after: None,
            asker: None,
            fixes: Vec::new(),
            edited: BTreeSet::new(),
            undoes: standing.keys().copied().collect(),
            entries,
        };
        if !journal.undoes.is_empty() {
            self.carry_out(fixes, &journal, &kept, steps)?;
        }
        Ok(files)
    }

    /// Whether a fix was made in this checkout: by its path, or, if there is nothing any more at the path that it had, by where the
    /// journal lies.
    fn is_of(&self, journal: &Journal, folder: &Folder) -> bool {
        let root = self.tree.path();
        journal.checkout == root || !journal.checkout.exists() && folder.path().starts_with(root)
    }

    /// The way back from fixes taken together, and the bytes that it needs, by their names.
    fn way_back(&self, standing: &BTreeMap<u32, (Folder, Journal)>) -> Result<WayBack, NotApplied> {
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        let mut images = BTreeMap::new();
        for (folder, journal) in standing.values() {
            if !self.is_of(journal, folder) {
                return Err(NotApplied::Elsewhere { checkout: journal.checkout.clone() });
            }
            for entry in &journal.entries {
                for image in entry.before.iter().chain(&entry.after) {
                    let name = format!("{}-{}", folder.number(), image.name);
                    images.insert(name, folder.image(image).map_err(|why| unread(folder, &why))?);
                }
                let entry = entry.renamed(|name| format!("{}-{name}", folder.number()));
                match entries.get_mut(&entry.path) {
                    // What stood there at first is what stands there in the end.
                    Some(first) => {
                        let bytes = |image: &Option<Image>| {
                            image.as_ref().and_then(|image| images.get(&image.name))
                        };
                        // It goes on from what was there, or from what was there at first: git may have taken that back between.
                        if ![bytes(&first.after), bytes(&first.before)]
                            .contains(&bytes(&entry.before))
                        {
                            return Err(NotApplied::Between { path: entry.path });
                        }
                        first.after = entry.after;
                        first.folders.extend(entry.folders);
                    }
                    None => drop(entries.insert(entry.path.clone(), entry)),
                }
            }
        }
        let reversed = entries.into_values().map(Entry::reversed);
        let reversed = reversed.enumerate().map(|(number, entry)| Entry { number, ..entry });
        Ok((reversed.collect(), images))
    }

    /// A file that is not as the fixes of a run have left it; none if all are.
    pub(crate) fn not_as_left(&self, fixes: &Path) -> Result<Option<String>, NotApplied> {
        let mut left = BTreeMap::new();
        for (folder, journal) in standing(fixes)?.into_values() {
            for entry in journal.entries {
                let bytes = entry.after.as_ref().map(|image| folder.image(image)).transpose();
                left.insert(entry.path, bytes.map_err(|why| unread(&folder, &why))?);
            }
        }
        for (path, bytes) in left {
            // A link, or a folder, is not as it was left either.
            if self.bytes(&path).ok() != Some(bytes) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Writes everything down, and then does it.
    fn carry_out(
        &self,
        fixes: &Path,
        journal: &Journal,
        images: &[(String, Vec<u8>)],
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        // There is one marker: to set it anew is to forget what the other one stood for.
        if self.is_between()? {
            let why = "says that a fix is under way".to_owned();
            return Err(NotApplied::Place { path: MARKER.to_owned(), why });
        }
        let written = Folder::write(fixes, journal, images, steps);
        let shown = fixes.display().to_string();
        let folder = written.map_err(NotApplied::io(&shown))?;
        let touched = Cell::new(0);
        let done = self.set_marker(&folder, steps).and_then(|()| {
            self.write_drafts(&folder, journal, steps)?;
            steps("noting that files take their places").map_err(NotApplied::io(&shown))?;
            folder.set_state(State::Placing).map_err(NotApplied::io(&shown))?;
            self.put_in_place(&folder, journal, &touched, steps)?;
            steps("noting that it is done").map_err(NotApplied::io(&shown))?;
            folder.set_state(State::Applied).map_err(NotApplied::io(&shown))
        });
        match done {
            Ok(()) => {
                // It is done and will stay done; the next one removes the marker.
                if let Err(why) = self.remove_marker(steps) {
                    ui::warn(&format!("the fixes stand, and their marker is left: {why}"));
                }
                Ok(())
            }
            Err(why) => {
                // If that fails too, the marker stays, and the next one tries again.
                self.roll_back(&folder, journal, touched.get(), steps)?;
                self.remove_marker(steps)?;
                Err(why)
            }
        }
    }

    /// Everything that needs room on the disk, before anything takes the place of anything.
    fn write_drafts(
        &self,
        folder: &Folder,
        journal: &Journal,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        for (entry, image) in journal.entries.iter().filter_map(|it| Some((it, it.after.as_ref()?)))
        {
            let bytes = folder.image(image).map_err(|why| lost(folder, &why))?;
            entry.write_draft(&self.tree, image, &bytes, folder.draft(), steps)?;
        }
        Ok(())
    }

    /// Puts every draft in its place, one after the other, and counts in `touched` whose turn it was.
    fn put_in_place(
        &self,
        folder: &Folder,
        journal: &Journal,
        touched: &Cell<usize>,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        for (at, entry) in journal.entries.iter().enumerate() {
            let sides = folder.sides(entry)?;
            let changed = || NotApplied::Changed { path: entry.path.clone() };
            // An editor may have saved it since it was looked at.
            let found = self.found(&entry.path)?;
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
                Placed::AsWanted => {}
                Placed::Theirs => {
                    // Nothing of ours stands there.
                    touched.set(at);
                    return Err(changed());
                }
            }
        }
        Ok(())
    }
}

/// Removes what a journal has left that was never written to its end: nothing was done for it.
fn swept(fixes: &Path, steps: Steps<'_>) -> Result<(), NotApplied> {
    let shown = fixes.display().to_string();
    for folder in Folder::all(fixes).map_err(NotApplied::io(&shown))? {
        if !folder.is_written() {
            steps("removing half a journal").map_err(NotApplied::io(&shown))?;
            folder.remove().map_err(NotApplied::io(&shown))?;
        }
    }
    Ok(())
}

/// Whether a checkout is in the middle of a fix that is written down here: without it, there is no way back.
pub(crate) fn is_needed(fixes: &Path) -> bool {
    let folders = Folder::all(fixes).unwrap_or_default();
    folders.into_iter().any(|folder| {
        let Ok(path) = folder.path().canonicalize() else { return false };
        // The checkout that it was made in, and, should that have been moved, whatever the journal lies in.
        let made_in = folder.journal().ok().map(|journal| journal.checkout);
        let around = made_in.into_iter().chain(path.ancestors().map(Path::to_owned));
        let named = around.filter_map(|checkout| marker::of(&checkout)?.canonicalize().ok());
        named.into_iter().any(|named| named == path)
    })
}

/// Whether anything is written down of the fixes of a run.
pub(crate) fn is_any(fixes: &Path) -> bool {
    Folder::all(fixes).is_ok_and(|folders| !folders.is_empty())
}

/// The fixes of a run that stand in the tree, by their numbers.
pub(super) fn standing(fixes: &Path) -> Result<BTreeMap<u32, (Folder, Journal)>, NotApplied> {
    let shown = fixes.display().to_string();
    let mut standing = BTreeMap::new();
    let mut undone = BTreeSet::new();
    for folder in Folder::all(fixes).map_err(NotApplied::io(&shown))? {
        let state = folder.state().map_err(|why| unread(&folder, &why))?;
        match state {
            Some(State::Applied) => {
                let journal = folder.journal().map_err(|why| unread(&folder, &why))?;
                undone.extend(journal.undoes.iter().copied());
                if journal.undoes.is_empty() {
                    standing.insert(folder.number(), (folder, journal));
                }
            }
            // What never began or was rolled back has left nothing.
            Some(State::Placing | State::RolledBack) | None => {}
        }
    }
    standing.retain(|number, _| !undone.contains(number));
    Ok(standing)
}

fn inside(path: &str) -> Result<Inside<'_>, NotApplied> {
    Inside::new(path)
        .map_err(|why| NotApplied::Place { path: path.to_owned(), why: why.to_owned() })
}

fn place(path: &str, error: &io::Error) -> NotApplied {
    NotApplied::Place { path: path.to_owned(), why: format!("cannot be changed: {error}") }
}

fn unread(folder: &Folder, why: &dyn std::fmt::Display) -> NotApplied {
    NotApplied::Unread { folder: folder.path().to_owned(), why: why.to_string() }
}

fn lost(folder: &Folder, why: &dyn std::fmt::Display) -> NotApplied {
    NotApplied::Lost { folder: folder.path().to_owned(), why: why.to_string() }
}
