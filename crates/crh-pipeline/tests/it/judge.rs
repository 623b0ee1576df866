//! The judge of evaluations, against a fake model over HTTP.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::test_change::fake_model;
use crh_llm::{Money, Price, Rates};
use crh_pipeline::judge::{EvalJudge, JudgeAnswer, JudgeQuestion};
use crh_review::eval::{Expected, Reported, Span};
use crh_review::finding::{Category, Severity, Side};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, bad_key, calls, says, says_nothing};

fn span(line: u32) -> Span {
    Span::new("a.py", line, line, Side::New).unwrap()
}

/// A question with two defects and two reports.
fn question(number: usize) -> JudgeQuestion {
    let expected = [1, 2].map(|line| Expected {
        spans: vec![span(line)],
        category: Some(Category::Bug),
        severity: Severity::P1,
        description: format!("Line {line} is wrong."),
        keywords: Vec::new(),
        omission: false,
        on_twin: Vec::new(),
    });
    let reported = [1, 2].map(|line| Reported {
        span: span(line),
        also: Vec::new(),
        title: format!("Mistake in line {line} of {number}"),
        text: String::new(),
        evidence: String::new(),
        category: None,
        severity: None,
        confidence: None,
        key: String::new(),
        reviewers: Vec::new(),
    });
    JudgeQuestion::new(number, &expected, &reported).unwrap()
}

fn judge(model: &FakeModel) -> EvalJudge {
    let token = Money::cents(100).per_million();
    let rates = Rates { input: token, output: token, ..Rates::default() };
    let price = Price { rates, long: None };
    let model = fake_model(model, "fake", 100_000, 10_000, Some(price));
    EvalJudge { model, money: Money::cents(100), max_parallel: 2, retry_seed: 7 }
}

/// Verdicts on a number of questions, in order.
async fn verdicts(judge: &EvalJudge, questions: usize) -> Vec<JudgeAnswer> {
    let mut verdicts = vec![None; questions];
    let all = (1..=questions).map(question).collect();
    judge.ask(all, |at, verdict| verdicts[at] = Some(verdict)).await;
    verdicts.into_iter().map(Option::unwrap).collect()
}

async fn check(judge: &EvalJudge, questions: usize, expected: Expect) {
    let verdict_text = |verdict: &JudgeAnswer| match &verdict.pairs {
        Ok(pairs) => format!("{pairs:?}\n"),
        Err(why) => format!("{why}\n"),
    };
    expected
        .assert_eq(&verdicts(judge, questions).await.iter().map(verdict_text).collect::<String>());
}

fn answers(pairs: &[(u32, u32)]) -> ScriptedReply {
    let pairs = pairs.iter().map(|(defect, report)| json!({ "defect": defect, "report": report }));
    calls("report_pairs", json!({ "pairs": pairs.collect::<Vec<_>>() }))
}

#[tokio::test]
async fn failed_question_does_not_affect_the_others() {
    let model = FakeModel::start()
        .on("judge-1", [answers(&[(1, 1), (2, 2)])])
        .on("judge-2", [bad_key()])
        .on("judge-3", [answers(&[])]);
    let verdicts = verdicts(&judge(&model), 3).await;
    assert_eq!(verdicts[0].pairs, Ok(vec![(0, 0), (1, 1)]));
    assert!(verdicts[1].pairs.is_err());
    assert_eq!(verdicts[2].pairs, Ok(Vec::new()));
    assert_eq!(model.requests().len(), 3);
    assert!(verdicts[0].cost > Money::ZERO);
    assert_eq!(verdicts[1].cost, Money::ZERO);
}

#[tokio::test]
async fn judge_can_call_only_the_answer_tool() {
    let model = FakeModel::start().on("judge-1", [answers(&[])]);
    verdicts(&judge(&model), 1).await;
    let body = &model.requests()[0].body;
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(body["tools"][0]["function"]["name"], "report_pairs");
}

#[tokio::test]
async fn unknown_number_is_sent_back() {
    let model = FakeModel::start().on("judge-1", [answers(&[(1, 7)]), answers(&[(1, 2)])]);
    check(
        &judge(&model),
        1,
        expect![[r#"
        [(0, 1)]
    "#]],
    )
    .await;
    let messages = model.requests()[1].body.to_string();
    assert!(messages.contains("there is no report 7; they are numbered from 1 to 2"), "{messages}");
}

#[tokio::test]
async fn invalid_answers_are_given_up() {
    let nonsense = || answers(&[(9, 9)]);
    let model = FakeModel::start()
        .on("judge-1", [nonsense(), nonsense(), nonsense()])
        .on("judge-2", [says("All reports are wonderful."), says("All of them.")])
        .on("judge-3", [says_nothing(), says_nothing()])
        .on("judge-4", [answers(&[(2, 1)])]);
    check(
        &judge(&model),
        4,
        expect![[r#"
        the model's answer was invalid: there is no defect 9; they are numbered from 1 to 2
        the model did not submit an answer
        the model did not submit an answer
        [(1, 0)]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn question_over_budget_is_not_sent() {
    let model = FakeModel::start();
    let judge = EvalJudge { money: Money::dollars(0.0001).unwrap(), ..judge(&model) };
    check(
        &judge,
        2,
        expect![[r#"
            skipped: may cost $0.01, $0.00 left; raise --max-cost
            skipped: may cost $0.01, $0.00 left; raise --max-cost
        "#]],
    )
    .await;
}
