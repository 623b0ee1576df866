//! Languages of paths and names.

use crh_syntax::{Language, interpreter};

#[test]
fn language_is_known_by_name_or_extension() {
    for (language, paths) in [
        (Language::Python, r#"a/b.py x.pyi a.PY src\win\a.py "src/caf\351.py""#),
        (Language::JavaScript, "a.jsx a.mjs"),
        (Language::TypeScript, "a.ts a.d.ts"),
        (Language::Tsx, "a.tsx"),
        (Language::Rust, "src/lib.rs"),
        (Language::Go, "main.go"),
        (Language::Java, "A.java"),
        (Language::Ruby, "Rakefile lib/x.rb app.gemspec"),
        (Language::C, "a.c a.h"),
        (Language::Cpp, "a.C a.hpp a.cc"),
        (Language::CSharp, "A.CS"),
        (Language::Php, "a.php"),
        (Language::Kotlin, "build.gradle.kts"),
        (Language::Swift, "A.swift"),
    ] {
        for path in paths.split(' ') {
            assert_eq!(Language::from_path(path), Some(language), "{path}");
        }
    }
}

#[test]
fn other_paths_have_no_language() {
    for path in ["", "/", "README.md", "Makefile", ".py", "dir.py/", "a.rs.txt", "x."] {
        assert_eq!(Language::from_path(path), None, "{path}");
    }
}

#[test]
fn script_without_known_extension_has_the_language_of_its_first_line() {
    for (path, text, expected) in [
        ("tool", "#!/usr/bin/env python3\nx = 1\n", Some(Language::Python)),
        ("bin/tool.cgi", "#! /usr/bin/python3.12 -u\r\n", Some(Language::Python)),
        ("tool", "#!/usr/bin/env -S LANG=C node --no-warnings", Some(Language::JavaScript)),
        ("tool", "#!/usr/bin/env -S deno run", Some(Language::TypeScript)),
        ("tool", "#!/usr/bin/ruby", Some(Language::Ruby)),
        ("tool.py", "#!/bin/sh\n", Some(Language::Python)),
        ("tool", "#!/bin/bash\n", None),
        ("tool", "# python\n", None),
        ("tool", "\n#!/usr/bin/python\n", None),
        ("tool", "#!", None),
        ("tool", "", None),
    ] {
        assert_eq!(Language::of_file(path, text.as_bytes()), expected, "{path} {text}");
    }
    assert_eq!(interpreter(b"#! /usr/bin/env -S bash -e\n"), Some("bash"));
    assert_eq!(interpreter(b"#!/bin/\xff\n"), None);
}

#[test]
fn language_names_round_trip() {
    for language in Language::ALL {
        assert_eq!(Language::from_name(language.name()), Some(language));
        assert_eq!(Language::from_name(&language.to_string().to_uppercase()), Some(language));
    }
}

#[test]
fn common_short_names_are_known() {
    for (language, names) in [
        (Language::Python, "py python3"),
        (Language::JavaScript, "js jsx mjs cjs javascriptreact"),
        (Language::TypeScript, "ts mts cts"),
        (Language::Tsx, "typescriptreact"),
        (Language::Rust, "rs"),
        (Language::Go, "golang"),
        (Language::Ruby, "rb"),
        (Language::Cpp, "c++ cc cxx C++"),
        (Language::CSharp, "c# cs c-sharp C#"),
        (Language::Kotlin, "kt kts"),
    ] {
        for name in names.split(' ') {
            assert_eq!(Language::from_name(&format!(" {name}\n")), Some(language), "{name}");
        }
    }
    for name in ["", " ", "cobol", ".py", "c ++"] {
        assert_eq!(Language::from_name(name), None, "{name}");
    }
}
