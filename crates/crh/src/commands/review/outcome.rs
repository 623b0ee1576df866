//! What a finished review means for whoever started it: the exit code.

use std::process::ExitCode;

use crh_review::finding::Severity;
use crh_review::report::{Report, Status};
use crh_review::verdict::{Asked, is_incomplete};

/// What the user said about which reviews are good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bar {
    /// The mildest severity that fails; none if nothing does.
    pub(super) fail_on: Option<Severity>,
    /// What becomes of a review that is incomplete.
    pub(super) incomplete: Incomplete,
    /// Whether a review was asked for, or only checks.
    pub(super) asked: Asked,
}

/// What becomes of a review that is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incomplete {
    Fails,
    Passes,
}

/// How a review came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Finished,
    Interrupted,
}

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    NothingReviewed,
    Incomplete,
    Interrupted,
}

impl Outcome {
    /// The first that fits. `worst` is the worst that is open, whether or not the report shows it.
    pub(super) fn of(report: &Report, worst: Option<Severity>, bar: Bar, end: End) -> Self {
        let fails = |severity: Severity| bar.fail_on.is_some_and(|mildest| severity <= mildest);
        if end == End::Interrupted {
            Self::Interrupted
        } else if worst.is_some_and(fails) {
            Self::Failed
        } else if report.status == Status::Error {
            Self::NothingReviewed
        } else if is_incomplete(report, bar.asked) && bar.incomplete == Incomplete::Fails {
            Self::Incomplete
        } else {
            Self::Passed
        }
    }

    pub(super) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::NothingReviewed => 3,
            Self::Incomplete => 4,
            Self::Interrupted => 130,
        })
    }
}

/// The worst severity that is open, over what is shown and what was only cut off or hidden.
pub(super) fn worst_open(report: &Report) -> Option<Severity> {
    let shown = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    let shown = shown.map(|issue| issue.severity);
    let hidden = report.withheld();
    let hidden = hidden.filter_map(|dropped| Some(dropped.member.as_ref()?.finding.severity));
    shown.chain(hidden).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_review::report::{CoverageState, FileCoverage, Strategy};

    const USUAL: Bar =
        Bar { fail_on: Some(Severity::P1), incomplete: Incomplete::Fails, asked: Asked::Review };

    fn complete() -> Report {
        Report { strategy: Strategy::Delegate, status: Status::Ok, ..Report::default() }
    }

    fn check(report: &Report, worst: Option<Severity>, bar: Bar, expected: Outcome) {
        assert_eq!(Outcome::of(report, worst, bar, End::Finished), expected, "{worst:?} {bar:?}");
        assert_eq!(Outcome::of(report, worst, bar, End::Interrupted), Outcome::Interrupted);
    }

    #[test]
    fn only_what_is_as_bad_as_the_bar_fails() {
        let report = complete();
        check(&report, None, USUAL, Outcome::Passed);
        check(&report, Some(Severity::P0), USUAL, Outcome::Failed);
        check(&report, Some(Severity::P1), USUAL, Outcome::Failed);
        check(&report, Some(Severity::P2), USUAL, Outcome::Passed);
        check(&report, Some(Severity::P0), Bar { fail_on: None, ..USUAL }, Outcome::Passed);
    }

    #[test]
    fn a_review_that_saw_too_little_does_not_pass() {
        let (path, reason) = ("a.py".to_owned(), String::new());
        let file = FileCoverage { path, state: CoverageState::NotReviewed, reason };
        let report = Report { coverage: vec![file], ..complete() };
        let allowed = Bar { incomplete: Incomplete::Passes, ..USUAL };
        check(&report, None, USUAL, Outcome::Incomplete);
        check(&report, None, allowed, Outcome::Passed);
        check(&report, Some(Severity::P1), USUAL, Outcome::Failed);
        let checks = Report { strategy: Strategy::Static, ..complete() };
        check(&checks, None, USUAL, Outcome::Incomplete);
        check(&checks, None, Bar { asked: Asked::Checks, ..USUAL }, Outcome::Passed);
    }

    #[test]
    fn a_review_in_which_every_run_failed_never_passes() {
        let report = Report { status: Status::Error, ..complete() };
        let allowed = Bar { incomplete: Incomplete::Passes, ..USUAL };
        check(&report, None, allowed, Outcome::NothingReviewed);
        check(&report, Some(Severity::P0), USUAL, Outcome::Failed);
    }
}
