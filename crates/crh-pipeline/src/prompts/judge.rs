//! What a judge of an evaluation is told. It takes no part in a review, so that its files are no part of the version that
//! names the prompts of reviews.

use serde_json::json;

use super::hashed;
use super::template::{Prompt, prompts};
use crh_llm::{Cache, Conversation, ToolSpec};

prompts! {
    /// What a judge is told before anything else: the system prompt. Nothing of the case stands in it.
    JudgeRules = "judge_rules.md" {}

    /// What it compares.
    Judge = "judge.md" {
        /// What the change is known to have, numbered; every text is fenced.
        expected,
        /// What was reported, numbered; every text is fenced.
        reports,
    }
}

/// What a judge reads. Whoever makes the two lists puts every text of theirs into a [`fence`](super::fence).
pub(crate) fn conversation(expected: String, reports: String) -> Conversation {
    let mut conversation = Conversation::new(JudgeRules {}.render());
    conversation.say(Judge { expected, reports }.render(), Cache::Unmarked);
    conversation
}

/// The hash of its files, and of the tool by which it answers.
pub(crate) fn version(tool: &ToolSpec) -> String {
    hashed(&json!({ "files": FILES, "tool": tool }))
}
