//! The run folder: its contents and later use.

use expect_test::expect;

use super::script::{confirms, delegates, finding, submits, works};
use super::{KEY, MAIL, ORDERS, ReviewFixture, items, json, text};
use crate::user::{assert_same, tree, tree_with_times};
use crh_testkit::FakeModel;

const TITLE: &str = "The total is divided";

/// A model with a finding that repeats the API key it was given.
fn model() -> FakeModel {
    let finding = finding("P1", TITLE, "shop/orders.py:5", "return result / len(items)");
    let leaks = super::script::with(
        finding,
        serde_json::json!({ "why_it_matters": format!("The key is {KEY}.") }),
    );
    FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &[ORDERS, MAIL])]), submits(&["1.1"], &[])])
        .on("sub-agent-1", works(&[ORDERS, MAIL], &[leaks]))
        .on("validate-1", [confirms()])
}

/// A model whose finding is dismissed, so nothing is verified.
fn model_without_check() -> FakeModel {
    let finding = finding("P1", TITLE, "shop/orders.py:5", "return result / len(items)");
    FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &[ORDERS, MAIL])]), submits(&["1.1"], &[])])
        .on("sub-agent-1", works(&[ORDERS, MAIL], &[finding]))
}

#[test]
fn run_folder_is_complete() {
    let desk = ReviewFixture::new();
    let reviewed = desk.review(&model(), &[]);
    assert_eq!(reviewed.output.code, 1, "{}", reviewed.output.shown());
    let run = desk.runs().pop().unwrap();
    let files = tree(&run);
    let names: String = files
        .keys()
        .filter(|name| !name.starts_with("workspace/"))
        .map(|name| format!("{name}\n"))
        .collect();
    expect![[r#"

        .gitignore
        advisory.json
        applied-fixes.json
        metadata.json
        residual-work.json
        review.json
        review.md
        reviewers
        reviewers/consistency.json
        reviewers/injection.json
        reviewers/leftovers.json
        reviewers/orchestrator.json
        reviewers/patterns.json
        reviewers/references.json
        reviewers/secrets.json
        reviewers/sub-agent-1.json
        reviewers/syntax.json
        reviewers/validate-1.json
        reviewers/workflows.json
        stages
        stages/basis.json
        stages/context.json
        stages/edit.json
        stages/findings.json
        stages/found.json
        stages/masked.diff
        stages/merge.json
        stages/plan.json
        stages/report.json
        stages/review.json
        stages/runs
        stages/runs/consistency.json
        stages/runs/injection.json
        stages/runs/leftovers.json
        stages/runs/orchestrator.json
        stages/runs/patterns.json
        stages/runs/references.json
        stages/runs/secrets.json
        stages/runs/sub-agent-1.json
        stages/runs/syntax.json
        stages/runs/validate-1.json
        stages/runs/workflows.json
        stages/scope.json
        stages/sinks.json
        stages/target.json
        stages/terms.json
        stages/validate.json
        stamp
        telemetry.json
        transcripts
        transcripts/orchestrator.jsonl
        transcripts/sub-agent-1.jsonl
        transcripts/validate-1.jsonl
        workspace
    "#]]
    .assert_eq(&names);
}

#[test]
fn run_folder_records_change_and_models_but_no_key_and_no_texts() {
    let desk = ReviewFixture::new();
    let reviewed = desk.review(&model(), &[]);
    let run = desk.runs().pop().unwrap();
    let metadata = json(&run.join("metadata.json"));
    assert_eq!(text(&metadata["branch"]), "main");
    assert_eq!(text(&metadata["head_sha"]), desk.repo.id("HEAD"));
    assert_eq!(text(&metadata["verdict"]), "Ready with fixes");
    assert_eq!(metadata["run_id"], reviewed.report["run_id"]);
    assert!(metadata["completed_at"].is_string(), "{metadata}");
    let telemetry = json(&run.join("telemetry.json"));
    let calls = items(&telemetry["runs"]).iter().flat_map(|run| items(&run["calls"]));
    let models: Vec<&str> = calls.map(|call| text(&call["model"])).collect();
    let (mini, strong) = ("openai:gpt-5.4-mini", "openai:gpt-6.1-sol");
    assert_eq!(models, [mini, mini, mini, mini, strong], "{telemetry}");
    for (name, bytes) in &tree(&run) {
        assert!(!bytes.contains(KEY), "{name}");
        let is_transcript = name.starts_with("transcripts/") || name == "telemetry.json";
        for withheld in ["return result / len(items)", "The total is divided"] {
            assert!(!is_transcript || !bytes.contains(withheld), "{name}: {withheld}");
        }
    }
    assert!(!reviewed.output.shown().contains(KEY));
}

#[test]
fn run_folder_records_checkout_for_every_target() {
    for (place, target, branch) in [
        (&["-b", "topic"][..], &["--base", "HEAD~1"][..], "topic"),
        (&["-b", "topic"], &["--commit", "other"], "topic"),
        (&["--detach"], &["--base", "HEAD~1"], ""),
    ] {
        let desk = ReviewFixture::new();
        desk.repo.git(&["branch", "other"]);
        desk.repo.write("later.md", "later\n");
        desk.repo.commit("later");
        desk.repo.git(&[&["checkout", "--quiet"], place].concat());
        // Others cannot find an uncommitted tree.
        desk.repo.write(MAIL, "def send(to):\n    pass\n");
        let args = [&["review"], target].concat();
        let output = desk.crh(&args).run();
        let metadata = json(&desk.runs().pop().unwrap().join("metadata.json"));
        let found = (text(&metadata["branch"]), text(&metadata["head_sha"]));
        assert_eq!(found, (branch, desk.repo.id("HEAD").as_str()), "{}", output.shown());
        // Only checks ran although a review was requested.
        assert_eq!(text(&metadata["verdict"]), "Incomplete", "{target:?}");
    }
}

#[test]
fn run_dir_is_used_and_ignored_by_git() {
    let desk = ReviewFixture::new();
    let before = tree_with_times(desk.repo.path());
    let place = desk.user.path("runs");
    desk.review(&model(), &["--run-dir", place.to_str().unwrap()]);
    assert_eq!(super::runs(&place).len(), 1);
    assert_same(&before, &tree_with_times(desk.repo.path()), "the repository");
    let shown = desk.crh(&["show", "--run-dir", place.to_str().unwrap()]).run();
    assert!(shown.stdout.contains(TITLE), "{}", shown.shown());
    desk.review(&model(), &[]);
    assert_eq!(desk.repo.git(&["status", "--porcelain"]), b"");
}

#[test]
fn dismissed_issue_is_hidden_until_undone() {
    let desk = ReviewFixture::new();
    assert_eq!(desk.review(&model(), &[]).end(), (1, "ok", "Ready with fixes"));
    let dismissed = desk.crh(&["dismiss", "1", "orders", "are", "never", "empty"]).run();
    assert_eq!(dismissed.code, 0, "{}", dismissed.shown());
    let again = desk.review(&model_without_check(), &[]);
    assert_eq!(again.end(), (0, "ok", "Ready to merge"));
    expect![[r#"
        dismissed The total is divided: orders are never empty
    "#]]
    .assert_eq(&again.fates());
    let key = items(&json(&desk.runs()[0].join("review.json"))["issues"])[0]["dedupe_key"].clone();
    let undone = desk.crh(&["dismiss", "--undo", text(&key)]).run();
    assert_eq!(undone.code, 0, "{}", undone.shown());
    assert_eq!(desk.review(&model(), &[]).end(), (1, "ok", "Ready with fixes"));
}
