//! Additional inputs of some reviewers, and outputs besides findings.

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, Scene, confirms, divides, fenced, notes, prompt_end, render, reports};
use crate::samples::comment;
use crh_pipeline::workspace::{AgentFile, WorkspaceThread};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn comments_go_to_the_comment_reviewer() {
    let scene = Scene::new(CART).with_reviewers(&["correctness", "previous-comments"]);
    let scene = scene.with_change(|scene| {
        let round = &mut scene.contents.rounds[0];
        round.general.push(comment("g1", "Please handle empty orders."));
        round.threads.push(WorkspaceThread {
            id: "t1".to_owned(),
            file: Some("shop/cart.py".to_owned()),
            line: Some(3),
            resolved: false,
            outdated: true,
            replies: vec![comment("i1", "What if there is no line?"), comment("i2", "Will do.")],
        });
    });
    let model = FakeModel::start()
        .on("correctness", [reports(&[])])
        .on("previous-comments", [reports(&[divides("P1", 0.75, "Empty orders still fail")])])
        .on("validate-1", [confirms()]);
    scene
        .check(
            &model,
            expect![[r#"
                ReadyWithFixes: 1 issue to fix
                #1 P1 shop/cart.py:3 Empty orders still fail (0.75, Confirmed, manual -> downstream-resolver) by previous-comments
            "#]],
        )
        .await;
    expect![[r#"
        about shop/cart.py:3, its code has changed since
          ada: What if there is no line?
          ada: Will do.
        about the change
          ada: Please handle empty orders.
    "#]]
    .assert_eq(&fenced(&prompt_end(&model, "previous-comments"), "comments"));
    assert_eq!(fenced(&prompt_end(&model, "correctness"), "comments"), "");
}

#[tokio::test]
async fn standards_reviewer_gets_paths_of_standards() {
    let file = |place: &str| AgentFile {
        place: place.to_owned(),
        bytes: b"No division without a check.\n".to_vec(),
    };
    let scene = Scene::new(CART).with_reviewers(&["project-standards"]).with_change(|scene| {
        scene.contents.instructions =
            vec![file("AGENTS.md"), file("rules/shop%2FAGENTS.md"), file("rules/web%2FAGENTS.md")];
    });
    let model = FakeModel::start().on("project-standards", [reports(&[])]);
    scene.review(&model).await;
    let messages = prompt_end(&model, "project-standards");
    expect![[r#"
        AGENTS.md (for the whole repository; read it as `agent/AGENTS.md` and cite it as `AGENTS.md`)
        shop/AGENTS.md (for `shop/`; read it as `agent/rules/shop%2FAGENTS.md` and cite it as `shop/AGENTS.md`)
    "#]]
    .assert_eq(&fenced(&messages, "standards-paths"));
    assert!(!messages.contains("No division without a check"), "they are named, not quoted");
}

/// A standards reviewer quotes the code and the rule, by either name of the rule's file.
#[tokio::test]
async fn quoted_rule_is_verified_in_its_file() {
    for cited in ["agent/AGENTS.md", "CLAUDE.md"] {
        let repo = Repo::from_fixture(CART);
        repo.write("CLAUDE.md", "No division without a check.\n");
        repo.git(&["add", "--all"]);
        repo.git(&["commit", "--quiet", "--amend", "--no-edit"]);
        let rule = AgentFile {
            place: "AGENTS.md".to_owned(),
            bytes: b"No division without a check.\n".to_vec(),
        };
        let scene = Scene::from_repo(repo)
            .with_reviewers(&["project-standards"])
            .with_change(|scene| scene.contents.instructions = vec![rule]);
        let mut found = divides("P2", 1.0, "A division without a check");
        found["category"] = json!("standards");
        let quote = json!({ "file": cited, "line": 1, "side": "new", "snippet": "No division without a check." });
        found["evidence"].as_array_mut().unwrap().push(quote);
        let model = FakeModel::start()
            .on("project-standards", [reports(&[found])])
            .on("validate-1", [confirms()]);
        let reviewed = scene.review(&model).await;
        assert_eq!(reviewed.report.issues.len(), 1, "{cited}: {}", render(&reviewed.report));
        let messages = prompt_end(&model, "project-standards");
        assert!(messages.contains("cite it as `CLAUDE.md`"), "{messages}");
    }
}

const NOTED: &str = "
    //- docs/solutions/orders/empty-orders.md
    ---
    title: Totals of empty orders
    tags: [orders, total, cart]
    ---
    An empty cart has no total. Return zero.
    //- docs/solutions/mail/bounces.md
    ---
    title: Bounced mail
    tags: [mail]
    ---
    Try once more.
    //- .claude/skills/orders/SKILL.md
    Lists orders.
    //- shop/cart.py
    def total(lines):
        return sum(lines)
    //- head
    //- shop/cart.py
    def total(lines):
        count = len(lines)
        return sum(lines) / count
";

#[tokio::test]
async fn notes_have_sections_and_solutions_are_shown() {
    let model = FakeModel::start()
        .on(
            "learnings",
            [notes(&[
                "Empty carts were a problem before.\n\nReturn zero.",
                " ",
                "b",
                "c",
                "d",
                "e",
                "f",
            ])],
        )
        .on("agent-native", [notes(&["Agents cannot ask for an average."])]);
    let scene = Scene::new(NOTED).with_reviewers(&["learnings", "agent-native"]);
    let reviewed = scene.review(&model).await;
    expect![[r#"
        Incomplete: nothing was reviewed
        learning: Empty carts were a problem before. Return zero.
        learning: b
        learning: c
        learning: d
        learning: e
        agents: Agents cannot ask for an average.
        NotReviewed shop/cart.py: not assigned to any reviewer
        ! learnings: 1 note left out: the limit is 5
    "#]]
    .assert_eq(&render(&reviewed.report));
    expect![[r#"
        docs/solutions/orders/empty-orders.md
        ---
        title: Totals of empty orders
        tags: [orders, total, cart]
        ---
        An empty cart has no total. Return zero.

    "#]]
    .assert_eq(&fenced(&prompt_end(&model, "learnings"), "solutions"));
}
