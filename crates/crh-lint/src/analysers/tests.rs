//! What is made of what analysers print, as far as that needs no sandbox. What runs in one is shown with the program.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use expect_test::{Expect, expect};

use super::*;
use crate::testing::Fixture;
use crh_review::finding::{Category, Confidence, Severity};

fn said(path: &str, line: u32, rule: &str, message: &str) -> Said {
    Said {
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

fn check_new(fixture: &str, before: &[Said], after: &[Said], expected: Expect) {
    let fixture = Fixture::new(fixture);
    let before = Sided { said: before.to_vec(), ..Sided::default() };
    expected.assert_eq(&shown(&fixture, &before, after));
}

/// What comes of what was said on both sides, a finding a line, and the note.
fn shown(fixture: &Fixture, before: &Sided, after: &[Said]) -> String {
    fixture.with(|change| {
        let mut texts = Texts::new(change.project.unwrap());
        let new = new::said(change, after.to_vec(), before, &mut texts).unwrap();
        let bounded = new::bounded("lint", new, &mut texts, &Mask::of(change)).unwrap();
        let shown = |it: &Found| {
            format!("{}:{} {}: {} | {}\n", it.file, it.line, it.rule, it.why, it.snippet)
        };
        let note = bounded.note().unwrap_or_default();
        bounded.found.iter().map(shown).chain([note]).collect()
    })
}

#[test]
fn what_was_there_before_is_nothing_new_wherever_it_stands() {
    check_new(
        "//- a.py\nbad( 1 )\n//- head\n//- a.py\n\n    bad( 1 )\nbad(2)\n",
        &[said("a.py", 1, "X1", "bad")],
        &[
            said("a.py", 2, "X1", "bad"),
            said("a.py", 3, "X1", "bad"),
            said("a.py", 2, "X2", "worse"),
        ],
        expect![[r#"
            a.py:2 lint/X2: worse. (lint X2) |     bad( 1 )
            a.py:3 lint/X1: bad. (lint X1) | bad(2)
        "#]],
    );
}

#[test]
fn a_file_that_was_renamed_is_the_same_file() {
    check_new(
        "//- a.py\nbad(1)\n//- head\n//- b.py from a.py\nbad(1)\nbad(2)\n",
        &[said("a.py", 1, "X1", "bad")],
        &[said("b.py", 1, "X1", "bad"), said("b.py", 2, "X1", "bad")],
        expect![[r#"
            b.py:2 lint/X1: bad. (lint X1) | bad(2)
        "#]],
    );
}

#[test]
fn a_line_that_only_moved_is_nothing_new() {
    let fixture = "//- a.py\nbad(1)\ngood()\n//- b.py\ny = 2\n//- head\n//- a.py\ngood()\n//- b.py\ny = 2\nbad(1)\n";
    let after = [said("b.py", 2, "X1", "bad")];
    check_new(fixture, &[said("a.py", 1, "X1", "bad")], &after, expect![""]);
    // Where it was nothing bad, it has become that by moving.
    let new = expect![[r#"
        b.py:2 lint/X1: bad. (lint X1) | bad(1)
    "#]];
    check_new(fixture, &[said("a.py", 1, "X2", "bad")], &after, new);
    // To know that, the file that it was taken from is asked about too.
    let asked = Fixture::new(fixture).with(|change| {
        let mut texts = Texts::new(change.project.unwrap());
        let asked: Vec<&ChangedFile> = change.files.iter().filter(|it| it.path == "b.py").collect();
        new::origins(change, &asked, &after, &mut texts).unwrap()
    });
    assert_eq!(asked, ["b.py", "a.py"]);
}

#[test]
fn of_a_file_that_could_not_be_shown_before_only_added_lines_count() {
    let fixture = Fixture::new("//- a.py\nbad(1)\n//- head\n//- a.py\nbad(1)\nbad(2)\n");
    let before = Sided { unread: vec![("a.py".into(), "too large".into())], ..Sided::default() };
    let after = [said("a.py", 1, "X1", "bad"), said("a.py", 2, "X1", "bad")];
    let expected = expect![[r#"
        a.py:2 lint/X1: bad. (lint X1) | bad(2)
    "#]];
    expected.assert_eq(&shown(&fixture, &before, &after));
}

#[test]
fn one_comment_silences_no_other_line() {
    check_new(
        "//- head\n//- a.py\nf(x)  # noqa: X1\ng(x)\nh(x)\n",
        &[],
        &[1, 2, 3].map(|line| said("a.py", line, "X1", "no `x`")),
        expect![[r#"
            a.py:1 lint/X1: no `x`. (lint X1) | f(x)  # noqa: X1
            a.py:2 lint/X1: no `x`. (lint X1) The same is true of 1 more line of this file. | g(x)
        "#]],
    );
}

#[test]
fn the_worst_are_told_first_and_what_is_silenced_takes_nobodys_place() {
    let lines = "bad()  # noqa: X1\n".repeat(60) + &"bad()\n".repeat(60) + "worst()\n";
    let fixture = Fixture::new(&format!("//- head\n//- a.py\n{lines}"));
    let mut after: Vec<Said> =
        (1..=120).map(|line| said("a.py", line, "X1", &format!("bad {line}"))).collect();
    after.push(Said { severity: Severity::P1, ..said("a.py", 121, "X2", "worst") });
    let shown = shown(&fixture, &Sided::default(), &after);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 101);
    assert_eq!(
        lines[99..],
        ["a.py:121 lint/X2: worst. (lint X2) | worst()", "21 more findings are not listed"]
    );
}

#[test]
fn no_credential_goes_on() {
    let key = format!("AKIA{}", "Z7Q2M4N6P3R5T4V7");
    let fixture = Fixture::new(&format!("//- head\n//- a.py\nkey = \"{key}\"\n"));
    assert_eq!(fixture.with(|change| Mask::of(change).text(&format!("a {key}"))), "a ****");
    let shown = shown(&fixture, &Sided::default(), &[said("a.py", 1, "X1", "bad")]);
    assert_eq!(shown, "a.py:1 lint/X1: bad. (lint X1) | key = \"****\"\n");
}

#[test]
fn what_cannot_be_laid_out_is_named_and_the_rest_is() {
    let long = "n".repeat(256);
    let large = "x".repeat(FILE_BYTES_MAX + 1);
    let files = format!("//- a.py\nx = 1\n//- {long}.py\nx = 1\n//- large.py\n{large}\n");
    let fixture = Fixture::new(&files);
    let scratch = Scratch::new().unwrap();
    let paths =
        ["a.py".to_owned(), format!("{long}.py"), "large.py".to_owned(), "no.py".to_owned()];
    let unread = lay_out_files(&scratch, &fixture, Side::New, &paths, |text| text);
    let reasons: Vec<&str> = unread.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "File name too long (os error 36)",
            "it has more than 1000000 bytes",
            "it is no file with lines"
        ]
    );
    assert!(scratch.tree().join("a.py").exists());
    let unread = scratch.lay_out(&fixture, Side::New).unwrap();
    assert_eq!(unread, [(format!("{long}.py"), reasons[0].to_owned())]);
}

#[test]
fn whatever_is_left_in_the_scratch_folder_is_removed() {
    let scratch = Scratch::new().unwrap();
    let root = scratch.root().to_owned();
    // A chain that is deeper than the longest path, made the way it is taken apart.
    let mut chain = root.join("chain");
    std::fs::create_dir(&chain).unwrap();
    for number in 0..2_000 {
        let above = root.join(format!("above{number}"));
        std::fs::create_dir(&above).unwrap();
        std::fs::rename(&chain, above.join("in")).unwrap();
        chain = above;
    }
    let shut = root.join("shut/in");
    std::fs::create_dir_all(&shut).unwrap();
    std::fs::write(root.join("1.moved"), "").unwrap();
    for folder in [&shut, shut.parent().unwrap()] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o0)).unwrap();
    }
    assert_eq!(scratch.remove(), None);
    assert!(!root.exists());
}

#[test]
fn an_analyser_that_crashes_is_a_row() {
    assert_eq!(crashed("ruff").outcome, Err("it crashed".to_owned()));
}

#[test]
fn what_is_said_again_and_again_of_a_file_is_said_once() {
    check_new(
        "//- head\n//- a.py\nf(x)\ng(x)\nh(x)\ni(y)\n",
        &[],
        &[
            said("a.py", 3, "X1", "no `x`"),
            said("a.py", 1, "X1", "no `x`"),
            said("a.py", 2, "X1", "no `x`"),
            said("a.py", 4, "X1", "no `y`"),
        ],
        expect![[r#"
            a.py:1 lint/X1: no `x`. (lint X1) The same is true of 2 more lines of this file. | f(x)
            a.py:4 lint/X1: no `y`. (lint X1) | i(y)
        "#]],
    );
}

#[test]
fn lines_and_files_that_are_not_there_are_no_findings() {
    check_new(
        "//- head\n//- a.py\nx = 1\n\n",
        &[said("gone.py", 7, "X1", "bad")],
        &[
            said("a.py", 0, "X1", "bad"),
            said("a.py", 9, "X1", "bad"),
            said("../b.py", 1, "X1", "bad"),
        ],
        expect![""],
    );
}

fn printed(stdout: &str) -> Finished {
    Finished {
        status: ExitStatus::from_raw(0),
        stdout: stdout.as_bytes().to_vec(),
        stderr: b"oh\nno".to_vec(),
    }
}

fn check_read(analyser: &dyn Analyser, stdout: &str, expected: Expect) {
    let shown = match analyser.read(&printed(stdout)) {
        Ok(said) => said
            .iter()
            .map(|it| {
                format!("{}:{} {} {} {}\n", it.path, it.line, it.rule, it.severity, it.message)
            })
            .collect(),
        Err(why) => why,
    };
    expected.assert_eq(&shown);
}

#[test]
fn of_what_analysers_print_only_defects_are_kept() {
    let program = &Installed { program: "/x".into(), readable: Vec::new() };
    let ruff = ruff::Ruff { program };
    let row = |code: &str| {
        format!(
            r#"{{"code": {code}, "message": "m", "filename": "a.py", "location": {{"row": 2}}}}"#
        )
    };
    let rows = ["\"F821\"", "\"B012\"", "\"PLW0711\"", "\"F401\"", "null"].map(row).join(",");
    check_read(
        &ruff,
        &format!("[{rows}]"),
        expect![[r#"
        a.py:2 F821 P1 m
        a.py:2 B012 P2 m
        a.py:2 PLW0711 P2 m
    "#]],
    );
    let eslint = eslint::Eslint { program, trusted: None };
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
    "#]],
    );
    let trusted = Trusted { checkout: None };
    let eslint = eslint::Eslint { program, trusted: Some(&trusted) };
    check_read(
        &eslint,
        &eslint_printed,
        expect![[r#"
        /s/a.js:1 no-const-assign P1 m
        /s/a.js:2 no-dupe-keys P2 m
        /s/a.js:3 semi P3 m
        /s/a.js:5 no-dupe-keys P2 m
    "#]],
    );
    let shellcheck = shellcheck::Shellcheck { program };
    let comments = r#"{"comments": [{"file": "a.sh", "line": 1, "code": 2115, "message": "m", "level": "warning"},
        {"file": "a.sh", "line": 2, "code": 2077, "message": "m", "level": "error"},
        {"file": "a.sh", "line": 3, "code": 2086, "message": "m", "level": "info"}]}"#;
    check_read(
        &shellcheck,
        comments,
        expect![[r#"
        a.sh:1 SC2115 P1 m
        a.sh:2 SC2077 P2 m
    "#]],
    );
}

#[test]
fn of_what_rules_of_semgrep_find_information_is_left_out_and_what_is_ignored_is_not() {
    let program = &Installed { program: "/x".into(), readable: Vec::new() };
    let semgrep = semgrep::Semgrep { program, rules: Vec::new() };
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
fn what_is_not_understood_comes_with_what_was_complained_about() {
    let program = &Installed { program: "/x".into(), readable: Vec::new() };
    for analyser in [
        &ruff::Ruff { program } as &dyn Analyser,
        &eslint::Eslint { program, trusted: None },
        &shellcheck::Shellcheck { program },
    ] {
        check_read(
            analyser,
            "Segmentation fault",
            expect!["what it printed is not understood; it says: oh no"],
        );
    }
}

#[test]
fn analysers_leave_it_to_us_what_a_comment_silences() {
    let program = &Installed { program: "/x".into(), readable: Vec::new() };
    let scratch = Scratch::new().unwrap();
    let trusted = Trusted { checkout: None };
    for (analyser, word, expected) in [
        (&ruff::Ruff { program } as &dyn Analyser, "--ignore-noqa", true),
        (&eslint::Eslint { program, trusted: None }, "--no-inline-config", true),
        // A project's own comments also say what globals there are.
        (&eslint::Eslint { program, trusted: Some(&trusted) }, "--no-inline-config", false),
        (&semgrep::Semgrep { program, rules: Vec::new() }, "--disable-nosem", true),
    ] {
        let args = analyser.args(&["a".to_owned()], &scratch).unwrap();
        assert_eq!(args.contains(&word.to_owned()), expected, "{args:?}");
    }
    // shellcheck has no such option.
    let text = "#!/bin/sh\n# shellcheck shell=sh disable=SC2086\necho disable=1\n  #shellcheck disable=all\n";
    let shown = shellcheck::Shellcheck { program }.shown(text.as_bytes().to_vec());
    assert_eq!(
        String::from_utf8(shown).unwrap(),
        "#!/bin/sh\n# shellcheck shell=sh ignored=SC2086\necho disable=1\n  #shellcheck ignored=all\n"
    );
}

#[test]
fn no_path_leads_out_of_the_scratch_folder() {
    let scratch = Scratch::new().unwrap();
    for path in ["../a", "/a", "a/../../b", "a//b", "./a", "", "a/"] {
        assert!(scratch.write(path, b"x").is_err(), "{path}");
    }
    scratch.write("-rf/a b.py", b"x").unwrap();
    let real = scratch.tree().join("-rf/a b.py");
    assert_eq!(scratch.path_of(real.to_str().unwrap()), "-rf/a b.py");
    assert_eq!(scratch.path_of("./-rf/a b.py"), "-rf/a b.py");
}

#[test]
fn nobody_else_reads_the_scratch_folder() {
    let scratch = Scratch::new().unwrap();
    let mode = std::fs::metadata(scratch.root()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn modules_are_linked_from_a_checkout_and_never_over_those_of_the_tree() {
    let checkout = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for folder in ["node_modules", "web/node_modules", "own/node_modules"] {
        std::fs::create_dir_all(checkout.path().join(folder)).unwrap();
    }
    std::fs::create_dir(checkout.path().join("led")).unwrap();
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
