//! One file of a fix: what it is before and after, and the steps from the one to the other.

use std::fs::File;
use std::io;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;

use serde::Deserialize;
use serde::Serialize;

use super::super::tree::Found;
use super::super::tree::Inside;
use super::super::tree::Tree;
use super::NotApplied;
use super::Steps;
use super::inside;

/// The bits of a mode by which a program runs as the owner or the group of its file.
const SET_ID: u32 = 0o6000;

/// One file of a fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Tells its draft from those of the others.
    pub(super) number: usize,
    /// From the root of the checkout.
    pub(super) path: String,
    /// None if there is no file.
    pub(super) before: Option<Image>,
    /// None if the file goes.
    pub(super) after: Option<Image>,
    /// Folders that are there only for this file, outermost first.
    pub(super) folders: Vec<String>,
}

/// A file as it was or will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Image {
    /// The file of its bytes in the folder of the journal.
    pub(super) name: String,
    /// Its permissions, and whose it is; none for a new file, which gets the usual ones.
    kept: Option<Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    mode: u32,
    owner: (u32, u32),
}

impl Image {
    /// What stands there.
    pub(super) fn of(number: usize, word: &str, found: &Found) -> Self {
        let kept = Kept { mode: found.mode, owner: found.owner };
        Self { name: format!("{number}.{word}"), kept: Some(kept) }
    }

    /// What will stand there: with the permissions of what it replaces.
    pub(super) fn like(number: usize, before: Option<&Self>) -> Self {
        Self { name: format!("{number}.after"), kept: before.and_then(|image| image.kept.clone()) }
    }
}

impl Entry {
    /// What it is called while it is written, by how the drafts of its fix are called.
    fn draft(&self, at: Inside<'_>, draft: &str) -> String {
        at.beside(&format!("{draft}-{}", self.number))
    }

    /// The way back.
    pub(super) fn reversed(self) -> Self {
        Self { before: self.after, after: self.before, ..self }
    }

    /// The same with other names for the files of its bytes.
    pub(super) fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let image = |image: &Image| Image { name: name(&image.name), ..image.clone() };
        let (before, after) = (self.before.as_ref().map(image), self.after.as_ref().map(image));
        Self { before, after, ..self.clone() }
    }

    /// Writes what is to stand there beside it, to the disk.
    pub(super) fn write_draft(
        &self,
        tree: &Tree,
        image: &Image,
        bytes: &[u8],
        draft: &str,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        let at = inside(&self.path)?;
        let name = self.draft(at, draft);
        let written = || -> io::Result<()> {
            for folder in &self.folders {
                steps("making a folder")?;
                tree.make_folder(Inside::new(folder).map_err(io::Error::other)?)?;
            }
            let draft = Inside::new(&name).map_err(io::Error::other)?;
            tree.remove(draft)?;
            steps("making the draft")?;
            let mut file = match &image.kept {
                Some(_) => tree.create_private(draft)?,
                None => tree.create(draft)?,
            };
            steps("writing the draft")?;
            file.write_all(bytes)?;
            if let Some(Kept { mode, owner: (user, group) }) = &image.kept {
                steps("setting the owner")?;
                if !is_owned_by(&file, *user, *group)? {
                    // Whoever may write to a file need not be allowed to give one away.
                    std::os::unix::fs::fchown(&file, Some(*user), Some(*group)).unwrap_or_default();
                }
                steps("setting the mode")?;
                // What runs as its owner must not come to run as somebody else.
                let mode = if is_owned_by(&file, *user, *group)? { *mode } else { mode & !SET_ID };
                file.set_permissions(std::fs::Permissions::from_mode(mode))?;
            }
            steps("syncing the draft")?;
            file.sync_all()
        };
        written().map_err(NotApplied::io(&self.path))
    }

    /// Puts the draft in the place of the file; or removes the file, where there is to be none.
    pub(super) fn put_in_place(
        &self,
        tree: &Tree,
        wanted: Option<&Image>,
        draft: &str,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        let at = inside(&self.path)?;
        let name = self.draft(at, draft);
        let done = || -> io::Result<()> {
            match wanted {
                Some(_) => {
                    steps("putting the draft in place")?;
                    tree.rename(Inside::new(&name).map_err(io::Error::other)?, at)
                }
                None => {
                    steps("removing the file")?;
                    tree.remove(at)
                }
            }
        };
        done().map_err(NotApplied::io(&self.path))?;
        match wanted {
            Some(_) => Ok(()),
            None => self.remove_folders(tree, steps),
        }
    }

    /// Removes the folders that are there only for this file, if nothing else is in them.
    pub(super) fn remove_folders(&self, tree: &Tree, steps: Steps<'_>) -> Result<(), NotApplied> {
        for folder in self.folders.iter().rev() {
            steps("removing a folder").map_err(NotApplied::io(folder))?;
            tree.remove_empty_folder(inside(folder)?).map_err(NotApplied::io(folder))?;
        }
        Ok(())
    }

    /// Whether what was written beside the file still lies there.
    pub(super) fn has_draft(&self, tree: &Tree, draft: &str) -> Result<bool, NotApplied> {
        let name = self.draft(inside(&self.path)?, draft);
        let found = tree.found(inside(&name)?).map_err(NotApplied::io(&name))?;
        Ok(found.is_some())
    }

    /// Removes what was written beside the file and did not take its place.
    pub(super) fn remove_draft(
        &self,
        tree: &Tree,
        draft: &str,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        let name = self.draft(inside(&self.path)?, draft);
        steps("removing a draft").map_err(NotApplied::io(&name))?;
        match tree.remove(inside(&name)?) {
            // It was in the way of the draft, and is somebody's own.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
            removed => removed.map_err(NotApplied::io(&name)),
        }
    }
}

fn is_owned_by(file: &File, user: u32, group: u32) -> io::Result<bool> {
    let facts = file.metadata()?;
    Ok(facts.uid() == user && facts.gid() == group)
}
