use super::*;
use crate::syntax::SyntaxCheck;
use crate::testing::Fixture;
use crh_testkit::tries_case;

const NO_PRINT: &str = "\
id: no-print
language: Python
message: \"`print` of $X: use the log\"
note: What is printed is lost.
severity: warning
files: ['src/**']
ignores: ['src/cli/**']
rule: {pattern: print($X)}
fix: log.info($X)
metadata:
  crh: {category: style, confidence: 0.7, fix: Use the log., invalid: [print(1)], valid: [log(1)]}
";

fn with(text: &str) -> (PatternRules, Vec<String>) {
    PatternRules::from_files(&[RuleFile {
        path: ".crh/rules/a.yml".to_owned(),
        text: text.as_bytes().to_vec(),
    }])
}

#[test]
fn only_new_matches_are_reported() {
    let check = |change: &str, expected: &[&str]| {
        assert_eq!(
            Fixture::new(change).findings_of(&PatternRules::default()),
            expected,
            "{change}"
        );
    };
    let title = "patterns/raise-not-implemented: `NotImplemented` is not an exception: raising it is a `TypeError`";
    check(
        "//- a.py\nx = 1\n//- head\n//- a.py\nx = 1\nraise NotImplemented\n",
        &[&format!("a.py:2 {title}")],
    );
    check("//- head\n//- a.py\nraise NotImplemented\n", &[&format!("a.py:1 {title}")]);
    // The match is unchanged, moved down in the file, or moved from another file.
    check("//- a.py\nraise NotImplemented\n//- head\n//- a.py\nraise NotImplemented\nx = 1\n", &[]);
    check(
        "//- a.py\nraise NotImplemented\n//- head\n//- a.py\nif x:\n    raise NotImplemented\n",
        &[],
    );
    check(
        "//- a.py\nraise NotImplemented\nx = 1\n//- head\n//- a.py\nx = 1\n//- b.py\nraise NotImplemented\n",
        &[],
    );
    // The first line names the language, whether the change touches it or not.
    let script = "#!/usr/bin/env python3\nx = 1\n";
    let broken = format!("{script}raise NotImplemented\n");
    check(&format!("//- head\n//- bin/a\n{broken}"), &[&format!("bin/a:3 {title}")]);
    check(
        &format!("//- bin/a\n{script}//- head\n//- bin/a\n{broken}"),
        &[&format!("bin/a:3 {title}")],
    );
    check("//- head\n//- bin/a\n#!/bin/sh\nraise NotImplemented\n", &[]);
    // In unparsable text no match is reported.
    check("//- head\n//- a.py\nassert (x, 'b' c)\n", &[]);
    check("//- head\n//- a.txt\nraise NotImplemented\n", &[]);
    // Build output is not checked.
    check("//- head\n//- dist/a.py\nraise NotImplemented\n", &[]);
    // Two strings with the same escapes are different conditions.
    check("//- head\n//- a.py\nif x == 'yes\\n':\n    f()\nelif x == 'no\\n':\n    g()\n", &[]);
    check(
        "//- head\n//- a.go\npackage a\nfunc f() {\n\tif x == \"a\\n\" {\n\t} else if x == \"b\\n\" {\n\t}\n}\n",
        &[],
    );
    check(
        "//- head\n//- a.rs\nfn f() {\n    if x == \"a\\n\" {\n    } else if x == \"b\\n\" {\n    }\n}\n",
        &[],
    );
    check(
        "//- head\n//- A.java\nclass A { void f() { if (x.is(\"a\\n\")) { } else if (x.is(\"b\\n\")) { } } }\n",
        &[],
    );
    // Tests compare a value with itself on purpose.
    check("//- head\n//- tests/a.py\nok = x == x\n", &[]);
}

