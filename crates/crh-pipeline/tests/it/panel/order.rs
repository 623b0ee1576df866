//! The order in which reviewers finish does not matter.

use std::time::Duration;

use serde_json::json;

use super::scene::{CART, Scene, confirms, divides, finding, notes, reports, with_fields};
use crh_review::report::{Report, Stats};
use crh_review::{render, stable_json};
use crh_testkit::FakeModel;

const TEAM: [&str; 5] = ["correctness", "testing", "security", "performance", "agent-native"];

/// Delay of each reviewer in steps of a few milliseconds, and the concurrency.
const PACES: [([u64; 5], usize); 7] = [
    ([0, 0, 0, 0, 0], 5),
    ([0, 1, 2, 3, 4], 5),
    ([4, 3, 2, 1, 0], 5),
    ([2, 4, 0, 3, 1], 5),
    ([3, 0, 4, 1, 2], 2),
    ([1, 3, 0, 2, 4], 2),
    ([0, 0, 0, 0, 0], 1),
];
const STEP: Duration = Duration::from_millis(30);

/// Everything that a panel can return: agreement, disagreement, a pair, a weak remark, a surplus
/// finding, notes.
fn model(pace: [u64; 5]) -> FakeModel {
    let name = |severity: &str, confidence: f64| {
        finding(
            severity,
            confidence,
            "A name may be missing",
            "shop/cart.py:8",
            "return name.strip()",
        )
    };
    let said = [
        reports(&[divides("P1", 0.8, "An empty order divides by zero"), name("P2", 0.55)]),
        reports(&[with_fields(
            divides("P2", 0.65, "No test for an empty order"),
            json!({ "category": "testing" }),
        )]),
        reports(&[
            with_fields(
                divides("P0", 0.6, "Anybody can stop the server"),
                json!({ "category": "security" }),
            ),
            divides("P2", 0.8, "Division by zero for an order without lines"),
            name("P3", 0.5),
        ]),
        reports(&[with_fields(
            finding("P2", 0.7, "The list is read twice", "shop/cart.py:2", "count = len(lines)"),
            json!({ "category": "performance" }),
        )]),
        notes(&["Agents cannot ask for an average."]),
    ];
    let model = FakeModel::start();
    let team = TEAM.into_iter().zip(said).zip(pace);
    let model = team.fold(model, |model, ((name, said), steps)| {
        model.on(name, [said.delayed(STEP * u32::try_from(steps).unwrap())])
    });
    model.on("validate-1", [confirms()])
}

/// The report without times and cache statistics.
fn without_times(report: Report) -> Report {
    Report { stats: Stats::default(), ..report }
}

#[tokio::test]
async fn report_is_independent_of_return_order() {
    let mut first: Option<[String; 4]> = None;
    for (pace, side_by_side) in PACES {
        let scene = Scene::new(CART)
            .with_reviewers(&TEAM)
            .with_change(|scene| scene.terms.max_parallel = side_by_side);
        let report = without_times(scene.review(&model(pace)).await.report);
        assert_eq!(report.issues.len(), 5, "{report:#?}");
        let bytes = [
            stable_json(&report).unwrap(),
            render::markdown(&report),
            render::envelope(&report),
            render::sarif(&report).unwrap(),
        ];
        match &first {
            None => first = Some(bytes),
            Some(first) => {
                for (first, bytes) in first.iter().zip(&bytes) {
                    assert!(first == bytes, "{pace:?} {side_by_side}:\n{first}\n\n{bytes}");
                }
            }
        }
    }
}
