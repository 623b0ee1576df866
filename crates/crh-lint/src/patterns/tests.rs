use super::*;
use crate::syntax::Syntax;
use crate::testing::Fixture;

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

fn with(text: &str) -> (Patterns, Vec<String>) {
    Patterns::with(&[RuleFile {
        path: ".crh/rules/a.yml".to_owned(),
        text: text.as_bytes().to_vec(),
    }])
}

#[test]
fn only_what_the_change_brings_is_found() {
    let check = |change: &str, found: &[&str]| {
        assert_eq!(Fixture::new(change).found_by(&Patterns::default()), found, "{change}");
    };
    let title = "patterns/raise-not-implemented: `NotImplemented` is no exception: raising it is a `TypeError`";
    check(
        "//- a.py\nx = 1\n//- head\n//- a.py\nx = 1\nraise NotImplemented\n",
        &[&format!("a.py:2 {title}")],
    );
    check("//- head\n//- a.py\nraise NotImplemented\n", &[&format!("a.py:1 {title}")]);
    // It was there; it was there and is further down now; it came from another file.
    check("//- a.py\nraise NotImplemented\n//- head\n//- a.py\nraise NotImplemented\nx = 1\n", &[]);
    check(
        "//- a.py\nraise NotImplemented\n//- head\n//- a.py\nif x:\n    raise NotImplemented\n",
        &[],
    );
    check(
        "//- a.py\nraise NotImplemented\nx = 1\n//- head\n//- a.py\nx = 1\n//- b.py\nraise NotImplemented\n",
        &[],
    );
    // Where the text does not parse, nothing is known.
    check("//- head\n//- a.py\nassert (x, 'b' c)\n", &[]);
    check("//- head\n//- a.txt\nraise NotImplemented\n", &[]);
    // What was built is judged where it was written.
    check("//- head\n//- dist/a.py\nraise NotImplemented\n", &[]);
    // The same escapes in texts that differ.
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
    // What tests do on purpose.
    check("//- head\n//- tests/a.py\nok = x == x\n", &[]);
}

