//! Failed calls, tried again or not; cancelling; the end of the time.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::stage;
use crate::stage::Verdict;
use crh_agent::{Budget, Ended, Ledger, Limit, Limits, Outcome, Run, Totals, drive};
use crh_llm::{Model, ModelError, ModelFacts, Money};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{
    Scripted, calls, hangs_up, overloaded, rate_limited, says, server_error,
};

/// Longer than any test: whoever waits for it waits in vain.
const HOURS: Duration = Duration::from_secs(10_000);

fn submits() -> Scripted {
    calls("submit", json!({ "verdict": "fine" }))
}

fn fine() -> Ended<Verdict> {
    Ended { outcome: Outcome::Answered(Verdict("fine".to_owned())), limited: None }
}

fn run(model: &Model) -> Run<Verdict> {
    Run::new(stage::task("alice"), stage::limits(), model.facts())
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_failed_at_no_cost_costs_nothing() {
    let fake = FakeModel::start().on("alice", [rate_limited(0), overloaded(), submits()]);
    let means = stage::means(&fake.url(), stage::TOOLS);
    let driven = drive(run(&means.model), &means).await;
    assert_eq!(driven.ended, fine());
    assert_eq!(driven.totals, means.ledger.spent());
    assert_eq!((driven.totals.llm_calls, driven.totals.guessed_calls), (1, 0));
    let counted = fake.counted();
    assert_eq!((counted.requests, driven.totals.usage.input), (3, counted.input));
}

#[tokio::test]
async fn a_stream_that_is_cut_is_tried_again_and_counts_at_the_worst() {
    let cut = says("I think that").pieces(3).cut_after_events(2);
    let fake = FakeModel::start().on("alice", [cut, hangs_up(), server_error(), submits()]);
    let means = stage::means(&fake.url(), stage::TOOLS);
    let driven = drive(run(&means.model), &means).await;
    assert_eq!(driven.ended, fine());
    assert_eq!(driven.totals, means.ledger.spent());
    let Totals { llm_calls, guessed_calls, usage, money, .. } = driven.totals;
    assert!(guessed_calls >= 2 && llm_calls == guessed_calls + 1, "{llm_calls}, {guessed_calls}");
    assert!(usage.output >= 200 * u64::from(guessed_calls), "the most that may be written");
    let counted = fake.counted();
    assert!(
        usage.input > counted.input && money > stage::price().worst(counted.input, counted.output)
    );
}

#[tokio::test]
async fn after_so_many_attempts_the_error_is_the_outcome() {
    let fake = FakeModel::start().on("alice", (0..4).map(|_| overloaded()));
    let means = stage::means(&fake.url(), stage::TOOLS);
    let driven = drive(run(&means.model), &means).await;
    assert!(
        matches!(driven.ended.outcome, Outcome::Model(ModelError::Overloaded { .. })),
        "{driven:?}"
    );
    assert_eq!(driven.totals, Totals::default());
}

#[tokio::test]
async fn a_wait_that_would_outlast_the_run_or_all_runs_is_not_begun() {
    let wall = Duration::from_secs(10);
    let own = (Limits { wall, ..stage::limits() }, stage::budget());
    let shared = (stage::limits(), Budget { wall, ..stage::budget() });
    for (limits, budget) in [own, shared] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alice.jsonl");
        let fake = FakeModel::start().on("alice", [rate_limited(20)]);
        let mut means = stage::means(&fake.url(), stage::TOOLS);
        means.ledger = Ledger::open(budget);
        means.transcript = stage::transcript(&path);
        let run = Run::new(stage::task("alice"), limits, means.model.facts());
        let driven = drive(run, &means).await;
        assert!(
            matches!(driven.ended.outcome, Outcome::Model(ModelError::RateLimited { .. })),
            "{driven:?}"
        );
        let text = fs::read_to_string(&path).unwrap();
        let events: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let known = events[0]["limits"]["wall_ms"].as_u64().unwrap();
        assert!(known <= 10_000, "the run knows when it has to be done: {known}");
        let waits: Vec<&Value> =
            events.iter().filter_map(|event| event.get("retry_after_ms")).collect();
        assert_eq!(waits, [&Value::Null]);
    }
}

#[tokio::test]
async fn no_attempt_goes_out_whose_money_is_not_reserved() {
    let fake = FakeModel::start().on("alice", [says("I think").cut_after_events(1)]);
    let mut means = stage::means(&fake.url(), stage::TOOLS);
    // Enough for the worst case of one call, not of two.
    means.ledger = Ledger::open(Budget { money: Money::cents(4), ..stage::budget() });
    let driven = drive(run(&means.model), &means).await;
    let outcome = Outcome::OutOfBudget(Limit::Money);
    assert_eq!(driven.ended, Ended { outcome, limited: Some(Limit::Money) });
    assert_eq!((driven.totals.llm_calls, driven.totals.guessed_calls), (1, 1));
    assert_eq!(fake.counted().requests, 1);
}

