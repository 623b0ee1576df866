use super::*;

/// The comment that suppresses a rule on the line with `HERE`, as `line: form` or `-`.
fn suppressing_comment(path: &str, rule: &str, text: &str) -> String {
    let at = text.lines().position(|line| line.contains("HERE")).unwrap() + 1;
    let at = u32::try_from(at).unwrap();
    match IgnoreComments::read(path, text).suppression_for(rule, at, at) {
        None => "-".to_owned(),
        Some(Suppression { excerpt, line, reason }) if reason.is_empty() => {
            format!("{line}: {excerpt}")
        }
        Some(Suppression { excerpt, line, reason }) => format!("{line}: {excerpt} ({reason})"),
    }
}

fn check(rows: &[(&str, &str, &str, &str)]) {
    for (path, rule, text, expected) in rows {
        assert_eq!(&suppressing_comment(path, rule, text), expected, "{path} {rule}\n{text}");
    }
}

#[test]
#[rustfmt::skip]
fn other_tools_comments_cover_named_or_all_rules() {
    const RULE: &str = "syntax/does-not-parse";
    check(&[
        ("a.py", RULE, "HERE = 1  # noqa\n", "1: # noqa"),
        ("a.py", RULE, "HERE = 1  # NOQA\n", "1: # noqa"),
        ("a.py", RULE, "HERE = 1  # noqa: F401, E999\n", "1: # noqa: F401, E999"),
        ("a.py", RULE, "HERE = 1  # noqa:E999 why\n", "1: # noqa: E999"),
        ("a.py", RULE, "HERE = 1  # noqa: F401\n", "-"),
        ("a.py", RULE, "HERE = 1  # noqa: because\n", "-"),
        ("a.py", RULE, "# noqa\nHERE = 1\n", "-"),
        ("a.py", RULE, "HERE = '# noqa'\n", "-"),
        ("a.py", RULE, "\"\"\"\nHERE  # noqa\n\"\"\"\n", "-"),
        ("a.py", "ruff/F821", "HERE = 1  # noqa: F821\n", "1: # noqa: F821"),
        ("a.py", "ruff/F821", "HERE = 1  # noqa: F401\n", "-"),
        ("a.js", "eslint/no-debugger", "HERE; // eslint-disable-line\n", "1: eslint-disable-line"),
        ("a.js", "eslint/no-debugger", "HERE; // eslint-disable-line no-alert, no-debugger -- later\n", "1: eslint-disable-line no-alert, no-debugger"),
        ("a.js", "eslint/no-debugger", "HERE; // eslint-disable-line no-alert\n", "-"),
        ("a.ts", "eslint/no-debugger", "// eslint-disable-next-line no-debugger\nHERE;\n", "1: eslint-disable-next-line no-debugger"),
        ("a.ts", "eslint/no-debugger", "// eslint-disable-next-line\n\nHERE;\n", "-"),
        ("a.js", "eslint/no-debugger", "/* eslint-disable no-debugger */\n\nHERE;\n/* eslint-enable no-debugger */\n", "1: eslint-disable no-debugger"),
        ("a.js", "eslint/no-debugger", "/* eslint-disable */\nx;\n/* eslint-enable */\nHERE;\n", "-"),
        ("a.js", "eslint/no-debugger", "// eslint-disable\nHERE;\n", "-"),
        ("a.js", "eslint/no-debugger", "const a = '// eslint-disable-line HERE';\n", "-"),
        ("a.go", "semgrep/go.lang.exec", "HERE() // nosemgrep\n", "1: nosemgrep"),
        ("a.go", "semgrep/go.lang.exec", "// nosemgrep: exec\nHERE()\n", "1: nosemgrep: exec"),
        ("a.go", "semgrep/go.lang.exec", "HERE() // nosemgrep: other\n", "-"),
        ("a.go", "semgrep/go.lang.exec", "HERE() // nosem\n", "1: nosem"),
        ("a.go", "semgrep/go.lang.exec", "x() // nosemgrep\nHERE()\n", "-"),
        ("a.rs", "clippy/clippy::dbg_macro", "#[allow(clippy::dbg_macro)]\nfn a() {\n    HERE();\n}\n", "1: #[allow(clippy::dbg_macro)]"),
        ("a.rs", "clippy/dbg_macro", "#![expect(clippy::dbg_macro, reason = \"a tool\")]\nfn a() { HERE() }\n", "1: #![expect(clippy::dbg_macro, reason = \"a tool\")]"),
        ("a.rs", "clippy/dbg_macro", "#[allow(dbg_macro)]\nfn a() {}\nfn b() { HERE() }\n", "-"),
        ("a.rs", "clippy/dbg_macro", "#[allow(dead_code)]\nfn a() { HERE() }\n", "-"),
    ]);
}

