//! `crh merge`.

use expect_test::{expect, expect_file};

use crate::{crh, read};
use crh_testkit::Repo;

const DIFF: &str = "examples/shop/change.diff";

#[test]
fn the_example_of_the_readme_is_merged_and_shown() {
    let returns = ["correctness", "performance", "reliability", "security"]
        .map(|name| format!("examples/shop/returns/{name}.json"));
    let mut args = vec!["merge", "--diff", DIFF, "--format", "text"];
    args.extend(returns.iter().map(String::as_str));
    expect_file!["../data/example.txt"].assert_eq(&crh(&args).run().shown());
}

#[test]
fn returns_come_as_a_list_or_a_line_each_or_on_standard_input() {
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
fn other_dialects_are_read() {
    let crh_return = r#"{"summary": "s", "findings": [
        {"severity": "blocker", "path": "shop/orders.py", "line": 44, "comment": "SQL injection. Anyone reads all."},
        {"severity": "nit", "path": "shop/orders.py", "line": 44, "comment": "Long line"}]}"#;
    let output = crh(&["merge", "--diff", DIFF, "--dialect", "crh", "--format", "quickfix", "-"]);
    expect![[r#"
        exit 0
        ---
        shop/orders.py:20:1: P0 bug: SQL injection
    "#]]
    .assert_eq(&output.stdin(crh_return).run().shown());
}

#[test]
fn quotes_outside_the_diff_need_the_files() {
    let repo = Repo::from_fixture(
        "
        //- a.rs
        fn far_away() { old(); }
        ",
    );
    let finding = r#"{"reviewer": "r", "findings": [{"title": "T", "severity": "P1", "category": "bug",
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
    // A file that the diff shows otherwise is not the one that was reviewed.
    let stale = Repo::new();
    stale.write("shop/orders.py", "something else\n");
    let output = crh(&["merge", "--diff", DIFF, "examples/shop/returns/security.json"]);
    let output = output.args(["--new", stale.path().to_str().unwrap()]).run();
    assert!(
        output.stderr.starts_with("warning: line 1 of `shop/orders.py` in "),
        "{}",
        output.stderr
    );
    // A link out of the folder is not followed.
    let outside = Repo::new();
    outside.write("b.rs", "");
    std::os::unix::fs::symlink(repo.path().join("a.rs"), outside.path().join("a.rs")).unwrap();
    let folder = outside.path().to_str().unwrap();
    assert_eq!(fates(&["--new", folder]), (0, Some("unsupported".to_owned())));
}

#[test]
fn a_model_can_join_a_pair_and_refute_an_issue() {
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
        unknown.contains("warning: the answers judge `0`, which is no issue of this merge"),
        "{unknown}"
    );
}

