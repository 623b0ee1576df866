//! The way back from a fix that was interrupted or has failed: every file is what it was before, or what somebody has made of it.

use super::entry::{Entry, Lying, Sides};
use super::folder::{Folder, State};
use super::place::Placed;
use super::{Journal, Locked, MARKER, NotApplied, Recovered, Steps, lost, marker};
use crate::ui;

impl Locked {
    /// Rolls back what somebody was interrupted in. None if nobody was, or had changed nothing yet.
    pub(crate) fn recover(&self, steps: Steps<'_>) -> Result<Option<Recovered>, NotApplied> {
        let Some(marker) = self.bytes(MARKER)? else {
            self.remove_marker(steps)?;
            return Ok(None);
        };
        let folder = Folder::at(marker::named(self.tree.path(), &marker));
        let journal = folder.journal().map_err(|why| lost(&folder, &why))?;
        if !self.is_of(&journal, &folder) {
            return Err(lost(&folder, &"it is about another checkout"));
        }
        let state = folder.state().map_err(|why| lost(&folder, &why))?;
        let recovered = match state {
            Some(State::Applied) => None,
            Some(State::RolledBack) => {
                self.tidy(&folder, &journal, steps)?;
                None
            }
            // Whoever was ended before that had changed nothing, whatever was done to the files since.
            None => {
                let touched = 0;
                self.roll_back(&folder, &journal, touched, steps)?;
                None
            }
            Some(State::Placing) => {
                let touched = self.touched(&folder, &journal)?;
                self.roll_back(&folder, &journal, touched, steps)?;
                let files = journal.entries.iter().map(|entry| entry.path.clone()).collect();
                Some(Recovered { files, is_taking_back: !journal.undoes.is_empty() })
            }
        };
        self.remove_marker(steps)?;
        Ok(recovered)
    }

    /// How many entries may have been put in place by whoever was interrupted in that. It is done in their order, when all drafts are
    /// written, so that nothing was done to the first one whose draft still lies there, nor to those after it.
    fn touched(&self, folder: &Folder, journal: &Journal) -> Result<usize, NotApplied> {
        for (at, entry) in journal.entries.iter().enumerate() {
            let lying = entry.lying(&self.tree, folder.draft(), &folder.sides(entry)?)?;
            match lying {
                Lying::Ready => return Ok(at),
                Lying::Nothing | Lying::Old | Lying::Theirs => {}
            }
        }
        Ok(journal.entries.len())
    }

    /// Brings the files that were put in place, which are so many of the first, to what they were before. Nothing is done if one of
    /// them is neither as before nor as after, but for one that was removed and made anew; what somebody did to the others meanwhile is theirs.
    pub(super) fn roll_back(
        &self,
        folder: &Folder,
        journal: &Journal,
        touched: usize,
        steps: Steps<'_>,
    ) -> Result<(), NotApplied> {
        let mut changed = Vec::new();
        for entry in journal.entries.iter().take(touched) {
            let sides = folder.sides(entry)?;
            // What came out of its place and is theirs has not been looked at before, and goes back.
            if self.is_put_back(entry, folder.draft(), &sides, steps)? {
                continue;
            }
            let back = (entry.clone().reversed(), sides.reversed());
            self.is_put_back(&back.0, &folder.draft_back(), &back.1, steps)?;
            let now = self.found(&entry.path)?;
            let bytes = now.as_ref().map(|now| &now.bytes);
            if bytes == back.1.after.as_ref() {
                continue;
            }
            if bytes != back.1.before.as_ref() {
                stays(folder, entry)?;
                continue;
            }
            changed.push((back, now));
        }
        // The drafts of the way there stay: they tell whoever has to begin anew what was never touched.
        let draft = folder.draft_back();
        for ((entry, sides), now) in changed {
            if let (Some(image), Some(bytes)) = (&entry.after, &sides.after) {
                // Who may read it, or run it, is for its owner to say, also since.
                let image = image.like_now(now.as_ref());
                entry.remove_draft(&self.tree, &draft, &sides, steps)?;
                entry.write_draft(&self.tree, &image, bytes, &draft, steps)?;
            }
            let wanted = sides.after.as_deref();
            match entry.put(&self.tree, (now.as_ref(), wanted), &draft, steps)? {
                Placed::AsWanted => {}
                Placed::Theirs => stays(folder, &entry.reversed())?,
            }
        }
        let shown = folder.path().display().to_string();
        steps("noting that it was rolled back").map_err(NotApplied::io(&shown))?;
        folder.set_state(State::RolledBack).map_err(NotApplied::io(&shown))?;
        self.tidy(folder, journal, steps)
    }

    /// Whether somebody's own file lay where a draft was, and stands in its place again.
    fn is_put_back(
        &self,
        entry: &Entry,
        draft: &str,
        sides: &Sides,
        steps: Steps<'_>,
    ) -> Result<bool, NotApplied> {
        match entry.lying(&self.tree, draft, sides)? {
            Lying::Theirs => {
                entry.put_back(&self.tree, sides.after.as_deref(), draft, steps)?;
                Ok(true)
            }
            Lying::Nothing | Lying::Ready | Lying::Old => Ok(false),
        }
    }

    /// Removes what a fix that was rolled back has left beside the files.
    fn tidy(&self, folder: &Folder, journal: &Journal, steps: Steps<'_>) -> Result<(), NotApplied> {
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

/// Somebody has changed a file whose turn had come. Where the fix had removed it, that cannot be a change of what the fix wrote: it
/// stays, and the rest is rolled back. Everywhere else it is for its owner to say what is right.
fn stays(folder: &Folder, entry: &Entry) -> Result<(), NotApplied> {
    let kept = entry.before.as_ref().map(|image| folder.path().join(&image.name));
    let kept = kept.unwrap_or_else(|| folder.path().to_owned());
    if entry.after.is_some() {
        return Err(NotApplied::Stuck { path: entry.path.clone(), kept });
    }
    ui::warn(&format!(
        "`{}` stays as somebody has made it: what it had before the fix is in `{}`",
        entry.path,
        kept.display()
    ));
    Ok(())
}
