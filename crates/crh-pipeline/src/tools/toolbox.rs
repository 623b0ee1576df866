//! The tools as an agent run calls them.

use crh_agent::ToolOutcome;
use crh_agent::Toolbox;
use crh_agent::on_thread;
use crh_llm::Arguments;
use crh_llm::ToolCall;
use crh_llm::ToolSpec;

use super::Bench;
use super::ToolError;
use super::call;
use super::catalogue;

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
