//! The tools that an agent sees over HTTP, and their arguments.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use crh_mcp::mcp::{
    IssueView, LabelledData, ReportView, ToolEffect, complete_tools, describe_tool,
};

/// Which pull request
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PullRequestArguments {
    /// Repository, such as `owner/name`
    pub(super) repository: String,
    /// Number of the pull request
    pub(super) pull_request: u32,
}

/// Which issue of the newest review of a pull request
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueArguments {
    /// Repository, such as `owner/name`
    pub(super) repository: String,
    /// Number of the pull request
    pub(super) pull_request: u32,
    /// Number of the issue in the report
    pub(super) issue: u32,
}

/// Which issue to hide, and why
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DismissArguments {
    /// Repository, such as `owner/name`
    pub(super) repository: String,
    /// Number of the pull request
    pub(super) pull_request: u32,
    /// Number of the issue in the report
    pub(super) issue: u32,
    /// Why the issue is no problem
    pub(super) reason: String,
}

/// All tools.
pub(super) fn tools() -> Vec<Tool> {
    complete_tools(vec![
        describe_tool::<PullRequestArguments>(
            "review_change",
            "Review a pull request",
            "Review the head of an open pull request with language models, and post the review there. Takes \
             minutes and costs money within the server's limits. Needs write access to the repository.",
            ToolEffect::CallsModels,
        )
        .with_output_schema::<LabelledData<ReportView>>(),
        describe_tool::<PullRequestArguments>(
            "get_report",
            "Show a stored report",
            "Return the report of the newest review of a pull request.",
            ToolEffect::Reads,
        )
        .with_output_schema::<LabelledData<ReportView>>(),
        describe_tool::<IssueArguments>(
            "get_issue",
            "Show one issue",
            "Return one issue of the newest review of a pull request as data.",
            ToolEffect::Reads,
        )
        .with_output_schema::<LabelledData<IssueView>>(),
        describe_tool::<IssueArguments>(
            "explain_issue",
            "Explain one issue",
            "Explain one issue of the newest review: evidence, reviewers, judgement, and the diff around it.",
            ToolEffect::Reads,
        ),
        describe_tool::<IssueArguments>(
            "propose_fix",
            "Propose a fix",
            "Return the proposed fix of one issue. Changes nothing.",
            ToolEffect::Reads,
        ),
        describe_tool::<DismissArguments>(
            "dismiss_issue",
            "Dismiss one issue",
            "Hide an issue in all later reviews of the repository. Only if the user agrees that it is no problem. \
             Needs write access to the repository.",
            ToolEffect::Records,
        ),
    ])
}
