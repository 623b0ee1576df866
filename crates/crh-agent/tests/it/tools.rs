//! Tools within a run and the shared budget.

use serde_json::json;

use crate::setup;
use crate::setup::Verdict;
use crh_agent::{AgentOutcome, AgentRun, Budget, Ledger, LimitKind, drive};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{calls, calls_all};

#[tokio::test]
async fn calls_over_the_shared_budget_are_refused() {
    // Repeated calls are refused, so each has its own text.
    let texts = ["text 1", "text 2", "text 3"];
    let echoes = calls_all(texts.map(|text| ("echo", json!({ "text": text }))));
    let submits = calls("submit", json!({ "verdict": "done" }));
    let fake = FakeModel::start().on("alice", [echoes, submits]);
    let mut context = setup::run_context(&fake.url(), setup::TOOLS);
    context.ledger = Ledger::open(Budget { tool_calls: 2, ..setup::budget() });
    let run = AgentRun::new(setup::task("alice"), setup::limits(), context.model.facts());
    let driven = drive(run, &context).await;
    assert_eq!(driven.end.outcome, AgentOutcome::Answered(Verdict("done".to_owned())));
    assert_eq!(driven.end.limit_reached, Some(LimitKind::ToolCalls));
    let messages = fake.requests()[1].body["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let results: Vec<_> = results.map(|message| message["content"].as_str().unwrap()).collect();
    let refusal = "Not called: the limit on tool calls is reached.";
    assert_eq!(results, ["text 1", "text 2", refusal]);
}
