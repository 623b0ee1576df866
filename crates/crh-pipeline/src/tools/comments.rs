//! Tools for comments on the change.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::arguments::RoundId;
use super::change::list_reply;
use super::{AgentTool, ToolContext, ToolError, ToolReply, diff};
use crate::workspace::WorkspaceComment;

pub(super) struct CommentsGeneral;
pub(super) struct CommentsInline;

/// Shows the comments on the change as a whole, of all rounds, oldest round first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CommentsGeneralInput {
    /// Only the comments of this round; all rounds if left out.
    preview_diff_id: Option<RoundId>,
}

/// Shows the comments on lines of the numbered diff, by line. An empty list if there are none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CommentsInlineInput {
    /// Only the comments on this line of the numbered diff; all lines if left out.
    line: Option<NonZeroU32>,
    /// The round; the latest if left out.
    preview_diff_id: Option<RoundId>,
}

/// A comment with its round and line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CommentRow {
    #[serde(flatten)]
    comment: WorkspaceComment,
    preview_diff_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl AgentTool for CommentsGeneral {
    const NAME: &'static str = "comments_general";
    type Input = CommentsGeneralInput;

    fn answer(input: CommentsGeneralInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let rounds = match &input.preview_diff_id {
            Some(id) => std::slice::from_ref(diff::find_round(workspace, Some(id))?),
            None => workspace.rounds(),
        };
        let mut rows = Vec::new();
        for round in rounds {
            for comment in workspace.general_comments(&round.id)? {
                let preview_diff_id = round.id.clone();
                rows.push(CommentRow { comment, preview_diff_id, line: None });
            }
        }
        list_reply("comments", json!({}), &rows)
    }
}

impl AgentTool for CommentsInline {
    const NAME: &'static str = "comments_inline";
    type Input = CommentsInlineInput;

    fn answer(input: CommentsInlineInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let round = diff::find_round(workspace, input.preview_diff_id.as_ref())?;
        let mut rows = Vec::new();
        for (line, comments) in workspace.inline_comments(&round.id)? {
            if input.line.is_some_and(|requested| requested.get() != line) {
                continue;
            }
            rows.extend(comments.into_iter().map(|comment| CommentRow {
                comment,
                preview_diff_id: round.id.clone(),
                line: Some(line),
            }));
        }
        list_reply("comments", json!({}), &rows)
    }
}
