//! What jobs about comments carry with them.

use serde::{Deserialize, Serialize};

use crate::comment_commands::CommentCommand;
use crate::webhook::plan::CommentRef;

/// Payload of a command job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum CommandTask {
    /// Say in a check run that a maintainer must ask for the review. The key has the head.
    AwaitMaintainer,
    /// A comment that starts with `/crh`.
    Comment {
        /// The comment.
        comment: CommentRef,
        /// The command, or what is wrong with it.
        command: Result<CommentCommand, String>,
    },
}
