//! Suites of real pull requests: commits of a clone, and comments of people that name no line.

use expect_test::expect;
use serde_json::json;

use super::Bench;
use crate::review::script::{answers, finding};
use crh_testkit::fake_model::calls;
use crh_testkit::{FakeModel, Repo};

const BILL: &str = "
    //- bill.py
    def share(total, people):
        if not people:
            return 0
        return total / len(people)
    //- head
    //- bill.py
    def share(total, people):
        return total / len(people)
    ";

/// A user with one pull request. The base branch has moved on since the head branched off.
fn pull_request() -> Bench {
    let bench = Bench::with(&[]);
    let repo = Repo::from_fixture(BILL);
    let head = repo.id("HEAD");
    repo.git(&["checkout", "--quiet", "-b", "later", "HEAD~1"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "Later"]);
    repo.git(&["rm", "--quiet", "bill.py"]);
    repo.git(&["commit", "--quiet", "-m", "Remove the bill"]);
    let base = repo.id("HEAD");
    let clone = bench.path("prs/bill/repo");
    repo.git(&["clone", "--quiet", "--bare", ".", clone.to_str().unwrap()]);
    let labels = format!(
        "title = \"Share the bill\"\nbody = \"As agreed.\"\nbase_commit = \"{base}\"\nhead_commit = \"{head}\"\n\n[[comment]]\ntext = \"Fails without people\"\nseverity = \"High\"\n"
    );
    bench.user.write("prs/bill/case.toml", &labels);
    bench
}

fn model() -> FakeModel {
    FakeModel::answering(|asked| {
        if asked.caller.starts_with("judge") {
            return calls("report_pairs", json!({ "pairs": [{ "defect": 1, "report": 1 }] }));
        }
        let quote = "return total / len(people)";
        answers(&[finding("P1", "Division by zero", "bill.py:2", quote)])
    })
}

fn run(bench: &Bench, model: &FakeModel, args: &[&str]) -> crh_testkit::Output {
    let usual = ["eval", "run", "prs", "--strategy", "single", "--budget", "quick", "--out", "out"];
    let program = bench.crh(&[&usual, args].concat());
    program
        .env("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
        .env("OPENAI_BASE_URL", &model.url())
        .run()
}

#[test]
fn judge_matches_comments_of_people_by_their_text() {
    let bench = pull_request();
    let model = model();
    let output = run(&bench, &model, &["--judge", "openai:gpt-4.1-mini"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let stored = bench.stored("out");
    assert_eq!(stored["scores"]["comments"]["found"], json!(1));
    assert_eq!(stored["cases"][0]["runs"][0]["judged"], json!([[0, 0]]));
    let brief = stored["judged_by"]["brief"].as_str().unwrap();
    assert!(brief.starts_with("You compare reports"), "{brief}");
    let requests = model.requests();
    let is_judge =
        |asked: &&crh_testkit::fake_model::FakeRequest| asked.caller.starts_with("judge");
    assert!(requests.iter().find(is_judge).unwrap().body.to_string().contains("place: unknown"));
    // Only the change of the pull request is reviewed, not what its base branch did meanwhile.
    let body = requests[0].body.to_string();
    assert!(body.contains("As agreed.") && body.contains("return 0"), "{body}");
    assert_eq!(stored["cases"][0]["labels"]["lines"], json!(2));
}

#[test]
fn places_cannot_match_comments_without_a_line() {
    let bench = pull_request();
    let model = model();
    let refused = run(&bench, &model, &["--match", "file-line"]);
    expect![[r#"
        exit 2
        error: some expected issues have no line, so crh cannot match findings by line
        hint: use `--judge MODEL`, or `--match text`
        ---
    "#]]
    .assert_eq(&refused.shown());
    let by_words = run(&bench, &model, &[]);
    assert_eq!(by_words.code, 0, "{}", by_words.stderr);
    assert!(by_words.stderr.contains("crh compares words"), "{}", by_words.stderr);
    assert_eq!(bench.stored("out")["rule"], json!("text"));
}
