//! Remaining work of a resumed review. While fixes are in the checkout, nothing is reviewed again:
//! a new report would not know them.

use super::begin::Begun;
use super::progress;
use crate::commands::run_lookup;
use crate::failure::Failure;
use crate::fix::Standing;
use crate::ui::questions::TerminalPrompt;
use crate::{fix, interactive, ui};
use crh_review::report::Report;
use crh_review::verdict::is_incomplete;

pub(super) enum Remains {
    /// The review and everything after it.
    Review,
    /// Everything after the report.
    Rest(Report),
    Nothing(Report),
}

impl Remains {
    pub(super) fn of(begun: &Begun, person: Option<&TerminalPrompt>) -> Result<Self, Failure> {
        let Some(run) = begun.place.folder() else { return Ok(Self::Review) };
        let standing = Standing::of(run)?;
        if let Some(mode) = progress::ended_in(run) {
            let report = stored(begun)?;
            let is_incomplete = is_incomplete(&report, begun.terms.command);
            return match (is_incomplete && standing.is_empty(), mode == begun.terms.mode) {
                (true, _) => Ok(Self::Review),
                (false, true) => {
                    if is_incomplete {
                        let run = run.run_id();
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
        let left = person.map(|_| interactive::left_open(begun)).transpose()?.flatten();
        match left {
            Some(report) => Ok(Self::Rest(report)),
            None if standing.is_empty() => Ok(Self::Review),
            // Leaving the questions would undo these fixes.
            None if person.is_some() => Err(interactive::others_fixes()),
            None => stored(begun).map(Self::Rest),
        }
    }
}

/// The stored report, updated from the journals.
fn stored(begun: &Begun) -> Result<Report, Failure> {
    let Some(run) = begun.place.folder() else { return Ok(Report::default()) };
    let mut report = run.report().map_err(run_lookup::folder_failure)?;
    fix::settled(begun, &mut report)?;
    Ok(report)
}
