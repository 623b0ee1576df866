//! Progress of the fix phase, so that an interrupted run can be resumed.

use serde::{Deserialize, Serialize};

use super::session::ReviewSession;
use crate::fix::found_on::forget_found_on;
use crate::fix::residual::forget_left;
use crate::interactive::stored_questions::{forget_answers, is_answered};
use crate::ui;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::ReviewMode;

/// File of the progress in the run folder.
const FIXING: &str = "stages/fixing.json";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Number of finished rounds.
    pub(super) rounds: u32,
    /// Number of the last fix that was reviewed again.
    #[serde(rename = "looked_at")]
    pub(super) reviewed_up_to: u32,
    /// Whether safe fixes were tried. If so, crh does not try the failed ones again.
    #[serde(default)]
    pub(super) has_tried: bool,
    /// The mode in which the run finished.
    #[serde(rename = "ended_in")]
    pub(super) final_mode: Option<ReviewMode>,
}

/// The mode in which a run finished, if it did.
pub(super) fn final_mode(run: &RunFolder) -> Option<ReviewMode> {
    let fixing: Progress = run.read(FIXING).unwrap_or_default();
    fixing.final_mode.or_else(|| is_answered(run).then_some(ReviewMode::Interactive))
}

impl Progress {
    pub(super) fn load(session: &ReviewSession) -> Self {
        match (session.terms.mode, session.place.folder()) {
            (ReviewMode::Autofix | ReviewMode::Headless, Some(run)) => {
                run.read(FIXING).unwrap_or_default()
            }
            // Before crh asks the questions again, it undoes the fixes that the user chose.
            (ReviewMode::Interactive | ReviewMode::ReportOnly, _) | (_, None) => Self::default(),
        }
    }

    /// Clears everything stored about fixes and answers, because a new review numbers its issues
    /// anew.
    pub(super) fn begin_anew(session: &ReviewSession) {
        let Some(run) = session.place.folder() else { return };
        let fixing = match run.read::<Self>(FIXING).unwrap_or_default() == Self::default() {
            true => Ok(()),
            false => run.store_masked(FIXING, &Self::default()),
        };
        for problem in [fixing, forget_found_on(run), forget_left(run), forget_answers(run)] {
            if let Err(problem) = problem {
                ui::warn(&problem.to_string());
            }
        }
    }

    pub(super) fn keep(self, session: &ReviewSession) {
        let run = match session.terms.mode {
            ReviewMode::Autofix | ReviewMode::Headless => session.place.folder(),
            ReviewMode::Interactive | ReviewMode::ReportOnly => None,
        };
        if let Some(run) = run
            && let Err(problem) = run.store_masked(FIXING, &self)
        {
            ui::warn(&problem.to_string());
        }
    }
}
