//! Tools inside a run: side by side, and those that misbehave.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;

use crate::stage;
use crate::stage::Verdict;
use crh_agent::{Budget, Ledger, Outcome, Run, TOOL_TIME, drive};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Scripted, calls, calls_all};

/// Calls each with a text of its own: the same call twice is not made twice.
fn with_text(names: &[&str]) -> Scripted {
    let numbered = names.iter().zip(1..);
    calls_all(numbered.map(|(name, number)| (*name, json!({ "text": format!("text {number}") }))))
}

/// Lets the model call these tools in one turn, and shows what it is told.
async fn check(names: &[&str], tool_time: Duration, budget: Budget, expected: Expect) {
    let submits = calls("submit", json!({ "verdict": "done" }));
    let fake = FakeModel::start().on("alice", [with_text(names), submits]);
    let mut means = stage::means(&fake.url(), stage::TOOLS);
    means.ledger = Ledger::open(budget);
    means.tool_time = tool_time;
    let run = Run::new(stage::task("alice"), stage::limits(), means.model.facts());
    let driven = drive(run, &means).await;
    assert_eq!(driven.ended.outcome, Outcome::Answered(Verdict("done".to_owned())));
    let told = fake.requests()[1].body["messages"].as_array().unwrap().clone();
    let results = told.iter().filter(|message| message["role"] == "tool");
    let shown: String =
        results.map(|message| format!("{}\n", message["content"].as_str().unwrap())).collect();
    expected.assert_eq(&format!("{shown}limited: {:?}\n", driven.ended.limited));
}

#[tokio::test]
async fn calls_of_one_turn_wait_for_each_other_and_all_come_through() {
    check(
        &["meet", "meet"],
        TOOL_TIME,
        stage::budget(),
        expect![[r#"
        text 1 met
        text 2 met
        limited: None
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_tool_that_panics_hangs_or_blocks_costs_its_own_call_only() {
    let names = ["panic", "hang", "block", "echo"];
    check(
        &names,
        Duration::from_millis(200),
        stage::budget(),
        expect![[r#"
        the tool broke on this call; try it another way
        `hang` did not end within 0.2 s; ask for less at once
        `block` did not end within 0.2 s; ask for less at once
        text 4
        limited: None
    "#]],
    )
    .await;
}

#[tokio::test]
async fn calls_for_which_the_budget_has_no_room_are_not_made() {
    let budget = Budget { tool_calls: 2, ..stage::budget() };
    check(
        &["echo", "echo", "leak"],
        TOOL_TIME,
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

#[tokio::test]
async fn a_tool_that_aborts_ends_the_run() {
    let fake = FakeModel::start().on("alice", [with_text(&["abort"])]);
    let means = stage::means(&fake.url(), stage::TOOLS);
    let run = Run::new(stage::task("alice"), stage::limits(), means.model.facts());
    assert_eq!(drive(run, &means).await.ended.outcome, Outcome::Aborted("text 1".to_owned()));
}
