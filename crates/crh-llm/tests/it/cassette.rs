//! Records a conversation over HTTP and replays it. The recording contains no key.

use std::fs;
use std::sync::Arc;

use serde_json::json;

use crate::live_setup::{KEY, WIRES, live, task};
use crh_llm::{
    Abilities, CacheMark, CallArguments, Message, Model, ModelError, ModelFacts, ModelReply,
    ModelRequest, Price, Recorder, Redactor, ToolResult, Wire,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{bad_request, calls, rate_limited, says};

fn facts() -> ModelFacts {
    let abilities = Abilities { tools: true, schema: true, effort: false };
    ModelFacts { context: 100_000, max_output: 1000, price: Some(Price::free()), abilities }
}

/// Asks and continues the conversation like an agent, until no calls remain.
async fn conversation(model: &Model) -> Vec<Result<ModelReply, ModelError>> {
    let mut request: ModelRequest = task();
    request.conversation.push_user(format!("the key is {KEY}"), CacheMark::Unmarked);
    let mut answers = Vec::new();
    for _ in 0..4 {
        let answer = model.ask("tester", &request, u32::MAX, &mut |_| {}).await;
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
            request.conversation.push_user("go on", CacheMark::Unmarked);
        }
        answers.push(answer);
    }
    answers
}

/// An answer with the key masked, as in a recording.
fn masked(answer: Result<ModelReply, ModelError>) -> Result<ModelReply, ModelError> {
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
    let recorded_text = conversation(&model.with_recorder(Arc::clone(&recorder))).await;
    assert_eq!(recorder.finish().unwrap(), 4, "{wire:?}");
    fake.verify();
    let arguments =
        recorded_text[1].as_ref().unwrap().turn.calls().next().unwrap().arguments.clone();
    assert_eq!(arguments, CallArguments::Json(json!({ "path": KEY })), "{wire:?}");

    let written = fs::read_to_string(&path).unwrap();
    assert!(
        !written.contains(&KEY[8..20]) && !written.to_lowercase().contains("bearer"),
        "{wire:?}"
    );
    let played = conversation(&Model::replay(&path, redactor()).unwrap()).await;
    let expected: Vec<_> = recorded_text.into_iter().map(masked).collect();
    assert_eq!(played, expected, "{wire:?}");
}

#[tokio::test]
async fn recorded_conversation_replays_without_the_model() {
    for wire in WIRES {
        recorded_and_played(wire).await;
    }
}
