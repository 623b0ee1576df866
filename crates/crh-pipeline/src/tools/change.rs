//! Tools for the metadata of the change, its rounds, instructions and reviewed files.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::to_value;
use super::{AgentTool, ToolContext, ToolError, ToolReply, diff};

pub(super) struct MpMetadata;
pub(super) struct PreviewDiffsList;
pub(super) struct AgentFilesList;
pub(super) struct MarkFileReviewed;

/// Shows the change's metadata: title, description, author, branches, base and head commit, state, labels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MpMetadataInput {}

/// Lists the rounds of the change (each a diff that was proposed), from the first to the latest, with their
/// commits. Their ids are what `previewDiffId` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewDiffsListInput {}

/// Lists the repository's instructions for agents, with their paths in the workspace; `read` shows them. An empty
/// list is usual and says nothing about the change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentFilesListInput {}

/// Marks a file of the change as reviewed, once you have decided what to say about it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkFileReviewedInput {
    /// The path, as `diff_list_files` shows it.
    path: String,
}

impl AgentTool for MpMetadata {
    const NAME: &'static str = "mp_metadata";
    const IS_QUICK: bool = true;
    type Input = MpMetadataInput;

    fn answer(_: MpMetadataInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let metadata = ctx.workspace()?.metadata();
        let value = to_value(metadata)?;
        let total = metadata.body.len();
        // Only the description can be long.
        Ok(ToolReply::lines(metadata.body.clone(), move |body| {
            let mut value = value.clone();
            value["body"] = json!(body);
            if body.len() < total {
                value["bodyTruncated"] = json!(true);
            }
            value
        }))
    }
}

impl AgentTool for PreviewDiffsList {
    const NAME: &'static str = "preview_diffs_list";
    const IS_QUICK: bool = true;
    type Input = PreviewDiffsListInput;

    fn answer(_: PreviewDiffsListInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        list_reply("previewDiffs", json!({}), ctx.workspace()?.rounds())
    }
}

impl AgentTool for AgentFilesList {
    const NAME: &'static str = "agent_files_list";
    type Input = AgentFilesListInput;

    fn answer(_: AgentFilesListInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let files = ctx.workspace()?.instruction_files()?;
        // Paths from the workspace root, as `read` expects them.
        let files: Vec<_> = files.iter().map(|place| format!("agent/{place}")).collect();
        list_reply("files", json!({}), &files)
    }
}

impl AgentTool for MarkFileReviewed {
    const NAME: &'static str = "mark_file_reviewed";
    type Input = MarkFileReviewedInput;

    fn answer(input: MarkFileReviewedInput, ctx: &ToolContext) -> Result<ToolReply, ToolError> {
        let workspace = ctx.workspace()?;
        let round = diff::find_round(workspace, None)?;
        let diff = workspace.diff(&round.id)?;
        let path = diff::find_file(&diff, &input.path)?.path();
        workspace.mark_reviewed(&path)?;
        // The reply has no count of marked files. The count depends on concurrent agents, but a
        // replay must produce the same reply.
        ToolReply::json(&json!({ "path": path, "reviewed": true }))
    }
}

/// A reply with a list under `name`, next to other fields.
pub(super) fn list_reply<T: serde::Serialize>(
    name: &'static str,
    fields: Value,
    rows: &[T],
) -> Result<ToolReply, ToolError> {
    let rows = rows.iter().map(to_value).collect::<Result<Vec<_>, _>>()?;
    Ok(ToolReply::rows(rows.len(), move |shown| {
        let mut value = fields.clone();
        value[name] = json!(rows[..shown]);
        value["shown"] = json!(shown);
        if shown < rows.len() && value.get("truncated").is_some() {
            value["truncated"] = json!(true);
        }
        // If the list is one page of a longer list, the other fields already contain the total.
        if value.get("total").is_none() {
            value["total"] = json!(rows.len());
        }
        value
    }))
}
