//! Fixers without a valid result: nothing is accepted, and every issue has a reason.

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, ISSUES, NEW, OLD, Scene, edit, render, reports, tool_replies};
use crh_pipeline::fixer::FixerResult;
use crh_testkit::fake_model::{FakeRequest, PromptPart, bad_key, calls, says};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn ambiguous_edit_fails_and_the_fixer_continues() {
    let model = FakeModel::start().on(
        "fixer-1",
        [
            edit("cart.py", "lines", "rows"),
            edit("cart.py", "nowhere", "rows"),
            edit("cart.py", "", "rows"),
            edit("cart.py", OLD, OLD),
            calls("edit_file", json!({ "path": "cart.py", "old": OLD })),
            edit("cart.py", OLD, NEW),
            reports(&[(1, "done")]),
        ],
    );
    let scene = Scene::new(&model);
    scene
        .check(expect![[r##"
        #1 done: It is done.
        #2 not done: the fixer did not report about it
        cart.py for {1}: OLD is NEW
        fixer-1 Completed
    "##]])
        .await;
    expect![[r#"
        `old` occurs 3 times: take in lines around it until it occurs once
        `old` occurs 0 times: copy it to the letter from `read_worktree`, without line numbers
        `old` is empty: say what to replace
        `old` and `new` are the same: nothing would change
        the argument `new` is missing
        `cart.py` is changed. Lines as they are now:
            1  def total(lines):
            2      count = len(lines)
            3      return sum(lines) / count if count else 0
    "#]]
    .assert_eq(&tool_replies(&model));
    assert_eq!(scene.refusals(), "", "a mistake is no break of a rule");
}

/// Checks that a fixer fails with this reason and repairs nothing.
async fn check_failure(scene: &Scene, why: &str, end: &str) -> FixerResult {
    let repair = scene.repair().await;
    let not_done = |number| format!("#{number} not done: the fixer failed: {why}\n");
    assert_eq!(render(&repair), format!("{}{}fixer-1 {end}\n", not_done(1), not_done(2)));
    repair
}

#[tokio::test]
async fn fixer_without_usable_report_repairs_nothing() {
    let nothing = "the model did not submit an answer";
    let invalid = "the model's answer was invalid: the argument `repairs[0].outcome` cannot be used: unknown variant `perhaps`, expected `done` or `not_done`";
    let no_key = "the server requires an API key, and crh sent none: Incorrect API key provided: .";
    let invalid_reports = vec![
        reports(&[(7, "done")]),
        reports(&[(1, "done"), (1, "not_done")]),
        reports(&[(1, "perhaps")]),
    ];
    for (replies, why) in [
        (vec![says("All done."), says("As I said.")], nothing),
        (invalid_reports, invalid),
        (vec![bad_key()], no_key),
    ] {
        let replies = [edit("cart.py", OLD, NEW)].into_iter().chain(replies);
        let model = FakeModel::start().on("fixer-1", replies);
        check_failure(&Scene::new(&model), why, &format!("Failed({why:?})")).await;
    }
}

/// Toggles the first file between two states.
fn back_and_forth(asked: &FakeRequest) -> crh_testkit::fake_model::ScriptedReply {
    let edits = asked
        .prompt_parts()
        .into_iter()
        .filter(|read| matches!(read, PromptPart::Call { .. }))
        .count();
    if edits % 2 == 0 { edit("cart.py", OLD, NEW) } else { edit("cart.py", NEW, OLD) }
}

#[tokio::test]
async fn endless_fixer_is_stopped() {
    let model = FakeModel::answering(back_and_forth);
    let scene = Scene::new(&model);
    let why = "the model did not submit an answer";
    let end = format!("Failed({why:?}) limited by model calls");
    let repair = check_failure(&scene, why, &end).await;
    assert_eq!(
        repair.record.totals.llm_calls, 40,
        "its turns, the one in which it has to report among them"
    );
}

#[tokio::test]
async fn fixer_does_not_run_without_budget() {
    let model = FakeModel::start();
    let scene = Scene::with_options(&model, Repo::from_fixture(CART), ISSUES, |terms| {
        terms.budget.llm_calls = 0;
    });
    let why = "the remaining budget for model calls is too small for another request; raise `--max-llm-calls`";
    check_failure(&scene, why, &format!("Failed({why:?}) limited by model calls")).await;
}

#[tokio::test]
async fn cancelled_fixer_repairs_nothing() {
    let model = FakeModel::start();
    let scene = Scene::new(&model);
    scene.context.journal.cancel().cancel();
    check_failure(&scene, "stopped by the user", "Cancelled").await;
}

#[tokio::test]
async fn issues_over_the_limit_are_not_done() {
    let model =
        FakeModel::start().on("fixer-1", [edit("cart.py", OLD, NEW), reports(&[(1, "done")])]);
    let mut scene = Scene::new(&model);
    let second = scene.fix_task.issues.pop().unwrap();
    for number in 2..=42 {
        scene.fix_task.issues.push(crh_review::report::Issue { number, ..second.clone() });
    }
    let repair = scene.repair().await;
    let messages: Vec<String> =
        repair.outcomes.iter().map(|(number, messages)| format!("{number} {messages:?}")).collect();
    assert_eq!(messages.len(), 42);
    expect![[r#"
        40 NotDone("the fixer did not report about it")
        41 NotTried("one fixer handles at most 40 issues")
        42 NotTried("one fixer handles at most 40 issues")"#]]
    .assert_eq(&messages[39..].join("\n"));
}
