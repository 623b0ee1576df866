//! What a review took, read from the transcripts that real runs wrote.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect_file;
use serde_json::{Value, json};
use tempfile::TempDir;

use crh_agent::{
    Budget, Contents, Ledger, Limits, Means, NoTools, Outcome, Purpose, Run, Submit, TOOL_TIME,
    Task, Watch,
};
use crh_llm::retry::RetryPolicy;
use crh_llm::{
    Abilities, Cache, Conversation, Endpoint, Live, Model, ModelFacts, Money, Network, Price,
    Rates, Redactor, ToolSpec, Wire,
};
use crh_pipeline::events::Stage;
use crh_pipeline::journal::Journal;
use crh_pipeline::run_folder::{Completion, RunFolder, Stamp, Standpoint};
use crh_review::report::Report;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Tokens, calls, overloaded, says};

const DOLLAR: Money = Money::cents(100);

fn model(fake: &FakeModel) -> Model {
    let input = Money::cents(800).per_million();
    let rates =
        Rates { input, cache_read: input.percent(50), cache_write: input, output: input.times(4) };
    let facts = ModelFacts {
        context: 200_000,
        max_output: 10_000,
        price: Some(Price { rates, long: None }),
        abilities: Abilities { tools: true, schema: true },
    };
    let endpoint = Endpoint {
        wire: Wire::OpenAiChat,
        url: fake.url().parse().unwrap(),
        key: None,
        model: "fake".to_owned(),
    };
    Model::live("openai:fake", facts, Live::new(endpoint, &Network::default()).unwrap())
}

fn run(caller: &str, facts: &ModelFacts) -> Run<Value> {
    let mut conversation = Conversation::new("Follow the rules.");
    conversation.say("Judge this.", Cache::Breakpoint);
    let spec = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let task = Task {
        caller: caller.to_owned(),
        conversation,
        tools: vec![spec("look")],
        submit: Submit::new(spec("submit"), Ok),
        purpose: Purpose::Work,
        max_output_tokens: 200,
        temperature: None,
        effort: None,
    };
    let limits = Limits {
        turns: 9,
        tool_calls: 9,
        tokens: 1_000_000,
        money: DOLLAR,
        wall: Duration::from_secs(60),
    };
    Run::new(task, limits, facts)
}

fn means(fake: &FakeModel, ledger: &Ledger, journal: &Journal) -> Means<NoTools> {
    Means {
        model: model(fake),
        ledger: ledger.clone(),
        toolbox: Arc::new(NoTools),
        tool_time: TOOL_TIME,
        transcript: journal.transcript("sub-agent-1"),
        retry: RetryPolicy {
            attempts: 4,
            first_wait: Duration::from_millis(2),
            longest_wait: Duration::from_secs(9),
        },
        seed: 7,
        cancel: journal.cancel().clone(),
        watch: Watch::nobody(),
    }
}

#[tokio::test]
async fn every_call_of_a_real_run_is_in_the_telemetry_and_its_sum_is_the_ledgers() {
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
    let folder = RunFolder::create(place.path(), Stamp::from_unix(0), "0123456789abcdef").unwrap();
    folder.begin(&Standpoint::default()).unwrap();
    let path = folder.path().to_owned();
    let journal =
        Journal::open(Some(folder), Redactor::default(), Contents::Withheld, Vec::new(), |_| {});
    let ledger = Ledger::open(Budget {
        llm_calls: 10,
        tool_calls: 10,
        input_tokens: 100_000,
        wall: Duration::from_secs(60),
        money: DOLLAR,
    });
    let means = means(&fake, &ledger, &journal);
    let review = crh_agent::drive(run("sub-agent-1", means.model.facts()), &means);
    let ended = journal
        .waiting_stage(Stage::Review, async {
            match review.await.ended.outcome {
                Outcome::Answered(answer) => answer,
                other => panic!("{other:?}"),
            }
        })
        .await;
    assert_eq!(ended, json!({}));
    fake.verify();
    let folder = RunFolder::open(&path).unwrap();
    assert_eq!(folder.spent_before().unwrap(), ledger.spent());

    journal.finish(&Report::default(), &[], Completion::At(Stamp::from_unix(60)));
    assert_eq!(journal.problems(), [""; 0]);
    let mut telemetry: Value = folder.read("telemetry.json").unwrap();
    without_times(&mut telemetry);
    expect_file!["../data/telemetry.json"].assert_eq(&crh_review::stable_json(&telemetry).unwrap());
    let transcript = fs::read_to_string(path.join("transcripts/sub-agent-1.jsonl")).unwrap();
    assert!(!transcript.contains("Judge this"), "contents are withheld");
}

/// Times differ from run to run; that they are numbers does not.
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
