//! `crh eval run --judge`: a model matches reports with expected issues.

use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value, json};

use super::{BROKEN, Bench, CLEAN, TestCase, WRONG};
use crate::review::script::{answers, confirms, finding};
use crh_testkit::fake_model::{ScriptedReply, bad_request, calls};
use crh_testkit::{FakeModel, Output, Program};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(3_600);

/// Another file that no longer parses.
const HALVED: TestCase<'_> = TestCase {
    id: "python-halved",
    title: "Halve the price",
    base: &[("shop.py", "def price(item):\n    return item.price\n")],
    head: &[("shop.py", "def price(item):\n    return (item.price / 2\n")],
    labels: r#"
[[expected]]
file = "shop.py"
line_start = 2
category = "bug"
severity = "P0"
description = "The file does not parse: a bracket is never closed."
keywords = ["parse", "syntax"]
note = "import shop raises SyntaxError"
proved = "not run: it is plain to see"
"#,
};

/// A defect that only a model can find. Its twin puts the check back.
const UNCHECKED: TestCase<'_> = TestCase {
    labels: r#"
[[expected]]
file = "bill.py"
line_start = 2
category = "bug"
severity = "P1"
description = "An empty list of people is a division by zero."
keywords = ["zero", "empty"]
note = "share(10, []) raises ZeroDivisionError"
proved = "not run: it is plain to see"

[twin]
title = "Share the bill of no people"
body = ""
"#,
    ..WRONG
};

/// Answers with pairs of defect and report, by number.
fn judges(pairs: &[(u32, u32)]) -> ScriptedReply {
    let pairs = pairs.iter().map(|(defect, report)| json!({ "defect": defect, "report": report }));
    calls("report_pairs", json!({ "pairs": pairs.collect::<Vec<_>>() }))
}

/// Evaluates the suite and writes the result to the folder `out`.
fn program(bench: &Bench, model: &FakeModel, out: &str, args: &[&str]) -> Program {
    let judged = ["eval", "run", "suite", "--out", out, "--format", "markdown"];
    let args = [&judged, args].concat();
    let program = bench.crh(&args).env("OPENAI_API_KEY", "sk-not-a-real-key-0123456789");
    program.env("OPENAI_BASE_URL", &model.url())
}

/// Evaluates with static checks only, and with a judge.
fn run_with_judge(bench: &Bench, model: &FakeModel, out: &str, args: &[&str]) -> Output {
    let usual = ["--strategy", "static", "--judge", "openai:gpt-4.1-mini"];
    program(bench, model, out, &[&usual, args].concat()).run()
}

/// Summary of the judge, without the prompt hash and the cost.
fn judge_summary(stored: &Value) -> String {
    let judge = &stored["judged_by"];
    assert_eq!(judge["prompt"].as_str().map(str::len), Some(16));
    let agreement = &stored["scores"]["judge"];
    let count = |name: &str| agreement[name].as_u64().unwrap();
    format!(
        "{} by {}: {} of {} agreed, kappa {}, {} unanswered",
        stored["rule"].as_str().unwrap(),
        judge["model"].as_str().unwrap(),
        count("agreed"),
        count("pairs"),
        agreement["kappa"],
        judge["unanswered"],
    )
}

/// The judge's verdicts, one case per line.
fn verdicts(stored: &Value) -> String {
    let cases = stored["cases"].as_array().unwrap().iter();
    let case = |case: &Value| {
        let said = case["runs"][0].get("judged").map_or("not asked".to_owned(), Value::to_string);
        format!("{} {said}\n", case["labels"]["id"].as_str().unwrap())
    };
    cases.map(case).collect()
}

