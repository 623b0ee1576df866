//! Retries, cancellation and timeouts.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::setup;
use crate::setup::Verdict;
use crh_agent::{
    AgentOutcome, AgentRun, AgentRunEnd, Budget, Ledger, LimitKind, RunLimits, UsageTotals, drive,
};
use crh_llm::{Model, ModelError, ModelFacts, Money};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{
    ScriptedReply, calls, hangs_up, overloaded, rate_limited, says, server_error,
};

/// Longer than any test.
const HOURS: Duration = Duration::from_secs(10_000);

fn submits() -> ScriptedReply {
    calls("submit", json!({ "verdict": "fine" }))
}

fn fine() -> AgentRunEnd<Verdict> {
    AgentRunEnd { outcome: AgentOutcome::Answered(Verdict("fine".to_owned())), limit_reached: None }
}

fn run(model: &Model) -> AgentRun<Verdict> {
    AgentRun::new(setup::task("alice"), setup::limits(), model.facts())
}

#[tokio::test]
async fn transient_errors_are_retried_at_no_cost() {
    let fake = FakeModel::start().on("alice", [rate_limited(0), overloaded(), submits()]);
    let context = setup::run_context(&fake.url(), setup::TOOLS);
    let driven = drive(run(&context.model), &context).await;
    assert_eq!(driven.end, fine());
    assert_eq!(driven.totals, context.ledger.spent());
    assert_eq!((driven.totals.llm_calls, driven.totals.guessed_calls), (1, 0));
    assert_eq!(driven.totals.failed_calls, 2);
    let usage = fake.usage();
    assert_eq!((usage.requests, driven.totals.usage.input), (3, usage.input));
}

#[tokio::test]
async fn cut_stream_is_retried_and_counts_as_worst_case() {
    let cut_reply = says("I think that").pieces(3).cut_after_events(2);
    let fake = FakeModel::start().on("alice", [cut_reply, hangs_up(), server_error(), submits()]);
    let context = setup::run_context(&fake.url(), setup::TOOLS);
    let driven = drive(run(&context.model), &context).await;
    assert_eq!(driven.end, fine());
    assert_eq!(driven.totals, context.ledger.spent());
    let UsageTotals { llm_calls, guessed_calls, usage, money, .. } = driven.totals;
    assert!(guessed_calls >= 2 && llm_calls == guessed_calls + 1, "{llm_calls}, {guessed_calls}");
    assert!(usage.output >= 200 * u64::from(guessed_calls), "the most that may be written");
    let fake_usage = fake.usage();
    assert!(
        usage.input > fake_usage.input
            && money > setup::price().worst_case(fake_usage.input, fake_usage.output)
    );
}

#[tokio::test]
async fn last_error_is_the_outcome_after_all_retries() {
    let fake = FakeModel::start().on("alice", (0..4).map(|_| overloaded()));
    let context = setup::run_context(&fake.url(), setup::TOOLS);
    let driven = drive(run(&context.model), &context).await;
    assert!(
        matches!(driven.end.outcome, AgentOutcome::Model(ModelError::Overloaded { .. })),
        "{driven:?}"
    );
    assert_eq!(driven.totals, UsageTotals { failed_calls: 4, ..UsageTotals::default() });
}

#[tokio::test]
async fn stopped_server_is_asked_twice_by_all_runs_together() {
    // Nothing listens on the discard port.
    let context = setup::run_context("http://127.0.0.1:9/v1", setup::TOOLS);
    let first = drive(run(&context.model), &context).await;
    let second = drive(run(&context.model), &context).await;
    assert!(
        matches!(first.end.outcome, AgentOutcome::Model(ModelError::NoServer { .. })),
        "{first:?}"
    );
    assert_eq!(second.end, first.end);
    assert_eq!((first.totals.failed_calls, second.totals.failed_calls), (2, 0));
    assert_eq!(context.ledger.spent().failed_calls, 2);
}

#[tokio::test]
async fn retry_delay_beyond_the_deadline_is_skipped() {
    let wall = Duration::from_secs(10);
    let own = (RunLimits { wall, ..setup::limits() }, setup::budget());
    let shared = (setup::limits(), Budget { wall, ..setup::budget() });
    for (limits, budget) in [own, shared] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alice.jsonl");
        let fake = FakeModel::start().on("alice", [rate_limited(20)]);
        let mut context = setup::run_context(&fake.url(), setup::TOOLS);
        context.ledger = Ledger::open(budget);
        context.transcript = setup::transcript(&path);
        let run = AgentRun::new(setup::task("alice"), limits, context.model.facts());
        let driven = drive(run, &context).await;
        assert!(
            matches!(driven.end.outcome, AgentOutcome::Model(ModelError::RateLimited { .. })),
            "{driven:?}"
        );
        let text = fs::read_to_string(&path).unwrap();
        let events: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let wall_limit = events[0]["limits"]["wall_ms"].as_u64().unwrap();
        assert!(wall_limit <= 10_000, "the run knows when it has to be done: {wall_limit}");
        let waits: Vec<&Value> =
            events.iter().filter_map(|event| event.get("retry_after_ms")).collect();
        assert_eq!(waits, [&Value::Null]);
    }
}