#[test]
fn repository_rules_apply_to_their_files() {
    let (patterns, notes) = with(NO_PRINT);
    assert_eq!(notes, Vec::<String>::new());
    let change = "//- head\n//- src/a.py\nif x:\n    print(x)  # why\n//- src/cli/a.py\nprint(x)\n//- b.py\nprint(x)\n";
    let file_findings = Fixture::new(change).file_findings_of(&patterns);
    let findings: Vec<_> =
        file_findings.into_iter().flat_map(|file_findings| file_findings.findings).collect();
    expect_test::expect![[r#"[FindingDraft { rule: "patterns/no-print", file: "src/a.py", line: 2, side: None, end: Some(2), severity: P2, category: Style, confidence: Confidence(700), title: "`print` of x: use the log", why: "What is printed is lost.", owner: DownstreamResolver, fix: "Use the log.", replacement: Some("    log.info(x)  # why"), snippet: "    print(x)  # why", witnesses: [], pre_existing: false }]"#]].assert_eq(&format!("{findings:?}"));
}

#[test]
fn multi_line_fix_replaces_whole_lines() {
    let rule = "id: a\nlanguage: Python\nmessage: m\nrule: {pattern: old($X)}\nfix: new($X)\n";
    let (patterns, _) = with(rule);
    let change = "//- head\n//- a.py\nx = (old(\n    1\n), 2)\n";
    let file_findings = Fixture::new(change).file_findings_of(&patterns);
    let draft = &file_findings[0].findings[0];
    assert_eq!((draft.line, draft.end), (1, Some(3)));
    assert_eq!(draft.replacement.as_deref(), Some("x = (new(1), 2)"));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of rules and notes")]
fn unusable_rule_is_noted() {
    let check = |text: &str, note: &str| {
        let (patterns, notes) = with(text);
        assert_eq!(patterns.repo_rules.len(), 0, "{text}");
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(note), "{}", notes[0]);
    };
    let rule = |more: &str| format!("id: a\nlanguage: Python\nmessage: m\n{more}");
    check("a: [", "rule file `.crh/rules/a.yml`: ");
    check("", "it contains no rule");
    check(&rule("rule: {pattern: f(x)}\nwhat: 1\n"), "unknown field");
    check(&rule("rule: {patern: f(x)}\n"), "unknown field");
    check(&rule("rule: {kind: no_such_kind}\n"), "rule `a` is not used: ");
    check(&rule("rule: {regex: '['}\n"), "rule `a` is not used: ");
    check(&rule("rule: {regex: 'a'}\n"), "kind");
    check(&rule("rule: {pattern: f(x)}\nfiles: ['{']\n"), "is not used");
    check(&rule("rule: {pattern: f(x)}\nmetadata: {crh: {severity: P9}}\n"), "`metadata.crh`");
    check(
        &rule("rule: {pattern: f(x)}\nmetadata: {crh: {invalid: [g(x)]}}\n"),
        "does not match its example",
    );
    check(
        &rule("rule: {pattern: f(x)}\nmetadata: {crh: {valid: [f(x)]}}\n"),
        "matches its valid example",
    );
    check(
        &rule("utils: {u: {follows: {matches: u}}}\nrule: {kind: call, matches: u}\n"),
        "its `utils` are recursive",
    );
    let rewriter = "rewriters: [{id: r, rule: {pattern: $A}, transform: {N: {rewrite: {rewriters: [r], source: $A}}}, fix: $N}]\n";
    check(&rule(&format!("rule: {{pattern: f($X)}}\n{rewriter}")), "`rewriters`");
    let doubled = "transform: {B: {replace: {source: $X, replace: '(.)', by: $1$1}}}\n";
    check(&rule(&format!("rule: {{pattern: f($X)}}\n{doubled}")), "`transform`");
    let doubled: String = (1..40)
        .map(|n| format!(", u{n}: {{any: [{{matches: u{}}}, {{matches: u{}}}]}}", n - 1, n - 1))
        .collect();
    let utils =
        format!("utils: {{u0: {{kind: list}}{doubled}}}\nrule: {{kind: call, matches: u39}}\n");
    check(&rule(&utils), "words");
    let kind = "rule: {kind: identifier, regex: ";
    check(&rule(&format!("{kind}'[ab]*a[ab]{{4000}}c'}}\n")), "regular expressions is too large");
    check(&rule(&format!("{kind}'\\w{{200}}'}}\n")), "regular expressions is too large");
    check(
        &rule(&format!("{kind}'(?u)\\pL{{9}}\\w{{50}}'}}\n")),
        "regular expressions is too large",
    );
    let many = vec!["{regex: a}"; 30].join(", ");
    check(&rule(&format!("rule: {{kind: call, any: [{many}]}}\n")), "regular expressions");
    let named = format!(
        "id: a\nlanguage: Python\nmessage: \"{}\"\nrule: {{pattern: f($X)}}\n",
        "$X".repeat(30)
    );
    check(&named, "contains more than");
    let examples = vec!["f(x)"; 30].join(", ");
    check(
        &rule(&format!("rule: {{pattern: f(x)}}\nmetadata: {{crh: {{invalid: [{examples}]}}}}\n")),
        "examples",
    );
    check(
        "id: a\nlanguage: Cobol\nmessage: m\nrule: {pattern: f(x)}\n",
        "unknown language `Cobol`",
    );
    check("id: a b\nlanguage: Python\nmessage: m\nrule: {pattern: f(x)}\n", "its `id`");
    check(
        "id: mktemp\nlanguage: Python\nmessage: m\nrule: {pattern: f(x)}\n",
        "another rule has the same `id`",
    );
    check("id: a\nlanguage: Python\nrule: {pattern: f(x)}\n", "no `message`");
    check(&"a".repeat(FILE_BYTES_MAX + 1), "bytes");
    let deep = format!("rule: {}{{kind: call}}{}\n", "{not: ".repeat(900), "}".repeat(900));
    check(&rule(&deep), "rule file `");
    let deep = format!("rule: {{pattern: 'a{}'}}\n", " + a".repeat(10_000));
    check(&rule(&deep), "nested too deeply");
}

#[test]
fn broken_rule_does_not_disable_the_others() {
    let (patterns, notes) =
        with(&format!("{NO_PRINT}---\nid: b\nlanguage: Python\nmessage: m\nrule: {{kind: x}}\n"));
    assert_eq!((patterns.repo_rules.len(), notes.len()), (1, 1));
}

#[test]
fn rules_over_the_limit_are_noted() {
    let file = |name: &str| RuleFile {
        path: format!(".crh/rules/{name}.yml"),
        text: (0..80)
            .map(|n| {
                format!("id: {name}-{n}\nlanguage: Python\nmessage: m\nrule: {{pattern: f(x)}}\n")
            })
            .collect::<Vec<_>>()
            .join("---\n")
            .into_bytes(),
    };
    let (patterns, notes) = PatternRules::from_files(&[file("a"), file("b"), file("c")]);
    assert_eq!(patterns.repo_rules.len(), REPO_RULES_MAX);
    assert_eq!(notes, ["40 more rules are not used; the limit is 200"]);
}

#[test]
fn common_expressions_are_accepted() {
    for expression in [
        "^(requests|httpx)\\.(get|post|put|patch|delete)$",
        "^[A-Z][A-Za-z0-9_]{2,40}$",
        "^\\w+(\\.\\w+)*$",
        "(?i)pass(word|wd)?|secret|token",
    ] {
        let rule = format!(
            "id: a\nlanguage: Python\nmessage: m\nrule: {{kind: identifier, regex: '{expression}'}}\n"
        );
        assert_eq!(with(&rule).1, Vec::<String>::new());
    }
}

#[test]
fn large_tables_and_long_chains_stay_within_budget() {
    let rows: String = (0..3_000).map(|n| format!("    'key-{n}': {n},\n")).collect();
    let python =
        format!("//- head\n//- a.py\nt = {{\n{rows}    'key-7': 1,\n}}\nraise NotImplemented\n");
    let findings = Fixture::new(&python).findings_of(&PatternRules::default());
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(
        findings[0].starts_with("a.py:3002 patterns/duplicate-key: Duplicate key 'key-7'"),
        "{findings:?}"
    );
    assert!(findings[1].starts_with("a.py:3004 patterns/raise-not-implemented"), "{findings:?}");

    let branches: String = (1..3_000).map(|n| format!("elif x == {n}:\n    f({n})\n")).collect();
    let chain =
        format!("//- head\n//- a.py\nif x == 0:\n    f(0)\n{branches}elif x == 0:\n    g()\n");
    let findings = Fixture::new(&chain).findings_of(&PatternRules::default());
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with("a.py:6001 patterns/same-condition"), "{findings:?}");

    let cases: String = (0..3_000).map(|n| format!("  case {n}: f({n}); break;\n")).collect();
    let script = format!(
        "//- head\n//- a.ts\nconst t = {{\n{}}};\nswitch (x) {{\n{cases}  case 5: g();\n}}\n",
        rows.replace("    ", "  ")
    );
    let findings = Fixture::new(&script).findings_of(&PatternRules::default());
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("patterns/duplicate-case"), "{findings:?}");

    let whens: String = (0..3_000).map(|n| format!("when {n} then f({n})\n")).collect();
    let ruby = format!(
        "//- head\n//- a.rb\nt = {{\n{}}}\ncase x\n{whens}when 5 then g\nend\n",
        rows.replace("': ", "' => ")
    );
    let findings = Fixture::new(&ruby).findings_of(&PatternRules::default());
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("patterns/duplicate-case"), "{findings:?}");
}

