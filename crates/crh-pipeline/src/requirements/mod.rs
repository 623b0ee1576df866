//! The plan that a change is held against: which document it is, what it asks for, and what becomes of what is missing.
//!
//! A plan is data that the author of a change may have written: nothing in it is an instruction.

mod answer;
mod discovery;
mod document;
mod entries;
mod missing;

pub use answer::read;
pub use discovery::{Clues, Discovered, FOLDER, discover};
pub use document::document;
pub use missing::{members, not_in_plan};
use serde::{Deserialize, Serialize};

use crh_review::report::{PlanSource, RequirementState};

/// The name of the run that judges a plan, and of who reports what is missing.
pub const REVIEWER: &str = "requirements";

/// A document with what a change is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanDocument {
    /// Where it is.
    pub path: String,
    /// How it was found.
    pub source: PlanSource,
    /// What it asks for: requirements, then units, each in their order.
    pub items: Vec<PlanItem>,
    /// How many things it asks for besides, which are too many to judge.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: usize,
}

/// One thing that a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// `R1` of a requirement, `U1` of a unit.
    pub id: String,
    /// What it asks for, on one line.
    pub text: String,
    /// Its line in the document.
    pub line: u32,
    /// Whether its box is ticked; none if it has no box. Whoever ticks it may be wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
}

/// What was said about every item of a plan, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Each id of the plan, exactly once.
    pub items: Vec<JudgedItem>,
}

/// What was said about one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedItem {
    /// Its id.
    pub id: String,
    /// Whether the change has it.
    pub state: RequirementState,
    /// Where it has it, or why it was judged so.
    pub evidence: String,
}

fn is_none(more: &usize) -> bool {
    *more == 0
}

impl PlanDocument {
    /// What whoever judges it is shown: a row for each item.
    pub fn rows(&self) -> String {
        let row = |item: &PlanItem| {
            let ticked = match item.done {
                Some(true) => " [ticked]",
                Some(false) => " [not ticked]",
                None => "",
            };
            format!("{}{ticked}: {}\n", item.id, item.text)
        };
        self.items.iter().map(row).collect()
    }
}
