//! The fixes of a run that are in the checkout, read from its journals.
//!
//! Invariant: the report is derived from the journals, never the reverse. The report is written
//! after the tree, so a crash can leave a report without the last fix or undo.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::fix_review::is_reviewed_again;
use super::journal;
use super::journal::{ApplyError, FixOrigin, Journal};
use super::reviewed_checkout::fixes_of;
use crh_pipeline::run_folder::{FileWriteError, RunFolder};
use crh_review::Location;
use crh_review::report::{AppliedFix, FixOutcome, ReviewMode};

/// File with the results of the reviews of fixes.
const FIX_REVIEWS: &str = "stages/second-looks.json";

/// Applied fixes, by fix number.
#[derive(Debug, Default)]
pub(crate) struct AppliedFixes {
    journals: BTreeMap<u32, Journal>,
    fix_reviews: FixReviews,
}

/// Results of the reviews of fixes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct FixReviews {
    /// Issues that were found again, with the number of the last fix before that.
    found_again: BTreeMap<u32, u32>,
    /// Number of the last fix before the last review. A review covers the fixes since the review
    /// before it.
    #[serde(default)]
    reviewed_to: u32,
    /// Numbers of the fixes that a complete review covers.
    #[serde(default)]
    verified: BTreeSet<u32>,
    /// Issues whose fix was no longer in the tree, with the number of the last fix before that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    missing: BTreeMap<u32, u32>,
    /// Files of other fixes that no longer had their edits, by issue, with the number of the last fix
    /// before that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    missing_files: BTreeMap<u32, BTreeMap<String, u32>>,
    /// Places of issues that are open because of missing files, or that their fix did not change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    open_places: BTreeMap<u32, Vec<Location>>,
}

impl FixReviews {
    fn add(
        &mut self,
        last: u32,
        found_again: impl IntoIterator<Item = u32>,
        result: FixReviewResult,
    ) {
        self.found_again.extend(found_again.into_iter().map(|number| (number, last)));
        if result == FixReviewResult::Verifying {
            self.verified.extend(self.reviewed_to.saturating_add(1)..=last);
        }
        self.reviewed_to = last;
    }
}

impl AppliedFixes {
    pub(crate) fn load(run: &RunFolder) -> Result<Self, ApplyError> {
        let journals = journal::applied_fixes(&fixes_of(run))?;
        let journals = journals.into_iter().map(|(number, (_, journal))| (number, journal));
        let fix_reviews = run.read(FIX_REVIEWS).unwrap_or_default();
        Ok(Self { journals: journals.collect(), fix_reviews })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.journals.is_empty()
    }

    /// Whether fixed files also have edits of the user since the review.
    pub(crate) fn is_mixed(&self) -> bool {
        self.journals.values().any(|journal| !journal.edited.is_empty())
    }

    pub(crate) fn files(&self) -> BTreeSet<String> {
        self.journals.values().flat_map(Journal::files).map(str::to_owned).collect()
    }

    /// Whether all fixes have this origin.
    pub(crate) fn is_all_for(&self, asker: FixOrigin) -> bool {
        self.journals.values().all(|journal| journal.asker == Some(asker))
    }

    /// Commit of the private store with the last fix. `None` without fixes.
    pub(crate) fn commit(&self) -> Option<&str> {
        let (_, journal) = self.journals.last_key_value()?;
        journal.after.as_deref()
    }

    /// Files of the fixes that crh reviews again in this mode, and has not reviewed yet.
    pub(super) fn unreviewed_files(&self, mode: ReviewMode) -> BTreeSet<String> {
        let unreviewed = self.journals.range(self.fix_reviews.reviewed_to.saturating_add(1)..);
        let is_due =
            |journal: &&Journal| journal.asker.is_some_and(|asker| is_reviewed_again(asker, mode));
        let journals = unreviewed.map(|(_, journal)| journal).filter(is_due);
        let fixes = journals.flat_map(|journal| &journal.fixes);
        fixes.flat_map(|fix| fix.files.iter().cloned()).collect()
    }

