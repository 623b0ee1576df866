//! Tools of runs that only read, such as validation and the reviewers of a panel.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::ReviewTools;
use super::session::MARK_TOOL;
use crate::events::ReviewEvent;
use crate::review_context::ReviewContext;
use crh_agent::{ToolOutcome, Toolbox};
use crh_llm::{CallArguments, ToolCall};

/// Tools that answer with lines of the file in their argument `path`.
const READING_TOOLS: [&str; 5] =
    ["diff_get_file", "get_function", "read_file", "repo_blame", "repo_read"];

/// Tools of one read-only run. Other tools are refused, with an event.
#[derive(Debug)]
pub(crate) struct ReadOnlyTools {
    tools: ReviewTools,
    allowed_tools: BTreeSet<String>,
    context: ReviewContext,
    run: String,
    /// Purpose of the run, worded to follow "is not".
    purpose: &'static str,
    /// Tool that ends the run.
    final_tool: &'static str,
    /// Files of which a tool has shown lines.
    read_paths: Mutex<BTreeSet<String>>,
}

impl ReadOnlyTools {
    /// Creates the tools of a run.
    pub(crate) fn new(
        context: &ReviewContext,
        run: &str,
        purpose: &'static str,
        final_tool: &'static str,
    ) -> Self {
        let names = ReviewTools::specs().into_iter().map(|spec| spec.name);
        Self {
            tools: ReviewTools::new(context.change.tool_context.clone()),
            allowed_tools: names.filter(|name| name != MARK_TOOL).collect(),
            context: context.clone(),
            run: run.to_owned(),
            purpose,
            final_tool,
            read_paths: Mutex::default(),
        }
    }

    /// The files of which the run has read lines.
    pub(crate) fn read_paths(&self) -> BTreeSet<String> {
        self.read_paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the file of which a successful call has shown lines, if there is one.
    fn record_read_path(&self, call: &ToolCall) {
        let path = match &call.arguments {
            CallArguments::Json(arguments) => arguments["path"].as_str(),
            CallArguments::Malformed(_) => None,
        };
        let path = path.filter(|_| READING_TOOLS.contains(&call.name.as_str()));
        let mut read_paths = self.read_paths.lock().unwrap_or_else(PoisonError::into_inner);
        read_paths.extend(path.map(str::to_owned));
    }
}

impl Toolbox for ReadOnlyTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        if !self.allowed_tools.contains(&call.name) {
            let message = format!(
                "`{}` is not {}: read what you need and call `{}`",
                call.name, self.purpose, self.final_tool
            );
            let run = self.run.clone();
            self.context.journal.emit(ReviewEvent::Refused { run, message: message.clone() });
            return ToolOutcome::Failed(message);
        }
        self.context.journal.emit(ReviewEvent::tool_called(&self.run, call));
        let outcome = self.tools.call(call).await;
        if matches!(outcome, ToolOutcome::Answered(_)) {
            self.record_read_path(call);
        }
        outcome
    }
}
