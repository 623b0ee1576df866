//! The judge of an evaluation, against a fake model over HTTP.

use expect_test::{Expect, expect};
use serde_json::json;

use crh_llm::{Abilities, Endpoint, Live, Model, ModelFacts, Money, Network, Price, Rates, Wire};
use crh_pipeline::judge::{Judge, Question, Verdict};
use crh_review::eval::{Expected, Reported, Span};
use crh_review::finding::{Category, Severity, Side};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Scripted, bad_key, calls, says, says_nothing};

fn span(line: u32) -> Span {
    Span::new("a.py", line, line, Side::New).unwrap()
}

/// A question of two defects and two reports.
fn question(number: usize) -> Question {
    let expected = [1, 2].map(|line| Expected {
        spans: vec![span(line)],
        category: Category::Bug,
        severity: Severity::P1,
        description: format!("Line {line} is wrong."),
        keywords: Vec::new(),
        omission: false,
        on_twin: Vec::new(),
    });
    let reported = [1, 2].map(|line| Reported {
        span: span(line),
        title: format!("Mistake in line {line} of {number}"),
        text: String::new(),
        evidence: String::new(),
        category: None,
        severity: None,
        confidence: None,
        key: String::new(),
        reviewers: Vec::new(),
    });
    Question::new(number, &expected, &reported).unwrap()
}

fn judge(model: &FakeModel) -> Judge {
    let token = Money::cents(100).per_million();
    let rates = Rates { input: token, output: token, ..Rates::default() };
    let price = Price { rates, long: None };
    let facts = ModelFacts {
        context: 100_000,
        max_output: 10_000,
        price: Some(price),
        abilities: Abilities { tools: true, schema: true },
    };
    let endpoint = Endpoint {
        wire: Wire::OpenAiChat,
        url: model.url().parse().unwrap(),
        key: None,
        model: "fake".to_owned(),
    };
    let live = Live::new(endpoint, &Network::default()).unwrap();
    let model = Model::live("openai:fake", facts, live);
    Judge { model, money: Money::cents(100), side_by_side: 2, seed: 7 }
}

/// Every verdict on so many questions, in their order.
async fn verdicts(judge: &Judge, questions: usize) -> Vec<Verdict> {
    let mut verdicts = vec![None; questions];
    let all = (1..=questions).map(question).collect();
    judge.ask(all, |at, verdict| verdicts[at] = Some(verdict)).await;
    verdicts.into_iter().map(Option::unwrap).collect()
}

async fn check(judge: &Judge, questions: usize, expected: Expect) {
    let shown = |verdict: &Verdict| match &verdict.pairs {
        Ok(pairs) => format!("{pairs:?}\n"),
        Err(why) => format!("{why}\n"),
    };
    expected.assert_eq(&verdicts(judge, questions).await.iter().map(shown).collect::<String>());
}

fn answers(pairs: &[(u32, u32)]) -> Scripted {
    let pairs = pairs.iter().map(|(defect, report)| json!({ "defect": defect, "report": report }));
    calls("report_pairs", json!({ "pairs": pairs.collect::<Vec<_>>() }))
}

#[tokio::test]
async fn each_question_is_one_call_and_one_that_fails_leaves_the_others() {
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
async fn the_answer_is_all_that_it_can_call() {
    let model = FakeModel::start().on("judge-1", [answers(&[])]);
    verdicts(&judge(&model), 1).await;
    let body = &model.requests()[0].body;
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(body["tools"][0]["function"]["name"], "report_pairs");
}

#[tokio::test]
async fn a_number_that_is_not_there_is_repaired() {
    let model = FakeModel::start().on("judge-1", [answers(&[(1, 7)]), answers(&[(1, 2)])]);
    check(
        &judge(&model),
        1,
        expect![[r#"
        [(0, 1)]
    "#]],
    )
    .await;
    let told = model.requests()[1].body.to_string();
    assert!(told.contains("there is no report 7; they are numbered from 1 to 2"), "{told}");
}

#[tokio::test]
async fn one_that_talks_nonsense_or_says_nothing_is_given_up() {
    let nonsense = || answers(&[(9, 9)]);
    let model = FakeModel::start()
        .on("judge-1", [nonsense(), nonsense(), nonsense()])
        .on("judge-2", [says("All reports are wonderful."), says("All of them.")])
        .on("judge-3", [says_nothing(), says_nothing()])
        .on("judge-4", [answers(&[(2, 1)])]);
    check(&judge(&model), 4, expect![[r#"
        the model's answer was never of the right form: there is no defect 9; they are numbered from 1 to 2
        the model ended without an answer
        the model ended without an answer
        [(1, 0)]
    "#]]).await;
}

#[tokio::test]
async fn nothing_is_asked_that_could_cost_more_than_there_is() {
    let model = FakeModel::start();
    let judge = Judge { money: Money::dollars(0.0001).unwrap(), ..judge(&model) };
    check(
        &judge,
        2,
        expect![[r#"
        the budget for money left no room to ask
        the budget for money left no room to ask
    "#]],
    )
    .await;
}
