//! Properties of any text: no panic, and nested spans inside the text.

use proptest::prelude::*;

use crate::fixtures;
use crh_syntax::{Language, fallback_spans, function_context, imports, mentions, symbols};

/// Runs all queries on a text and checks the invariants.
fn check(language: Language, text: &str) {
    let lines = u32::try_from(text.split('\n').count()).unwrap();
    let spans = |spans: Vec<(u32, u32)>| {
        for (at, (start, end)) in spans.iter().enumerate() {
            assert!(1 <= *start && start <= end && *end <= lines, "{start}-{end} of {lines}");
            for (next, after) in &spans[at + 1..] {
                assert!(start <= next, "{start} before {next}");
                let is_nested_or_apart = after <= end || next >= end;
                assert!(is_nested_or_apart, "{start}-{end} against {next}-{after}");
            }
        }
    };
    if let Ok(symbols) = symbols(language, text) {
        spans(symbols.all().iter().map(|symbol| (symbol.start, symbol.end)).collect());
        for symbol in symbols.all() {
            assert!(symbols.find_by_name(&symbol.name).contains(&symbol));
            let at_end = symbols.symbol_at(symbol.end).unwrap();
            assert!(at_end.start <= symbol.end && symbol.end <= at_end.end);
        }
        // One symbol stands for all, because each costs a parse.
        if let Some(symbol) = symbols.all().last() {
            let context = function_context(Some(language), text, &symbol.name).unwrap();
            assert!(!context.heuristic && text.contains(&context.definition));
            let own_name = symbol.name.rsplit(['.', ':', '\\']).next().unwrap();
            for mention in mentions(language, text, &[own_name].into()).unwrap() {
                let line = text.split('\n').nth(mention.line as usize - 1).unwrap();
                assert!(mention.name == own_name && line.contains(own_name), "{line:?}");
            }
        }
    }
    if let Ok(imports) = imports(language, text) {
        spans(imports.all().iter().map(|import| (import.start, import.end)).collect());
        assert!(imports.all().iter().all(|import| text.contains(&import.text)));
    }
    let guesses = fallback_spans(text);
    spans(guesses.iter().map(|span| (span.start, span.end)).collect());
    for guess in &guesses {
        let context = function_context(None, text, &guess.name).unwrap();
        assert!(context.heuristic && text.contains(&context.definition));
    }
}

#[test]
fn invariants_hold_for_fixture_prefixes() {
    for (at, fixture) in fixtures::all().iter().enumerate() {
        let mut end = 0;
        for (row, line) in fixture.text.split_inclusive('\n').enumerate() {
            // Every other time cut within the line, at a character boundary.
            let middle = (end..=end + line.len() / 2).rev();
            let middle = middle.into_iter().find(|at| fixture.text.is_char_boundary(*at)).unwrap();
            end += line.len();
            // A third of the lines, different ones per fixture, because each costs three parses.
            if (at + row) % 3 != 0 {
                continue;
            }
            check(fixture.language, &fixture.text[..if row % 2 == 0 { middle } else { end }]);
        }
    }
}

#[test]
fn invariants_hold_for_wrong_language() {
    // A different language each time, so that every pair occurs.
    for (at, fixture) in fixtures::all().iter().enumerate() {
        for step in [1, 5] {
            check(Language::ALL[(at * 3 + step) % Language::ALL.len()], &fixture.text);
        }
    }
}

fn language() -> impl Strategy<Value = Language> {
    prop::sample::select(Language::ALL.to_vec())
}

/// Tokens of various languages.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "def f():\n    ", "class A", "fn f() ", "function f() ", "func f() ", "fun f() ", "impl A ",
    "struct S ", "namespace n ", "mod m ", "module M\n", "end\n", "interface I ",
    "const f = () => ", "#[a]\n", "@a\n", "template <typename T>\n",
    "typedef struct { int x; } T;\n", "import a\n", "#include <a>\n", "use a;\n",
    "require 'a'\n", "{", "}", "(", ")", "[", "]", ";\n", "\n", "\r\n", "    ", "\t", "\"", "'",
    "`", "\"\"\"", "${", "#{", "<<~A\n", "A\n", "/*", "*/", "//", "# ", "<?php ", "?>", "é",
    "日本", "🦀", "\0", "\u{feff}", "a", " ", ":", ",", "=", "=>", "->", "<", ">", "::", ".",
    "operator", "async ", "return ", "\\", "extension E ", "enum E ",
];

/// Random text of these tokens.
fn code() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn invariants_hold_for_any_text(language in language(), text in any::<String>()) {
        check(language, &text);
    }

    #[test]
    fn invariants_hold_for_code_like_text(language in language(), text in code()) {
        check(language, &text);
    }

    #[test]
    fn invariants_hold_for_damaged_fixtures(at in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), piece in code()) {
        let fixtures = fixtures::all();
        let fixture = at.get(&fixtures);
        let place = from.index(fixture.text.len() + 1);
        let place = (0..=place).rev().find(|at| fixture.text.is_char_boundary(*at)).unwrap_or(0);
        let (text_before, text_after) = fixture.text.split_at(place);
        check(fixture.language, &format!("{text_before}{piece}{text_after}"));
    }
}
