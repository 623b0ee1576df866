use super::{must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn removed_go_symbols_are_reported() {
    must_find(&[
        ("//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load() {}\n\nfunc Keep() {}\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\nfunc main() { util.Load() }\n//- head\n//- util/a.go\npackage util\n\nfunc Keep() {}\n", "util/a.go:-3 removed `Load` is gone, and 1 place still uses it"),
        ("//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\ntype row struct{}\n//- b.go\npackage m\n\nfunc f() *row { return &row{} }\n//- head\n//- a.go\npackage m\n\ntype line struct{}\n", "a.go:3 removed `row` is gone, and 1 place still uses it"),
        ("//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load(x int) {}\n//- main.go\npackage main\n\nimport u \"example.com/m/util\"\n\nfunc main() { u.Load(1) }\n//- head\n//- util/a.go\npackage util\n\nfunc Load(x, y int) {}\n", "util/a.go:3 arity 1 call of `Load` does not match its new parameters"),
        ("//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n//- main.go\npackage main\n//- head\n//- main.go\npackage main\n\nimport (\n\t\"fmt\"\n\t\"example.com/m/utils\"\n)\n", "main.go:5 missing-import `example.com/m/utils` is imported, but there is no such module"),
        ("//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load() {}\n//- util/b.go\npackage util\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\nfunc main() { util.Load() }\n//- head\n//- util/a.go deleted\n//- util/b.go deleted\n", "util/a.go:-1 removed `util` is gone, and 1 place still imports it"),
    ]);
}

#[test]
fn possibly_existing_go_symbols_are_not_reported() {
    must_not_find(&[
        "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n//- util/b.go\npackage util\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n//- head\n//- util/a.go deleted\n",
        "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n//- main.go\npackage main\n\nimport \"example.com/other/util\"\n//- head\n//- util/a.go deleted\n",
        "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\nfunc load() {}\n//- b.go\npackage m\n\nfunc f() { load() }\n//- head\n//- a.go\npackage m\n//- c.go\npackage m\n\nfunc load() {}\n",
        "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\nfunc load() {}\n//- b.go\npackage m\n\nfunc f(load func()) { load(); x.load() }\n//- head\n//- a.go\npackage m\n",
        "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\nfunc load() {}\n//- b.go\n//go:build x\n\npackage m\n\nfunc f() { load() }\n//- head\n//- a.go\npackage m\n",
        "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\nfunc load(x int) {}\n//- b.go\npackage m\n\nfunc f() { load(both()) }\n//- head\n//- a.go\npackage m\n\nfunc load(x, y int) {}\n",
        "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\nfunc load(x int) {}\n//- b.go\npackage m\n\nfunc f() { load(1) }\n//- head\n//- a.go\npackage m\n\nfunc load(x int, more ...int) {}\n",
    ]);
}

#[test]
fn moved_go_package_is_missing_at_old_path() {
    must_find(&[(
        "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load() {}\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\nfunc main() { util.Load() }\n//- head\n//- tool/a.go from util/a.go\npackage util\n\nfunc Load() {}\n",
        "tool/a.go:1 removed `util` is gone, and 1 place still imports it",
    )]);
}

#[test]
fn removed_go_symbol_is_reported_at_each_use() {
    let keep = "func Keep() {}";
    let table = [
        ("func Load() {}", "Load", "func f() { util.Load() }"),
        ("func Load[T any](x T) {}", "Load", "func f() { util.Load[int](1) }"),
        ("func Load() {}", "Load", "var f = util.Load"),
        ("type Row struct{}", "Row", "func f(row *util.Row) {}"),
        ("type Row struct{}", "Row", "func f() []util.Row { return nil }"),
        ("type Row struct{}", "Row", "var x = map[string]util.Row{}"),
        ("type Row struct{ X int }", "Row", "var x = util.Row{X: 1}"),
        ("type Row interface{}", "Row", "type x struct{ util.Row }"),
        ("const Max = 1", "Max", "var x = util.Max + 1"),
        ("const (\n\tMin = 1\n\tMax = 2\n)", "Max", "var x [util.Max]int"),
        ("var Max, Other = 1, 2", "Max", "func f() { util.Max++ }"),
    ];
    for (gone, name, uses) in table {
        let after = gone.replace(name, &format!("{name}2"));
        let fixture = format!(
            "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\n{keep}\n\n{gone}\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\n{uses}\n//- head\n//- util/a.go\npackage util\n\n{keep}\n\n{after}\n"
        );
        let line = if gone.contains('(') && gone.starts_with("const") { 7 } else { 5 };
        let expected =
            format!("util/a.go:{line} removed `{name}` is gone, and 1 place still uses it");
        must_find(&[(&fixture, &expected)]);
    }
    let package = |user: &str, after: &str| {
        format!(
            "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\nfunc load(x int) {{}}\n//- b.go\n{user}\n//- head\n//- a.go\npackage m\n\n{after}\n"
        )
    };
    let user = "package m\n\nfunc f() { load(1) }";
    let arity = "a.go:3 arity 1 call of `load` does not match its new parameters";
    must_find(&[
        (
            &package(user, "func read(x int) {}"),
            "a.go:3 removed `load` is gone, and 1 place still uses it",
        ),
        (&package(user, "func load() {}"), arity),
        (&package(user, "func load(x int, y string) {}"), arity),
        (&package(user, "func load(x, y int) {}"), arity),
        (&package(user, "func load(x, y int, z ...int) {}"), arity),
    ]);
    must_not_find(&[
        &package(user, "func load(x ...int) {}"),
        &package(user, "func load[T any](x T) {}"),
        &package(user, "var load = func(x int) {}"),
        &package("package m\n\nvar f = load", "func load(x, y int) {}"),
        &package("package m\n\nfunc f() { load(x...) }", "func load(x, y int) {}"),
        &package(
            "package m\n\nfunc (m M) load(x int) {}\nfunc f(m M) { m.load(1) }",
            "func read() {}",
        ),
        &package(
            "package m\n\ntype M interface { load(x int) }\nfunc f(m M) { m.load(1) }",
            "func read() {}",
        ),
        &package("package other\n\nfunc f() { load(1) }", "func read() {}"),
        &package("package m\n\nfunc f() { load := g(); load(1) }", "func read() {}"),
        &package("//go:build linux\n\npackage m\n\nfunc f() { load(1) }", "func read() {}"),
    ]);
}
