//! Tools of runs that only read, such as validation and the reviewers of a panel.

use std::collections::BTreeSet;

use super::ReviewTools;
use super::session::MARK_TOOL;
use crate::events::ReviewEvent;
use crate::review_context::ReviewContext;
use crh_agent::{ToolOutcome, Toolbox};
use crh_llm::ToolCall;

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
        }
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
        self.tools.call(call).await
    }
}
