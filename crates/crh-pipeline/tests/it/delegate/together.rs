//! Division of work, concurrency, and merging of results.

use expect_test::expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::scene::{
    ALL, Rendezvous, Scene, SceneOptions, check, delegates, finding, many_files, marks, render,
    reports, shop, slot, submits, tool_results,
};
use crh_pipeline::assignment::{Assignment, DiffPart};
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::run_folder::{RunFolder, Timestamp};
use crh_pipeline::runs::RunRecord;
use crh_review::finding::Member;
use crh_review::report::{CoverageState, FileCoverage};
use crh_testkit::fake_model::{calls, calls_all};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn orchestrator_decides_about_reviewed_scopes() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                calls_all([("mp_metadata", json!({})), ("diff_list_files", json!({}))]),
                delegates(&[
                    ("the cart", &["shop/cart.py", "shop/tax.py"]),
                    ("mail", &["shop/mail.py"]),
                ]),
                submits(&["1.2"], &[("1.1", "the rate is right"), ("2.1", "mail is a property")]),
            ],
        )
        .on(
            "sub-agent-1",
            [
                marks(&["shop/cart.py", "shop/tax.py"]),
                reports(&[
                    finding("P2", "shop/tax.py", "The rate changes its unit"),
                    finding("P1", "shop/cart.py", "An empty cart divides by zero"),
                ]),
            ],
        )
        .on(
            "sub-agent-2",
            [
                marks(&["shop/mail.py"]),
                reports(&[finding("P1", "shop/mail.py", "The mail is never sent")]),
            ],
        );
    let scene = check(
        &model,
        expect![[r#"
            orchestrator (): Completed
            sub-agent-1 (the cart): Completed
              delegate: P2 The rate changes its unit
              delegate: P1 An empty cart divides by zero
              reviewed: shop/cart.py shop/tax.py
            sub-agent-2 (mail): Completed
              delegate: P1 The mail is never sent
              reviewed: shop/mail.py
        "#]],
    )
    .await;
    assert_eq!(scene.reviewed(), ALL);
    assert_eq!(scene.refusals(), []);
    let answer: Value = serde_json::from_str(&tool_results(&model, "orchestrator")[2]).unwrap();
    assert_eq!(answer["summary"], "[1] the cart: Looked at it.\n[2] mail: Looked at it.");
}

#[tokio::test]
async fn stored_runs_equal_the_final_records() {
    let model = FakeModel::start()
        .on("orchestrator", [delegates(&[]), submits(&["1.2"], &[("1.1", "not so")])])
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
    let place = TempDir::new().unwrap();
    let stamp = Timestamp::from_unix(0);
    let folder = RunFolder::create(place.path(), stamp, "0123456789abcdef").unwrap();
    let scene_options = SceneOptions { folder: Some(folder.clone()), ..SceneOptions::default() };
    let runs = Scene::new(&model, shop(), scene_options).run().await;
    assert_eq!(runs.records[0].answer.as_array().unwrap().len(), 2, "both groups are stored");
    assert_eq!(folder.completed_runs(), runs.records);
    let scene_options =
        SceneOptions { earlier: folder.completed_runs(), ..SceneOptions::default() };
    assert_eq!(
        Scene::new(&model, shop(), scene_options).run().await,
        runs,
        "no model is asked again"
    );
}

#[tokio::test]
async fn completed_runs_are_not_repeated() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[("all", ALL)]),
                submits(&["3.1"], &[("4.1", "the mail is sent elsewhere")]),
            ],
        )
        .on(
            "sub-agent-4",
            [
                marks(&["shop/mail.py", "shop/tax.py"]),
                reports(&[finding("P1", "shop/mail.py", "The mail is never sent")]),
            ],
        );
    let record = |name: &str, path: &str| {
        let found = finding("P1", path, "Found before");
        let mut record = RunRecord::new(Assignment {
            name: name.to_owned(),
            reviewer: "delegate".to_owned(),
            label: "earlier".to_owned(),
            why: String::new(),
            focus: String::new(),
            parts: vec![DiffPart::whole(path)],
        });
        record.members = vec![Member::new("delegate", serde_json::from_value(found).unwrap())];
        let (path, state) = (path.to_owned(), CoverageState::Reviewed);
        record.coverage = vec![FileCoverage { path, state, reason: String::new() }];
        record
    };
    let earlier = vec![record("sub-agent-3", "shop/cart.py")];
    let scene_options = SceneOptions { earlier: earlier.clone(), ..SceneOptions::default() };
    let scene = Scene::new(&model, shop(), scene_options);
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Completed
          - reviewed in an earlier attempt, and not again: `shop/cart.py`
        sub-agent-3 (earlier): Completed
          delegate: P1 Found before
          reviewed: shop/cart.py
        sub-agent-4 (all): Completed
          delegate: P1 The mail is never sent
          reviewed: shop/mail.py shop/tax.py
    "#]]
    .assert_eq(&render(&runs));
    assert_eq!(runs.records[1], earlier[0], "it is carried over as it was");
    assert_eq!(scene.reviewed(), ALL);
    let answer: Value = serde_json::from_str(&tool_results(&model, "orchestrator")[0]).unwrap();
    let ids: Vec<&Value> =
        answer["findings"].as_array().unwrap().iter().map(|finding| &finding["id"]).collect();
    assert_eq!(ids, ["3.1", "4.1"]);

    // If everything is done already, no model is asked.
    let scene_options = SceneOptions { earlier: runs.records.clone(), ..SceneOptions::default() };
    let again = Scene::new(&model, shop(), scene_options).run().await;
    assert_eq!(again.records, runs.records);
}

