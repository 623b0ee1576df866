//! Coverage: every file of the diff has a row, and a file counts as reviewed only if runs covered
//! all of its changed lines.

use std::collections::{BTreeMap, BTreeSet};

use super::unique;
use crate::assignment::is_static;
use crate::change_under_review::ChangeUnderReview;
use crate::checks::NOT_ALL_CHECKS_RAN;
use crate::runs::{RunEnd, RunRecord};
use crate::scope::{MODE_LINK, ScopeDecision, ScopeNote, SkipEffect, SkipReason};
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_review::report::{CoverageState, FileCoverage};

/// Why a file with a new path or mode counts as partly reviewed.
const MOVED_INTO_USE: &str =
    "its new path or mode lets it run, and reviewers read its changed lines only";

/// Why a symlink counts as partly reviewed.
const LINKED_INTO_USE: &str = "content that the diff does not show may run through this symlink";

/// Why a symlink without a target counts as partly reviewed.
const LINK_LOOP: &str = "a symlink that leads back to itself, or through too many other symlinks";

/// Why a file counts as partly reviewed if a check failed. The report lists the failure once, with
/// its reason.
const UNREAD_BY_CHECK: &str = "a failed check did not read it";

/// Why a file counts as partly reviewed if the prompt of its reviewer may be incomplete.
const PROMPT_CUT: &str = "the model server may have cut the prompt";

/// Suffix of a reason that names a failed run: `NAME failed`.
const FAILED: &str = " failed";

/// How the review ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewEnd {
    /// All runs ended by themselves.
    Completed,
    /// The user cancelled the review.
    Stopped,
}

/// Coverage of one file by one run.
struct CoverageClaim<'a> {
    state: CoverageState,
    reasons: Vec<&'a str>,
    /// Assigned lines of the numbered diff. None for the whole file.
    lines: Option<Vec<(u32, u32)>>,
}

/// Coverage of each file, in diff order, by the runs that count as review. A file that a static
/// check could check only in part is not fully reviewed, even if a model read it.
pub(crate) fn coverage(
    change: &ChangeUnderReview,
    end: ReviewEnd,
    review_runs: &[&RunRecord],
    all_runs: &[&RunRecord],
) -> Vec<FileCoverage> {
    let diff = &change.diff;
    let unreadable_files: BTreeSet<usize> =
        diff.problems().iter().filter_map(|problem| diff.file_at(problem.line)).collect();
    let claims_by_path = coverage_claims(review_runs);
    let check_gaps = check_gaps(review_runs, all_runs);
    let files = change.scope.files.iter().zip(diff.files()).enumerate();
    files
        .map(|(index, (scope_file, file))| {
            let path = file.path.shown().into_owned();
            let (state, reason) = match &scope_file.decision {
                ScopeDecision::Out(reason @ SkipReason::ReviewedBefore { .. }) => {
                    (CoverageState::ReviewedBefore, reason.sentence())
                }
                ScopeDecision::Out(reason) => match scope_file.effect {
                    SkipEffect::Incomplete => (CoverageState::NotReviewed, reason.sentence()),
                    SkipEffect::Harmless | SkipEffect::Accepted => {
                        (CoverageState::OutOfScope, reason.sentence())
                    }
                },
                ScopeDecision::In => {
                    let claims =
                        claims_by_path.get(path.as_str()).map(Vec::as_slice).unwrap_or_default();
                    match file_coverage(diff, end, file, claims) {
                        (CoverageState::Reviewed, _) if unreadable_files.contains(&index) => {
                            let reason = "part of its diff is unreadable".to_owned();
                            (CoverageState::Truncated, reason)
                        }
                        (CoverageState::Reviewed, _) if check_gaps.contains_key(path.as_str()) => {
                            let reason = check_gaps.get(path.as_str()).copied().unwrap_or_default();
                            (CoverageState::Truncated, reason.to_owned())
                        }
                        (CoverageState::Reviewed, _)
                            if scope_file.effect == SkipEffect::Incomplete =>
                        {
                            let is_link = file.new_mode == Some(MODE_LINK);
                            let reason = if scope_file.notes.contains(&ScopeNote::LinkLoop) {
                                LINK_LOOP
                            } else if is_link {
                                LINKED_INTO_USE
                            } else {
                                MOVED_INTO_USE
                            };
                            (CoverageState::Truncated, reason.to_owned())
                        }
                        other => other,
                    }
                }
            };
            FileCoverage { path, state, reason }
        })
        .collect()
}

