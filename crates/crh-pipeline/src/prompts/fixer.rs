//! Prompts of the fixer. They are not part of a review, so `prompt_version` does not include them.

use serde_json::json;

use super::change::fence_or_none;
use super::hash_json;
use super::template::prompts;
use crh_llm::ToolSpec;

prompts! {
    /// System prompt of the fixer. Contains no text of the change.
    FixerRules = "fixer_rules.md" {}

    /// Instructions for the fixer.
    Fixer = "fixer.md" {
        /// Issues by number, with code, fenced.
        issues,
        /// Files that it may write, fenced.
        files,
    }
}

/// Hash of the prompt files and tools.
pub(crate) fn version(tools: &[ToolSpec]) -> String {
    hash_json(&json!({ "files": FILES, "tools": tools }))
}

/// Both prompts for these issues and files.
pub(super) fn prompts(issues: &str, files: &str) -> (FixerRules, Fixer) {
    let (issues, files) = (fence_or_none("issues", issues), fence_or_none("files", files));
    (FixerRules {}, Fixer { issues, files })
}
