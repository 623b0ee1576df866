//! `crh merge`.

use expect_test::{expect, expect_file};

use crate::{crh, read};
use crh_testkit::Repo;

const DIFF: &str = "examples/shop/change.diff";

#[test]
fn readme_example_is_merged() {
    let returns = ["correctness", "performance", "reliability", "security"]
        .map(|name| format!("examples/shop/returns/{name}.json"));
    let mut args = vec!["merge", "--diff", DIFF, "--format", "text"];
    args.extend(returns.iter().map(String::as_str));
    expect_file!["../data/example.txt"].assert_eq(&crh(&args).run().shown());
}

#[test]
fn returns_are_read_as_list_lines_or_stdin() {
    let one = read("examples/shop/returns/security.json");
    let two = read("examples/shop/returns/performance.json");
    let issues = |text: String| {
        let output = crh(&["merge", "--diff", DIFF, "-"]).stdin(text).run();
        assert_eq!(output.code, 0, "{}", output.stderr);
        let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        report["issues"].as_array().unwrap().len()
    };
    assert_eq!(issues(format!("[{one},{two}]")), 2);
    assert_eq!(issues(format!("{}\n{}\n", one.replace('\n', ""), two.replace('\n', ""))), 2);
}

#[test]
fn crh_dialect_without_a_path_takes_the_file_of_the_line() {
    let crh_return = r#"{"findings": [
        {"severity": "blocker", "line": 44, "comment": "SQL injection. Anyone reads all."},
        {"severity": "major", "line": 1, "comment": "A header is no code."}]}"#;
    let output = crh(&["merge", "--diff", DIFF, "--dialect", "crh", "--format", "quickfix", "-"]);
    expect![[r#"
        exit 0
        warning: reviewer reviewer: findings[1]: missing field `path`; crh leaves this finding out
        ---
        shop/orders.py:20:1: P0 bug: SQL injection
    "#]]
    .assert_eq(&output.stdin(crh_return).run().shown());
}

#[test]
fn quotes_outside_the_diff_need_files() {
    let repo = Repo::from_fixture(
        "
        //- a.rs
        fn far_away() { old(); }
        ",
    );
    let finding = r#"{"reviewer": "r", "findings": [{"title": "T", "severity": "P2", "category": "bug",
        "file": "a.rs", "line_start": 1, "confidence": 0.9, "evidence": [{"snippet": "fn far_away()"}],
        "why_it_matters": "W", "autofix_class": "manual", "owner": "human",
        "requires_verification": false, "pre_existing": false}]}"#;
    let fates = |args: &[&str]| {
        let output = crh(&["merge", "--diff", DIFF, "-"]).args(args).stdin(finding).run();
        let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        let before = report["pre_existing"].as_array().unwrap().len();
        (before, report["suppressed"][0]["fate"].as_str().map(str::to_owned))
    };
    assert_eq!(fates(&[]), (0, Some("unsupported".to_owned())));
    assert_eq!(fates(&["--new", repo.path().to_str().unwrap()]), (1, None));
    // A file that contradicts the diff is not the reviewed version.
    let stale = Repo::new();
    stale.write("shop/orders.py", "something else\n");
    let output = crh(&["merge", "--diff", DIFF, "examples/shop/returns/security.json"]);
    let output = output.args(["--new", stale.path().to_str().unwrap()]).run();
    assert!(
        output.stderr.starts_with("warning: ignoring `shop/orders.py` in "),
        "{}",
        output.stderr
    );
    // A symlink out of the folder is not followed.
    let outside = Repo::new();
    outside.write("b.rs", "");
    std::os::unix::fs::symlink(repo.path().join("a.rs"), outside.path().join("a.rs")).unwrap();
    let folder = outside.path().to_str().unwrap();
    assert_eq!(fates(&["--new", folder]), (0, Some("unsupported".to_owned())));
}

#[test]
fn answers_join_pairs_and_refute_issues() {
    let folder = Repo::new();
    let args = [
        "merge",
        "--diff",
        DIFF,
        "examples/shop/returns/security.json",
        "examples/shop/returns/performance.json",
    ];
    let before = crh(&args).run();
    let report: serde_json::Value = serde_json::from_str(&before.stdout).unwrap();
    let pair = report["candidate_pairs"][0]["id"].as_str().unwrap();
    assert!(before.stderr.contains(pair), "a person is told, too");
    let answers = |text: String| {
        folder.write("answers.json", text);
        let path = folder.path().join("answers.json");
        let output =
            crh(&args).args(["--format", "quickfix", "--answers", path.to_str().unwrap()]).run();
        output.shown()
    };
    let joined = answers(format!("{{\"same\": [\"{pair}\"]}}"));
    assert_eq!(joined.lines().skip(2).count(), 1, "{joined}");
    let key = report["issues"][0]["dedupe_key"].as_str().unwrap();
    let refuted = answers(format!(
        "{{\"judgements\": {{\"{key}\": {{\"result\": \"refuted\", \"reason\": \"no\"}}}}}}"
    ));
    assert!(!refuted.contains("P0"), "{refuted}");
    let unknown = answers(
        "{\"judgements\": {\"0\": {\"result\": \"confirmed\", \"reason\": \"r\"}}}".to_owned(),
    );
    assert!(
        unknown
            .contains("warning: `--answers` has a judgement on `0`, which is not the `dedupe_key`"),
        "{unknown}"
    );
}

