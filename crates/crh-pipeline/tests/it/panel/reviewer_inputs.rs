//! What some reviewers are given besides the change, and what they return besides findings.

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, Scene, confirms, divides, fenced, notes, reports, scouts, shown, told};
use crate::samples::comment;
use crh_pipeline::workspace::{AgentFile, Thread};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn what_people_asked_for_goes_to_whoever_looks_whether_it_was_done() {
    let scene = Scene::new(CART).but(|scene| {
        let round = &mut scene.told.rounds[0];
        round.general.push(comment("g1", "Please handle empty orders."));
        round.threads.push(Thread {
            id: "t1".to_owned(),
            file: Some("shop/cart.py".to_owned()),
            line: Some(3),
            resolved: false,
            outdated: true,
            replies: vec![comment("i1", "What if there is no line?"), comment("i2", "Will do.")],
        });
    });
    let model = FakeModel::start()
        .on("scout", [scouts("Averages.", &[])])
        .on("correctness", [reports(&[])])
        .on("previous-comments", [reports(&[divides("P1", 0.75, "Empty orders still fail")])])
        .on("validate-1", [confirms()]);
    scene.check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (always) Completed
          previous-comments (there are 3 comments on the change) Completed
        #1 P1 shop/cart.py:3 Empty orders still fail (0.75, Confirmed, manual -> downstream-resolver) by previous-comments
    "#]]).await;
    expect![[r#"
        about shop/cart.py:3, its code has changed since
          ada: What if there is no line?
          ada: Will do.
        about the change
          ada: Please handle empty orders.
    "#]]
    .assert_eq(&fenced(&told(&model, "previous-comments"), "comments"));
    assert_eq!(fenced(&told(&model, "correctness"), "comments"), "");
}

#[tokio::test]
async fn standards_are_named_by_path_to_whoever_holds_the_change_against_them() {
    let file = |place: &str| AgentFile {
        place: place.to_owned(),
        bytes: b"No division without a check.\n".to_vec(),
    };
    let scene = Scene::new(CART).but(|scene| {
        scene.told.agent =
            vec![file("AGENTS.md"), file("rules/shop%2FAGENTS.md"), file("rules/web%2FAGENTS.md")];
    });
    let model = FakeModel::start()
        .on("scout", [scouts("Averages.", &[])])
        .on("correctness", [reports(&[])])
        .on("project-standards", [reports(&[])]);
    scene.review(&model).await;
    let told = told(&model, "project-standards");
    expect![[r#"
        AGENTS.md (for the whole repository; read it as `agent/AGENTS.md` and cite it as `AGENTS.md`)
        shop/AGENTS.md (for `shop/`; read it as `agent/rules/shop%2FAGENTS.md` and cite it as `shop/AGENTS.md`)
    "#]]
    .assert_eq(&fenced(&told, "standards-paths"));
    assert!(!told.contains("No division without a check"), "they are named, not quoted");
}

/// Whoever holds a change against a rule quotes both, and the rule by either name that it was told.
#[tokio::test]
async fn a_quoted_rule_is_found_where_it_was_read() {
    for cited in ["agent/AGENTS.md", "CLAUDE.md"] {
        let repo = Repo::from_fixture(CART);
        repo.write("CLAUDE.md", "No division without a check.\n");
        repo.git(&["add", "--all"]);
        repo.git(&["commit", "--quiet", "--amend", "--no-edit"]);
        let rule = AgentFile {
            place: "AGENTS.md".to_owned(),
            bytes: b"No division without a check.\n".to_vec(),
        };
        let scene =
            Scene::of(repo).by(&["project-standards"]).but(|scene| scene.told.agent = vec![rule]);
        let mut found = divides("P2", 1.0, "A division without a check");
        found["category"] = json!("standards");
        let quote = json!({ "file": cited, "line": 1, "side": "new", "snippet": "No division without a check." });
        found["evidence"].as_array_mut().unwrap().push(quote);
        let model = FakeModel::start()
            .on("project-standards", [reports(&[found])])
            .on("validate-1", [confirms()]);
        let reviewed = scene.review(&model).await;
        assert_eq!(reviewed.report.issues.len(), 1, "{cited}: {}", shown(&reviewed.report));
        let told = told(&model, "project-standards");
        assert!(told.contains("cite it as `CLAUDE.md`"), "{told}");
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
async fn notes_have_sections_of_their_own_and_earlier_solutions_are_given() {
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
    let scene = Scene::new(NOTED).by(&["learnings", "agent-native"]);
    let reviewed = scene.review(&model).await;
    expect![[r#"
        Incomplete: 1 file not wholly reviewed, nothing was reviewed
          agent-native (asked for by `--reviewers`) Completed
          learnings (asked for by `--reviewers`) Completed
        learning: Empty carts were a problem before. Return zero.
        learning: b
        learning: c
        learning: d
        learning: e
        agents: Agents cannot ask for an average.
        NotReviewed shop/cart.py: nobody was given it
        ! learnings: 1 note left out: it may write 5
    "#]]
    .assert_eq(&shown(&reviewed.report));
    expect![[r#"
        docs/solutions/orders/empty-orders.md
        ---
        title: Totals of empty orders
        tags: [orders, total, cart]
        ---
        An empty cart has no total. Return zero.

    "#]]
    .assert_eq(&fenced(&told(&model, "learnings"), "solutions"));
}