    /// Number of the last fix, or 0.
    pub(crate) fn last(&self) -> u32 {
        self.journals.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Applied fixes by issue number.
    pub(crate) fn applied(&self) -> Vec<AppliedFix> {
        self.applied_after(0)
    }

    /// Applied fixes by issue number, without the fixes up to this fix number.
    pub(crate) fn applied_after(&self, number: u32) -> Vec<AppliedFix> {
        let mut applied = Vec::new();
        for (at, journal) in self.journals.range(number.saturating_add(1)..) {
            for fix in &journal.fixes {
                if self.fix_reviews.missing.get(&fix.number).is_some_and(|last| last >= at) {
                    continue;
                }
                let outcome = self.outcome(*at, fix);
                let files: Vec<String> = match self.fix_reviews.missing_files.get(&fix.number) {
                    None => fix.files.clone(),
                    Some(missing) => {
                        let is_left =
                            |file: &&String| missing.get(*file).is_none_or(|last| last < at);
                        fix.files.iter().filter(is_left).cloned().collect()
                    }
                };
                let open_places = match outcome {
                    FixOutcome::Done | FixOutcome::Unverified => Vec::new(),
                    FixOutcome::Partial | FixOutcome::FoundAgain | FixOutcome::PartlyReverted => {
                        self.open_places(*at, fix)
                    }
                };
                add_fix(&mut applied, AppliedFix { outcome, files, open_places, ..fix.clone() });
            }
        }
        applied
    }

    /// The outcome of a fix with this fix number after the reviews.
    fn outcome(&self, at: u32, fix: &AppliedFix) -> FixOutcome {
        let FixReviews { found_again, verified, .. } = &self.fix_reviews;
        match fix.outcome {
            _ if found_again.get(&fix.number).is_some_and(|found| *found >= at) => {
                FixOutcome::FoundAgain
            }
            _ if self.has_missing_file(at, fix.number) => FixOutcome::PartlyReverted,
            FixOutcome::Unverified if verified.contains(&at) => FixOutcome::Done,
            // Only an edit closes a place. A review that finds nothing there proves nothing.
            outcome => outcome,
        }
    }

    /// The places that a fix with this fix number leaves open.
    fn open_places(&self, at: u32, fix: &AppliedFix) -> Vec<Location> {
        let places = self.fix_reviews.open_places.get(&fix.number);
        let places = places.filter(|_| self.has_missing_file(at, fix.number));
        places.unwrap_or(&fix.open_places).clone()
    }

    fn has_missing_file(&self, at: u32, issue: u32) -> bool {
        let files = self.fix_reviews.missing_files.get(&issue);
        files.is_some_and(|files| files.values().any(|last| *last >= at))
    }

    /// Notes that the fixes of these issues are no longer in these files, and the places that are
    /// open if other files still have their part. Later fixes of them count again.
    pub(super) fn with_missing(
        mut self,
        missing: BTreeMap<u32, BTreeSet<String>>,
        open_places: BTreeMap<u32, Vec<Location>>,
    ) -> Self {
        self.fix_reviews.open_places.extend(open_places);
        self.add_missing(missing);
        self
    }

    /// Forgets that fixes are missing whose files are all as they were after them: the user has
    /// brought them back. `is_as_in` compares a file with one of a commit. Returns their issues.
    pub(super) fn find_again(&mut self, is_as_in: impl Fn(&str, &str) -> bool) -> BTreeSet<u32> {
        let (journals, mut found) = (&self.journals, BTreeSet::new());
        let is_back = |file: &str, last: u32| {
            let journal = journals.range(..=last).next_back().map(|(_, journal)| journal);
            let commit = journal.and_then(|journal| journal.after.as_deref());
            commit.is_some_and(|commit| is_as_in(commit, file))
        };
        let files_of = |number: u32, last: u32| {
            let fixes = journals.range(..=last).flat_map(|(_, journal)| &journal.fixes);
            fixes.filter(move |fix| fix.number == number).flat_map(|fix| &fix.files)
        };
        self.fix_reviews.missing.retain(|number, last| {
            let is_back = files_of(*number, *last).all(|file| is_back(file, *last));
            !is_back || !found.insert(*number)
        });
        self.fix_reviews.missing_files.retain(|number, files| {
            let is_back = files.iter().all(|(file, last)| is_back(file, *last));
            !is_back || !found.insert(*number)
        });
        found
    }

    /// Stores the results of the reviews, and which fixes are missing.
    pub(super) fn keep(&self, run: &RunFolder) -> Result<(), FileWriteError> {
        run.store_masked(FIX_REVIEWS, &self.fix_reviews)
    }

    fn add_missing(&mut self, missing: BTreeMap<u32, BTreeSet<String>>) {
        let (last, fixes) = (self.last(), self.applied());
        for (number, files) in missing {
            let fix = fixes.iter().find(|fix| fix.number == number);
            if fix.is_some_and(|fix| fix.files.iter().any(|file| !files.contains(file))) {
                let missing_files = self.fix_reviews.missing_files.entry(number).or_default();
                missing_files.extend(files.into_iter().map(|file| (file, last)));
            } else {
                self.fix_reviews.missing.insert(number, last);
            }
        }
    }

    /// Stores the result of a review of the fixes: issues that were found again, and whether the
    /// review verifies the fixes.
    pub(crate) fn keep_repeated_review(
        mut self,
        run: &RunFolder,
        found_again: impl IntoIterator<Item = u32>,
        result: FixReviewResult,
    ) -> Result<Self, FileWriteError> {
        let last = self.last();
        self.fix_reviews.add(last, found_again, result);
        self.keep(run)?;
        Ok(self)
    }
}

/// Whether a review of fixes verifies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixReviewResult {
    Verifying,
    /// A reviewer failed, a fixed file was not reviewed, or the review was stopped.
    Incomplete,
}