#[tokio::test]
async fn no_attempt_goes_out_that_could_pass_a_limit_of_the_run() {
    let fake = FakeModel::start().on("alice", [says("I think").cut_after_events(1)]);
    let means = stage::means(&fake.url(), stage::TOOLS);
    // Enough for the worst case of one call, not of two.
    let limits = Limits { money: Money::cents(4), ..stage::limits() };
    let run = Run::new(stage::task("alice"), limits, means.model.facts());
    let driven = drive(run, &means).await;
    let outcome = Outcome::OutOfBudget(Limit::Money);
    assert_eq!(driven.ended, Ended { outcome, limited: Some(Limit::Money) });
    assert_eq!((driven.totals.llm_calls, fake.counted().requests), (1, 1));
}

#[tokio::test]
async fn a_model_without_a_price_is_not_asked() {
    let fake = FakeModel::start();
    let mut means = stage::means(&fake.url(), stage::TOOLS);
    let facts = ModelFacts { price: None, ..stage::facts(stage::TOOLS) };
    means.model = stage::model_with(&fake.url(), facts);
    let driven = drive(run(&means.model), &means).await;
    let Outcome::Model(ModelError::BadRequest { message }) = driven.ended.outcome else {
        panic!("{driven:?}");
    };
    assert_eq!(message, "nobody knows what `openai:fake` costs: configure its price");
}

#[tokio::test]
async fn the_end_of_the_time_ends_a_call_in_flight_at_the_worst() {
    for shared in [false, true] {
        // Whether the question arrives in time does not matter.
        let fake = FakeModel::answering(|_| submits().delayed(HOURS));
        let mut means = stage::means(&fake.url(), stage::TOOLS);
        let mut limits = stage::limits();
        let wall = Duration::from_millis(200);
        if shared {
            means.ledger = Ledger::open(Budget { wall, ..stage::budget() });
        } else {
            limits.wall = wall;
        }
        let run = Run::new(stage::task("alice"), limits, means.model.facts());
        let driven = drive(run, &means).await;
        assert_eq!(driven.ended.limited, Some(Limit::Wall), "{driven:?}");
        assert_eq!(driven.ended.outcome, Outcome::OutOfBudget(Limit::Wall));
        assert_eq!((driven.totals.llm_calls, driven.totals.guessed_calls), (1, 1));
        assert_eq!(driven.totals, means.ledger.spent());
    }
}

/// Cancels a run as soon as its transcript has an event.
async fn cancelled_at(event: &str, reply: Scripted) -> (Ended<Verdict>, Totals) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    let fake = FakeModel::start().on("alice", [reply]);
    let mut means = stage::means(&fake.url(), stage::TOOLS);
    means.transcript = stage::transcript(&path);
    let event = format!("\"event\":\"{event}\"");
    let cancelling = async {
        // A question is on its way when the fake has it.
        while fake.counted().requests == 0 || !fs::read_to_string(&path).unwrap().contains(&event) {
            tokio::task::yield_now().await;
        }
        means.cancel.cancel();
    };
    let (driven, ()) = tokio::join!(drive(run(&means.model), &means), cancelling);
    assert_eq!(driven.totals, means.ledger.spent());
    (driven.ended, driven.totals)
}

#[tokio::test]
async fn cancelling_ends_a_call_in_flight_at_the_worst() {
    let (ended, totals) = cancelled_at("asked", submits().delayed(HOURS)).await;
    assert_eq!(ended, Ended { outcome: Outcome::Cancelled, limited: None });
    assert_eq!((totals.llm_calls, totals.guessed_calls), (1, 1));
}

#[tokio::test]
async fn cancelling_ends_the_wait_for_another_attempt() {
    let (ended, totals) = cancelled_at("failed", rate_limited(30)).await;
    assert_eq!(ended, Ended { outcome: Outcome::Cancelled, limited: None });
    assert_eq!(totals, Totals::default());
}

#[tokio::test]
async fn cancelling_ends_a_tool() {
    let (ended, totals) = cancelled_at("tool_call", calls("hang", json!({ "text": "" }))).await;
    assert_eq!(ended, Ended { outcome: Outcome::Cancelled, limited: None });
    assert_eq!(totals.tool_calls, 1);
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_begins_asks_nothing() {
    let fake = FakeModel::start();
    let means = stage::means(&fake.url(), stage::TOOLS);
    means.cancel.cancel();
    let driven = drive(run(&means.model), &means).await;
    assert_eq!(driven.ended, Ended { outcome: Outcome::Cancelled, limited: None });
}