/// Files that a static check could check only in part, or not at all for want of a repository, with
/// the reason. With the strategy `static`, also files that one of the checks did not read, since no
/// check replaces another.
fn check_gaps<'a>(
    review_runs: &[&'a RunRecord],
    all_runs: &[&'a RunRecord],
) -> BTreeMap<&'a str, &'a str> {
    let mut gaps = BTreeMap::new();
    for run in review_runs.iter().filter(|run| is_static(&run.assignment.name)) {
        let unread = run.coverage.iter().filter(|file| file.state == CoverageState::NotReviewed);
        gaps.extend(unread.map(|file| {
            let reason = match run.ended {
                RunEnd::Failed(_) => UNREAD_BY_CHECK,
                RunEnd::Completed | RunEnd::Cancelled => file.reason.as_str(),
            };
            (file.path.as_str(), reason)
        }));
    }
    for run in all_runs.iter().filter(|run| run.not_run.is_some()) {
        gaps.extend(run.coverage.iter().map(|file| (file.path.as_str(), NOT_ALL_CHECKS_RAN)));
    }
    for run in all_runs.iter().filter(|run| is_static(&run.assignment.name)) {
        let partly = run.coverage.iter().filter(|file| file.state == CoverageState::Truncated);
        gaps.extend(partly.map(|file| (file.path.as_str(), file.reason.as_str())));
    }
    gaps
}

/// Coverage of each file by each run. If a run got several pieces of a file, the worst state
/// counts.
fn coverage_claims<'a>(review_runs: &[&'a RunRecord]) -> BTreeMap<&'a str, Vec<CoverageClaim<'a>>> {
    let mut claims_by_path: BTreeMap<&str, Vec<CoverageClaim<'_>>> = BTreeMap::new();
    for record in review_runs {
        let lines_by_path = assigned_lines(record);
        let mut claims_of_run: BTreeMap<&str, CoverageClaim<'_>> = BTreeMap::new();
        for file in &record.coverage {
            let claim = claims_of_run.entry(&file.path).or_insert_with(|| CoverageClaim {
                state: CoverageState::Reviewed,
                reasons: Vec::new(),
                lines: lines_by_path.get(file.path.as_str()).cloned().flatten(),
            });
            if rank(file.state) < rank(claim.state) {
                claim.state = file.state;
            }
            claim.reasons.push(&file.reason);
            if record.may_have_cut_prompt && claim.state == CoverageState::Reviewed {
                claim.state = CoverageState::Truncated;
                claim.reasons.push(PROMPT_CUT);
            }
        }
        for (path, claim) in claims_of_run {
            claims_by_path.entry(path).or_default().push(claim);
        }
    }
    claims_by_path
}

/// Assigned lines of each file. None if the run got the whole file.
fn assigned_lines(record: &RunRecord) -> BTreeMap<&str, Option<Vec<(u32, u32)>>> {
    let mut lines_by_path: BTreeMap<&str, Option<Vec<(u32, u32)>>> = BTreeMap::new();
    for part in &record.assignment.parts {
        let lines = lines_by_path.entry(&part.path).or_insert_with(|| Some(Vec::new()));
        match (lines, part.diff_lines) {
            (Some(lines), Some(piece)) => lines.push(piece),
            (lines, None) => *lines = None,
            (None, Some(_)) => {}
        }
    }
    lines_by_path
}

