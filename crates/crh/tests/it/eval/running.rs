//! `crh eval run`: each case is reviewed once, also after an interruption.

use std::fs;
use std::time::Duration;

use expect_test::expect;
use serde_json::Value;

use super::{Bench, CLEAN, WRONG, json};
use crate::review::script::{answers, confirms, finding};
use crate::review::with_model;
use crh_testkit::{FakeModel, Program};

/// Progress rows, sorted: cases end in any order.
fn rows(stderr: &str) -> String {
    let rows = stderr.lines().filter(|line| line.starts_with("python-"));
    let mut rows: Vec<&str> = rows.map(|line| line.split(" · ").next().unwrap()).collect();
    rows.sort_unstable();
    rows.join("\n")
}

#[test]
fn suite_is_reviewed_scored_and_stored() {
    let bench = Bench::new();
    let output = bench.run_static("out", &["--format", "json"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    expect![[r#"
        python-broken                        1 of 1 found
        python-broken~twin                   nothing reported, as expected
        python-clean                         nothing reported, as expected
        python-wrong                         0 of 1 found"#]]
    .assert_eq(&rows(&output.stderr));
    let printed: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(printed, bench.stored("out"));
    let quality = &printed["scores"]["quality"];
    assert_eq!(quality["precision"]["value"], 1.0);
    assert_eq!(quality["recall"]["value"], 0.5);
    assert_eq!(printed["scores"]["paired"]["recall"]["value"], 1.0);
    let baselines = printed["baselines"].as_array().unwrap();
    let names: Vec<_> = baselines.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["reports nothing", "reports every hunk", "reports 3 random lines"]);
    assert!(fs::read_to_string(bench.path("out/eval.html")).unwrap().contains("python-broken"));
    assert!(fs::read_to_string(bench.path("out/eval.md")).unwrap().contains("every hunk"));
    let report = json(&bench.path("out/reports/python-broken-1.json"));
    assert_eq!(report["issues"][0]["file"], "shop.py");
}

#[test]
fn case_option_selects_ids_with_their_twins() {
    let bench = Bench::new();
    let output = bench.run_static("out", &["--case", "*-broken", "--case", "python-cl*"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(rows(&output.stderr).lines().count(), 3);
    // A twin is selected together with its case; a result with twins alone would be invalid.
    let output = bench.run_static("twin", &["--case", "*~twin"]);
    assert_eq!(rows(&output.stderr).lines().count(), 2, "{}", output.stderr);
    assert_eq!(bench.crh(&["eval", "show", "twin"]).run().code, 0);
    let output = bench.run_static("none", &["--case", "ruby-*"]);
    assert_eq!(output.code, 2);
    expect![[r#"
        error: no case id matches
        hint: remove `--case` to use all cases
    "#]]
    .assert_eq(&output.stderr);
}

/// A model that reports the division by zero and nothing else.
fn zero_division_model() -> FakeModel {
    FakeModel::answering(|asked| {
        if asked.caller.starts_with("validate") {
            return confirms();
        }
        let is_about_it = asked.body.to_string().contains("return total / len(people)");
        let zero = finding(
            "P1",
            "An empty list of people is a division by zero",
            "bill.py:2",
            "return total / len(people)",
        );
        answers(if is_about_it { std::slice::from_ref(&zero) } else { &[] })
    })
}

const SINGLE: [&str; 7] = ["eval", "run", "suite", "--strategy", "single", "--jobs", "1"];

fn run_single(bench: &Bench, model: &FakeModel, args: &[&str]) -> Program {
    with_model(bench.crh(&[&SINGLE[..], args].concat()), model)
}

#[test]
fn killed_run_resumes_with_remaining_cases() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    // Cases run in the order of their ids: the clean one first.
    let stuck = FakeModel::start()
        .on("single", [answers(&[]), answers(&[]).delayed(Duration::from_secs(3_600))]);
    let running = run_single(&bench, &stuck, &["--out", "killed"]).start();
    stuck.wait_for("single", 2);
    let killed = running.kill();
    assert_eq!(
        rows(&killed.stderr),
        "python-clean                         nothing reported, as expected"
    );
    assert!(!bench.path("killed/eval.json").exists());
    let model = zero_division_model();
    let output = run_single(&bench, &model, &["--out", "whole"]).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let clean =
        model.requests().iter().filter(|asked| asked.body.to_string().contains("hello")).count();
    assert_eq!(clean, 0);
    assert_eq!(bench.stored("whole")["scores"]["quality"]["recall"]["value"], 1.0);
}

#[test]
fn ctrl_c_keeps_finished_cases_and_explains_resume() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let stuck = FakeModel::start()
        .on("single", [answers(&[]), answers(&[]).delayed(Duration::from_secs(3_600))]);
    let running = run_single(&bench, &stuck, &["--out", "stopped"]).start();
    stuck.wait_for("single", 2);
    running.interrupt();
    let output = running.end();
    assert_eq!((output.code, output.stdout.as_str()), (130, ""), "{}", output.stderr);
    let model = zero_division_model();
    assert_eq!(run_single(&bench, &model, &["--out", "whole"]).run().code, 0);
    let clean = model.requests();
    assert!(clean.iter().all(|asked| !asked.body.to_string().contains("hello")));
    assert!(
        output.stderr.ends_with("note: run the same command again to continue\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn replayed_recording_reproduces_a_repeated_run() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = zero_division_model();
    let live =
        run_single(&bench, &model, &["--out", "live", "--repeat", "2", "--record", "tape"]).run();
    assert_eq!(live.code, 0, "{}", live.stderr);
    let stored = bench.stored("live");
    assert_eq!(stored["scores"]["stability"]["returns"], 1.0);
    assert_eq!(stored["cases"][1]["runs"].as_array().unwrap().len(), 2);
    assert_eq!(stored["about"]["is_repeatable"], false);
    let replayed =
        bench.crh(&[&SINGLE[..], &["--out", "again", "--model", "replay:tape"]].concat()).run();
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    let again = bench.stored("again");
    assert_eq!(again["about"]["is_repeatable"], true);
    let quality = |stored: &Value| stored["scores"]["quality"]["f1"]["value"].clone();
    assert_eq!((quality(&stored), quality(&again)), (1.0.into(), 1.0.into()));
}

#[test]
fn total_cost_limit_leaves_cases_unreviewed() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = zero_division_model();
    // A review may cost ten cents, so the budget suffices for one.
    let args = ["--out", "out", "--max-cost", "0.10", "--max-total-cost", "0.1001"];
    let output = run_single(&bench, &model, &args).run();
    assert_eq!(output.code, 4, "{}", output.stderr);
    assert!(
        output.stderr.contains("2 reviews, at most 0.1000 USD each and 0.1001 USD in total"),
        "{}",
        output.stderr
    );
    assert!(output.stdout.contains("not run"), "{}", output.stdout);
    assert_eq!(bench.stored("out")["scores"]["runs"]["not_run"], 1);
}

#[test]
fn missing_model_is_an_error() {
    let bench = Bench::with(&[CLEAN]);
    let output = bench.crh(&["eval", "run", "suite"]).run();
    expect![[r#"
        exit 2
        error: no model is configured
        hint: pass one with `--model`, or use `--strategy static`, which needs none
        ---
    "#]]
    .assert_eq(&output.shown());
}

#[test]
fn connection_failure_is_retried_by_the_next_run() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = zero_division_model();
    let url = model.url();
    let program = bench.crh(&[&SINGLE[..], &["--out", "down"]].concat());
    let program = program.env("OPENAI_API_KEY", "sk-not-a-real-key-0123456789");
    let output = program.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").run();
    assert_eq!(output.code, 3, "{}", output.stderr);
    assert_eq!(bench.stored("down")["scores"]["runs"]["failed"], 2);
    assert_eq!(run_single(&bench, &model, &["--out", "up"]).run().code, 0, "{url}");
    assert_eq!(bench.stored("up")["scores"]["quality"]["recall"]["value"], 1.0);
}

#[test]
fn recording_includes_cases_reviewed_before() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = zero_division_model();
    for tape in ["first", "second"] {
        let out = format!("out-{tape}");
        assert_eq!(run_single(&bench, &model, &["--record", tape, "--out", &out]).run().code, 0);
    }
    let exchanges = |tape: &str| {
        let tape = fs::read_to_string(bench.path(tape)).unwrap();
        tape.lines().filter(|line| line.contains("\"exchange\"")).count()
    };
    assert!(exchanges("first") > 0);
    assert_eq!(exchanges("first"), exchanges("second"));
}

#[test]
fn output_folder_with_foreign_files_is_refused() {
    let bench = Bench::with(&[CLEAN]);
    bench.user.write("mine/notes.txt", "keep me");
    let output = bench.run_static("mine", &[]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("`notes.txt`"), "{}", output.stderr);
    assert_eq!(bench.run_static("ours", &[]).code, 0);
    fs::write(bench.path("ours/reports/python-gone-1.json"), "{}").unwrap();
    assert_eq!(bench.run_static("ours", &[]).code, 0);
    assert!(!bench.path("ours/reports/python-gone-1.json").exists());
}
