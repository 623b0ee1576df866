//! Events of a review, for progress displays. They contain paths, labels and messages, but no lines
//! of the change.

use serde::Serialize;
use serde_json::Value;

use crate::text::{cut, one_line};
use crh_agent::{LimitKind, UsageTotals};
use crh_llm::{CallArguments, Money, ToolCall};

/// Arguments that describe a tool call, best first.
const TOPIC_ARGUMENTS: [&str; 6] =
    ["path", "pattern", "query", "function_name", "name", "expression"];

/// Maximum characters of the description of a tool call. An event should fit on a line.
const TOPIC_CHARS: usize = 60;

/// Stages of a review, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Resolve the target to a change.
    Target,
    /// Decide which files to review.
    Scope,
    /// Write the workspace for the agents.
    Workspace,
    /// Collect context for the panel.
    Context,
    /// Assign reviewers to files.
    Plan,
    /// Run the reviewers.
    Review,
    /// Collect findings, and open issues of the previous review.
    Findings,
    /// Merge findings into issues and check their quotes.
    Merge,
    /// Group findings and estimate whether the maintainers agree.
    Edit,
    /// Validate issues.
    Validate,
    /// Run tests that the editor proposes.
    Proof,
    /// Assemble the report.
    Report,
    /// Deliver the report.
    Sinks,
}

impl Stage {
    /// Name of the stage, and of its file in the run folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Scope => "scope",
            Self::Workspace => "workspace",
            Self::Context => "context",
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Findings => "findings",
            Self::Merge => "merge",
            Self::Edit => "edit",
            Self::Validate => "validate",
            Self::Proof => "proof",
            Self::Report => "report",
            Self::Sinks => "sinks",
        }
    }
}

/// An event of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ReviewEvent {
    /// A stage began.
    StageStarted {
        /// Stage.
        stage: Stage,
    },
    /// A stage ended.
    StageEnded {
        /// Stage.
        stage: Stage,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// The plan is ready.
    Planned {
        /// Number of files under review.
        files: usize,
        /// Cost limit; zero if no model is used.
        budget: Money,
    },
    /// The reviewers of the panel were chosen.
    TeamChosen {
        /// Names and reasons, in the order of the report.
        team: Vec<(String, String)>,
    },
    /// An agent run began.
    RunStarted {
        /// Name of its assignment.
        run: String,
        /// Description for people.
        label: String,
        /// Number of files it reviews.
        files: usize,
    },
    /// A run called a tool.
    ToolCalled {
        /// Name of its assignment.
        run: String,
        /// Name of the tool.
        tool: String,
        /// Main argument, on one line.
        about: String,
    },
    /// A tool call was refused, since the strategy or the run's task does not allow it.
    Refused {
        /// Name of the assignment.
        run: String,
        /// Message to the model.
        #[serde(rename = "told")]
        message: String,
    },
    /// A file was marked as reviewed.
    FileReviewed {
        /// Path of the file.
        path: String,
    },
    /// The run of an agent or a static check ended.
    RunEnded {
        /// Name of its assignment.
        run: String,
        /// Why it failed. `None` if it succeeded.
        failure: Option<String>,
        /// Limit that it reached.
        limited: Option<LimitKind>,
        /// Number of findings.
        findings: usize,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// Cost so far, over all runs.
    Spent {
        /// Sums over all runs.
        totals: UsageTotals,
    },
    /// A warning for the user.
    Warning {
        /// Text of the warning.
        text: String,
    },
}

impl ReviewEvent {
    /// Builds a tool call event. The arguments come from a model, so invisible characters are made
    /// visible.
    pub(crate) fn tool_called(run: &str, call: &ToolCall) -> Self {
        let about = match &call.arguments {
            CallArguments::Json(arguments) => call_topic(arguments),
            CallArguments::Malformed(_) => String::new(),
        };
        Self::ToolCalled { run: run.to_owned(), tool: call.name.clone(), about }
    }
}

/// Describes a call: its path or pattern, or the names of the scopes that it delegates.
fn call_topic(arguments: &Value) -> String {
    let main_argument = TOPIC_ARGUMENTS.iter().find_map(|name| arguments.get(name)?.as_str());
    let labels = || {
        let scopes = arguments.get("scopes")?.as_array()?;
        let labels: Vec<&str> =
            scopes.iter().filter_map(|scope| scope.get("scope")?.as_str()).collect();
        Some(labels.join(", "))
    };
    let text = main_argument.map(str::to_owned).or_else(labels).unwrap_or_default();
    cut(&one_line(&text), TOPIC_CHARS)
}
