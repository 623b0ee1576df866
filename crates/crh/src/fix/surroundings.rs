//! Reads the files of issues: as reviewed, as they are now, and the difference.

use std::collections::BTreeMap;

use super::edits::{FileTexts, LineChange, moved_lines};
use super::outcome::SkippedIssue;
use super::reviewed_checkout::{FixStart, ReviewedCheckout};
use crate::commands::review::session::ReviewSession;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_git::Objects;
use crh_review::Location;
use crh_review::diff::{Diff, LineKind};
use crh_review::finding::Side;
use crh_review::report::{Issue, Report};

/// The files of issues by issue number.
pub(super) fn texts(
    reviewed_checkout: &ReviewedCheckout<'_>,
    start: &FixStart,
    issues: &[&Issue],
) -> Result<BTreeMap<u32, Result<FileTexts, SkippedIssue>>, Failure> {
    let objects = reviewed_checkout.bare.objects().or_fail(FailureKind::External)?;
    let diffs = reviewed_checkout.diffs_to(issues, &start.commit)?;
    let of = |issue: &&Issue| {
        let path = issue.location.file.as_str();
        let found_on = reviewed_checkout.found_on(issue.number);
        let text = |commit: &str| text(&objects, commit, path);
        let changed = diffs.get(found_on).map(|diff| changed(diff, path)).unwrap_or_default();
        let texts = match start.barred.get(path) {
            Some(failure) => Err(failure.skipped(issue.number)),
            None => text(found_on)
                .and_then(|reviewed| Ok(FileTexts { reviewed, now: text(&start.commit)?, changed }))
                .map_err(|why| SkippedIssue::new(issue.number, why)),
        };
        (issue.number, texts)
    };
    Ok(issues.iter().map(of).collect())
}

fn text(objects: &Objects, commit: &str, path: &str) -> Result<Vec<u8>, String> {
    match objects.file_if_any(commit, path.as_bytes()) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("there is no file `{path}`")),
        Err(why) => Err(why.to_string()),
    }
}

/// The line changes of a diff in one file.
pub(super) fn changed(diff: &Diff, path: &str) -> Vec<LineChange> {
    let file = diff.files().iter().find(|file| file.path.shown() == path);
    let mut all: Vec<LineChange> = Vec::new();
    for hunk in file.iter().flat_map(|file| &file.hunks) {
        let start = usize::try_from(hunk.old.start).unwrap_or_default();
        // The start of a hunk without old lines is the line before the hunk.
        let mut next = if hunk.old.len == 0 { start } else { start.saturating_sub(1) };
        let mut run = LineChange { at: next, were: 0, are: 0 };
        let keep = |run: LineChange, all: &mut Vec<LineChange>| {
            if run.were + run.are > 0 {
                all.push(run);
            }
        };
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Context => {
                    keep(run, &mut all);
                    next += 1;
                    run = LineChange { at: next, were: 0, are: 0 };
                }
                LineKind::Removed => (run.were, next) = (run.were + 1, next + 1),
                LineKind::Added => run.are += 1,
                LineKind::Remark => {}
            }
        }
        keep(run, &mut all);
    }
    all
}

/// The issues with their places in a commit that contains fixes.
pub(super) fn issues_at(
    reviewed_checkout: &ReviewedCheckout<'_>,
    issues: &[&Issue],
    commit: &str,
) -> Result<Vec<Issue>, Failure> {
    let diffs = reviewed_checkout.diffs_to(issues, commit)?;
    let mut moved = Vec::with_capacity(issues.len());
    for issue in issues {
        let diff = diffs.get(reviewed_checkout.found_on(issue.number));
        moved.push(diff.map_or_else(|| (*issue).clone(), |diff| moved_by(issue, diff)));
    }
    Ok(moved)
}

/// An issue with its places and quotes as they are after a diff.
pub(super) fn moved_by(issue: &Issue, diff: &Diff) -> Issue {
    let mut issue = issue.clone();
    let places = issue.other_places.iter_mut().chain([&mut issue.location]);
    for place in places.filter(|place| place.side == Side::New) {
        let lines = lines_after(diff, &place.file, (place.line_start, place.line_end));
        (place.line_start, place.line_end) = lines;
    }
    for quote in issue.evidence.iter_mut().filter(|quote| quote.side == Side::New) {
        quote.line = lines_after(diff, &quote.file, (quote.line, quote.line)).0;
    }
    issue
}

/// The places of issues of which a fix left places open, by issue number, as they are in a commit
/// that contains the fixes. A review that finds such an issue does not close the places elsewhere.
pub(crate) fn open_places_at(
    session: &ReviewSession,
    report: &Report,
    commit: &str,
) -> Result<BTreeMap<u32, Vec<Location>>, Failure> {
    let has_open_places =
        |issue: &&Issue| report.fix_of(issue.number).is_some_and(|fix| !fix.open_places.is_empty());
    let open: Vec<&Issue> = report.all_issues().filter(has_open_places).collect();
    if open.is_empty() {
        return Ok(BTreeMap::new());
    }
    let reviewed_checkout = ReviewedCheckout::open(session).or_fail(FailureKind::External)?;
    let moved = issues_at(&reviewed_checkout, &open, commit)?;
    let places = |issue: Issue| {
        let Issue { number, location, other_places, .. } = issue;
        let places: Vec<Location> = std::iter::once(location).chain(other_places).collect();
        (number, places)
    };
    Ok(moved.into_iter().map(places).collect())
}

/// The place of these lines after a diff of their file. Lines that the diff replaces become the
/// lines that replace them.
pub(crate) fn lines_after(diff: &Diff, path: &str, lines: (u32, u32)) -> (u32, u32) {
    moved_lines(changed(diff, path), lines)
}

/// Whether a diff changes these lines of a file, or adds lines beside them.
pub(super) fn changes_lines(diff: &Diff, path: &str, lines: (u32, u32)) -> bool {
    changed(diff, path).iter().any(|run| run.is_at(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_after_a_diff() {
        let diff = "\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,6 +1,7 @@
+zero
 one
-two
+2
+2.5
 three
-four
 five
 six
";
        let diff = Diff::read(diff.as_bytes().to_vec());
        let check = |lines, expected| assert_eq!(lines_after(&diff, "a.py", lines), expected);
        check((1, 1), (2, 2));
        check((2, 2), (3, 4));
        check((1, 3), (2, 5));
        check((3, 3), (5, 5));
        check((4, 4), (6, 6));
        check((6, 6), (7, 7));
        assert_eq!(lines_after(&diff, "b.py", (2, 3)), (2, 3));
        // The changes replace line 2, delete line 4, and add a line before the first one.
        let is_changed = |line| changes_lines(&diff, "a.py", (line, line));
        assert_eq!([1, 2, 3, 4, 5, 6].map(is_changed), [true, true, false, true, false, false]);
        assert!(changes_lines(&diff, "a.py", (3, 4)));
        assert!(!changes_lines(&diff, "b.py", (2, 2)));
    }

    #[test]
    fn diff_changes_are_grouped_into_runs() {
        let diff = "\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,5 +1,6 @@
-one
+1
+1.5
 two
-three
 four
+4.5
 five
@@ -9,0 +10,1 @@
+ten
";
        let diff = Diff::read(diff.as_bytes().to_vec());
        let expected = [(0, 1, 2), (2, 1, 0), (4, 0, 1), (9, 0, 1)]
            .map(|(at, were, are)| LineChange { at, were, are });
        assert_eq!(changed(&diff, "a.py"), expected);
        assert_eq!(changed(&diff, "b.py"), []);
    }
}
