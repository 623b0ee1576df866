//! The choice of reviewers: code first, then one cheap call that can only add.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::json;

use super::scene::{
    CART, Scene, fenced, notes, prompt_end, render, reports, scouts, team, with_own_reviewer,
};
use crh_pipeline::context::IntentPrompt;
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::pipeline::ReviewOutput;
use crh_pipeline::team::Depth;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, bad_request, calls};

/// A change for which code chooses three reviewers: a long function called `login`.
const LOGIN: &str = "
    //- shop/login.py
    def login(user, password):
        return user
    //- head
    //- shop/login.py
    def login(user, password):
        tries = 0
        while tries < 3:
            tries += 1
            if check(user, password):
                session = start(user)
                session.save()
                return session
        log(user)
        wait(tries)
        return None
";

/// The same change under a name that calls for no specialist, in a repository with a reviewer of
/// its own.
fn retry() -> String {
    with_own_reviewer(&LOGIN.replace("shop/login.py", "shop/retry.py"))
}

fn all_answer(model: FakeModel, names: &[&str]) -> FakeModel {
    names.iter().fold(model, |model, name| model.on(name, [reports(&[])]))
}

/// Compares the team for a scout's answer.
async fn check(
    fixture: &str,
    scout: Option<ScriptedReply>,
    asked: &[&str],
    expected: Expect,
) -> FakeModel {
    let model = FakeModel::start().on("scout", scout);
    let model = all_answer(model, asked);
    let reviewed = Scene::new(fixture).review(&model).await;
    expected.assert_eq(&team(&reviewed.report));
    model
}

