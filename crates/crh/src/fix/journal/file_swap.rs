//! Replaces or deletes one file without losing a concurrent save of another program.
//!
//! The new content is in a second file, the draft. Where the file system can exchange two files
//! atomically, the old file gets the draft's name.
//!
//! Invariant on such a file system: crh deletes the old file only if it still equals the version
//! that crh read before.

use std::io;

use super::super::tree::{CheckoutTree, FileSnapshot, InsidePath};
use super::Steps;
use crate::ui;

/// A file, and the draft that replaces it.
pub(super) struct FileSwap<'p> {
    pub(super) tree: &'p CheckoutTree,
    pub(super) at: InsidePath<'p>,
    /// The new content. After an exchange, the old file has this name.
    pub(super) draft: InsidePath<'p>,
    /// Hook before each step, where tests stop or disturb crh.
    pub(super) steps: Steps<'p>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwapResult {
    AsWanted,
    /// Another program has changed the file since it was read; its version stays.
    Theirs,
}

impl FileSwap<'_> {
    /// Replaces the file by the draft, or deletes it. `seen` is the file as crh read it; `wanted`
    /// is the content of the draft, `None` to delete the file.
    pub(super) fn put(
        &self,
        seen: Option<&FileSnapshot>,
        wanted: Option<&[u8]>,
    ) -> io::Result<SwapResult> {
        match (seen, wanted) {
            (None, None) => Ok(SwapResult::AsWanted),
            (None, Some(_)) => self.fill(),
            (Some(seen), Some(ours)) => self.swap(seen, ours),
            (Some(seen), None) => self.clear(seen),
        }
    }

    fn fill(&self) -> io::Result<SwapResult> {
        let done = (self.steps)("putting the draft where nothing stands");
        match done.and_then(|()| self.tree.rename_to_new(self.draft, self.at)) {
            Ok(()) => Ok(SwapResult::AsWanted),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(SwapResult::Theirs),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => self.put_in_two_steps(None),
            Err(why) => Err(why),
        }
    }

    fn swap(&self, seen: &FileSnapshot, ours: &[u8]) -> io::Result<SwapResult> {
        let done = (self.steps)("putting the draft in place");
        match done.and_then(|()| self.tree.exchange(self.draft, self.at)) {
            Ok(()) => self.settle(seen, Some(ours)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(SwapResult::Theirs),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => {
                self.put_in_two_steps(Some(seen))
            }
            Err(why) => Err(why),
        }
    }

    fn clear(&self, seen: &FileSnapshot) -> io::Result<SwapResult> {
        let done = (self.steps)("moving the file away");
        match done.and_then(|()| self.tree.rename_to_new(self.at, self.draft)) {
            Ok(()) => self.settle(seen, None),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(SwapResult::Theirs),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => {
                if !self.is_unchanged(self.at, seen) {
                    return Ok(SwapResult::Theirs);
                }
                (self.steps)("removing the file")?;
                self.tree.remove(self.at)?;
                Ok(SwapResult::AsWanted)
            }
            Err(why) => Err(why),
        }
    }

    /// Fallback for file systems without atomic swaps. A save between the two steps is lost.
    fn put_in_two_steps(&self, seen: Option<&FileSnapshot>) -> io::Result<SwapResult> {
        if self.tree.read(self.at)?.as_ref() != seen {
            return Ok(SwapResult::Theirs);
        }
        (self.steps)("putting the draft over what stands there")?;
        self.tree.rename(self.draft, self.at)?;
        Ok(SwapResult::AsWanted)
    }

    /// Deletes the old file if it is still the version that crh read. Otherwise another program
    /// saved it meanwhile, and crh puts it back.
    fn settle(&self, seen: &FileSnapshot, ours: Option<&[u8]>) -> io::Result<SwapResult> {
        (self.steps)("looking at what stood there")?;
        if self.is_unchanged(self.draft, seen) {
            (self.steps)("removing what stood there")?;
            self.tree.remove(self.draft)?;
            return Ok(SwapResult::AsWanted);
        }
        self.put_back(ours)?;
        Ok(SwapResult::Theirs)
    }

    /// Puts the version of another program back in place. If the program saved again meanwhile, the
    /// newer version stays in place, and the older version keeps the draft's name.
    pub(super) fn put_back(&self, ours: Option<&[u8]>) -> io::Result<()> {
        let is_back = match ours {
            Some(ours) => self.swap_back(ours)?,
            None => {
                (self.steps)("putting back what stood there")?;
                match self.tree.rename_to_new(self.draft, self.at) {
                    Err(why) if why.kind() == io::ErrorKind::AlreadyExists => false,
                    done => done.map(|()| true)?,
                }
            }
        };
        if !is_back {
            ui::warn(&format!(
                "`{}` was saved twice during the fix; one version is in `{}`",
                self.at, self.draft
            ));
        }
        Ok(())
    }

    fn swap_back(&self, ours: &[u8]) -> io::Result<bool> {
        let is_ours = |at: InsidePath<'_>| match self.tree.read(at) {
            Ok(found) => found.is_some_and(|found| found.bytes == ours),
            Err(_) => false,
        };
        if !is_ours(self.at) {
            return Ok(false);
        }
        (self.steps)("putting back what stood there")?;
        self.tree.exchange(self.draft, self.at)?;
        (self.steps)("looking at what the old file replaced")?;
        if is_ours(self.draft) {
            return Ok(true);
        }
        // Another program saved the file again at this moment. Keep its newest version.
        (self.steps)("putting back what is newer")?;
        self.tree.exchange(self.draft, self.at)?;
        Ok(false)
    }

    fn is_unchanged(&self, at: InsidePath<'_>, seen: &FileSnapshot) -> bool {
        self.tree.read(at).is_ok_and(|found| found.as_ref() == Some(seen))
    }
}
