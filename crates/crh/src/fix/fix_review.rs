//! Decides whether models review the fixes. Such a review verifies fixes that require verification.

use std::collections::BTreeSet;

use super::outcome::{SkipKind, SkippedIssue};
use super::repair::why_no_model;
use super::{FixOrigin, select_issues};
use crate::commands::review::session::ReviewSession;
use crh_pipeline::run_folder::RunFolder;
use crh_review::finding::AutofixClass;
use crh_review::report::{Issue, Report, ReviewMode};

const CHANGES_BEHAVIOUR: &str = "its fix changes behaviour, so crh needs a test command: pass `--verify COMMAND` or set `fix.verify`";
const NO_VERIFICATION: &str =
    "its fix needs verification: pass `--verify COMMAND` or set `fix.verify`";
const NO_CALLS: &str = "its fix needs verification, and the budget leaves no model calls for the review of the fix: raise `--max-llm-calls`, or pass `--verify COMMAND`";

/// The fewest calls that a review needs: one of a reviewer and one of the editor.
const CALLS_MIN: u32 = 2;

/// Whether models review the fixes afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixReviewPlan {
    Follows,
    /// The budget has too few calls left.
    NoCalls,
    None,
}

impl FixReviewPlan {
    pub(crate) fn after(session: &ReviewSession, asker: FixOrigin) -> Self {
        // Without a model, the review would run only static checks, which run on every fix anyway.
        if session.model_set.is_none() || !is_reviewed_again(asker, session.terms.mode) {
            return Self::None;
        }
        match calls_left(session) < CALLS_MIN {
            true => Self::NoCalls,
            false => Self::Follows,
        }
    }
}

/// Whether crh reviews fixes of this origin again, with models or with static checks only.
pub(super) fn is_reviewed_again(asker: FixOrigin, mode: ReviewMode) -> bool {
    match (asker, mode) {
        (FixOrigin::Questions, _) | (FixOrigin::Mode, ReviewMode::Autofix) => true,
        (
            FixOrigin::Mode,
            ReviewMode::Interactive | ReviewMode::Headless | ReviewMode::ReportOnly,
        )
        | (FixOrigin::Command, _) => false,
    }
}

impl FixReviewPlan {
    /// Why nothing verifies the fix of an issue of this class, without a period.
    fn gap(self, class: AutofixClass) -> &'static str {
        match (self, class) {
            (Self::NoCalls, _) => NO_CALLS,
            (Self::Follows | Self::None, AutofixClass::GatedAuto) => CHANGES_BEHAVIOUR,
            (
                Self::Follows | Self::None,
                AutofixClass::SafeAuto | AutofixClass::Manual | AutofixClass::Advisory,
            ) => NO_VERIFICATION,
        }
    }
}

/// Calls that the budget of the review has left.
fn calls_left(session: &ReviewSession) -> u32 {
    let spent = session.place.folder().map(RunFolder::spent_before);
    // The review of the fixes reports an unreadable run folder.
    let spent = spent.and_then(Result::ok).map_or(0, |totals| totals.llm_calls);
    session.terms.budget.llm_calls.saturating_sub(spent)
}

/// Open issues whose fix requires verification, if neither a command nor a review of the fixes
/// verifies it.
pub(crate) fn unverifiable(
    session: &ReviewSession,
    report: &Report,
    numbers: &BTreeSet<u32>,
    asker: FixOrigin,
) -> Vec<SkippedIssue> {
    let has_command = session.settings.fix_verify.value.split().is_some();
    let plan = FixReviewPlan::after(session, asker);
    if has_command || plan == FixReviewPlan::Follows {
        return Vec::new();
    }
    let (issues, _) = select_issues(report, numbers);
    let needing = issues.into_iter().filter(|issue| issue.requires_verification);
    let skipped = |issue: &Issue| {
        let mut why = plan.gap(issue.autofix_class).to_owned();
        if session.model_set.is_none() && !issue.has_exact_fix() {
            why = format!("{why}; also, {}", why_no_model(session));
        }
        SkippedIssue { kind: SkipKind::Unverifiable, ..SkippedIssue::new(issue.number, why) }
    };
    needing.map(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_names_what_is_missing_for_the_verification() {
        let check = |plan: FixReviewPlan, class, expected| assert_eq!(plan.gap(class), expected);
        check(FixReviewPlan::None, AutofixClass::GatedAuto, CHANGES_BEHAVIOUR);
        check(FixReviewPlan::None, AutofixClass::SafeAuto, NO_VERIFICATION);
        check(FixReviewPlan::NoCalls, AutofixClass::SafeAuto, NO_CALLS);
        check(FixReviewPlan::NoCalls, AutofixClass::GatedAuto, NO_CALLS);
    }
}
