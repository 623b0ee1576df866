use super::{check_arity, must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn removed_rust_symbols_are_reported() {
    must_find(&[
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\npub fn keep() {}\n//- src/b.rs\nuse crate::a::{keep, load};\n//- head\n//- src/a.rs\npub fn keep() {}\n", "src/a.rs:-1 removed `load` is gone, and 1 place still uses it"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nfn main() { a::load(); crate::a::load() }\n//- src/a.rs\npub fn load() {}\n//- head\n//- src/a.rs\npub fn read() {}\n", "src/a.rs:1 removed `load` is gone, and 1 place still uses it"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\npub struct Row;\npub fn f() -> Row { Row }\n//- head\n//- src/a.rs\npub fn f() -> Row { Row }\n", "src/a.rs:-1 removed `Row` is gone, and 1 place still uses it"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load(x: u8) {}\n//- src/b.rs\nuse super::a::load;\nfn f() { load(1); }\n//- head\n//- src/a.rs\npub fn load(x: u8, y: u8) {}\n", "src/a.rs:1 arity 1 call of `load` does not match its new parameters"),
        // Only the member after a `cfg` is conditional.
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub struct Row;\nimpl Row {\n    #[cfg(test)]\n    pub fn one() {}\n    pub fn load(x: u8) {}\n}\n//- src/b.rs\nuse crate::a::Row;\nfn f() { Row::load(1); }\n//- head\n//- src/a.rs\npub struct Row;\nimpl Row {\n    #[cfg(test)]\n    pub fn one() {}\n    pub fn load(x: u8, y: u8) {}\n}\n", "src/a.rs:5 arity 1 call of `load` does not match its new parameters"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nfn f() {}\n//- head\n//- src/b.rs\nuse crate::a::lod;\nfn f() {}\n", "src/b.rs:1 missing-import `lod` is imported, but `src/a.rs` does not have it"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs deleted\n", "src/a.rs:-1 removed `src/a.rs` is gone, and 2 places still import it"),
        // A library and a program in one folder: the module belongs to the one that declares it.
        ("//- Cargo.toml\n[package]\nname = \"it\"\n//- src/main.rs\nuse it::a::load;\nfn main() { load() }\n//- src/lib.rs\npub mod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\npub fn read() {}\n", "src/a.rs:1 removed `load` is gone, and 2 places still use it"),
        // Crates of one workspace, tests and other programs.
        ("//- one/Cargo.toml\n[package]\nname = \"the-one\"\n//- one/src/lib.rs\npub mod a;\n//- one/src/a.rs\npub fn load() {}\n//- two/Cargo.toml\n[package]\nname = \"two\"\n//- two/src/lib.rs\nfn f() { the_one::a::load() }\n//- one/tests/it.rs\nuse the_one::a::load;\n//- one/src/bin/x.rs\nuse the_one::a::load;\n//- head\n//- one/src/a.rs\npub fn read() {}\n", "one/src/a.rs:1 removed `load` is gone, and 3 places still use it"),
        // A sample manifest is not a crate.
        ("//- Cargo.toml\n[package]\nname = \"it\"\n//- src/lib.rs\npub fn load() {}\n//- tests/data/Cargo.toml\n[package]\nname = \"it\"\n//- src/bin/x.rs\nfn main() { it::load() }\n//- head\n//- src/lib.rs\npub fn read() {}\n", "src/lib.rs:1 removed `load` is gone, and 1 place still uses it"),
        // A program with modules of its own.
        ("//- Cargo.toml\n//- src/lib.rs\n//- src/bin/x/main.rs\nmod a;\nmod b;\n//- src/bin/x/a.rs\npub fn load() {}\n//- src/bin/x/b.rs\nfn f() { crate::a::load() }\n//- head\n//- src/bin/x/a.rs\npub fn read() {}\n", "src/bin/x/a.rs:1 removed `load` is gone, and 1 place still uses it"),
        // An unchanged macro does not define the name.
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\nmake! { x }\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\nmake! { x }\npub fn read() {}\n", "src/a.rs:2 removed `load` is gone, and 1 place still uses it"),
    ]);
}

#[test]
fn possibly_existing_rust_symbols_are_not_reported() {
    must_not_find(&[
        // Crates, macros and primitives need no import; another import deeper down; a file without
        // a `mod`.
        "//- Cargo.toml\n//- src/lib.rs\nextern crate log;\nfn f() { log::debug!(1) }\n//- head\n//- src/lib.rs\nfn f() { log::debug!(1) }\n",
        "//- Cargo.toml\n//- src/lib.rs\nuse log;\nuse std::u64;\nuse std::vec;\nfn f() { log::debug!(1); vec![u64::MAX]; }\n//- head\n//- src/lib.rs\nfn f() { log::debug!(1); vec![u64::MAX]; }\n",
        "//- Cargo.toml\n//- src/lib.rs\nuse a::Re;\nfn f() { use b::{c::Re, d}; Re::new(); d() }\n//- head\n//- src/lib.rs\nfn f() { use b::{c::Re, d}; Re::new(); d() }\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\npub fn load() {}\n//- src/old.rs\nuse crate::a::load;\nfn f() { load() }\n//- head\n//- src/a.rs\npub fn read() {}\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\npub use crate::c::load;\n//- src/c.rs\npub fn load() {}\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\npub use other::*;\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load() {}\n//- src/b.rs\nuse crate::a::load;\n//- head\n//- src/a.rs\nmake! { load }\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\nmake! {}\n//- src/b.rs\nfn f() {}\n//- head\n//- src/b.rs\nuse crate::a::made;\nfn f() {}\n",
        // Both declare the module; another crate of that name; a module of the same file.
        "//- Cargo.toml\n[package]\nname = \"it\"\n//- src/main.rs\nmod a;\n//- src/lib.rs\npub mod a;\nfn f() {}\n//- src/a.rs\nuse crate::g;\n//- head\n//- src/lib.rs\npub mod a;\n",
        "//- one/Cargo.toml\n[package]\nname = \"one\"\n//- one/src/lib.rs\npub fn load() {}\n//- old/Cargo.toml\n[package]\nname = \"one\"\n//- old/src/lib.rs\n//- two/Cargo.toml\n[package]\nname = \"two\"\n//- two/src/lib.rs\nuse one::load;\n//- head\n//- one/src/lib.rs\npub fn read() {}\n",
        "//- one/Cargo.toml\n[package]\nname = \"one\"\n//- one/src/lib.rs\npub fn load() {}\n//- two/Cargo.toml\n[package]\nname = \"two\"\n//- two/src/lib.rs\nmod one { pub fn load() {} }\nfn f() { one::load() }\n//- head\n//- one/src/lib.rs\npub fn read() {}\n",
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\ntype Result<T> = std::result::Result<T, ()>;\nfn f() -> Result<u8> { Ok(1) }\n//- head\n//- src/a.rs\nfn f() -> Result<u8> { Ok(1) }\n",
    ]);
}

#[test]
#[rustfmt::skip]
fn rust_module_without_file_is_reported() {
    must_find(&[
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\npub(crate) mod b;\n//- src/a.rs\npub fn f() {}\n//- src/b.rs\nuse crate::a::f;\n//- head\n//- src/c.rs from src/a.rs\npub fn f() {}\n", "src/c.rs:1 removed `src/a.rs` is gone, and 2 places still import it"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\nmod b;\n//- src/a/b.rs\n\n//- head\n//- src/a/b.rs deleted\n", "src/a/b.rs:-1 removed `src/a/b.rs` is gone, and 1 place still imports it"),
        ("//- Cargo.toml\n//- src/lib.rs\nfn f() {}\n//- head\n//- src/lib.rs\nfn f() {}\npub mod a;\n", "src/lib.rs:2 missing-import `mod a` is declared, but its file does not exist"),
        ("//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn f() {}\n//- src/b.rs\nuse crate::a::{\n    f,\n};\n//- head\n//- src/b.rs\nuse crate::a::{\n    f, g,\n};\n", "src/b.rs:2 missing-import `g` is imported, but `src/a.rs` does not have it"),
    ]);
    must_not_find(&[
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\n//- src/a.rs\n\n//- head\n//- src/a/mod.rs from src/a.rs\n\n",
        "//- Cargo.toml\n//- src/lib.rs\nfn f() {}\n//- head\n//- src/lib.rs\nfn f() {}\n#[path = \"x.rs\"]\nmod a;\n",
        "//- Cargo.toml\n//- src/lib.rs\nfn f() {}\n//- head\n//- src/lib.rs\nfn f() {}\n#[cfg(made)]\nmod a;\n",
        "//- Cargo.toml\n//- src/lib.rs\nfn f() {}\n//- head\n//- src/lib.rs\nfn f() {}\nmod a { fn g() {} }\n",
    ]);
}

#[test]
fn removed_associated_items_are_reported() {
    let crates = "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n";
    let gone = |before: &str, using_file: &str, after: &str| {
        format!(
            "{crates}//- src/a.rs\n{before}\n//- src/b.rs\n{using_file}\n//- head\n//- src/a.rs\n{after}\n"
        )
    };
    let one = "pub enum Kind { One, Two(u8), Three { x: u8 } }";
    let using_files = [
        "use crate::a::Kind;\nfn f() -> Kind { Kind::Two(1) }",
        "use crate::a::Kind;\nfn f(x: Kind) { match x { Kind::Two(_) => {} _ => {} } }",
        "use crate::a;\nfn f() -> a::Kind { a::Kind::Two(1) }",
        "use super::a::Kind as K;\nfn f() -> K { crate::a::Kind::Two(1) }",
    ];
    let expected = "src/a.rs:1 removed `Two` is gone, and 1 place still uses it";
    for using_file in using_files {
        must_find(&[(&gone(one, using_file, "pub enum Kind { One, Three { x: u8 } }"), expected)]);
    }
    must_find(&[
        (
            &gone(
                "pub struct Row;\nimpl Row {\n    pub fn load() {}\n}",
                "use crate::a::Row;\nfn f() { Row::load() }",
                "pub struct Row;\nimpl Row {\n    pub fn read() {}\n}",
            ),
            "src/a.rs:3 removed `load` is gone, and 1 place still uses it",
        ),
        (
            &gone(
                "pub struct Row<T>(T);\nimpl<T> Row<T> {\n    pub fn load(x: u8) {}\n}",
                "use crate::a::Row;\nfn f() { Row::load(1) }",
                "pub struct Row<T>(T);\nimpl<T> Row<T> {\n    pub fn load(x: u8, y: u8) {}\n}",
            ),
            "src/a.rs:3 arity 1 call of `load` does not match its new parameters",
        ),
    ]);
    let user = "use crate::a::Kind;\nfn f() { Kind::load() }";
    must_not_find(&[
        &gone(
            "pub enum Kind { One }\nimpl Kind {\n    pub fn load() {}\n}",
            user,
            "pub enum Kind { One }\nimpl Load for Kind {\n    fn load() {}\n}",
        ),
        &gone(
            "pub enum Kind { One }\nimpl Kind {\n    pub fn load() {}\n}",
            user,
            "#[derive(Load)]\npub enum Kind { One }",
        ),
        &gone(
            "pub enum Kind { One }\nimpl Kind {\n    pub fn load() {}\n}",
            user,
            "pub enum Kind { One }\nmake! { Kind }",
        ),
        &gone(
            "pub enum Kind { One }\nimpl Kind {\n    pub fn load(&self, x: u8) {}\n}",
            "fn f(kind: crate::a::Kind) { kind.load(1) }",
            "pub enum Kind { One }\nimpl Kind {\n    pub fn read(&self, x: u8) {}\n}",
        ),
        &gone(
            "pub enum Kind { One }",
            "mod x { pub enum Kind { One } }\nuse x::Kind;\nfn f() { Kind::One }",
            "pub enum Kind { Two }",
        ),
    ]);
}

#[test]
fn mismatched_rust_calls_are_reported() {
    let table = [
        ("x: u8", "use crate::a::load;\nfn f() { load(1) }", "x: u8, y: u8", true),
        ("x: u8", "use crate::a;\nfn f() { a::load(1) }", "", true),
        ("x: u8", "fn f() { crate::a::load(1) }", "x: u8, y: u8", true),
        ("x: u8", "fn f() { super::a::load::<u8>(1) }", "x: u8, y: u8", true),
        ("x: u8", "use crate::a::load as l;\nfn f() { l(1) }", "x: u8, y: u8", true),
        ("x: u8", "use crate::a::load;\nfn f() { g(load) }", "x: u8, y: u8", false),
        ("x: u8", "use crate::a::load;\nfn f(x: X) { x.load(1) }", "x: u8, y: u8", false),
        ("x: u8", "use other::load;\nfn f() { load(1) }", "x: u8, y: u8", false),
        (
            "x: u8",
            "use crate::a::load;\nfn f() { let load = |x| x; load(1) }",
            "x: u8, y: u8",
            false,
        ),
    ];
    for (before, user, after, is_found) in table {
        let fixture = format!(
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load({before}) {{}}\n//- src/b.rs\n{user}\n//- head\n//- src/a.rs\npub fn load({after}) {{}}\n"
        );
        check_arity(&fixture, "src/a.rs:1", is_found);
    }
}

#[test]
fn arguments_of_standard_macros_are_code() {
    let table = [
        ("writeln!(x, \"{}\", crate::a::load(1))?;", true),
        ("assert_eq!(crate::a::load(1), 2);", true),
        ("println!(\"{}\", g(crate::a::load(h(1, 2))));", true),
        ("vec![crate::a::load(1,)];", true),
        ("assert!(crate::a::load(1, 2));", false),
        ("assert!(crate::a::load(g(1), \"a, b\"));", false),
        ("assert!(crate::a::load(|a, b| 1));", false),
        ("assert!(crate::a::load(x::<A, B>()));", false),
        ("assert!(crate::a::load.is(1));", false),
        ("assert!(crate::a::load!(1));", false),
        ("make!(crate::a::load(1));", false),
        ("assert!(make!(crate::a::load(1)));", false),
        ("assert!(\"crate::a::load(1)\" == x);", false),
        ("assert!(x.load(1));", false),
        ("assert!(load(1));", false),
    ];
    for (call, is_found) in table {
        let fixture = format!(
            "//- Cargo.toml\n//- src/lib.rs\nmod a;\nmod b;\n//- src/a.rs\npub fn load(x: u8) {{}}\n//- src/b.rs\nfn f() {{ {call} }}\n//- head\n//- src/a.rs\npub fn load(x: u8, y: u8) {{}}\n"
        );
        check_arity(&fixture, "src/a.rs:1", is_found);
    }
    must_find(&[(
        "//- Cargo.toml\n//- src/lib.rs\nmod a;\nfn main() { println!(\"{}\", a::MAX) }\n//- src/a.rs\npub const MAX: u8 = 1;\n//- head\n//- src/a.rs\npub const MIN: u8 = 1;\n",
        "src/a.rs:1 removed `MAX` is gone, and 1 place still uses it",
    )]);
}