#[test]
fn bad_input_is_one_sentence_a_hint_and_exit_2() {
    let shown = |args: &[&str], stdin: &str| crh(args).stdin(stdin).run().shown();
    let merge = ["merge", "--diff", DIFF, "-"];
    expect![[r#"
        exit 2
        error: standard input: this is not JSON: expected value at line 1 column 1
        hint: `crh schema return` prints the shape; `--dialect` reads others; `--keep-going` counts it as a failed reviewer
        ---
    "#]].assert_eq(&shown(&merge, "I found nothing wrong."));
    expect![[r#"
        exit 2
        error: standard input: this is empty
        hint: `crh schema return` prints the shape; `--dialect` reads others; `--keep-going` counts it as a failed reviewer
        ---
    "#]].assert_eq(&shown(&merge, ""));
    expect![[r#"
        exit 2
        error: standard input: missing field `reviewer`
        hint: `crh schema return` prints the shape; `--dialect` reads others; `--keep-going` counts it as a failed reviewer
        ---
    "#]].assert_eq(&shown(&merge, "{\"findings\": []}"));
    assert_eq!(
        shown(&["merge", "--diff", DIFF, "--answers", "-", "-"], ""),
        shown(&["merge", "--diff", "-", "-"], "")
    );
    expect![[r#"
        exit 2
        error: opening the folder `missing`: No such file or directory (os error 2)
        hint: `--new` and `--old` take folders that hold the files of the change
        ---
    "#]]
    .assert_eq(&shown(
        &["merge", "--diff", DIFF, "--new", "missing", "-"],
        "{\"reviewer\": \"a\", \"findings\": []}",
    ));
    expect![[r#"
        exit 2
        error: standard input can be read only once
        hint: give the diff or the returns as files
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", "-", "-"], ""));
    expect![[r#"
        exit 2
        error: reading `missing.diff`: No such file or directory (os error 2)
        hint: check the path; `-` reads standard input
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", "missing.diff", "-"], "{}"));
    expect![[r#"
        exit 2
        error: reading `missing.json`: No such file or directory (os error 2)
        hint: check the path; `-` reads standard input
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", DIFF, "missing.json"], ""));
    expect![[r#"
        exit 2
        error: there is no diff in `README.md`
        hint: give it the output of `git diff`
        ---
    "#]]
    .assert_eq(&shown(&["merge", "--diff", "README.md", "-"], "{}"));
}

#[test]
fn a_failed_reviewer_can_be_a_row_and_never_turns_a_review_green() {
    let output = crh(&["merge", "--diff", DIFF, "--keep-going", "--format", "envelope", "-"]);
    let two = "{\"reviewer\": \"a\", \"findings\": []}\nnot JSON";
    expect![[r#"
        exit 0
        warning: reviewer reviewer failed: this is not JSON: expected ident at line 2 column 2
        ---
        Code review complete (headless mode).

        Scope: 2 files, +13 -6
        Intent: not stated
        Reviewers: a, reviewer
        Verdict: Not ready (incomplete): failed reviewers: reviewer

        Applied 0 safe_auto fixes.

        Coverage:
        - Failed reviewers: reviewer

        Review complete
    "#]]
    .assert_eq(&output.stdin(two).run().shown());
    let output = crh(&["merge", "--diff", DIFF, "--keep-going", "--format", "envelope", "-"]);
    expect![[r#"
        exit 0
        warning: reviewer reviewer failed: this is not JSON: expected ident at line 1 column 2
        ---
        Code review degraded (headless mode). Reason: 0 of 1 reviewers returned results.

        Review complete
    "#]]
    .assert_eq(&output.stdin("not JSON").run().shown());
}

#[test]
fn a_diff_that_is_cut_short_is_not_ready() {
    let diff = read(DIFF);
    let folder = Repo::new();
    folder.write("cut.diff", &diff[..700]);
    let path = folder.path().join("cut.diff");
    let args = ["merge", "--diff", path.to_str().unwrap(), "--format", "text", "-"];
    let output = crh(&args).stdin("{\"reviewer\": \"a\", \"findings\": []}").run();
    assert!(
        output.stdout.ends_with("Incomplete: 1 file not wholly reviewed\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn no_prefix_of_a_diff_is_ready() {
    let diff = read(DIFF);
    let folder = Repo::new();
    let path = folder.path().join("cut.diff");
    // Wherever it is cut: between lines, inside one, in a header, in a hunk.
    for end in (0..diff.len()).step_by(41) {
        folder.write("cut.diff", &diff[..end]);
        let args = ["merge", "--diff", path.to_str().unwrap(), "--format", "text", "-"];
        let output = crh(&args).stdin("{\"reviewer\": \"a\", \"findings\": []}").run();
        // Between two files a diff is whole, and nobody can tell.
        let whole = diff[end..].starts_with("diff --git");
        assert!(whole || !output.stdout.contains("Ready to merge"), "{end}: {}", output.stdout);
    }
}

#[test]
fn the_name_on_the_command_line_counts_for_more_than_the_one_in_a_return() {
    let finding = read("examples/shop/returns/reliability.json");
    let two = format!("[{finding},{}]", finding.replace("\"reliability\"", "\"someone else\""));
    let args = ["merge", "--diff", DIFF, "--format", "quickfix", "--reviewer", "solo", "-"];
    let output = crh(&args).stdin(two).run();
    assert_eq!(output.stdout, "", "one voice said twice is not agreement");
}

#[test]
fn nothing_is_lost_in_a_return_and_nothing_unread_is_green() {
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

#[test]
fn the_order_of_the_files_does_not_show() {
    let json = |names: [&str; 2]| {
        let files = names.map(|name| format!("examples/shop/returns/{name}.json"));
        crh(&["merge", "--diff", DIFF, &files[0], &files[1]]).run().stdout
    };
    assert_eq!(json(["correctness", "security"]), json(["security", "correctness"]));
}
