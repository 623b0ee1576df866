//! What of a run's fixes stands in the checkout, by its journals.
//!
//! Invariant: the report follows from this and never the other way round. It is written after the tree, so that whoever is ended in
//! between leaves one that does not know of the fix, or of its being taken back.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{Asker, Journal, NotApplied};
use super::{fixes_of, journal};
use crh_pipeline::run_folder::{NotWritten, RunFolder};
use crh_review::report::AppliedFix;

/// Where a run keeps which issues were found again after their fix: the number of that fix by the number of the issue.
const FOUND_AGAIN: &str = "stages/found-again.json";

/// What stands in a checkout, by the numbers of the fixes.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    journals: BTreeMap<u32, Journal>,
    found_again: BTreeMap<u32, u32>,
}

impl Standing {
    pub(crate) fn of(run: &RunFolder) -> Result<Self, NotApplied> {
        let journals = journal::standing(&fixes_of(run))?;
        let journals = journals.into_iter().map(|(number, (_, journal))| (number, journal));
        let found_again = run.read(FOUND_AGAIN).unwrap_or_default();
        Ok(Self { journals: journals.collect(), found_again })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.journals.is_empty()
    }

    /// Whether files of the fixes also have what somebody did to them after they were reviewed.
    pub(crate) fn is_mixed(&self) -> bool {
        self.journals.values().any(|journal| !journal.edited.is_empty())
    }

    /// The files that it has changed.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        self.journals.values().flat_map(Journal::files).map(str::to_owned).collect()
    }

    /// Whether all of it was made for this one.
    pub(crate) fn is_all_for(&self, asker: Asker) -> bool {
        self.journals.values().all(|journal| journal.asker == Some(asker))
    }

    /// What the checkout is like with the last fix in it, as a commit of the private store; none if there is no fix.
    pub(crate) fn commit(&self) -> Option<&str> {
        let (_, journal) = self.journals.last_key_value()?;
        journal.after.as_deref()
    }

    /// The number of the last fix; 0 if there is none.
    pub(crate) fn last(&self) -> u32 {
        self.journals.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// What was done and still holds, by the numbers of the issues: what was found again after its fix is open.
    pub(crate) fn applied(&self) -> Vec<AppliedFix> {
        self.applied_after(0)
    }

    /// The same without the fixes up to this number.
    pub(crate) fn applied_after(&self, number: u32) -> Vec<AppliedFix> {
        let mut applied: BTreeMap<u32, AppliedFix> = BTreeMap::new();
        for (at, journal) in self.journals.range(number.saturating_add(1)..) {
            let holds = |fix: &&AppliedFix| {
                self.found_again.get(&fix.number).is_none_or(|found_again| found_again < at)
            };
            let fixes = journal.fixes.iter().filter(holds);
            applied.extend(fixes.map(|fix| (fix.number, fix.clone())));
        }
        applied.into_values().collect()
    }

    /// Keeps that these issues were found again with all these fixes in the tree.
    pub(crate) fn keep_found_again(
        mut self,
        run: &RunFolder,
        numbers: impl IntoIterator<Item = u32>,
    ) -> Result<(), NotWritten> {
        let last = self.last();
        self.found_again.extend(numbers.into_iter().map(|number| (number, last)));
        run.store_as_it_is(FOUND_AGAIN, &self.found_again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixes of these issues, one after the other.
    fn standing(fixes: &[&[u32]], found_again: &[(u32, u32)]) -> Standing {
        let fix = |number: &u32| {
            let (description, files) = (format!("fixes #{number}"), Vec::new());
            AppliedFix { number: *number, description, files }
        };
        let journals =
            fixes.iter().map(|fixes| Journal::of(Asker::Mode, fixes.iter().map(fix).collect()));
        Standing {
            journals: (1..).zip(journals).collect(),
            found_again: found_again.iter().copied().collect(),
        }
    }

    #[test]
    fn what_was_found_again_is_open_until_it_is_fixed_again() {
        let check = |standing: Standing, after: u32, expected: &[u32]| {
            let applied = standing.applied_after(after);
            assert_eq!(applied.iter().map(|fix| fix.number).collect::<Vec<_>>(), expected);
        };
        check(standing(&[], &[]), 0, &[]);
        check(standing(&[&[2, 3], &[1]], &[]), 0, &[1, 2, 3]);
        check(standing(&[&[2, 3], &[1]], &[]), 1, &[1]);
        check(standing(&[&[2, 3], &[1]], &[(3, 1)]), 0, &[1, 2]);
        check(standing(&[&[2, 3], &[3]], &[(3, 1)]), 0, &[2, 3]);
        check(standing(&[&[2, 3], &[3]], &[(3, 2)]), 0, &[2]);
    }
}
