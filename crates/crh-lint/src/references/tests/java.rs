use super::{must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn removed_java_symbols_are_reported() {
    must_find(&[
        ("//- src/p/Foo.java\npackage p;\npublic class Foo {}\n//- src/q/Bar.java\npackage q;\nimport p.Foo;\nclass Bar { Foo foo; }\n//- src/p/Other.java\npackage p;\nclass Other { Foo f; }\n//- head\n//- src/p/Foo.java deleted\n", "src/p/Foo.java:-1 removed `src/p/Foo.java` is gone, and 1 place still imports it\nsrc/p/Foo.java:-2 removed `Foo` is gone, and 1 place still uses it"),
        ("//- src/p/Foo.java\npackage p;\npublic class Foo {\n  static void load() {}\n  static void keep() {}\n}\n//- src/q/Bar.java\npackage q;\nimport p.Foo;\nclass Bar { void f() { Foo.load(); } }\n//- head\n//- src/p/Foo.java\npackage p;\npublic class Foo {\n  static void keep() {}\n}\n", "src/p/Foo.java:-3 removed `load` is gone, and 1 place still uses it"),
        ("//- src/p/Foo.java\npackage p;\npublic class Foo {\n  Foo(int a) {}\n  static void load(int a) {}\n}\n//- src/p/Bar.java\npackage p;\nclass Bar { void f() { Foo.load(1); new Foo(1); } }\n//- head\n//- src/p/Foo.java\npackage p;\npublic class Foo {\n  Foo(int a, int b) {}\n  static void load(int a, int b) {}\n}\n", "src/p/Foo.java:2 arity 1 call of `Foo` does not match its new parameters\nsrc/p/Foo.java:4 arity 1 call of `load` does not match its new parameters"),
        ("//- src/p/Foo.java\npackage p;\npublic class Foo {}\n//- src/q/Bar.java\npackage q;\nclass Bar {}\n//- head\n//- src/q/Bar.java\npackage q;\nimport p.Fooo;\nclass Bar {}\n", "src/q/Bar.java:2 missing-import `Fooo` is imported, but `p` does not have it"),
    ]);
}

#[test]
fn possibly_existing_java_symbols_are_not_reported() {
    must_not_find(&[
        // A class of the same name in another package.
        "//- src/p/Foo.java\npackage p;\npublic class Foo {}\n//- src/p/Bar.java\npackage p;\nclass Bar { q.Foo foo; void f() throws q.Foo { } }\n//- src/q/Foo.java\npackage q;\npublic class Foo {}\n//- head\n//- src/p/Foo.java deleted\n",
        // Generated classes.
        "//- src/p/Foo.java\npackage p;\npublic class Foo {}\n//- proto/rows.proto\nmessage Row {}\n//- src/q/Bar.java\npackage q;\nclass Bar {}\n//- head\n//- src/q/Bar.java\npackage q;\nimport p.Row;\nclass Bar {}\n",
        "//- src/p/Foo.java\npackage p;\npublic class Foo {}\n//- src/q/Bar.java\npackage q;\nimport p.Foo;\nclass Bar { Foo foo; }\n//- head\n//- lib/p/Foo.java from src/p/Foo.java\npackage p;\npublic class Foo {}\n",
        "//- src/p/Foo.java\npackage p;\npublic class Foo extends Base {\n  static void load() {}\n}\n//- src/p/Bar.java\npackage p;\nclass Bar { void f() { Foo.load(); foo.load(); } }\n//- head\n//- src/p/Foo.java\npackage p;\npublic class Foo extends Base {\n}\n",
        "//- src/p/Foo.java\npackage p;\npublic class Foo {\n  static void load(int a) {}\n}\n//- src/p/Bar.java\npackage p;\nclass Bar { void f() { Foo.load(1); } }\n//- head\n//- src/p/Foo.java\npackage p;\npublic class Foo {\n  static void load(int a) {}\n  static void load(int a, int b) {}\n}\n",
        "//- src/p/Foo.java\npackage p;\npublic class Foo {}\n//- src/q/Bar.java\npackage q;\nclass Bar { Foo foo; }\n//- head\n//- src/p/Foo.java deleted\n",
    ]);
}

#[test]
fn moved_java_class_is_missing_at_old_path() {
    let using_files = "//- src/q/Bar.java\npackage q;\nimport p.Foo;\nclass Bar { Foo foo; }\n";
    let foo = "//- src/p/Foo.java\npackage p;\npublic class Foo {}\n";
    let head =
        "//- head\n//- src/r/Foo.java from src/p/Foo.java\npackage p;\npublic class Foo {}\n";
    let expected =
        "src/r/Foo.java:1 removed `src/p/Foo.java` is gone, and 1 place still imports it";
    must_find(&[
        (&format!("{foo}{using_files}{head}"), expected),
        (&format!("{foo}//- src/p/A.kt\nclass A\n{using_files}{head}"), expected),
        (&format!("{foo}//- src/p/A.java\nclass A {{}}\n{using_files}{head}"), expected),
    ]);
    must_not_find(&[&format!("{foo}//- src/p/A.kt\nclass A\nclass Foo\n{using_files}{head}")]);
}

#[test]
fn removed_java_member_is_reported_at_class_uses() {
    let fixture = |before: &str, user: &str, after: &str| {
        format!(
            "//- src/p/Foo.java\npackage p;\npublic class Foo {{\n  {before}\n  static void keep() {{}}\n}}\n//- src/q/Bar.java\npackage q;\n{user}\n//- head\n//- src/p/Foo.java\npackage p;\npublic class Foo {{\n  {after}\n  static void keep() {{}}\n}}\n"
        )
    };
    let gone = |name: &str| {
        format!("src/p/Foo.java:3 removed `{name}` is gone, and 1 place still uses it")
    };
    let load = "public static void load(int a) {}";
    must_find(&[
        (
            &fixture(load, "import p.Foo;\nclass Bar { void f() { Foo.load(1); } }", "int x;"),
            &gone("load"),
        ),
        (
            &fixture(
                load,
                "import static p.Foo.load;\nclass Bar { void f() { load(1); } }",
                "int x;",
            ),
            &gone("load"),
        ),
        (
            &fixture(
                "public static class In {}",
                "import p.Foo.In;\nclass Bar { In in; }",
                "int x;",
            ),
            &gone("In"),
        ),
        (
            &fixture(
                "public static final int MAX = 1;",
                "import p.Foo;\nclass Bar { int x = Foo.MAX; }",
                "int x;",
            ),
            &gone("MAX"),
        ),
        (
            &fixture(
                load,
                "import p.Foo;\nclass Bar { void f() { Foo.load(1); } }",
                "public static void load(int a, int b) {}",
            ),
            "src/p/Foo.java:3 arity 1 call of `load` does not match its new parameters",
        ),
    ]);
    must_not_find(&[
        &fixture(
            load,
            "import p.Foo;\nclass Bar { void f() { Foo.load(1); } }",
            "public static void load(int... a) {}",
        ),
        &fixture(load, "import p.Foo;\nclass Bar { void f(Foo foo) { foo.load(1); } }", "int x;"),
        &fixture(load, "import o.Foo;\nclass Bar { void f() { Foo.load(1); } }", "int x;"),
        &fixture(
            "public static final int MAX = 1;",
            "import p.Foo;\nclass Bar { int x = Foo.MAX; }",
            "public static int MAX = 2;",
        ),
        "//- src/p/Foo.java\npackage p;\npublic class Foo implements Limits {\n  static int MAX = 1;\n}\n//- src/q/Bar.java\npackage q;\nimport p.Foo;\nclass Bar { int x = Foo.MAX; }\n//- head\n//- src/p/Foo.java\npackage p;\npublic class Foo implements Limits {\n}\n",
        // A class name in a comment is not its header, and `FooBar` is another class.
        "//- src/p/Foo.java\npackage p;\n/** The class Foo {@link Limits} */\npublic class Foo implements Limits {\n}\n//- src/q/Bar.java\npackage q;\nclass Bar {}\n//- head\n//- src/q/Bar.java\npackage q;\nimport static p.Foo.MAX;\nclass Bar {}\n",
        "//- src/p/Foo.java\npackage p;\nclass FooBar {}\npublic class Foo implements Limits {\n}\n//- src/q/Bar.java\npackage q;\nclass Bar {}\n//- head\n//- src/q/Bar.java\npackage q;\nimport static p.Foo.MAX;\nclass Bar {}\n",
    ]);
}

#[test]
fn inherited_java_members_are_followed() {
    let fixture = |head: &str, others: &str| {
        let bar = "//- src/q/Bar.java\npackage q;\nimport p.Foo;\nclass Bar { void f() { Foo.load(1); } }\n";
        let before = format!("{head} {{\n  public static void load(int a) {{}}\n}}\n");
        format!(
            "//- src/p/Foo.java\npackage p;\n{before}{others}{bar}//- head\n//- src/p/Foo.java\npackage p;\n{head} {{\n}}\n"
        )
    };
    let near = "public class Foo extends Base";
    let far = "import r.Base;\npublic class Foo extends Base<String> implements A";
    let finding = |line: u32| {
        format!("src/p/Foo.java:-{line} removed `load` is gone, and 1 place still uses it")
    };
    must_find(&[
        (&fixture(near, "//- src/p/Base.java\npackage p;\nclass Base {}\n"), &finding(3)),
        (
            &fixture(
                far,
                "//- src/r/Base.java\npackage r;\npublic class Base<T> implements B { static int f() {} }\n",
            ),
            &finding(4),
        ),
    ]);
    must_not_find(&[
        &fixture(near, ""),
        &fixture(near, "//- src/p/Base.java\npackage p;\nclass Base extends Elsewhere {}\n"),
        &fixture(
            near,
            "//- src/p/Base.java\npackage p;\nclass Base { static void load(int a) {} }\n",
        ),
        &fixture(
            near,
            "//- src/p/Base.java\npackage p;\nclass Base {}\n//- other/p/Base.java\npackage p;\nclass Base {}\n",
        ),
        &fixture(
            "public class Foo extends r.Base",
            "//- src/p/Base.java\npackage p;\nclass Base {}\n",
        ),
        &fixture(near, "//- src/p/Base.java\npackage p;\ninterface Base {}\n"),
    ]);
}
