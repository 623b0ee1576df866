//! The tools as an agent run calls them.

use super::{Bench, ToolError, call, catalogue};
use crh_agent::{ToolOutcome, Toolbox, on_thread};
use crh_llm::{Arguments, ToolCall, ToolSpec};

/// Every tool over one workspace and its repository. What a reviewer may not use is refused by whoever starts it.
#[derive(Debug, Clone)]
pub struct BenchTools {
    bench: Bench,
}

impl BenchTools {
    /// The tools that work with this bench.
    pub fn new(bench: Bench) -> Self {
        Self { bench }
    }

    /// All tools as a model is told of them, in an order that never changes.
    pub fn specs() -> Vec<ToolSpec> {
        let described = catalogue().into_iter();
        let spec = described.map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.words,
            schema: tool.schema,
        });
        spec.collect()
    }
}

impl Toolbox for BenchTools {
    async fn call(&self, asked: &ToolCall) -> ToolOutcome {
        let arguments = match &asked.arguments {
            Arguments::Json(arguments) => arguments.to_string(),
            Arguments::Malformed(text) => text.clone(),
        };
        let (name, bench) = (asked.name.clone(), self.bench.clone());
        on_thread(&asked.name, move || match call(&name, &arguments, &bench) {
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
    async fn a_tool_answers_tells_the_model_or_ends_the_run() {
        let tools = BenchTools::new(Bench::new());
        let call = async |name: &str, arguments| {
            let (id, name) = (String::new(), name.to_owned());
            tools.call(&ToolCall { id, name, arguments, signatures: Vec::new() }).await
        };
        let sum = call("calc", Arguments::Json(json!({ "expression": "1 + 1" }))).await;
        assert!(matches!(&sum, ToolOutcome::Answered(text) if text.contains('2')), "{sum:?}");
        let torn = call("calc", Arguments::Malformed("{".to_owned())).await;
        assert!(matches!(torn, ToolOutcome::Failed(_)), "{torn:?}");
        let nothing_there = call("mp_metadata", Arguments::Json(json!({}))).await;
        assert!(matches!(nothing_there, ToolOutcome::Abort(_)), "{nothing_there:?}");
    }
}
