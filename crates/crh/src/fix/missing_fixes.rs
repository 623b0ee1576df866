//! Finds applied fixes whose edits are no longer in the tree: the user may revert a file while crh
//! still reviews its fix.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use super::applied_fixes::AppliedFixes;
use super::edits::ChangedLines;
use super::found_on::drop_found_on;
use super::outcome::SkippedIssue;
use super::reviewed_checkout::ReviewedCheckout;
use super::surroundings::changed;
use super::{REVIEWED, move_to_open_places};
use crate::commands::review::session::ReviewSession;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_review::Location;
use crh_review::diff::Diff;
use crh_review::finding::Side;
use crh_review::report::{AppliedFix, Issue, Report};

/// Removes the files whose edits are no longer in the tree from the fixes of the report, and the
/// fixes without any file, and stores that they are missing. Returns their issues, which are open,
/// with the reasons.
pub(crate) fn drop_missing_fixes(
    session: &ReviewSession,
    report: &mut Report,
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
            drop_found_on(run, &restored).or_fail(FailureKind::External)?;
            open_places = open_places_of(&reviewed, &fixes, &missing);
        }
        let narrowed: BTreeSet<u32> = open_places.keys().copied().collect();
        let updated = applied_fixes
            .keep_missing(run, missing.clone(), open_places)
            .or_fail(FailureKind::External)?;
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
            let (severity, validation) = (issue.severity, issue.validation);
            *issue = Issue { severity, validation, ..first.clone() };
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
    if tree.edited.is_empty() && tree.barred.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (reviewed, fixed) = (reviewed_checkout.reviewed, reviewed_checkout.now.as_str());
    let diff = |from: &str, to: &str| -> Result<Diff, Failure> {
        let diff = reviewed_checkout.bare.diff(from, to).or_fail(FailureKind::External)?;
        Ok(Diff::read(diff))
    };
    let by_fixes = diff(reviewed, fixed)?;
    let by_user = diff(fixed, &tree.commit)?;
    let in_tree = diff(reviewed, &tree.commit)?;
    let is_missing = |fix: &AppliedFix, path: &str| {
        let issue = report.issue(fix.number);
        // The place of an issue of a later round is a place in another commit.
        let is_of_reviewed = reviewed_checkout.found_on(fix.number) == reviewed;
        let place = issue
            .map(|issue| &issue.location)
            .filter(|place| is_of_reviewed && place.file == path && place.side == Side::New);
        let lines = place.map(|place| (place.line_start, place.line_end));
        let edits = changed(&by_fixes, path);
        tree.barred.contains_key(path)
            || !edits.is_empty() && changed(&in_tree, path).is_empty()
            || is_overwritten(&edits, &changed(&by_user, path), lines)
    };
    let missing = fixes.iter().map(|fix| {
        let files = fix.files.iter().filter(|path| is_missing(fix, path.as_str()));
        (fix.number, files.cloned().collect::<BTreeSet<String>>())
    });
    Ok(missing.filter(|(_, files)| !files.is_empty()).collect())
}

/// Whether later edits of a file change lines that its fixes wrote, or bring back lines that they
/// deleted. `lines` are the lines of the issue before the fixes: if fixes changed these lines, only
/// those changes count, since the others belong to other issues.
fn is_overwritten(
    by_fixes: &[ChangedLines],
    by_user: &[ChangedLines],
    lines: Option<(u32, u32)>,
) -> bool {
    let is_near = |edit: &ChangedLines| lines.is_some_and(|lines| edit.is_at(lines));
    let has_near = by_fixes.iter().any(is_near);
    let (mut added, mut removed) = (0, 0);
    by_fixes.iter().any(|edit| {
        // Where the edit is in the fixed text.
        let at = edit.at + added - removed;
        (added, removed) = (added + edit.are, removed + edit.were);
        let counts = !has_near || is_near(edit);
        counts && by_user.iter().any(|later| overwrites(later, at, edit.are))
    })
}

/// Whether an edit of the fixed text changes these lines of it. If there are no lines, whether it
/// adds lines at this place.
fn overwrites(edit: &ChangedLines, at: usize, count: usize) -> bool {
    match count {
        0 => edit.are > 0 && (edit.at..=edit.at + edit.were).contains(&at),
        _ => edit.were > 0 && edit.at < at + count && at < edit.at + edit.were,
    }
}

#[cfg(test)]
mod tests {
    use super::super::edits::tests::issue;
    use super::*;
    use crh_review::narrow_to_places;

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

    #[test]
    fn fix_is_missing_if_a_later_edit_changes_its_lines() {
        let lines = |at, were, are| ChangedLines { at, were, are };
        // One fix replaces line 3 by two lines, another deletes lines 11 and 12.
        let by_fixes = [lines(2, 1, 2), lines(10, 2, 0)];
        let check = |by_user: ChangedLines, lines, expected: bool| {
            assert_eq!(is_overwritten(&by_fixes, &[by_user], lines), expected, "{by_user:?}");
        };
        check(lines(2, 2, 1), None, true);
        check(lines(3, 1, 1), Some((3, 3)), true);
        check(lines(3, 1, 1), Some((11, 12)), false);
        // An edit elsewhere, and a line inserted between the two lines.
        check(lines(6, 1, 3), None, false);
        check(lines(3, 0, 1), None, false);
        // The deleted lines are back.
        check(lines(11, 0, 2), None, true);
        check(lines(11, 0, 2), Some((3, 3)), false);
        assert!(!is_overwritten(&by_fixes, &[], None));
    }
}
