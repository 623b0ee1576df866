//! Models that behave as real ones do, in every mode and strategy: the report matches the tree, and a
//! review without an answer never passes.

use std::sync::Arc;

use super::*;
use crh_testkit::fake_model::{BehavingModel, Behaviour};
use crh_testkit::runs_all_cases;

#[test]
fn every_mode_handles_real_model_behaviour() {
    let modes = [None, Some("report-only"), Some("headless"), Some("autofix")];
    let strategies = ["single", "delegate", "panel"];
    // Twelve combinations and twelve behaviours.
    let combinations = modes.iter().flat_map(|mode| strategies.map(|strategy| (*mode, strategy)));
    // `crh-pipeline` tries each behaviour with each strategy, so CI runs one of five.
    let step = if runs_all_cases() { 1 } else { 5 };
    for ((mode, strategy), behaviour) in combinations.zip(Behaviour::ALL).step_by(step) {
        let desk = Desk::new();
        let model = Arc::new(BehavingModel::new(behaviour, mean()));
        let answering = model.clone();
        let fake = FakeModel::answering(move |request| answering.answer(request));
        let mode_args: Vec<&str> = mode.iter().flat_map(|mode| ["--mode", mode]).collect();
        let args = [&["review", "--strategy", strategy, "--format", "json"], &CHECKOUT[..]];
        let args = [args.concat(), mode_args].concat();
        let output = desk.checked(with_model(desk.crh(&args), &fake));
        let what = format!("{mode:?} {strategy} {behaviour:?}: {}", output.shown());
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        let fixes = report["applied_fixes"].as_array().unwrap().len();
        let may_fix = matches!(mode, Some("headless" | "autofix"));
        assert_eq!(fixes > 0, may_fix && behaviour.answers(), "{what}");
        let is_open = report["issues"].as_array().unwrap().len() > fixes;
        let is_green = report["verdict"] == "Ready to merge";
        assert!(!is_green || fixes > 0 && !is_open, "{what}");
        // Delegating one of three files leaves the others unreviewed, too.
        assert!(output.code >= 3 || behaviour.answers(), "{what}");
    }
}
