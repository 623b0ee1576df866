//! What a fixer is told. It takes no part in a review, so that its files are no part of the version that names the prompts of
//! reviews.

use serde_json::json;

use super::change::fence_or_none;
use super::hashed;
use super::template::prompts;
use crh_llm::ToolSpec;

prompts! {
    /// What a fixer is told before anything else: the system prompt. Nothing of the change stands in it.
    FixerRules = "fixer_rules.md" {}

    /// What it is to repair.
    Fixer = "fixer.md" {
        /// The issues by number, each with the code around it; fenced.
        issues,
        /// The files that it may write; fenced.
        files,
    }
}

/// The hash of its files, and of its tools.
pub(crate) fn version(tools: &[ToolSpec]) -> String {
    hashed(&json!({ "files": FILES, "tools": tools }))
}

/// Both, for these issues and files.
pub(super) fn prompts(issues: &str, files: &str) -> (FixerRules, Fixer) {
    let (issues, files) = (fence_or_none("issues", issues), fence_or_none("files", files));
    (FixerRules {}, Fixer { issues, files })
}
