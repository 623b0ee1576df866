//! Validation runs, against a fake model over HTTP.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};

use crate::test_change::{TestChange, options};
use crh_agent::LimitKind;
use crh_pipeline::collect::ReviewFindings;
use crh_pipeline::consolidate::consolidate;
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::runs::{CheckedFinding, RunEnd, RunRecord};
use crh_pipeline::tools::session::agent_tool_specs;
use crh_pipeline::validate::{ValidationOutcome, validate};
use crh_review::finding::Side;
use crh_review::report::Strategy;
use crh_review::{Judgement, JudgementResult, MergeResult, PastDecisions, Quote, apply_judgements};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{PromptPart, bad_key, calls, calls_all};

const SHOP: &str = r#"
    //- shop.py
    RATE = 3

    def price(order):
        return order.net

    def other():
        pass
    //- tax.py
    def tax(net):
        return net * 0.2
    //- head
    //- shop.py
    RATE = 3

    def price(order):
        total = order.net
        total = total + tax(total)
        total = total - order.discount
        return total

    def other():
        return price(None)
"#;

const FINDINGS: &str = r#"
    a shop.py:5 P0 0.9 "Tax is added twice" why="Customers pay tax twice. The form adds it already, I think."
    a shop.py:9 P1 0.9 "`price` fails without an order" quote="return price(None)"
    a shop.py:6 P2 0.7 "A discount below zero raises the price" quote="total - order.discount"
"#;

struct ValidationScene {
    test_change: TestChange,
    merged: MergeResult,
    context: ReviewContext,
    events: Arc<Mutex<Vec<ReviewEvent>>>,
}

impl ValidationScene {
    fn new(model: &FakeModel, fixture: &str, findings: &str) -> Self {
        Self::with(model, TestChange::new(fixture), findings, |_| {}, Vec::new())
    }

    fn with(
        model: &FakeModel,
        test_change: TestChange,
        findings: &str,
        change: impl FnOnce(&mut ReviewOptions),
        earlier: Vec<RunRecord>,
    ) -> Self {
        let collected = test_change.collected_findings(findings);
        let merged =
            consolidate(collected.members, &test_change.subject, &PastDecisions::default());
        let mut terms = options(Strategy::Delegate);
        change(&mut terms);
        let (context, events) = test_change.review_context(model, terms, earlier);
        Self { test_change, merged, context, events }
    }

    /// Key of the issue with this title.
    fn key(&self, title: &str) -> String {
        let issue = self.merged.issues.iter().find(|issue| issue.title.contains(title));
        issue.unwrap().dedupe_key.clone()
    }

    fn check(&self, title: &str, verdict: &str) -> Value {
        json!({ "id": self.key(title), "verdict": verdict, "reason": format!("{verdict} by line 5") })
    }

    async fn validated(&self, checked: &[CheckedFinding]) -> ValidationOutcome {
        let collected = ReviewFindings { checked: checked.to_vec(), ..ReviewFindings::default() };
        validate(&self.merged, None, &collected, &self.test_change.subject, Some(&self.context))
            .await
    }

    /// Outcome of each issue, one per line, and the notes.
    fn render(&self, validated: &ValidationOutcome) -> String {
        let merged = apply_judgements(self.merged.clone(), &validated.judgements);
        let mut actual = String::new();
        for issue in &merged.issues {
            let (severity, confidence) = (issue.severity, issue.confidence);
            actual += &format!("{severity} {confidence} {} {}\n", issue.validation, issue.title);
        }
        for dropped in &merged.dropped {
            let title = &dropped.member.as_ref().unwrap().finding.title;
            actual += &format!("{}: {title} -- {}\n", dropped.fate, dropped.reason);
        }
        for record in &validated.runs {
            let name = &record.assignment.name;
            actual += &format!("{name} {:?} {:?}\n", record.ended, record.limited);
        }
        for note in &validated.notes {
            actual += &format!("note: {note}\n");
        }
        actual
    }
}

fn report(checks: &[Value]) -> crh_testkit::fake_model::ScriptedReply {
    calls("report_checks", json!({ "checks": checks }))
}

