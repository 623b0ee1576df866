//! An assignment: one reviewer on one part of the scope.

use serde::{Deserialize, Serialize};

/// Prefix of reviewer names for imported SARIF files. The name of the tool follows.
pub const SARIF: &str = "sarif-";

/// The one reviewer of `single`.
pub const SINGLE: &str = "single";

/// The agent of `delegate` that distributes the work.
pub const ORCHESTRATOR: &str = "orchestrator";

/// Prefix of the sub-agent names of `delegate`. A number follows.
pub(crate) const SUB_AGENT: &str = "sub-agent-";

/// Maximum output tokens per turn: twice what twenty findings with quotes take. A model that
/// reasons gets more tokens for its reasoning.
pub(crate) const TURN_TOKENS: u32 = 16_000;

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
    /// Files to review, or pieces of files, in diff order.
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

/// Whether a reviewer is a static check. Static checks run in every strategy.
pub fn is_static(name: &str) -> bool {
    crh_lint::REVIEWERS.contains(&name)
        || crh_lint::analysers::is_analyser(name)
        || name.starts_with(SARIF)
}
