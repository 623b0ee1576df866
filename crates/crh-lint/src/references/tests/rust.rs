use super::must_find;
use super::must_not_find;

#[test]
fn what_rust_loses_is_found() {
    must_find(&[
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\npub fn keep() {}\n//- src/b.rs\nuse crate::a::{keep, load};\n//- head\n//- src/a.rs\npub fn keep() {}\n",
            "src/a.rs:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nfn main() { a::load(); crate::a::load() }\n//- src/a.rs\npub fn load() {}\n//- head\n//- src/a.rs\npub fn read() {}\n",
            "src/a.rs:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\npub struct Row;\npub fn f() -> Row { Row }\n//- head\n//- src/a.rs\npub fn f() -> Row { Row }\n",
            "src/a.rs:1 removed `Row` is gone, and 1 place still uses it",
        ),
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load(x: u8) {}\n//- src/b.rs\nuse super::a::load;\nfn f() { load(1); }\n//- head\n//- src/a.rs\npub fn load(x: u8, y: u8) {}\n",
            "src/a.rs:1 arity Calls of `load` do not fit its parameters any more: 1 place",
        ),
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nfn f() {}\n//- head\n//- src/b.rs\nuse crate::a::lod;\nfn f() {}\n",
            "src/b.rs:1 missing-import `lod` is imported, and `src/a.rs` does not have it",
        ),
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs deleted\n",
            "src/a.rs:1 removed `src/a.rs` is gone, and 2 places still import it",
        ),
        // A library and a program in one folder: the module is of the one that has it.
        (
            "//- Cargo.toml\n[package]\nname = \"it\"\n//- src/main.rs\nuse it::a::load;\nfn main() { load() }\n//- src/lib.rs\npub mod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\npub fn read() {}\n",
            "src/a.rs:1 removed `load` is gone, and 2 places still use it",
        ),
        // Crates of one workspace, tests and other programs.
        (
            "//- one/Cargo.toml\n[package]\nname = \"the-one\"\n//- one/src/lib.rs\npub mod a;\n//- one/src/a.rs\npub fn load() {}\n//- two/Cargo.toml\n[package]\nname = \"two\"\n//- two/src/lib.rs\nfn f() { the_one::a::load() }\n//- one/tests/it.rs\nuse the_one::a::load;\n//- one/src/bin/x.rs\nuse the_one::a::load;\n//- head\n//- one/src/a.rs\npub fn read() {}\n",
            "one/src/a.rs:1 removed `load` is gone, and 3 places still use it",
        ),
        // A macro that was there beside it does not make it.
        (
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\nmake! { x }\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\nmake! { x }\npub fn read() {}\n",
            "src/a.rs:1 removed `load` is gone, and 1 place still uses it",
        ),
    ]);
}

#[test]
fn what_rust_may_still_have_is_not_found() {
    must_not_find(&[
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\npub use crate::c::load;\n//- src/c.rs\npub fn load() {}\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\npub use other::*;\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\nmake! { load }\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\nmake! {}\n//- src/b.rs\nfn f() {}\n//- head\n//- src/b.rs\nuse crate::a::made;\nfn f() {}\n",
        // Both have the module; another crate of that name; a module of the file's own.
        "//- Cargo.toml\n[package]\nname = \"it\"\n//- src/main.rs\nmod a;\n//- src/lib.rs\npub mod a;\nfn f() {}\n//- src/a.rs\nuse crate::g;\n//- head\n//- src/lib.rs\npub mod a;\n",
        "//- one/Cargo.toml\n[package]\nname = \"one\"\n//- one/src/lib.rs\npub fn load() {}\n//- old/Cargo.toml\n[package]\nname = \"one\"\n//- two/Cargo.toml\n[package]\nname = \"two\"\n//- two/src/lib.rs\nuse one::load;\n//- head\n//- one/src/lib.rs\npub fn read() {}\n",
        "//- one/Cargo.toml\n[package]\nname = \"one\"\n//- one/src/lib.rs\npub fn load() {}\n//- two/Cargo.toml\n[package]\nname = \"two\"\n//- two/src/lib.rs\nmod one { pub fn load() {} }\nfn f() { one::load() }\n//- head\n//- one/src/lib.rs\npub fn read() {}\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\ntype Result<T> = std::result::Result<T, ()>;\nfn f() -> Result<u8> { Ok(1) }\n//- head\n//- src/a.rs\nfn f() -> Result<u8> { Ok(1) }\n",
    ]);
}
