//! Whether a review of the fixes follows. It verifies fixes that require verification.

use std::collections::BTreeSet;

use super::outcome::Left;
use super::{Asker, wanted};
use crate::commands::review::Begun;
use crh_review::report::{Report, ReviewMode};

const NO_VERIFICATION: &str = "its fix changes behaviour, so crh needs a test command: pass `--verify COMMAND` or set `fix.verify`";

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
            _ if begun.crew.is_none() => Self::None,
            (Asker::Questions, _) | (Asker::Mode, ReviewMode::Autofix) => Self::Follows,
            (
                Asker::Mode,
                ReviewMode::Interactive | ReviewMode::Headless | ReviewMode::ReportOnly,
            )
            | (Asker::Command, _) => Self::None,
        }
    }
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