#[tokio::test]
async fn scopes_run_concurrently_and_keep_all_marks() {
    const AGENTS: usize = 8;
    const EACH: usize = 12;
    let meeting = Rendezvous::default();
    let files = |slot: usize| -> Vec<String> {
        (0..EACH).map(|at| format!("f{}.txt", (slot - 1) * EACH + at)).collect()
    };
    let model = FakeModel::answering(move |asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => {
            let scope =
                |slot: usize| json!({ "scope": format!("scope {slot}"), "files": files(slot) });
            calls(
                "delegate_review",
                json!({ "scopes": (1..=AGENTS).map(scope).collect::<Vec<_>>() }),
            )
        }
        ("orchestrator", _) => submits(&[], &[]),
        (_, 1) => {
            assert!(meeting.wait_for(AGENTS), "they do not work side by side");
            let files = files(slot(asked));
            marks(&files.iter().map(String::as_str).collect::<Vec<_>>())
        }
        (_, _) => reports(&[]),
    });
    let scene = Scene::new(&model, many_files(AGENTS * EACH), SceneOptions::default());
    let runs = scene.run().await;
    assert_eq!(runs.records.len(), 1 + AGENTS);
    let mut marked = scene.context.change.workspace().unwrap().reviewed().unwrap();
    marked.sort();
    assert_eq!(marked.len(), AGENTS * EACH);
    assert_eq!(scene.reviewed(), marked);
    let coverage = || runs.records.iter().flat_map(|record| &record.coverage);
    assert_eq!(coverage().count(), AGENTS * EACH);
    assert!(coverage().all(|file| file.state == CoverageState::Reviewed));
}

#[tokio::test]
async fn concurrency_limit_of_sub_agents_is_kept() {
    let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => {
            let scope = |at: usize| json!({ "scope": "s", "files": [format!("f{at}.txt")] });
            calls("delegate_review", json!({ "scopes": (0..6).map(scope).collect::<Vec<_>>() }))
        }
        ("orchestrator", _) => submits(&[], &[]),
        (_, 1) => marks(&[&format!("f{}.txt", slot(asked) - 1)]),
        (_, _) => reports(&[]),
    });
    let scene_options = SceneOptions { side_by_side: 2, ..SceneOptions::default() };
    let scene = Scene::new(&model, many_files(6), scene_options);
    scene.run().await;
    let (mut running, mut most) = (0_i32, 0);
    for event in scene.events.lock().unwrap().iter() {
        match event {
            ReviewEvent::RunStarted { run, .. } if run != "orchestrator" => running += 1,
            ReviewEvent::RunEnded { run, .. } if run != "orchestrator" => running -= 1,
            _ => {}
        }
        most = most.max(running);
    }
    assert_eq!((running, most), (0, 2));
}

