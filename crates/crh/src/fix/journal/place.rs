//! One file takes the place of another, or goes, and what somebody saves between the look at it and that is not lost.
//!
//! Invariant: what stood there lies under the name of the draft until it was looked at, and goes only if it is what was seen before.

use std::io;

use super::super::tree::{Found, Inside, Tree};
use super::Steps;
use crate::ui;

/// A place in a tree, and where a file lies ready for it.
pub(super) struct Place<'p> {
    pub(super) tree: &'p Tree,
    pub(super) at: Inside<'p>,
    /// What stood there lies here afterwards.
    pub(super) draft: Inside<'p>,
    pub(super) steps: Steps<'p>,
}

/// What became of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    AsWanted,
    /// Somebody has put something else there since it was looked at, and that stays.
    Theirs,
}

impl Place<'_> {
    /// Brings it from what was seen there to what is wanted, which lies ready, or to nothing.
    pub(super) fn put(&self, seen: Option<&Found>, wanted: Option<&[u8]>) -> io::Result<Placed> {
        match (seen, wanted) {
            (None, None) => Ok(Placed::AsWanted),
            (None, Some(_)) => self.fill(),
            (Some(seen), Some(ours)) => self.swap(seen, ours),
            (Some(seen), None) => self.clear(seen),
        }
    }

    fn fill(&self) -> io::Result<Placed> {
        let done = (self.steps)("putting the draft where nothing stands");
        match done.and_then(|()| self.tree.rename_to_new(self.draft, self.at)) {
            Ok(()) => Ok(Placed::AsWanted),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::Theirs),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => self.put_in_two_steps(None),
            Err(why) => Err(why),
        }
    }

    fn swap(&self, seen: &Found, ours: &[u8]) -> io::Result<Placed> {
        let done = (self.steps)("putting the draft in place");
        match done.and_then(|()| self.tree.exchange(self.draft, self.at)) {
            Ok(()) => self.look(seen, Some(ours)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Placed::Theirs),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => {
                self.put_in_two_steps(Some(seen))
            }
            Err(why) => Err(why),
        }
    }

    fn clear(&self, seen: &Found) -> io::Result<Placed> {
        let done = (self.steps)("moving the file away");
        match done.and_then(|()| self.tree.rename_to_new(self.at, self.draft)) {
            Ok(()) => self.look(seen, None),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Placed::Theirs),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => {
                if !self.stands(self.at, seen) {
                    return Ok(Placed::Theirs);
                }
                (self.steps)("removing the file")?;
                self.tree.remove(self.at)?;
                Ok(Placed::AsWanted)
            }
            Err(why) => Err(why),
        }
    }

    /// Where the file system knows nothing better, what is saved between these two steps is lost.
    fn put_in_two_steps(&self, seen: Option<&Found>) -> io::Result<Placed> {
        if self.tree.found(self.at)?.as_ref() != seen {
            return Ok(Placed::Theirs);
        }
        (self.steps)("putting the draft over what stands there")?;
        self.tree.rename(self.draft, self.at)?;
        Ok(Placed::AsWanted)
    }

    fn look(&self, seen: &Found, ours: Option<&[u8]>) -> io::Result<Placed> {
        (self.steps)("looking at what stood there")?;
        if self.stands(self.draft, seen) {
            (self.steps)("removing what stood there")?;
            self.tree.remove(self.draft)?;
            return Ok(Placed::AsWanted);
        }
        self.put_back(ours)?;
        Ok(Placed::Theirs)
    }

    /// Puts back what stood there, which is somebody's, for what was put there. Where something else of theirs stands by now, both
    /// stay.
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
                "`{}` was saved more than once while it was fixed: one of these versions is in `{}`",
                self.at, self.draft
            ));
        }
        Ok(())
    }

    fn swap_back(&self, ours: &[u8]) -> io::Result<bool> {
        let is_ours = |at: Inside<'_>| match self.tree.found(at) {
            Ok(found) => found.is_some_and(|found| found.bytes == ours),
            Err(_) => false,
        };
        if !is_ours(self.at) {
            return Ok(false);
        }
        (self.steps)("putting back what stood there")?;
        self.tree.exchange(self.draft, self.at)?;
        (self.steps)("looking at what it was put back for")?;
        if is_ours(self.draft) {
            return Ok(true);
        }
        // It was saved in this moment too: the newest is what its owner expects to find.
        (self.steps)("putting back what is newer")?;
        self.tree.exchange(self.draft, self.at)?;
        Ok(false)
    }

    fn stands(&self, at: Inside<'_>, seen: &Found) -> bool {
        self.tree.found(at).is_ok_and(|found| found.as_ref() == Some(seen))
    }
}
