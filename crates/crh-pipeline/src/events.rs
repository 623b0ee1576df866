//! What happens during a review, for whoever shows it. Events carry no text of the change but paths and labels.

use serde::Serialize;
use serde_json::Value;

use crate::text::{cut, one_line};
use crh_agent::{Limit, Totals};
use crh_llm::{Arguments, Money, ToolCall};

/// Arguments that tell people what a call is about, the best first.
const ABOUT: [&str; 5] = ["path", "pattern", "query", "functionName", "expression"];

/// How much of them is told: it has to fit a line beside the names of run and tool.
const ABOUT_CHARS: usize = 60;

/// The stages of a review, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// What the user typed becomes a pinned change.
    Target,
    /// What of it is reviewed.
    Scope,
    /// The folder that agents see.
    Workspace,
    /// What a panel knows before it looks.
    Context,
    /// Who looks at what.
    Plan,
    /// The runs.
    Review,
    /// What they found, with its evidence checked.
    Findings,
    /// Findings become issues.
    Merge,
    /// Issues are looked at again.
    Validate,
    /// Everything becomes the report.
    Report,
    /// The report goes where it was asked for.
    Sinks,
}

impl Stage {
    /// Its name, which is that of its file in the run folder.
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
            Self::Validate => "validate",
            Self::Report => "report",
            Self::Sinks => "sinks",
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A stage has begun.
    StageStarted {
        /// Which.
        stage: Stage,
    },
    /// A stage is done.
    StageEnded {
        /// Which.
        stage: Stage,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// The size of the work is known.
    Planned {
        /// How many files are under review.
        files: usize,
        /// What the review may cost; nothing if no model is asked.
        budget: Money,
    },
    /// The panel was chosen: who looks at the change, and why.
    TeamChosen {
        /// Names and reasons, in the order of the report.
        team: Vec<(String, String)>,
    },
    /// A run has begun.
    RunStarted {
        /// The name of its assignment.
        run: String,
        /// What it is about.
        label: String,
        /// How many files it looks at.
        files: usize,
    },
    /// A run calls a tool.
    ToolCalled {
        /// The name of its assignment.
        run: String,
        /// The tool.
        tool: String,
        /// What it is called with, for people; cut to one line.
        about: String,
    },
    /// A rule of the strategy was broken, and what the model was told.
    Refused {
        /// The name of the assignment.
        run: String,
        /// What it was told.
        told: String,
    },
    /// A file was marked as reviewed.
    FileReviewed {
        /// Its path.
        path: String,
    },
    /// A run has ended.
    RunEnded {
        /// The name of its assignment.
        run: String,
        /// Why it failed; none if it did not.
        failure: Option<String>,
        /// A limit that it met.
        limited: Option<Limit>,
        /// How many findings it brought.
        findings: usize,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// What was spent so far, over all runs.
    Spent {
        /// The sums.
        totals: Totals,
    },
    /// Something that the user should know now.
    Warning {
        /// What.
        text: String,
    },
}

impl Event {
    /// A run calls a tool. The words are a model's, so what cannot be seen in them is made visible.
    pub(crate) fn tool_called(run: &str, call: &ToolCall) -> Self {
        let about = match &call.arguments {
            Arguments::Json(arguments) => about(arguments),
            Arguments::Malformed(_) => String::new(),
        };
        Self::ToolCalled { run: run.to_owned(), tool: call.name.clone(), about }
    }
}

/// What a call is about: where it looks or for what, or the names of the scopes that it gives out.
fn about(arguments: &Value) -> String {
    let word = ABOUT.iter().find_map(|name| arguments.get(name)?.as_str());
    let labels = || {
        let scopes = arguments.get("scopes")?.as_array()?;
        let labels: Vec<&str> =
            scopes.iter().filter_map(|scope| scope.get("scope")?.as_str()).collect();
        Some(labels.join(", "))
    };
    let text = word.map(str::to_owned).or_else(labels).unwrap_or_default();
    cut(&one_line(&text), ABOUT_CHARS)
}
