//! `crh eval import` and `crh eval score`: imported cases and results of other tools.

use expect_test::expect;
use serde_json::Value;

use super::{Bench, json};
use crh_testkit::Repo;

/// A repository whose last commit fixes a bug.
fn fix_repo() -> Repo {
    let repo = Repo::from_fixture(
        "
        //- bill.py
        def share(total, people):
            return total / len(people)
        //- head
        //- bill.py
        def share(total, people):
            if not people:
                return 0
            return total / len(people)
        ",
    );
    repo.git(&["commit", "--quiet", "--amend", "-m", "Return zero without people"]);
    repo
}

fn import_args<'a>(repo: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["eval", "import", "--fix", "HEAD", "--repo", repo, "--out", "cases"];
    [&args, more].concat()
}

#[test]
fn other_tool_is_scored_on_an_imported_fix() {
    let (bench, repo) = (Bench::with(&[]), fix_repo());
    let repo = repo.path().to_str().unwrap();
    let words = ["--title", "Simplify", "--description", "Dividing by zero without people."];
    let args = [&["--id", "python-bill"][..], &words].concat();
    let output = bench.crh(&import_args(repo, &args)).run();
    expect![[r#"
        exit 0
        ---
        cases/python-bill
    "#]]
    .assert_eq(&output.shown());
    let report = |case: &str| {
        format!(
            r#"{{"case": "{case}", "file": "bill.py", "line": 2, "text": "Zero people divide by zero."}}"#
        )
    };
    let score_with = |lines: &str, out: &str, more: &[&str]| {
        let args = ["eval", "score", "-", "cases", "--name", "other", "--match", "file-line"];
        bench.crh(&[&args[..], &["--out", out], more].concat()).stdin(lines).run()
    };
    let score = |lines: &str, out: &str| score_with(lines, out, &[]);
    let paired = |out: &str| -> Value {
        json(&bench.path(out).join("eval.json"))["scores"]["paired"]["recall"]["value"].clone()
    };
    let output = score(&report("python-bill"), "once");
    assert_eq!(output.code, 0, "{}", output.stderr);
    // The tool did not run on the twin.
    assert_eq!(paired("once"), Value::Null);
    let output = score_with(&report("python-bill"), "asked", &["--with-twins"]);
    assert_eq!((output.code, paired("asked")), (0, 1.0.into()), "{}", output.stderr);
    // A tool that reports the same on the twin gets no credit.
    let both = format!("{}\n{}", report("python-bill"), report("python-bill~twin"));
    let output = score(&both, "twice");
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(paired("twice"), 0.0);
    let output = score(&report("python-bil"), "never");
    expect![[r#"
        exit 2
        error: standard input, line 1: the suite has no case `python-bil`
        hint: did you mean `python-bill`?
        ---
    "#]]
    .assert_eq(&output.shown());
}

#[test]
fn draft_case_is_announced_and_refused() {
    let (bench, repo) = (Bench::with(&[]), fix_repo());
    let repo = repo.path().to_str().unwrap();
    let output = bench.crh(&import_args(repo, &[])).run();
    expect![[r#"
        exit 0
        note: the title is `Update bill.py`; pass a better one with `--title` that does not reveal the defect
        warning: `cases/python-fix-219e095f/case.toml` is a draft: before you use it in a suite, list the issues that a review should find
        ---
        cases/python-fix-219e095f
    "#]]
    .assert_eq(&output.shown());
    let output = bench.crh(&["eval", "run", "cases", "--strategy", "static"]).run();
    expect![[r#"
        exit 2
        error: `python-fix-219e095f/case.toml`: `expected[0].description` is still a draft
        hint: describe the defect, check category, severity and lines, then remove `DRAFT:`
        ---
    "#]]
    .assert_eq(&output.shown());
    let output = bench.crh(&import_args(repo, &[])).run();
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("already"), "{}", output.stderr);
}
