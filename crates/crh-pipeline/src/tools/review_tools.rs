//! The tool catalogue as a [`Toolbox`] for agent runs.

use super::{ToolContext, ToolError, call, catalogue};
use crh_agent::{ToolOutcome, Toolbox, run_on_thread};
use crh_llm::{CallArguments, ToolCall, ToolSpec};

/// All tools, over one workspace and repository. Toolboxes with fewer permissions wrap this one and
/// refuse some calls.
#[derive(Debug, Clone)]
pub struct ReviewTools {
    ctx: ToolContext,
}

impl ReviewTools {
    /// Tools that use this context.
    pub fn new(ctx: ToolContext) -> Self {
        Self { ctx }
    }

    /// Specifications of all tools, in a fixed order.
    pub fn specs() -> Vec<ToolSpec> {
        let descriptions = catalogue().into_iter();
        let specs = descriptions.map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description,
            schema: tool.schema,
        });
        specs.collect()
    }
}

impl Toolbox for ReviewTools {
    async fn call(&self, tool_call: &ToolCall) -> ToolOutcome {
        let arguments = match &tool_call.arguments {
            CallArguments::Json(arguments) => arguments.to_string(),
            CallArguments::Malformed(text) => text.clone(),
        };
        let (name, ctx) = (tool_call.name.clone(), self.ctx.clone());
        run_on_thread(&tool_call.name, move || match call(&name, &arguments, &ctx) {
            Ok(reply) => ToolOutcome::Answered(reply),
            Err(ToolError::TellModel(message)) => ToolOutcome::Failed(message),
            Err(ToolError::Abort(message)) => ToolOutcome::Abort(message),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn tool_call_answers_fails_or_aborts() {
        let tools = ReviewTools::new(ToolContext::new());
        let call = async |name: &str, arguments| {
            let (id, name) = (String::new(), name.to_owned());
            tools.call(&ToolCall { id, name, arguments, signatures: Vec::new() }).await
        };
        let sum = call("calc", CallArguments::Json(json!({ "expression": "1 + 1" }))).await;
        assert!(matches!(&sum, ToolOutcome::Answered(text) if text.contains('2')), "{sum:?}");
        let malformed = call("calc", CallArguments::Malformed("{".to_owned())).await;
        assert!(matches!(malformed, ToolOutcome::Failed(_)), "{malformed:?}");
        let nothing_there = call("mp_metadata", CallArguments::Json(json!({}))).await;
        assert!(matches!(nothing_there, ToolOutcome::Abort(_)), "{nothing_there:?}");
    }
}
