//! Checks against a plan. The source of the plan decides how much it counts.

use expect_test::{Expect, expect};
use serde_json::json;

use super::scene::{CART, Scene, judges, prompt_end, reports};
use crate::test_change;
use crh_pipeline::review_options::RequirementsFile;
use crh_review::report::{Report, RequirementState, Strategy};
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, bad_request, calls};
use crh_testkit::{FakeModel, Repo};

const PLAN: &str = "# Averages\n\n## Requirements\n\n- R1. The total is an average\n- R2. An empty order has no total\n- R3. Names are trimmed\n";
const PLACE: &str = "docs/plans/2026-01-05-order-averages-plan.md";

/// The change with a plan, and perhaps another one.
fn repo(plans: &[&str]) -> Repo {
    let files: String = plans
        .iter()
        .map(|path| {
            let lines: String = PLAN.lines().map(|line| format!("    {line}\n")).collect();
            format!("    //- {path}\n{lines}")
        })
        .collect();
    Repo::from_fixture(&CART.replacen(
        "    //- shop/cart.py",
        &format!("{files}    //- shop/cart.py"),
        1,
    ))
}

fn scene(plans: &[&str]) -> Scene {
    Scene::from_repo(repo(plans)).with_reviewers(&["correctness"])
}

/// The scene of a plan that the user names.
fn scene_with_named_plan() -> Scene {
    let given = RequirementsFile { path: PLACE.to_owned(), text: PLAN.to_owned() };
    scene(&[PLACE]).with_change(|scene| scene.terms.panel.plan = Some(given))
}

/// A reviewer without findings, and a judge of the plan that answers so.
fn model(judgements: impl IntoIterator<Item = ScriptedReply>) -> FakeModel {
    FakeModel::start().on("correctness", [reports(&[])]).on("requirements", judgements)
}

/// The report of a review with a named plan and these judgements.
async fn report(judgements: impl IntoIterator<Item = ScriptedReply>) -> Report {
    scene_with_named_plan().review(&model(judgements)).await.report
}

const PARTLY: [(&str, &str); 3] =
    [("R1", "met"), ("R2", "not_addressed"), ("R3", "partially_addressed")];

async fn check(scene: Scene, expected: Expect) {
    let model = model([judges(&PARTLY)]);
    scene.check(&model, expected).await;
    assert!(prompt_end(&model, "requirements").contains("An empty order has no total"));
    let asked = model.requests().into_iter().find(|asked| asked.caller == "requirements");
    assert_eq!(asked.unwrap().model, "strong");
}