#[test]
fn rules_of_the_repository_are_held_against_the_files_they_are_for() {
    let (patterns, notes) = with(NO_PRINT);
    assert_eq!(notes, Vec::<String>::new());
    let change = "//- head\n//- src/a.py\nif x:\n    print(x)  # why\n//- src/cli/a.py\nprint(x)\n//- b.py\nprint(x)\n";
    let looked = Fixture::new(change).looked_at_by(&patterns);
    let found: Vec<_> = looked.into_iter().flat_map(|looked| looked.found).collect();
    expect_test::expect![[r#"
        [
            Found {
                rule: "patterns/no-print",
                file: "src/a.py",
                line: 2,
                side: None,
                end: Some(
                    2,
                ),
                severity: P2,
                category: Style,
                confidence: Confidence(
                    700,
                ),
                title: "`print` of x: use the log",
                why: "What is printed is lost.",
                owner: DownstreamResolver,
                fix: "Use the log.",
                replacement: Some(
                    "    log.info(x)  # why",
                ),
                snippet: "    print(x)  # why",
                witnesses: [],
                pre_existing: false,
            },
        ]
    "#]]
    .assert_debug_eq(&found);
}

#[test]
fn a_fix_of_several_lines_takes_whole_lines() {
    let rule = "id: a\nlanguage: Python\nmessage: m\nrule: {pattern: old($X)}\nfix: new($X)\n";
    let (patterns, _) = with(rule);
    let change = "//- head\n//- a.py\nx = (old(\n    1\n), 2)\n";
    let looked = Fixture::new(change).looked_at_by(&patterns);
    let found = &looked[0].found[0];
    assert_eq!((found.line, found.end), (1, Some(3)));
    assert_eq!(found.replacement.as_deref(), Some("x = (new(1), 2)"));
}

#[test]
fn a_rule_that_cannot_be_used_costs_a_sentence() {
    let check = |text: &str, note: &str| {
        let (patterns, notes) = with(text);
        assert_eq!(patterns.own.len(), 0, "{text}");
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(note), "{}", notes[0]);
    };
    let rule = |more: &str| format!("id: a\nlanguage: Python\nmessage: m\n{more}");
    check("a: [", "a rule file, `.crh/rules/a.yml`: ");
    check("", "it holds no rule");
    check(&rule("rule: {pattern: f(x)}\nwhat: 1\n"), "unknown field");
    check(&rule("rule: {patern: f(x)}\n"), "unknown field");
    check(&rule("rule: {kind: no_such_kind}\n"), "the rule `a` is left out: ");
    check(&rule("rule: {regex: '['}\n"), "the rule `a` is left out: ");
    check(&rule("rule: {regex: 'a'}\n"), "kind");
    check(&rule("rule: {pattern: f(x)}\nfiles: ['{']\n"), "left out");
    check(&rule("rule: {pattern: f(x)}\nmetadata: {crh: {severity: P9}}\n"), "`metadata.crh`");
    check(
        &rule("rule: {pattern: f(x)}\nmetadata: {crh: {invalid: [g(x)]}}\n"),
        "finds nothing in its example",
    );
    check(
        &rule("rule: {pattern: f(x)}\nmetadata: {crh: {valid: [f(x)]}}\n"),
        "finds something in its example",
    );
    check(
        &rule("utils: {u: {follows: {matches: u}}}\nrule: {kind: call, matches: u}\n"),
        "its `utils` refer to themselves",
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
    check(&named, "names more than");
    let examples = vec!["f(x)"; 30].join(", ");
    check(
        &rule(&format!("rule: {{pattern: f(x)}}\nmetadata: {{crh: {{invalid: [{examples}]}}}}\n")),
        "examples",
    );
    check("id: a\nlanguage: Cobol\nmessage: m\nrule: {pattern: f(x)}\n", "no language `Cobol`");
    check("id: a b\nlanguage: Python\nmessage: m\nrule: {pattern: f(x)}\n", "its `id`");
    check(
        "id: mktemp\nlanguage: Python\nmessage: m\nrule: {pattern: f(x)}\n",
        "another rule has its `id`",
    );
    check("id: a\nlanguage: Python\nrule: {pattern: f(x)}\n", "no `message`");
    check(&"a".repeat(FILE_MAX + 1), "bytes");
    let deep = format!("rule: {}{{kind: call}}{}\n", "{not: ".repeat(900), "}".repeat(900));
    check(&rule(&deep), "a rule file, ");
    let deep = format!("rule: {{pattern: 'a{}'}}\n", " + a".repeat(10_000));
    check(&rule(&deep), "nested too deeply");
}

#[test]
fn one_broken_rule_does_not_take_the_others_with_it() {
    let (patterns, notes) =
        with(&format!("{NO_PRINT}---\nid: b\nlanguage: Python\nmessage: m\nrule: {{kind: x}}\n"));
    assert_eq!((patterns.own.len(), notes.len()), (1, 1));
}

#[test]
fn more_rules_than_can_be_used_cost_a_sentence() {
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
    let (patterns, notes) = Patterns::with(&[file("a"), file("b"), file("c")]);
    assert_eq!(patterns.own.len(), OWN_MAX);
    assert_eq!(notes, ["40 more rules are left out: at most 200 are used"]);
}

#[test]
fn expressions_that_people_write_are_taken() {
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
fn large_tables_and_long_chains_do_not_cost_the_other_rules() {
    let rows: String = (0..3_000).map(|n| format!("    'key-{n}': {n},\n")).collect();
    let python =
        format!("//- head\n//- a.py\nt = {{\n{rows}    'key-7': 1,\n}}\nraise NotImplemented\n");
    let found = Fixture::new(&python).found_by(&Patterns::default());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("a.py:3002 patterns/duplicate-key: The key 'key-7'"), "{found:?}");
    assert!(found[1].starts_with("a.py:3004 patterns/raise-not-implemented"), "{found:?}");

    let branches: String = (1..3_000).map(|n| format!("elif x == {n}:\n    f({n})\n")).collect();
    let chain =
        format!("//- head\n//- a.py\nif x == 0:\n    f(0)\n{branches}elif x == 0:\n    g()\n");
    let found = Fixture::new(&chain).found_by(&Patterns::default());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("a.py:6001 patterns/same-condition"), "{found:?}");

    let cases: String = (0..3_000).map(|n| format!("  case {n}: f({n}); break;\n")).collect();
    let script = format!(
        "//- head\n//- a.ts\nconst t = {{\n{}}};\nswitch (x) {{\n{cases}  case 5: g();\n}}\n",
        rows.replace("    ", "  ")
    );
    let found = Fixture::new(&script).found_by(&Patterns::default());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("patterns/duplicate-case"), "{found:?}");

    let whens: String = (0..3_000).map(|n| format!("when {n} then f({n})\n")).collect();
    let ruby = format!(
        "//- head\n//- a.rb\nt = {{\n{}}}\ncase x\n{whens}when 5 then g\nend\n",
        rows.replace("': ", "' => ")
    );
    let found = Fixture::new(&ruby).found_by(&Patterns::default());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("patterns/duplicate-case"), "{found:?}");
}

