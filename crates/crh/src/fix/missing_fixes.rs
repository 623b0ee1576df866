//! Finds applied fixes whose edits are no longer in the tree: the user may revert a file with git,
//! also while crh still reviews its fix.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;

use super::applied_fixes::AppliedFixes;
use super::fixed_file::FixedFile;
use super::found_on::{drop_found_on, found_on};
use super::journal::ApplyError;
use super::outcome::SkippedIssue;
use super::reviewed_checkout::{ReviewedCheckout, fixes_of};
use super::{REVIEWED, UpdateStorage, journal, move_to_open_places, raise};
use crate::commands::review::session::ReviewSession;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::run_folder::RunFolder;
use crh_review::Location;
use crh_review::finding::Side;
use crh_review::report::{AppliedFix, Report};

/// Removes the files whose edits are no longer in the tree from the fixes of the report, and the
/// fixes without any file, and stores that they are missing. Returns their issues, which are open,
/// with the reasons.
pub(crate) fn drop_missing_fixes(
    session: &ReviewSession,
    report: &mut Report,
    storage: UpdateStorage,
) -> Result<Vec<SkippedIssue>, Failure> {
    let Some(run) = session.place.folder() else { return Ok(Vec::new()) };
    let applied_fixes = AppliedFixes::load(run)?;
    let fixes = applied_fixes.applied();
    // Without fixes or without the reviewed checkout, there is nothing to compare.
    let Ok(reviewed_checkout) = ReviewedCheckout::open(session) else { return Ok(Vec::new()) };
    if fixes.is_empty() {
        return Ok(Vec::new());
    }
    let missing = missing_fixes(&reviewed_checkout, report, &fixes)?;
    if !missing.is_empty() {
        let numbers: BTreeSet<u32> = missing.keys().copied().collect();
        let mut open_places = BTreeMap::new();
        // Without the report of the review, the issues keep their last places.
        if let Ok(reviewed) = run.read::<Report>(REVIEWED) {
            let restored = restore_issues(report, &reviewed, &numbers);
            if storage == UpdateStorage::Stored {
                drop_found_on(run, &restored).or_fail(FailureKind::External)?;
            }
            open_places = open_places_of(&reviewed, &fixes, &missing);
        }
        let narrowed: BTreeSet<u32> = open_places.keys().copied().collect();
        let updated = applied_fixes.with_missing(missing.clone(), open_places);
        if storage == UpdateStorage::Stored {
            updated.keep(run).or_fail(FailureKind::External)?;
        }
        report.applied_fixes = updated.applied();
        let mut partly_reverted = report.applied_fixes.clone();
        partly_reverted.retain(|fix| narrowed.contains(&fix.number));
        move_to_open_places(report, &partly_reverted, &session.subject.diff);
    }
    let skipped = |(number, files): (u32, BTreeSet<String>)| {
        let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
        let (names, were) =
            (files.join(", "), if files.len() == 1 { "file was" } else { "files were" });
        let why = format!("its fix is no longer in {names}: the {were} changed after the fix");
        SkippedIssue::reverted(number, why)
    };
    Ok(missing.into_iter().map(skipped).collect())
}

/// Gives these issues the places and texts of the reviewed report again: a partial fix has left out
/// the places that are open now. A later review may have raised their severity. Returns the numbers
/// of the restored issues. Issues of later rounds stay.
fn restore_issues(
    report: &mut Report,
    reviewed: &Report,
    numbers: &BTreeSet<u32>,
) -> BTreeSet<u32> {
    let mut restored = BTreeSet::new();
    let issues = report.issues.iter_mut().chain(&mut report.over_cap);
    for issue in issues.filter(|issue| numbers.contains(&issue.number)) {
        if let Some(first) = reviewed.issue(issue.number) {
            let later = std::mem::replace(issue, first.clone());
            raise(issue, &later);
            restored.insert(issue.number);
        }
    }
    restored
}

/// The places of the reviewed issues that are open again: those in files that no longer have the
/// edits of these fixes, and those that the fixes did not change.
fn open_places_of(
    reviewed: &Report,
    fixes: &[AppliedFix],
    missing: &BTreeMap<u32, BTreeSet<String>>,
) -> BTreeMap<u32, Vec<Location>> {
    let open_places = |fix: &AppliedFix| {
        let (files, issue) = (missing.get(&fix.number)?, reviewed.issue(fix.number)?);
        let places: Vec<&Location> =
            iter::once(&issue.location).chain(&issue.other_places).collect();
        // A fix of a later round may name places in another commit. Then every place stays open.
        let is_of_reviewed = fix.open_places.iter().all(|place| places.contains(&place));
        let is_open = |place: &&Location| {
            !is_of_reviewed || files.contains(&place.file) || fix.open_places.contains(*place)
        };
        let open: Vec<Location> = places.into_iter().filter(is_open).cloned().collect();
        Some((fix.number, open))
    };
    fixes.iter().filter_map(open_places).collect()
}

