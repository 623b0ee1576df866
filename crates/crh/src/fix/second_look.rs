//! Whether a review of the fixes follows. It verifies fixes that require verification.

use std::collections::BTreeSet;

use super::outcome::Left;
use super::{Asker, wanted};
use crate::commands::review::Begun;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::{Report, ReviewMode};

const NO_VERIFICATION: &str = "its fix changes behaviour, so crh needs a test command: pass `--verify COMMAND` or set `fix.verify`";

/// The fewest calls that a review needs: a finder and the editor.
const CALLS_MIN: u32 = 2;

/// Whether models review the fixes afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondLook {
    Follows,
    None,
}

impl SecondLook {
    pub(crate) fn after(begun: &Begun, asker: Asker) -> Self {
        match (asker, begun.terms.mode) {
            // Without a model, only the static checks would look, and they run on every fix.
            _ if begun.crew.is_none() || calls_left(begun) < CALLS_MIN => Self::None,
            (Asker::Questions, _) | (Asker::Mode, ReviewMode::Autofix) => Self::Follows,
            (
                Asker::Mode,
                ReviewMode::Interactive | ReviewMode::Headless | ReviewMode::ReportOnly,
            )
            | (Asker::Command, _) => Self::None,
        }
    }
}

/// Calls that the budget of the review has left.
fn calls_left(begun: &Begun) -> u32 {
    let spent = begun.place.folder().map(RunFolder::spent_before);
    // The second look reports an unreadable run folder.
    let spent = spent.and_then(Result::ok).map_or(0, |totals| totals.llm_calls);
    begun.terms.budget.llm_calls.saturating_sub(spent)
}

/// Open issues whose fix requires verification, if no command and no second look verifies it.
pub(crate) fn unverifiable(
    begun: &Begun,
    report: &Report,
    numbers: &BTreeSet<u32>,
    asker: Asker,
) -> Vec<Left> {
    let has_command = begun.settings.fix_verify.value.split().is_some();
    if has_command || SecondLook::after(begun, asker) == SecondLook::Follows {
        return Vec::new();
    }
    let (issues, _) = wanted(report, numbers);
    let needing = issues.into_iter().filter(|issue| issue.requires_verification);
    needing.map(|issue| Left::new(issue.number, NO_VERIFICATION)).collect()
}
