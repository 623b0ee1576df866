//! Remaining work of a resumed review. While fixes are in the checkout, crh does not review it
//! again, because a new report would not contain the fixes.

use super::progress;
use super::session::ReviewSession;
use crate::commands::run_lookup;
use crate::failure::Failure;
use crate::fix::{AppliedFixes, UpdateStorage};
use crate::ui::questions::TerminalPrompt;
use crate::{fix, interactive, ui};
use crh_review::report::Report;
use crh_review::verdict::is_incomplete;

pub(super) enum RemainingWork {
    /// The review and everything after it.
    Review,
    /// Everything after the report.
    Rest(Report),
    Nothing(Report),
}

impl RemainingWork {
    pub(super) fn find(
        session: &ReviewSession,
        person: Option<&TerminalPrompt>,
    ) -> Result<Self, Failure> {
        let Some(run) = session.place.folder() else { return Ok(Self::Review) };
        let applied_fixes = AppliedFixes::load(run)?;
        if let Some(mode) = progress::final_mode(run) {
            let report = stored_report(session)?;
            let is_incomplete = is_incomplete(&report, session.terms.command);
            return match (is_incomplete && applied_fixes.is_empty(), mode == session.terms.mode) {
                (true, _) => Ok(Self::Review),
                (false, true) => {
                    if is_incomplete {
                        let run = ui::shell_word(&run.run_id());
                        ui::note(&format!(
                            "the review is incomplete; run `crh fix --undo {run}` to undo its fixes, then resume it"
                        ));
                    }
                    Ok(Self::Nothing(report))
                }
                (false, false) => {
                    Err(Failure::usage(format!("the run has finished in mode `{mode}`"))
                        .hint("leave out `--mode` to see it again, or fix more with `crh fix RUN`"))
                }
            };
        }
        let left = person.map(|_| interactive::left_open(session)).transpose()?.flatten();
        match left {
            Some(report) => Ok(Self::Rest(report)),
            None if applied_fixes.is_empty() => Ok(Self::Review),
            // Another command applied these fixes. If the user left the questions, crh would undo
            // them, too.
            None if person.is_some() => Err(interactive::others_fixes()),
            None => stored_report(session).map(Self::Rest),
        }
    }
}

/// The stored report, updated from the journals and the checkout.
fn stored_report(session: &ReviewSession) -> Result<Report, Failure> {
    let Some(run) = session.place.folder() else { return Ok(Report::default()) };
    let mut report = run.report().map_err(run_lookup::folder_failure)?;
    fix::update_report(session, &mut report, UpdateStorage::Stored)?;
    Ok(report)
}
