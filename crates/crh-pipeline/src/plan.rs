//! Stage "plan": assigns reviewers to files. An assignment is one reviewer on one part of the
//! scope.

mod estimate;
mod parts;

pub(crate) use estimate::TURN_TOKENS;
pub use estimate::{
    CostEstimate, FirstCallEstimate, PlanShortfall, PlannedAssignment, estimate,
    estimate_without_model,
};
pub use parts::parts_of;
pub(crate) use parts::{PART_CHARS, split_diff};
use serde::{Deserialize, Serialize};

use crate::change_under_review::ChangeUnderReview;
use crate::checks::{CheckOptions, analysers};
use crate::context::PanelContext;
use crh_review::report::Strategy;

/// Whether a reviewer is a static check. Static checks run in every strategy.
pub fn is_static(name: &str) -> bool {
    crh_lint::REVIEWERS.contains(&name) || analysers::is_analyser(name) || name.starts_with(SARIF)
}

/// Prefix of reviewer names for imported SARIF files. The name of the tool follows.
pub const SARIF: &str = "sarif-";

/// The one reviewer of `single`.
pub const SINGLE: &str = "single";

/// The agent of `delegate` that distributes the work.
pub const ORCHESTRATOR: &str = "orchestrator";

/// Prefix of the sub-agent names of `delegate`. A number follows.
pub(crate) const SUB_AGENT: &str = "sub-agent-";

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

/// One reviewer on one part of the scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the run, unique in a review: `secrets`, `single`, `orchestrator`, `sub-agent-2`.
    /// Also the name of its transcript and of its row in the report.
    pub name: String,
    /// The reviewer that findings are attributed to. All sub-agents count as one reviewer.
    pub reviewer: String,
    /// Topic for the progress display. Empty if the assignment covers everything.
    pub label: String,
    /// Why this reviewer was chosen. Empty for static checks.
    pub why: String,
    /// Extra instructions. Empty if there are none.
    pub focus: String,
    /// Files to review, in diff order.
    pub parts: Vec<DiffPart>,
}

/// A file, or a piece of a file that is too large for one reviewer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DiffPart {
    /// The path after the change.
    pub path: String,
    /// First and last line in `numbered.diff`, inclusive. None for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_lines: Option<(u32, u32)>,
}

impl DiffPart {
    /// A whole file.
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), diff_lines: None }
    }
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

/// Every file under review, in diff order. A file that changes its type is in the diff twice and
/// here once.
pub(crate) fn whole_files(change: &ChangeUnderReview) -> Vec<DiffPart> {
    let mut parts: Vec<DiffPart> = Vec::new();
    for (file, _) in change.files() {
        let part = DiffPart::whole(file.path.shown());
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts
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
