//! A recording of a real conversation over HTTP answers like the model it was made of, and knows no key.

use std::fs;
use std::sync::Arc;

use serde_json::json;

use crate::live_asking::{KEY, WIRES, live, task};
use crh_llm::{
    Abilities, Arguments, Cache, Message, Model, ModelError, ModelFacts, Price, Recorder, Redactor,
    Reply, Request, ToolResult, Wire,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{bad_request, calls, rate_limited, says};

fn facts() -> ModelFacts {
    let abilities = Abilities { tools: true, schema: true };
    ModelFacts { context: 100_000, max_output: 1000, price: Some(Price::free()), abilities }
}

/// Asks, and goes on with what was said, until nothing new comes: what an agent does.
async fn conversation(model: &Model) -> Vec<Result<Reply, ModelError>> {
    let mut request: Request = task();
    request.conversation.say(format!("the key is {KEY}"), Cache::Unmarked);
    let mut answers = Vec::new();
    for _ in 0..4 {
        let answer = model.ask("tester", &request, &mut |_| {}).await;
        if let Ok(reply) = &answer {
            let messages = &mut request.conversation.messages;
            messages.push(Message::Assistant(reply.turn.clone()));
            let results = reply.turn.calls().map(|call| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                text: "nothing".to_owned(),
            });
            let results: Vec<ToolResult> = results.collect();
            if !results.is_empty() {
                messages.push(Message::Results(results));
            }
            request.conversation.say("go on", Cache::Unmarked);
        }
        answers.push(answer);
    }
    answers
}

/// An answer without the key, as a recording has it.
fn masked(answer: Result<Reply, ModelError>) -> Result<Reply, ModelError> {
    let redactor = Redactor::new([&KEY.into()]);
    answer.map(|reply| {
        serde_json::from_value(redactor.redact_json(&serde_json::to_value(reply).unwrap())).unwrap()
    })
}

async fn recorded_and_played(wire: Wire) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let redactor = || Redactor::new([&KEY.into()]);
    let fake = FakeModel::start().on(
        "tester",
        [
            rate_limited(2),
            calls("look", json!({ "path": KEY })),
            says(format!("I saw {KEY}")),
            bad_request(format!("{KEY} is no good")),
        ],
    );
    let recorder = Arc::new(Recorder::create(&path, redactor()).unwrap());
    let model = Model::live("openai:gpt", facts(), live(wire, fake.url()));
    let said = conversation(&model.recording(Arc::clone(&recorder))).await;
    assert_eq!(recorder.finish().unwrap(), 4, "{wire:?}");
    fake.verify();
    let arguments = said[1].as_ref().unwrap().turn.calls().next().unwrap().arguments.clone();
    assert_eq!(arguments, Arguments::Json(json!({ "path": KEY })), "{wire:?}");

    let written = fs::read_to_string(&path).unwrap();
    assert!(
        !written.contains(&KEY[8..20]) && !written.to_lowercase().contains("bearer"),
        "{wire:?}"
    );
    let played = conversation(&Model::replay(&path, redactor()).unwrap()).await;
    let expected: Vec<_> = said.into_iter().map(masked).collect();
    assert_eq!(played, expected, "{wire:?}");
}

#[tokio::test]
async fn a_recorded_conversation_is_played_again_without_the_model() {
    for wire in WIRES {
        recorded_and_played(wire).await;
    }
}