#[test]
fn judge_decides_cases_with_candidate_pairs() {
    let bench = Bench::new();
    let model = FakeModel::start().on("judge-1", [judges(&[])]);
    let output = run_with_judge(&bench, &model, "no", &[]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let stored = bench.stored("no");
    expect![[r#"
        python-broken []
        python-broken~twin not asked
        python-clean not asked
        python-wrong not asked
    "#]]
    .assert_eq(&verdicts(&stored));
    expect!["judge by openai:gpt-4.1-mini: 0 of 1 agreed, kappa 0.0, 0 unanswered"]
        .assert_eq(&judge_summary(&stored));
    assert_eq!(stored["scores"]["quality"]["matched"], 0);
    assert_eq!(stored["about"]["is_repeatable"], false);
    assert!(stored["judged_by"]["cost_usd"].as_f64().unwrap() > 0.0);

    model.script("judge-1", [judges(&[(1, 1)])]);
    let output = run_with_judge(&bench, &model, "yes", &["--fresh"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(bench.stored("yes")["scores"]["quality"]["matched"], 1);
}

#[test]
fn judge_also_matches_reports_on_twins() {
    let bench = Bench::with(&[UNCHECKED]);
    // The text rule would match both.
    let title = "An empty list is a division by zero";
    let said = ["return total / len(people)", "if not people:"]
        .map(|quote| answers(&[finding("P1", title, "bill.py:2", quote)]));
    let model = FakeModel::start()
        .on("single", said)
        .on("validate-1", [confirms(), confirms()])
        .on("judge-1", [judges(&[(1, 1)])])
        .on("judge-2", [judges(&[])]);
    let args = ["--strategy", "single", "--jobs", "1", "--judge", "openai:gpt-4.1-mini"];
    let output = program(&bench, &model, "out", &args).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let stored = bench.stored("out");
    assert_eq!(verdicts(&stored), "python-wrong [[0,0]]\npython-wrong~twin []\n");
    let paired = &stored["scores"]["paired"];
    assert_eq!((&paired["matched"], &paired["also_on_twin"]), (&json!(1), &json!(0)));
}

#[test]
fn judge_error_is_shown_without_api_keys() {
    let bench = Bench::with(&[BROKEN]);
    let key = "word-of-another-vendor-0123456789";
    let model = FakeModel::start().on("judge-1", [bad_request(format!("what is {key}?"))]);
    let args = ["--strategy", "static", "--judge", "openai:gpt-4.1-mini"];
    let output = program(&bench, &model, "out", &args).env("ANTHROPIC_API_KEY", key).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let said: Vec<&str> = output.stderr.lines().filter(|line| line.contains("what is")).collect();
    expect![[r#"
        python-broken                        not judged: the model rejected the request: what is [redacted]?
        warning: the judge did not answer 1 of 1 questions; these are matched by text instead: the model rejected the request: what is [redacted]?"#]].assert_eq(&said.join("\n"));
}

#[test]
fn interrupted_judging_resumes_with_stored_verdicts() {
    let bench = Bench::with(&[BROKEN, HALVED, CLEAN]);
    let model = FakeModel::start()
        .on("judge-1", [judges(&[(1, 1)])])
        .on("judge-2", [judges(&[]).delayed(NEVER)]);
    let args = ["--strategy", "static", "--judge", "openai:gpt-4.1-mini", "--side-by-side", "1"];
    let running = program(&bench, &model, "out", &args).start();
    model.wait_for("judge-2", 1);
    // Four reviews, including the twin's, and the first verdict.
    let is_whole = |row: &std::fs::DirEntry| row.path().extension().is_some_and(|it| it == "json");
    let kept = || {
        let rows = std::fs::read_dir(bench.path("store/eval-rows")).unwrap();
        rows.filter(|row| is_whole(row.as_ref().unwrap())).count()
    };
    let began = Instant::now();
    while kept() < 5 {
        assert!(began.elapsed() < Duration::from_secs(60), "the first verdict is not kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.interrupt();
    assert_eq!(running.end().code, 130);
    assert!(!bench.path("out/eval.json").exists());

    model.script("judge-2", [judges(&[(1, 1)])]);
    let output = program(&bench, &model, "out", &args).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    expect!["judge by openai:gpt-4.1-mini: 2 of 2 agreed, kappa null, 0 unanswered"]
        .assert_eq(&judge_summary(&bench.stored("out")));
    assert_eq!(model.requests().iter().filter(|asked| asked.caller == "judge-1").count(), 1);
}

#[test]
fn unusable_judge_is_refused_before_reviewing() {
    let bench = Bench::with(&[CLEAN]);
    let refused = |judge: &str, more: &[&str]| {
        let output = bench.run_static("out", &[&["--judge", judge], more].concat());
        assert_eq!(output.code, 2, "{}", output.stderr);
        output.stderr.replace(bench.path("").to_str().unwrap(), "HOME/")
    };
    expect![[r#"
        error: `--judge`: `gpt` has no `PROVIDER:` before the model; the providers are `openai`, `openai-responses`, `anthropic`, `gemini`, `openrouter`, `ollama`, `replay`
        hint: `crh model list` shows providers and models
    "#]].assert_eq(&refused("gpt", &[]));
    assert!(refused("replay:no-tape", &["--match", "text"]).contains("cannot be used with"));
}
