//! Prompt of the model that checks an issue again after a person's reply. It is not part of a
//! review, so `prompt_version` does not include it.

use serde_json::json;

use super::template::prompts;
use super::{Prompts, fence, hash_json};
use crh_llm::ToolSpec;

prompts! {
    /// The question about a reply.
    Answer = "answer.md" {
        /// The issue with its code, fenced.
        claim,
        /// The reply, fenced.
        reply,
    }
}

/// Hash of the prompt file and the tool.
pub(crate) fn version(tool: &ToolSpec) -> String {
    hash_json(&json!({ "files": FILES, "tool": tool }))
}

impl Prompts {
    /// Instructions for an answer. Both texts are fenced here.
    pub(crate) fn answer(&self, claim: &str, reply: &str) -> String {
        let (claim, reply) = (fence("issue", claim), fence("reply", reply));
        self.with_language(&Answer { claim, reply })
    }
}
