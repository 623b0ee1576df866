//! Determines the exit code of a finished review.

use std::process::ExitCode;

use crate::config::key::{ResolvedSetting, SettingOrigin};
use crate::config::review::FailOn;
use crh_review::finding::Severity;
use crh_review::report::{Report, Status};
use crh_review::verdict::{CommandKind, Verdict, is_incomplete};

/// Requirements for exit code 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExitRules {
    /// The mildest severity that fails. `None` if no severity does.
    pub(super) fail_on: Option<Severity>,
    pub(super) incomplete: IncompletePolicy,
    pub(super) command: CommandKind,
}

/// Whether an incomplete review fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IncompletePolicy {
    Fails,
    Passes,
}

/// How the review ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewEnding {
    Finished,
    Interrupted,
}

/// Result of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    NothingReviewed,
    Incomplete,
    Interrupted,
}

impl Outcome {
    /// The first result that applies. `worst` is the worst open severity, including hidden issues.
    pub(super) fn decide(
        report: &Report,
        worst: Option<Severity>,
        exit_rules: ExitRules,
        end: ReviewEnding,
    ) -> Self {
        let fails =
            |severity: Severity| exit_rules.fail_on.is_some_and(|mildest| severity <= mildest);
        if end == ReviewEnding::Interrupted {
            Self::Interrupted
        } else if worst.is_some_and(fails) {
            Self::Failed
        } else if report.status == Status::Error {
            Self::NothingReviewed
        } else if is_incomplete(report, exit_rules.command)
            && exit_rules.incomplete == IncompletePolicy::Fails
        {
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

/// The worst open severity, including hidden issues and those over the limit.
pub(super) fn worst_open(report: &Report) -> Option<Severity> {
    report.open_severities().min()
}

/// Why the exit code is 1, if the verdict asks for no fix. `worst` is the worst open severity.
pub(super) fn exit_reason(
    verdict: Verdict,
    worst: Severity,
    fail_on: &ResolvedSetting<FailOn>,
) -> Option<String> {
    match verdict {
        Verdict::NotReady | Verdict::ReadyWithFixes => return None,
        Verdict::Incomplete | Verdict::ReadyToMerge | Verdict::ChecksPassed => {}
    }
    let source = match fail_on.origins.as_slice() {
        [SettingOrigin::Flag(flag)] => *flag,
        _ => "review.fail_on",
    };
    let mildest = fail_on.value.threshold()?;
    Some(format!(
        "the exit code is 1, because `{source}` is {mildest} and an open issue is {worst}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_review::report::{CoverageState, FileCoverage, Strategy};

    const USUAL: ExitRules = ExitRules {
        fail_on: Some(Severity::P1),
        incomplete: IncompletePolicy::Fails,
        command: CommandKind::Review,
    };

    fn complete() -> Report {
        Report { strategy: Strategy::Delegate, status: Status::Ok, ..Report::default() }
    }

    fn check(report: &Report, worst: Option<Severity>, exit_rules: ExitRules, expected: Outcome) {
        assert_eq!(
            Outcome::decide(report, worst, exit_rules, ReviewEnding::Finished),
            expected,
            "{worst:?} {exit_rules:?}"
        );
        assert_eq!(
            Outcome::decide(report, worst, exit_rules, ReviewEnding::Interrupted),
            Outcome::Interrupted
        );
    }

    #[test]
    fn only_severities_at_the_bar_fail() {
        let report = complete();
        check(&report, None, USUAL, Outcome::Passed);
        check(&report, Some(Severity::P0), USUAL, Outcome::Failed);
        check(&report, Some(Severity::P1), USUAL, Outcome::Failed);
        check(&report, Some(Severity::P2), USUAL, Outcome::Passed);
        check(&report, Some(Severity::P0), ExitRules { fail_on: None, ..USUAL }, Outcome::Passed);
    }

    #[test]
    fn exit_code_of_a_passing_verdict_has_a_reason() {
        let reason = |verdict, origin| {
            let origins = vec![origin];
            let fail_on = ResolvedSetting { value: FailOn::P3, origins, milder: None };
            exit_reason(verdict, Severity::P3, &fail_on)
        };
        let file = || SettingOrigin::File { name: "crh.toml".to_owned(), line: 2 };
        assert_eq!(
            reason(Verdict::ChecksPassed, file()).as_deref(),
            Some("the exit code is 1, because `review.fail_on` is P3 and an open issue is P3")
        );
        assert_eq!(
            reason(Verdict::ReadyToMerge, SettingOrigin::Flag("--fail-on")).as_deref(),
            Some("the exit code is 1, because `--fail-on` is P3 and an open issue is P3")
        );
        assert_eq!(reason(Verdict::ReadyWithFixes, file()), None);
    }

    #[test]
    fn incomplete_review_does_not_pass() {
        let (path, reason) = ("a.py".to_owned(), String::new());
        let file = FileCoverage { path, state: CoverageState::NotReviewed, reason };
        let report = Report { coverage: vec![file], ..complete() };
        let allowed = ExitRules { incomplete: IncompletePolicy::Passes, ..USUAL };
        check(&report, None, USUAL, Outcome::Incomplete);
        check(&report, None, allowed, Outcome::Passed);
        check(&report, Some(Severity::P1), USUAL, Outcome::Failed);
        let checks = Report { strategy: Strategy::Static, ..complete() };
        check(&checks, None, USUAL, Outcome::Incomplete);
        check(&checks, None, ExitRules { command: CommandKind::Checks, ..USUAL }, Outcome::Passed);
    }

    #[test]
    fn review_without_any_result_never_passes() {
        let report = Report { status: Status::Error, ..complete() };
        let allowed = ExitRules { incomplete: IncompletePolicy::Passes, ..USUAL };
        check(&report, None, allowed, Outcome::NothingReviewed);
        check(&report, Some(Severity::P0), USUAL, Outcome::Failed);
    }
}
