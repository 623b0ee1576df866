//! Changes that break a file, and errors that the change did not cause.

use super::*;
use crate::testing::Fixture;

/// Findings as `line: why`.
fn findings(path: &str, old: Option<&str>, new: &str) -> Vec<String> {
    let base = old.map(|old| format!("//- {path}\n{old}")).unwrap_or_default();
    let fixture = Fixture::new(&format!("{base}//- head\n//- {path}\n{new}"));
    let file_findings = fixture.file_findings_of(&SyntaxCheck);
    let findings = file_findings.iter().flat_map(|file_findings| &file_findings.findings);
    findings.map(|finding| format!("{}: {}", finding.line, finding.why)).collect()
}

const NOTHING: [String; 0] = [];

#[test]
fn broken_file_is_reported_at_the_added_line() {
    let cases = [
        ("a.py", "def f(a):\n    return a\n", "def f(a:\n    return a\n", 1),
        ("a.js", "f(1);\ng(2);\nh(3);\n", "f(1);\ng(2;\nh(3);\n", 2),
        ("a.ts", "const a = f(1);\n", "const a = f(1;\n", 1),
        ("a.tsx", "const a = <b>x</b>;\n", "const a = <b>{x</b>;\n", 1),
        ("a.rs", "fn a() {\n    b();\n}\n", "fn a() {\n    b(;\n}\n", 2),
        ("a.go", "package a\n\nvar x = 1\n", "package a\n\nvar x = = 1\n", 3),
        ("a.go", "package a\n\nfunc f(a int) {\n}\n", "package a\n\nfunc (a int) {\n}\n", 3),
        ("a.java", "class A { int x = 1; }\n", "class A { int x 1; }\n", 1),
        ("a.rb", "def a\n  b(1)\nend\n", "def a\n  b(1\nend\n", 2),
    ];
    for (path, old, new, line) in cases {
        let findings = findings(path, Some(old), new);
        assert_eq!(findings.len(), 1, "{path}: {findings:?}");
        assert!(
            findings[0].starts_with(&format!("{line}: The file is no longer valid")),
            "{findings:?}"
        );
    }
}

/// Findings as `line rule`.
fn rules(path: &str, old: &str, new: &str) -> Vec<String> {
    let base = if old.is_empty() { String::new() } else { format!("//- {path}\n{old}") };
    let fixture = Fixture::new(&format!("{base}//- head\n//- {path}\n{new}"));
    let file_findings = fixture.file_findings_of(&SyntaxCheck);
    let findings = file_findings.iter().flat_map(|file_findings| &file_findings.findings);
    findings.map(|it| format!("{} {}", it.line, it.rule.trim_start_matches("syntax/"))).collect()
}

