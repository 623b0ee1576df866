//! Function context, parsed or guessed.

use expect_test::{Expect, expect};

use crh_syntax::{IMPORTS_MAX, Language, TEXT_MAX, function_context};

fn check(language: Option<Language>, text: &str, name: &str, expected: Expect) {
    let shown = function_context(language, text, name).map_or("none".to_owned(), |context| {
        format!(
            "{} {}-{} others {}{}\n{:?}\n{}",
            context.name,
            context.start_line,
            context.end_line,
            context.other_matches,
            if context.heuristic { " guessed" } else { "" },
            context.imports,
            context.definition,
        )
    });
    expected.assert_eq(&shown);
}

const SHOP: &str = "\
import { tax } from './tax';

class Cart {
  @traced()
  total(items) {
    return items.length;
  }
}

class Total {}

const total = (x) => tax(x);
";

#[test]
fn function_includes_decorators_and_imports() {
    check(
        Some(Language::TypeScript),
        SHOP,
        "Cart.total",
        expect![[r#"
            Cart.total 4-7 others 0
            ["import { tax } from './tax';"]
              @traced()
              total(items) {
                return items.length;
              }"#]],
    );
}

#[test]
fn parentheses_after_the_name_are_ignored() {
    check(
        Some(Language::TypeScript),
        SHOP,
        "total()",
        expect![[r#"
            total 12-12 others 0
            ["import { tax } from './tax';"]
            const total = (x) => tax(x);"#]],
    );
}

#[test]
fn first_of_several_functions_wins() {
    check(
        Some(Language::Java),
        "class run {}\nclass A { void run() {} }\nclass B { void run() {} }\n",
        "A.run",
        expect![[r#"
            A.run 2-2 others 0
            []
            class A { void run() {} }"#]],
    );
    check(
        Some(Language::Java),
        "class X { class run {} }\nclass A { void run() {} }\nclass B { void run() {} }\n",
        "run",
        expect![[r#"
            A.run 2-2 others 2
            []
            class A { void run() {} }"#]],
    );
}

#[test]
fn missing_name_in_valid_file_is_not_guessed() {
    check(Some(Language::Python), "text = '''\ndef f():\n    pass\n'''\n", "f", expect!["none"]);
}

#[test]
fn missing_name_in_file_with_errors_is_guessed() {
    check(
        Some(Language::Python),
        "import a\n\ndef h(y:\n    return y\n",
        "h",
        expect![[r#"
            h 3-4 others 0 guessed
            ["import a"]
            def h(y:
                return y"#]],
    );
}

#[test]
fn omitted_symbols_are_guessed() {
    let text = format!("class {} {{\n  void f() {{\n    g();\n  }}\n}}\n", "A".repeat(600));
    let context = function_context(Some(Language::Java), &text, "f").unwrap();
    assert_eq!((context.start_line, context.end_line, context.heuristic), (2, 4, true));
}

#[test]
fn omitted_imports_are_counted() {
    let text = format!("{}def f():\n    pass\n", "import a\n".repeat(IMPORTS_MAX + 2));
    for language in [Some(Language::Python), None] {
        let context = function_context(language, &text, "f").unwrap();
        assert_eq!((context.imports.len(), context.omitted_imports), (IMPORTS_MAX, 2));
    }
}

#[test]
fn oversized_text_is_guessed() {
    let text = format!("{}def f(x):\n    return x\n", "# filler\n".repeat(TEXT_MAX / 9 + 1));
    let context = function_context(Some(Language::Python), &text, "f").unwrap();
    assert!(context.heuristic);
    assert_eq!(context.definition, "def f(x):\n    return x");
}

#[test]
fn unknown_language_is_guessed() {
    check(
        None,
        "local json = require('json')\nrequire 'table'\n\nfunction M.load(path)\n  return path\nend\n",
        "load",
        expect![[r#"
            M.load 4-6 others 0 guessed
            ["require 'table'"]
            function M.load(path)
              return path
            end"#]],
    );
    check(None, "nothing here\n", "f", expect!["none"]);
    check(None, "", "", expect!["none"]);
}

#[test]
fn final_carriage_return_is_removed() {
    let context = function_context(Some(Language::Go), "func a() {\r\n}\r\n", "a").unwrap();
    assert_eq!(context.definition, "func a() {\r\n}");
}
