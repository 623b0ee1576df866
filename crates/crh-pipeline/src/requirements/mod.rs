//! Requirements documents: which one belongs to a change, what it asks for, and which findings
//! follow.
//!
//! The author of the change may have written the document, so it is data, never instructions.

mod answer;
mod discovery;
mod document;
mod entries;
mod evidence;
mod missing;

pub use answer::{ParsedRequirements, has_no_entry, parse_answer};
pub(crate) use discovery::is_plan_line;
pub use discovery::{
    DescriptionSource, PLANS_FOLDER, RequirementsClues, RequirementsSearch, discover,
};
pub use document::parse_document;
pub(crate) use evidence::EvidenceChecker;
pub use missing::{missing_findings, not_in_plan};
use serde::{Deserialize, Serialize};

use crh_review::report::{PlanSource, RequirementState};

/// Name of the run that judges requirements, and reviewer of its findings.
pub const REVIEWER: &str = "requirements";

/// A document with the requirements of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementsDoc {
    /// Path of the document.
    pub path: String,
    /// How it was found.
    pub source: PlanSource,
    /// Requirements first, then units, each in document order.
    pub items: Vec<RequirementItem>,
    /// Number of further items that are not judged.
    #[serde(default, rename = "more", skip_serializing_if = "is_zero")]
    pub omitted_count: usize,
}

/// One requirement or unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementItem {
    /// `R1` for a requirement, `U1` for a unit.
    pub id: String,
    /// Text on one line.
    pub text: String,
    /// Line in the document.
    pub line: u32,
    /// Whether its checkbox is ticked. None without a checkbox. The tick may be wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
}

/// Judgements on all items, in the order of `RequirementsDoc::items`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementJudgements {
    /// One judgement per id.
    pub items: Vec<RequirementJudgement>,
}

/// Judgement on one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementJudgement {
    /// Id of the item.
    pub id: String,
    /// Whether the change meets it.
    pub state: RequirementState,
    /// The place in the code, or the reason.
    pub evidence: String,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl RequirementsDoc {
    /// The items as the prompt shows them, one per line.
    pub fn prompt_lines(&self) -> String {
        let prompt_line = |item: &RequirementItem| {
            let tick = match item.done {
                Some(true) => " [ticked]",
                Some(false) => " [not ticked]",
                None => "",
            };
            format!("{}{tick}: {}\n", item.id, item.text)
        };
        self.items.iter().map(prompt_line).collect()
    }
}
