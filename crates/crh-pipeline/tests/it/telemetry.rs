//! Telemetry from the transcripts of real runs.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect_file;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_change::fake_model;
use crh_agent::{
    AgentOutcome, AgentRun, AgentTask, Budget, CallPurpose, Ledger, NoTools, ProgressListener,
    RunContext, RunLimits, SubmitTool, TOOL_TIMEOUT, TranscriptDetail,
};
use crh_llm::retry::RetryPolicy;
use crh_llm::{
    CacheMark, Conversation, Model, ModelFacts, Money, Price, Rates, Redactor, ToolSpec,
};
use crh_pipeline::events::Stage;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::run_folder::{CheckoutState, RunFolder, Timestamp};
use crh_review::report::Report;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Tokens, calls, overloaded, says};

const DOLLAR: Money = Money::cents(100);

fn model(fake: &FakeModel) -> Model {
    let input = Money::cents(800).per_million();
    let rates =
        Rates { input, cache_read: input.percent(50), cache_write: input, output: input.times(4) };
    fake_model(fake, "fake", 200_000, 10_000, Some(Price { rates, long: None }))
}

fn run(caller: &str, facts: &ModelFacts) -> AgentRun<Value> {
    let mut conversation = Conversation::new("Follow the rules.");
    conversation.push_user("Judge this.", CacheMark::Breakpoint);
    let spec = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let task = AgentTask {
        caller: caller.to_owned(),
        conversation,
        tools: vec![spec("look")],
        submit: SubmitTool::new(spec("submit"), Ok),
        purpose: CallPurpose::Work,
        max_output_tokens: 200,
        temperature: None,
        effort: None,
    };
    let limits = RunLimits {
        turns: 9,
        tool_calls: 9,
        tokens: 1_000_000,
        money: DOLLAR,
        wall: Duration::from_secs(60),
    };
    AgentRun::new(task, limits, facts)
}

fn run_context(fake: &FakeModel, ledger: &Ledger, journal: &ReviewJournal) -> RunContext<NoTools> {
    RunContext {
        model: model(fake),
        ledger: ledger.clone(),
        toolbox: Arc::new(NoTools),
        tool_timeout: TOOL_TIMEOUT,
        transcript: journal.transcript("sub-agent-1"),
        retry: RetryPolicy {
            max_attempts: 4,
            first_wait: Duration::from_millis(2),
            longest_wait: Duration::from_secs(9),
        },
        seed: 7,
        cancel: journal.cancel().clone(),
        progress_listener: ProgressListener::silent(),
    }
}

#[tokio::test]
async fn telemetry_totals_equal_the_ledger() {
    let tokens = |input, output| Tokens { input, cached: 10, written: 0, output, thoughts: 0 };
    let fake = FakeModel::start().on(
        "sub-agent-1",
        [
            overloaded(),
            calls("look", json!({})).usage(tokens(100, 5)),
            says("hm").without_usage(),
            calls("submit", json!({})).usage(tokens(200, 7)),
        ],
    );
    let place = TempDir::new().unwrap();
    let folder =
        RunFolder::create(place.path(), Timestamp::from_unix(0), "0123456789abcdef").unwrap();
    folder.write_start(&CheckoutState::default()).unwrap();
    let path = folder.path().to_owned();
    let journal = ReviewJournal::open(
        Some(folder),
        Redactor::default(),
        TranscriptDetail::LengthsOnly,
        Vec::new(),
        |_| {},
    );
    let ledger = Ledger::open(Budget {
        llm_calls: 10,
        tool_calls: 10,
        input_tokens: 100_000,
        wall: Duration::from_secs(60),
        money: DOLLAR,
    });
    let means = run_context(&fake, &ledger, &journal);
    let review = Box::pin(crh_agent::drive(run("sub-agent-1", means.model.facts()), &means));
    let ended = journal
        .async_stage(Stage::Review, async {
            match review.await.end.outcome {
                AgentOutcome::Answered(answer) => answer,
                other => panic!("{other:?}"),
            }
        })
        .await;
    assert_eq!(ended, json!({}));
    fake.verify();
    let folder = RunFolder::open(&path).unwrap();
    assert_eq!(folder.spent_before().unwrap(), ledger.spent());

    journal.finish(&Report::default(), &[]);
    assert_eq!(journal.write_problems(), [""; 0]);
    let mut telemetry: Value = folder.read("telemetry.json").unwrap();
    without_times(&mut telemetry);
    expect_file!["../data/telemetry.json"].assert_eq(&crh_review::stable_json(&telemetry).unwrap());
    let transcript = fs::read_to_string(path.join("transcripts/sub-agent-1.jsonl")).unwrap();
    assert!(!transcript.contains("Judge this"), "contents are withheld");
}

/// Replaces times, which differ from run to run.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.is_u64() && name.ends_with("_ms") {
                    true => *value = json!("a time"),
                    false => without_times(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
