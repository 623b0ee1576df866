//! `crh eval gate` and `crh eval compare`: regressions and whether they are significant.

use std::fs;

use expect_test::expect;

use super::{BROKEN, Bench, CLEAN, TestCase, WRONG};
use crate::review::script::{answers, finding};
use crate::review::with_key;
use crh_testkit::FakeModel;

const GATE: [&str; 7] =
    ["eval", "gate", "suite", "--strategy", "static", "--baseline", "baseline.json"];

#[test]
fn gate_fails_on_regressions() {
    let bench = Bench::new();
    let written = bench.crh(&[&GATE[..], &["--write-baseline"]].concat()).run();
    assert_eq!(written.code, 0, "{}", written.stderr);
    let same = bench.crh(&GATE).run();
    assert_eq!(same.code, 0, "{}", same.stderr);
    expect![[r#"
        new evaluation: 1 of 2 expected issues found, 1 reported, 0 of them on clean changes
        no regression in the 4 cases that both evaluations have
    "#]]
    .assert_eq(&same.stdout);
    // One issue is no longer reported, and a clean case gets a report.
    let closed = "def price(item):\n    return round(item.price, 2)\n";
    bench.write(&TestCase { head: &[("shop.py", closed)], ..BROKEN });
    bench.write(&TestCase {
        head: &[("greet.py", "def greet(name):\n    return (name\n")],
        ..CLEAN
    });
    let worse = bench.crh(&GATE).run();
    assert_eq!(worse.code, 1, "{}", worse.stderr);
    expect![[r#"
        new evaluation: 0 of 2 expected issues found, 1 reported, 1 of them on clean changes
        worse: no longer found: The file does not parse: the call of `round` is not closed.
          python-broken
        worse: a new report on a clean change: The file does not parse
          python-clean
    "#]]
    .assert_eq(&worse.stdout);
    // A missing case is a regression.
    fs::remove_dir_all(bench.path("suite/python-wrong")).unwrap();
    assert!(bench.crh(&GATE).run().stdout.contains("python-wrong"));
}

#[test]
fn compare_shows_flips_per_case() {
    let bench = Bench::new();
    assert_eq!(bench.run_static("before", &[]).code, 0);
    let closed = "def price(item):\n    return round(item.price, 2)\n";
    bench.write(&TestCase { head: &[("shop.py", closed)], ..BROKEN });
    assert_eq!(bench.run_static("after", &[]).code, 0);
    let compared = bench.crh(&["eval", "compare", "before", "after"]).run();
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    assert!(compared.stdout.contains("python-broken"), "{}", compared.stdout);
    let page = bench.crh(&["eval", "compare", "before", "after", "--format", "html"]).run();
    assert!(page.stdout.starts_with("<!DOCTYPE html>"), "{}", &page.stdout[..100]);
    let shown = bench.crh(&["eval", "show", "before", "--match", "file-line"]).run();
    assert!(shown.stdout.contains("file-line"), "{}", shown.stdout);
    let several = bench.crh(&["eval", "show", "before", "after"]).run();
    expect![[r#"
        exit 2
        error: only the HTML page can show several evaluations
        hint: use `--format html`, or `crh eval compare` for two
        ---
    "#]]
    .assert_eq(&several.shown());
    let nothing = bench.crh(&["eval", "compare", "before", "nowhere"]).run();
    expect![[r#"
        exit 2
        error: cannot read `HOME/nowhere`: No such file or directory (os error 2)
        hint: pass the `eval.json` of `crh eval run`, or its folder
        ---
    "#]]
    .assert_eq(&nothing.shown().replace(bench.path("").to_str().unwrap(), "HOME/"));
}

/// A model that finds the defect of [`WRONG`].
fn single_model() -> FakeModel {
    FakeModel::answering(|asked| {
        let quote = "return total / len(people)";
        let found = asked.body.to_string().contains("Share the bill");
        let found = found.then(|| finding("P1", "Division by zero", "bill.py:2", quote));
        answers(found.as_slice())
    })
}

#[test]
fn gate_finds_the_files_of_a_strategy_and_refuses_an_old_recording() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("eval/recordings")).unwrap();
    bench.user.write("eval/cases/single.txt", "# two cases\npython-wrong # a defect\n*clean\n");
    let model = single_model();
    let recording = "eval/recordings/single.jsonl";
    let record = [
        "eval",
        "run",
        "suite",
        "--strategy",
        "single",
        "--budget",
        "quick",
        "--case-list",
        "eval/cases/single.txt",
        "--record",
        recording,
        "--out",
        "out",
        "--jobs",
        "1",
    ];
    let recorded = with_key(bench.crh(&record), &model).run();
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    fs::create_dir_all(bench.path("eval/baselines")).unwrap();
    let gate = ["eval", "gate", "suite", "--strategy", "single"];
    let written =
        bench.crh(&[&gate[..], &["--budget", "quick", "--write-baseline"]].concat()).run();
    assert_eq!(written.code, 0, "{}{}", written.stdout, written.stderr);
    // The budget of the baseline applies, and one command checks all strategies.
    let all = bench.crh(&["eval", "gate", "suite"]).run();
    assert_eq!(all.code, 0, "{}{}", all.stdout, all.stderr);
    expect![[r#"
        strategy single
        new evaluation: 1 of 1 expected issues found, 1 reported, 0 of them on clean changes
        no regression in the 2 cases that both evaluations have
    "#]]
    .assert_eq(&all.stdout);
    // A recording of other prompts is refused before a review starts.
    let text = fs::read_to_string(bench.path(recording)).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_str(header).unwrap();
    let now = header["prompts"].as_str().unwrap().to_owned();
    header["prompts"] = "0123456789abcdef".into();
    fs::write(bench.path(recording), format!("{header}\n{rest}")).unwrap();
    let old = bench.crh(&gate).run();
    assert_eq!(old.code, 1, "{}", old.stderr);
    expect![[r#"
        worse: the recording eval/recordings/single.jsonl is out of date: it was made with the prompts `0123456789abcdef`, now `NOW`
          renew it with: crh eval run suite --strategy single --case-list eval/cases/single.txt --budget quick --model openai:gpt-5.4-mini --record eval/recordings/single.jsonl && crh eval gate suite --strategy single --case-list eval/cases/single.txt --budget quick --write-baseline
    "#]].assert_eq(&old.stdout.replace(&now, "NOW"));
    // So is a recording that lacks a question, for example after a case changed.
    fs::write(bench.path(recording), text).unwrap();
    bench.write(&TestCase { title: "Share the whole bill", ..WRONG });
    let lacking = bench.crh(&gate).run();
    assert_eq!(lacking.code, 1, "{}", lacking.stderr);
    assert!(lacking.stdout.contains("1 question is not in it"), "{}", lacking.stdout);
}

#[test]
fn missing_baseline_and_recording_are_named() {
    let bench = Bench::with(&[CLEAN]);
    let shown =
        |args: &[&str]| bench.crh(&[&["eval", "gate", "suite"], args].concat()).run().shown();
    expect![[r#"
        exit 2
        error: no baseline in `eval/baselines`
        hint: write one with `crh eval gate --strategy static --write-baseline`, or pass `--baseline FILE` for a baseline elsewhere
        ---
    "#]]
    .assert_eq(&shown(&[]));
    expect![[r#"
        exit 2
        error: `--write-baseline` needs a strategy
        hint: pass `--strategy`, or `--baseline FILE` for a baseline elsewhere
        ---
    "#]]
    .assert_eq(&shown(&["--write-baseline"]));
    expect![[r#"
        exit 2
        error: no recording eval/recordings/single.jsonl, and no model is configured
        hint: make the recording with `crh eval run --strategy single --model MODEL --record eval/recordings/single.jsonl`, or pass `--model MODEL`
        ---
    "#]]
    .assert_eq(&shown(&["--strategy", "single", "--write-baseline"]));
}
