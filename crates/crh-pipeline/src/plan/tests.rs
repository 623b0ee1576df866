//! Tests of plans, parts of large files and estimates.

use expect_test::{Expect, expect};
use proptest::prelude::{prop, prop_assert, prop_assert_eq};
use proptest::proptest;

use super::parts::{PART_CHARS, parts_of, split_diff};
use super::*;
use crate::assignment::{Assignment, is_static};
use crate::checks::ChangeOrigin;
use crate::context;
use crate::prompts::sample;
use crate::review_options::{ModelSet, ReviewOptions};
use crh_agent::Budget;
use crh_llm::{
    Abilities, Endpoint, Model, ModelFacts, Money, NetworkSettings, Price, Rates, VendorClient,
    Wire,
};
use crh_review::diff::Diff;

/// The plan of a change, whose static checks all have the same files.
fn check(diff: &str, strategy: Strategy, expected: Expect) {
    let (_folder, change) = sample::change_under_review(&sample::contents(diff));
    let context = match strategy {
        Strategy::Single => {
            let options = ReviewOptions { strategy, ..sample::options() };
            context::context_without_models(&change, &options, ChangeOrigin::default(), 1_000_000)
        }
        Strategy::Delegate | Strategy::Panel | Strategy::Static => PanelContext::default(),
    };
    let plan = plan(&change, strategy, &CheckOptions::default(), &context);
    let mut actual = String::new();
    let (checks, others): (Vec<&Assignment>, Vec<&Assignment>) =
        plan.assignments.iter().partition(|assignment| is_static(&assignment.name));
    assert!(checks.iter().all(|check| check.parts == checks[0].parts), "{checks:?}");
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    let expected_names =
        "secrets syntax references leftovers workflows consistency patterns injection";
    assert_eq!(names.join(" "), expected_names);
    assert_eq!(plan.assignments[..checks.len()].iter().collect::<Vec<_>>(), checks);
    for assignment in [checks[0]].into_iter().chain(others) {
        let paths: Vec<_> = assignment.parts.iter().map(|part| part.path.as_str()).collect();
        let row = format!("{} {} {}", assignment.name, paths.join(" "), assignment.why);
        actual.push_str(&format!("{}\n", row.trim_end()));
    }
    actual.push_str(&plan.notes.join("\n"));
    expected.assert_eq(&actual);
}