#[test]
fn other_tools_comments_can_cover_a_file() {
    const RULE: &str = "ruff/F821";
    check(&[
        ("a.py", RULE, "# ruff: noqa\nx = 1\nHERE\n", "1: # ruff: noqa"),
        ("a.py", RULE, "HERE\n#flake8:noqa\n", "2: # flake8: noqa"),
        ("a.py", RULE, "# ruff: noqa: F401, F821\nHERE\n", "1: # ruff: noqa: F401, F821"),
        ("a.py", RULE, "# ruff: noqa: F401\nHERE\n", "-"),
        ("a.py", RULE, "x = 1  # ruff: noqa\nHERE\n", "-"),
        ("a.py", RULE, "# pylint: noqa\nHERE\n", "-"),
        ("a.py", RULE, "x = '# ruff: noqa'\nHERE\n", "-"),
        ("a.py", "secrets/credential", "# ruff: noqa\nHERE\n", "-"),
    ]);
}

#[test]
fn comment_without_rules_covers_its_tools_rules() {
    const ESLINT: &str = "/* eslint-disable */\nHERE;\n";
    check(&[
        ("a.js", "syntax/does-not-parse", ESLINT, "-"),
        ("a.js", "syntax/conflict-marker", ESLINT, "-"),
        ("a.js", "references/arity", ESLINT, "-"),
        ("a.js", "references/removed", ESLINT, "1: eslint-disable"),
        ("a.js", "leftovers/debugger", ESLINT, "1: eslint-disable"),
        ("a.js", "eslint/x", ESLINT, "1: eslint-disable"),
        ("a.js", "codeql/js/xss", ESLINT, "-"),
        ("a.js", "patterns/of-our-own", ESLINT, "-"),
        ("a.js", "patterns/index-as-condition", "HERE; // eslint-disable-line\n", "-"),
        ("a.py", "syntax/conflict-marker", "HERE # noqa\n", "-"),
        ("a.py", "references/arity", "HERE # noqa\n", "-"),
        ("a.py", "leftovers/debugger", "HERE # noqa\n", "1: # noqa"),
        ("a.py", "leftovers/skipped-test", "HERE # noqa\n", "-"),
        ("a.py", "mypy/x", "HERE # noqa\n", "-"),
        ("a.py", "leftovers/debugger", "# ruff: noqa\nHERE\n", "1: # ruff: noqa"),
        ("a.py", "references/arity", "# ruff: noqa\nHERE\n", "-"),
        ("a.go", "syntax/does-not-parse", "HERE // nosemgrep\n", "-"),
        ("a.go", "patterns/deferred-lock", "HERE // nosemgrep\n", "1: nosemgrep"),
        ("a.go", "semgrep-oss/x", "HERE // nosemgrep\n", "1: nosemgrep"),
    ]);
    let of = |tool: forms::IgnoreTool| {
        let ids =
            rules().filter(|rule| !rule.id.starts_with("patterns/") && tool.covers_rule(rule));
        ids.map(|rule| rule.id).collect::<Vec<_>>().join(" ")
    };
    expect_test::expect!["syntax/does-not-parse references/removed leftovers/debugger"]
        .assert_eq(&of(forms::IgnoreTool::Flake8));
    expect_test::expect!["references/removed references/missing-import leftovers/focused-test leftovers/skipped-test leftovers/debugger"].assert_eq(&of(forms::IgnoreTool::Eslint));
    expect_test::expect![[""]].assert_eq(&of(forms::IgnoreTool::Semgrep));
}

