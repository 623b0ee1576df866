//! Marks fixed files in the coverage of the report until a repeated review has covered their fixes.
//! crh stores the marks together with the fixes, so a run that is killed before the end of the
//! repeated review does not look complete.

use std::collections::BTreeSet;

use super::REVIEWED;
use crate::commands::review::session::ReviewSession;
use crh_review::report::{CoverageState, FileCoverage, FixReviewGap, Report, Status};

/// Coverage reason of a file if the repeated review of its fix did not end.
const FIX_REVIEW_STOPPED: &str = "the repeated review of its fix was stopped";
/// Coverage reason of a file whose fix was not fully reviewed.
const FIX_NOT_REVIEWED: &str = "the repeated review of its fix is incomplete";

/// How the repeated review of fixes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixReviewEnd {
    /// It has not ended, or something stopped it.
    Stopped,
    /// It ended with this status.
    Ended(Status),
}

/// Marks fixed files that a repeated review did not cover, as [`mark_coverage`].
pub(crate) fn mark_files(
    session: &ReviewSession,
    report: &mut Report,
    changed: &BTreeSet<String>,
    unreviewed: &BTreeSet<String>,
    end: FixReviewEnd,
) {
    let first = session.place.folder().and_then(|run| run.read::<Report>(REVIEWED).ok());
    // Without the report of the first review, the marks stay, and the review is incomplete.
    let first = first.unwrap_or_else(|| report.clone());
    mark_coverage(report, &first, changed, unreviewed, end);
}

/// Marks fixed files as partly reviewed, so that the review is incomplete, and sets the status. A
/// later review that covers the files removes the marks: the coverage and the status of the `first`
/// review apply again.
fn mark_coverage(
    report: &mut Report,
    first: &Report,
    changed: &BTreeSet<String>,
    unreviewed: &BTreeSet<String>,
    end: FixReviewEnd,
) {
    let is_mark =
        |gap: &FixReviewGap| changed.contains(&gap.path) && !first.fix_review_gaps.contains(gap);
    report.coverage.retain_mut(|file| {
        if !report.fix_review_gaps.iter().any(|gap| gap.path == file.path && is_mark(gap)) {
            return true;
        }
        match first.coverage.iter().find(|row| row.path == file.path) {
            Some(row) => {
                *file = row.clone();
                true
            }
            None => false,
        }
    });
    report.fix_review_gaps.retain(|gap| !is_mark(gap));
    let earlier = report.fix_review_gaps.iter().map(|gap| gap.status).max();
    let (is_stopped, status) = match end {
        FixReviewEnd::Stopped => (true, Status::Truncated),
        // The first review has results.
        FixReviewEnd::Ended(Status::Error) => (false, Status::Degraded),
        FixReviewEnd::Ended(status) => (false, status),
    };
    for path in unreviewed {
        let (state, reason) = (CoverageState::Truncated, mark_reason(is_stopped).to_owned());
        let mark = FileCoverage { path: path.clone(), state, reason };
        let gap = report.fix_review_gaps.iter().find(|gap| gap.path == *path);
        let old_reason = gap.map(|gap| mark_reason(gap.is_stopped));
        match report.coverage.iter_mut().find(|file| file.path == *path) {
            Some(file) => add_mark(file, mark, old_reason),
            None => report.coverage.push(mark),
        }
        report.fix_review_gaps.retain(|gap| gap.path != *path);
        report.fix_review_gaps.push(FixReviewGap { path: path.clone(), is_stopped, status });
    }
    report.status = first.status.max(status).max(earlier.unwrap_or_default());
}

fn mark_reason(is_stopped: bool) -> &'static str {
    if is_stopped { FIX_REVIEW_STOPPED } else { FIX_NOT_REVIEWED }
}

/// Adds a mark to the coverage of a file, instead of an earlier mark with `old_reason`. A file that
/// the first review did not fully cover keeps its state and its reason.
fn add_mark(file: &mut FileCoverage, mark: FileCoverage, old_reason: Option<&str>) {
    match file.state {
        CoverageState::Reviewed | CoverageState::ReviewedBefore | CoverageState::OutOfScope => {
            *file = mark;
        }
        CoverageState::Truncated | CoverageState::NotReviewed => {
            let without_mark = old_reason.and_then(|old| file.reason.strip_suffix(old));
            file.reason = match without_mark {
                Some(reason) => format!("{reason}{}", mark.reason),
                None => format!("{}; {}", file.reason, mark.reason),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_review_marks_files_until_it_covers_them() {
        let row = |path: &str, state: CoverageState, reason: &str| FileCoverage {
            path: path.to_owned(),
            state,
            reason: reason.to_owned(),
        };
        let first = Report {
            coverage: vec![
                row("a", CoverageState::Reviewed, ""),
                row("b", CoverageState::Truncated, "too large"),
                row("c", CoverageState::OutOfScope, "outside the paths under review"),
            ],
            ..Report::default()
        };
        let files = |names: &[&str]| -> BTreeSet<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let (changed, none) = (files(&["a", "b", "c", "new"]), BTreeSet::new());
        let mut report = first.clone();
        mark_coverage(&mut report, &first, &changed, &changed, FixReviewEnd::Stopped);
        let cut = CoverageState::Truncated;
        let both = format!("too large; {FIX_REVIEW_STOPPED}");
        let stopped = [
            row("a", cut, FIX_REVIEW_STOPPED),
            row("b", cut, &both),
            row("c", cut, FIX_REVIEW_STOPPED),
            row("new", cut, FIX_REVIEW_STOPPED),
        ];
        assert_eq!((report.coverage.as_slice(), report.status), (&stopped[..], Status::Truncated));
        let mut failed = report.clone();
        let end = FixReviewEnd::Ended(Status::Error);
        mark_coverage(&mut failed, &first, &changed, &files(&["a"]), end);
        let rows = [vec![row("a", cut, FIX_NOT_REVIEWED)], first.coverage[1..].to_vec()].concat();
        assert_eq!((failed.coverage.as_slice(), failed.status), (&rows[..], Status::Degraded));
        let gap =
            FixReviewGap { path: "a".to_owned(), is_stopped: false, status: Status::Degraded };
        assert_eq!(failed.fix_review_gaps, [gap]);
        // A later review of another file does not cover this one.
        let end = FixReviewEnd::Ended(Status::Ok);
        mark_coverage(&mut failed, &first, &files(&["b"]), &none, end);
        assert_eq!(failed.status, Status::Degraded);
        mark_coverage(&mut report, &first, &changed, &none, end);
        assert_eq!(report, first);
    }

    #[test]
    fn repeated_mark_without_the_first_report_replaces_the_earlier_one() {
        let row = |path: &str, reason: &str| FileCoverage {
            path: path.to_owned(),
            state: CoverageState::Truncated,
            reason: reason.to_owned(),
        };
        let mut report = Report { coverage: vec![row("b", "too large")], ..Report::default() };
        let changed = BTreeSet::from(["b".to_owned(), "new".to_owned()]);
        let mut mark = |end: FixReviewEnd, reason: &str| {
            let current = report.clone();
            mark_coverage(&mut report, &current, &changed, &changed, end);
            let both = format!("too large; {reason}");
            assert_eq!(report.coverage, [row("b", &both), row("new", reason)]);
        };
        mark(FixReviewEnd::Stopped, FIX_REVIEW_STOPPED);
        mark(FixReviewEnd::Stopped, FIX_REVIEW_STOPPED);
        mark(FixReviewEnd::Ended(Status::Degraded), FIX_NOT_REVIEWED);
    }
}