/// `Reviewed` if a run reviewed the whole file or the reviewed pieces have all changed lines,
/// `Truncated` if runs reviewed only some of them, otherwise `NotReviewed`. The text is the reason.
fn file_coverage(
    diff: &Diff,
    end: ReviewEnd,
    file: &FileDiff,
    claims: &[CoverageClaim<'_>],
) -> (CoverageState, String) {
    if claims.is_empty() {
        let reason = match end {
            ReviewEnd::Stopped => "the review was cancelled before it was reviewed",
            ReviewEnd::Completed => "not assigned to any reviewer",
        };
        return (CoverageState::NotReviewed, reason.to_owned());
    }
    let has_state = |state| claims.iter().any(|claim| claim.state == state);
    let covers_whole_file = |claim: &&CoverageClaim<'_>| {
        claim.state == CoverageState::Reviewed && claim.lines.is_none()
    };
    if claims.iter().any(|claim| covers_whole_file(&claim)) || pieces_cover_file(diff, file, claims)
    {
        return (CoverageState::Reviewed, String::new());
    }
    let shows_change = |claim: &CoverageClaim<'_>| {
        let pieces = claim.lines.as_deref().unwrap_or_default();
        claim.state == CoverageState::Reviewed
            && changed_lines(diff, file).any(|line| is_in_pieces(pieces, line))
    };
    // A piece may have only the header of a file's diff.
    let state = if claims.iter().any(shows_change) || has_state(CoverageState::Truncated) {
        CoverageState::Truncated
    } else {
        CoverageState::NotReviewed
    };
    let reasons = unique(claims.iter().flat_map(|claim| claim.reasons.iter().copied()));
    let reason = match reasons.is_empty() {
        true => "part of it was not assigned to any reviewer".to_owned(),
        false => join_reasons(&reasons),
    };
    (state, reason)
}

/// Reasons in one line. Reasons that name a failed run are combined: `a, b failed`.
fn join_reasons(reasons: &[String]) -> String {
    let failed_name = |reason: &str| reason.strip_suffix(FAILED).map(str::to_owned);
    let failed: Vec<String> = reasons.iter().filter_map(|reason| failed_name(reason)).collect();
    let failed = (!failed.is_empty()).then(|| format!("{}{FAILED}", failed.join(", ")));
    let others = reasons.iter().filter(|reason| !reason.ends_with(FAILED)).cloned();
    failed.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

/// Whether every changed line of a file is in a piece that was reviewed.
fn pieces_cover_file(diff: &Diff, file: &FileDiff, claims: &[CoverageClaim<'_>]) -> bool {
    let reviewed = claims.iter().filter(|claim| claim.state == CoverageState::Reviewed);
    let pieces: Vec<(u32, u32)> =
        reviewed.filter_map(|claim| claim.lines.as_deref()).flatten().copied().collect();
    !pieces.is_empty() && changed_lines(diff, file).all(|line| is_in_pieces(&pieces, line))
}

/// Numbers of the added and removed lines of a file in the numbered diff.
fn changed_lines(diff: &Diff, file: &FileDiff) -> impl Iterator<Item = u32> {
    let lines = file.hunks.iter().flat_map(move |hunk| diff.lines(hunk));
    let changed = lines.filter(|line| match line.kind {
        LineKind::Added | LineKind::Removed => true,
        LineKind::Context | LineKind::Remark => false,
    });
    changed.map(|line| line.number)
}

fn is_in_pieces(pieces: &[(u32, u32)], line: u32) -> bool {
    pieces.iter().any(|(first, last)| (*first..=*last).contains(&line))
}

/// Rank of a state: a higher number means that more of the file was read. Runs report neither
/// `OutOfScope` nor `ReviewedBefore`.
fn rank(state: CoverageState) -> u8 {
    match state {
        CoverageState::NotReviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => 0,
        CoverageState::Truncated => 1,
        CoverageState::Reviewed => 2,
    }
}