#[test]
#[rustfmt::skip]
fn shellcheck_comment_covers_the_next_command() {
    const RULE: &str = "shellcheck/SC2115";
    const BY: &str = "2: # shellcheck disable=SC2115";
    check(&[
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\nHERE\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\n\n# why\nHERE\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\ny\nHERE\n", "-"),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\ny \\\n  z \\\nHERE\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\nf() {\n  y\n\n  HERE\n}\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\nf()\n{\n  HERE\n}\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\nif y\nthen z\nelse\n HERE\nfi\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\nf() {\n  y\n}\nHERE\n", "-"),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2115\nif y; then\n  z\nfi\nHERE\n", "-"),
        ("a.sh", RULE, "#!/bin/sh\n# shellcheck disable=SC2115\nx\n\nHERE\n", BY),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2086\nHERE\n", "-"),
        ("a.sh", RULE, "x\n#shellcheck source=/dev/null disable=2086,2115 # why\nHERE\n", "2: # shellcheck disable=2086,2115"),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2000-SC2200\nHERE\n", "2: # shellcheck disable=SC2000-SC2200"),
        ("a.sh", RULE, "x\n# shellcheck disable=SC2116-SC2200\nHERE\n", "-"),
        ("a.sh", RULE, "x\n# shellcheck disable=all\nHERE\n", "2: # shellcheck disable=all"),
        ("a.sh", "patterns/x", "x\n# shellcheck disable=all\nHERE\n", "-"),
        ("a.sh", RULE, "x\n# shellcheck shell=sh\nHERE\n", "-"),
    ]);
}

#[test]
#[rustfmt::skip]
fn crh_ignore_needs_a_rule_and_a_reason() {
    const RULE: &str = "syntax/does-not-parse";
    check(&[
        ("a.py", RULE, "HERE  # crh:ignore syntax/does-not-parse a template\n", "1: crh:ignore syntax/does-not-parse (a template)"),
        ("a.py", RULE, "# crh:ignore syntax: a template\nHERE\n", "1: crh:ignore syntax (a template)"),
        ("a.py", RULE, "# crh:ignore secrets one\n# crh:ignore E999 -- two\nHERE\n", "2: crh:ignore E999 (two)"),
        ("a.py", RULE, "x = 1  # crh:ignore syntax why\nHERE\n", "-"),
        ("a.py", RULE, "# crh:ignore syntax why\n\nHERE\n", "-"),
        ("a.py", RULE, "HERE  # crh:ignore syntax\n", "-"),
        ("a.py", RULE, "HERE  # crh:ignore syntax --\n", "-"),
        ("a.py", RULE, "HERE  # crh:ignore secrets why\n", "-"),
        ("a.py", RULE, "HERE  # write `crh:ignore syntax why`\n", "-"),
        ("a.py", RULE, "HERE = '# crh:ignore syntax why'\n", "-"),
        ("a.js", RULE, "/* crh:ignore syntax why */\nHERE;\n", "1: crh:ignore syntax (why)"),
        ("a.tsx", RULE, "const a = <p>\n{/* crh:ignore syntax why */}\n<b>HERE</b></p>;\n", "2: crh:ignore syntax (why)"),
        ("a.yml", RULE, "HERE: 1 # crh:ignore syntax why\n", "1: crh:ignore syntax (why)"),
        ("a.yml", RULE, "a: \"HERE # crh:ignore syntax why\"\n", "-"),
        ("a.sql", RULE, "-- crh:ignore syntax it's why\nHERE\n", "1: crh:ignore syntax (it's why)"),
        ("a.html", RULE, "<!-- crh:ignore syntax why -->\nHERE\n", "1: crh:ignore syntax (why)"),
        ("a.json", RULE, "{\"HERE\": 1} # crh:ignore syntax why\n", "-"),
        ("a.js", "codeql/js/xss", "HERE; // crh:ignore js/xss is escaped\n", "1: crh:ignore js/xss (is escaped)"),
        ("a.js", "codeql/js/xss", "HERE; // crh:ignore codeql is escaped\n", "1: crh:ignore codeql (is escaped)"),
    ]);
}

