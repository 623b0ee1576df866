//! Finds applied fixes whose edits are no longer in the tree: the user may revert a file with git,
//! also while crh still reviews its fix.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;

use super::applied_fixes::AppliedFixes;
use super::fixed_file::{FixedFile, lines_in};
use super::found_on::{drop_found_on, found_on};
use super::journal::{ApplyError, FixedBytes};
use super::outcome::SkippedIssue;
use super::reviewed_checkout::{ReviewedCheckout, fixes_of, is_same, with_crlf};
use super::{REVIEWED, UpdateStorage, journal, move_to_open_places, raise};
use crate::commands::review::session::ReviewSession;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::run_folder::RunFolder;
use crh_review::Location;
use crh_review::finding::Side;
use crh_review::report::{AppliedFix, Report};

/// The fixes of a run, and the files that no longer have the edits of some of them, by issue.
#[derive(Default)]
pub(crate) struct MissingFixes {
    applied_fixes: AppliedFixes,
    files: BTreeMap<u32, BTreeSet<String>>,
}

/// The fixes of a run, and the issues of those that were missing and are in the checkout again, for
/// example after `git stash pop`.
pub(super) fn find_again(
    session: &ReviewSession,
    run: &RunFolder,
) -> Result<(AppliedFixes, BTreeSet<u32>), Failure> {
    let mut applied_fixes = AppliedFixes::load(run)?;
    let Ok(reviewed_checkout) = ReviewedCheckout::open(session) else {
        return Ok((applied_fixes, BTreeSet::new()));
    };
    let objects = reviewed_checkout.bare.objects().or_fail(FailureKind::External)?;
    let found = applied_fixes.find_again(|commit, path| {
        let fixed = objects.file_if_any(commit, path.as_bytes());
        let now = journal::checkout_bytes(reviewed_checkout.root(), path);
        let files = fixed.ok().zip(now.ok());
        files.is_some_and(|(fixed, now)| is_same(now.as_deref(), fixed.as_deref()))
    });
    Ok((applied_fixes, found))
}

/// Finds the fixes of the report that are no longer in the tree. Changes nothing.
pub(crate) fn find_missing_fixes(
    session: &ReviewSession,
    report: &Report,
) -> Result<MissingFixes, Failure> {
    let Some(run) = session.place.folder() else { return Ok(MissingFixes::default()) };
    let (applied_fixes, _) = find_again(session, run)?;
    let fixes = applied_fixes.applied();
    // Without fixes or without the reviewed checkout, there is nothing to compare.
    let files = match ReviewedCheckout::open(session) {
        Ok(reviewed_checkout) if !fixes.is_empty() => {
            missing_in(&reviewed_checkout, report, &fixes)?
        }
        Ok(_) | Err(_) => BTreeMap::new(),
    };
    Ok(MissingFixes { applied_fixes, files })
}

