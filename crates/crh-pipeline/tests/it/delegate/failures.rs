//! Agents that fail, are cancelled, or do nothing.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};

use super::scene::{
    ALL, CART_AND_REST, EACH, Rendezvous, Scene, SceneOptions, check, delegates, finding, marks,
    render, reports, shop, submits, tool_results,
};
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::runs::RunEnd;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, bad_key, bad_request, refuses_prompt, says};

#[tokio::test]
async fn failed_sub_agent_does_not_affect_the_others() {
    let torn = json!({ "severity": "P1" });
    let model = FakeModel::start()
        .on("orchestrator", [delegates(EACH), submits(&["3.1"], &[])])
        .on("sub-agent-1", [marks(&["shop/cart.py"]), says("Done."), says("Really.")])
        .on("sub-agent-2", [bad_request("no such model")])
        .on(
            "sub-agent-3",
            [
                marks(&["shop/tax.py"]),
                reports(&[torn.clone(), finding("P3", "shop/tax.py", "The unit changes")]),
                reports(&[torn]),
            ],
        );
    check(&model, expect![[r#"
        orchestrator (): Completed
        sub-agent-1 (cart): Failed("sub-agent ended without calling report_findings: the model did not submit an answer")
          shop/cart.py NotReviewed sub-agent-1 failed
        sub-agent-2 (mail): Failed("sub-agent ended without calling report_findings: the model rejected the request: no such model")
          shop/mail.py NotReviewed sub-agent-2 failed
        sub-agent-3 (tax): Completed
          delegate: P3 The unit changes
          malformed: findings[0]: missing field `title`
          reviewed: shop/tax.py
    "#]]).await;
    let answer: Value = serde_json::from_str(&tool_results(&model, "orchestrator")[0]).unwrap();
    expect![[r#"
        [1] cart: sub-agent ended without calling report_findings: the model did not submit an answer
        [2] mail: sub-agent ended without calling report_findings: the model rejected the request: no such model
        [3] tax: Looked at it."#]].assert_eq(answer["summary"].as_str().unwrap());
    expect![[r#"["shop/cart.py: sub-agent-1 failed","shop/mail.py: sub-agent-2 failed"]"#]]
        .assert_eq(&answer["not_reviewed"].to_string());
}

#[tokio::test]
async fn panicking_sub_agent_has_a_row() {
    let model = FakeModel::start()
        .on("orchestrator", [delegates(CART_AND_REST), submits(&[], &[])])
        .on("sub-agent-2", [marks(&["shop/mail.py", "shop/tax.py"]), reports(&[])]);
    let breaks = |event: &ReviewEvent| match event {
        ReviewEvent::RunStarted { run, .. } if run == "sub-agent-1" => panic!("on purpose"),
        _ => {}
    };
    let scene_options = SceneOptions { listener: Box::new(breaks), ..SceneOptions::default() };
    let scene = Scene::new(&model, shop(), scene_options);
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Completed
        sub-agent-1 (cart): Failed("sub-agent ended without calling report_findings: crashed (a bug in crh)")
          shop/cart.py NotReviewed sub-agent-1 failed
        sub-agent-2 (rest): Completed
          reviewed: shop/mail.py shop/tax.py
    "#]].assert_eq(&render(&runs));
}

#[tokio::test]
async fn code_delegates_if_the_orchestrator_does_not() {
    for (replies, why) in [
        (vec![says("It looks fine."), says("Approved.")], "the model did not submit an answer"),
        (
            vec![refuses_prompt()],
            "the model refuses to answer: Invalid prompt: it was flagged by the usage policy.",
        ),
    ] {
        let found = finding("P1", "shop/cart.py", "An empty cart divides by zero");
        let model = FakeModel::start()
            .on("orchestrator", replies)
            .on("sub-agent-1", [marks(ALL), reports(&[found])]);
        let runs = Scene::new(&model, shop(), SceneOptions::default()).run().await;
        let expected = expect![[r#"
            orchestrator (): Failed("WHY")
            sub-agent-1 (all files): Completed
              delegate: P1 An empty cart divides by zero
              reviewed: shop/cart.py shop/mail.py shop/tax.py
            - the orchestrator did not delegate; crh assigned all files itself
            - the orchestrator did not submit (WHY); all findings are kept
        "#]];
        expected.assert_eq(&render(&runs).replace(why, "WHY"));
    }
}

#[tokio::test]
async fn code_submits_all_if_the_orchestrator_does_not() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[("all", ALL)]),
                submits(&[], &[("1.1", "do not report this")]),
                submits(&["7.1"], &[]),
                submits(&["1.1", "1.2"], &[("1.1", "both")]),
            ],
        )
        .on(
            "sub-agent-1",
            [
                marks(ALL),
                reports(&[
                    finding("P1", "shop/cart.py", "An empty cart divides by zero"),
                    finding("P2", "shop/tax.py", "The rate changes its unit"),
                ]),
            ],
        );
    let scene = check(&model, expect![[r#"
        orchestrator (): Failed("the model's answer was invalid: `1.1` is in `keep` and in `drop`: decide on one.")
          - the orchestrator's submission did not account for the findings; refused 3 times
        sub-agent-1 (all): Completed
          delegate: P1 An empty cart divides by zero
          delegate: P2 The rate changes its unit
          reviewed: shop/cart.py shop/mail.py shop/tax.py
        - the orchestrator did not submit (the model's answer was invalid: `1.1` is in `keep` and in `drop`: decide on one.); all findings are kept
    "#]]).await;
    let messages: Vec<String> = scene.refusals().into_iter().map(|(_, told)| told).collect();
    expect![[r#"
        neither in `keep` nor in `drop`: 1.2
        there is no finding `7.1`; there are: 1.1, 1.2
        `1.1` is in `keep` and in `drop`: decide on one"#]]
    .assert_eq(&messages.join("\n"));
}

#[tokio::test]
async fn fatal_error_of_the_orchestrator_is_reported_once() {
    let check_fatal = async |replies: Vec<ScriptedReply>, why: &str| {
        let model = FakeModel::start().on("orchestrator", replies);
        let runs = Scene::new(&model, shop(), SceneOptions::default()).run().await;
        let files = ALL.iter().map(|path| format!("  {path} NotReviewed orchestrator failed\n"));
        let expected = format!("orchestrator (): Failed({why:?})\n{}", files.collect::<String>());
        assert_eq!(render(&runs), expected);
    };
    let why = "the server requires an API key, and crh sent none: Incorrect API key provided: .";
    check_fatal(vec![bad_key()], why).await;
    let not_found = bad_request("model 'fake' not found");
    check_fatal(vec![not_found], "the model rejected the request: model 'fake' not found").await;
    // With native tool calls, with a schema, and as text.
    let no_tools = bad_request("gemma:2b does not support tools");
    let why = "the model rejected the request: gemma:2b does not support tools; choose a model that supports tools";
    check_fatal(vec![no_tools; 3], why).await;
    let model = FakeModel::start();
    let scene_options = SceneOptions { price: None, ..SceneOptions::default() };
    let runs = Scene::new(&model, shop(), scene_options).run().await;
    assert_eq!(runs.records.len(), 1);
    expect![[r#"Failed("the model rejected the request: the price of `openai:fake` is unknown; add it to your configuration")"#]].assert_eq(&format!("{:?}", runs.records[0].ended));
}

#[tokio::test]
async fn cancel_stops_runs_and_keeps_finished_ones() {
    let meeting = Rendezvous::default();
    let model = FakeModel::answering(move |asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", _) => delegates(EACH),
        ("sub-agent-1", 1) => {
            assert!(meeting.wait_for(2));
            marks(&["shop/cart.py"])
        }
        ("sub-agent-1", _) => {
            reports(&[finding("P1", "shop/cart.py", "An empty cart divides by zero")])
        }
        (_, _) => {
            assert!(meeting.wait_for(2));
            says("Hm.").silent_after_events(1)
        }
    });
    let stop: Arc<Mutex<Option<crh_agent::CancelToken>>> = Arc::default();
    let stopper = stop.clone();
    let listener = move |event: &ReviewEvent| match event {
        ReviewEvent::RunEnded { run, .. } if run == "sub-agent-1" => {
            stopper.lock().unwrap().as_ref().unwrap().cancel();
        }
        _ => {}
    };
    // With two slots, the third sub-agent has not begun.
    let scene_options =
        SceneOptions { side_by_side: 2, listener: Box::new(listener), ..SceneOptions::default() };
    let scene = Scene::new(&model, shop(), scene_options);
    *stop.lock().unwrap() = Some(scene.context.journal.cancel().clone());
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Cancelled
        sub-agent-1 (cart): Completed
          delegate: P1 An empty cart divides by zero
          reviewed: shop/cart.py
        sub-agent-2 (mail): Cancelled
          shop/mail.py NotReviewed the review was stopped before this file was reviewed
        sub-agent-3 (tax): Cancelled
          shop/tax.py NotReviewed the review was stopped before this file was reviewed
    "#]]
    .assert_eq(&render(&runs));
}

#[tokio::test]
async fn small_context_keeps_tools_that_a_role_has_to_call() {
    for context_tokens in [8_192, 10_000, 12_000, 14_000] {
        let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
            ("orchestrator", 1) => delegates(&[("all", ALL)]),
            ("orchestrator", _) => submits(&[], &[]),
            (_, 1) => marks(ALL),
            (_, _) => reports(&[]),
        });
        let scene_options = SceneOptions { context_tokens, ..SceneOptions::default() };
        let runs = Scene::new(&model, shop(), scene_options).run().await;
        for request in model.requests() {
            let required = match request.caller.as_str() {
                "orchestrator" => ["delegate_review", "submit_review"],
                _ => ["mark_file_reviewed", "report_findings"],
            };
            let tools = request.body["tools"].as_array().unwrap();
            let has_tool =
                |name: &&str| tools.iter().any(|tool| tool["function"]["name"] == **name);
            assert!(required.iter().all(has_tool), "{context_tokens}: {tools:?}");
        }
        for record in &runs.records {
            if let RunEnd::Failed(why) = &record.ended {
                assert!(why.contains("the model's context has"), "{context_tokens}: {why}");
            }
        }
    }
}

#[tokio::test]
async fn exhausted_budget_leaves_a_row_for_each_run() {
    let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(EACH),
        ("orchestrator", _) => submits(&[], &[]),
        (_, _) => marks(&["shop/cart.py"]),
    });
    let scene_options = SceneOptions { side_by_side: 1, llm_calls: 5, ..SceneOptions::default() };
    let scene = Scene::new(&model, shop(), scene_options);
    let runs = scene.run().await;
    assert_eq!(scene.context.ledger.spent().llm_calls, 5);
    expect![[r#"
        orchestrator (): Failed("the remaining budget for model calls is too small for another request; raise `--max-llm-calls`"), limited by model calls
        sub-agent-1 (cart): Failed("sub-agent ended without calling report_findings: the model did not submit an answer"), limited by model calls
          shop/cart.py NotReviewed sub-agent-1 failed
        sub-agent-2 (mail): Failed("sub-agent ended without calling report_findings: the remaining budget for model calls is too small for another request; raise `--max-llm-calls`"), limited by model calls
          shop/mail.py NotReviewed sub-agent-2 failed
        sub-agent-3 (tax): Failed("sub-agent ended without calling report_findings: the remaining budget for model calls is too small for another request; raise `--max-llm-calls`"), limited by model calls
          shop/tax.py NotReviewed sub-agent-3 failed
        - the orchestrator did not submit (the remaining budget for model calls is too small for another request; raise `--max-llm-calls`); all findings are kept
    "#]].assert_eq(&render(&runs));
}
