//! Prompts of the `bare` arm of an evaluation, which has no reviewers of crh. They are not part of
//! a review, so `prompt_version` does not include them.

use serde_json::json;

use super::template::{Prompt, prompts};
use super::{fence, hash_json};
use crate::text::one_line;
use crate::workspace::ChangeMetadata;
use crh_llm::{CacheMark, Conversation, ToolSpec};

prompts! {
    /// System prompt.
    BareRules = "bare_rules.md" {}

    /// The task.
    Bare = "bare.md" {
        /// Title and description, fenced.
        description,
        /// Diff, fenced.
        diff,
    }
}

/// The conversation of the model. Description and diff are fenced here.
pub(crate) fn conversation(metadata: &ChangeMetadata, diff: &str) -> Conversation {
    let description = format!("{}\n\n{}", one_line(&metadata.title), metadata.body.trim());
    let description = fence("description", description.trim());
    let mut conversation = Conversation::new(BareRules {}.render());
    let task = Bare { description, diff: fence("diff", diff) };
    conversation.push_user(task.render(), CacheMark::Unmarked);
    conversation
}

/// Hash of the prompt files and the tools.
pub(crate) fn version(tools: &[ToolSpec]) -> String {
    hash_json(&json!({ "files": FILES, "tools": tools }))
}
