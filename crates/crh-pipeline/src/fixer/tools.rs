//! Tools of a fixer: reading tools, and tools that change the files of its task.

use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::report::ReportRepairs;
use super::sandbox::{FixSandbox, ToolRejection};
use crate::events::ReviewEvent;
use crate::review_context::ReviewContext;
use crate::tools::session::{MARK_TOOL, SessionTool};
use crate::tools::{ReadOnlyTools, ReviewTools, session};
use crh_agent::{CallOrder, ToolOutcome, Toolbox, run_on_thread};
use crh_llm::{CallArguments, ToolCall, ToolSpec};

/// Replaces one piece of text in one of your files. `old` has to stand in the file exactly once: take in as many lines around it
/// as that needs, copied to the letter, without line numbers. Answers with the changed lines and some around them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// One of your files, from the root of the repository.
    pub(super) path: String,
    /// What stands there now.
    pub(super) old: String,
    /// What is to stand there instead. Empty takes `old` out.
    pub(super) new: String,
}

/// Makes one of your files that is not there yet. For a file that is there take `edit_file`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// One of your files, from the root of the repository.
    pub(super) path: String,
    /// All that it is to hold.
    pub(super) content: String,
}

/// Reads lines of a file as it is now, with your edits. The other reading tools show the tree as it was reviewed, without them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadWorktree {
    /// The file, from the root of the repository.
    pub(super) path: String,
    /// The first line, from 1; the first of the file if left out.
    #[serde(default)]
    pub(super) start: Option<u32>,
    /// The last line; the last of the file if left out.
    #[serde(default)]
    pub(super) end: Option<u32>,
}

impl SessionTool for EditFile {
    const NAME: &'static str = "edit_file";
}

impl SessionTool for WriteFile {
    const NAME: &'static str = "write_file";
}

impl SessionTool for ReadWorktree {
    const NAME: &'static str = "read_worktree";
}

/// Tools of every fixer, in a fixed order.
pub(super) fn fixer_tool_specs() -> Vec<ToolSpec> {
    static ALL: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
        let read_only_specs =
            ReviewTools::specs().into_iter().filter(|tool| tool.name != MARK_TOOL);
        read_only_specs.chain(fixer_specs()).collect()
    });
    ALL.clone()
}

/// Tools that only fixers have.
fn fixer_specs() -> [ToolSpec; 4] {
    [
        session::tool_spec::<EditFile>(),
        session::tool_spec::<WriteFile>(),
        session::tool_spec::<ReadWorktree>(),
        session::tool_spec::<ReportRepairs>(),
    ]
}

/// Tools of one fixer run.
#[derive(Debug)]
pub(super) struct FixerTools {
    read_only: ReadOnlyTools,
    sandbox: Arc<FixSandbox>,
    context: ReviewContext,
    run: String,
}

impl FixerTools {
    /// Creates the tools of a run.
    pub(super) fn new(context: &ReviewContext, run: &str, sandbox: Arc<FixSandbox>) -> Self {
        let read_only = ReadOnlyTools::new(context, run, "for a fixer", ReportRepairs::NAME);
        Self { read_only, sandbox, context: context.clone(), run: run.to_owned() }
    }
}

impl Toolbox for FixerTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let Some(fixer_tool) = FixerTool::from_name(&call.name) else {
            return self.read_only.call(call).await;
        };
        self.context.journal.emit(ReviewEvent::tool_called(&self.run, call));
        let arguments = match &call.arguments {
            CallArguments::Json(arguments) => arguments.clone(),
            CallArguments::Malformed(text) => Value::from(text.as_str()),
        };
        let (sandbox, context, run) =
            (self.sandbox.clone(), self.context.clone(), self.run.clone());
        run_on_thread(&call.name, move || match fixer_tool.run(arguments, &sandbox) {
            Ok(text) => fixer_tool.outcome(text),
            Err(ToolRejection::Failed(message)) => ToolOutcome::Failed(message),
            Err(ToolRejection::Refused(message)) => {
                context.journal.emit(ReviewEvent::Refused { run, message: message.clone() });
                ToolOutcome::Failed(message)
            }
        })
        .await
    }

    fn order(&self, name: &str) -> CallOrder {
        // Edits of one turn are applied in the order in which the model sent them.
        if FixerTool::from_name(name).is_some() {
            CallOrder::Sequential
        } else {
            CallOrder::Parallel
        }
    }
}

/// A tool that only fixers have and that does not end the run.
#[derive(Debug, Clone, Copy)]
enum FixerTool {
    Edit,
    Write,
    Read,
}

impl FixerTool {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            EditFile::NAME => Some(Self::Edit),
            WriteFile::NAME => Some(Self::Write),
            ReadWorktree::NAME => Some(Self::Read),
            _ => None,
        }
    }

    fn run(self, arguments: Value, sandbox: &FixSandbox) -> Result<String, ToolRejection> {
        match self {
            Self::Edit => {
                sandbox.edit(&session::parse_arguments(arguments).map_err(ToolRejection::Failed)?)
            }
            Self::Write => {
                sandbox.write(&session::parse_arguments(arguments).map_err(ToolRejection::Failed)?)
            }
            Self::Read => {
                sandbox.read(&session::parse_arguments(arguments).map_err(ToolRejection::Failed)?)
            }
        }
    }

    fn outcome(self, text: String) -> ToolOutcome {
        match self {
            Self::Edit | Self::Write => ToolOutcome::Changed(text),
            Self::Read => ToolOutcome::Answered(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn fixer_has_reading_tools_and_its_own() {
        let tools = fixer_tool_specs();
        let mark = tools.iter().any(|tool| tool.name == MARK_TOOL);
        assert!(!mark && tools.len() == ReviewTools::specs().len() - 1 + fixer_specs().len());
        expect_file!["../../tests/data/tools/fixer.json"]
            .assert_eq(&crh_review::stable_json(&fixer_specs()).unwrap());
        for tool in fixer_specs() {
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            for (argument, schema) in tool.schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{} {argument}", tool.name);
            }
        }
    }
}
