//! Processing of analyser output that needs no sandbox. Sandboxed runs are tested with the program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use expect_test::{Expect, expect};

use super::*;
use crate::testing::Fixture;
use crh_review::finding::{Category, Confidence, Severity};

fn diagnostic(path: &str, line: u32, rule: &str, message: &str) -> Diagnostic {
    Diagnostic {
        path: path.to_owned(),
        line,
        rule: rule.to_owned(),
        message: message.to_owned(),
        severity: Severity::P2,
        category: Category::Bug,
        confidence: Confidence::ONE,
        why: String::new(),
    }
}

fn check_new(fixture: &str, before: &[Diagnostic], after: &[Diagnostic], expected: Expect) {
    let fixture = Fixture::new(fixture);
    let before = SideDiagnostics { diagnostics: before.to_vec(), ..SideDiagnostics::default() };
    expected.assert_eq(&format_new_findings(&fixture, &before, after));
}

/// Findings for the diagnostics of both sides, one per line, and the note.
fn format_new_findings(
    fixture: &Fixture,
    before: &SideDiagnostics,
    after: &[Diagnostic],
) -> String {
    fixture.with(|change| {
        let mut texts = SourceCache::new(change.project.unwrap());
        let new = comparison::new_diagnostics(
            change,
            after.to_vec(),
            before,
            DiagnosticScope::Project,
            &mut texts,
        )
        .unwrap();
        let bounded =
            comparison::limit("lint", new, &mut texts, &CredentialMask::for_change(change))
                .unwrap();
        let shown = |it: &FindingDraft| {
            format!("{}:{} {}: {} | {}\n", it.file, it.line, it.rule, it.why, it.snippet)
        };
        let note = bounded.note().unwrap_or_default();
        bounded.findings.iter().map(shown).chain([note]).collect()
    })
}

