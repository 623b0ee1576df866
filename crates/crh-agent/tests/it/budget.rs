//! Many runs that share one budget.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::setup;
use crh_agent::{AgentOutcome, AgentRun, Budget, Ledger, LimitKind, drive};
use crh_llm::{Money, TokenUsage};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{
    FakeRequest, ScriptedReply, calls, calls_all, hangs_up, rate_limited,
};

const RUNS: usize = 64;

/// Calls tools as long as possible, with all kinds of vendor failures.
fn failing_reply(asked: &FakeRequest) -> ScriptedReply {
    let mut hasher = DefaultHasher::new();
    (&asked.caller, asked.number).hash(&mut hasher);
    let dice = hasher.finish();
    let delay = Duration::from_millis(dice % 30);
    let last = asked.body["tool_choice"].is_object();
    let text = |word: &str| json!({ "text": format!("{word} {dice} ").repeat(5) });
    let turn = match last {
        true => calls("submit", json!({ "verdict": "out of money" })),
        false => calls_all([("echo", text("a")), ("echo", text("b"))]),
    };
    match dice / 100 % 14 {
        0 => rate_limited(0).delayed(delay),
        1 => turn.pieces(4).cut_after_events(2).delayed(delay),
        2 => turn.pieces(4).cut_after_bytes(150).delayed(delay),
        3 => hangs_up(),
        4 => turn.without_usage().delayed(delay),
        _ => turn.pieces(3).delayed(delay),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_runs_never_exceed_the_shared_budget() {
    let fake = FakeModel::answering(failing_reply).forgetful();
    let dollar = Money::cents(100);
    let mut context = setup::run_context(&fake.url(), setup::TOOLS);
    context.ledger = Ledger::open(Budget { money: dollar, ..setup::budget() });
    let context = Arc::new(context);
    let runs: Vec<_> = (0..RUNS)
        .map(|number| {
            let context = context.clone();
            tokio::spawn(async move {
                let task = setup::task(&format!("run-{number}"));
                drive(AgentRun::new(task, setup::limits(), context.model.facts()), &context).await
            })
        })
        .collect();
    let mut money = Money::ZERO;
    let (mut answer_count, mut limited) = (0, 0);
    for run in runs {
        let driven = run.await.unwrap();
        money += driven.totals.money;
        answer_count += usize::from(matches!(driven.end.outcome, AgentOutcome::Answered(_)));
        limited += usize::from(driven.end.limit_reached == Some(LimitKind::Money));
    }
    let usage = fake.usage();
    let usage = TokenUsage {
        input: usage.input,
        cache_read: usage.cached,
        cache_written: usage.written,
        output: usage.output,
    };
    let truth = setup::price().cost(&usage);
    let spent = context.ledger.spent();
    assert_eq!(spent.money, money, "what the runs say is what the ledger says");
    assert!(spent.money <= dollar, "{}", spent.money);
    assert!(truth <= spent.money, "{truth} by the vendor's count, {} by ours", spent.money);
    assert!(truth > Money::cents(20), "the budget was never in danger: {truth}");
    assert!(limited > RUNS / 2, "only {limited} runs came to the limit");
    assert!(answer_count > 0 && spent.guessed_calls > 0, "{answer_count} answered, {spent:?}");
}