#[test]
#[rustfmt::skip]
fn secrets_need_reason_and_injection_is_never_ignored() {
    check(&[
        ("a.py", "secrets/credential", "HERE  # noqa\n", "-"),
        ("a.js", "secrets/credential", "/* eslint-disable */\nHERE\n", "-"),
        ("a.go", "secrets/credential", "HERE() // nosemgrep\n", "-"),
        ("a.py", "secrets/credential", "HERE  # crh:ignore secrets\n", "-"),
        ("a.py", "secrets/credential", "HERE  # crh:ignore secrets revoked\n", "1: crh:ignore secrets (revoked)"),
        ("a.py", "injection/instructions", "HERE  # noqa\n", "-"),
        ("a.py", "injection/instructions", "HERE  # crh:ignore injection I say so\n", "-"),
        ("a.py", "injection/instructions", "HERE  # crh:ignore injection/instructions I say so\n", "-"),
    ]);
}

#[test]
fn invalid_ignores_are_listed() {
    let text = "a  # crh:ignore syntax\n\
        b  # crh:ignore leftover why\n\
        c  # crh:ignore secrets/key why\n\
        d  # crh:ignore injection why\n\
        e  # crh:ignore\n\
        f  # crh:ignore syntax why\n\
        g  # crh:ignore E999 why\n\
        h  # crh:ignore js/xss why\n\
        i  # crh:ignore F821 why\n\
        j  # crh:ignore secret/github-token why\n\
        k  # crh:ignore eslint/x why\n\
        l  # crh:ignore import/named why\n\
        m  # crh:ignore codeql/js/sql why\n\
        n  # crh:ignore py/xss why\n";
    let other_rules = ["ruff/F821", "codeql/py/xss"].map(str::to_owned);
    let misfits = IgnoreComments::read("a.py", text).invalid_ignores(&BTreeSet::from(other_rules));
    let shown: Vec<String> = misfits.iter().map(|it| format!("{}: {}", it.line, it.why)).collect();
    expect_test::expect![[r#"
        1: has no reason: write `crh:ignore RULE why`
        2: names `leftover`, which is not a rule
        3: names `secrets/key`, which is not a rule
        4: names a rule that cannot be ignored
        5: names no rule: write `crh:ignore RULE why`
        8: names `js/xss`, a rule of a tool that did not run
        10: names `secret/github-token`, a rule of a tool that did not run"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn text_full_of_comments_takes_linear_time() {
    let text = "# crh:ignore syntax why\n".repeat(20_000) + "x = 1\n";
    let ignores = IgnoreComments::read("a.py", &text);
    assert!(ignores.suppression_for("syntax/does-not-parse", 20_001, 20_001).is_some());
}

#[test]
fn many_comments_take_linear_time() {
    let marks = "x = 1  # crh:ignore nothing/here\n".repeat(20_000);
    let other_rules: BTreeSet<String> = (0..20_000).map(|at| format!("tool/rule-{at}")).collect();
    assert_eq!(IgnoreComments::read("a.py", &marks).invalid_ignores(&other_rules).len(), 20_000);
    let mut spans = String::new();
    for at in 0..20_000 {
        spans += &format!("/* eslint-disable a-{at} */\n/* eslint-enable b-{at} */\n");
    }
    assert_eq!(IgnoreComments::read("a.js", &spans).spans.len(), OPEN_SPANS_MAX);
}
