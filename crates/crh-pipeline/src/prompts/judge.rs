//! Prompts of the judge of an evaluation, which matches reports with known defects. They are not
//! part of a review, so `prompt_version` does not include them.

use serde_json::json;

use super::hash_json;
use super::template::{Prompt, prompts};
use crh_llm::{CacheMark, Conversation, ToolSpec};

prompts! {
    /// System prompt of the judge. Contains no text of the case.
    JudgeRules = "judge_rules.md" {}

    /// The question.
    Judge = "judge.md" {
        /// Known defects, numbered, each text fenced.
        expected,
        /// Reports, numbered, each text fenced.
        reports,
    }
}

/// The conversation with the judge. The caller puts every text into a [`fence`](super::fence).
pub(crate) fn conversation(expected: String, reports: String) -> Conversation {
    let mut conversation = Conversation::new(JudgeRules {}.render());
    conversation.push_user(Judge { expected, reports }.render(), CacheMark::Unmarked);
    conversation
}

/// The system prompt.
pub(crate) fn brief() -> String {
    JudgeRules {}.render()
}

/// Hash of the prompt files and the tool.
pub(crate) fn version(tool: &ToolSpec) -> String {
    hash_json(&json!({ "files": FILES, "tool": tool }))
}
