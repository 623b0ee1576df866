//! `crh eval run`: every case is reviewed once, whatever happens.

use std::fs;
use std::time::Duration;

use expect_test::expect;
use serde_json::Value;

use super::{Bench, CLEAN, WRONG, Written, json};
use crate::review::script::{answers, confirms, finding};
use crate::review::with_model;
use crh_testkit::{FakeModel, Program};

/// The rows that were told as they ended, sorted: their order is that of the time they took.
fn rows(stderr: &str) -> String {
    let rows = stderr.lines().filter(|line| line.starts_with("python-"));
    let mut rows: Vec<&str> = rows.map(|line| line.split(" · ").next().unwrap()).collect();
    rows.sort_unstable();
    rows.join("\n")
}

#[test]
fn a_suite_is_reviewed_scored_and_kept() {
    let bench = Bench::new();
    let output = bench.checked("out", &["--format", "json"]);
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
    assert_eq!(names[..3], ["nothing", "every hunk", "3 random lines"]);
    assert!(fs::read_to_string(bench.path("out/eval.html")).unwrap().contains("python-broken"));
    assert!(fs::read_to_string(bench.path("out/eval.md")).unwrap().contains("every hunk"));
    let report = json(&bench.path("out/reports/python-broken-1.json"));
    assert_eq!(report["issues"][0]["file"], "shop.py");
}

