//! What is left to be done of a review that goes on. Nothing is reviewed again over fixes that stand in the checkout: a new report
//! would know nothing of them.

use super::begin::Begun;
use super::progress;
use crate::commands::run_place;
use crate::failure::Failure;
use crate::fix::Standing;
use crate::ui::questions::Person;
use crate::{fix, interactive, ui};
use crh_review::report::Report;
use crh_review::verdict::is_incomplete;

/// What is left to be done.
pub(super) enum Remains {
    /// The review, and all that follows.
    Review,
    /// What follows the report.
    Rest(Report),
    /// Nothing.
    Nothing(Report),
}

impl Remains {
    pub(super) fn of(begun: &Begun, person: Option<&Person>) -> Result<Self, Failure> {
        let Some(run) = begun.place.folder() else { return Ok(Self::Review) };
        let standing = Standing::of(run)?;
        if let Some(mode) = progress::ended_in(run) {
            let report = stored(begun)?;
            let is_incomplete = is_incomplete(&report, begun.terms.asked);
            return match (is_incomplete && standing.is_empty(), mode == begun.terms.mode) {
                (true, _) => Ok(Self::Review),
                (false, true) => {
                    if is_incomplete {
                        let run = run.run_id();
                        ui::note(&format!(
                            "the review is not complete: once `crh fix --undo {run}` has taken back its fixes, it can go on"
                        ));
                    }
                    Ok(Self::Nothing(report))
                }
                (false, false) => {
                    Err(Failure::usage(format!("the run has ended in the mode `{mode}`"))
                        .hint("leave `--mode` out to see it again; `crh fix RUN` fixes more of it"))
                }
            };
        }
        let left = person.map(|_| interactive::left_open(begun)).transpose()?.flatten();
        match left {
            Some(report) => Ok(Self::Rest(report)),
            None if standing.is_empty() => Ok(Self::Review),
            // Whoever leaves the questions has everything taken back.
            None if person.is_some() => Err(interactive::others_fixes()),
            None => stored(begun).map(Self::Rest),
        }
    }
}

/// The report as it was left, brought to what stands in the checkout.
fn stored(begun: &Begun) -> Result<Report, Failure> {
    let Some(run) = begun.place.folder() else { return Ok(Report::default()) };
    let mut report = run.report().map_err(run_place::failed)?;
    fix::settled(begun, &mut report)?;
    Ok(report)
}