#[tokio::test]
async fn attempt_that_the_money_does_not_cover_is_not_sent() {
    // Enough for the worst case of one call, not of two.
    let own = (RunLimits { money: Money::cents(3), ..setup::limits() }, setup::budget());
    let shared = (setup::limits(), Budget { money: Money::cents(4), ..setup::budget() });
    for (limits, budget) in [own, shared] {
        let fake = FakeModel::start().on("alice", [says("I think").cut_after_events(1)]);
        let mut context = setup::run_context(&fake.url(), setup::TOOLS);
        context.ledger = Ledger::open(budget);
        let run = AgentRun::new(setup::task("alice"), limits, context.model.facts());
        let driven = drive(run, &context).await;
        let outcome = AgentOutcome::OutOfBudget(LimitKind::Money.into());
        assert_eq!(driven.end, AgentRunEnd { outcome, limit_reached: Some(LimitKind::Money) });
        assert_eq!((driven.totals.llm_calls, driven.totals.guessed_calls), (1, 1));
        assert_eq!(fake.usage().requests, 1);
    }
}

#[tokio::test]
async fn model_without_price_is_rejected() {
    let fake = FakeModel::start();
    let mut context = setup::run_context(&fake.url(), setup::TOOLS);
    let facts = ModelFacts { price: None, ..setup::facts(setup::TOOLS) };
    context.model = setup::model_with(&fake.url(), facts);
    let driven = drive(run(&context.model), &context).await;
    let AgentOutcome::Model(ModelError::BadRequest { message }) = driven.end.outcome else {
        panic!("{driven:?}");
    };
    assert_eq!(message, "the price of `openai:fake` is unknown; add it to your configuration");
}

#[tokio::test]
async fn wall_time_limit_stops_a_call_in_flight() {
    let wall = Duration::from_millis(200);
    let own = (RunLimits { wall, ..setup::limits() }, setup::budget());
    let shared = (setup::limits(), Budget { wall, ..setup::budget() });
    for (limits, budget) in [own, shared] {
        // The request may or may not arrive in time.
        let fake = FakeModel::answering(|_| submits().delayed(HOURS));
        let mut context = setup::run_context(&fake.url(), setup::TOOLS);
        context.ledger = Ledger::open(budget);
        let run = AgentRun::new(setup::task("alice"), limits, context.model.facts());
        let driven = drive(run, &context).await;
        assert_eq!(driven.end.limit_reached, Some(LimitKind::Wall), "{driven:?}");
        assert_eq!(driven.end.outcome, AgentOutcome::OutOfBudget(LimitKind::Wall.into()));
        assert_eq!((driven.totals.llm_calls, driven.totals.guessed_calls), (1, 1));
        assert_eq!(driven.totals, context.ledger.spent());
    }
}

/// Cancels a run as soon as its transcript has an event.
async fn cancelled_at(event: &str, reply: ScriptedReply) -> UsageTotals {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    let fake = FakeModel::start().on("alice", [reply]);
    let mut context = setup::run_context(&fake.url(), setup::TOOLS);
    context.transcript = setup::transcript(&path);
    let event = format!("\"event\":\"{event}\"");
    let cancelling = async {
        // The request is in flight once the fake model has received it.
        while fake.usage().requests == 0 || !fs::read_to_string(&path).unwrap().contains(&event) {
            tokio::task::yield_now().await;
        }
        context.cancel.cancel();
    };
    let (driven, ()) = tokio::join!(drive(run(&context.model), &context), cancelling);
    assert_eq!(driven.totals, context.ledger.spent());
    assert_eq!(driven.end, AgentRunEnd { outcome: AgentOutcome::Cancelled, limit_reached: None });
    driven.totals
}

#[tokio::test]
async fn cancellation_stops_a_call_a_retry_delay_or_a_tool() {
    let totals = cancelled_at("asked", submits().delayed(HOURS)).await;
    assert_eq!((totals.llm_calls, totals.guessed_calls), (1, 1));
    let totals = cancelled_at("failed", rate_limited(30)).await;
    assert_eq!(totals, UsageTotals { failed_calls: 1, ..UsageTotals::default() });
    let totals = cancelled_at("tool_call", calls("hang", json!({ "text": "" }))).await;
    assert_eq!(totals.tool_calls, 1);
}

#[tokio::test]
async fn cancelled_run_asks_nothing() {
    let fake = FakeModel::start();
    let context = setup::run_context(&fake.url(), setup::TOOLS);
    context.cancel.cancel();
    let driven = drive(run(&context.model), &context).await;
    assert_eq!(driven.end, AgentRunEnd { outcome: AgentOutcome::Cancelled, limit_reached: None });
}
