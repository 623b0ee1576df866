//! Rolls back an interrupted or failed fix. Afterwards, every file is as before, or as another
//! program has left it.

use super::entry::{DraftState, FileEntry, FileSides};
use super::file_swap::SwapResult;
use super::folder::{FixFolder, FixPhase};
use super::{
    ApplyError, Journal, LockedCheckout, MARKER, RolledBackFix, Steps, is_of, lost_error, marker,
};
use crate::ui;

impl LockedCheckout {
    /// Rolls back an interrupted fix. `None` if there is none, or if it had changed nothing.
    pub(crate) fn recover(&self, steps: Steps<'_>) -> Result<Option<RolledBackFix>, ApplyError> {
        let Some(marker) = self.bytes(MARKER)? else {
            self.remove_marker(steps)?;
            return Ok(None);
        };
        let folder = FixFolder::open(marker::named(self.tree.path(), &marker));
        if !self.is_own(&folder) {
            let why = format!("names `{folder}`, which crh did not write on this machine");
            return Err(ApplyError::Place { path: MARKER.to_owned(), why });
        }
        let journal = folder.journal().map_err(|why| lost_error(&folder, &why))?;
        if !is_of(self.tree.path(), &journal, &folder) {
            return Err(lost_error(&folder, &"it belongs to another checkout"));
        }
        let state = folder.state().map_err(|why| lost_error(&folder, &why))?;
        let recovered = match state {
            Some(FixPhase::Applied) => None,
            Some(FixPhase::RolledBack) => {
                self.remove_leftovers(&folder, &journal, steps)?;
                None
            }
            // A process that ended before it stored a state had changed nothing.
            None => {
                let touched = 0;
                self.roll_back(&folder, &journal, touched, steps)?;
                None
            }
            Some(FixPhase::Placing) => {
                let touched = self.touched(&folder, &journal)?;
                self.roll_back(&folder, &journal, touched, steps)?;
                let files = journal.entries.iter().map(|entry| entry.path.clone()).collect();
                Some(RolledBackFix { files, is_taking_back: !journal.undoes.is_empty() })
            }
        };
        self.remove_marker(steps)?;
        Ok(recovered)
    }

    /// Number of entries that the interrupted process may have moved into place. A fix writes all
    /// drafts, then moves them in order. So the entries from the first remaining draft on are
    /// untouched.
    fn touched(&self, folder: &FixFolder, journal: &Journal) -> Result<usize, ApplyError> {
        for (at, entry) in journal.entries.iter().enumerate() {
            let lying = entry.lying(&self.tree, folder.draft(), &folder.sides(entry)?)?;
            match lying {
                DraftState::Ready => return Ok(at),
                DraftState::Nothing | DraftState::Old | DraftState::Theirs => {}
            }
        }
        Ok(journal.entries.len())
    }

    /// Restores the first `touched` files. Changes nothing if one of them is neither as before nor
    /// as after, except for a deleted file that was created again. Other files are not touched.
    pub(super) fn roll_back(
        &self,
        folder: &FixFolder,
        journal: &Journal,
        touched: usize,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        let mut changed = Vec::new();
        for entry in journal.entries.iter().take(touched) {
            let sides = folder.sides(entry)?;
            // The fix swapped out a file of another program; move it back.
            if self.put_back_theirs(entry, folder.draft(), &sides, steps)? {
                continue;
            }
            let back = (entry.clone().reversed(), sides.reversed());
            self.put_back_theirs(&back.0, &folder.draft_back(), &back.1, steps)?;
            let now = self.read(&entry.path)?;
            let bytes = now.as_ref().map(|now| &now.bytes);
            if bytes == back.1.after.as_ref() {
                continue;
            }
            if bytes != back.1.before.as_ref() {
                keep_or_fail(folder, entry)?;
                continue;
            }
            changed.push((back, now));
        }
        // Keep the drafts of the fix: after another crash they show which files were never touched.
        let draft = folder.draft_back();
        for ((entry, sides), now) in changed {
            if let (Some(image), Some(bytes)) = (&entry.after, &sides.after) {
                // Keep permissions that the owner has changed since.
                let image = image.like_now(now.as_ref());
                entry.remove_draft(&self.tree, &draft, &sides, steps)?;
                entry.write_draft(&self.tree, &image, bytes, &draft, steps)?;
            }
            let wanted = sides.after.as_deref();
            match entry.put(&self.tree, (now.as_ref(), wanted), &draft, steps)? {
                SwapResult::AsWanted => {}
                SwapResult::Theirs => keep_or_fail(folder, &entry.reversed())?,
            }
        }
        let shown = folder.path().display().to_string();
        steps("noting that it was rolled back").map_err(ApplyError::io(&shown))?;
        folder.set_state(FixPhase::RolledBack).map_err(ApplyError::io(&shown))?;
        self.remove_leftovers(folder, journal, steps)
    }

    /// Moves a file of another program back from the draft's name. Returns whether it did.
    fn put_back_theirs(
        &self,
        entry: &FileEntry,
        draft: &str,
        sides: &FileSides,
        steps: Steps<'_>,
    ) -> Result<bool, ApplyError> {
        match entry.lying(&self.tree, draft, sides)? {
            DraftState::Theirs => {
                entry.put_back(&self.tree, sides.after.as_deref(), draft, steps)?;
                Ok(true)
            }
            DraftState::Nothing | DraftState::Ready | DraftState::Old => Ok(false),
        }
    }

    /// Removes the leftovers of a fix that was rolled back.
    fn remove_leftovers(
        &self,
        folder: &FixFolder,
        journal: &Journal,
        steps: Steps<'_>,
    ) -> Result<(), ApplyError> {
        for entry in &journal.entries {
            let sides = folder.sides(entry)?;
            for draft in [folder.draft(), &folder.draft_back()] {
                entry.remove_draft(&self.tree, draft, &sides, steps)?;
            }
        }
        for entry in journal.entries.iter().filter(|entry| entry.before.is_none()) {
            entry.remove_folders(&self.tree, steps)?;
        }
        Ok(())
    }
}

/// Handles a file that the user changed after the fix had written it. If the fix had deleted the
/// file, keeps the new file, and the rollback goes on. Otherwise fails.
fn keep_or_fail(folder: &FixFolder, entry: &FileEntry) -> Result<(), ApplyError> {
    let kept = entry.before.as_ref().map(|image| folder.path().join(&image.name));
    let kept = kept.unwrap_or_else(|| folder.path().to_owned());
    if entry.after.is_some() {
        return Err(ApplyError::Stuck { path: entry.path.clone(), kept });
    }
    ui::warn(&format!(
        "kept your new `{}`; its content before the fix is in `{}`",
        entry.path,
        kept.display()
    ));
    Ok(())
}