#[test]
fn static_checks_come_before_model_assignments() {
    check(
        sample::DIFF,
        Strategy::Single,
        expect![[r#"
            secrets shop/orders.py shop/test_new.py
            single shop/orders.py shop/test_new.py the strategy is `single`
        "#]],
    );
    check(
        sample::DIFF,
        Strategy::Delegate,
        expect![[r#"
            secrets shop/orders.py shop/test_new.py
            orchestrator shop/orders.py shop/test_new.py the strategy is `delegate`
        "#]],
    );
    check(
        sample::DIFF,
        Strategy::Panel,
        expect![[r#"
            secrets shop/orders.py shop/test_new.py
        "#]],
    );
    check(
        sample::DIFF,
        Strategy::Static,
        expect![[r#"
            secrets shop/orders.py shop/test_new.py
        "#]],
    );
}

#[test]
fn empty_scope_plans_no_model() {
    check(
        "",
        Strategy::Delegate,
        expect![[r#"
            secrets
            no file is under review; no model is used"#]],
    );
}

#[test]
fn type_change_is_planned_once() {
    let diff = "\
diff --git a/config b/config
deleted file mode 100644
--- a/config
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/config b/config
new file mode 120000
--- /dev/null
+++ b/config
@@ -0,0 +1 @@
+src/a.rs
\\ No newline at end of file
";
    check(
        diff,
        Strategy::Single,
        expect![[r#"
            secrets config
            single config the strategy is `single`
        "#]],
    );
    let (_folder, change) = sample::change_under_review(&sample::contents(diff));
    assert_eq!(parts_of(&change, &["config".to_owned()]), [DiffPart::whole("config")]);
}

#[test]
fn large_file_is_split_between_hunks_if_possible() {
    // A line has some 55 characters: the second hunk does not fit beside the first, the third alone
    // is too large.
    let large = sample::file_of("large.rs", &[2_000, 1_500, 7_000, 10]);
    let diff = sample::files_of(&["a.rs"], 10) + &large + &sample::files_of(&["b.rs"], 10);
    let (_folder, change) = sample::change_under_review(&sample::contents(diff));
    let paths = ["b.rs", "large.rs", "nowhere.rs"].map(str::to_owned);
    let parts = parts_of(&change, &paths);
    let actual: String =
        parts.iter().map(|part| format!("{} {:?}\n", part.path, part.diff_lines)).collect();
    expect![[r#"
        large.rs Some((16, 2020))
        large.rs Some((2021, 3521))
        large.rs Some((3522, 6289))
        large.rs Some((6290, 9016))
        large.rs Some((9017, 10533))
        b.rs None
    "#]]
    .assert_eq(&actual);
    let (_, file) = change.file("large.rs").unwrap();
    let lines: Vec<&[u8]> = change.diff.numbered_lines().map(|(_, line)| line).collect();
    let mut next = file.first_line();
    for (first, last) in parts.iter().filter_map(|part| part.diff_lines) {
        assert_eq!(first, next, "no line is lost or given twice");
        next = last + 1;
        let size: usize =
            lines[first as usize - 1..last as usize].iter().map(|line| line.len()).sum();
        assert!(size <= PART_CHARS, "{size}");
    }
    assert!(lines[next as usize - 1].starts_with(b"diff --git a/b.rs"));
}

proptest! {
    #[test]
    fn pieces_cover_every_line_once_within_the_limit(
        hunks in prop::collection::vec(1..30_usize, 1..8), most in 1..2_000_usize
    ) {
        let diff = Diff::read(sample::file_of("a.rs", &hunks));
        let lines: Vec<usize> = diff.numbered_lines().map(|(_, line)| line.len()).collect();
        let mut next = 1;
        for (first, last) in split_diff(&diff, &diff.files()[0], most) {
            prop_assert_eq!(first, next);
            prop_assert!(first <= last);
            let size: usize = lines[first as usize - 1..last as usize].iter().sum();
            prop_assert!(size <= most || first == last, "{} in {}", size, first);
            next = last + 1;
        }
        prop_assert_eq!(next as usize, lines.len() + 1);
    }
}

fn model(name: &str, price: Option<Price>) -> Model {
    model_with_context(name, price, 200_000)
}

fn model_with_context(name: &str, price: Option<Price>, context: u64) -> Model {
    let url = "http://localhost:1/v1".parse().unwrap();
    let endpoint = Endpoint { wire: Wire::OpenAiChat, url, key: None, model: name.to_owned() };
    let abilities = Abilities { tools: true, schema: true, effort: false };
    let facts = ModelFacts { context, max_output: 10_000, price, abilities };
    Model::live(name, facts, VendorClient::new(endpoint, &NetworkSettings::default()).unwrap())
}

fn estimate_for(strategy: Strategy, price: Option<Price>) -> CostEstimate {
    estimate_with(strategy, model("openai:fake", price), sample::options())
}

fn estimate_with_calls(strategy: Strategy, llm_calls: u32) -> CostEstimate {
    let mut options = sample::options();
    options.budget.llm_calls = llm_calls;
    estimate_with(strategy, model("openai:fake", paid()), options)
}

fn estimate_with(strategy: Strategy, model: Model, options: ReviewOptions) -> CostEstimate {
    estimate_with_models(strategy, &ModelSet::uniform(model), options)
}

fn estimate_with_models(
    strategy: Strategy,
    models: &ModelSet,
    options: ReviewOptions,
) -> CostEstimate {
    let (_folder, change) = sample::change_under_review(&sample::contents(sample::DIFF));
    let options = ReviewOptions { strategy, ..options };
    let panel_context = context::context_without_models(
        &change,
        &options,
        ChangeOrigin::default(),
        models.min_context(),
    );
    let plan = plan(&change, strategy, &CheckOptions::default(), &panel_context);
    estimate(&plan, &change, models, &options, &panel_context)
}

fn paid() -> Option<Price> {
    let input = Money::cents(200).per_million();
    let rates = Rates { input, cache_read: input, cache_write: input, output: input.times(4) };
    Some(Price { rates, long: None })
}

#[test]
fn panel_estimate_names_every_reviewers_model() {
    let estimate = estimate_for(Strategy::Panel, paid());
    let asks = |name: &str| {
        let row = estimate.assignments.iter().find(|it| it.name == name).unwrap();
        row.first_call.clone()
    };
    assert_eq!(asks("secrets"), None);
    let correctness = asks("correctness").unwrap();
    assert!((5_000..60_000).contains(&correctness.input_tokens), "{}", correctness.input_tokens);
    assert!(estimate.max_cost > Money::ZERO && estimate.llm_calls > 0);
    assert!(estimate.to_string().contains("may add reviewers"), "{estimate}");
}

#[test]
fn estimate_shows_plan_and_limits() {
    let estimate = estimate_for(Strategy::Delegate, paid());
    let asks = estimate.assignments.last().unwrap().first_call.clone().unwrap();
    let expected = paid().unwrap().worst_case(asks.input_tokens, 3_000);
    assert_eq!(asks.max_call_cost, Some(expected));
    assert!((5_000..60_000).contains(&asks.input_tokens), "{}", asks.input_tokens);
    let actual = estimate.to_string().replace(&asks.input_tokens.to_string(), "N");
    let actual = actual.replace(&estimate.likely_cost.to_string(), "Y");
    let expected = asks.likely_cost.unwrap();
    expect![[r#"
        secrets       2 files, no model
        syntax        2 files, no model
        references    2 files, no model
        leftovers     2 files, no model
        workflows     2 files, no model
        consistency   2 files, no model
        patterns      2 files, no model
        injection     2 files, no model
        orchestrator  2 files, openai:fake: first call at most N tokens, all calls about X
        note: the orchestrator decides how many sub-agents run; the limits cover all of them
        expected cost: Y for all calls, including those that select and check findings
        limits: 2.0000 USD, 200 model calls, 4000000 input tokens; crh reserves 0.4000 USD for the final answers of reviewers and for checking findings
    "#]].assert_eq(&actual.replace(&expected.to_string(), "X"));
}

#[test]
fn estimate_of_free_models_shows_no_money() {
    let estimate = estimate_for(Strategy::Single, Some(Price::free()));
    let text = estimate.to_string();
    let expected = "limits: 200 model calls, 4000000 input tokens; the calls are free\n";
    assert!(text.ends_with(expected) && !text.contains("USD"), "{text}");
}

#[test]
fn estimate_names_reviewers_that_do_not_fit() {
    let mut estimate = estimate_for(Strategy::Panel, paid());
    assert!(estimate.assignments.iter().all(|planned| planned.shortfall.is_none()), "{estimate}");
    let models = ModelSet::uniform(model("openai:fake", paid()));
    let first = estimate.assignments.iter().find_map(|it| it.first_call.clone()).unwrap();
    // After the held-back fifth, the money is enough for one reviewer.
    let money = first.max_call_cost.unwrap().percent(126);
    let budget = Budget { money, ..sample::options().budget.ledger_budget() };
    estimate::find_shortfalls(&mut estimate.assignments, &models, budget);
    let asking = estimate.assignments.iter().filter(|planned| planned.first_call.is_some());
    let skipped: Vec<bool> = asking.map(|planned| planned.shortfall.is_some()).collect();
    assert!(!skipped[0] && skipped.last() == Some(&true), "{estimate}");
    assert!(estimate.to_string().contains(" left; raise `--max-cost`\n"), "{estimate}");
}

#[test]
fn skipped_reviewer_has_no_cost_in_the_estimate() {
    let mut estimate = estimate_for(Strategy::Delegate, paid());
    let models = ModelSet::uniform(model("openai:fake", paid()));
    let budget = Budget { money: Money::cents(1), ..sample::options().budget.ledger_budget() };
    estimate::find_shortfalls(&mut estimate.assignments, &models, budget);
    estimate.likely_cost = Money::ZERO;
    let text = estimate.to_string();
    let row = text.lines().find(|line| line.starts_with("orchestrator")).unwrap();
    assert!(!row.contains("about"), "{row}");
    assert!(row.ends_with(" USD, 0.0080 USD left; raise `--max-cost`"), "{row}");
    let expected = "expected cost: 0.0000 USD (the budget is too small for any reviewer)\nlimits: ";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn estimate_counts_only_calls_that_are_allowed() {
    let many = estimate_with_calls(Strategy::Panel, 200);
    let reviewers = many.assignments.iter().filter(|it| it.first_call.is_some()).count();
    assert!(reviewers > 1, "{many}");
    let one = estimate_with_calls(Strategy::Panel, 1);
    let skipped = one.assignments.iter().filter(|it| it.shortfall.is_some()).count();
    assert_eq!(skipped, reviewers - 1, "{one}");
    let text = one.to_string();
    assert!(
        text.contains(
            "; skipped: the reviewers above use up 1 model call; raise `--max-llm-calls`"
        )
    );
    assert!(text.contains(", 1 model call, 4000000 input tokens; "), "{text}");
    // No call is left for the editor and for validation.
    let first_call = one.assignments.iter().find_map(|it| it.first_call.as_ref()).unwrap();
    assert_eq!(Some(one.likely_cost), first_call.likely_cost);
}

#[test]
fn estimate_as_json_is_in_dollars() {
    let estimate = estimate_for(Strategy::Delegate, paid());
    let json = serde_json::to_value(&estimate).unwrap();
    assert_eq!(json["max_cost_usd"], 2.0);
    assert_eq!(json["assignments"][0]["first_call"], serde_json::Value::Null);
    let asks = estimate.assignments.last().unwrap().first_call.as_ref().unwrap();
    let likely_cost = &json["assignments"][8]["first_call"]["likely_cost_usd"];
    let expected = asks.likely_cost.unwrap().as_dollars();
    assert!((likely_cost.as_f64().unwrap() - expected).abs() < 1e-6, "{json}");
}

#[test]
fn estimate_warns_if_the_context_is_too_small() {
    let notes = |strategy, context| {
        let model = model_with_context("openai:fake", Some(Price::free()), context);
        let estimate = estimate_with(strategy, model, sample::options());
        estimate.notes.into_iter().filter(|note| note.contains("context")).collect::<Vec<_>>()
    };
    for strategy in [Strategy::Single, Strategy::Panel, Strategy::Delegate] {
        let [note] = notes(strategy, 2_048).try_into().unwrap();
        assert!(note.starts_with("`openai:fake` cannot review this change: the request needs"));
        assert!(note.contains("the model's context has 2048; start the model server"), "{note}");
        assert_eq!(notes(strategy, 32_768), [""; 0]);
    }
}

#[test]
fn estimate_names_the_model_of_each_run_that_does_not_fit() {
    let model = |name: &str, context| model_with_context(name, Some(Price::free()), context);
    let reviewer = model("openai:mid", 2_048);
    let models =
        ModelSet { escalation: model("openai:strong", 2_000), ..ModelSet::uniform(reviewer) };
    let notes = estimate_with_models(Strategy::Panel, &models, sample::options()).notes;
    for (name, context) in [("openai:mid", 2_048), ("openai:strong", 2_000)] {
        let start = format!("`{name}` cannot review this change: the request needs");
        let has_context = format!("the model's context has {context}; ");
        let is_note = |note: &&String| note.starts_with(&start) && note.contains(&has_context);
        assert_eq!(notes.iter().filter(is_note).count(), 1, "{name}: {notes:?}");
    }
}

/// The plan and estimate of `single` for a change of 64 files, about 60,000 tokens.
fn estimate_of_large_change(context: u64) -> CostEstimate {
    let names: Vec<String> = (0..64).map(|number| format!("file_{number}.rs")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let contents = sample::contents(sample::files_of(&names, 50));
    let (_folder, change) = sample::change_under_review(&contents);
    let models = ModelSet::uniform(model_with_context("openai:fake", paid(), context));
    let options = ReviewOptions { strategy: Strategy::Single, ..sample::options() };
    let origin = ChangeOrigin::default();
    let panel_context = context::context_without_models(&change, &options, origin, context);
    let plan = plan(&change, options.strategy, &CheckOptions::default(), &panel_context);
    estimate(&plan, &change, &models, &options, &panel_context)
}

#[test]
fn parts_of_a_large_change_fill_the_context() {
    for (context, max_parts) in [(16_384, 22), (20_000, 16), (32_768, 9), (65_536, 3)] {
        let CostEstimate { assignments, notes, .. } = estimate_of_large_change(context);
        let parts = assignments.iter().filter(|planned| planned.first_call.is_some()).count();
        assert!((2..=max_parts).contains(&parts), "{context}: {parts}");
        assert!(!notes.iter().any(|note| note.contains("cannot review")), "{context}: {notes:?}");
    }
}

#[test]
fn estimate_shows_no_more_tokens_than_the_context_allows() {
    let estimate = estimate_of_large_change(16_384);
    let first_calls = estimate.assignments.iter().filter_map(|planned| planned.first_call.as_ref());
    let tokens: Vec<u64> = first_calls.map(|first_call| first_call.input_tokens).collect();
    // An eighth of the context is for the answer.
    assert!(!tokens.is_empty() && tokens.iter().all(|count| *count == 14_336), "{tokens:?}");
}

#[test]
fn free_models_and_static_checks_cost_nothing() {
    let nothing = |estimate: &CostEstimate| {
        (estimate.max_cost, estimate.reserved_cost) == (Money::ZERO, Money::ZERO)
    };
    assert!(nothing(&estimate_for(Strategy::Delegate, Some(Price::free()))));
    let checks = estimate_for(Strategy::Static, paid());
    assert!(nothing(&checks));
    assert_eq!(checks.llm_calls, 0);
    let unknown = estimate_for(Strategy::Single, None);
    assert_eq!(unknown.max_cost, Money::cents(200));
    assert!(unknown.to_string().contains("unknown cost"));
}
