//! How far a mode has come with its fixes: whoever was ended in the middle goes on from there.

use serde::{Deserialize, Serialize};

use super::begin::Begun;
use crate::{fix, interactive, ui};
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::Mode;

/// Where a run keeps it.
const FIXING: &str = "stages/fixing.json";

/// How far fixing has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// How many rounds are over.
    pub(super) rounds: u32,
    /// The last fix of them, by its number: those after it were not looked at again.
    pub(super) looked_at: u32,
    /// Whether what is safe was tried: what was left then would be left again.
    #[serde(default)]
    pub(super) has_tried: bool,
    /// The mode in which all was done that there was to do; none as long as it was not.
    pub(super) ended_in: Option<Mode>,
}

/// The mode in which a run has come to its end; none if it has not.
pub(super) fn ended_in(run: &RunFolder) -> Option<Mode> {
    let fixing: Progress = run.read(FIXING).unwrap_or_default();
    fixing.ended_in.or_else(|| interactive::is_answered(run).then_some(Mode::Interactive))
}

impl Progress {
    pub(super) fn of(begun: &Begun) -> Self {
        match (begun.terms.mode, begun.place.folder()) {
            (Mode::Autofix | Mode::Headless, Some(run)) => run.read(FIXING).unwrap_or_default(),
            // What questions have fixed is taken back before they come again.
            (Mode::Interactive | Mode::ReportOnly, _) | (_, None) => Self::default(),
        }
    }

    /// Begins anew, for a review that is gone on with: what it finds has numbers of its own.
    pub(super) fn begin_anew(begun: &Begun) {
        let Some(run) = begun.place.folder() else { return };
        let fixing = match run.read::<Self>(FIXING).unwrap_or_default() == Self::default() {
            true => Ok(()),
            false => run.store_as_it_is(FIXING, &Self::default()),
        };
        for problem in [
            fixing,
            fix::forget_found_on(run),
            fix::forget_left(run),
            interactive::forget_answers(run),
        ] {
            if let Err(problem) = problem {
                ui::warn(&problem.to_string());
            }
        }
    }

    pub(super) fn keep(self, begun: &Begun) {
        let run = match begun.terms.mode {
            Mode::Autofix | Mode::Headless => begun.place.folder(),
            Mode::Interactive | Mode::ReportOnly => None,
        };
        if let Some(run) = run
            && let Err(problem) = run.store_as_it_is(FIXING, &self)
        {
            ui::warn(&problem.to_string());
        }
    }
}
