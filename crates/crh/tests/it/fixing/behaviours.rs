//! Models that behave as real ones do, in every mode: the report matches the tree, every finding has
//! one fate, and a review without an answer never passes. The strategies take turns, since `crh-pipeline` tests every
//! behaviour in each of them.

use std::sync::Arc;

use super::*;
use crh_testkit::fake_model::{BehavingModel, Behaviour};
use crh_testkit::runs_all_cases;

/// Reviews a checkout with a model of each behaviour. `first` is the index of the first strategy.
/// CI runs one of five, because `crh-pipeline` tries each behaviour with each strategy.
fn check(mode: &[&str], first: usize) {
    let strategies = ["single", "delegate", "panel"].into_iter().cycle().skip(first);
    let (skipped, step) = if runs_all_cases() { (0, 1) } else { (first, 5) };
    let cases = Behaviour::ALL.into_iter().zip(strategies);
    for (behaviour, strategy) in cases.skip(skipped).step_by(step) {
        let desk = Desk::new();
        let model = Arc::new(BehavingModel::new(behaviour, mean()));
        let answering = model.clone();
        let fake = FakeModel::answering(move |request| answering.answer(request));
        let args = [&["review", "--strategy", strategy, "--format", "json"], &CHECKOUT[..], mode];
        let output = desk.checked(with_model(desk.crh(&args.concat()), &fake));
        let what = format!("{mode:?} {strategy} {behaviour:?}: {}", output.shown());
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        model.assert_one_fate_each(&report, &what);
        let fixes = report["applied_fixes"].as_array().unwrap().len();
        let may_fix = matches!(mode, [_, "headless" | "autofix"]);
        assert_eq!(fixes > 0, may_fix && behaviour.answers(), "{what}");
        let is_open = report["issues"].as_array().unwrap().len() > fixes;
        let is_green = report["verdict"] == "Ready to merge";
        assert!(!is_green || fixes > 0 && !is_open, "{what}");
        // Delegating one of three files leaves the others unreviewed, too.
        assert!(output.code >= 3 || behaviour.answers(), "{what}");
    }
}

#[test]
fn review_without_a_terminal_handles_every_behaviour() {
    check(&[], 0);
}

#[test]
fn report_only_handles_every_behaviour() {
    check(&["--mode", "report-only"], 1);
}

#[test]
fn headless_handles_every_behaviour() {
    check(&["--mode", "headless"], 2);
}

#[test]
fn autofix_handles_every_behaviour() {
    check(&["--mode", "autofix"], 3);
}
