//! Languages of paths and names.

use expect_test::expect;

use crh_syntax::Language;

#[test]
fn language_is_known_by_name_or_extension() {
    let paths = [
        "a/b.py",
        "x.pyi",
        "a.jsx",
        "a.mjs",
        "a.ts",
        "a.d.ts",
        "a.tsx",
        "src/lib.rs",
        "main.go",
        "A.java",
        "Rakefile",
        "lib/x.rb",
        "app.gemspec",
        "a.c",
        "a.h",
        "a.C",
        "a.hpp",
        "a.cc",
        "A.CS",
        "a.php",
        "build.gradle.kts",
        "A.swift",
        r"src\win\a.py",
        "a.PY",
        r#""src/caf\351.py""#,
    ];
    let lines: Vec<_> =
        paths.iter().map(|path| format!("{path} {}", Language::from_path(path).unwrap())).collect();
    expect![[r##"
        a/b.py python
        x.pyi python
        a.jsx javascript
        a.mjs javascript
        a.ts typescript
        a.d.ts typescript
        a.tsx tsx
        src/lib.rs rust
        main.go go
        A.java java
        Rakefile ruby
        lib/x.rb ruby
        app.gemspec ruby
        a.c c
        a.h c
        a.C cpp
        a.hpp cpp
        a.cc cpp
        A.CS csharp
        a.php php
        build.gradle.kts kotlin
        A.swift swift
        src\win\a.py python
        a.PY python
        "src/caf\351.py" python"##]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn other_paths_have_no_language() {
    for path in ["", "/", "README.md", "Makefile", ".py", "dir.py/", "a.rs.txt", "x."] {
        assert_eq!(Language::from_path(path), None, "{path}");
    }
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
