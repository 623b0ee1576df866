//! Tools within a run: time limit, crashes and the shared budget.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;

use crate::setup;
use crate::setup::Verdict;
use crh_agent::{AgentOutcome, AgentRun, Budget, Ledger, TOOL_TIMEOUT, drive};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, calls, calls_all};

/// Calls each tool with different text, because repeated calls are refused.
fn with_text(names: &[&str]) -> ScriptedReply {
    let numbered = names.iter().zip(1..);
    calls_all(numbered.map(|(name, number)| (*name, json!({ "text": format!("text {number}") }))))
}

/// The model calls these tools in one turn; checks the results it gets.
async fn check(names: &[&str], tool_time: Duration, budget: Budget, expected: Expect) {
    let submits = calls("submit", json!({ "verdict": "done" }));
    let fake = FakeModel::start().on("alice", [with_text(names), submits]);
    let mut context = setup::run_context(&fake.url(), setup::TOOLS);
    context.ledger = Ledger::open(budget);
    context.tool_timeout = tool_time;
    let run = AgentRun::new(setup::task("alice"), setup::limits(), context.model.facts());
    let driven = drive(run, &context).await;
    assert_eq!(driven.end.outcome, AgentOutcome::Answered(Verdict("done".to_owned())));
    let messages = fake.requests()[1].body["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let results: String =
        results.map(|message| format!("{}\n", message["content"].as_str().unwrap())).collect();
    expected.assert_eq(&format!("{results}limited: {:?}\n", driven.end.limit_reached));
}

#[tokio::test]
async fn misbehaving_tool_fails_only_its_own_call() {
    check(
        &["panic", "hang", "echo"],
        Duration::from_millis(200),
        setup::budget(),
        expect![[r#"
        the tool broke on this call; try it another way
        `hang` did not end within 0.2 s; ask for less at once
        text 3
        limited: None
    "#]],
    )
    .await;
}

#[tokio::test]
async fn calls_over_the_shared_budget_are_refused() {
    let budget = Budget { tool_calls: 2, ..setup::budget() };
    check(
        &["echo", "echo", "leak"],
        TOOL_TIMEOUT,
        budget,
        expect![[r#"
            text 1
            text 2
            Not called: the limit on tool calls is reached.
            limited: Some(ToolCalls)
        "#]],
    )
    .await;
}