#[test]
fn slow_repository_rules_do_not_affect_built_in_ones() {
    let check = |rule: &str, text: &str| {
        let (patterns, notes) =
            with(&format!("id: a\nlanguage: Python\nmessage: m $X\nrule: {rule}\n"));
        assert_eq!(notes, Vec::<String>::new());
        let fixture = Fixture::new(&format!("//- head\n//- a.py\n{text}raise NotImplemented\n"));
        let file_findings = fixture.file_findings_of(&patterns);
        let rules: Vec<_> = file_findings[0].findings.iter().map(|it| it.rule.as_str()).collect();
        assert_eq!(rules, ["patterns/raise-not-implemented"], "{rule}");
        let note = "repository rules were not applied to `a.py`: the rules take too long on it";
        assert_eq!(file_findings[0].notes, [note], "{rule}");
    };
    check(
        "{kind: expression_statement, not: {follows: {stopBy: end, pattern: $X.y}}}",
        &"f\n".repeat(10_000),
    );
    // The first rule has an expression that is slow on every byte. The second has a message that is
    // expanded for every line.
    check(
        "{kind: expression_statement, inside: {kind: module, pattern: $X, regex: '[ab]*a[ab]{100}c'}}",
        &"ab\n".repeat(3_000),
    );
    check(
        "{kind: expression_statement, inside: {kind: module, pattern: $X}}",
        &"f\n".repeat(10_000),
    );
}

