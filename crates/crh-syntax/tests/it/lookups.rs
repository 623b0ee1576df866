//! Symbol lookup by line and name.

use expect_test::{Expect, expect};

use crh_syntax::{Language, symbols};

const STORE: &str = "\
class Store:
    limit = 10

    @cached
    def get(self, key):
        def miss():
            return None
        return miss()

    def put(self, key): pass


class Cache(Store):
    def get(self, key):
        return 1


def get(key): return key
";

#[test]
fn innermost_symbol_at_a_line_is_found() {
    let symbols = symbols(Language::Python, STORE).unwrap();
    let at: Vec<_> = (0..=19)
        .map(|line| {
            format!("{line} {}", symbols.symbol_at(line).map_or("-", |symbol| &symbol.name))
        })
        .collect();
    expect![[r#"
        0 -
        1 Store
        2 Store
        3 Store
        4 Store.get
        5 Store.get
        6 Store.get.miss
        7 Store.get.miss
        8 Store.get
        9 Store
        10 Store.put
        11 -
        12 -
        13 Cache
        14 Cache.get
        15 Cache.get
        16 -
        17 -
        18 get
        19 -"#]]
    .assert_eq(&at.join("\n"));
}

#[test]
fn shared_line_belongs_to_the_next_symbol() {
    let symbols = symbols(Language::Rust, "fn a() {\n} fn b() {\n}\n").unwrap();
    let names: Vec<_> =
        (1..=3).map(|line| symbols.symbol_at(line).unwrap().name.as_str()).collect();
    assert_eq!(names, ["a", "b", "b"]);
}

fn check_named(language: Language, text: &str, name: &str, expected: Expect) {
    let symbols = symbols(language, text).unwrap();
    let names: Vec<_> = symbols
        .find_by_name(name)
        .iter()
        .map(|symbol| format!("{}-{} {}", symbol.start, symbol.end, symbol.name))
        .collect();
    expected.assert_eq(&names.join("\n"));
}

#[test]
fn full_name_takes_precedence_over_suffix() {
    check_named(Language::Python, STORE, "get", expect!["18-18 get"]);
}

#[test]
fn suffix_finds_all_matching_symbols() {
    check_named(Language::Python, STORE, "put", expect!["10-10 Store.put"]);
    check_named(Language::Python, STORE, "get.miss", expect!["6-7 Store.get.miss"]);
    let text = "class A { run() {} }\nclass B { run() {} rerun() {} }\n";
    check_named(
        Language::JavaScript,
        text,
        "run",
        expect![[r#"
            1-1 A.run
            2-2 B.run"#]],
    );
}

#[test]
fn partial_word_and_empty_name_find_nothing() {
    check_named(Language::Python, STORE, "et", expect![""]);
    check_named(Language::Python, STORE, "", expect![""]);
    check_named(Language::Python, STORE, "Store.nothing", expect![""]);
}

#[test]
fn qualifier_alone_does_not_match() {
    let text = "struct A { operator std::string() { return x; } };\n";
    check_named(Language::Cpp, text, "string", expect![""]);
    check_named(
        Language::Cpp,
        text,
        "operator std::string",
        expect!["1-1 A::operator std::string"],
    );
}

#[test]
fn notation_of_other_languages_is_accepted() {
    let rust = "mod a { struct Store; impl Store { fn get(&self) {} } fn get() {} }\n";
    for name in ["Store.get", "Store#get", "a.Store.get", "a::Store.get", r"Store\get"] {
        check_named(Language::Rust, rust, name, expect!["1-1 a::Store::get"]);
    }
    check_named(Language::Rust, rust, "tore.get", expect![""]);
    check_named(Language::Rust, rust, "Store.", expect![""]);
    check_named(Language::Python, STORE, "Store::put", expect!["10-10 Store.put"]);
    let cpp = "struct A { operator std::string() { return x; } };\n";
    check_named(Language::Cpp, cpp, "std.string", expect![""]);
    check_named(Language::Kotlin, "fun `is it`() {}\n", "is it", expect!["1-1 `is it`"]);
}

#[test]
fn attributes_are_included_and_comments_before_excluded() {
    // Line 1 is a documentation comment, line 2 an attribute, line 3 a comment, line 4 the
    // definition. Go and Ruby have no attributes, so theirs starts at line 4.
    for (language, text, expected) in [
        (Language::Python, "# doc\n@a\n# why\ndef f(): pass\n", (2, 4)),
        (Language::JavaScript, "/** doc */\n@a\n// why\nclass f {}\n", (2, 4)),
        (Language::TypeScript, "/** doc */\n@a\n// why\nexport class f {}\n", (2, 4)),
        (Language::Tsx, "/** doc */\n@a\n// why\nabstract class f {}\n", (2, 4)),
        (Language::Rust, "/// doc\n#[a]\n// why\nfn f() {}\n", (2, 4)),
        (Language::Go, "// doc\n//go:noinline\n// why\nfunc f() {}\n", (4, 4)),
        (Language::Java, "/** doc */\n@a\n// why\nclass f {}\n", (2, 4)),
        (Language::Ruby, "# doc\n# @a\n# why\ndef f; end\n", (4, 4)),
        (Language::C, "/** doc */\n[[a]]\n// why\nint f() {}\n", (2, 4)),
        (Language::Cpp, "/** doc */\n[[a]]\n// why\nint f() {}\n", (2, 4)),
        (Language::CSharp, "/// doc\n[A]\n// why\nclass f {}\n", (2, 4)),
        (Language::Php, "<?php /** doc */\n#[A]\n// why\nfunction f() {}\n", (2, 4)),
        (Language::Kotlin, "/** doc */\n@A\n// why\nfun f() {}\n", (2, 4)),
        (Language::Swift, "/// doc\n@a\n// why\nfunc f() {}\n", (2, 4)),
    ] {
        let symbols = symbols(language, text).unwrap();
        let lines: Vec<_> = symbols.all().iter().map(|symbol| (symbol.start, symbol.end)).collect();
        assert_eq!(lines, [expected], "{language}");
    }
}
