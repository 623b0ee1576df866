//! Shared set-up: a model at the fake's address, a task, generous limits, and tools that behave or
//! do not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};

use crh_agent::{
    AgentTask, Budget, CallPurpose, CancelToken, Ledger, ProgressListener, RunContext, RunLimits,
    SubmitTool, TOOL_TIMEOUT, ToolOutcome, Toolbox, Transcript, TranscriptDetail,
};
use crh_llm::retry::RetryPolicy;
use crh_llm::{
    Abilities, CacheMark, CallArguments, Conversation, Endpoint, Model, ModelFacts, Money,
    NetworkSettings, Price, Rates, Redactor, ToolCall, ToolSpec, VendorClient, Wire,
};

/// A key of the usual form.
pub(crate) const KEY: &str = "sk-proj-9fQ2xLm7Tz4Kc8Vb1Nw6Rd3Hj5Yg0Se";

pub(crate) const TOOLS: Abilities = Abilities { tools: true, schema: true, effort: false };

/// The submitted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict(pub(crate) String);

pub(crate) fn key() -> SecretString {
    SecretString::from(KEY)
}

/// 8 dollars per million input tokens, 32 per million output tokens.
pub(crate) fn price() -> Price {
    let input = Money::cents(800).per_million();
    let (cache_read, output) = (input.percent(50), input.times(4));
    Price { rates: Rates { input, cache_read, cache_write: input, output }, long: None }
}

pub(crate) fn facts(abilities: Abilities) -> ModelFacts {
    ModelFacts { context: 200_000, max_output: 10_000, price: Some(price()), abilities }
}

pub(crate) fn endpoint(url: &str) -> Endpoint {
    let (wire, url) = (Wire::OpenAiChat, url.parse().unwrap());
    Endpoint { wire, url, key: Some(key()), model: "fake".to_owned() }
}

pub(crate) fn model(url: &str, abilities: Abilities) -> Model {
    model_with(url, facts(abilities))
}

pub(crate) fn model_with(url: &str, facts: ModelFacts) -> Model {
    let live = VendorClient::new(endpoint(url), &NetworkSettings::default()).unwrap();
    Model::live("openai:fake", facts, live)
}

pub(crate) fn limits() -> RunLimits {
    RunLimits {
        turns: 50,
        tool_calls: 500,
        tokens: 10_000_000,
        money: Money::cents(100_000),
        wall: Duration::from_secs(600),
    }
}

pub(crate) fn budget() -> Budget {
    Budget {
        llm_calls: 10_000,
        tool_calls: 10_000,
        input_tokens: 1_000_000_000,
        wall: Duration::from_secs(600),
        money: Money::cents(100_000),
    }
}

/// A task with the tools of [`TestToolbox`].
pub(crate) fn task(caller: &str) -> AgentTask<Verdict> {
    let mut conversation = Conversation::new("Follow the rules.");
    conversation.push_user("Judge this.", CacheMark::Breakpoint);
    let spec = |name: &str, description: &str, field: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": { field: { "type": "string" } },
            "required": [field],
            "additionalProperties": false,
        }),
    };
    let tools = ["echo", "panic", "hang", "leak"];
    AgentTask {
        caller: caller.to_owned(),
        conversation,
        tools: tools.map(|name| spec(name, "A tool.", "text")).to_vec(),
        submit: SubmitTool::new(spec("submit", "Submits the verdict.", "verdict"), |answer| {
            match answer.get("verdict").and_then(Value::as_str) {
                Some(verdict) => Ok(Verdict(verdict.to_owned())),
                None => Err("`verdict` is missing.".to_owned()),
            }
        }),
        purpose: CallPurpose::Work,
        max_output_tokens: 200,
        temperature: None,
        effort: None,
    }
}

/// Retries within milliseconds.
pub(crate) fn quick_retry() -> RetryPolicy {
    RetryPolicy {
        max_attempts: 4,
        first_wait: Duration::from_millis(2),
        longest_wait: Duration::from_secs(30),
    }
}

pub(crate) fn run_context(url: &str, abilities: Abilities) -> RunContext<TestToolbox> {
    context_with_toolbox(url, abilities, Arc::new(TestToolbox))
}

pub(crate) fn context_with_toolbox<T>(
    url: &str,
    abilities: Abilities,
    toolbox: Arc<T>,
) -> RunContext<T> {
    RunContext {
        model: model(url, abilities),
        ledger: Ledger::open(budget()),
        toolbox,
        tool_timeout: TOOL_TIMEOUT,
        transcript: Transcript::disabled(),
        retry: quick_retry(),
        seed: 7,
        cancel: CancelToken::new(),
        progress_listener: ProgressListener::silent(),
    }
}

pub(crate) fn transcript(path: &Path) -> Transcript {
    Transcript::append_to(path, Redactor::new([&key()]), TranscriptDetail::Full).unwrap()
}

/// Tools that behave, and tools that do not.
#[derive(Debug)]
pub(crate) struct TestToolbox;

impl Toolbox for TestToolbox {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let text = match &call.arguments {
            CallArguments::Json(arguments) => {
                arguments["text"].as_str().unwrap_or_default().to_owned()
            }
            CallArguments::Malformed(text) => text.clone(),
        };
        match call.name.as_str() {
            "echo" => ToolOutcome::Answered(text),
            "panic" => panic!("{text}"),
            "hang" => std::future::pending().await,
            "leak" => ToolOutcome::Answered(format!("the key is {KEY}")),
            other => ToolOutcome::Failed(format!("no `{other}`")),
        }
    }
}
