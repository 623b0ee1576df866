use super::must_find;
use super::must_not_find;

#[test]
fn what_go_loses_is_found() {
    must_find(&[
        (
            "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load() {}\n\nfunc Keep() {}\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\nfunc main() { util.Load() }\n//- head\n//- util/a.go\npackage util\n\nfunc Keep() {}\n",
            "util/a.go:-3 removed `Load` is gone, and 1 place still uses it",
        ),
        (
            "//- go.mod\nmodule example.com/m\n//- a.go\npackage m\n\ntype row struct{}\n//- b.go\npackage m\n\nfunc f() *row { return &row{} }\n//- head\n//- a.go\npackage m\n\ntype line struct{}\n",
            "a.go:3 removed `row` is gone, and 1 place still uses it",
        ),
        (
            "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load(x int) {}\n//- main.go\npackage main\n\nimport u \"example.com/m/util\"\n\nfunc main() { u.Load(1) }\n//- head\n//- util/a.go\npackage util\n\nfunc Load(x, y int) {}\n",
            "util/a.go:3 arity Calls of `Load` do not fit its parameters any more: 1 place",
        ),
        (
            "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n//- main.go\npackage main\n//- head\n//- main.go\npackage main\n\nimport (\n\t\"fmt\"\n\t\"example.com/m/utils\"\n)\n",
            "main.go:5 missing-import `example.com/m/utils` is imported, and there is no such module",
        ),
        (
            "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load() {}\n//- util/b.go\npackage util\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\nfunc main() { util.Load() }\n//- head\n//- util/a.go deleted\n//- util/b.go deleted\n",
            "util/a.go:-1 removed `util` is gone, and 1 place still imports it",
        ),
    ]);
}

#[test]
fn what_go_may_still_have_is_not_found() {
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
fn a_go_package_that_moved_as_it_is_is_gone_from_where_it_was() {
    must_find(&[(
        "//- go.mod\nmodule example.com/m\n//- util/a.go\npackage util\n\nfunc Load() {}\n//- main.go\npackage main\n\nimport \"example.com/m/util\"\n\nfunc main() { util.Load() }\n//- head\n//- tool/a.go from util/a.go\npackage util\n\nfunc Load() {}\n",
        "tool/a.go:1 removed `util` is gone, and 1 place still imports it",
    )]);
}