/// Adds a fix, ordered by issue number. An earlier fix of the same issue is in the tree, too, so
/// the fix keeps the files of both.
pub(super) fn add_fix(fixes: &mut Vec<AppliedFix>, mut fix: AppliedFix) {
    if let Some(earlier) = fixes.iter().position(|it| it.number == fix.number) {
        let files: BTreeSet<String> = fixes.remove(earlier).files.into_iter().collect();
        fix.files =
            files.into_iter().chain(fix.files).collect::<BTreeSet<_>>().into_iter().collect();
    }
    fixes.push(fix);
    fixes.sort_by_key(|fix| fix.number);
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crh_review::finding::Side;

    /// Consecutive fixes of these issues.
    fn applied_fixes(fixes: &[&[u32]], found_again: &[(u32, u32)]) -> AppliedFixes {
        let fix = |number: &u32| {
            let (description, files) = (format!("fixes #{number}"), Vec::new());
            AppliedFix {
                number: *number,
                description,
                files,
                outcome: FixOutcome::Done,
                ..AppliedFix::default()
            }
        };
        let journals =
            fixes.iter().map(|fixes| Journal::of(FixOrigin::Mode, fixes.iter().map(fix).collect()));
        AppliedFixes {
            journals: (1..).zip(journals).collect(),
            fix_reviews: FixReviews {
                found_again: found_again.iter().copied().collect(),
                ..FixReviews::default()
            },
        }
    }

    #[test]
    fn refound_issue_is_open_until_fixed_again() {
        let check = |applied_fixes: AppliedFixes, after: u32, done: &[u32], open: &[u32]| {
            let (is_done, is_open): (Vec<AppliedFix>, Vec<AppliedFix>) = applied_fixes
                .applied_after(after)
                .into_iter()
                .partition(|fix| fix.outcome.is_done());
            let numbers = |fixes: &[AppliedFix]| fixes.iter().map(|fix| fix.number).collect();
            let found: [Vec<u32>; 2] = [numbers(&is_done), numbers(&is_open)];
            assert_eq!(found, [done, open]);
        };
        check(applied_fixes(&[], &[]), 0, &[], &[]);
        check(applied_fixes(&[&[2, 3], &[1]], &[]), 0, &[1, 2, 3], &[]);
        check(applied_fixes(&[&[2, 3], &[1]], &[]), 1, &[1], &[]);
        check(applied_fixes(&[&[2, 3], &[1]], &[(3, 1)]), 0, &[1, 2], &[3]);
        check(applied_fixes(&[&[2, 3], &[3]], &[(3, 1)]), 0, &[2, 3], &[]);
        check(applied_fixes(&[&[2, 3], &[3]], &[(3, 2)]), 0, &[2], &[3]);
    }

    #[test]
    fn missing_fix_does_not_count_until_the_issue_is_fixed_again() {
        let check = |fixes: &[&[u32]], expected: &[u32]| {
            let mut applied_fixes = applied_fixes(fixes, &[]);
            applied_fixes.fix_reviews.missing.insert(3, 1);
            let applied = applied_fixes.applied();
            assert_eq!(applied.iter().map(|fix| fix.number).collect::<Vec<_>>(), expected);
        };
        check(&[&[2, 3]], &[2]);
        check(&[&[2, 3], &[1]], &[1, 2]);
        check(&[&[2, 3], &[3]], &[2, 3]);
    }

    #[test]
    fn fix_without_one_of_its_files_is_partly_reverted() {
        let fix = AppliedFix {
            number: 1,
            files: ["pay.py", "test_pay.py"].map(str::to_owned).to_vec(),
            ..AppliedFix::default()
        };
        let journals = [fix.clone(), fix].map(|fix| Journal::of(FixOrigin::Mode, vec![fix]));
        let check = |count: usize, missing: &[&str], expected: &[(FixOutcome, &[&str])]| {
            let first = BTreeMap::from([(1, journals[0].clone())]);
            let mut applied_fixes =
                AppliedFixes { journals: first, fix_reviews: FixReviews::default() };
            let files = missing.iter().map(|file| (*file).to_owned()).collect();
            applied_fixes.add_missing(BTreeMap::from([(1, files)]));
            applied_fixes.journals = (1..).zip(journals.iter().take(count).cloned()).collect();
            let applied = applied_fixes.applied();
            let found: Vec<(FixOutcome, Vec<&str>)> = applied
                .iter()
                .map(|fix| (fix.outcome, fix.files.iter().map(String::as_str).collect()))
                .collect();
            let expected: Vec<(FixOutcome, Vec<&str>)> =
                expected.iter().map(|(outcome, files)| (*outcome, files.to_vec())).collect();
            assert_eq!(found, expected);
        };
        check(1, &["test_pay.py"], &[(FixOutcome::PartlyReverted, &["pay.py"])]);
        check(1, &["pay.py", "test_pay.py"], &[]);
        // The issue is fixed again.
        check(2, &["test_pay.py"], &[(FixOutcome::Done, &["pay.py", "test_pay.py"])]);
    }

    #[test]
    fn complete_review_of_a_fix_verifies_it() {
        let unverified = |number| AppliedFix {
            number,
            description: String::new(),
            files: Vec::new(),
            outcome: FixOutcome::Unverified,
            ..AppliedFix::default()
        };
        let journal = |number| Journal::of(FixOrigin::Mode, vec![unverified(number)]);
        let check = |reviews: &[(u32, FixReviewResult)], expected: [FixOutcome; 3]| {
            let journals = (1..=3).map(|number| (number, journal(number))).collect();
            let mut fix_reviews = FixReviews::default();
            reviews.iter().for_each(|(last, result)| fix_reviews.add(*last, [], *result));
            fix_reviews.found_again.insert(2, 2);
            let applied = AppliedFixes { journals, fix_reviews }.applied();
            assert_eq!(applied.iter().map(|fix| fix.outcome).collect::<Vec<_>>(), expected);
        };
        let (done, found) = (FixOutcome::Done, FixOutcome::FoundAgain);
        let open = FixOutcome::Unverified;
        let (complete, incomplete) = (FixReviewResult::Verifying, FixReviewResult::Incomplete);
        check(&[], [open, found, open]);
        check(&[(2, complete)], [done, found, open]);
        check(&[(2, complete), (3, complete)], [done, found, done]);
        // The second review covers only the third fix.
        check(&[(2, incomplete), (3, complete)], [open, found, done]);
    }

    #[test]
    fn only_a_later_fix_closes_the_open_places() {
        let place =
            Location { file: "a.py".to_owned(), side: Side::New, line_start: 9, line_end: 9 };
        let fix = AppliedFix {
            number: 1,
            files: vec![place.file.clone()],
            outcome: FixOutcome::Partial,
            open_places: vec![place.clone()],
            ..AppliedFix::default()
        };
        let later =
            AppliedFix { outcome: FixOutcome::Done, open_places: Vec::new(), ..fix.clone() };
        let journals = [fix, later].map(|fix| Journal::of(FixOrigin::Mode, vec![fix]));
        let check = |count: usize, found: &[u32], result, expected: (FixOutcome, &[Location])| {
            let journals = (1..).zip(journals.iter().take(count).cloned()).collect();
            let mut applied_fixes = AppliedFixes { journals, fix_reviews: FixReviews::default() };
            applied_fixes.fix_reviews.add(1, found.iter().copied(), result);
            let fix = &applied_fixes.applied()[0];
            assert_eq!((fix.outcome, fix.open_places.as_slice()), expected);
        };
        let (complete, incomplete) = (FixReviewResult::Verifying, FixReviewResult::Incomplete);
        let open = slice::from_ref(&place);
        check(1, &[], incomplete, (FixOutcome::Partial, open));
        check(1, &[], complete, (FixOutcome::Partial, open));
        check(1, &[1], complete, (FixOutcome::FoundAgain, open));
        // The second fix is at the place that the first left open.
        check(2, &[], complete, (FixOutcome::Done, &[]));
        check(2, &[1], complete, (FixOutcome::Done, &[]));
    }

    #[test]
    fn partly_reverted_fix_names_the_open_places() {
        let place =
            Location { file: "b.py".to_owned(), side: Side::New, line_start: 9, line_end: 9 };
        let fix = AppliedFix {
            number: 1,
            files: ["a.py", "b.py"].map(str::to_owned).to_vec(),
            ..AppliedFix::default()
        };
        let journal = Journal::of(FixOrigin::Mode, vec![fix]);
        let journals = BTreeMap::from([(1, journal)]);
        let mut applied_fixes = AppliedFixes { journals, fix_reviews: FixReviews::default() };
        applied_fixes.fix_reviews.open_places.insert(1, vec![place.clone()]);
        assert!(applied_fixes.applied()[0].open_places.is_empty());
        let files = BTreeSet::from([place.file.clone()]);
        applied_fixes.add_missing(BTreeMap::from([(1, files)]));
        assert_eq!(applied_fixes.applied()[0].open_places, [place]);
    }

    #[test]
    fn fixes_are_unreviewed_until_their_review_ends() {
        let journal = |asker, file: &str| {
            let fix = AppliedFix { files: vec![file.to_owned()], ..AppliedFix::default() };
            Journal::of(asker, vec![fix])
        };
        let askers = [FixOrigin::Mode, FixOrigin::Questions, FixOrigin::Command];
        let journals = askers.into_iter().zip(["a", "b", "c"]).map(|(it, file)| journal(it, file));
        let mut applied_fixes = AppliedFixes {
            journals: (1..).zip(journals).collect(),
            fix_reviews: FixReviews::default(),
        };
        let check = |applied_fixes: &AppliedFixes, mode, expected: &[&str]| {
            let files: Vec<String> = applied_fixes.unreviewed_files(mode).into_iter().collect();
            assert_eq!(files, expected, "{mode:?}");
        };
        check(&applied_fixes, ReviewMode::Autofix, &["a", "b"]);
        check(&applied_fixes, ReviewMode::Headless, &["b"]);
        applied_fixes.fix_reviews.add(1, [], FixReviewResult::Incomplete);
        check(&applied_fixes, ReviewMode::Autofix, &["b"]);
        applied_fixes.fix_reviews.add(3, [], FixReviewResult::Verifying);
        check(&applied_fixes, ReviewMode::Autofix, &[]);
    }

    #[test]
    fn second_fix_of_an_issue_keeps_the_files_of_the_first() {
        let fix = |description: &str, files: &[&str]| {
            let (description, files) =
                (description.to_owned(), files.iter().map(|it| (*it).into()));
            AppliedFix {
                number: 1,
                description,
                files: files.collect(),
                outcome: FixOutcome::Done,
                ..AppliedFix::default()
            }
        };
        let mut fixes = Vec::new();
        add_fix(&mut fixes, fix("first", &["b", "c"]));
        add_fix(&mut fixes, fix("second", &["a", "b"]));
        assert_eq!(fixes, [fix("second", &["a", "b", "c"])]);
    }
}
