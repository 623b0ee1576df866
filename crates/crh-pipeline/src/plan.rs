//! Stage "plan": assigns reviewers to files.

mod estimate;
pub(crate) mod parts;

pub use estimate::{
    CostEstimate, FirstCallEstimate, PlanShortfall, PlannedAssignment, estimate,
    estimate_without_model,
};
use serde::{Deserialize, Serialize};

use self::parts::whole_files;
use crate::assignment::{Assignment, DiffPart, ORCHESTRATOR};
use crate::change_under_review::ChangeUnderReview;
use crate::checks::{CheckOptions, analysers};
use crate::context::PanelContext;
use crh_review::report::Strategy;

/// Which reviewer looks at which files. The sub-agents of `delegate` are not part of a plan, since
/// the orchestrator creates them later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How the change is divided among reviewers.
    pub strategy: Strategy,
    /// Assignments in report order.
    pub assignments: Vec<Assignment>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Builds the plan. If no file is under review, it contains no model assignment.
pub fn plan(
    change: &ChangeUnderReview,
    strategy: Strategy,
    checks: &CheckOptions,
    context: &PanelContext,
) -> Plan {
    let parts = whole_files(change);
    let mut assignments: Vec<_> =
        crh_lint::REVIEWERS.iter().map(|name| assignment(name, "", parts.clone())).collect();
    let (analyser_parts, skipped_notes) = analysers::plan_analysers(change, checks);
    let analyser_parts = analyser_parts.into_iter();
    assignments
        .extend(analyser_parts.map(|(name, parts)| assignment(name, "it is installed", parts)));
    let mut notes: Vec<String> = change.incremental.iter().map(|since| since.sentence()).collect();
    notes.extend(skipped_notes);
    let mut model_assignments = match strategy {
        Strategy::Delegate => {
            vec![assignment(ORCHESTRATOR, "the strategy is `delegate`", parts.clone())]
        }
        Strategy::Single | Strategy::Panel => context.assignments(),
        Strategy::Static => Vec::new(),
    };
    notes.extend_from_slice(&context.notes);
    notes.extend_from_slice(&context.team.notes);
    if strategy != Strategy::Static && parts.is_empty() {
        model_assignments.clear();
        notes.push(match change.incremental {
            Some(_) => "no file under review has changed; no model is used".to_owned(),
            None => "no file is under review; no model is used".to_owned(),
        });
    }
    assignments.extend(model_assignments);
    Plan { strategy, assignments, notes }
}

fn assignment(name: &str, why: &str, parts: Vec<DiffPart>) -> Assignment {
    Assignment {
        name: name.to_owned(),
        reviewer: name.to_owned(),
        label: String::new(),
        why: why.to_owned(),
        focus: String::new(),
        parts,
    }
}

#[cfg(test)]
mod tests;
