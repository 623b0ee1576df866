//! Custom prompts, and that a repository cannot set them.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{confirms, delegates, finding, submits, works};
use super::{FinishedReview, MAIL, ORDERS, ReviewFixture};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::PromptPart;

/// A model with one finding.
fn model() -> FakeModel {
    let finding =
        finding("P1", "The total is divided", "shop/orders.py:5", "return result / len(items)");
    FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &[ORDERS, MAIL])]), submits(&["1.1"], &[])])
        .on("sub-agent-1", works(&[ORDERS, MAIL], &[finding]))
        .on("validate-1", [confirms()])
}

/// Runs a review and returns which callers received a text, in the system prompt or elsewhere.
fn review_and_find(
    desk: &ReviewFixture,
    args: &[&str],
    wanted: &str,
) -> (FinishedReview, Vec<String>) {
    let model = model();
    let reviewed = desk.review(&model, args);
    assert_eq!(reviewed.end().1, "ok", "{}", reviewed.output.shown());
    let mut told = Vec::new();
    for asked in model.requests().iter().filter(|asked| asked.number == 1) {
        for read in asked.prompt_parts() {
            let word = match &read {
                PromptPart::System(text) if text.contains(wanted) => "system",
                PromptPart::User(text) if text.contains(wanted) => "user",
                _ => continue,
            };
            told.push(format!("{} {word}", asked.caller));
        }
    }
    told.sort();
    (reviewed, told)
}

#[test]
fn custom_prompts_reach_models_and_change_review_id() {
    let desk = ReviewFixture::new();
    desk.user.write("system.md", "Only the SYSTEM-WISH counts.\n");
    desk.user.write("reviewer.md", "Look for the REVIEWER-WISH.\n");
    let path = |name: &str| desk.user.path(name).to_str().unwrap().to_owned();
    let (system, reviewer) = (path("system.md"), path("reviewer.md"));
    let usual = desk.review(&model(), &[]).report["review_id"].clone();
    let again = desk.review(&model(), &[]).report["review_id"].clone();
    assert_eq!(usual, again);
    let check = |args: &[&str], wanted: &str, expected: &[&str]| {
        let (reviewed, told) = review_and_find(&desk, args, wanted);
        assert_eq!(told, expected, "{args:?}");
        reviewed.report["review_id"].clone()
    };
    let all = ["orchestrator system", "sub-agent-1 system", "validate-1 system"];
    let other = check(&["--system-prompt", &system], "SYSTEM-WISH", &all);
    assert_ne!(other, usual);
    let other = check(&["--reviewer-prompt", &reviewer], "REVIEWER-WISH", &["sub-agent-1 user"]);
    assert_ne!(other, usual);
    // Only callers that write text for people get the language.
    let (_, told) = review_and_find(&desk, &["--lang", "Klingon"], "Klingon");
    assert!(told.iter().any(|line| line.starts_with("sub-agent-1")), "{told:?}");
}

#[test]
fn invalid_prompt_file_is_an_error() {
    let desk = ReviewFixture::new();
    let unused_model = FakeModel::start();
    desk.user.write("empty.md", " \n");
    let empty = desk.user.path("empty.md");
    let mut said = String::new();
    for args in [
        ["--system-prompt", "nowhere.md"],
        ["--reviewer-prompt", empty.to_str().unwrap()],
        ["--lang", ""],
        ["--record", "nowhere/tape"],
        ["--max-seconds", "0"],
    ] {
        said += &desk.shown(&desk.review(&unused_model, &args).output);
    }
    assert!(desk.runs().is_empty(), "{:?}", desk.runs());
    expect![[r#"
        exit 2
        error: cannot read `nowhere.md`: No such file or directory (os error 2)
        hint: check the path
        ---
        exit 2
        error: `HOME/empty.md` is empty
        hint: a prompt is a text file, such as those in `crates/crh-pipeline/prompts` of crh's source code
        ---
        exit 2
        error: invalid value '' for '--lang <LANGUAGE>': expected the name of a language, such as `German` or `pt-BR`
        For more information, try '--help'.
        ---
        exit 2
        error: cannot record to `nowhere/tape`: No such file or directory (os error 2)
        hint: name a new file in an existing folder, or an existing recording to overwrite
        ---
        exit 2
        error: invalid value '0' for '--max-seconds <SECONDS>': must be at least 1
        For more information, try '--help'.
        ---
    "#]].assert_eq(&said);
}

#[test]
fn repository_cannot_set_prompts_models_or_servers() {
    let desk = ReviewFixture::new();
    let unused_model = FakeModel::start();
    for line in [
        "[review]\nlanguage = \"Klingon\"",
        "[review]\nstrategy = \"static\"",
        "[review]\nmin_severity = \"P0\"",
        "[budget]\nusd = 1000.0",
        "[review]\nsystem_prompt = \"evil.md\"",
        "[prompts]\nsystem = \"evil.md\"",
        "[model]\nreviewer = \"openai:x\"",
        "[model.keys]\n\"https://evil.example\" = \"OPENAI_API_KEY\"",
        "[models.\"openai:x\"]\ncontext = 1",
        "[launchpad]\nservice_root = \"staging\"",
    ] {
        // In the checkout and in the commit under review.
        desk.repo.write("crh.toml", line);
        desk.repo.commit("settings");
        let output = desk.review(&unused_model, &[]).output;
        assert_eq!(output.code, 2, "{line}: {}", output.shown());
        let is_unknown = line.contains("prompt");
        let refusal = if is_unknown { "unknown " } else { "is not allowed in" };
        assert!(output.stderr.contains(refusal), "{line}: {}", output.stderr);
    }
    assert!(desk.runs().is_empty());
}

/// A report without the values that differ between two runs of the same review.
fn without_run_values(report: &Value) -> Value {
    let mut report = report.clone();
    report["run_id"] = json!("");
    report["artifact"] = json!("");
    for name in ["latency_seconds_e2e", "latency_seconds_llm"] {
        report["stats"][name] = json!(0);
    }
    report
}

#[test]
fn replayed_review_gives_same_report() {
    let desk = ReviewFixture::new();
    let tape = desk.user.path("tape");
    let file = tape.to_str().unwrap();
    let recorded = desk.review(&model(), &["--model", "openai:gpt-5.4-mini", "--record", file]);
    assert_eq!(recorded.end(), (1, "ok", "Ready with fixes"));
    assert!(!fs::read_to_string(&tape).unwrap().contains(super::KEY));
    let replay = format!("replay:{file}");
    let replaying = ["review", "HEAD~1..HEAD", "--strategy", "delegate", "--model", &replay];
    let output = desk.crh(&replaying).run();
    let replayed = desk.reviewed(output);
    assert_eq!(replayed.output.code, 1, "{}", replayed.output.shown());
    assert_eq!(without_run_values(&replayed.report), without_run_values(&recorded.report));
    // A change that was not recorded has no answer, so its review does not pass.
    let other = desk.crh(&[&replaying[..], &["--lang", "Klingon"]].concat()).run();
    let other = desk.reviewed(other);
    assert_eq!(other.end(), (3, "error", "Incomplete"));
    let why = "orchestrator failed: the recording has no answer to this question";
    assert!(other.reviewers().contains(why), "{}", other.reviewers());
}