/// Stores that fixes are missing, and removes them, or their files, from the fixes of the report.
/// Returns their issues, which are open, with the reasons. If crh cannot store it, the report stays.
pub(crate) fn drop_missing_fixes(
    session: &ReviewSession,
    report: &mut Report,
    MissingFixes { applied_fixes, files: missing }: MissingFixes,
    storage: UpdateStorage,
) -> Result<Vec<SkippedIssue>, Failure> {
    let Some(run) = session.place.folder().filter(|_| !missing.is_empty()) else {
        return Ok(Vec::new());
    };
    let numbers: BTreeSet<u32> = missing.keys().copied().collect();
    // Without the report of the review, the issues keep their last places.
    let reviewed = run.read::<Report>(REVIEWED).ok();
    let open_places = reviewed.as_ref().map_or_else(BTreeMap::new, |reviewed| {
        open_places_of(reviewed, &applied_fixes.applied(), &missing)
    });
    let narrowed: BTreeSet<u32> = open_places.keys().copied().collect();
    let updated = applied_fixes.with_missing(missing.clone(), open_places);
    let mut restored = report.clone();
    let restored_issues = reviewed.map(|it| restore_issues(&mut restored, &it, &numbers));
    if storage == UpdateStorage::Stored {
        drop_found_on(run, &restored_issues.unwrap_or_default()).or_fail(FailureKind::External)?;
        updated.keep(run).or_fail(FailureKind::External)?;
    }
    *report = restored;
    report.applied_fixes = updated.applied();
    let mut partly_reverted = report.applied_fixes.clone();
    partly_reverted.retain(|fix| narrowed.contains(&fix.number));
    move_to_open_places(report, &partly_reverted, &session.subject.diff);
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
pub(super) fn restore_issues(
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

/// The files that no longer have the edits of these fixes, by issue. The files before and after the
/// fixes are those of the journals, as for an undo. A file of a fix that crh found in the checkout is
/// in no journal, so its reviewed bytes and those of the last commit count.
fn missing_in(
    reviewed_checkout: &ReviewedCheckout<'_>,
    report: &Report,
    fixes: &[AppliedFix],
) -> Result<BTreeMap<u32, BTreeSet<String>>, Failure> {
    let _locked = reviewed_checkout
        .locked()
        .map_err(|why| Failure::new(FailureKind::External, anyhow::anyhow!(why)))?;
    let root = reviewed_checkout.root();
    let mut known = journal::fixed_bytes(&reviewed_checkout.fixes(), root)?;
    let objects = reviewed_checkout.bare.objects().or_fail(FailureKind::External)?;
    let text = |commit: &str, path: &str| {
        objects.file_if_any(commit, path.as_bytes()).or_fail(FailureKind::External)
    };
    let mut reviewed = BTreeMap::new();
    for path in fixes.iter().flat_map(|fix| &fix.files) {
        let original = text(reviewed_checkout.reviewed, path)?;
        if !known.contains_key(path) {
            let fixed = text(&reviewed_checkout.now, path)?;
            known.insert(path.clone(), [original.clone(), fixed]);
        }
        reviewed.insert(path.as_str(), original.unwrap_or_default());
    }
    let lines = |path: &str, original: &[u8], lines| match reviewed.get(path) {
        Some(reviewed) => lines_in(&with_crlf(reviewed), original, lines),
        None => lines,
    };
    Ok(missing_fixes(reviewed_checkout.run(), root, &known, (report, fixes), lines))
}

/// The files of the fixes in a report that no longer have them, in the checkout at this root. Empty
/// if the fixes were made in another checkout. Only compares with the journals, which do not have
/// the files of fixes that crh found in the checkout.
pub(crate) fn files_without_fixes(
    run: &RunFolder,
    report: &Report,
    root: &Path,
) -> Result<BTreeSet<String>, ApplyError> {
    let known = journal::fixed_bytes(&fixes_of(run), root)?;
    let fixes = (report, report.applied_fixes.as_slice());
    let missing = missing_fixes(run, root, &known, fixes, |_, _, lines| lines);
    Ok(missing.into_values().flatten().collect())
}

/// The files in the checkout at this root that no longer have the edits of these fixes, by issue.
/// `lines` maps lines of a reviewed file to those before the fixes, which may have other edits.
fn missing_fixes(
    run: &RunFolder,
    root: &Path,
    known: &BTreeMap<String, FixedBytes>,
    (report, fixes): (&Report, &[AppliedFix]),
    lines: impl Fn(&str, &[u8], (u32, u32)) -> (u32, u32),
) -> BTreeMap<u32, BTreeSet<String>> {
    let (found_on, mut missing) = (found_on(run), BTreeMap::<u32, BTreeSet<String>>::new());
    for (path, [original, fixed]) in known {
        let now = match journal::checkout_bytes(root, path) {
            Ok(now) => now,
            // A symlink or a folder is not the fixed file.
            Err(ApplyError::Place { .. }) => None,
            // crh cannot compare a file that it cannot read.
            Err(_) => continue,
        };
        // Git may have converted the line endings.
        let crlf = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(with_crlf);
        let (original, fixed, now) = (crlf(original), crlf(fixed), crlf(&now));
        if now == fixed {
            continue;
        }
        // The place of an issue of a later round is a place in another commit than the reviewed one.
        let places = report.all_issues().filter_map(|issue| {
            let Location { file, side, line_start, line_end } = &issue.location;
            let is_here =
                file == path && *side == Side::New && !found_on.contains_key(&issue.number);
            let original = original.as_deref().filter(|_| is_here)?;
            Some((issue.number, lines(path, original, (*line_start, *line_end))))
        });
        let places: Vec<(u32, (u32, u32))> = places.collect();
        let file = FixedFile::new(original.as_deref(), fixed.as_deref(), now.as_deref());
        for fix in fixes.iter().filter(|fix| fix.files.contains(path)) {
            let (own, others): (Vec<_>, Vec<_>) =
                places.iter().partition(|(it, _)| *it == fix.number);
            let others: Vec<(u32, u32)> = others.into_iter().map(|(_, lines)| lines).collect();
            if file.lacks_fix(own.first().map(|(_, lines)| *lines), &others) {
                missing.entry(fix.number).or_default().insert(path.clone());
            }
        }
    }
    missing
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
