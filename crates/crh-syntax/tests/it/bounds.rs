//! Texts that are too large, too deep, too long or hostile.

use crh_syntax::{Hazard, Language, ParseError, TEXT_MAX, imports, symbols};

#[test]
fn oversized_text_is_rejected_by_every_query() {
    let text = " ".repeat(TEXT_MAX + 1);
    let refused = ParseError::TooLarge { bytes: TEXT_MAX + 1 };
    for language in Language::ALL {
        assert_eq!(symbols(language, &text), Err(refused));
        assert_eq!(imports(language, &text), Err(refused));
    }
    assert_eq!(
        refused.to_string(),
        "the text has 1048577 bytes, more than the 1048576 that are parsed"
    );
    assert!(symbols(Language::Python, &text[1..]).is_ok());
}

#[test]
fn ten_thousand_open_brackets_do_not_overflow_the_stack() {
    for (language, bracket) in Language::ALL.into_iter().zip(["(", "{", "["].into_iter().cycle()) {
        // It may be parsed or rejected, but it must return.
        if let Ok(symbols) = symbols(language, &bracket.repeat(10_000)) {
            assert!(symbols.has_errors() || language == Language::Php, "{language} {bracket}");
        }
    }
}

#[test]
fn symbol_after_deep_nesting_is_found() {
    let text = format!("x = {}{}\n\ndef f():\n    pass\n", "[".repeat(10_000), "]".repeat(10_000));
    let symbols = symbols(Language::Python, &text).unwrap();
    assert!(!symbols.has_errors());
    assert_eq!(symbols.symbol_at(3).unwrap().name, "f");
}

#[test]
fn parsing_of_hostile_text_is_stopped() {
    // Without an error limit these take minutes, because each error redoes everything open before
    // it.
    for (language, pattern) in
        [(Language::Python, "-->"), (Language::Kotlin, "/*"), (Language::Java, "a ")]
    {
        let text = pattern.repeat(100_000 / pattern.len());
        assert_eq!(symbols(language, &text), Err(ParseError::TooMuchWork), "{language}");
    }
}

#[test]
fn unclosed_angles_are_rejected_but_shifts_are_not() {
    let rows = "a<".repeat(50_000);
    for language in [Language::Java, Language::CSharp, Language::Cpp, Language::TypeScript] {
        assert_eq!(symbols(language, &rows), Err(ParseError::Hazard(Hazard::Angles)), "{language}");
    }
    let shifts = format!("void f() {{ out {}; }}\n", "<< x ".repeat(2_000));
    assert_eq!(symbols(Language::Cpp, &shifts).unwrap().symbol_at(1).unwrap().name, "f");
}

#[test]
fn too_long_names_are_counted_as_omitted() {
    let text = format!("class {}:\n    def m(self): pass\ndef f(): pass\n", "a".repeat(600));
    let symbols = symbols(Language::Python, &text).unwrap();
    assert_eq!(symbols.omitted(), 2);
    assert_eq!(symbols.all().len(), 1);
}

#[test]
fn excess_symbols_are_counted_as_omitted() {
    let symbols = symbols(Language::Go, &"func a(){}\n".repeat(70_000)).unwrap();
    assert_eq!((symbols.all().len(), symbols.omitted()), (65_536, 4_464));
}

#[test]
fn deeply_nested_names_are_counted_as_omitted() {
    let depth = 5_000;
    let text = format!("x = {}1{}", "{[".repeat(depth), "](){}}".repeat(depth));
    let symbols = symbols(Language::JavaScript, &text).unwrap();
    assert_eq!((symbols.all().len(), symbols.omitted()), (0, 5_000));
}

#[test]
fn unusual_bytes_are_accepted() {
    for language in Language::ALL {
        #[rustfmt::skip]
        let texts = [
            "", "\0", "\r", "\r\n", "\n\n\n", "\u{feff}", "'", "\"", "\"\"\"", "/*", "<<A", "R\"(", "r#\"", "`${", "\\", "#{", "日本語",
            "🦀\0🦀", "\u{200b}", "<?php", "#!", "@", "\t\t\t", "\u{0085}",
        ];
        for text in texts {
            let symbols = symbols(language, text).unwrap();
            assert!(symbols.all().is_empty(), "{language} {text:?}");
        }
    }
}

#[test]
fn kotlin_annotation_at_the_end_does_not_hang() {
    for text in ["val a = 1\n@", "class A\n@B(", "class A {\n  val b: Int\n  @", "val a\n@b(c"] {
        assert!(symbols(Language::Kotlin, text).is_ok(), "{text:?}");
    }
    let symbols = symbols(Language::Kotlin, "fun a() = 1\n\nfun b() = 2").unwrap();
    assert_eq!(symbols.all().last().map(|symbol| (symbol.start, symbol.end)), Some((3, 3)));
}

#[test]
fn byte_order_mark_is_skipped() {
    for (language, text) in [
        (Language::Python, "def f(): pass"),
        (Language::JavaScript, "function f() {}"),
        (Language::TypeScript, "function f() {}"),
        (Language::Tsx, "function f() {}"),
        (Language::Rust, "fn f() {}"),
        (Language::Go, "func f() {}"),
        (Language::Java, "class f {}"),
        (Language::Ruby, "def f; end"),
        (Language::C, "int f() {}"),
        (Language::Cpp, "int f() {}"),
        (Language::CSharp, "class f {}"),
        (Language::Php, "<?php function f() {}"),
        (Language::Kotlin, "fun f() {}"),
        (Language::Swift, "func f() {}"),
    ] {
        let symbols = symbols(language, &format!("\u{feff}{text}\n")).unwrap();
        let names: Vec<_> = symbols.all().iter().map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(
            (names.as_slice(), symbols.has_errors()),
            (["f"].as_slice(), false),
            "{language}"
        );
    }
}