#[test]
fn hostile_text_is_skipped_with_a_note() {
    let check = |patterns: &PatternRules, text: &str, why: &str| {
        let fixture = Fixture::new(&format!("//- head\n//- a.py\n{text}"));
        let file_findings = fixture.file_findings_of(patterns);
        assert_eq!(file_findings[0].findings, []);
        assert_eq!(file_findings[0].notes, [format!("rules were not applied to `a.py`: {why}")]);
    };
    let deep = format!(
        "ok = x{} == x{}\nraise NotImplemented\n",
        " + x".repeat(2_000),
        " + x".repeat(2_000)
    );
    check(&PatternRules::default(), &deep, "it is nested too deeply");
}

#[test]
fn pattern_variables_work_in_every_language() {
    for (language, file, text) in [
        ("Ruby", "a.rb", "f(1)\n"),
        ("Go", "a.go", "package a\nvar x = f(1)\n"),
        ("Rust", "a.rs", "fn g() { f(1) }\n"),
        ("TypeScript", "a.ts", "f(1)\n"),
        ("Java", "A.java", "class A { int x = f(1); }\n"),
        ("Kotlin", "a.kt", "val x = f(1)\n"),
        ("C", "a.c", "int x = f(1);\n"),
        ("CSharp", "a.cs", "class A { int x = f(1); }\n"),
        ("Swift", "a.swift", "let x = f(1)\n"),
    ] {
        let rule = format!(
            "id: a\nlanguage: {language}\nmessage: m $X\nrule: {{kind: {}, has: {{pattern: $X, stopBy: end, regex: '^1$'}}}}\n",
            kind(language)
        );
        let (patterns, notes) = with(&rule);
        assert_eq!(notes, Vec::<String>::new());
        let findings =
            Fixture::new(&format!("//- head\n//- {file}\n{text}")).findings_of(&patterns);
        assert_eq!(findings.len(), 1, "{language}: {findings:?}");
        assert!(findings[0].ends_with("patterns/a: m 1"), "{findings:?}");
    }
}