#[test]
fn old_diagnostic_is_not_new_on_another_line() {
    check_new(
        "//- a.py\nbad( 1 )\n//- head\n//- a.py\n\n    bad( 1 )\nbad(2)\n",
        &[diagnostic("a.py", 1, "X1", "bad")],
        &[
            diagnostic("a.py", 2, "X1", "bad"),
            diagnostic("a.py", 3, "X1", "bad"),
            diagnostic("a.py", 2, "X2", "worse"),
        ],
        expect![[r#"
            a.py:2 lint/X2: worse. (lint X2) |     bad( 1 )
            a.py:3 lint/X1: bad. (lint X1) | bad(2)
        "#]],
    );
}

#[test]
fn renamed_file_keeps_its_old_diagnostics() {
    check_new(
        "//- a.py\nbad(1)\n//- head\n//- b.py from a.py\nbad(1)\nbad(2)\n",
        &[diagnostic("a.py", 1, "X1", "bad")],
        &[diagnostic("b.py", 1, "X1", "bad"), diagnostic("b.py", 2, "X1", "bad")],
        expect![[r#"
            b.py:2 lint/X1: bad. (lint X1) | bad(2)
        "#]],
    );
}

#[test]
fn diagnostic_on_moved_line_is_not_new() {
    let fixture = "//- a.py\nbad(1)\ngood()\n//- b.py\ny = 2\n//- head\n//- a.py\ngood()\n//- b.py\ny = 2\nbad(1)\n";
    let after = [diagnostic("b.py", 2, "X1", "bad")];
    check_new(fixture, &[diagnostic("a.py", 1, "X1", "bad")], &after, expect![""]);
    // The analyser reported another rule at the old place.
    let new = expect![[r#"
        b.py:2 lint/X1: bad. (lint X1) | bad(1)
    "#]];
    check_new(fixture, &[diagnostic("a.py", 1, "X2", "bad")], &after, new);
    // The line was in a test before.
    let test = fixture.replace("- a.py", "- tests/a.py");
    let new = expect![[r#"
        b.py:2 lint/X1: bad. (lint X1) | bad(1)
    "#]];
    check_new(&test, &[diagnostic("tests/a.py", 1, "X1", "bad")], &after, new);
    // The file that the line was moved from must be checked too.
    let asked = Fixture::new(fixture).with(|change| {
        let mut texts = SourceCache::new(change.project.unwrap());
        let asked: Vec<&ChangedFile> = change.files.iter().filter(|it| it.path == "b.py").collect();
        let after = SideDiagnostics { diagnostics: after.to_vec(), ..SideDiagnostics::default() };
        comparison::origin_paths(change, &asked, &after, &mut texts).unwrap()
    });
    assert_eq!(asked, ["b.py", "a.py"]);
}

#[test]
fn unchecked_old_file_reports_only_added_lines() {
    let fixture = Fixture::new("//- a.py\nbad(1)\n//- head\n//- a.py\nbad(1)\nbad(2)\n");
    let unread_files = vec![("a.py".into(), "too large".into())];
    let after = [diagnostic("a.py", 1, "X1", "bad"), diagnostic("a.py", 2, "X1", "bad")];
    let expected = expect![[r#"
        a.py:2 lint/X1: bad. (lint X1) | bad(2)
    "#]];
    for before in [
        SideDiagnostics { unread_files, ..SideDiagnostics::default() },
        SideDiagnostics { unparsed_files: ["a.py".into()].into(), ..SideDiagnostics::default() },
        SideDiagnostics {
            failed_files: vec![("a.py".into(), "slow".into())],
            ..SideDiagnostics::default()
        },
    ] {
        expected.assert_eq(&format_new_findings(&fixture, &before, &after));
    }
}

#[test]
fn unparsed_file_is_unfinished_if_it_was_parsed_before() {
    let fixture = Fixture::new(
        "//- a.py\nx\n//- b.py\nx\n//- head\n//- a.py\ny\n//- c.py from b.py\ny\n//- new.py\ny\n//- tests/bad.py\ny\n//- ok.py\ny\n",
    );
    let side = |paths: &[&str]| SideDiagnostics {
        unparsed_files: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..SideDiagnostics::default()
    };
    let after = side(&["a.py", "c.py", "new.py", "tests/bad.py"]);
    fixture.with(|change| {
        let files: Vec<&ChangedFile> = change.files.iter().collect();
        let unfinished =
            |old: &[&str]| comparison::newly_unparsed_files(&files, &after, &side(old));
        assert_eq!(unfinished(&[]), ["a.py", "c.py", "new.py"]);
        assert_eq!(unfinished(&["a.py", "b.py"]), ["new.py"]);
        // The old texts are checked too.
        let mut texts = SourceCache::new(change.project.unwrap());
        let asked = comparison::origin_paths(change, &files, &after, &mut texts).unwrap();
        assert_eq!(asked, ["a.py", "b.py"]);
    });
}

#[test]
fn ignore_comment_covers_only_its_line() {
    check_new(
        "//- head\n//- a.py\nf(x)  # noqa: X1\ng(x)\nh(x)\n",
        &[],
        &[1, 2, 3].map(|line| diagnostic("a.py", line, "X1", "no `x`")),
        expect![[r#"
            a.py:1 lint/X1: no `x`. (lint X1) | f(x)  # noqa: X1
            a.py:2 lint/X1: no `x`. (lint X1) The same applies to 1 more line of this file. | g(x)
        "#]],
    );
}

#[test]
fn most_severe_first_and_ignored_have_own_limit() {
    let lines = "bad()  # noqa: X1\n".repeat(60) + &"bad()\n".repeat(60) + "worst()\n";
    let fixture = Fixture::new(&format!("//- head\n//- a.py\n{lines}"));
    let mut after: Vec<Diagnostic> =
        (1..=120).map(|line| diagnostic("a.py", line, "X1", &format!("bad {line}"))).collect();
    after.push(Diagnostic { severity: Severity::P1, ..diagnostic("a.py", 121, "X2", "worst") });
    let shown = format_new_findings(&fixture, &SideDiagnostics::default(), &after);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 101);
    assert_eq!(
        lines[99..],
        ["a.py:121 lint/X2: worst. (lint X2) | worst()", "21 more findings are not listed"]
    );
}

#[test]
fn credentials_are_masked_in_diagnostics() {
    let key = format!("AKIA{}", "Z7Q2M4N6P3R5T4V7");
    let fixture = Fixture::new(&format!("//- head\n//- a.py\nkey = \"{key}\"\n"));
    assert_eq!(
        fixture.with(|change| CredentialMask::for_change(change).apply(&format!("a {key}"))),
        "a ****"
    );
    let shown = format_new_findings(
        &fixture,
        &SideDiagnostics::default(),
        &[diagnostic("a.py", 1, "X1", "bad")],
    );
    assert_eq!(shown, "a.py:1 lint/X1: bad. (lint X1) | key = \"****\"\n");
}

#[test]
fn unwritable_files_are_listed_and_others_written() {
    let long = "n".repeat(256);
    let large = "x".repeat(FILE_BYTES_MAX + 1);
    let files = format!("//- a.py\nx = 1\n//- {long}.py\nx = 1\n//- large.py\n{large}\n");
    let fixture = Fixture::new(&files);
    let scratch = Scratch::new().unwrap();
    let paths =
        ["a.py".to_owned(), format!("{long}.py"), "large.py".to_owned(), "no.py".to_owned()];
    let unread = write_files(&scratch, &fixture, Side::New, &paths, |text| text);
    let reasons: Vec<&str> = unread.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(
        reasons,
        ["File name too long (os error 36)", "larger than 1000000 bytes", "not a regular file"]
    );
    assert!(scratch.tree().join("a.py").exists());
    let unread = scratch.write_tree(&fixture, Side::New).unwrap();
    assert_eq!(unread, [(format!("{long}.py"), reasons[0].to_owned())]);
}

/// ruff skips files that are not UTF-8. Python runs them.
#[test]
fn analysers_get_every_file_as_utf8() {
    struct Latin1;
    impl Project for Latin1 {
        fn file(&self, _: Side, _: &str) -> Result<Option<Vec<u8>>, String> {
            Ok(Some(b"# coding: latin-1\nx = '\xe9'\n".to_vec()))
        }
        fn paths(&self, _: Side) -> Result<&[String], String> {
            Ok(&[])
        }
        fn search(&self, _: Side, _: &[&str], _: usize) -> Result<crate::SearchHits, String> {
            Ok(crate::SearchHits::default())
        }
    }
    let scratch = Scratch::new().unwrap();
    let unread = write_files(&scratch, &Latin1, Side::New, &["a.py".to_owned()], |text| text);
    assert_eq!(unread, []);
    let text = fs::read_to_string(scratch.tree().join("a.py")).unwrap();
    assert_eq!(text, "# coding: latin-1\nx = '\u{fffd}'\n");
}

#[test]
fn semgrep_names_files_that_it_could_not_check() {
    let output = r#"{"results": [], "errors": [
        {"code": 2, "level": "warn", "type": "Timeout", "path": "slow.py", "message": "Timeout"},
        {"code": 4, "level": "error", "type": "Rule parse error", "message": "bad rule"}
    ]}"#;
    let semgrep = semgrep::SemgrepAnalyser { rules: Vec::new() };
    let report = semgrep.parse_output(&process_output(output)).unwrap();
    assert_eq!(report.unparsed_files, ["slow.py"]);
}

#[test]
fn scratch_folder_is_removed_with_any_contents() {
    let scratch = Scratch::new().unwrap();
    let root = scratch.root().to_owned();
    // A folder chain deeper than the longest path.
    let mut chain = root.join("chain");
    fs::create_dir(&chain).unwrap();
    for number in 0..2_000 {
        let above = root.join(format!("above{number}"));
        fs::create_dir(&above).unwrap();
        fs::rename(&chain, above.join("in")).unwrap();
        chain = above;
    }
    let shut = root.join("shut/in");
    fs::create_dir_all(&shut).unwrap();
    fs::write(root.join("1.moved"), "").unwrap();
    for folder in [&shut, shut.parent().unwrap()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o0)).unwrap();
    }
    assert_eq!(scratch.remove(), None);
    assert!(!root.exists());
}

#[test]
fn only_linters_of_single_files_run_in_batches() {
    let trusted = TrustedRepo { checkout: None };
    for (analyser, expected) in [
        (&ruff::RuffAnalyser as &dyn Analyser, true),
        (&shellcheck::ShellcheckAnalyser, true),
        (&eslint::EslintAnalyser { trusted: None }, true),
        (&eslint::EslintAnalyser { trusted: Some(&trusted) }, false),
        (&semgrep::SemgrepAnalyser { rules: Vec::new() }, false),
        (&tsc::TscAnalyser { trusted: &trusted }, false),
    ] {
        assert_eq!(analyser.checks_files_alone(), expected);
    }
    assert_eq!(
        batch_error(SandboxJobError::Timeout(3)),
        BatchError::Files("it did not end within 3 seconds".to_owned())
    );
    // The empty file replaces no file of the change.
    let files = ["a/b.sh", "empty.sh"].map(str::to_owned);
    assert_eq!(unused_path(&files), "0empty.sh");
}

#[test]
fn crashed_analyser_is_a_failed_run() {
    assert_eq!(crashed_run("ruff").outcome, Err("it crashed".to_owned()));
}

#[test]
fn same_message_in_a_file_is_merged() {
    check_new(
        "//- head\n//- a.py\nf(x)\ng(x)\nh(x)\ni(y)\n",
        &[],
        &[
            diagnostic("a.py", 3, "X1", "no `x`"),
            diagnostic("a.py", 1, "X1", "no `x`"),
            diagnostic("a.py", 2, "X1", "no `x`"),
            diagnostic("a.py", 4, "X1", "no `y`"),
        ],
        expect![[r#"
            a.py:1 lint/X1: no `x`. (lint X1) The same applies to 2 more lines of this file. | f(x)
            a.py:4 lint/X1: no `y`. (lint X1) | i(y)
        "#]],
    );
}

#[test]
fn diagnostics_on_missing_lines_are_dropped() {
    check_new(
        "//- head\n//- a.py\nx = 1\n\n",
        &[diagnostic("gone.py", 7, "X1", "bad")],
        &[
            diagnostic("a.py", 0, "X1", "bad"),
            diagnostic("a.py", 9, "X1", "bad"),
            diagnostic("../b.py", 1, "X1", "bad"),
        ],
        expect![""],
    );
}

fn process_output(stdout: &str) -> ProcessOutput {
    ProcessOutput {
        status: ExitStatus::from_raw(0),
        stdout: stdout.as_bytes().to_vec(),
        stderr: b"oh\nno".to_vec(),
    }
}

fn check_read(analyser: &dyn Analyser, stdout: &str, expected: Expect) {
    let shown = match analyser.parse_output(&process_output(stdout)) {
        Ok(report) => {
            let diagnostics = report.diagnostics.iter().map(|it| {
                format!("{}:{} {} {} {}\n", it.path, it.line, it.rule, it.severity, it.message)
            });
            let unparsed = report.unparsed_files.iter().map(|path| format!("{path}: unparsed\n"));
            diagnostics.chain(unparsed).collect()
        }
        Err(why) => why,
    };
    expected.assert_eq(&shown);
}

#[test]
fn only_defect_rules_are_kept() {
    let row = |code: &str| {
        format!(
            r#"{{"code": {code}, "message": "m", "filename": "a.py", "location": {{"row": 2}}}}"#
        )
    };
    let rows = ["\"F821\"", "\"B012\"", "\"PLW0711\"", "\"F401\"", "null"].map(row).join(",");
    check_read(
        &ruff::RuffAnalyser,
        &format!("[{rows}]"),
        expect![[r#"
        a.py:2 F821 P1 m
        a.py:2 B012 P2 m
        a.py:2 PLW0711 P2 m
        a.py: unparsed
    "#]],
    );
    let eslint = eslint::EslintAnalyser { trusted: None };
    let messages = r#"[{"ruleId": "no-const-assign", "severity": 2, "message": "m", "line": 1},
        {"ruleId": "no-dupe-keys", "severity": 2, "message": "m", "line": 2},
        {"ruleId": "semi", "severity": 2, "message": "m", "line": 3},
        {"ruleId": null, "severity": 2, "message": "Parsing error", "line": 4, "fatal": true},
        {"ruleId": "no-dupe-keys", "severity": 2, "message": "m"}]"#;
    let suppressed = r#"[{"ruleId": "no-dupe-keys", "severity": 2, "message": "m", "line": 5}]"#;
    let eslint_printed = format!(
        r#"[{{"filePath": "/s/a.js", "messages": {messages}, "suppressedMessages": {suppressed}}}]"#
    );
    check_read(
        &eslint,
        &eslint_printed,
        expect![[r#"
        /s/a.js:1 no-const-assign P1 m
        /s/a.js:2 no-dupe-keys P2 m
        /s/a.js:5 no-dupe-keys P2 m
        /s/a.js: unparsed
    "#]],
    );
    let trusted = TrustedRepo { checkout: None };
    let eslint = eslint::EslintAnalyser { trusted: Some(&trusted) };
    check_read(
        &eslint,
        &eslint_printed,
        expect![[r#"
        /s/a.js:1 no-const-assign P1 m
        /s/a.js:2 no-dupe-keys P2 m
        /s/a.js:3 semi P3 m
        /s/a.js:5 no-dupe-keys P2 m
        /s/a.js: unparsed
    "#]],
    );
    let comments = r#"{"comments": [{"file": "a.sh", "line": 1, "code": 2115, "message": "m", "level": "warning"},
        {"file": "a.sh", "line": 2, "code": 2077, "message": "m", "level": "error"},
        {"file": "a.sh", "line": 3, "code": 2086, "message": "m", "level": "info"},
        {"file": "b.sh", "line": 3, "code": 1072, "message": "m", "level": "error"}]}"#;
    check_read(
        &shellcheck::ShellcheckAnalyser,
        comments,
        expect![[r#"
        a.sh:1 SC2115 P1 m
        a.sh:2 SC2077 P2 m
        b.sh: unparsed
    "#]],
    );
}

#[test]
fn semgrep_drops_info_and_keeps_ignored_results() {
    let semgrep = semgrep::SemgrepAnalyser { rules: Vec::new() };
    let result = |severity: &str, more: &str| {
        format!(
            r#"{{"check_id": "tmp.x.no-eval", "path": "a.py", "start": {{"line": 1}}, "extra": {{"message": "m", "severity": "{severity}"{more}}}}}"#
        )
    };
    let results = [
        result("ERROR", ""),
        result("WARNING", ""),
        result("INFO", ""),
        result("ERROR", r#", "is_ignored": true"#),
    ];
    check_read(
        &semgrep,
        &format!(r#"{{"results": [{}]}}"#, results.join(",")),
        expect![[r#"
        a.py:1 no-eval P2 m
        a.py:1 no-eval P3 m
        a.py:1 no-eval P2 m
    "#]],
    );
}

#[test]
fn type_checkers_report_errors_only() {
    let trusted = TrustedRepo { checkout: None };
    let check = |checker, printed: &str, expected: Expect| {
        let analyser = TypeCheckAnalyser { checker, trusted: &trusted, toolchain: Ok(None) };
        check_read(&analyser, printed, expected);
    };
    check(
        TypeChecker::CargoCheck,
        "    Checking a v0.1.0 (/s/a: b)\nsrc/a.rs:3:5: error[E0308]: mismatched types: x\nsrc/a.rs:4:5: error: expected `;`\nsrc/a.rs:9:9: warning: unused\nerror: could not compile `a`\n",
        expect![[r#"
            src/a.rs:3 E0308 P1 mismatched types: x
            src/a.rs:4 error P1 expected `;`
        "#]],
    );
    check(
        TypeChecker::Mypy,
        "a.py:3: error: Incompatible return value [x]  [return-value]\na.py:4:5: error: No  [attr-defined]\na.py:1: error: No library stub  [import-untyped]\na.py:4: note: See\n",
        expect![[r#"
            a.py:3 return-value P2 Incompatible return value [x]
            a.py:4 attr-defined P2 No
        "#]],
    );
    check(
        TypeChecker::Pyright,
        r#"{"generalDiagnostics": [
            {"file": "/s/a.py", "severity": "error", "message": "m", "rule": "reportCallIssue", "range": {"start": {"line": 2}}},
            {"file": "/s/a.py", "severity": "warning", "message": "m", "range": {"start": {"line": 3}}},
            {"file": "/s/a.py", "severity": "error", "message": "m", "rule": "reportMissingImports", "range": {"start": {"line": 4}}}]}"#,
        expect![[r#"
            /s/a.py:3 reportCallIssue P2 m
        "#]],
    );
    check(
        TypeChecker::GoVet,
        "# m/a\nvet: ./a.go:3:5: undefined: x\na/b.go:7:2: Printf format %d has arg\n",
        expect![[r#"
            ./a.go:3 error P1 undefined: x
            a/b.go:7 error P2 Printf format %d has arg
        "#]],
    );
    check(
        TypeChecker::Javac,
        "A.java:3: error: incompatible types: String cannot be converted to int\n    int a = x;\n            ^\n1 error\n",
        expect![[r#"
            A.java:3 error P1 incompatible types: String cannot be converted to int
        "#]],
    );
    check(
        TypeChecker::Javac,
        "A.java:1: error: package org.x does not exist\nA.java:3: error: cannot find symbol\n",
        expect!["dependencies of the project are not installed"],
    );
}

#[test]
fn unparsable_output_error_quotes_stderr() {
    for analyser in [
        &ruff::RuffAnalyser as &dyn Analyser,
        &eslint::EslintAnalyser { trusted: None },
        &shellcheck::ShellcheckAnalyser,
    ] {
        check_read(
            analyser,
            "Segmentation fault",
            expect!["what it printed is not understood; it says: oh no"],
        );
    }
}

#[test]
fn analysers_run_with_ignore_comments_disabled() {
    let scratch = Scratch::new().unwrap();
    let trusted = TrustedRepo { checkout: None };
    for (analyser, word, expected) in [
        (&ruff::RuffAnalyser as &dyn Analyser, "--ignore-noqa", true),
        (&eslint::EslintAnalyser { trusted: None }, "--no-inline-config", true),
        // Comments of a project with its own configuration also declare globals, so they count.
        (&eslint::EslintAnalyser { trusted: Some(&trusted) }, "--no-inline-config", false),
        (&semgrep::SemgrepAnalyser { rules: Vec::new() }, "--disable-nosem", true),
    ] {
        let args = analyser.args(&["a".to_owned()], &scratch).unwrap();
        assert_eq!(args.contains(&word.to_owned()), expected, "{args:?}");
    }
    // shellcheck has no option that ignores directives, so crh disarms them in the text.
    let text = "#!/bin/sh\n# shellcheck shell=sh disable=SC2086\necho disable=1\n  #shellcheck disable=all\n";
    let shown = shellcheck::ShellcheckAnalyser.prepare_text(text.as_bytes().to_vec());
    assert_eq!(
        String::from_utf8(shown).unwrap(),
        "#!/bin/sh\n# (disarmed) shell=sh disable=SC2086\necho disable=1\n  #(disarmed) disable=all\n"
    );
}

#[test]
fn paths_out_of_the_scratch_folder_are_rejected() {
    let scratch = Scratch::new().unwrap();
    for path in ["../a", "/a", "a/../../b", "a//b", "./a", "", "a/"] {
        assert!(scratch.write(path, b"x").is_err(), "{path}");
    }
    scratch.write("-rf/a b.py", b"x").unwrap();
    let real = scratch.tree().join("-rf/a b.py");
    assert_eq!(scratch.repo_path(real.to_str().unwrap()), "-rf/a b.py");
    assert_eq!(scratch.repo_path("./-rf/a b.py"), "-rf/a b.py");
}

#[test]
fn scratch_folder_is_private() {
    let scratch = Scratch::new().unwrap();
    let mode = fs::metadata(scratch.root()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn checkout_modules_are_linked_but_never_replace_files() {
    let checkout = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for folder in ["node_modules", "web/node_modules", "own/node_modules"] {
        fs::create_dir_all(checkout.path().join(folder)).unwrap();
    }
    fs::create_dir(checkout.path().join("led")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), checkout.path().join("led/node_modules")).unwrap();
    let scratch = Scratch::new().unwrap();
    for file in ["web/src/a.js", "own/node_modules/x.js", "led/a.js"] {
        scratch.write(file, b"x").unwrap();
    }
    let files = ["web/src/a.js", "own/b.js", "led/a.js", "gone/c.js"].map(str::to_owned);
    let linked = scratch.link_modules(checkout.path(), &files).unwrap();
    let expected = ["node_modules", "web/node_modules"].map(|it| checkout.path().join(it));
    assert_eq!(linked, expected);
}

/// Analysers whose only program is a `tsc` that fails. It must not run.
fn with_tsc() -> (tempfile::TempDir, Analysers) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tsc");
    fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let trusted = Some(TrustedRepo { checkout: None });
    let analysers =
        Analysers::find(Path::new("/bin/false"), folder.path().as_os_str(), None, trusted);
    (folder, analysers)
}

#[test]
fn missing_typescript_configuration_is_noted() {
    let (_folder, analysers) = with_tsc();
    let fixture = Fixture::new("//- a.ts\nlet a = 1;\n//- head\n//- a.ts\nlet a = 2;\n");
    let runs = fixture.with(|change| analysers.review(change));
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    let notes = &run.outcome.as_ref().unwrap().notes;
    assert_eq!(notes, &["skipped: the root folder has no `tsconfig.json`"]);
    assert!(run.files.is_empty(), "{:?}", run.files);
    let fixture = Fixture::new("//- a.py\na = 1\n//- head\n//- a.py\na = 2\n");
    assert!(fixture.with(|change| analysers.review(change)).is_empty());
}
