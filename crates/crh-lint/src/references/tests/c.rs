use super::must_find;
use super::must_not_find;

#[test]
fn an_include_of_a_file_that_is_gone_is_found() {
    let said = "src/b.h:1 removed `src/a.h` is gone, and 1 place still imports it";
    let head = "//- head\n//- src/b.h from src/a.h\n#pragma once\n";
    let users = [
        ("src/m.c", "#include \"a.h\"\n"),
        ("src/m.cpp", "#include <x>\n  #  include \"./a.h\"\n"),
        ("src/x/m.cc", "#include \"../a.h\"\n"),
        ("test/m.c", "#include \"src/a.h\"\n"),
        ("test/m.c", "#include \"a.h\"\n"),
        ("src/m.h", "/* A\n * B */\n#ifndef M_H\n#define M_H\n#include \"a.h\"\n#endif\n"),
    ];
    for (path, text) in users {
        must_find(&[(&format!("//- src/a.h\n#pragma once\n//- {path}\n{text}{head}"), said)]);
    }
    must_find(&[(
        "//- src/a.h\nint f();\n//- src/m.c\n#include \"a.h\"\n//- head\n//- src/a.h deleted\n",
        "src/a.h:-1 removed `src/a.h` is gone, and 1 place still imports it",
    )]);
}

#[test]
fn an_include_that_may_be_met_is_not_found() {
    let base = "//- src/a.h\n#pragma once\n";
    let head = "//- head\n//- src/b.h from src/a.h\n#pragma once\n";
    let others = [
        "//- src/m.c\n#include <a.h>\n",
        "//- src/m.c\n// #include \"a.h\"\n/*\n#include \"a.h\"\n*/\n",
        "//- src/m.c\n#ifdef X\n#include \"a.h\"\n#endif\n",
        "//- src/m.c\n#include \"a.h\"\n//- lib/a.h\n\n",
        "//- src/m.c\n#include \"gen/a.h\"\n",
        "//- vendor/m.c\n#include \"a.h\"\n",
        "//- README.md\n#include \"a.h\"\n",
    ];
    for other in others {
        must_not_find(&[&format!("{base}{other}{head}")]);
    }
    must_not_find(&[&format!(
        "{base}//- src/m.c\n#include \"a.h\"\n//- .gitignore\n\n{head}//- .gitignore\na.h\n"
    )]);
}
