//! The strategy `single`: a panel of one finder, and its budget of two calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, Scene, confirms, divides, finding, last_message, reports, scouts};
use crate::test_change;
use crh_pipeline::review_options::{MIN_CONTEXT, Profile};
use crh_review::report::{CoverageState, Report, Status, Strategy, Validation};
use crh_testkit::fake_model::{ScriptedReply, calls, calls_raw, computed, refuses_prompt, says};
use crh_testkit::{FakeModel, Repo};

fn single(scene: Scene, profile: Profile) -> Scene {
    scene.with_change(|scene| {
        scene.terms = test_change::options(Strategy::Single);
        scene.terms.budget = profile.budget();
    })
}

/// An editor's decision about the only finding.
fn edits(verdict: &str, probability: f64) -> ScriptedReply {
    let group = json!({
        "findings": ["F1"], "verdict": verdict, "probability": probability, "severity": "P1",
        "reason": "line 2 shows it",
    });
    calls("report_edit", json!({ "groups": [group] }))
}

#[tokio::test]
async fn finder_editor_and_validation_share_the_prompt() {
    let fake = FakeModel::start()
        .on("single", [reports(&[divides("P1", 0.75, "Empty carts divide by zero")])])
        .on("validate-1", [confirms()]);
    single(Scene::new(CART), Profile::Standard)
        .check(
            &fake,
            expect![[r#"
                ReadyWithFixes: 1 issue to fix
                #1 P1 shop/cart.py:3 Empty carts divide by zero (0.75, Confirmed, manual -> downstream-resolver) by single
            "#]],
        )
        .await;
    let callers: Vec<String> = fake.requests().iter().map(|asked| asked.caller.clone()).collect();
    assert_eq!(callers, ["single", "editor", "validate-1"]);
    let prompt = last_message(&fake.requests()[0]);
    assert!(prompt.contains("# How to find defects"), "{prompt}");
    assert!(prompt.contains("You have tools that read the repository."), "{prompt}");
}

/// Neither the finder nor the editor sees how severe the finding is. Validation does.
#[tokio::test]
async fn dangerous_p3_is_validated_and_raised() {
    let review = async |title: &str, validation: Option<ScriptedReply>| {
        let group = json!({
            "findings": ["F1"], "verdict": "publish", "probability": 0.9, "severity": "P3",
            "reason": "line 3 shows it",
        });
        let fake = FakeModel::start()
            .on("single", [reports(&[divides("P3", 0.9, title)])])
            .on("editor", [calls("report_edit", json!({ "groups": [group] }))])
            .on("validate-1", validation);
        let output = single(Scene::new(CART), Profile::Standard).review(&fake).await;
        super::scene::render(&output.report)
    };
    let raises = computed(|asked| {
        let text = last_message(asked);
        let id = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
        let check = json!({
            "id": id, "verdict": "confirmed", "severity": "P0", "probability": 0.9,
            "reason": "An attacker reads every order.",
        });
        calls("report_checks", json!({ "checks": [check] }))
    });
    expect![[r#"
        NotReady: 1 P0 issue must be fixed before the merge
        #1 P0 shop/cart.py:3 SQL injection through the order number (0.9, Confirmed, manual -> downstream-resolver) by single | single (P3), validation (P0) -- raised to P0: An attacker reads every order.
    "#]]
    .assert_eq(&review("SQL injection through the order number", Some(raises)).await);
    let harmless = review("The name of the variable is vague", None).await;
    assert!(harmless.ends_with("[single]: P3 issues are hidden\n"), "{harmless}");
}

#[tokio::test]
async fn second_of_two_calls_edits_and_validates() {
    let review = async |edit: ScriptedReply| {
        let fake = FakeModel::start()
            .on("single", [reports(&[divides("P1", 0.75, "Empty carts divide by zero")])])
            .on("editor", [edit]);
        let output = single(Scene::new(CART), Profile::Quick).review(&fake).await;
        let tools: Vec<usize> = fake
            .requests()
            .iter()
            .map(|asked| asked.body["tools"].as_array().unwrap().len())
            .collect();
        assert_eq!(tools, [1, 1], "only the tool that answers");
        assert!(last_message(&fake.requests()[0]).contains("You have no tools for look-ups."));
        super::scene::render(&output.report)
    };
    expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 Empty carts divide by zero (0.75, Confirmed, manual -> downstream-resolver) by single
    "#]]
    .assert_eq(&review(edits("publish", 0.9)).await);
    expect![[r#"
        ReadyWithFixes: 1 issue (hidden) to fix
        below_gate Empty carts divide by zero [single]: the model that selects issues refutes it: line 2 shows it
    "#]]
    .assert_eq(&review(edits("refuted", 0.0)).await);
    expect![[r#"
        ReadyWithFixes: 1 issue (hidden) to fix
        below_gate Empty carts divide by zero [single]: the probability that maintainers agree is 0.20
    "#]]
    .assert_eq(&review(edits("publish", 0.2)).await);
    // A group without the finding is used as it is: no call is left to ask again.
    let no_groups = calls("report_edit", json!({ "groups": [] }));
    expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 Empty carts divide by zero (0.75, NotRun, manual -> downstream-resolver) by single
        ! the model run that selects the issues to show did not rate 1 of 1 finding; the reviewers' confidence decides about them
    "#]].assert_eq(&review(no_groups).await);
    // The failed request costs no call, but no run with tools follows.
    expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 Empty carts divide by zero (0.75, NotRun, manual -> downstream-resolver) by single
        ! 1 P0 or P1 not validated: with at most two model calls, only the editor validates; raise `--max-llm-calls`
        ! the model run that selects the issues to show failed (the model refuses to answer: Invalid prompt: it was flagged by the usage policy.); crh selected them by the reviewers' confidence
    "#]].assert_eq(&review(refuses_prompt()).await);
}

#[tokio::test]
async fn smallest_context_is_enough_for_a_small_change() {
    let review = async |fake: FakeModel, context: u64| {
        let scene = single(Scene::new(CART), Profile::Standard);
        let output = scene.with_change(|scene| scene.context = context).review(&fake).await;
        let rows = output.report.failed_reviewers();
        rows.map(|row| row.note.clone()).collect::<Vec<_>>().join("\n")
    };
    let answering = FakeModel::start().on("single", [reports(&[])]);
    assert_eq!(review(answering, MIN_CONTEXT).await, "");
    let failure = review(FakeModel::start(), 2_048).await;
    assert!(failure.starts_with("the request needs about "), "{failure}");
    assert!(failure.contains("the model's context has 2048; start the model server"), "{failure}");
}

/// The prompts of the review also have the findings of static checks and the scout's intent.
#[tokio::test]
async fn estimate_and_review_agree_whether_the_prompts_fit() {
    let intent = "Prints the orders that wait for a payment. ".repeat(40);
    let fake = FakeModel::answering_all(move |asked| match asked.caller.as_str() {
        "scout" => scouts(&intent, &[]),
        _ => reports(&[]),
    });
    for strategy in [Strategy::Single, Strategy::Panel] {
        let mut outcomes = BTreeSet::new();
        for context in (4_600..=13_100).step_by(500).chain([8_192]) {
            let repo = Repo::new();
            repo.commit("base");
            repo.write("orders.js", "function wait() {\n  debugger;\n}\n".repeat(30));
            repo.commit("change");
            let scene = Scene::from_repo(repo).with_change(|scene| {
                scene.terms = test_change::options(strategy);
                scene.context = context;
            });
            let notes = scene.estimate(&fake).notes;
            let fits = !notes.iter().any(|note| note.contains("the request needs about"));
            let report = scene.review(&fake).await.report;
            let failed = report.failed_reviewers().map(|row| row.note.as_str());
            let failed: Vec<&str> =
                failed.filter(|note| note.contains("the request needs about")).collect();
            assert_eq!(fits, failed.is_empty(), "{strategy} {context}: {notes:?} {failed:?}");
            outcomes.insert(fits);
        }
        assert_eq!(outcomes.len(), 2, "{strategy}: both outcomes occur");
    }
}

/// Each part would show the signatures of the others, which alone would fill the context.
#[tokio::test]
async fn parts_of_a_large_change_fit_into_a_small_context() {
    let review = async |fake: FakeModel, context: u64| {
        let repo = Repo::new();
        repo.commit("base");
        for file in 0..4 {
            let functions = (0..30).map(|number| {
                format!("def handle_request_{file}_{number}(account, amount, reason):\n    return account.book(amount, reason)\n")
            });
            repo.write(&format!("handlers_{file}.py"), functions.collect::<String>());
        }
        repo.commit("change");
        let scene = single(Scene::from_repo(repo), Profile::Standard);
        let report = scene.with_change(|scene| scene.context = context).review(&fake).await.report;
        let rows = report.failed_reviewers().map(|row| row.note.clone());
        (rows.collect::<Vec<_>>().join("\n"), unreviewed(&report).len())
    };
    let parts = (2..=8).map(|number| format!("single-{number}"));
    let fake = parts
        .chain(["single".to_owned()])
        .fold(FakeModel::start(), |fake, name| fake.on(&name, [reports(&[])]));
    assert_eq!(review(fake, 8_192).await, (String::new(), 0));
    // Without room for any part, the change is not split.
    let (failures, unreviewed) = review(FakeModel::start(), 4_096).await;
    assert!(failures.starts_with("the request needs about "), "{failures}");
    assert_eq!(unreviewed, 4);
}

/// A line that fits into no prompt: a reviewer can read it only with a tool.
#[tokio::test]
async fn file_that_no_prompt_shows_is_not_reviewed() {
    let review = async |fake: FakeModel, context: u64| {
        let repo = Repo::new();
        repo.write("data_table.py", "ROWS = 1\n");
        repo.commit("base");
        repo.write("small.py", "ready = True\n");
        repo.write("table.py", format!("TABLE = \"{}\"\n", "7 1".repeat(12_000)));
        repo.commit("change");
        let scene = single(Scene::from_repo(repo), Profile::Standard);
        let report = scene.with_change(|scene| scene.context = context).review(&fake).await.report;
        let file = report.coverage.iter().find(|file| file.path == "table.py").unwrap();
        (file.state, file.reason.clone())
    };
    let not_shown = "its diff did not fit into the model's context".to_owned();
    let without_tool = || FakeModel::start().on("single", [reports(&[])]);
    let not_reviewed = (CoverageState::NotReviewed, not_shown.clone());
    let small_context = without_tool().on("single-2", [reports(&[])]);
    assert_eq!(review(small_context, 8_192).await, not_reviewed);
    let reads = calls("repo_read", json!({ "path": "table.py" }));
    let with_tool = without_tool().on("single-2", [reads, reports(&[])]);
    assert_eq!(review(with_tool, 30_000).await, (CoverageState::Truncated, not_shown));
    // The path of another file ends with `table.py`, and the search finds no line.
    let reads_other_file = calls("repo_read", json!({ "path": "data_table.py" }));
    let searches = calls("repo_grep", json!({ "pattern": "absent", "pathGlob": "table.py" }));
    let unread = without_tool().on("single-2", [reads_other_file, searches, reports(&[])]);
    assert_eq!(review(unread, 30_000).await, not_reviewed);
    // The instructions alone do not fit.
    let (state, reason) = review(FakeModel::start(), 4_096).await;
    assert_eq!(state, CoverageState::NotReviewed);
    assert!(reason.starts_with("the model's context is too small by about "), "{reason}");
}

/// The report says that the editor and the validator gave no answer, and prints no probability.
#[tokio::test]
async fn empty_answers_of_editor_and_validator_are_reported() {
    let no_groups = || calls("report_edit", json!({ "groups": [] }));
    let fake = FakeModel::start()
        .on("single", [reports(&[divides("P1", 0.95, "Empty carts divide by zero")])])
        .on("editor", [no_groups(), no_groups()])
        .on("validate-1", [calls("report_checks", json!({ "checks": [] }))]);
    let output = single(Scene::new(CART), Profile::Standard).review(&fake).await;
    let issue = &output.report.issues[0];
    assert_eq!((issue.probability, issue.validation), (None, Validation::NoVerdict));
    expect![[r#"
        validate-1 gave no verdict on 1 issue
        the model run that selects the issues to show did not rate 1 of 1 finding; the reviewers' confidence decides about them"#]].assert_eq(&output.report.warnings.join("\n"));
}

#[tokio::test]
async fn two_calls_repair_only_urgent_findings() {
    let mut unproven = divides("P2", 0.75, "Names are stripped");
    unproven["evidence"] = json!([{ "snippet": "return name.lower()" }]);
    let proven = divides("P1", 0.75, "Empty carts divide by zero");
    let review = async |replies: Vec<ScriptedReply>| {
        let fake = FakeModel::start().on("single", replies);
        let output = single(Scene::new(CART), Profile::Quick).review(&fake).await;
        let callers: Vec<String> =
            fake.requests().iter().map(|asked| asked.caller.clone()).collect();
        (callers.join(" "), super::scene::render(&output.report))
    };
    let (callers, report) = review(vec![reports(&[proven.clone(), unproven.clone()])]).await;
    assert_eq!(callers, "single editor");
    expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 Empty carts divide by zero (0.75, Confirmed, manual -> downstream-resolver) by single
        unsupported Names are stripped [single]: the quote `return name.lower()` is not in `shop/cart.py`
    "#]].assert_eq(&report);
    unproven["severity"] = json!("P0");
    let repaired = [reports(&[proven.clone(), unproven]), reports(&[proven])];
    let (callers, report) = review(repaired.to_vec()).await;
    assert_eq!(callers, "single single");
    expect![[r#"
        ReadyWithFixes: 1 issue to fix. The review is incomplete: crh did not find the quoted code of 1 finding of severity P0 or P1
        #1 P1 shop/cart.py:3 Empty carts divide by zero (0.75, NotRun, manual -> downstream-resolver) by single
        unsupported Names are stripped [single]: the quote `return name.lower()` is not in `shop/cart.py`; the nearest text: line 8 of `shop/cart.py` is `return name.strip()`; its reviewer did not repair it
        ! 1 P0 or P1 not validated: with at most two model calls, only the editor validates; raise `--max-llm-calls`
        ! the model run that selects the issues to show failed (the remaining budget for model calls is too small for another request; raise `--max-llm-calls`); crh selected them by the reviewers' confidence
    "#]].assert_eq(&report);
}

#[tokio::test]
async fn stopped_review_of_two_calls_asks_for_no_higher_limit() {
    let fake = FakeModel::start()
        .on("single", [reports(&[divides("P1", 0.75, "Empty carts divide by zero")])]);
    let scene = single(Scene::new(CART), Profile::Quick)
        .with_change(|scene| scene.stopped_after = Some("single"));
    let report = scene.review(&fake).await.report;
    let note = "1 P0 or P1 not validated: the review was stopped";
    assert!(report.warnings.iter().any(|it| it == note), "{:?}", report.warnings);
}

/// Scripted behaviour of a model.
type Behaviour = fn() -> ScriptedReply;

#[tokio::test]
async fn quick_review_makes_at_most_two_model_calls() {
    let behaviours: [Behaviour; 8] = [
        || reports(&[]),
        || reports(&[divides("P0", 0.25, "a"), divides("P1", 1.0, "b")]),
        || edits("publish", 0.9),
        || calls("report_findings", json!({ "findings": "none" })),
        || calls_raw("report_findings", "{"),
        || calls("repo_grep", json!({ "pattern": "x" })),
        || says("I am done."),
        || reports(&[]).without_usage(),
    ];
    // Next behaviours, last first.
    let next: Arc<Mutex<Vec<Behaviour>>> = Arc::default();
    let script = Arc::clone(&next);
    let fake = FakeModel::answering_all(move |_| {
        script.lock().unwrap().pop().map_or_else(|| says("?"), |it| it())
    });
    let scene = single(Scene::new(CART), Profile::Quick);
    let mut most = 0;
    for first in behaviours {
        for second in behaviours {
            *next.lock().unwrap() = vec![second, first];
            let before = fake.usage().requests;
            let stats = scene.review(&fake).await.report.stats;
            let requests = fake.usage().requests - before;
            assert!(requests <= 2 && stats.llm_calls <= 2 && stats.tool_calls == 0, "{stats:?}");
            most = most.max(requests);
        }
    }
    assert_eq!(most, 2, "the bound was reached");
}

fn unreviewed(report: &Report) -> Vec<&str> {
    let files = report.coverage.iter().filter(|file| file.state == CoverageState::NotReviewed);
    files.map(|file| file.path.as_str()).collect()
}

#[tokio::test]
async fn two_calls_show_the_largest_diffs_that_fit() {
    let repo = Repo::new();
    repo.commit("base");
    for number in 0..30_usize {
        let lines = (0..100 + number * 10).map(|line| format!("value_{line} = compute()\n"));
        repo.write(&format!("file_{number:02}.py"), lines.collect::<String>());
    }
    repo.commit("change");
    let fake = FakeModel::start().on("single", [reports(&[])]);
    let report = single(Scene::from_repo(repo), Profile::Quick).review(&fake).await.report;
    let unreviewed = unreviewed(&report);
    assert!((5..25).contains(&unreviewed.len()), "{unreviewed:?}");
    assert!(unreviewed.iter().all(|path| *path < "file_23.py"), "{unreviewed:?}");
    assert_eq!(report.status, Status::Truncated);
}

#[tokio::test]
async fn larger_budget_reviews_a_large_change_in_parts() {
    let repo = Repo::new();
    repo.commit("base");
    for name in ["a", "b"] {
        let lines = (0..3_000).map(|line| format!("value_{line} = compute()\n"));
        repo.write(&format!("{name}/large.py"), lines.collect::<String>());
    }
    repo.commit("change");
    let late = finding("P2", 0.75, "Late", "b/large.py:2990", "value_2989 = compute()");
    let fake = FakeModel::start()
        .on("single", [reports(&[])])
        .on("single-2", [reports(&[late])])
        .on("validate-1", [confirms()]);
    let report = single(Scene::from_repo(repo), Profile::Standard).review(&fake).await.report;
    assert_eq!((unreviewed(&report).len(), report.issues.len()), (0, 1), "{report:?}");
    let rows = report.reviewers.iter().filter(|row| row.name.starts_with("single"));
    assert_eq!(rows.count(), 1, "the parts of a reviewer share a row");
}

/// Two of the three files fit into one part. The first calls a function of the last.
#[tokio::test]
async fn large_change_is_cut_along_calls() {
    let repo = Repo::new();
    repo.commit("base");
    for (path, code) in [
        ("a/caller.py", "def first_caller():\n    return far_callee()\n"),
        ("b/other.py", "def unrelated_code():\n    return 1\n"),
        ("c/callee.py", "def far_callee():\n    return 2\n"),
    ] {
        let lines = (0..1_700).map(|line| format!("value_{line} = compute()\n"));
        repo.write(path, format!("{code}{}", lines.collect::<String>()));
    }
    repo.commit("change");
    let in_first = finding("P2", 0.75, "Far away", "c/callee.py:2", "    return 2");
    let in_second = finding("P2", 0.75, "Near by", "b/other.py:2", "    return 1");
    let fake = FakeModel::start()
        .on("single", [reports(&[in_first])])
        .on("single-2", [reports(&[in_second])])
        .on("validate-1", [confirms()]);
    single(Scene::from_repo(repo), Profile::Standard).review(&fake).await;
    let prompt = |caller: &str| {
        let requests = fake.requests();
        let request = requests.iter().find(|request| request.caller == caller).unwrap();
        format!("{:?}", request.prompt_parts())
    };
    let (first, second, editor) = (prompt("single"), prompt("single-2"), prompt("editor"));
    assert!(first.contains("+def first_caller") && first.contains("+def far_callee"), "{first}");
    assert!(second.contains("+def unrelated_code") && !second.contains("+def far_callee"));
    // Each part shows the signatures of the others, and the editor sees the findings of all parts.
    assert!(second.contains("c/callee.py: def far_callee():"), "{second}");
    assert!(editor.contains("Far away") && editor.contains("Near by"), "{editor}");
}
