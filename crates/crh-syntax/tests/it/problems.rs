//! Positions of syntax errors.

use expect_test::{Expect, expect};

use crate::fixtures;
use crh_syntax::{Language, PROBLEMS_MAX, SyntaxProblemKind, problems};

#[expect(clippy::needless_pass_by_value, reason = "tests read better")]
fn check(language: Language, text: &str, expected: Expect) {
    let problems = problems(language, text).unwrap();
    let lines = problems.list.into_iter().map(|problem| match problem.kind {
        SyntaxProblemKind::Missing(token) => {
            format!("{}-{} no {token}\n", problem.start, problem.end)
        }
        SyntaxProblemKind::Unexpected => format!("{}-{} unexpected\n", problem.start, problem.end),
        SyntaxProblemKind::Rejected(why) => format!("{}-{} {why}\n", problem.start, problem.end),
    });
    let unpaired = problems.unpaired_bracket.map(|bracket| format!("unpaired {bracket}\n"));
    expected.assert_eq(&lines.chain(unpaired).collect::<String>());
}

#[test]
fn valid_text_has_no_problems() {
    check(Language::Python, "def f():\n    return 1\n", expect![[r#""#]]);
    check(Language::Rust, "", expect![[r#""#]]);
}

#[test]
fn problem_has_the_position_of_the_error() {
    check(
        Language::Python,
        "x = 1\ndef f(:\n    pass\n",
        expect![[r#"
            2-2 no )
            unpaired (
        "#]],
    );
    check(
        Language::Rust,
        "fn a() {}\nfn b() {\n    call(1;\n}\n",
        expect![[r#"
            3-3 no )
            unpaired (
        "#]],
    );
    check(
        Language::Go,
        "package a\n\nfunc f() {\n\tx := 1\n",
        expect![[r#"
            5-5 no }
            unpaired {
        "#]],
    );
    check(
        Language::JavaScript,
        "let a = 1;\nlet = = 2;\nlet c = (1;\n",
        expect![[r#"
            2-2 unexpected
            3-3 no )
            unpaired (
        "#]],
    );
}

#[test]
fn unpaired_bracket_is_reported() {
    check(
        Language::Rust,
        "fn a() {\n    b();\n\nfn c() {}\nfn d() {}\n",
        expect![[r#"
            1-6 unexpected
            unpaired {
        "#]],
    );
    check(
        Language::JavaScript,
        "f(1)) + g(2);\n",
        expect![[r#"
            1-1 unexpected
            unpaired )
        "#]],
    );
    check(
        Language::Python,
        "x = 1\ny = ')' )\n",
        expect![[r#"
            2-2 unexpected
            unpaired )
        "#]],
    );
}

/// These have syntax errors, but balanced brackets.
#[test]
fn balanced_brackets_are_not_reported() {
    for (language, text) in [
        (Language::Python, "x = = f'{a[0]:{w}}' + '('\n"),
        (Language::JavaScript, "let = = `${a}{` + /[(]/;\n"),
        (Language::TypeScript, "let = = `${f(`${a}`)}`;\n"),
        (Language::Tsx, "let = = <a b={`{`}>{c} ( </a>;\n"),
        (Language::Rust, "fn = = a() { m!{ [ ( ) ] } ; '{' ; \"(\" }\n"),
        (Language::Go, "package a\nvar = = map[string]int{\"{\": '('}\n"),
        (Language::Java, "class A { int = = 1; }\nclass B { int b = f('{', \"(\"); }\n"),
        (Language::Ruby, "a = = \"#{b[1]}(\" + %w[a b] + :[] \n"),
    ] {
        let problems = problems(language, text).unwrap();
        assert!(!problems.list.is_empty(), "{language}");
        assert_eq!(problems.unpaired_bracket, None, "{language}");
    }
}

#[test]
fn number_of_problems_is_limited() {
    let text = "def f(:\n    pass\n\n".repeat(100);
    assert_eq!(problems(Language::Python, &text).unwrap().list.len(), PROBLEMS_MAX);
}

#[test]
fn problems_agree_with_symbols_has_errors() {
    for fixture in fixtures::all() {
        let symbols = crh_syntax::symbols(fixture.language, &fixture.text).unwrap();
        let problems = problems(fixture.language, &fixture.text).unwrap();
        assert_eq!(symbols.has_errors(), !problems.list.is_empty(), "{}", fixture.path.display());
    }
}

#[test]
fn python_errors_beyond_the_grammar_are_reported() {
    check(
        Language::Python,
        "def f():\nreturn 1\n",
        expect![[r#"
        1-1 a block has no statement
        2-2 `return` stands outside of a function
    "#]],
    );
    check(
        Language::Python,
        "def f():\n    a = 1\n  b = 2\n",
        expect![[r#"
        3-3 the line is not indented like its block
    "#]],
    );
    check(
        Language::Python,
        "class A:\n    def f(self):\n        pass\n    return 1\nbreak\n",
        expect![[r#"
            4-4 `return` stands outside of a function
            5-5 `break` stands outside of a loop
        "#]],
    );
}
