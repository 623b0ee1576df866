//! The same run with native tool calls, a schema and plain text, each recorded and replayed.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::json;

use crate::setup;
use crate::setup::Verdict;
use crh_agent::{AgentOutcome, AgentRun, AgentRunEnd, drive};
use crh_llm::{Abilities, Model, Recorder, Redactor};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, calls_all, says};

async fn check(abilities: Abilities, replies: [ScriptedReply; 2], expected: Expect) {
    let fake = FakeModel::start().on("alice", replies);
    let mut context = setup::run_context(&fake.url(), abilities);
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("alice.cassette");
    let recorder = Arc::new(Recorder::create(&cassette, Redactor::default()).unwrap());
    context.model = context.model.with_recorder(recorder.clone());
    let facts = setup::facts(abilities);
    let run = || AgentRun::new(setup::task("alice"), setup::limits(), &facts);
    let driven = drive(run(), &context).await;
    let answered = AgentOutcome::Answered(Verdict("fine".to_owned()));
    assert_eq!(driven.end, AgentRunEnd { outcome: answered, limit_reached: None });
    assert_eq!((driven.totals.llm_calls, driven.totals.tool_calls), (2, 2));
    assert_eq!(driven.totals, context.ledger.spent());
    assert_eq!(recorder.finish().unwrap(), 2);
    context.model = Model::replay(&cassette, Redactor::default()).unwrap();
    let replayed = drive(run(), &context).await;
    assert_eq!((replayed.end, replayed.totals), (driven.end, driven.totals));
    let first = &fake.requests()[0].body;
    let form = first["response_format"]["type"].as_str().unwrap_or("any form");
    let tools = first["tools"].as_array().map_or(0, Vec::len);
    expected.assert_eq(&format!("{form}, {tools} tools, {}", fake.conversations()));
}

fn object_turns() -> [ScriptedReply; 2] {
    let call = |text: &str| json!({ "name": "echo", "arguments": { "text": text } });
    let first = json!({ "calls": [call("one"), call("two")], "answer": null });
    let last = json!({ "calls": [], "answer": { "verdict": "fine" } });
    [says(first.to_string()), says(format!("Here it is:\n```json\n{last}\n```"))]
}

#[tokio::test]
async fn run_with_native_tool_calls() {
    let echo = |text: &str| ("echo", json!({ "text": text }));
    let replies = [
        calls_all([echo("one"), echo("two")]),
        says("So.").and_calls("submit", json!({ "verdict": "fine" })),
    ];
    check(
        setup::TOOLS,
        replies,
        expect![[r#"
            any form, 5 tools, alice
              0 system   Follow the rules.
              1 user     Judge this.
              2 call     echo one
              3 call     echo two
              4 result   one
              5 result   two
        "#]],
    )
    .await;
}

#[tokio::test]
async fn run_with_schema_output() {
    check(
        Abilities { tools: false, schema: true, effort: false },
        object_turns(),
        expect![[r#"
            json_schema, 0 tools, alice
              0 system   26 lines
              1 user     Judge this.
              2 said     111 bytes
              3 user     <result-7692c3ad3540: 3 bytes> <result-3fc4ccfe7458: 3 bytes>
        "#]],
    )
    .await;
}

#[tokio::test]
async fn run_with_plain_text() {
    check(
        Abilities { tools: false, schema: false, effort: false },
        object_turns(),
        expect![[r#"
            any form, 0 tools, alice
              0 system   26 lines
              1 user     Judge this.
              2 said     111 bytes
              3 user     <result-7692c3ad3540: 3 bytes> <result-3fc4ccfe7458: 3 bytes>
        "#]],
    )
    .await;
}