fn kind(language: &str) -> &'static str {
    match language {
        "Ruby" => "call",
        "Java" => "method_invocation",
        "CSharp" => "invocation_expression",
        _ => "call_expression",
    }
}

#[test]
fn whole_file_rule_scans_the_whole_file() {
    let rest = "def f():\n    pass\n\n\ndef g(text):\n    return yaml.load(text)\n";
    let change = format!("//- a.py\nimport json\n{rest}//- head\n//- a.py\nimport yaml\n{rest}");
    let [finding] = &Fixture::new(&change).findings_of(&PatternRules::default())[..] else {
        panic!()
    };
    assert!(finding.starts_with("a.py:7 patterns/yaml-load: "), "{finding}");
}

#[test]
fn match_in_touched_statement_is_reported_once() {
    let rest = "def f():\n    raise NotImplemented\n\n\ndef h():\n    pass\n";
    let change = |it: &str| format!("{rest}\n\ndef g():\n    {it}\n");
    let before = change("pass");
    let after = change("raise NotImplemented");
    let findings = Fixture::new(&format!("//- a.py\n{before}//- head\n//- a.py\n{after}"))
        .findings_of(&PatternRules::default());
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(finding.starts_with("a.py:10 patterns/raise-not-implemented: "), "{finding}");
}

/// Replacement lines for examples: block openers of all kinds, and plain statements.
const OTHER_LINES: [&str; 5] = ["", "x0 = 1", "with raises(x0):", "finally:", "@x0.setter"];

/// An example with one line changed, inside a function among unchanged functions. Returns the old
/// and the new text.
fn with_line_changed(example: &str, at: usize, other: &str) -> [String; 2] {
    // This line makes the touched part less than `PERCENT_MAX` of the text.
    let rest = format!("x1 = '{}'\n", "a".repeat(1_000));
    let whole = |lines: Vec<String>| {
        let lines: String = lines.iter().map(|it| format!("        {it}\n")).collect();
        format!("class B0:\n    def h0(x0):\n        first(x0)\n{lines}        last(x0)\n{rest}")
    };
    let same: Vec<String> = example.lines().map(str::to_owned).collect();
    let mut changed = same.clone();
    let blanks = same[at].len() - same[at].trim_start().len();
    changed[at].replace_range(blanks.., other);
    [whole(same), whole(changed)]
}

#[test]
fn changed_part_gives_the_same_findings_as_the_file() {
    let mut failures = Vec::new();
    let rules = built_in::for_language(Language::Python).iter().filter_map(BuiltInRule::rule);
    let examples = rules.flat_map(|rule| rule.metadata.invalid.iter().chain(&rule.metadata.valid));
    let lines =
        examples.flat_map(|example| (0..example.lines().count()).map(move |at| (example, at)));
    for (step, (example, at)) in lines.enumerate() {
        let others = OTHER_LINES.iter().enumerate();
        for (_, other) in others.filter(|(it, _)| tries_case(step, *it, OTHER_LINES.len())) {
            let [same, changed] = with_line_changed(example, at, other);
            for [old, new] in [[&same, &changed], [&changed, &same]] {
                let change = format!("//- a.py\n{old}//- head\n//- a.py\n{new}");
                let fixture = Fixture::new(&change);
                for reviewer in [&PatternRules::default() as &dyn FileReviewer, &SyntaxCheck] {
                    if fixture.findings_of(reviewer) != fixture.findings_of_whole_files(reviewer) {
                        failures.push(format!("{}: {change}", reviewer.name()));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} are wrong, the first: {}", failures.len(), failures[0]);
}