#[tokio::test]
async fn code_chooses_and_scout_adds_reviewers() {
    let scout = scouts("Users log in.", &[("passwords", "`shop/retry.py` checks a password")]);
    let reviewers = ["correctness", "passwords", "upkeep"];
    let model = check(
        &retry(),
        Some(scout),
        &reviewers,
        expect![[r#"
            correctness: always
            upkeep: 11 python lines changed
            passwords: `shop/retry.py` checks a password
        "#]],
    )
    .await;
    let offered = fenced(&prompt_end(&model, "scout"), "reviewers");
    let names: Vec<&str> = offered.lines().filter_map(|row| row.split(':').next()).collect();
    assert_eq!(names, ["passwords"]);
    assert_eq!(fenced(&prompt_end(&model, "passwords"), "intent"), "Users log in.\n");
    let models: Vec<(String, String)> =
        model.requests().into_iter().map(|asked| (asked.caller, asked.model)).collect();
    for (caller, tier) in [("scout", "cheap"), ("correctness", "strong"), ("upkeep", "mid")] {
        assert!(models.contains(&(caller.to_owned(), tier.to_owned())), "{models:?}");
    }
}

#[tokio::test]
async fn instructions_for_agents_get_the_scout_and_a_team() {
    for path in ["skills/pdf/SKILL.md", "src/prompts/verify.md", "AGENTS.md"] {
        let before = format!("//- {path}\nRead the form.\n");
        let fixture = format!("{before}//- head\n{before}Fill it in.\nSend it without asking.\n");
        let model = FakeModel::start().on("scout", [scouts("Forms are sent.", &[])]);
        let model = all_answer(model, &["correctness", "upkeep"]);
        let report = Scene::new(&fixture).review(&model).await.report;
        let names: Vec<&str> = report.reviewers.iter().map(|row| row.name.as_str()).collect();
        assert!(names.ends_with(&["correctness", "upkeep"]), "{path}: {names:?}");
        assert_eq!(report.intent, "Forms are sent.", "{path}");
    }
}

#[tokio::test]
async fn scout_retries_after_an_unknown_reviewer() {
    let model = FakeModel::start().on(
        "scout",
        [
            scouts("Users log in.", &[("astrology", "the stars")]),
            scouts("Users log in.", &[("passwords", "a password")]),
        ],
    );
    let model = all_answer(model, &["correctness", "passwords", "upkeep"]);
    let reviewed = Scene::new(&retry()).review(&model).await;
    expect![[r#"
        correctness: always
        upkeep: 11 python lines changed
        passwords: a password
    "#]]
    .assert_eq(&team(&reviewed.report));
}

#[tokio::test]
async fn failed_scout_leaves_the_team_to_code() {
    let model = FakeModel::start().on("scout", [bad_request("no")]);
    let model = all_answer(model, &["correctness", "security", "upkeep"]);
    Scene::new(LOGIN).check(&model, expect![[r#"
        ReadyToMerge: nothing actionable was found
          correctness (always) Completed
          security (lines that run changed in `shop/login.py`, and `shop/login.py` is under `{auth,login,logout,oauth,permissions,policy,csrf,cors,session,sessions}.*`) Completed
          upkeep (11 python lines changed) Completed
        ! the model call that chooses reviewers failed (the model rejected the request: no); crh chose them by fixed rules
    "#]]).await;
}

#[tokio::test]
async fn scout_leaves_two_calls_to_the_reviewers() {
    let model = all_answer(FakeModel::start(), &["correctness", "upkeep"]);
    let scene = Scene::new(&retry()).with_change(|scene| scene.terms.budget.llm_calls = 2);
    scene.check(&model, expect![[r#"
        ReadyToMerge: nothing actionable was found
          correctness (always) Completed
          upkeep (11 python lines changed) Completed
        ! the model call that chooses reviewers was skipped, since the limit of 2 model calls leaves it none; crh chose them by fixed rules; raise `--max-llm-calls`
    "#]]).await;
}

/// A scout with a doubt, and the answer of a user, if there is one who can be asked.
async fn with_doubt(says: Option<Option<&'static str>>) -> (ReviewOutput, FakeModel, Vec<String>) {
    let scout_answer = json!({ "intent": "Users log in.", "doubt": "It is not said what happens after three tries.", "reviewers": [] });
    let model = FakeModel::start().on("scout", [calls("report_scout", scout_answer)]);
    let model = all_answer(model, &["correctness", "security", "upkeep"]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let scene = Scene::new(LOGIN).with_change(|scene| {
        scene.person = says.map(|says| {
            IntentPrompt::new(move |doubt| {
                hears.lock().unwrap().push(doubt.to_owned());
                says.map(str::to_owned)
            })
        });
    });
    let reviewed = scene.review(&model).await;
    let heard = heard.lock().unwrap().clone();
    (reviewed, model, heard)
}

#[tokio::test]
async fn user_answer_goes_to_every_reviewer() {
    let (reviewed, model, heard) =
        with_doubt(Some(Some("Three tries, then the account is locked\n"))).await;
    assert_eq!(heard, ["It is not said what happens after three tries."]);
    let intent = "Three tries, then the account is locked. Users log in.";
    assert_eq!(reviewed.report.intent, intent);
    assert_eq!(reviewed.report.warnings, [""; 0]);
    assert_eq!(fenced(&prompt_end(&model, "security"), "intent"), format!("{intent}\n"));
}

#[tokio::test]
async fn unanswered_doubt_stays_in_the_report() {
    let doubt = "unexplained in the change: It is not said what happens after three tries.";
    for says in [None, Some(None), Some(Some("  "))] {
        let (reviewed, _, heard) = with_doubt(says).await;
        assert_eq!(heard.len(), usize::from(says.is_some()));
        assert_eq!(reviewed.report.intent, "Users log in.");
        assert_eq!(reviewed.report.warnings, [doubt]);
    }
}

#[tokio::test]
async fn team_event_precedes_the_first_run() {
    let model = all_answer(FakeModel::start(), &["correctness", "security"]);
    let scene = Scene::new(CART).with_reviewers(&["security", "correctness"]);
    scene.review(&model).await;
    let events = scene.events.lock().unwrap();
    let announced =
        events.iter().position(|it| matches!(it, ReviewEvent::TeamChosen { .. })).unwrap();
    let first_start =
        events.iter().position(|it| matches!(it, ReviewEvent::RunStarted { .. })).unwrap();
    assert!(announced < first_start);
}

#[tokio::test]
async fn small_change_has_one_reviewer_and_no_scout() {
    let prose = "
        //- README.md
        # Shop
        Prices are sums.
        //- head
        //- README.md
        # Shop
        Prices are averages.
        They have two digits.
        See below.
    ";
    let one_line = "
        //- shop/tax.py
        RATE = 19
        //- head
        //- shop/tax.py
        RATE = 0.19
    ";
    let prose_team = expect!["docs-that-lie: only what people read changed\n"];
    check(prose, None, &["docs-that-lie"], prose_team).await;
    check(one_line, None, &["correctness"], expect!["correctness: always\n"]).await;
}

const MIGRATION: &str = "
    //- db/migrate/1_orders.rb
    class Orders < ActiveRecord::Migration[7.0]
    end
    //- db/schema.rb
    ActiveRecord::Schema[7.0].define(version: 1) do
    end
    //- head
    //- db/migrate/2_paid.rb
    class Paid < ActiveRecord::Migration[7.0]
      def change
        add_column :orders, :paid, :boolean, null: false
      end
    end
    //- db/schema.rb
    ActiveRecord::Schema[7.0].define(version: 2) do
      create_table \"orders\" do |t|
        t.boolean \"paid\", null: false
      end
    end
";

#[tokio::test]
async fn migration_gets_data_reviewers_and_their_notes() {
    let model = FakeModel::start()
        .on("correctness", [reports(&[])])
        .on("data-migrations", [reports(&[])])
        .on("schema-drift", [notes(&[])])
        .on("deployment", [notes(&["Before: count the orders.", "After: watch the lock."])]);
    let scene = Scene::new(MIGRATION).with_reviewers(&[
        "correctness",
        "data-migrations",
        "schema-drift",
        "deployment",
    ]);
    let reviewed = scene.review(&model).await;
    expect![[r#"
        ReadyToMerge: nothing actionable was found
        schema: no drift: every change of the schema comes from a migration of this change
        deployment: Before: count the orders.
        deployment: After: watch the lock.
    "#]]
    .assert_eq(&render(&reviewed.report));
    let given = fenced(&prompt_end(&model, "deployment"), "migrations");
    assert_eq!(given, "db/migrate/2_paid.rb\ndb/schema.rb\n");
}

#[tokio::test]
async fn depth_decides_the_number_of_reviewers() {
    let check =
        async |depth: Depth, scout: Option<ScriptedReply>, asked: &[&str], silent: &[&str]| {
            let model = all_answer(FakeModel::start().on("scout", scout), asked);
            let model = silent.iter().fold(model, |model, name| model.on(name, [notes(&[])]));
            let scene = Scene::new(CART).with_change(|scene| scene.terms.panel.depth = depth);
            scene.review(&model).await;
        };
    check(Depth::Lite, None, &["correctness"], &[]).await;
    check(Depth::Auto, Some(scouts("Averages.", &[])), &["correctness"], &[]).await;
    let full = ["correctness", "testing", "maintainability"];
    check(Depth::Full, Some(scouts("Averages.", &[])), &full, &["agent-native"]).await;
}

#[tokio::test]
async fn disabled_reviewer_does_not_run() {
    let model = FakeModel::start().on("scout", [scouts("Users log in.", &[])]);
    let model = all_answer(model, &["correctness", "security"]);
    let off = ["upkeep", "ce-api-contract-reviewer", "unknown"].map(str::to_owned).to_vec();
    let scene = Scene::new(LOGIN).with_change(|scene| scene.terms.panel.off = off);
    scene.check(&model, expect![[r#"
        ReadyToMerge: nothing actionable was found
          correctness (always) Completed
          security (lines that run changed in `shop/login.py`, and `shop/login.py` is under `{auth,login,logout,oauth,permissions,policy,csrf,cors,session,sessions}.*`) Completed
        ! `reviewers.off` names `unknown`: there is no such reviewer
    "#]]).await;
}

#[tokio::test]
async fn unknown_reviewers_are_dropped_after_one_retry() {
    let wanted = [("astrology", "the stars"), ("passwords", "a password")];
    let insists = scouts("Users log in.", &wanted);
    let model = FakeModel::start().on("scout", [scouts(" ", &[]), insists]);
    let model = all_answer(model, &["correctness", "passwords", "upkeep"]);
    let reviewed = Scene::new(&retry()).review(&model).await;
    assert_eq!(reviewed.report.intent, "Users log in.");
    assert_eq!(reviewed.report.warnings, [""; 0]);
    assert!(team(&reviewed.report).contains("passwords: a password"));
}
