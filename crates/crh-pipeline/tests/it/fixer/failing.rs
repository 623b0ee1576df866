//! Fixers that do not come to an end, or to none that counts: nothing of them is taken, and every issue says why.

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, ISSUES, NEW, OLD, Scene, answers, edit, reports};
use crh_testkit::fake_model::{Asked, Read, bad_key, calls, says};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn text_that_stands_there_twice_or_never_is_not_replaced_and_the_fixer_goes_on() {
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
    scene.check(expect![[r##"
        #1 done: It is done.
        #2 not done: the fixer said nothing about it
        cart.py for {1}
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count\n"
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count if count else 0\n"
        fixer-1 Completed
    "##]]).await;
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
    .assert_eq(&answers(&model));
    assert_eq!(scene.refused(), "", "a mistake is no break of a rule");
}

#[tokio::test]
async fn a_fixer_that_never_reports_has_done_nothing() {
    let model = FakeModel::start()
        .on("fixer-1", [edit("cart.py", OLD, NEW), says("All done."), says("As I said.")]);
    Scene::new(&model)
        .check(expect![[r##"
        #1 not done: the fixer failed: the model ended without an answer
        #2 not done: the fixer failed: the model ended without an answer
        fixer-1 Failed("the model ended without an answer")
    "##]])
        .await;
}

/// Says how the first file is now, and changes it back.
fn back_and_forth(asked: &Asked) -> crh_testkit::fake_model::Scripted {
    let edits = asked.read().into_iter().filter(|read| matches!(read, Read::Call { .. })).count();
    if edits % 2 == 0 { edit("cart.py", OLD, NEW) } else { edit("cart.py", NEW, OLD) }
}

#[tokio::test]
async fn a_fixer_that_never_converges_is_stopped() {
    let model = FakeModel::answering(back_and_forth);
    let scene = Scene::new(&model);
    let repair = scene
        .check(expect![[r##"
        #1 not done: the fixer failed: the model ended without an answer
        #2 not done: the fixer failed: the model ended without an answer
        fixer-1 Failed("the model ended without an answer") limited by calls of the model
    "##]])
        .await;
    assert_eq!(
        repair.record.totals.llm_calls, 40,
        "its turns, the one in which it has to report among them"
    );
}

#[tokio::test]
async fn a_report_that_is_never_of_the_right_form_is_none() {
    let model = FakeModel::start().on(
        "fixer-1",
        [
            edit("cart.py", OLD, NEW),
            reports(&[(7, "done")]),
            reports(&[(1, "done"), (1, "not_done")]),
            reports(&[(1, "perhaps")]),
        ],
    );
    Scene::new(&model).check(expect![[r##"
        #1 not done: the fixer failed: the model's answer was never of the right form: the argument `repairs[0].outcome` cannot be used: unknown variant `perhaps`, expected `done` or `not_done`
        #2 not done: the fixer failed: the model's answer was never of the right form: the argument `repairs[0].outcome` cannot be used: unknown variant `perhaps`, expected `done` or `not_done`
        fixer-1 Failed("the model's answer was never of the right form: the argument `repairs[0].outcome` cannot be used: unknown variant `perhaps`, expected `done` or `not_done`")
    "##]]).await;
}

#[tokio::test]
async fn an_issue_that_nothing_is_said_about_is_not_done() {
    let model =
        FakeModel::start().on("fixer-1", [edit("cart.py", OLD, NEW), reports(&[(1, "done")])]);
    Scene::new(&model).check(expect![[r##"
        #1 done: It is done.
        #2 not done: the fixer said nothing about it
        cart.py for {1}
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count\n"
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count if count else 0\n"
        fixer-1 Completed
    "##]]).await;
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_has_done_nothing() {
    let model = FakeModel::start().on("fixer-1", [edit("cart.py", OLD, NEW), bad_key()]);
    Scene::new(&model).check(expect![[r##"
        #1 not done: the fixer failed: the key is not accepted: Incorrect API key provided: .; no key was sent
        #2 not done: the fixer failed: the key is not accepted: Incorrect API key provided: .; no key was sent
        fixer-1 Failed("the key is not accepted: Incorrect API key provided: .; no key was sent")
    "##]]).await;
}

#[tokio::test]
async fn a_fixer_is_not_asked_once_the_money_or_the_calls_are_gone() {
    let model = FakeModel::start();
    let scene = Scene::on(&model, Repo::from_fixture(CART), ISSUES, |terms| {
        terms.allowance.llm_calls = 0;
    });
    scene.check(expect![[r##"
        #1 not done: the fixer failed: the budget for calls of the model left no room to ask
        #2 not done: the fixer failed: the budget for calls of the model left no room to ask
        fixer-1 Failed("the budget for calls of the model left no room to ask") limited by calls of the model
    "##]]).await;
}

#[tokio::test]
async fn a_fixer_that_is_stopped_has_done_nothing() {
    let model = FakeModel::start();
    let scene = Scene::new(&model);
    scene.office.journal.cancel().cancel();
    scene
        .check(expect![[r#"
        #1 not done: the fixer failed: stopped by the user
        #2 not done: the fixer failed: stopped by the user
        fixer-1 Cancelled
    "#]])
        .await;
}

#[tokio::test]
async fn of_more_issues_than_one_fixer_takes_the_others_are_left() {
    let model =
        FakeModel::start().on("fixer-1", [edit("cart.py", OLD, NEW), reports(&[(1, "done")])]);
    let mut scene = Scene::new(&model);
    let second = scene.errand.issues.pop().unwrap();
    for number in 2..=42 {
        scene.errand.issues.push(crh_review::report::Issue { number, ..second.clone() });
    }
    let repair = scene.repair().await;
    let told: Vec<String> =
        repair.told.iter().map(|(number, told)| format!("{number} {told:?}")).collect();
    assert_eq!(told.len(), 42);
    expect![[r#"
        40 NotDone("the fixer said nothing about it")
        41 NotDone("one fixer takes 40 issues at a time")
        42 NotDone("one fixer takes 40 issues at a time")"#]]
    .assert_eq(&told[39..].join("\n"));
}
