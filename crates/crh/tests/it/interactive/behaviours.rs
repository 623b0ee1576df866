//! Models that behave as real ones do, with questions: the report matches the tree, every finding has
//! one fate, and a review without an answer never passes.

use std::sync::Arc;

use super::*;
use crh_testkit::fake_model::{BehavingModel, Behaviour};
use crh_testkit::runs_all_cases;

/// Reviews a checkout with a model of each behaviour and lets crh fix what it found. CI runs one
/// of three, because `crh-pipeline` tries each behaviour with each strategy.
#[test]
fn interactive_review_handles_every_behaviour() {
    let strategies = ["single", "delegate", "panel"].into_iter().cycle();
    let (skipped, step) = if runs_all_cases() { (0, 1) } else { (1, 3) };
    for (behaviour, strategy) in
        Behaviour::ALL.into_iter().zip(strategies).skip(skipped).step_by(step)
    {
        let model = Arc::new(BehavingModel::new(behaviour, gated()));
        let answering = model.clone();
        let fake = FakeModel::answering(move |request| answering.answer(request));
        let mut scene = Scene::of(fake, Repo::from_fixture(SHOP));
        let args = ["review", "--base", "base", "--no-pr", "--strategy", strategy];
        scene.starts(scene.crh(&args), USUAL);
        if behaviour.answers() {
            scene.sees_question("(D)").types("b");
            scene.sees("Should the agent do this?").types("1");
            scene.sees("What should happen next?").types("2");
        }
        let TerminalOutput { code, full_output: paper, is_restored, .. } =
            scene.terminal.take().unwrap().end();
        let what = format!("{strategy} {behaviour:?}: exit {code}: {paper}");
        scene.tree.take().unwrap().assert_reported(&scene.repo, &what);
        let report = std::fs::read(scene.run().join("review.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        model.assert_one_fate_each(&report, &what);
        let fixes = report["applied_fixes"].as_array().unwrap().len();
        assert_eq!((fixes > 0, is_restored), (behaviour.answers(), true), "{what}");
        assert!(report["verdict"] != "Ready to merge" || fixes > 0, "{what}");
        assert!(code >= 3 || behaviour.answers(), "{what}");
    }
}
