//! `crh eval run --reviewers`: panel reviewers, measured on the cases of their categories.

use expect_test::{Expect, expect};
use serde_json::json;

use super::{Bench, CLEAN, TestCase, WRONG};
use crate::review::script::{confirms, finding, reports, with};
use crate::review::with_model;
use crh_testkit::{FakeModel, Output};

/// A defect in the category of one reviewer.
const OPEN: TestCase<'_> = TestCase {
    id: "python-open",
    title: "Show invoices",
    base: &[(
        "invoice.py",
        "def read(user, invoice):\n    if invoice.owner != user:\n        raise PermissionError(invoice.number)\n    return invoice.text\n",
    )],
    head: &[("invoice.py", "def read(user, invoice):\n    return invoice.text\n")],
    labels: r#"
[[expected]]
file = "invoice.py"
line_start = 2
category = "security"
severity = "P1"
description = "Anybody reads the invoices of everybody."
keywords = ["owner", "permission"]
note = "read(eve, invoice_of_adam) returns its text"
proved = "not run: it is plain to see"

[twin]
title = "Keep invoices to their owners"
body = ""
"#,
};

/// A model that reports the defect of [`OPEN`] and a false positive on [`CLEAN`].
fn security_model() -> FakeModel {
    FakeModel::answering(|asked| {
        if asked.caller.starts_with("validate") {
            return confirms();
        }
        let security = |finding| with(finding, json!({ "category": "security" }));
        let body = asked.body.to_string();
        let found = match body {
            body if body.contains("Show invoices") => Some(("invoice.py:2", "return invoice.text")),
            body if body.contains("Greet by name") => {
                Some(("greet.py:2", "return f\"hello {name}\""))
            }
            _ => None,
        };
        let found = found
            .map(|(place, quote)| security(finding("P1", "The user is not checked", place, quote)));
        reports(found.as_slice())
    })
}

fn run_eval(bench: &Bench, model: &FakeModel, out: &str, args: &[&str]) -> Output {
    let all = ["eval", "run", "suite", "--jobs", "1", "--out", out];
    with_model(bench.crh(&[&all[..], args].concat()), model).run()
}

/// Ids of the reviewed cases.
fn cases(bench: &Bench, out: &str) -> String {
    let stored = bench.stored(out);
    let cases = stored["cases"].as_array().unwrap().iter();
    cases.map(|case| case["labels"]["id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn reviewer_is_measured_on_cases_of_its_category() {
    let bench = Bench::with(&[OPEN, CLEAN, WRONG]);
    let model = security_model();
    let output = run_eval(&bench, &model, "alias", &["--reviewers", "ce-security-reviewer"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(cases(&bench, "alias"), "python-clean python-open python-open~twin");
    let about = &bench.stored("alias")["about"];
    assert_eq!((&about["strategy"], &about["reviewers"]), (&json!("panel"), &json!(["security"])));
    let mut sections = output.stdout.split("\n\n");
    let section =
        sections.find(|section| section.starts_with("Contribution per reviewer")).unwrap();
    expect![[r#"
        Contribution per reviewer
          Matched: found and expected issues in the category of the reviewer. Others: matches in other
          categories. Wrong: duplicates and reports known to be wrong. On clean, on reversed: reports on
          changes without bugs. A report of several reviewers counts for each of them.
          Reviewer  Category  Matched  Others  Wrong  On clean  Unlabelled  On reversed
          security  security      1/1       0      0         1           0            0"#]]
    .assert_eq(section);
    // An alias uses the stored reviews of the same reviewer.
    let asked = model.usage().requests;
    let output = run_eval(&bench, &model, "name", &["--reviewers", "security"]);
    assert_eq!((output.code, model.usage().requests), (0, asked), "{}", output.stderr);
    // Another set of reviewers needs new reviews.
    let args = ["--reviewers", "security,concurrency"];
    assert_eq!(run_eval(&bench, &model, "two", &args).code, 0);
    assert!(model.usage().requests > asked);
    // `--case` overrides the choice of cases by category.
    let args = ["--reviewers", "security", "--case", "python-wrong"];
    assert_eq!(run_eval(&bench, &model, "named", &args).code, 0);
    assert_eq!(cases(&bench, "named"), "python-wrong");
}

fn check_error(args: &[&str], expected: Expect) {
    let bench = Bench::with(&[WRONG]);
    let model = FakeModel::start();
    expected.assert_eq(&run_eval(&bench, &model, "out", args).shown());
}

#[test]
fn reviewers_without_a_case_are_refused() {
    check_error(
        &["--reviewers", "security,data-migrations"],
        expect![[r#"
            exit 2
            error: no case has an issue in category `security` or `data`, and no case is clean
            hint: pass `--case '*'` to use all cases
            ---
        "#]],
    );
}
