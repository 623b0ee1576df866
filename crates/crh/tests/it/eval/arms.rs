//! `crh eval run --strategy bare` and `--strategy panel`: the model alone, and the funnel of a panel.

use expect_test::expect;
use serde_json::{Value, json};

use super::{Bench, CLEAN, WRONG};
use crate::review::script::{confirms, finding, reports};
use crate::review::with_model;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::calls;

#[test]
fn model_alone_reviews_without_prompts_of_crh() {
    let bench = Bench::with(&[WRONG, CLEAN]);
    let model = FakeModel::answering(|asked| {
        let is_wrong = asked.body.to_string().contains("Share the bill");
        let comment = json!({
            "file": "bill.py", "line": 2, "title": "Division by zero", "body": "An empty list fails.",
        });
        let comments: Vec<Value> = is_wrong.then_some(comment).into_iter().collect();
        calls("report_comments", json!({ "comments": comments }))
    });
    let args = ["eval", "run", "suite", "--strategy", "bare", "--out", "out", "--format", "json"];
    let output = with_model(bench.crh(&args), &model).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let stored = bench.stored("out");
    let counts = &stored["scores"]["comments"];
    assert_eq!((&counts["comments"], &counts["found"]), (&json!(1), &json!(1)));
    assert_eq!(
        (&stored["about"]["strategy"], &stored["rule"]),
        (&json!("bare"), &json!("file-line"))
    );
    let requests = model.requests();
    assert!(requests.iter().all(|asked| asked.caller == "bare"));
    let body = requests[0].body.to_string();
    assert!(body.contains("repo_read") && !body.contains("report_findings"), "{body}");
    // The same reviews are not paid twice.
    let again = with_model(bench.crh(&args), &model).run();
    assert_eq!((again.code, model.requests().len()), (0, requests.len()));
}

#[test]
fn panel_shows_where_findings_are_lost() {
    let bench = Bench::with(&[WRONG]);
    let model = FakeModel::answering(|asked| {
        if asked.caller.starts_with("validate") {
            return confirms();
        }
        if asked.caller != "correctness" {
            return reports(&[]);
        }
        let quote = "return total / len(people)";
        let real = finding("P1", "Division by zero", "bill.py:2", quote);
        let unfounded = finding("P1", "Rounded", "bill.py:2", "return round(total / 2)");
        let nit = finding("P3", "Name", "bill.py:1", "def share(total, people):");
        reports(&[real, unfounded, nit])
    });
    let args = ["eval", "run", "suite", "--strategy", "panel", "--jobs", "1", "--out", "out"];
    let output = with_model(bench.crh(&args), &model).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let mut sections = output.stdout.split("\n\n");
    let section = sections.find(|section| section.starts_with("From findings")).unwrap();
    expect![[r#"
        From findings to comments
          The first three rows count findings, the next two issues, and the last one comments. Recall is the
          share of expected issues that something at this step matches.
          Step                           Number  Issues found  Recall
          Raised by a reviewer                3           1/1    1.00
          In the required format              3           1/1    1.00
          Quoted code exists                  2           1/1    1.00
          Merged into issues                  2           1/1    1.00
          Kept by editor and validation       1           1/1    1.00
          Published                           1           1/1    1.00"#]].assert_eq(section);
}
