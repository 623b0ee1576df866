//! Changes that break a file, and errors that are not theirs.

use super::*;
use crate::AddedLine;

/// A file before and after; what is added is what differs, line by line from the start and from the end.
fn file(path: &str, old: Option<&str>, new: &str) -> ChangedFile {
    let before: Vec<&str> = old.map(|old| old.lines().collect()).unwrap_or_default();
    let after: Vec<&str> = new.lines().collect();
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let behind = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let behind = behind.min(after.len() - same);
    let added = (1..).zip(&after).skip(same).take(after.len() - same - behind);
    let added = added.map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() });
    ChangedFile {
        path: path.to_owned(),
        old: old.map(|old| old.as_bytes().to_vec()),
        new: Some(new.as_bytes().to_vec()),
        added: added.collect(),
        removed: Vec::new(),
    }
}

/// What is found, as `line: why`.
fn found(path: &str, old: Option<&str>, new: &str) -> Vec<String> {
    let findings = review(&[file(path, old, new)]).findings;
    let shown = findings.iter().map(|finding| {
        let line = finding.line_start.map_or(0, std::num::NonZeroU32::get);
        format!("{line}: {}", finding.why_it_matters)
    });
    shown.collect()
}

const NOTHING: [String; 0] = [];

#[test]
fn a_change_that_breaks_a_file_is_found_at_the_added_line() {
    let cases = [
        ("a.py", "def f(a):\n    return a\n", "def f(a:\n    return a\n", 1),
        ("a.js", "f(1);\ng(2);\nh(3);\n", "f(1);\ng(2;\nh(3);\n", 2),
        ("a.ts", "const a = f(1);\n", "const a = f(1;\n", 1),
        ("a.tsx", "const a = <b>x</b>;\n", "const a = <b>{x</b>;\n", 1),
        ("a.rs", "fn a() {\n    b();\n}\n", "fn a() {\n    b(;\n}\n", 2),
        ("a.go", "package a\n\nvar x = 1\n", "package a\n\nvar x = = 1\n", 3),
        ("a.java", "class A { int x = 1; }\n", "class A { int x 1; }\n", 1),
        ("a.rb", "def a\n  b(1)\nend\n", "def a\n  b(1\nend\n", 2),
    ];
    for (path, old, new, line) in cases {
        let found = found(path, Some(old), new);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert!(found[0].starts_with(&format!("{line}: The file parsed before")), "{found:?}");
    }
}

#[test]
fn conflict_markers_that_were_left_are_found() {
    let old = "def f():\n    return 1\n";
    let new = "def f():\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> b\n";
    assert_eq!(found("a.py", Some(old), new).len(), 1);
}

#[test]
fn a_bracket_that_was_taken_away_is_found_though_no_line_was_added() {
    let body = "    x();\n".repeat(30);
    let old = format!("fn a() {{\n{body}}}\n\nfn b() {{\n{body}}}\n");
    let new = format!("fn a() {{\n{body}\nfn b() {{\n{body}}}\n");
    let found = found("a.rs", Some(&old), &new);
    assert_eq!(
        found,
        [
            "1: The file parsed before this change, and as rust it does not parse: a `{` has no partner. \
          Whatever loads or builds it fails."
        ]
    );
}

#[test]
fn a_new_file_that_does_not_parse_is_found_outside_of_tests() {
    let text = "def f(:\n    pass\n";
    assert_eq!(found("src/a.py", None, text).len(), 1);
    assert_eq!(found("tests/data/bad.py", None, text), NOTHING);
}

#[test]
fn what_did_not_parse_before_says_nothing() {
    assert_eq!(found("a.py", Some("x = = 1\ny = 1\n"), "x = = 1\ny = = 1\n"), NOTHING);
    assert_eq!(found("a.py", Some("x = = 1\n"), "x = 1\n"), NOTHING);
}

#[test]
fn languages_whose_grammars_fail_on_good_code_are_passed_over() {
    for path in ["a.c", "a.h", "a.cpp", "a.kt", "a.swift"] {
        assert_eq!(found(path, Some("int a;\n"), "int a = = 1;\n"), NOTHING, "{path}");
    }
}

#[test]
fn what_is_not_the_language_of_its_name_is_passed_over() {
    let cases = [
        ("{{ name }}/a.py", "import {{ name }}.b\n"),
        ("a.py", "{% if x %}\nimport b\n{% endif %}\n"),
        ("a.ts", "<?xml version=\"1.0\"?>\n<TS></TS>\n"),
        ("a.js", "// @flow\nfunction f(a: number): ?string {}\n"),
        ("a.txt", "((((\n"),
        ("a.py", "\u{0}\u{1}\n"),
    ];
    for (path, new) in cases {
        assert_eq!(found(path, Some("x\n"), new), NOTHING, "{path}");
    }
}

#[test]
fn good_code_in_every_language_is_passed_over() {
    let cases = [
        ("a.py", "match x:\n    case [a, *_] if (b := a):\n        print(f\"{x!r:>{w}}\")\n"),
        ("a.py", "def f[T: int](*args: *Ts) -> T: ...\ntype A = int\n"),
        ("a.js", "class A { #x = 1; static { } get y() { return this?.#x ?? 1n ** 2n } }\n"),
        ("a.ts", "const a = { b: 1 } satisfies A as const;\nexport type { B } from './b';\n"),
        ("a.tsx", "export const A = <T,>(p: P<T>) => <><b {...p}/></>;\n"),
        (
            "a.rs",
            "fn f<'a, const N: usize>(x: &'a [u8; N]) -> impl Fn() + use<'a, N> { let Some(y) = z else { return }; }\n",
        ),
        (
            "a.go",
            "package a\n\nfunc F[T ~int | string](x ...T) (y T) { for range 10 { } ; return }\n",
        ),
        (
            "a.java",
            "record A(int x) { } sealed interface B permits C { } class D { String s = \"\"\"\n  x\n  \"\"\"; }\n",
        ),
        ("a.rb", "def a(...) = b(...)\ncase [1, 2]\nin [Integer => x, *] then x end\n"),
    ];
    for (path, new) in cases {
        assert_eq!(found(path, None, new), NOTHING, "{path}");
    }
}

#[test]
fn what_is_too_large_is_said_to_be_not_checked() {
    let text = "x = 1\n".repeat(200_000);
    let returned = review(&[file("a.py", Some("x = 1\n"), &text)]);
    assert_eq!(
        returned.notes,
        [
            "the syntax of `a.py` was not checked: the text has 1200000 bytes, more than the 1048576 that are parsed"
        ]
    );
}