#[test]
fn bad_input_exits_with_2_and_a_hint() {
    let shown = |args: &[&str], stdin: &str| crh(args).stdin(stdin).run().shown();
    let merge = ["merge", "--diff", DIFF, "-"];
    expect![[r#"
        exit 2
        error: standard input: invalid JSON: expected value at line 1 column 1
        hint: `crh schema return` prints the format; `--dialect` selects another format; `--keep-going` counts this file as a failed reviewer and continues
        ---
    "#]].assert_eq(&shown(&merge, "I found nothing wrong."));
    expect![[r#"
        exit 2
        error: standard input: no reviewer output in it
        hint: `crh schema return` prints the format; `--dialect` selects another format; `--keep-going` counts this file as a failed reviewer and continues
        ---
    "#]].assert_eq(&shown(&merge, ""));
    expect![[r#"
        exit 2
        error: standard input: missing field `reviewer`
        hint: `crh schema return` prints the format; `--dialect` selects another format; `--keep-going` counts this file as a failed reviewer and continues
        ---
    "#]].assert_eq(&shown(&merge, "{\"findings\": []}"));
    assert_eq!(
        shown(&["merge", "--diff", DIFF, "--answers", "-", "-"], ""),
        shown(&["merge", "--diff", "-", "-"], "")
    );
    expect![[r#"
        exit 2
        error: cannot open the folder `missing`: No such file or directory (os error 2)
        hint: `--new` and `--old` must be folders with the files of the change
        ---
    "#]]
    .assert_eq(&shown(
        &["merge", "--diff", DIFF, "--new", "missing", "-"],
        "{\"reviewer\": \"a\", \"findings\": []}",
    ));
    expect![[r#"
        exit 2
        error: standard input can be read only once
        hint: pass the diff or the reviewer output as a file
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", "-", "-"], ""));
    expect![[r#"
        exit 2
        error: cannot read `missing.json`: No such file or directory (os error 2)
        hint: check the path
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", DIFF, "missing.json"], ""));
    expect![[r#"
        exit 2
        error: `README.md`: the text contains no git diff and no unified diff
        hint: pass the output of `git diff`, `git show` or `diff -u`
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", "README.md", "-"], "{}"));
}

#[test]
fn keep_going_marks_reviewer_failed_and_incomplete() {
    let output = crh(&["merge", "--diff", DIFF, "--keep-going", "--format", "envelope", "-"]);
    let two = "{\"reviewer\": \"a\", \"findings\": []}\nnot JSON";
    expect![[r#"
        exit 0
        warning: reviewer reviewer failed: invalid JSON: unexpected text at line 2 column 2
        ---
        Code review complete (headless mode).

        Scope: 2 files, +13 -6
        Intent: not stated
        Reviewers: a, reviewer
        Verdict: Not ready (incomplete): failed reviewers: reviewer

        Applied 0 safe_auto fixes.

        Coverage:
        - Failed reviewers: reviewer
        - Failure of reviewer reviewer: invalid JSON: unexpected text at line 2 column 2

        Review complete
    "#]]
    .assert_eq(&output.stdin(two).run().shown());
    let output = crh(&["merge", "--diff", DIFF, "--keep-going", "--format", "envelope", "-"]);
    expect![[r#"
        exit 0
        warning: reviewer reviewer failed: invalid JSON: unexpected text at line 1 column 2
        ---
        Code review degraded (headless mode). Reason: 0 of 1 reviewers returned results.

        Verdict: Not ready (incomplete): failed reviewers: reviewer; nothing was reviewed

        Review complete
    "#]]
    .assert_eq(&output.stdin("not JSON").run().shown());
    let output = crh(&["merge", "--diff", DIFF, "--keep-going", "--format", "json", "-"]);
    let report: serde_json::Value =
        serde_json::from_str(&output.stdin("not JSON").run().stdout).unwrap();
    assert_eq!(report["files_reviewed"], serde_json::json!([]));
    let coverage = report["coverage"].as_array().unwrap();
    assert_eq!(coverage.len(), 2);
    for file in coverage {
        assert_eq!(
            (&file["state"], &file["reason"]),
            (&"not_reviewed".into(), &"all reviewers failed".into())
        );
    }
}

#[test]
fn truncated_diff_is_incomplete() {
    let diff = read(DIFF);
    let folder = Repo::new();
    folder.write("cut.diff", &diff[..700]);
    let path = folder.path().join("cut.diff");
    let args = ["merge", "--diff", path.to_str().unwrap(), "--format", "text", "-"];
    let output = crh(&args).stdin("{\"reviewer\": \"a\", \"findings\": []}").run();
    let verdict = "Incomplete: 1 file not fully reviewed (shop/orders.py)\n";
    assert!(output.stdout.ends_with(verdict), "{}", output.stdout);
}

#[test]
fn reviewer_option_overrides_name_in_return() {
    let finding = read("examples/shop/returns/reliability.json");
    let two = format!("[{finding},{}]", finding.replace("\"reliability\"", "\"someone else\""));
    let args = ["merge", "--diff", DIFF, "--format", "quickfix", "--reviewer", "solo", "-"];
    let output = crh(&args).stdin(two).run();
    assert_eq!(output.stdout, "", "one voice said twice is not agreement");
}

#[test]
fn unparsed_findings_prevent_ready_to_merge() {
    let green = |text: &str| {
        let output = crh(&["merge", "--diff", DIFF, "--format", "text", "-"]).stdin(text).run();
        (output.code, output.stdout.contains("Ready to merge"))
    };
    let finding = read("examples/shop/returns/security.json");
    let (before, _) = finding.rsplit_once('}').unwrap();
    assert_eq!(green(&format!("{before}, \"findings\": []}}")), (2, false), "a key given twice");
    assert_eq!(
        green(&finding.replace("\"P0\"", "\"critical\"")),
        (0, false),
        "a malformed finding"
    );
    assert_eq!(
        green(&finding.replace("\"security\",\n  \"findings", "\" \",\n  \"findings")),
        (2, false),
        "no name"
    );
    assert_eq!(green("{\"reviewer\": \"a\", \"findings\": []}"), (0, true));
}