#[test]
fn rules_of_the_repository_that_take_too_long_cost_only_what_they_find() {
    let check = |rule: &str, text: &str| {
        let (patterns, notes) =
            with(&format!("id: a\nlanguage: Python\nmessage: m $X\nrule: {rule}\n"));
        assert_eq!(notes, Vec::<String>::new());
        let fixture = Fixture::new(&format!("//- head\n//- a.py\n{text}raise NotImplemented\n"));
        let looked = fixture.looked_at_by(&patterns);
        let rules: Vec<_> = looked[0].found.iter().map(|it| it.rule.as_str()).collect();
        assert_eq!(rules, ["patterns/raise-not-implemented"], "{rule}");
        let note =
            "the repository's rules were not held against `a.py`: the rules take too long on it";
        assert_eq!(looked[0].notes, [note], "{rule}");
    };
    check(
        "{kind: expression_statement, not: {follows: {stopBy: end, pattern: $X.y}}}",
        &"f\n".repeat(10_000),
    );
    // An expression that is slow on every byte, and a match that is written out for every line.
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
fn a_text_made_to_hurt_is_left_out_with_a_note() {
    let check = |patterns: &Patterns, text: &str, why: &str| {
        let fixture = Fixture::new(&format!("//- head\n//- a.py\n{text}"));
        let looked = fixture.looked_at_by(patterns);
        assert_eq!(looked[0].found, []);
        assert_eq!(looked[0].notes, [format!("rules were not held against `a.py`: {why}")]);
    };
    let deep = format!(
        "ok = x{} == x{}\nraise NotImplemented\n",
        " + x".repeat(2_000),
        " + x".repeat(2_000)
    );
    check(&Patterns::default(), &deep, "it is nested too deeply");
}

#[test]
fn a_dollar_begins_a_name_in_patterns_of_every_language() {
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
        let found = Fixture::new(&format!("//- head\n//- {file}\n{text}")).found_by(&patterns);
        assert_eq!(found.len(), 1, "{language}: {found:?}");
        assert!(found[0].ends_with("patterns/a: m 1"), "{found:?}");
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
fn a_rule_that_looks_far_is_held_against_the_whole_file() {
    let rest = "def f():\n    pass\n\n\ndef g(text):\n    return yaml.load(text)\n";
    let change = format!("//- a.py\nimport json\n{rest}//- head\n//- a.py\nimport yaml\n{rest}");
    let [found] = &Fixture::new(&change).found_by(&Patterns::default())[..] else { panic!() };
    assert!(found.starts_with("a.py:7 patterns/yaml-load: "), "{found}");
}

#[test]
fn what_is_in_a_touched_statement_is_found_once_and_where_it_is() {
    let rest = "def f():\n    raise NotImplemented\n\n\ndef h():\n    pass\n";
    let change = |it: &str| format!("{rest}\n\ndef g():\n    {it}\n");
    let before = change("pass");
    let after = change("raise NotImplemented");
    let found = Fixture::new(&format!("//- a.py\n{before}//- head\n//- a.py\n{after}"))
        .found_by(&Patterns::default());
    let [found] = &found[..] else { panic!("{found:?}") };
    assert!(found.starts_with("a.py:10 patterns/raise-not-implemented: "), "{found}");
}

/// What a line of an example is changed to or from: what opens blocks of all kinds, and what does not.
const OTHER_LINES: [&str; 5] = ["", "x0 = 1", "with raises(x0):", "finally:", "@x0.setter"];

/// An example with one line changed, inside of a function, among others that stay.
fn with_line_changed(example: &str, at: usize, other: &str) -> [String; 2] {
    // So much that what is touched is the smaller part.
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
fn the_part_of_a_change_tells_what_the_whole_tells() {
    let mut wrong = Vec::new();
    for rule in built_in::for_language(Language::Python).iter().filter_map(BuiltIn::rule) {
        for example in rule.besides.invalid.iter().chain(&rule.besides.valid) {
            for (at, other) in (0..example.lines().count())
                .flat_map(|at| OTHER_LINES.iter().map(move |other| (at, other)))
            {
                let [same, changed] = with_line_changed(example, at, other);
                for [old, new] in [[&same, &changed], [&changed, &same]] {
                    let change = format!("//- a.py\n{old}//- head\n//- a.py\n{new}");
                    let fixture = Fixture::new(&change);
                    for reviewer in [&Patterns::default() as &dyn Reviewer, &Syntax] {
                        if fixture.found_by(reviewer) != fixture.found_in_whole_by(reviewer) {
                            wrong.push(format!("{}: {change}", reviewer.name()));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong, the first: {}", wrong.len(), wrong[0]);
}
