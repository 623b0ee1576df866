//! What the change is called, which rounds and instructions it has, and which of its files are done.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::to_value;
use super::{Bench, Reply, Tool, ToolError, diff};

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

impl Tool for MpMetadata {
    const NAME: &'static str = "mp_metadata";
    const READS_ONE_THING: bool = true;
    type Input = MpMetadataInput;

    fn answer(_: MpMetadataInput, bench: &Bench) -> Result<Reply, ToolError> {
        let metadata = bench.workspace()?.metadata();
        let value = to_value(metadata)?;
        let total = metadata.body.len();
        // The description is the one part that can be long.
        Ok(Reply::lines(metadata.body.clone(), move |body| {
            let mut value = value.clone();
            value["body"] = json!(body);
            if body.len() < total {
                value["bodyTruncated"] = json!(true);
            }
            value
        }))
    }
}

impl Tool for PreviewDiffsList {
    const NAME: &'static str = "preview_diffs_list";
    const READS_ONE_THING: bool = true;
    type Input = PreviewDiffsListInput;

    fn answer(_: PreviewDiffsListInput, bench: &Bench) -> Result<Reply, ToolError> {
        list("previewDiffs", json!({}), bench.workspace()?.rounds())
    }
}

impl Tool for AgentFilesList {
    const NAME: &'static str = "agent_files_list";
    type Input = AgentFilesListInput;

    fn answer(_: AgentFilesListInput, bench: &Bench) -> Result<Reply, ToolError> {
        let files = bench.workspace()?.agent_files()?;
        // From the root, so that they can be handed to `read` as they are.
        let files: Vec<_> = files.iter().map(|place| format!("agent/{place}")).collect();
        list("files", json!({}), &files)
    }
}

impl Tool for MarkFileReviewed {
    const NAME: &'static str = "mark_file_reviewed";
    type Input = MarkFileReviewedInput;

    fn answer(input: MarkFileReviewedInput, bench: &Bench) -> Result<Reply, ToolError> {
        let workspace = bench.workspace()?;
        let round = diff::round(workspace, None)?;
        let diff = workspace.diff(&round.id)?;
        let path = diff::file_named(&diff, &input.path)?.path();
        workspace.mark_reviewed(&path)?;
        // How many there are by now depends on who else is at work: an answer that differs from run to run could not be
        // replayed.
        Reply::json(&json!({ "path": path, "reviewed": true }))
    }
}

/// A reply with a list in it, under a name, beside other fields.
pub(super) fn list<T: serde::Serialize>(
    name: &'static str,
    beside: Value,
    rows: &[T],
) -> Result<Reply, ToolError> {
    let rows = rows.iter().map(to_value).collect::<Result<Vec<_>, _>>()?;
    Ok(Reply::rows(rows.len(), move |shown| {
        let mut value = beside.clone();
        value[name] = json!(rows[..shown]);
        value["shown"] = json!(shown);
        if shown < rows.len() && value.get("truncated").is_some() {
            value["truncated"] = json!(true);
        }
        // A page of a longer list has said already how long that is.
        if value.get("total").is_none() {
            value["total"] = json!(rows.len());
        }
        value
    }))
}
