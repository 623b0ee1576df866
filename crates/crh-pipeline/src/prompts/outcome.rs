//! Prompts of the judge of outcomes, which decides what became of an issue. They are not part of a
//! review, so `prompt_version` does not include them.

use serde_json::json;

use super::hash_json;
use super::template::{Prompt, prompts};
use crh_llm::{CacheMark, Conversation, ToolSpec};

prompts! {
    /// System prompt. Contains no text of a change.
    OutcomeRules = "outcome_rules.md" {}

    /// The question. Every text is fenced.
    Outcome = "outcome.md" {
        /// Title and place of the issue.
        issue,
        /// Files when the issue was raised.
        before,
        /// The same files later.
        after,
        /// Replies of people.
        replies,
    }
}

/// The conversation with the judge. The caller puts every text into a [`fence`](super::fence).
pub(crate) fn conversation(
    issue: String,
    before: String,
    after: String,
    replies: String,
) -> Conversation {
    let mut conversation = Conversation::new(OutcomeRules {}.render());
    let question = Outcome { issue, before, after, replies };
    conversation.push_user(question.render(), CacheMark::Unmarked);
    conversation
}

/// Hash of the prompt files and the tool.
pub(crate) fn version(tool: &ToolSpec) -> String {
    hash_json(&json!({ "files": FILES, "tool": tool }))
}