#[test]
fn cases_are_chosen_by_their_ids_and_bring_their_twins() {
    let bench = Bench::new();
    let output = bench.checked("out", &["--case", "*-broken", "--case", "python-cl*"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(rows(&output.stderr).lines().count(), 3);
    // A twin alone says nothing, and could not be read again.
    let output = bench.checked("twin", &["--case", "*~twin"]);
    assert_eq!(rows(&output.stderr).lines().count(), 2, "{}", output.stderr);
    assert_eq!(bench.crh(&["eval", "show", "twin"]).run().code, 0);
    let output = bench.checked("none", &["--case", "ruby-*"]);
    assert_eq!(output.code, 2);
    expect![[r#"
        error: no case has such an id
        hint: leave `--case` out to take all
    "#]]
    .assert_eq(&output.stderr);
}

/// A model that finds the division by zero, and nothing else.
fn finder() -> FakeModel {
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

fn asked(bench: &Bench, model: &FakeModel, args: &[&str]) -> Program {
    with_model(bench.crh(&[&SINGLE[..], args].concat()), model)
}

#[test]
fn what_was_reviewed_in_the_same_way_is_not_reviewed_again() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = finder();
    let first = asked(&bench, &model, &["--out", "first"]).run();
    assert_eq!(first.code, 0, "{}", first.stderr);
    let asked_first = model.counted().requests;
    let second = asked(&bench, &model, &["--out", "second"]).run();
    assert_eq!((second.code, model.counted().requests), (0, asked_first));
    let cases = |out: &str| bench.stored(out)["cases"].clone();
    assert_eq!(cases("first"), cases("second"));
    // Labels are none of a reviewer's business, a title is.
    bench.write(&Written { labels: "", ..WRONG });
    asked(&bench, &model, &["--out", "third"]).run();
    assert_eq!(model.counted().requests, asked_first);
    bench.write(&Written { title: "Greet everybody", ..CLEAN });
    asked(&bench, &model, &["--out", "fourth"]).run();
    assert_eq!(model.counted().requests, asked_first + 1);
    asked(&bench, &model, &["--out", "fifth", "--fresh"]).run();
    assert_eq!(model.counted().requests, asked_first + 1 + asked_first);
}

#[test]
fn a_run_that_was_killed_goes_on_with_what_is_left() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    // Cases come in the order of their ids: the clean one first.
    let stuck = FakeModel::start()
        .on("single", [answers(&[]), answers(&[]).delayed(Duration::from_secs(3_600))]);
    let running = asked(&bench, &stuck, &["--out", "killed"]).start();
    stuck.wait_for("single", 2);
    let killed = running.kill();
    assert_eq!(
        rows(&killed.stderr),
        "python-clean                         nothing reported, as expected"
    );
    assert!(!bench.path("killed/eval.json").exists());
    let model = finder();
    let output = asked(&bench, &model, &["--out", "whole"]).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let clean =
        model.requests().iter().filter(|asked| asked.body.to_string().contains("hello")).count();
    assert_eq!(clean, 0);
    assert_eq!(bench.stored("whole")["scores"]["quality"]["recall"]["value"], 1.0);
}

#[test]
fn ctrl_c_keeps_what_has_ended_and_says_how_to_go_on() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let stuck = FakeModel::start()
        .on("single", [answers(&[]), answers(&[]).delayed(Duration::from_secs(3_600))]);
    let running = asked(&bench, &stuck, &["--out", "stopped"]).start();
    stuck.wait_for("single", 2);
    running.interrupt();
    let output = running.end();
    assert_eq!((output.code, output.stdout.as_str()), (130, ""), "{}", output.stderr);
    let model = finder();
    assert_eq!(asked(&bench, &model, &["--out", "whole"]).run().code, 0);
    let clean = model.requests();
    assert!(clean.iter().all(|asked| !asked.body.to_string().contains("hello")));
    assert!(
        output.stderr.ends_with("note: the same command goes on with what is left\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn models_are_repeated_and_a_recording_gives_the_same_again() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = finder();
    let live = asked(&bench, &model, &["--out", "live", "--repeat", "2", "--record", "tape"]).run();
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
fn what_all_of_it_may_cost_is_not_exceeded_and_what_was_left_out_is_said() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = finder();
    // A review may cost two cents, so that there is room for one, and then for none.
    let args = ["--out", "out", "--max-cost", "0.02", "--max-total-cost", "0.0201"];
    let output = asked(&bench, &model, &args).run();
    assert_eq!(output.code, 4, "{}", output.stderr);
    assert!(
        output.stderr.contains("2 reviews at 0.0200 USD at most, and 0.0201 USD at most in all"),
        "{}",
        output.stderr
    );
    assert!(output.stdout.contains("not run"), "{}", output.stdout);
    assert_eq!(bench.stored("out")["scores"]["runs"]["not_run"], 1);
}

#[test]
fn without_a_model_nothing_else_is_measured_in_its_place() {
    let bench = Bench::with(&[CLEAN]);
    let output = bench.crh(&["eval", "run", "suite"]).run();
    expect![[r#"
        exit 2
        error: no model is configured
        hint: name one with `--model`, or take `--strategy static`, which needs none
        ---
    "#]]
    .assert_eq(&output.shown());
}

#[test]
fn a_model_that_never_answers_makes_a_case_fail_and_not_the_run() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let nobody = ["--model", "openai:nobody@http://127.0.0.1:9/v1", "--out", "out"];
    let output = bench.crh(&[&SINGLE[..], &nobody].concat()).run();
    assert_eq!(output.code, 3, "{}", output.stderr);
    assert_eq!(bench.stored("out")["scores"]["runs"]["failed"], 2);
    assert!(output.stdout.contains("python-wrong"), "{}", output.stdout);
}

#[test]
fn a_model_that_could_not_be_asked_is_asked_again() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = finder();
    let url = model.url();
    let nobody = bench.crh(&[&SINGLE[..], &["--out", "down"]].concat());
    let nobody = nobody.env("OPENAI_API_KEY", "sk-of-nobody-0123456789");
    let nobody = nobody.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").run();
    assert_eq!(nobody.code, 3, "{}", nobody.stderr);
    assert_eq!(asked(&bench, &model, &["--out", "up"]).run().code, 0, "{url}");
    assert_eq!(bench.stored("up")["scores"]["quality"]["recall"]["value"], 1.0);
}

#[test]
fn a_recording_has_everything_also_if_it_was_reviewed_before() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = finder();
    for tape in ["first", "second"] {
        let out = format!("out-{tape}");
        assert_eq!(asked(&bench, &model, &["--record", tape, "--out", &out]).run().code, 0);
    }
    let exchanges = |tape: &str| {
        let tape = fs::read_to_string(bench.path(tape)).unwrap();
        tape.lines().filter(|line| line.contains("\"exchange\"")).count()
    };
    assert!(exchanges("first") > 0);
    assert_eq!(exchanges("first"), exchanges("second"));
}

#[test]
fn a_folder_with_something_else_in_it_is_not_touched() {
    let bench = Bench::with(&[CLEAN]);
    bench.user.write("mine/notes.txt", "keep me");
    let output = bench.checked("mine", &[]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("`notes.txt`"), "{}", output.stderr);
    assert_eq!(bench.checked("ours", &[]).code, 0);
    fs::write(bench.path("ours/reports/python-gone-1.json"), "{}").unwrap();
    assert_eq!(bench.checked("ours", &[]).code, 0);
    assert!(!bench.path("ours/reports/python-gone-1.json").exists());
}

#[test]
fn two_at_once_do_not_ask_twice() {
    let bench = Bench::with(&[CLEAN]);
    // Long enough for the second to begin before the first has its answer.
    let model = FakeModel::answering(|_| answers(&[]).delayed(Duration::from_secs(1)));
    let started = ["first", "second"].map(|out| asked(&bench, &model, &["--out", out]).start());
    for running in started {
        let output = running.end();
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
    assert_eq!(model.counted().requests, 1);
}
