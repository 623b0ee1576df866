//! What happens when agents fail, are stopped, or do nothing.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};

use super::scene::{
    Meeting, Scene, Unusual, check, delegates, finding, marks, reports, results, shop, shown,
    submits,
};
use crh_pipeline::events::Event;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{bad_key, bad_request, refuses_prompt, says};

#[tokio::test]
async fn a_sub_agent_that_fails_or_never_reports_is_a_row_and_the_others_are_not_affected() {
    let torn = json!({ "severity": "P1" });
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[
                    ("cart", &["shop/cart.py"]),
                    ("mail", &["shop/mail.py"]),
                    ("tax", &["shop/tax.py"]),
                ]),
                submits(&["3.1"], &[]),
            ],
        )
        .on("sub-agent-1", [marks(&["shop/cart.py"]), says("Done."), says("Really.")])
        .on("sub-agent-2", [bad_request("no such model")])
        .on(
            "sub-agent-3",
            [
                marks(&["shop/tax.py"]),
                reports(&[torn, finding("P3", "shop/tax.py", "The unit changes")]),
            ],
        );
    check(&model, expect![[r#"
        orchestrator (): Completed
        sub-agent-1 (cart): Failed("sub-agent ended without calling report_findings: the model ended without an answer")
          shop/cart.py NotReviewed sub-agent-1 failed
        sub-agent-2 (mail): Failed("sub-agent ended without calling report_findings: the model does not accept the request: no such model")
          shop/mail.py NotReviewed sub-agent-2 failed
        sub-agent-3 (tax): Completed
          delegate: P3 The unit changes
          malformed: findings[0]: missing field `title`
          shop/tax.py Reviewed
    "#]]).await;
    let answer: Value = serde_json::from_str(&results(&model, "orchestrator")[0]).unwrap();
    expect![[r#"
        [1] cart: sub-agent ended without calling report_findings: the model ended without an answer
        [2] mail: sub-agent ended without calling report_findings: the model does not accept the request: no such model
        [3] tax: Looked at it."#]].assert_eq(answer["summary"].as_str().unwrap());
    expect![[r#"["shop/cart.py: sub-agent-1 failed","shop/mail.py: sub-agent-2 failed"]"#]]
        .assert_eq(&answer["not_reviewed"].to_string());
}

#[tokio::test]
async fn a_sub_agent_that_breaks_down_is_a_row() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[
                    ("cart", &["shop/cart.py"]),
                    ("rest", &["shop/mail.py", "shop/tax.py"]),
                ]),
                submits(&[], &[]),
            ],
        )
        .on("sub-agent-2", [marks(&["shop/mail.py", "shop/tax.py"]), reports(&[])]);
    let breaks = |event: &Event| match event {
        Event::RunStarted { run, .. } if run == "sub-agent-1" => panic!("on purpose"),
        _ => {}
    };
    let unusual = Unusual { listener: Box::new(breaks), ..Unusual::default() };
    let scene = Scene::new(&model, shop(), unusual);
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Completed
        sub-agent-1 (cart): Failed("sub-agent ended without calling report_findings: it broke down, which is a bug in crh")
          shop/cart.py NotReviewed sub-agent-1 failed
        sub-agent-2 (rest): Completed
          shop/mail.py Reviewed
          shop/tax.py Reviewed
    "#]].assert_eq(&shown(&runs));
}

#[tokio::test]
async fn code_delegates_where_the_orchestrator_does_not() {
    let model =
        FakeModel::start().on("orchestrator", [says("It looks fine."), says("Approved.")]).on(
            "sub-agent-1",
            [
                marks(&["shop/cart.py", "shop/mail.py", "shop/tax.py"]),
                reports(&[finding("P1", "shop/cart.py", "An empty cart divides by zero")]),
            ],
        );
    check(&model, expect![[r#"
        orchestrator (): Failed("the model ended without an answer")
        sub-agent-1 (all files): Completed
          delegate: P1 An empty cart divides by zero
          shop/cart.py Reviewed
          shop/mail.py Reviewed
          shop/tax.py Reviewed
        - the orchestrator did not delegate: code gave all files out
        - the orchestrator did not submit (the model ended without an answer): the review was submitted by code, and every finding is kept
    "#]]).await;
}

#[tokio::test]
async fn code_delegates_where_the_orchestrator_cannot_be_asked() {
    let model = FakeModel::start()
        .on("orchestrator", [refuses_prompt()])
        .on("sub-agent-1", [marks(&["shop/cart.py", "shop/mail.py", "shop/tax.py"]), reports(&[])]);
    check(&model, expect![[r#"
        orchestrator (): Failed("the model refuses to answer: Invalid prompt: it was flagged by the usage policy.")
        sub-agent-1 (all files): Completed
          shop/cart.py Reviewed
          shop/mail.py Reviewed
          shop/tax.py Reviewed
        - the orchestrator did not delegate: code gave all files out
        - the orchestrator did not submit (the model refuses to answer: Invalid prompt: it was flagged by the usage policy.): the review was submitted by code, and every finding is kept
    "#]]).await;
}

#[tokio::test]
async fn code_submits_where_the_orchestrator_does_not_and_keeps_everything() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[("all", &["shop/cart.py", "shop/mail.py", "shop/tax.py"])]),
                submits(&[], &[("1.1", "do not report this")]),
                submits(&["7.1"], &[]),
                submits(&["1.1", "1.2"], &[("1.1", "both")]),
            ],
        )
        .on(
            "sub-agent-1",
            [
                marks(&["shop/cart.py", "shop/mail.py", "shop/tax.py"]),
                reports(&[
                    finding("P1", "shop/cart.py", "An empty cart divides by zero"),
                    finding("P2", "shop/tax.py", "The rate changes its unit"),
                ]),
            ],
        );
    let scene = check(&model, expect![[r#"
        orchestrator (): Failed("the model's answer was never of the right form: `1.1` is in `keep` and in `drop`: decide on one.")
          - the orchestrator's submission did not account for the findings; refused 3 times
        sub-agent-1 (all): Completed
          delegate: P1 An empty cart divides by zero
          delegate: P2 The rate changes its unit
          shop/cart.py Reviewed
          shop/mail.py Reviewed
          shop/tax.py Reviewed
        - the orchestrator did not submit (the model's answer was never of the right form: `1.1` is in `keep` and in `drop`: decide on one.): the review was submitted by code, and every finding is kept
    "#]]).await;
    let told: Vec<String> = scene.refusals().into_iter().map(|(_, told)| told).collect();
    expect![[r#"
        neither in `keep` nor in `drop`: 1.2
        there is no finding `7.1`; there are: 1.1, 1.2
        `1.1` is in `keep` and in `drop`: decide on one"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn what_no_run_could_survive_is_not_tried_again() {
    let model = FakeModel::start().on("orchestrator", [bad_key()]);
    check(&model, expect![[r#"
        orchestrator (): Failed("the key is not accepted: Incorrect API key provided: .; no key was sent")
          shop/cart.py NotReviewed orchestrator failed
          shop/mail.py NotReviewed orchestrator failed
          shop/tax.py NotReviewed orchestrator failed
    "#]]).await;
    let model = FakeModel::start();
    let unusual = Unusual { price: None, ..Unusual::default() };
    let runs = Scene::new(&model, shop(), unusual).run().await;
    assert_eq!(runs.records.len(), 1);
    expect![[r#"Failed("the model does not accept the request: nobody knows what `openai:fake` costs: configure its price")"#]].assert_eq(&format!("{:?}", runs.records[0].ended));
}

#[tokio::test]
async fn stopping_ends_what_runs_at_once_and_keeps_what_had_ended() {
    let meeting = Meeting::default();
    let model = FakeModel::answering(move |asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", _) => delegates(&[
            ("cart", &["shop/cart.py"]),
            ("mail", &["shop/mail.py"]),
            ("tax", &["shop/tax.py"]),
        ]),
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
    let stop: Arc<Mutex<Option<crh_agent::Cancel>>> = Arc::default();
    let stopper = stop.clone();
    let listener = move |event: &Event| match event {
        Event::RunEnded { run, .. } if run == "sub-agent-1" => {
            stopper.lock().unwrap().as_ref().unwrap().cancel();
        }
        _ => {}
    };
    // There are two places, so that the third sub-agent has not begun.
    let unusual = Unusual { side_by_side: 2, listener: Box::new(listener), ..Unusual::default() };
    let scene = Scene::new(&model, shop(), unusual);
    *stop.lock().unwrap() = Some(scene.office.journal.cancel().clone());
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Cancelled
        sub-agent-1 (cart): Completed
          delegate: P1 An empty cart divides by zero
          shop/cart.py Reviewed
        sub-agent-2 (mail): Cancelled
          shop/mail.py NotReviewed the review was stopped first
        sub-agent-3 (tax): Cancelled
          shop/tax.py NotReviewed the review was stopped first
    "#]]
    .assert_eq(&shown(&runs));
}

#[tokio::test]
async fn a_budget_that_ends_in_the_middle_leaves_rows_and_no_holes() {
    let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(&[
            ("cart", &["shop/cart.py"]),
            ("mail", &["shop/mail.py"]),
            ("tax", &["shop/tax.py"]),
        ]),
        ("orchestrator", _) => submits(&[], &[]),
        (_, _) => marks(&["shop/cart.py"]),
    });
    let unusual = Unusual { side_by_side: 1, llm_calls: 5, ..Unusual::default() };
    let scene = Scene::new(&model, shop(), unusual);
    let runs = scene.run().await;
    assert_eq!(scene.office.ledger.spent().llm_calls, 5);
    expect![[r#"
        orchestrator (): Failed("the budget for calls of the model left no room to ask"), limited by calls of the model
        sub-agent-1 (cart): Failed("sub-agent ended without calling report_findings: the model ended without an answer"), limited by calls of the model
          shop/cart.py NotReviewed sub-agent-1 failed
        sub-agent-2 (mail): Failed("sub-agent ended without calling report_findings: the budget for calls of the model left no room to ask"), limited by calls of the model
          shop/mail.py NotReviewed sub-agent-2 failed
        sub-agent-3 (tax): Failed("sub-agent ended without calling report_findings: the budget for calls of the model left no room to ask"), limited by calls of the model
          shop/tax.py NotReviewed sub-agent-3 failed
        - the orchestrator did not submit (the budget for calls of the model left no room to ask): the review was submitted by code, and every finding is kept
    "#]].assert_eq(&shown(&runs));
}
