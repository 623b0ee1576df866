//! What was reviewed of each file: every file of the diff has a row, and none is called reviewed for what nobody saw.

use std::collections::{BTreeMap, BTreeSet};

use super::unique;
use crate::runs::RunRecord;
use crate::scope::{Decision, Reason};
use crate::subject::Subject;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_review::report::{CoverageState, FileCoverage};

/// How the runs came to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By themselves.
    Reached,
    /// The user stopped the review.
    Stopped,
}

/// What one run says about one file.
struct Said<'a> {
    state: CoverageState,
    reasons: Vec<&'a String>,
    /// The lines of the numbered diff that it was given; none if it was the whole file.
    lines: Option<Vec<(u32, u32)>>,
}

/// What was reviewed of each file of the diff, in its order, by the runs that count.
pub(crate) fn coverage(subject: &Subject, end: End, counting: &[&RunRecord]) -> Vec<FileCoverage> {
    let diff = &subject.diff;
    let unread: BTreeSet<usize> =
        diff.problems().iter().filter_map(|problem| diff.file_at(problem.line)).collect();
    let said = said(counting);
    let files = subject.scope.files.iter().zip(diff.files()).enumerate();
    files
        .map(|(at, (scoped, file))| {
            let path = file.path.shown().into_owned();
            let (state, reason) = match &scoped.decision {
                Decision::Out(reason @ Reason::ReviewedBefore { .. }) => {
                    (CoverageState::ReviewedBefore, reason.sentence())
                }
                Decision::Out(reason) => (CoverageState::OutOfScope, reason.sentence()),
                Decision::In => {
                    let said = said.get(path.as_str()).map(Vec::as_slice).unwrap_or_default();
                    match of_file(diff, end, file, said) {
                        (CoverageState::Reviewed, _) if unread.contains(&at) => {
                            let reason = "a part of its diff cannot be read".to_owned();
                            (CoverageState::Truncated, reason)
                        }
                        other => other,
                    }
                }
            };
            FileCoverage { path, state, reason }
        })
        .collect()
}

/// What each run says about each file. Of a file that a run was given in several pieces, it is the worst.
fn said<'a>(counting: &[&'a RunRecord]) -> BTreeMap<&'a str, Vec<Said<'a>>> {
    let mut all: BTreeMap<&str, Vec<Said<'_>>> = BTreeMap::new();
    for record in counting {
        let given = lines_given(record);
        let mut of_run: BTreeMap<&str, Said<'_>> = BTreeMap::new();
        for file in &record.coverage {
            let said = of_run.entry(&file.path).or_insert_with(|| Said {
                state: CoverageState::Reviewed,
                reasons: Vec::new(),
                lines: given.get(file.path.as_str()).cloned().flatten(),
            });
            if rank(file.state) < rank(said.state) {
                said.state = file.state;
            }
            said.reasons.push(&file.reason);
        }
        for (path, said) in of_run {
            all.entry(path).or_default().push(said);
        }
    }
    all
}

/// The lines of each file that a run was given; none of a file that it was given as a whole.
fn lines_given(record: &RunRecord) -> BTreeMap<&str, Option<Vec<(u32, u32)>>> {
    let mut given: BTreeMap<&str, Option<Vec<(u32, u32)>>> = BTreeMap::new();
    for part in &record.assignment.parts {
        let lines = given.entry(&part.path).or_insert_with(|| Some(Vec::new()));
        match (lines, part.diff_lines) {
            (Some(lines), Some(piece)) => lines.push(piece),
            (lines, None) => *lines = None,
            (None, Some(_)) => {}
        }
    }
    given
}

/// The best that is said of a file as a whole, or what the pieces of it add up to.
fn of_file(diff: &Diff, end: End, file: &FileDiff, said: &[Said<'_>]) -> (CoverageState, String) {
    if said.is_empty() {
        let reason = match end {
            End::Stopped => "the review was stopped before anyone had looked at it",
            End::Reached => "nobody was given it",
        };
        return (CoverageState::NotReviewed, reason.to_owned());
    }
    let has = |state| said.iter().any(|said| said.state == state);
    let whole = |said: &&Said<'_>| said.state == CoverageState::Reviewed && said.lines.is_none();
    if said.iter().any(|said| whole(&said)) || pieces_are_all(diff, file, said) {
        return (CoverageState::Reviewed, String::new());
    }
    let state = if has(CoverageState::Reviewed) || has(CoverageState::Truncated) {
        CoverageState::Truncated
    } else {
        CoverageState::NotReviewed
    };
    let reasons = unique(said.iter().flat_map(|said| said.reasons.iter().copied()));
    let reason = match reasons.is_empty() {
        true => "a part of it was given to nobody".to_owned(),
        false => reasons.join("; "),
    };
    (state, reason)
}

/// Whether every changed line of a file is in a piece that was reviewed.
fn pieces_are_all(diff: &Diff, file: &FileDiff, said: &[Said<'_>]) -> bool {
    let reviewed = said.iter().filter(|said| said.state == CoverageState::Reviewed);
    let pieces: Vec<(u32, u32)> =
        reviewed.filter_map(|said| said.lines.as_deref()).flatten().copied().collect();
    let lines = file.hunks.iter().flat_map(|hunk| diff.lines(hunk));
    let mut changed = lines.filter(|line| match line.kind {
        LineKind::Added | LineKind::Removed => true,
        LineKind::Context | LineKind::Remark => false,
    });
    let is_in = |number: u32| pieces.iter().any(|(first, last)| (*first..=*last).contains(&number));
    !pieces.is_empty() && changed.all(|line| is_in(line.number))
}

/// The more of a file was seen, the higher. No run decides what is out of scope.
fn rank(state: CoverageState) -> u8 {
    match state {
        CoverageState::NotReviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => 0,
        CoverageState::Truncated => 1,
        CoverageState::Reviewed => 2,
    }
}