#[tokio::test]
async fn each_issue_is_confirmed_refuted_or_unsure() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    let checks = [stage.check("Tax", "confirmed"), stage.check("price", "refuted")];
    model.script("validate-1", [report(&checks)]);
    let validated = stage.validated(&[]).await;
    expect![[r#"
        P0 0.90 confirmed Tax is added twice
        refuted: `price` fails without an order -- refuted by line 5
        below_gate: A discount below zero raises the price -- confidence 0.45 after an undecided check
        validate-1 Completed None
        note: validate-1 gave no verdict on 1 issue
    "#]].assert_eq(&stage.render(&validated));
    let record = &validated.runs[0];
    assert_eq!(
        (record.totals.llm_calls, record.models.as_slice()),
        (1, &["openai:fake".to_owned()][..])
    );
}

#[tokio::test]
async fn validator_sees_the_whole_claim_and_the_code() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    model.script("validate-1", [report(&[])]);
    stage.validated(&[]).await;
    let request = &model.requests()[0];
    let read = request.prompt_parts();
    let users: Vec<&String> = read
        .iter()
        .filter_map(|read| match read {
            PromptPart::User(text) => Some(text),
            _ => None,
        })
        .collect();
    let own = users.last().unwrap();
    let start = own.find("id: ").unwrap();
    let end = own.find("Check each claim against the code.").unwrap();
    let shown = own[start..end].replace(&stage.key("Tax"), "KEY");
    let shown: Vec<&str> =
        shown.split("\nid: ").next().unwrap().lines().map(str::trim_end).collect();
    let shown: Vec<String> = shown
        .iter()
        .map(|line| if line.contains("data-") { "<fence>".to_owned() } else { (*line).to_owned() })
        .collect();
    expect![[r#"
        id: KEY
        claim: Tax is added twice
        category: bug
        claimed effect: Customers pay tax twice. The form adds it already, I think.
        place: shop.py:5
        <fence>
            1  RATE = 3
            2
            3  def price(order):
            4      total = order.net
            5      total = total + tax(total)
            6      total = total - order.discount
            7      return total
            8
            9  def other():
           10      return price(None)
        <fence>
    "#]]
    .assert_eq(&(shown.join("\n") + "\n"));
    // The same tools as for all agents, so that the vendor's cache serves them.
    let tools = read.iter().filter(|read| matches!(read, PromptPart::Tool(_))).count();
    assert_eq!(tools, agent_tool_specs().len());
}

#[tokio::test]
async fn validator_sees_quotes_outside_the_excerpt() {
    let model = FakeModel::start();
    let (fixture, findings) = many_issues(13, 0);
    let mut stage = ValidationScene::new(&model, &fixture, &findings);
    stage.merged.issues.truncate(1);
    let quote = |line, snippet: &str| Quote {
        file: "a.py".to_owned(),
        side: Side::New,
        line,
        snippet: snippet.to_owned(),
    };
    stage.merged.issues[0].evidence = vec![
        quote(2, "return call_0(1)"),
        quote(8, "return call_1(1)"),
        quote(74, "return call_12(1)"),
    ];
    model.script("validate-1", [report(&[])]);
    stage.validated(&[]).await;
    let prompt: String = model.requests()[0]
        .prompt_parts()
        .into_iter()
        .filter_map(|part| match part {
            PromptPart::User(text) => Some(text),
            _ => None,
        })
        .collect();
    let cited: Vec<&str> = prompt.lines().filter(|line| line.starts_with("also cited: ")).collect();
    assert_eq!(cited, ["also cited: a.py:74"]);
}

#[tokio::test]
async fn validator_cannot_mark_files() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    let looks = calls_all([
        ("repo_read", json!({ "path": "tax.py" })),
        ("mark_file_reviewed", json!({ "path": "shop.py" })),
        ("submit_review", json!({ "keep": [], "drop": [], "summary": "" })),
    ]);
    model.script("validate-1", [looks, report(&[stage.check("Tax", "confirmed")])]);
    let validated = stage.validated(&[]).await;
    assert_eq!(validated.runs[0].ended, RunEnd::Completed);
    let mut messages: Vec<String> = stage
        .events
        .lock()
        .unwrap()
        .iter()
        .map(|event| match event {
            ReviewEvent::RunStarted { run, files, .. } => format!("{run} begins: {files} file"),
            ReviewEvent::ToolCalled { tool, about, .. } => format!("calls {tool} {about}"),
            ReviewEvent::Refused { message, .. } => message.clone(),
            ReviewEvent::RunEnded { failure, findings, .. } => {
                format!("ends {failure:?} {findings}")
            }
            other => format!("{}", serde_json::to_value(other).unwrap()["event"]),
        })
        .collect();
    // The calls of one turn run concurrently.
    messages.sort();
    expect![[r#"
        "spent"
        `mark_file_reviewed` is not for checking claims: read what you need and call `report_checks`
        `submit_review` is not for checking claims: read what you need and call `report_checks`
        calls repo_read tax.py
        ends None 0
        validate-1 begins: 1 file
    "#]]
    .assert_eq(&(messages.join("\n") + "\n"));
    let results: Vec<String> = model.requests()[1]
        .prompt_parts()
        .into_iter()
        .filter_map(|read| match read {
            PromptPart::Result(text) => Some(text),
            _ => None,
        })
        .collect();
    assert!(results[0].contains("return net * 0.2"), "{results:?}");
    assert!(results[1..].iter().all(|text| text.contains("is not for checking claims")));
}

#[tokio::test]
async fn answer_with_wrong_id_is_sent_back() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    let wrong = json!({ "id": "#1", "verdict": "refuted", "reason": "no" });
    let right = [stage.check("Tax", "confirmed")];
    model.script("validate-1", [report(&[wrong]), report(&right)]);
    let validated = stage.validated(&[]).await;
    assert_eq!(validated.judgements[&stage.key("Tax")].result, JudgementResult::Confirmed);
}

/// `urgent` P1 issues and `lower` P2 issues, each in its own function.
fn many_issues(urgent: usize, lower: usize) -> (String, String) {
    let (mut file, mut findings) = (String::new(), String::new());
    for number in 0..urgent + lower {
        file += &format!("def f{number}():\n    return call_{number}(1)\n\n\n\n\n");
        let severity = if number < urgent { "P1" } else { "P2" };
        let line = 6 * number + 2;
        findings += &format!("a a.py:{line} {severity} 0.9 \"Problem {number:02}\"\n");
    }
    (format!("//- a.py\nx = 1\n//- head\n//- a.py\n{file}"), findings)
}

#[tokio::test]
async fn issues_are_validated_in_batches_by_urgency() {
    let model = FakeModel::start();
    let (fixture, findings) = many_issues(19, 2);
    let limit = |terms: &mut ReviewOptions| terms.budget.verify = 18;
    let stage =
        ValidationScene::with(&model, TestChange::new(&fixture), &findings, limit, Vec::new());
    for batch in 1..=2 {
        model.script(&format!("validate-{batch}"), [report(&[])]);
    }
    let validated = stage.validated(&[]).await;
    let sizes: Vec<usize> = validated.runs.iter().map(|record| record.checked.len()).collect();
    assert_eq!(sizes, [16, 2]);
    assert_eq!(
        validated.notes,
        [
            "1 P0 or P1 not validated by a second model run: the limit is 18",
            "validate-1 gave no verdict on 16 issues",
            "validate-2 gave no verdict on 2 issues",
        ]
    );
    let has_no_verdict =
        validated.judgements.values().all(|it| it.result == JudgementResult::NoVerdict);
    assert!(has_no_verdict && validated.judgements.len() == 18);
}

#[tokio::test]
async fn long_excerpts_are_validated_in_smaller_batches() {
    let model = FakeModel::start();
    let (fixture, findings) = many_issues(16, 0);
    let long_lines = format!("    # {}\n", "x".repeat(380)).repeat(4);
    let fixture = fixture.replace("\n\n\n\n\n", &format!("\n{long_lines}"));
    let stage = ValidationScene::new(&model, &fixture, &findings);
    model.script("validate-1", [report(&[])]);
    model.script("validate-2", [report(&[])]);
    let validated = stage.validated(&[]).await;
    let sizes: Vec<usize> = validated.runs.iter().map(|record| record.checked.len()).collect();
    // The first excerpts are shorter than the maximum.
    assert_eq!(sizes, [11, 5]);
}

#[tokio::test]
async fn failed_batch_keeps_its_issues() {
    let model = FakeModel::start();
    let (fixture, findings) = many_issues(17, 2);
    let stage = ValidationScene::new(&model, &fixture, &findings);
    model.script("validate-1", [report(&[])]);
    model.script("validate-2", [bad_key()]);
    let validated = stage.validated(&[]).await;
    expect![[r#"
        P1 0.90 no_verdict Problem 00
        P1 0.90 no_verdict Problem 01
        P1 0.90 no_verdict Problem 02
        P1 0.90 no_verdict Problem 03
        P1 0.90 no_verdict Problem 04
        P1 0.90 no_verdict Problem 05
        P1 0.90 no_verdict Problem 06
        P1 0.90 no_verdict Problem 07
        P1 0.90 no_verdict Problem 08
        P1 0.90 no_verdict Problem 09
        P1 0.90 no_verdict Problem 10
        P1 0.90 no_verdict Problem 11
        P1 0.90 no_verdict Problem 12
        P1 0.90 no_verdict Problem 13
        P1 0.90 no_verdict Problem 14
        P1 0.90 no_verdict Problem 15
        P1 0.90 degraded Problem 16
        P2 0.90 not_run Problem 17
        P2 0.90 not_run Problem 18
        validate-1 Completed None
        validate-2 Failed("the server requires an API key, and crh sent none: Incorrect API key provided: .") None
        note: validate-1 gave no verdict on 16 issues
        note: validate-2 failed: the server requires an API key, and crh sent none: Incorrect API key provided: .; 3 issues not validated, 1 of them P0 or P1
    "#]]
    .assert_eq(&stage.render(&validated));
}

#[tokio::test]
async fn issues_over_budget_stay_unvalidated() {
    let model = FakeModel::start();
    let none = |terms: &mut ReviewOptions| terms.budget.llm_calls = 0;
    let stage = ValidationScene::with(&model, TestChange::new(SHOP), FINDINGS, none, Vec::new());
    let validated = stage.validated(&[]).await;
    expect![[r#"
        P0 0.90 not_run Tax is added twice
        P1 0.90 not_run `price` fails without an order
        P2 0.70 not_run A discount below zero raises the price
        validate-1 Failed("the remaining budget for model calls is too small for another request; raise `--max-llm-calls`") Some(Turns)
        note: 2 P0 or P1 not validated: the remaining budget for model calls is too small for another request; raise `--max-llm-calls`
    "#]]
    .assert_eq(&stage.render(&validated));
    assert!(validated.judgements.is_empty());
    assert_eq!(validated.runs[0].limited, Some(LimitKind::Turns));
}

#[tokio::test]
async fn last_call_of_a_budget_must_answer() {
    let model = FakeModel::start();
    let one = |terms: &mut ReviewOptions| terms.budget.llm_calls = 1;
    let stage = ValidationScene::with(&model, TestChange::new(SHOP), FINDINGS, one, Vec::new());
    model.script("validate-1", [report(&[stage.check("Tax", "confirmed")])]);
    let validated = stage.validated(&[]).await;
    assert_eq!(validated.judgements[&stage.key("Tax")].result, JudgementResult::Confirmed);
}

#[tokio::test]
async fn cancelled_review_validates_nothing() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    stage.context.journal.cancel().cancel();
    let validated = stage.validated(&[]).await;
    assert_eq!(validated.notes, ["2 P0 or P1 not validated: the review was stopped"]);
    assert!(validated.judgements.is_empty() && validated.runs.is_empty());
}

#[tokio::test]
async fn earlier_validations_are_reused() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    model.script("validate-1", [report(&[stage.check("Tax", "refuted")])]);
    let first = stage.validated(&[]).await;
    let again = FakeModel::start();
    let earlier = first.runs.clone();
    let resumed =
        ValidationScene::with(&again, TestChange::new(SHOP), FINDINGS, |_| {}, earlier.clone());
    assert_eq!(resumed.validated(&[]).await, first);
    // Other issues form another batch, and a failed batch is repeated.
    let fewer: String = FINDINGS.lines().take(3).map(|row| format!("{row}\n")).collect();
    let other =
        ValidationScene::with(&again, TestChange::new(SHOP), &fewer, |_| {}, earlier.clone());
    again.script("validate-1", [report(&[])]);
    assert_ne!(other.validated(&[]).await, first);
    let mut failed = earlier;
    failed[0].ended = RunEnd::Failed("it hung up".to_owned());
    let retried = ValidationScene::with(&again, TestChange::new(SHOP), FINDINGS, |_| {}, failed);
    again.script("validate-1", [report(&[])]);
    assert_ne!(retried.validated(&[]).await, first);
}

#[tokio::test]
async fn settled_issues_are_not_validated_again() {
    let model = FakeModel::start();
    let stage = ValidationScene::new(&model, SHOP, FINDINGS);
    let checked = |title: &str, result| {
        let issue = stage.merged.issues.iter().find(|issue| issue.title.contains(title)).unwrap();
        let judgement = Judgement::new(result, "looked again".to_owned());
        CheckedFinding { finding: issue.members[0].finding.clone(), judgement }
    };
    let checked = [
        checked("Tax", JudgementResult::Confirmed),
        checked("price` fails", JudgementResult::Refuted),
    ];
    let lower = stage.check("discount", "confirmed");
    model.script("validate-1", [report(&[lower])]);
    let validated = stage.validated(&checked).await;
    expect![[r#"
        P0 0.90 confirmed Tax is added twice
        P2 0.70 confirmed A discount below zero raises the price
        refuted: `price` fails without an order -- looked again
        validate-1 Completed None
    "#]]
    .assert_eq(&stage.render(&validated));
}

#[tokio::test]
async fn without_repository_the_validator_sees_the_diff() {
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n def f():\n-    return old_value(1)\n+    return new_value(1)\n # end\n";
    let model = FakeModel::start();
    let findings = r#"a a.py:2 P1 0.9 "Wrong value" quote="return new_value(1)""#;
    let stage =
        ValidationScene::with(&model, TestChange::from_diff(diff), findings, |_| {}, Vec::new());
    model.script("validate-1", [report(&[stage.check("Wrong", "confirmed")])]);
    stage.validated(&[]).await;
    let body = model.requests()[0].body.to_string();
    let rows = [
        r"    1   def f():",
        r"    2  -    return old_value(1)",
        r"    2  +    return new_value(1)",
    ];
    for row in rows {
        assert!(body.contains(row), "{row}");
    }
}
