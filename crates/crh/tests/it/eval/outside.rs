//! `crh eval import` and `crh eval score`: cases and results that come from elsewhere.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use super::{Bench, json};
use crh_testkit::Repo;

/// A repository whose last commit fixes a bug.
fn fix() -> Repo {
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
    repo.git(&["commit", "--quiet", "--amend", "-m", "Nobody shares nothing"]);
    repo
}

fn import<'a>(repo: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["eval", "import", "--fix", "HEAD", "--repo", repo, "--out", "cases"];
    [&args, more].concat()
}

#[test]
fn a_fix_becomes_a_case_that_another_tool_is_scored_on() {
    let (bench, repo) = (Bench::with(&[]), fix());
    let repo = repo.path().to_str().unwrap();
    let words = ["--title", "Simplify", "--description", "Dividing by zero if nobody is there."];
    let args = [&["--id", "python-bill"][..], &words].concat();
    let output = bench.crh(&import(repo, &args)).run();
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
    // Nobody says that it was asked about the twin.
    assert_eq!(paired("once"), Value::Null);
    let output = score_with(&report("python-bill"), "asked", &["--with-twins"]);
    assert_eq!((output.code, paired("asked")), (0, 1.0.into()), "{}", output.stderr);
    // A tool that says the same of the fix has not understood it.
    let both = format!("{}\n{}", report("python-bill"), report("python-bill~twin"));
    let output = score(&both, "twice");
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(paired("twice"), 0.0);
    let output = score(&report("python-bil"), "never");
    expect![[r#"
        exit 2
        error: standard input, line 1: there is no case `python-bil` in the suite
        hint: did you mean `python-bill`?
        ---
    "#]]
    .assert_eq(&output.shown());
}

#[test]
fn a_draft_is_told_and_no_suite_takes_it() {
    let (bench, repo) = (Bench::with(&[]), fix());
    let repo = repo.path().to_str().unwrap();
    let output = bench.crh(&import(repo, &[])).run();
    expect![[r#"
        exit 0
        note: the title is `Update bill.py`: `--title` gives a better one that does not tell what is wrong
        warning: `cases/python-fix-abe07b01/case.toml` is a draft: no suite takes it before it says what is wrong
        ---
        cases/python-fix-abe07b01
    "#]]
    .assert_eq(&output.shown());
    let output = bench.crh(&["eval", "run", "cases", "--strategy", "static"]).run();
    expect![[r#"
        exit 2
        error: `python-fix-abe07b01/case.toml`: `expected[0].description` is still a draft
        hint: say what is wrong there and check category, severity and lines, then take `DRAFT:` out
        ---
    "#]]
    .assert_eq(&output.shown());
    let output = bench.crh(&import(repo, &[])).run();
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("already"), "{}", output.stderr);
}

#[test]
fn a_repository_that_is_at_hand_now_makes_another_review() {
    let (bench, repo) = (Bench::with(&[]), Repo::new());
    // The whole file does not parse; of the part that the diff shows nobody can say that.
    let padding = "# padding\n".repeat(30);
    for last in ["x = 1\n", "x = (1\n"] {
        repo.write("a.py", format!("{padding}{last}"));
        repo.commit("Count");
    }
    let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
    let diff = String::from_utf8(repo.git(&["diff", "HEAD~1", "HEAD"])).unwrap();
    let case = serde_json::json!({
        "id": "python-count", "title": "Count", "language": "python", "repo": "team/tool",
        "base_commit": base, "head_commit": head, "diff": diff,
        "expected": [{
            "file": "a.py", "line_start": 31, "line_end": 31, "category": "bug", "severity": "P1",
            "description": "The file does not parse.",
        }],
    });
    bench.user.write("cases.jsonl", &format!("{case}\n"));
    let repos = repo.path().to_str().unwrap();
    fs::create_dir_all(bench.path("repos/team")).unwrap();
    std::os::unix::fs::symlink(repos, bench.path("repos/team/tool")).unwrap();
    let matched = |more: &[&str]| {
        let args = ["eval", "run", "cases.jsonl", "--strategy", "static", "--out", "out"];
        let output = bench.crh(&[&args, more].concat()).run();
        assert_eq!(output.code, 0, "{}", output.stderr);
        bench.stored("out")["scores"]["quality"]["matched"].clone()
    };
    assert_eq!(matched(&[]), 0);
    assert_eq!(matched(&["--repos", "repos"]), 1);
    assert_eq!(matched(&[]), 0);
}