#[rustfmt::skip]
const BROKEN: &[(&str, &str, &str, &str)] = &[
    ("a.py", "x = 'a'\n", "x = 'a\n", "1 does-not-parse"),
    ("a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n", "2 does-not-parse"),
    ("a.py", "def f():\n    a = 1\n    return a\n", "def f():\n    a = 1\nreturn a\n", "3 does-not-parse"),
    ("a.py", "def f():\n    a = 1\n    return a\n", "def f():\n    a = 1\n  return a\n", "3 does-not-parse"),
    ("a.py", "a = 1\nb = 2\n", "a = 1\n  b = 2\n", "2 does-not-parse"),
    ("a.py", "if a:\n    b()\nelse:\n    c()\n", "if a:\n    b()\n  else:\n    c()\n", "3 does-not-parse"),
    ("a.py", "for a in b:\n    break\n", "for a in b:\n    pass\nbreak\n", "3 does-not-parse"),
    ("a.py", "def f():\n    pass\n", "def f()\n    pass\n", "1 does-not-parse"),
    ("a.js", "const a = 5;\n", "const = 5;\n", "1 does-not-parse"),
    ("a.js", "f('a');\ng('b');\n", "f('a);\ng('b');\n", "1 does-not-parse"),
    ("a.ts", "function f(a: number) {}\n", "function f( {}\n", "1 does-not-parse"),
    ("a.ts", "let a = 1;\n", "let a = = 1;\n", "1 does-not-parse"),
    ("a.tsx", "const a = <b>x</b>;\n", "const a = <b>x</c;\n", "1 does-not-parse"),
    ("a.rs", "fn a() { let b = 1; }\n", "fn a() { let = 1; }\n", "1 does-not-parse"),
    ("a.rb", "def a\n  if b\n    c\n  end\nend\n\ndef d\n  e\nend\n", "def a\n  if b\n    c\nend\n\ndef d\n  e\nend\n", "4 does-not-parse"),
    ("a.c", "int f(void) {\n  return 1;\n}\n", "int f(void) {\n  return (1;\n}\n", "2 does-not-parse"),
    ("a.cpp", "int f() {\n  return 1;\n}\n", "int f() {\n  return 1;\n", "2 does-not-parse"),
    ("a.cs", "class A { int F() { return 1; } }\n", "class A { int F() { return 1; }\n", "1 does-not-parse"),
    ("a.php", "<?php\nf(1);\n", "<?php\nf(1;\n", "2 does-not-parse"),
    ("a.kt", "fun a() {\n  b(1)\n}\n", "fun a() {\n  b(1\n}\n", "2 does-not-parse"),
    ("a.swift", "func a() {\n  b(1)\n}\n", "func a() {\n  b(1\n}\n", "2 does-not-parse"),
    ("package.json", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n}\n", "2 invalid-json"),
    ("a.json", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{\n  \"a\": 1\n  \"b\": 2\n}\n", "2 invalid-json"),
    ("tsconfig.json", "{\n  // a\n  \"a\": [1,],\n}\n", "{\n  // a\n  \"a\": [1,,\n}\n", "3 invalid-json"),
    ("new.json", "", "{\n  \"a\": 1\n", "2 invalid-json"),
    ("new.json", "", "{\"a\": 1} x\n", "1 invalid-json"),
    ("new.json", "", "[1,2,]\n", "1 invalid-json"),
    ("package.json", "", "{\"a\": 1, \"a\": 2,}\n", "1 invalid-json"),
    ("package.json", "", "{\n  // b\n  \"a\": 1\n}\n", "2 invalid-json"),
    ("package.json", "{\n  \"a\": 1\n}\n", "{\n  // b\n  \"a\": 1\n}\n", "2 invalid-json"),
    ("locales/en.json", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n}\n", "2 invalid-json"),
    ("nx.json", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{\n  // c\n  \"a\": 1\n  \"b\": 2\n}\n", "3 invalid-json"),
    ("new.go", "", "package a\n\nvar x = [][]int{{1}, {2}}\n\nvar y = = 1\n", "5 does-not-parse"),
    ("templatetags/new.py", "", "def f(:\n    pass\n", "1 does-not-parse"),
    ("a.py", "class A[T]:\n    pass\n", "class A[T]\n    pass\n", "1 does-not-parse"),
    ("a.yml", "a: 1\nb: 2\n", "a: 1\n   b: 2\n", "2 invalid-yaml"),
    ("a.yaml", "a: [1]\nb: 2\n", "a: [1\nb: 2\n", "1 invalid-yaml"),
    ("a.yml", "a: \"b\"\nc: d\n", "a: \"b\nc: d\n", "1 invalid-yaml"),
    ("a.yml", "a:\n  b: 1\n", "a:\n\tb: 1\n", "2 invalid-yaml"),
    ("Cargo.toml", "[a]\nb = 1\n", "[a\nb = 1\n", "1 invalid-toml"),
    ("a.toml", "a = 1\n", "a = 1\na = 2\n", "2 invalid-toml"),
];

#[test]
fn common_errors_are_reported_at_the_change() {
    let mut wrong = Vec::new();
    for (path, old, new, expected) in BROKEN {
        let reported_rules = rules(path, old, new);
        if reported_rules != [*expected] {
            wrong.push(format!("{path}: {new:?} -> {reported_rules:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[rustfmt::skip]
const SOUND: &[(&str, &str, &str)] = &[
    ("a.c", "int f(void) {\n}\n", "#if A\nint f(void) {\n#else\nint f(int a) {\n#endif\n}\n"),
    ("a.kt", "fun a() { }\n", "fun a() = = 1\n"),
    ("a.py", "x = 1\n", "if x: a; b\nwhile x:\n    try: a\n    except B: break\n    else:\n        c = [\n1]\n\u{c}\nclass A:\n    # b\n  # c\n    d = (yield_)\n"),
    ("a.py", "x = 1\n", "def f():\n    '''\n a\n    '''\n    if a and \\\n  b:\n        return 1\n    return 2\n"),
    ("pyrightconfig.json", "{}\n", "{\n  // a\n  \"b\": 1\n}\n"),
    ("nx.json", "{}\n", "{\n  // a\n  \"b\": 1\n}\n"),
    ("src/appsettings.json", "{}\n", "{\n  // a\n  \"b\": 1\n}\n"),
    ("angular.json", "{}\n", "{\n  /* a */\n  \"b\": 1,\n}\n"),
    ("cspell.json", "{}\n", "{\n  // a\n  \"b\": 1\n}\n"),
    ("global.json", "{}\n", "{\n  // a\n  \"b\": 1\n}\n"),
    ("some-tool.json", "{}\n", "{\n  // a\n  \"b\": 1\n}\n"),
    ("appsettings.Development.json", "{}\n", "{\n  \"b\": 1,\n}\n"),
    ("a.py", "x = 1\n", "class A[T = int]:\n    pass\n\n\ndef f[T = int](a: T) -> T:\n    return a\n\n\ntype B[T = int] = list[T]\n"),
    ("new.py", "", "class A[T = int]:\n    pass\n"),
    ("a.py", "x = 1\n", "%matplotlib inline\n!pip install a\nx = 1\n"),
    ("new.py", "", "import a\n%matplotlib inline\nx = 1\n"),
    ("a.java", "class A {}\n", "import module java.base;\nclass A {}\n"),
    ("a.py", "x = 1\n", "x = t'{a}' + rt\"{b}\"\n"),
    ("a.java", "class A {}\n", "void main() {\n  IO.println(1);\n}\n"),
    ("a.java", "class A {}\n", "class A { int f(Object o) { return switch (o) { case P(var _, int x) when x > 1 -> 1; default -> 2; }; } }\n"),
    ("new.java", "", "import module java.base;\nclass A {}\n"),
    ("new.java", "", "package ${package};\n\npublic class A {}\n"),
    ("a.java", "package a;\n", "package ${package};\n"),
    ("templates/main.go", "", "package {{.Package}}\n\nfunc main() {}\n"),
    ("main.go", "", "package main\n\n{{range .All}}\nfunc {{.Name}}() {}\n{{end}}\n"),
    ("src/main/resources/archetype-resources/A.java", "", "class $A$ { #if }\n"),
    ("skeleton/a.py", "", "from __NAME- import a\n"),
    (".vscode/settings.json", "{}\n", "{\n  // a\n  \"b\": 1,\n}\n"),
    ("tsconfig.build.json", "{}\n", "{ /* a */ \"b\": [1,], }\n"),
    ("a.json5", "{}\n", "{a: 1}\n"),
    ("tests/data/new.json", "", "{\n"),
    ("fixtures/invalid.json", "{}\n", "{\n"),
    ("new.json", "", "{\"a\": 1}\n{\"a\": 2}\n"),
    ("new.json", "", "{\n  // a\n  \"b\": [1,],\n}\n"),
    ("new.jsonc", "", "[1,2,]\n"),
    ("tsconfig.json", "", "[1,2,]\n"),
    ("new.json", "", "{\"a\": {{ a }}, }}\n"),
    ("a.yml", "a: 1\n", "a: !Ref b\nc: !!python/object:a.b {}\nd: &e {f: 1}\ng:\n  <<: *e\na: 2\n---\nh: 1\n---\n...\n"),
    ("a.yml", "a: 1\n", "on: push\njobs:\n  a:\n    if: ${{ github.ref == 'x' }}\n    run: echo ${{ a }} && b\n"),
    ("chart/a.yaml", "a: 1\n", "{{- if .Values.a }}\na: {{ .Values.a | quote }}\n{{- end }}\n"),
    ("new.yml", "", "a: {% if b %}c: [{% endif %}\n"),
    ("a.yml", "a: [\n", "a: [\nb: {\n"),
    ("a.toml", "a = 1\n", "a = {\n  b = 1,\n}\n[[c]]\n[c.d]\n"),
];

#[test]
fn files_that_some_parser_accepts_are_not_reported() {
    for (path, old, new) in SOUND {
        assert_eq!(rules(path, old, new), NOTHING, "{path}: {new}");
    }
}

const CONFLICT: &str = "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> feature\n";

#[test]
fn conflict_markers_are_found_in_any_file() {
    let paths = "a.py a.js a.rb a.php a.rs a.json a.yml a.md a.txt Makefile a.svg a.toml a.go";
    for path in paths.split(' ') {
        let new = format!("b\n{CONFLICT}c\n{CONFLICT}");
        let expected = ["2 conflict-marker", "8 conflict-marker"];
        assert_eq!(rules(path, "b\nc\n", &new), expected, "{path}");
    }
    let diff3 = CONFLICT.replace("=======", "||||||| base\na = 0\n=======");
    assert_eq!(rules("a.py", "b\n", &format!("b\n{diff3}")), ["2 conflict-marker"]);
    for single_marker in ["<<<<<<< HEAD", "||||||| base", ">>>>>>> feature"] {
        for path in
            ["a.py", "a.js", "a.ts", "a.go", "a.rs", "a.java", "a.rb", "a.yml", "a.json", "a.toml"]
        {
            assert_eq!(
                rules(path, "", &format!("{single_marker}\n")),
                ["1 conflict-marker"],
                "{path} {single_marker}"
            );
        }
    }
    let between = [
        ("a.py", "def f():\n    g()\n", "    h()\n"),
        ("a.js", "function f() {\n  g();\n", "  h();\n}\n"),
        ("a.ts", "function f() {\n  g();\n", "  h();\n}\n"),
        ("a.go", "package a\n\nfunc f() {\n\tg()\n", "\th()\n}\n"),
        ("a.rs", "fn f() {\n    g();\n", "    h();\n}\n"),
        ("A.java", "class A {\n  void f() {\n    g();\n", "    h();\n  }\n}\n"),
        ("a.rb", "def f\n  g\n", "  h\nend\n"),
        ("a.yml", "a: 1\n", "b: 2\n"),
        ("a.json", "{\n  \"a\": 1,\n", "  \"b\": 2\n}\n"),
        ("a.toml", "a = 1\n", "b = 2\n"),
    ];
    for (path, one, two) in between {
        let (old, new) = (format!("{one}{two}"), format!("{one}=======\n{two}"));
        assert_eq!(rules(path, &old, &new).len(), 1, "{path}");
    }
    assert_eq!(rules("a.css", "b\n", "b\na\n=======\nc\n>>>>>>> x\n"), ["3 conflict-marker"]);
    assert_eq!(rules("a.js", "b\n", "b\n<<<<<<< HEAD\n"), ["2 conflict-marker"]);
    // In an existing string a merge left the markers; in a new one they are a sample.
    for (path, begin, end) in [
        ("a.js", "/**\n * a\n", " * b\n */\nf();\n"),
        ("a.py", "def f():\n    \"\"\"a\n", "    \"\"\"\n"),
        ("a.go", "package a\n\nvar a = `\n", "`\n"),
    ] {
        let (old, new) = (format!("{begin}{end}"), format!("{begin}{CONFLICT}{end}"));
        assert_eq!(rules(path, &old, &new).len(), 1, "{path}");
        assert_eq!(rules(path, "", &new), [""; 0], "{path}");
    }
    let documents = [
        ("a.md", "Title\n-----\n\ntext\n\n"),
        ("a.md", "|a|b|\n----|----\n1|2\n\n\n"),
        ("a.md", "````\n```\n````\n\n\n"),
        ("a.md", "```\n~~~\n```\n\n\n"),
        ("a.md", "```\nnever closed\n\n\n\n"),
        ("a.adoc", "a\n---- b\n\n\n\n"),
    ];
    for (path, old_text) in documents {
        let reported_rules = rules(path, old_text, &format!("{old_text}{CONFLICT}"));
        assert_eq!(reported_rules, ["6 conflict-marker"], "{path}: {old_text}");
    }
}

#[test]
fn number_of_conflicts_is_limited() {
    let text = CONFLICT.repeat(20_000);
    for path in ["a.md", "a.txt"] {
        let fixture = Fixture::new(&format!("//- {path}\nb\n//- head\n//- {path}\n{text}"));
        let file_findings = fixture.file_findings_of(&SyntaxCheck).remove(0);
        assert_eq!(file_findings.findings.len(), 100, "{path}");
        assert_eq!(
            file_findings.notes,
            [format!("19900 more conflicts in `{path}` are not listed")]
        );
    }
}

#[test]
fn markers_in_samples_are_not_reported() {
    let python = format!("x = '''\n{CONFLICT}'''\n");
    let script = format!("const a = `\n{CONFLICT}`\n");
    let ruby = format!("a = <<~X\n{CONFLICT}X\n");
    let fence = format!("Text:\n\n```\n{CONFLICT}```\n");
    let tilde = format!("~~~ diff\n```\n{CONFLICT}~~~~\n");
    let listing = format!("[source]\n----\n{CONFLICT}----\n");
    let old = format!("{CONFLICT}b\n");
    let two_conflicts = format!("{CONFLICT}c\n{CONFLICT}");
    let cases = [
        ("a.py", "", python.as_str()),
        ("a.ts", "", script.as_str()),
        ("a.rb", "", ruby.as_str()),
        ("docs/merge.md", "", fence.as_str()),
        ("docs/merge.md", "", tilde.as_str()),
        ("docs/merge.adoc", "", listing.as_str()),
        ("a.rst", "", "Heading\n=======\n\ntext\n"),
        ("a.txt", "", "<<<<<<<<<< a\n>>>>>>>>>> b\n=======\n"),
        ("tests/data/merge.txt", "", CONFLICT),
        ("a.txt", old.as_str(), two_conflicts.as_str()),
    ];
    for (path, old, new) in cases {
        assert_eq!(rules(path, old, new), NOTHING, "{path}: {new}");
    }
}

#[test]
fn removed_bracket_is_reported_without_added_lines() {
    let body = "    x();\n".repeat(30);
    let old = format!("fn a() {{\n{body}}}\n\nfn b() {{\n{body}}}\n");
    let new = format!("fn a() {{\n{body}\nfn b() {{\n{body}}}\n");
    let findings = findings("a.rs", Some(&old), &new);
    assert_eq!(
        findings,
        ["31: The file is no longer valid rust: unmatched `{`. \
          Loading or building it fails."]
    );
}

#[test]
fn unparsable_new_file_is_reported_outside_of_tests() {
    let text = "def f(:\n    pass\n";
    assert_eq!(findings("src/a.py", None, text).len(), 1);
    assert_eq!(findings("tests/data/bad.py", None, text), NOTHING);
}

#[test]
fn already_broken_file_is_not_reported() {
    assert_eq!(findings("a.py", Some("x = = 1\ny = 1\n"), "x = = 1\ny = = 1\n"), NOTHING);
    assert_eq!(findings("a.py", Some("x = = 1\n"), "x = 1\n"), NOTHING);
}

#[test]
fn errors_of_unreliable_grammars_are_not_reported() {
    for path in ["a.c", "a.h", "a.cpp", "a.swift"] {
        assert_eq!(findings(path, Some("int a;\n"), "int a = = 1;\n"), NOTHING, "{path}");
    }
}

#[test]
fn text_in_another_language_is_not_reported() {
    let cases = [
        ("{{ name }}/a.py", "import {{ name }}.b\n"),
        ("a.py", "{% if x %}\nimport b\n{% endif %}\n"),
        ("a.ts", "<?xml version=\"1.0\"?>\n<TS></TS>\n"),
        ("a.js", "// @flow\nfunction f(a: number): ?string {}\n"),
        ("a.txt", "((((\n"),
        ("a.py", "\u{0}\u{1}\n"),
    ];
    for (path, new) in cases {
        assert_eq!(findings(path, Some("x\n"), new), NOTHING, "{path}");
    }
}

#[test]
#[rustfmt::skip]
fn valid_code_in_every_language_is_not_reported() {
    let cases = [
        ("a.py", "match x:\n    case [a, *_] if (b := a):\n        print(f\"{x!r:>{w}}\")\n"),
        ("a.py", "def f[T: int](*args: *Ts) -> T: ...\ntype A = int\n"),
        ("a.js", "class A { #x = 1; static { } get y() { return this?.#x ?? 1n ** 2n } }\n"),
        ("a.ts", "const a = { b: 1 } satisfies A as const;\nexport type { B } from './b';\n"),
        ("a.ts", "export type * from './b';\nexport type * as c from './c';\nimport type D from './d';\n"),
        ("a.tsx", "export const A = <T,>(p: P<T>) => <><b {...p}/></>;\n"),
        ("a.rs", "fn f<'a, const N: usize>(x: &'a [u8; N]) -> impl Fn() + use<'a, N> { let Some(y) = z else { return }; }\n"),
        ("a.go", "package a\n\nfunc F[T ~int | string](x ...T) (y T) { for range 10 { } ; return }\n"),
        ("a.java", "record A(int x) { } sealed interface B permits C { } class D { String s = \"\"\"\n  x\n  \"\"\"; }\n"),
        ("a.rb", "def a(...) = b(...)\ncase [1, 2]\nin [Integer => x, *] then x end\n"),
    ];
    for (path, new) in cases {
        assert_eq!(findings(path, None, new), NOTHING, "{path}");
    }
}

#[test]
fn syntax_error_in_invalid_utf8_is_not_reported() {
    let text = "x = '\u{fffd}\\'\n";
    let fixture = Fixture::new(&format!("//- a.py\nx = 1\n//- head\n//- a.py\n{text}"));
    // A replacement character in valid UTF-8 hides no error.
    assert_eq!(fixture.file_findings_of(&SyntaxCheck)[0].findings.len(), 1);
    let fixture = fixture.with_unreadable("a.py");
    let file_findings = fixture.file_findings_of(&SyntaxCheck).remove(0);
    assert_eq!(file_findings.findings, []);
    assert_eq!(file_findings.notes, ["the syntax of `a.py` was not checked: it is not UTF-8"]);
}

#[test]
fn data_file_that_the_parser_gives_up_on_is_not_checked() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    for (path, text) in [
        ("a.yml", format!("x: {deep}\nb: [\n")),
        ("a.yml", "x: !e!y 1\nb: [\n".to_owned()),
        ("a.json", " ".repeat(1_100_000)),
    ] {
        let fixture = Fixture::new(&format!("//- head\n//- {path}\n{text}"));
        let file_findings = fixture.file_findings_of(&SyntaxCheck).remove(0);
        assert!(file_findings.abort_reason.is_some(), "{path}");
    }
}

#[test]
fn too_large_file_is_noted() {
    let text = "x = 1\n".repeat(200_000);
    let fixture = Fixture::new(&format!("//- a.py\nx = 1\n//- head\n//- a.py\n{text}"));
    assert_eq!(
        fixture.file_findings_of(&SyntaxCheck)[0].notes,
        [
            "the syntax of `a.py` was not checked: the text has 1200000 bytes, more than the 1048576 that are parsed"
        ]
    );
}

/// Valid code that a grammar rejects.
#[rustfmt::skip]
const UNKNOWN: [(&str, &[&str]); 9] = [
    ("a.py", &["x = f\"{a:=^10}\"\n", "x = f\"{a:=}\"\n"]),
    ("a.js", &[
        "export { x } from './x' with { type: 'json' };\n", "export { x as class };\n", "import { if as z } from 'x';\n",
        "const y = String.raw`C:\\users\\xyz`;\n", "using(x);\n",
    ]),
    ("a.jsx", &[
        "const x = <p>Terms & Conditions</p>;\n", "const x = <p>\n  Terms &\n  Conditions\n</p>;\n",
        "const x = <a href=\"/x?a=1&b=2\">R&D</a>;\n", "const x = <div class=\"x\" />;\n", "const x = <label for=\"x\" />;\n",
        "const x = <this.Foo />;\n",
    ]),
    ("a.ts", &[
        "interface W<out T> {}\n", "type W<in out T> = 1;\n", "interface P { abstract?: string }\n", "class P { abstract = 1; }\n",
        "class I { static [key: string]: any; }\n", "type Q = import('x').Y<Z>;\n", "export default abstract class {}\n",
        "const f = g<x>?.(y);\n",
    ]),
    ("a.go", &["var p = new(42)\n", "func f() { f();; g() }\n"]),
    ("a.rs", &[
        "fn d() { S { x, .. } = f; }\n", "fn d() { let A { 0: x, 1: y } = z; }\n", "fn a() { let y = #[inline] || 1; }\n",
    ]),
    ("A.java", &[
        "class F { void f(Object o) { switch (o) { case A _, B _ -> {} default -> {} } } }\n",
        "class F extends Q { F(int x) { this.y = x; super(x); } }\n",
    ]),
    ("a.rb", &[
        "def hi = puts \"Hello\"\n", "def a(x) = raise ArgumentError, x\n", "f = ->(a; b) { }\n", "class Été; end\n",
    ]),
    ("a.kt", &[
        "class P { companion object { const val Q = 1 } }\n", "context(x: Foo)\nfun ctx() {}\n",
        "fun w(x: Any) = when (x) {\n    is String if x.isEmpty() -> 1\n    else -> 3\n}\n",
    ]),
];

#[test]
fn syntax_unknown_to_the_grammar_is_not_reported() {
    for (path, texts) in UNKNOWN {
        let old_text = match path {
            "a.go" => "package a\n",
            "A.java" => "class A {}\n",
            _ => "",
        };
        for text in texts {
            assert_eq!(
                findings(path, Some(old_text), &format!("{old_text}{text}")),
                NOTHING,
                "{path}: {text}"
            );
        }
    }
}