#[tokio::test]
async fn large_file_is_reviewed_in_parts() {
    let repo = Repo::new();
    repo.write("small.txt", "old\n");
    repo.commit("base");
    let lines: Vec<String> =
        (0..20_000).map(|number| format!("the line with the number {number}")).collect();
    repo.write("huge.txt", lines.join("\n"));
    repo.write("small.txt", "new\n");
    repo.commit("change");
    let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(&[("all", &["huge.txt", "small.txt"])]),
        ("orchestrator", _) => submits(&[], &[]),
        ("sub-agent-1", 1) => marks(&["small.txt"]),
        // One of the parts is never marked.
        ("sub-agent-1" | "sub-agent-2", _) | (_, 3..) => reports(&[]),
        // The diff is too long for the prompt.
        (_, 1) => calls("diff_get_file", json!({ "path": "huge.txt" })),
        (_, _) => marks(&["huge.txt"]),
    });
    let scene = Scene::new(&model, repo, SceneOptions::default());
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Completed
          - `huge.txt` has 20000 changed lines and was cut into 5 parts
        sub-agent-1 (all): Completed
          reviewed: small.txt
        sub-agent-2 (all: huge.txt (1 of 5)): Completed
          huge.txt NotReviewed sub-agent-2 did not mark it as reviewed
          - it reported before it had marked all its files; refused once
        sub-agent-3 (all: huge.txt (2 of 5)): Completed
          reviewed: huge.txt
        sub-agent-4 (all: huge.txt (3 of 5)): Completed
          reviewed: huge.txt
        sub-agent-5 (all: huge.txt (4 of 5)): Completed
          reviewed: huge.txt
        sub-agent-6 (all: huge.txt (5 of 5)): Completed
          reviewed: huge.txt
    "#]]
    .assert_eq(&render(&runs));
    assert_eq!(scene.reviewed(), ["small.txt"]);
}

#[tokio::test]
async fn file_after_the_end_of_a_reply_is_not_shown() {
    let repo = Repo::new();
    repo.write("a.txt", "old\n");
    repo.commit("base");
    let lines: Vec<String> =
        (0..9_000).map(|number| format!("the line with the number {number}")).collect();
    repo.write("a.txt", lines.join("\n"));
    repo.write("b.txt", lines.join("\n"));
    repo.commit("change");
    let model = FakeModel::answering(|asked| match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(&[("first", &["a.txt"]), ("second", &["b.txt"])]),
        ("orchestrator", _) => submits(&[], &[]),
        // The reply has the first 500 lines, all of them in `a.txt`.
        (_, 1) => calls("diff_numbered", json!({})),
        (_, 2) => marks(&["b.txt"]),
        (_, _) => reports(&[]),
    });
    let scene = Scene::new(&model, repo, SceneOptions::default());
    let runs = scene.run().await;
    expect![[r#"
        orchestrator (): Completed
          - `a.txt` has 9001 changed lines and was cut into 2 parts
          - `b.txt` has 9000 changed lines and was cut into 2 parts
        sub-agent-1 (first (1 of 2)): Completed
          a.txt NotReviewed sub-agent-1 did not mark it as reviewed
          - it tried to mark files outside its scope; refused once
          - it reported before it had marked all its files; refused once
        sub-agent-2 (first (2 of 2)): Completed
          a.txt NotReviewed sub-agent-2 did not mark it as reviewed
          - it tried to mark files outside its scope; refused once
          - it reported before it had marked all its files; refused once
        sub-agent-3 (second (1 of 2)): Completed
          b.txt NotReviewed sub-agent-3 did not mark it as reviewed
          - it tried to mark files that it had not read; refused once
          - it reported before it had marked all its files; refused once
        sub-agent-4 (second (2 of 2)): Completed
          b.txt NotReviewed sub-agent-4 did not mark it as reviewed
          - it tried to mark files that it had not read; refused once
          - it reported before it had marked all its files; refused once
    "#]]
    .assert_eq(&render(&runs));
    assert!(scene.reviewed().is_empty());
}
