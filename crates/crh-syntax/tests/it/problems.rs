//! Where texts that do not parse are said not to.

use expect_test::{Expect, expect};

use crate::fixtures;
use crh_syntax::{Language, PROBLEMS_MAX, ProblemKind, problems};

#[expect(clippy::needless_pass_by_value, reason = "tests read better")]
fn check(language: Language, text: &str, expected: Expect) {
    let problems = problems(language, text).unwrap();
    let lines = problems.places.into_iter().map(|problem| match problem.kind {
        ProblemKind::Missing(what) => format!("{}-{} no {what}\n", problem.start, problem.end),
        ProblemKind::Unexpected => format!("{}-{} unexpected\n", problem.start, problem.end),
        ProblemKind::Refused(why) => format!("{}-{} {why}\n", problem.start, problem.end),
    });
    let unpaired = problems.unpaired.map(|bracket| format!("unpaired {bracket}\n"));
    expected.assert_eq(&lines.chain(unpaired).collect::<String>());
}

#[test]
fn a_text_that_parses_has_none() {
    check(Language::Python, "def f():\n    return 1\n", expect![[r#""#]]);
    check(Language::Rust, "", expect![[r#""#]]);
}

#[test]
fn a_problem_is_where_the_parser_met_it() {
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
fn a_bracket_without_its_partner_is_told_from_other_problems() {
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

/// All of these have errors, and brackets that no grammar is needed to pair.
#[test]
fn brackets_that_have_their_partners_are_not_called_unpaired() {
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
        assert!(!problems.places.is_empty(), "{language}");
        assert_eq!(problems.unpaired, None, "{language}");
    }
}

#[test]
fn no_more_are_kept_than_anybody_needs() {
    let text = "def f(:\n    pass\n\n".repeat(100);
    assert_eq!(problems(Language::Python, &text).unwrap().places.len(), PROBLEMS_MAX);
}

#[test]
fn a_text_has_problems_exactly_if_its_symbols_say_so() {
    for fixture in fixtures::all() {
        let symbols = crh_syntax::symbols(fixture.language, &fixture.text).unwrap();
        let problems = problems(fixture.language, &fixture.text).unwrap();
        assert_eq!(symbols.has_errors(), !problems.places.is_empty(), "{}", fixture.path.display());
    }
}

#[test]
fn what_python_refuses_is_told_though_its_grammar_takes_it() {
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
