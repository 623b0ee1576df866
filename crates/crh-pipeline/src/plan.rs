//! Plan: who looks at what. An assignment is one reviewer on one part of the scope.

mod estimate;
mod parts;

pub(crate) use estimate::TURN_TOKENS;
pub use estimate::{Asks, Estimate, Planned, estimate};
pub use parts::parts_of;
pub(crate) use parts::{PART_CHARS, pieces};
use serde::{Deserialize, Serialize};

use crate::checks::{CheckTerms, analysers};
use crate::context::Context;
use crate::subject::Subject;
use crh_review::report::Strategy;

/// Whether a reviewer needs no model. Those run first in every strategy.
pub fn is_static(name: &str) -> bool {
    crh_lint::REVIEWERS.contains(&name) || analysers::is_analyser(name) || name.starts_with(SARIF)
}

/// What the names of rows begin with that come from SARIF files; the tool's name follows.
pub const SARIF: &str = "sarif-";

/// The one reviewer of `single`.
pub const SINGLE: &str = "single";

/// The agent of `delegate` that gives out the work.
pub const ORCHESTRATOR: &str = "orchestrator";

/// What the names of the agents begin with that it gives work to; a number follows.
pub(crate) const SUB_AGENT: &str = "sub-agent-";

/// Who looks at what, before anyone has begun. The sub-agents of `delegate` are not in it: their orchestrator
/// decides about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How the change is divided.
    pub strategy: Strategy,
    /// The assignments, in the order in which they are listed in the report.
    pub assignments: Vec<Assignment>,
    /// What the reader should know about the plan.
    pub notes: Vec<String>,
}

/// One reviewer on one part of the scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Names it in this review: `secrets`, `single`, `orchestrator`, `sub-agent-2`. Its run, its transcript and its row go by
    /// this name.
    pub name: String,
    /// Whose opinion its findings are: two sub-agents are one reviewer on two parts.
    pub reviewer: String,
    /// What it is about, for people; empty if it is about everything.
    pub label: String,
    /// Why this reviewer; empty for one that always runs.
    pub why: String,
    /// What it is to look at besides the rubric; empty if nothing.
    pub focus: String,
    /// The files it looks at, in the order of the diff.
    pub parts: Vec<Part>,
}

/// A file, or a piece of one that is too large for one reviewer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// The path after the change.
    pub path: String,
    /// The lines of `numbered.diff`, both included; none if it is the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_lines: Option<(u32, u32)>,
}

impl Part {
    /// A whole file.
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), diff_lines: None }
    }
}

/// Who looks at what. Where nothing is under review, no model is asked about it.
pub fn plan(subject: &Subject, strategy: Strategy, checks: &CheckTerms, context: &Context) -> Plan {
    let parts = whole_files(subject);
    let mut assignments: Vec<_> =
        crh_lint::REVIEWERS.iter().map(|name| assignment(name, "", parts.clone())).collect();
    let (external, not_run) = analysers::planned(subject, checks);
    let external = external.into_iter();
    assignments.extend(external.map(|(name, parts)| assignment(name, "it is installed", parts)));
    let mut notes: Vec<String> = subject.since.iter().map(|since| since.sentence()).collect();
    notes.extend(not_run);
    let mut asked = match strategy {
        Strategy::Single => vec![assignment(SINGLE, "the strategy is `single`", parts.clone())],
        Strategy::Delegate => {
            vec![assignment(ORCHESTRATOR, "the strategy is `delegate`", parts.clone())]
        }
        Strategy::Panel => context.assignments(),
        Strategy::Static => Vec::new(),
    };
    notes.extend_from_slice(&context.notes);
    notes.extend_from_slice(&context.team.notes);
    if strategy != Strategy::Static && parts.is_empty() {
        asked.clear();
        notes.push(match subject.since {
            Some(_) => "no file has changed that is under review, so no model is asked".to_owned(),
            None => "no file is under review, so no model is asked".to_owned(),
        });
    }
    assignments.extend(asked);
    Plan { strategy, assignments, notes }
}

/// Every file under review as a whole, in the order of the diff. A file that changes its type is in a diff twice and
/// in a plan once.
pub(crate) fn whole_files(subject: &Subject) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (file, _) in subject.files() {
        let part = Part::whole(file.path.shown());
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts
}

fn assignment(name: &str, why: &str, parts: Vec<Part>) -> Assignment {
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
