//! Tools of runs that only read, such as validation and the reviewers of a panel.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::ReviewTools;
use super::session::MARK_TOOL;
use crate::events::ReviewEvent;
use crate::review_context::ReviewContext;
use crh_agent::{ToolOutcome, Toolbox};
use crh_llm::{CallArguments, ToolCall};

/// Tool that shows names of files, but no line of them.
const NAME_TOOL: &str = "repo_ls";

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
    /// Files whose diff the prompt does not show.
    hidden_paths: Vec<String>,
    /// Hidden files that a call or its answer names.
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
            hidden_paths: Vec::new(),
            read_paths: Mutex::default(),
        }
    }

    /// Records which of these files the run reads. The prompt does not show their diffs.
    pub(crate) fn with_hidden_paths(self, hidden_paths: Vec<String>) -> Self {
        Self { hidden_paths, ..self }
    }

    /// The hidden files that the run has read.
    pub(crate) fn read_paths(&self) -> BTreeSet<String> {
        self.read_paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record_read_paths(&self, call: &ToolCall, answer: &str) {
        if call.name == NAME_TOOL || self.hidden_paths.is_empty() {
            return;
        }
        let arguments = match &call.arguments {
            CallArguments::Json(value) => value.to_string(),
            CallArguments::Malformed(text) => text.clone(),
        };
        let is_named = |path: &&String| answer.contains(*path) || arguments.contains(*path);
        let named = self.hidden_paths.iter().filter(is_named).cloned();
        self.read_paths.lock().unwrap_or_else(PoisonError::into_inner).extend(named);
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
        if let ToolOutcome::Answered(answer) = &outcome {
            self.record_read_paths(call, answer);
        }
        outcome
    }
}