/// The files that no longer have the edits of these fixes, by issue.
fn missing_fixes(
    reviewed_checkout: &ReviewedCheckout<'_>,
    report: &Report,
    fixes: &[AppliedFix],
) -> Result<BTreeMap<u32, BTreeSet<String>>, Failure> {
    let checkout = reviewed_checkout
        .locked()
        .map_err(|why| Failure::new(FailureKind::External, anyhow::anyhow!(why)))?;
    let paths: BTreeSet<&str> =
        fixes.iter().flat_map(|fix| fix.files.iter().map(String::as_str)).collect();
    let tree = reviewed_checkout.start(&checkout, &paths)?;
    let objects = reviewed_checkout.bare.objects().or_fail(FailureKind::External)?;
    let text = |commit: &str, path: &str| {
        objects.file_if_any(commit, path.as_bytes()).or_fail(FailureKind::External)
    };
    let mut is_missing = BTreeSet::new();
    for path in tree.edited.iter().map(String::as_str) {
        let original = text(reviewed_checkout.reviewed, path)?;
        let (fixed, now) = (text(&reviewed_checkout.now, path)?, text(&tree.commit, path)?);
        let file = FixedFile::new(original.as_deref(), fixed.as_deref(), now.as_deref());
        let lacking = lacking_fixes(path, &file, report, fixes, |number| {
            reviewed_checkout.found_on(number) == reviewed_checkout.reviewed
        });
        is_missing.extend(lacking.into_iter().map(|number| (number, path)));
    }
    let missing = fixes.iter().map(|fix| {
        let mut files: BTreeSet<String> = fix.files.iter().cloned().collect();
        files.retain(|path| {
            tree.barred.contains_key(path) || is_missing.contains(&(fix.number, path.as_str()))
        });
        (fix.number, files)
    });
    Ok(missing.filter(|(_, files)| !files.is_empty()).collect())
}

/// The files of the fixes in a report that no longer have them, in the checkout at this root. Empty
/// if the fixes were made in another checkout. Only compares with the journals, which do not have
/// the files of fixes that crh found in the checkout.
pub(crate) fn files_without_fixes(
    run: &RunFolder,
    report: &Report,
    root: &Path,
) -> Result<BTreeSet<String>, ApplyError> {
    let (found_on, mut missing) = (found_on(run), BTreeSet::new());
    for (path, [original, fixed]) in journal::fixed_bytes(&fixes_of(run), root)? {
        // A symlink or a folder is not the fixed file.
        let now = journal::checkout_bytes(root, &path).unwrap_or_default();
        let file = FixedFile::new(original.as_deref(), fixed.as_deref(), now.as_deref());
        let is_of_reviewed = |number: u32| !found_on.contains_key(&number);
        if now != fixed
            && !lacking_fixes(&path, &file, report, &report.applied_fixes, is_of_reviewed)
                .is_empty()
        {
            missing.insert(path);
        }
    }
    Ok(missing)
}

/// The issues of the fixes that a file no longer has. The place of an issue of a later round is a
/// place in another commit than the reviewed one.
fn lacking_fixes(
    path: &str,
    file: &FixedFile<'_>,
    report: &Report,
    fixes: &[AppliedFix],
    is_of_reviewed: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let places = report.all_issues().filter_map(|issue| {
        let Location { file, side, line_start, line_end } = &issue.location;
        let is_here = file == path && *side == Side::New && is_of_reviewed(issue.number);
        is_here.then_some((issue.number, (*line_start, *line_end)))
    });
    let places: Vec<(u32, (u32, u32))> = places.collect();
    let lacks = |number: u32| {
        let (own, others): (Vec<_>, Vec<_>) = places.iter().partition(|(it, _)| *it == number);
        let others: Vec<(u32, u32)> = others.into_iter().map(|(_, lines)| lines).collect();
        file.lacks_fix(own.first().map(|(_, lines)| *lines), &others)
    };
    let fixes = fixes.iter().filter(|fix| fix.files.iter().any(|file| file == path));
    fixes.map(|fix| fix.number).filter(|number| lacks(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::edits::tests::issue;
    use super::*;
    use crh_review::narrow_to_places;
    use crh_review::report::Issue;

    #[test]
    fn issue_of_a_reverted_fix_has_its_reviewed_places_again() {
        let first = issue(1, (3, 3), "a", Some("b"));
        let place = Location { line_start: 9, line_end: 9, ..first.location.clone() };
        let grouped = Issue { other_places: vec![place.clone()], ..first };
        let other = issue(2, (5, 5), "a", None);
        let reviewed = Report { issues: vec![grouped.clone(), other.clone()], ..Report::default() };
        let narrowed = |mut issue: Issue| {
            narrow_to_places(&mut issue, std::slice::from_ref(&place));
            issue
        };
        let issues = vec![narrowed(grouped.clone()), narrowed(other.clone())];
        let mut report = Report { issues, ..Report::default() };
        let restored = restore_issues(&mut report, &reviewed, &BTreeSet::from([1, 7]));
        assert_eq!(restored, BTreeSet::from([1]));
        assert_eq!(report.issues, [grouped, narrowed(other)]);
    }

    #[test]
    fn only_places_in_reverted_files_are_open_again() {
        let first = issue(1, (3, 3), "a", Some("b"));
        let place = |file: &str| Location { file: file.to_owned(), ..first.location.clone() };
        let fixed = first.location.clone();
        let (reverted, unchanged) = (place("b.py"), place("c.py"));
        let other_places = vec![reverted.clone(), unchanged.clone()];
        let issues = vec![Issue { other_places, ..first.clone() }];
        let reviewed = Report { issues, ..Report::default() };
        let check = |open: &[&Location], file: &str, expected: &[&Location]| {
            let open_places = open.iter().map(|place| (*place).clone()).collect();
            let fix = AppliedFix { number: 1, open_places, ..AppliedFix::default() };
            let missing = BTreeMap::from([(1, BTreeSet::from([file.to_owned()]))]);
            let found = open_places_of(&reviewed, &[fix], &missing);
            assert_eq!(found[&1].iter().collect::<Vec<_>>(), expected, "{file}");
        };
        check(&[], "b.py", &[&reverted]);
        check(&[&unchanged], "b.py", &[&reverted, &unchanged]);
        // Only the test that the fix added is gone.
        check(&[], "test_b.py", &[]);
        // The place is one of another commit.
        check(&[&place("d.py")], "b.py", &[&fixed, &reverted, &unchanged]);
    }
}
