//! Payloads of jobs about comments.

use serde::{Deserialize, Serialize};

use crate::comment_commands::CommentCommand;
use crate::webhook::plan::CommentRef;

/// Payload of a command job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum CommandTask {
    /// Tell the author that a maintainer must ask for the review. The key of the job has the head
    /// commit.
    AwaitMaintainer,
    /// A comment that starts with `/crh`.
    Comment {
        /// The comment.
        comment: CommentRef,
        /// The command, or what is wrong with it.
        command: Result<CommentCommand, String>,
    },
}

/// Start of a reply that dismisses the issue of its conversation.
const DISMISS: &str = "/crh dismiss";

/// Payload of a reply job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTask {
    /// The reply.
    pub comment: CommentRef,
    /// Id of the comment that starts the conversation, or of the reply if the forge does not send
    /// that id.
    pub root: u64,
    /// Text of the reply, as the forge delivered it, without the end of a very long one.
    pub text: String,
}

impl ReplyTask {
    /// The reason, if the first line of the reply is `/crh dismiss REASON`. Empty without a reason.
    pub(crate) fn dismissal(&self) -> Option<&str> {
        let line = self.text.lines().next().unwrap_or_default();
        let reason = line.strip_prefix(DISMISS)?;
        (reason.is_empty() || reason.starts_with([' ', '\t'])).then(|| reason.trim())
    }
}
