//! Models that behave as real ones do, in every strategy: every finding has one fate, a finding in an
//! unusual form is reported, and a review without an answer never passes.

use std::sync::Arc;

use crate::panel::scene::{CART, Scene, divides, render};
use crh_review::report::Strategy;
use crh_review::verdict::{CommandKind, Verdict, is_incomplete};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{BehavingModel, Behaviour};

/// The change under review. A cut prompt must be longer than what the server reads.
fn fixture(behaviour: Behaviour) -> String {
    let line = |number: u32| format!("    name_{number} = label(line_{number})\n");
    match behaviour {
        Behaviour::TruncatedPrompt => {
            format!("{CART}{}", (1..=300).map(line).collect::<String>())
        }
        _ => CART.to_owned(),
    }
}

async fn check(strategy: Strategy, behaviour: Behaviour) {
    let model = Arc::new(BehavingModel::new(behaviour, divides("P1", 0.9, "No line, no mean")));
    let answering = model.clone();
    let fake = FakeModel::answering(move |request| answering.answer(request));
    let scene =
        Scene::new(&fixture(behaviour)).with_change(|scene| scene.terms.strategy = strategy);
    let report = Box::pin(scene.review(&fake)).await.report;
    let what = format!("{strategy:?}, {behaviour:?}:\n{}", render(&report));
    model.assert_one_fate_each(&serde_json::to_value(&report).unwrap(), &what);
    assert_ne!(report.verdict, Verdict::ReadyToMerge, "{what}");
    match behaviour.answers() {
        true => {
            let issue = report.issues.first().unwrap_or_else(|| panic!("no issue in {what}"));
            assert_eq!(issue.location.to_string(), "shop/cart.py:3", "{what}");
        }
        false => {
            assert!(report.issues.is_empty(), "{what}");
            assert!(is_incomplete(&report, CommandKind::Review), "{what}");
        }
    }
}

#[tokio::test]
async fn single_handles_every_behaviour() {
    for behaviour in Behaviour::ALL {
        check(Strategy::Single, behaviour).await;
    }
}

#[tokio::test]
async fn delegate_handles_every_behaviour() {
    for behaviour in Behaviour::ALL {
        check(Strategy::Delegate, behaviour).await;
    }
}

#[tokio::test]
async fn panel_handles_every_behaviour() {
    for behaviour in Behaviour::ALL {
        check(Strategy::Panel, behaviour).await;
    }
}