#[tokio::test]
async fn missing_requirement_of_named_plan_is_severe() {
    check(scene_with_named_plan(), expect![[r#"
        NotReady: the change does not meet R2 and meets only a part of R3 of the plan
        #1 P1 docs/plans/2026-01-05-order-averages-plan.md:6 R2 of the plan is not addressed: An empty order has no total (0.75, NotRun, manual -> downstream-resolver) by requirements
        #2 P1 docs/plans/2026-01-05-order-averages-plan.md:7 R3 of the plan is only partly addressed: Names are trimmed (0.75, NotRun, manual -> downstream-resolver) by requirements
        plan docs/plans/2026-01-05-order-averages-plan.md (Explicit)
          R1 Met shop/cart.py:3 shows it
          R2 NotAddressed shop/cart.py:3 shows it
          R3 PartiallyAddressed shop/cart.py:3 shows it
    "#]]).await;
}

#[tokio::test]
async fn strategies_without_plan_check_name_the_unchecked_plan() {
    for strategy in [Strategy::Single, Strategy::Delegate] {
        let scene = scene(&[PLACE]).with_change(|scene| {
            scene.terms = test_change::options(strategy);
            scene.contents.metadata.body = format!("Averages.\n\nPlan: {PLACE}\n");
        });
        let model = FakeModel::answering(|_: &FakeRequest| reports(&[]));
        let report = scene.review(&model).await.report;
        let expected = format!(
            "the plan `{PLACE}` was not checked: the strategy `{strategy}` checks no plan; pass `--strategy panel`"
        );
        assert!(report.warnings.contains(&expected), "{:?}", report.warnings);
    }
}

#[tokio::test]
async fn plan_guessed_from_branch_does_not_block() {
    let branch = Some("feat/order-averages".to_owned());
    let scene =
        scene(&[PLACE]).with_change(|scene| scene.contents.metadata.source_git_path = branch);
    check(scene, expect![[r#"
        ReadyToMerge: no issue must be fixed before the merge. The change does not meet R2 and meets only a part of R3 of the inferred plan docs/plans/2026-01-05-order-averages-plan.md
        #1 P3 docs/plans/2026-01-05-order-averages-plan.md:6 R2 of the plan is not addressed: An empty order has no total (0.75, NotRun, advisory -> human) by requirements
        #2 P3 docs/plans/2026-01-05-order-averages-plan.md:7 R3 of the plan is only partly addressed: Names are trimmed (0.75, NotRun, advisory -> human) by requirements
        plan docs/plans/2026-01-05-order-averages-plan.md (Inferred)
          R1 Met shop/cart.py:3 shows it
          R2 NotAddressed shop/cart.py:3 shows it
          R3 PartiallyAddressed shop/cart.py:3 shows it
    "#]]).await;
}

#[tokio::test]
async fn waived_requirement_is_shown_without_finding() {
    let waived = ["R2", "R3", "R9"].map(str::to_owned).to_vec();
    let scene = scene_with_named_plan().with_change(|scene| scene.terms.panel.waived = waived);
    check(
        scene,
        expect![[r#"
            ReadyToMerge: nothing actionable was found
            plan docs/plans/2026-01-05-order-averages-plan.md (Explicit)
              R1 Met shop/cart.py:3 shows it
              R2 NotAddressed (waived) shop/cart.py:3 shows it
              R3 PartiallyAddressed (waived) shop/cart.py:3 shows it
            ! `--waive` names unknown requirements: R9
        "#]],
    )
    .await;
}

#[tokio::test]
async fn unjudged_plan_leaves_the_review_incomplete() {
    scene_with_named_plan()
        .check(
            &model([bad_request("no")]),
            expect![[r#"
                Incomplete: the plan's requirements were not judged
                plan docs/plans/2026-01-05-order-averages-plan.md (Explicit)
                  R1 NotJudged
                  R2 NotJudged
                  R3 NotJudged
                ! the requirements were not checked: the model rejected the request: no
            "#]],
        )
        .await;
}

#[tokio::test]
async fn requirement_is_met_only_with_a_line_or_a_quote() {
    let judge = |evidence: &str| {
        let row = |id| json!({ "id": id, "state": "met", "evidence": evidence });
        let rows = ["R1", "R2", "R3"].map(row);
        calls("report_requirements", json!({ "requirements": rows }))
    };
    let not_judged = "NotJudged no line of the code shows it: x";
    for (first, second, expected, verdict) in [
        ("x", "x", not_judged, "the plan's requirements were not judged"),
        ("x", "shop/cart.py:3", "Met shop/cart.py:3", "nothing actionable was found"),
        (
            "shop/cart.py:99 does it",
            "`return sum(lines) / count`",
            "Met `return sum(lines) / count`",
            "nothing actionable was found",
        ),
    ] {
        let model = model([judge(first), judge(second)]);
        let report = scene_with_named_plan().review(&model).await.report;
        let states = report.plan.unwrap().requirements;
        let state = format!("{:?} {}", states[0].state, states[0].evidence);
        assert_eq!((state.as_str(), report.verdict_reason.as_str()), (expected, verdict));
        let asked = model.requests().iter().filter(|it| it.caller == "requirements").count();
        assert_eq!(asked, 2, "{first} {second}");
    }
}

#[tokio::test]
async fn only_requirements_without_an_entry_are_not_judged() {
    let without_r3 = || judges(&[("R1", "met"), ("R2", "met")]);
    let report = report([without_r3(), without_r3()]).await;
    let rows = report.plan.unwrap().requirements;
    let rows: Vec<String> =
        rows.iter().map(|row| format!("{} {:?} {}\n", row.id, row.state, row.evidence)).collect();
    expect![[r#"
        R1 Met shop/cart.py:3 shows it
        R2 Met shop/cart.py:3 shows it
        R3 NotJudged the answer of the model has no entry for it
        1 of 3 requirements of the plan not judged
    "#]]
    .assert_eq(&format!("{}{}\n", rows.concat(), report.verdict_reason));
}

#[tokio::test]
async fn second_answer_keeps_the_usable_part_of_the_first() {
    let first = judges(&[("R1", "met"), ("R2", "not_addressed")]);
    let second = judges(&[("R2", "met"), ("R3", "met")]);
    let report = report([first, second]).await;
    let states: Vec<RequirementState> =
        report.plan.unwrap().requirements.iter().map(|row| row.state).collect();
    assert_eq!(states, [RequirementState::Met; 3]);
    assert_eq!(report.verdict_reason, "nothing actionable was found");
}

#[tokio::test]
async fn unusable_entry_of_the_second_answer_takes_back_met_only() {
    let check = async |first: &str, expected: RequirementState| {
        let row = |id: &str, state: &str, evidence: &str| json!({ "id": id, "state": state, "evidence": evidence });
        let rows = [
            row("R1", "not_addressed", ""),
            row("R2", "met", "shop/cart.py:3"),
            row("R3", "met", "shop/cart.py:3"),
        ];
        let second = calls("report_requirements", json!({ "requirements": rows }));
        let report = report([judges(&[("R1", first)]), second]).await;
        assert_eq!(report.plan.unwrap().requirements[0].state, expected, "{first}");
    };
    check("met", RequirementState::NotJudged).await;
    check("not_addressed", RequirementState::NotAddressed).await;
}

#[tokio::test]
async fn usable_part_of_a_rejected_answer_counts_if_the_model_fails_then() {
    let first = judges(&[("R1", "met"), ("R2", "met")]);
    let rows = report([first, bad_request("no")]).await.plan.unwrap().requirements;
    let states: Vec<RequirementState> = rows.iter().map(|row| row.state).collect();
    let (met, not_judged) = (RequirementState::Met, RequirementState::NotJudged);
    assert_eq!(states, [met, met, not_judged]);
}
