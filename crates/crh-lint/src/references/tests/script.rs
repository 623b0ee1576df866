use super::{check_arity, must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn removed_script_symbols_are_reported() {
    must_find(&[
        ("//- a.ts\nexport class A {\n  load() {\n  }\n  run() {\n    this.load()\n  }\n}\n//- head\n//- a.ts\nexport class A {\n  read() {\n  }\n  run() {\n    this.load()\n  }\n}\n", "a.ts:2 removed `A` still calls its removed method `load`"),
        ("//- src/a.ts\nexport function load() {}\nexport const keep = 1\n//- src/b.ts\nimport { load, keep } from './a'\n//- head\n//- src/a.ts\nexport const keep = 1\n", "src/a.ts:-1 removed `load` is gone, and 1 place still uses it"),
        ("//- src/a.ts\nfunction load() {}\nexport { load }\n//- src/b.ts\nimport { load } from './a.js'\n//- head\n//- src/a.ts\nfunction load() {}\nexport { load as read }\n", "src/a.ts:2 removed `load` is gone, and 1 place still uses it"),
        ("//- src/a/index.ts\nexport * from './impl'\n//- src/a/impl.ts\nexport class Row {}\nexport class Other {}\n//- src/b.tsx\nimport { Row as R } from './a'\n//- head\n//- src/a/impl.ts\nexport class Other {}\n", "src/a/impl.ts:-1 removed `Row` is gone, and 1 place still uses it"),
        ("//- a.js\nexport function load() {}\nexport function other() {}\n//- b.js\nimport * as a from './a'\na.load()\n//- head\n//- a.js\nexport function other() {}\n", "a.js:-1 removed `load` is gone, and 1 place still uses it"),
        ("//- a.js\nfunction load() {}\nmodule.exports = { load, other: 1 }\n//- b.js\nconst { load } = require('./a')\n//- head\n//- a.js\nfunction load() {}\nmodule.exports = { other: 1 }\n", "a.js:2 removed `load` is gone, and 1 place still uses it"),
        ("//- a.ts\nexport default function load() {}\n//- b.ts\nimport load from './a'\n//- head\n//- a.ts\nexport function load() {}\n", "a.ts:1 removed `default` is gone, and 1 place still uses it"),
        ("//- lib/a.ts\nexport const x = 1\n//- b.ts\nimport { x } from './lib/a'\nexport { x } from './lib/a'\n//- head\n//- lib/c.ts from lib/a.ts\nexport const x = 1\n", "lib/c.ts:1 removed `lib/a.ts` is gone, and 2 places still import it"),
        ("//- a.ts\nfunction load() {}\nexport function main() { load() }\n//- head\n//- a.ts\nexport function main() { load() }\n", "a.ts:-1 removed `load` is gone, and 1 place still uses it"),
        ("//- a.ts\nexport function load(x: number) {}\n//- b.ts\nimport { load } from './a'\nload(1)\n//- head\n//- a.ts\nexport function load(x: number, y: string) {}\n", "a.ts:1 arity 1 call of `load` does not match its new parameters"),
        ("//- a.ts\nexport const load = (x: number, y: number) => {}\nload(1, 2)\n//- head\n//- a.ts\nexport const load = (x: number) => {}\nload(1, 2)\n", "a.ts:1 arity 1 call of `load` does not match its new parameters"),
        ("//- a.ts\nexport const x = 1\n//- b.ts\nexport {}\n//- head\n//- b.ts\nexport {}\nimport {\n  y,\n  x,\n} from './a'\nimport z from './nothing'\n", "b.ts:3 missing-import `y` is imported, but `a.ts` does not have it\nb.ts:6 missing-import `./nothing` is imported, but there is no such module"),
        // The import of a sample fails when the file comes into use.
        ("//- examples/a.ts\nimport z from './nothing'\nexport { z }\n//- head\n//- src/a.ts from examples/a.ts\nimport z from './nothing'\nexport { z }\n", "src/a.ts:1 missing-import `./nothing` is imported, but there is no such module"),
    ]);
}

#[test]
fn possibly_existing_script_symbols_are_not_reported() {
    must_not_find(&[
        // The import failed before the move, too.
        "//- lib/a.ts\nimport z from './nothing'\nexport { z }\n//- head\n//- src/a.ts from lib/a.ts\nimport z from './nothing'\nexport { z }\n",
        // Scripts of one page share their names.
        "//- a.js\nclass Base {}\nclass A extends Base {}\n//- head\n//- a.js\nclass A extends Base {}\n//- base.js\nclass Base {}\n",
        // Experiments with bundler aliases.
        "//- playground/x/a.js\nexport {}\n//- head\n//- playground/x/a.js\nimport b from './b'\nexport { b }\n",
        "//- a.ts\nexport class A extends B {\n  load() {\n  }\n  run() {\n    this.load()\n  }\n}\n//- head\n//- a.ts\nexport class A extends B {\n  run() {\n    this.load()\n  }\n}\n",
        "//- a.ts\nexport class A {\n  load() {\n  }\n  run() {\n    this.load()\n  }\n}\n//- head\n//- a.ts\nexport class A {\n  load = () => {}\n  run() {\n    this.load()\n  }\n}\n",
        "//- a.ts\nexport function load() {}\n//- b.ts\nimport { load } from './a'\n//- head\n//- a.ts\nexport * from './c'\n//- c.ts\nexport function load() {}\n",
        "//- a.ts\nexport function load() {}\n//- b.ts\nimport { load } from './a'\n//- head\n//- a.ts\nexport * from 'elsewhere'\n",
        "//- a.ts\nexport function load() {}\n//- b.ts\nimport { load } from '@/a'\nimport { load as l } from 'a'\n//- head\n//- a.ts\nexport const x = 1\n",
        "//- a.js\nmodule.exports = { load: 1 }\n//- b.js\nconst { load } = require('./a')\n//- head\n//- a.js\nmodule.exports = make()\n",
        "//- a.js\nmodule.exports = { load: 1 }\n//- b.js\nconst { load } = require('./a')\n//- head\n//- a.js\nmodule.exports = { ...rest }\n",
        "//- a.ts\nexport function load() {}\n//- b.ts\nfunction load() {}\nload()\n//- head\n//- a.ts\nexport const x = 1\n",
        "//- a.ts\nexport function load() {}\n//- b.ts\nimport * as a from './a'\nfunction f(a) { a.load() }\n//- head\n//- a.ts\nexport const x = 1\n",
        "//- a.ts\nexport function load() {}\n//- b.ts\nimport { load } from './a'\n//- head\n//- a/index.ts from a.ts\nexport function load() {}\n",
        "//- a.ts\nexport function load(x: number) {}\n//- b.ts\nimport { load } from './a'\nload(1)\nload(...y)\n//- head\n//- a.ts\nexport function load(x: number, y?: string, z = 1) {}\n",
        "//- a.js\nexport function load(x) {}\n//- b.js\nimport { load } from './a'\nload(1)\n//- head\n//- a.js\nexport function load(x, y) {}\n",
        "//- b.ts\nexport {}\n//- App.vue\nx\n//- head\n//- b.ts\nexport {}\nimport App from './App.vue'\nimport './style.css'\nimport x from './App'\nimport y from '../dist/y'\nimport z from 'z'\n",
    ]);
}

#[test]
#[rustfmt::skip]
fn missing_script_import_is_reported_on_any_touched_line() {
    let x = "//- x.ts\nexport const a = 1\nexport const b = 2\n";
    let name = "missing-import `gone` is imported, but `x.ts` does not have it";
    let file = "missing-import `./nothing` is imported, but there is no such module";
    let table = [
        ("import {\n  a,\n} from './x'\n", "import {\n  a,\n  gone,\n} from './x'\n", "m.ts:3", name),
        ("import {\n  a,\n} from './x'\n", "import {\n  a, gone,\n} from './x'\n", "m.ts:2", name),
        ("import {\n  a,\n  b,\n} from './x'\n", "import {\n  a,\n  gone as b,\n} from './x'\n", "m.ts:3", name),
        ("import {\n  a,\n  b,\n} from './x'\n", "import {\n  a,\n  b,\n} from './nothing'\n", "m.ts:4", file),
        ("import {\n  gone,\n} from 'y'\n", "import {\n  gone,\n} from './x'\n", "m.ts:3", name),
        ("import {\n  a } from './x'\n", "import {\n  a, gone } from './x'\n", "m.ts:2", name),
        ("export {\n  a,\n} from './x'\n", "export {\n  a,\n  gone,\n} from './x'\n", "m.ts:3", name),
        ("export {}\n", "export { gone } from './x'\n", "m.ts:1", name),
        ("export {}\n", "export * from './nothing'\n", "m.ts:1", file),
        ("export {}\n", "export {}\nimport type { gone } from './x'\n", "m.ts:2", name),
        ("export {}\n", "export {}\nimport './nothing'\n", "m.ts:2", file),
        ("export {}\n", "export {}\nimport x from './nothing'\n", "m.ts:2", file),
        ("export {}\n", "export {}\nimport * as x from './nothing'\n", "m.ts:2", file),
        ("export {}\n", "export {}\nconst x = () => import('./nothing')\n", "m.ts:2", file),
        ("export {}\n", "export {}\nfunction f() {\n  return require('./nothing')\n}\n", "m.ts:3", file),
        ("export {}\n", "export {}\nrequire('./nothing')\n", "m.ts:2", file),
        ("export {}\n", "export {}\nimport('./nothing').then(x => x)\n", "m.ts:2", file),
    ];
    for (before, after, place, finding) in table {
        let fixture = format!("{x}//- m.ts\n{before}//- head\n//- m.ts\n{after}");
        must_find(&[(&fixture, &format!("{place} {finding}"))]);
    }
    must_find(&[
        ("//- x.js\nexports.a = 1\nexports.b = 2\n//- m.js\nconst {\n  a,\n} = require('./x')\n//- head\n//- m.js\nconst {\n  a,\n  gone,\n} = require('./x')\n", "m.js:3 missing-import `gone` is imported, but `x.js` does not have it"),
        ("//- x.js\nmodule.exports = { a: 1, b() {} }\n//- m.js\nf()\n//- head\n//- m.js\nconst { gone } = require('./x')\n", "m.js:1 missing-import `gone` is imported, but `x.js` does not have it"),
        ("//- src/lib/a.ts\nexport const a = 1\n//- src/m.ts\nexport {}\n//- head\n//- src/m.ts\nexport {}\nimport { a } from './lib/b'\nimport './lib/a.service'\nimport './lib/c.ts'\n", "src/m.ts:2 missing-import `./lib/b` is imported, but there is no such module\nsrc/m.ts:3 missing-import `./lib/a.service` is imported, but there is no such module\nsrc/m.ts:4 missing-import `./lib/c.ts` is imported, but there is no such module"),
    ]);
}

#[test]
fn possibly_valid_imports_are_not_reported() {
    let files = [
        "//- x.js\nmodule.exports = { a: 1 }\n",
        "//- x.js\nconst y = require('y')\nexports = module.exports = { a: y }\n",
        "//- x.d.ts\nexport const a: number\n",
        "//- x.vue\nx\n",
        "//- x.native.ts\nexport const a = 1\n",
        "//- x/index.ts\nexport const a = 1\n",
        "//- x/package.json\n{}\n",
    ];
    for file in files {
        must_not_find(&[&format!(
            "{file}//- m.ts\nexport {{}}\n//- head\n//- m.ts\nimport {{ a }} from './x'\nimport * as b from './x'\nimport './x'\n"
        )]);
    }
    let lines = [
        "import x from './x.json'",
        "import './x.css'",
        "import x from './x.svelte'",
        "import x from './x?raw'",
        "import x from '@/x'",
        "import x from '~/x'",
        "import x from '#x'",
        "import x from 'x'",
        "import x from './dist/x'",
        "import x from './build/x'",
        "import x from './generated/x'",
        "import x from './made/x.js'",
        "import x from './made.js'",
        "try { require('./x') } catch {}",
        "const x = y ? require('./x') : 1",
        "const x = import('./x').catch(() => 1)",
        "expect(() => require('./x')).toThrow()",
        "chai.expect(() => require('./x')).to.throw()",
        "t.throws(() => require('./x'))",
        "t.throwsAsync(() => import('./x'))",
        "throws(() => require('./x'))",
        "import('./x').then(x => x, () => null)",
        "Promise.allSettled([import('./x')])",
        "const x = require(y)",
        "const x = import(`./${y}`)",
        "// import x from './x'",
        "const x = \"import './x'\"",
    ];
    for line in lines {
        must_not_find(&[&format!(
            "//- .gitignore\nmade\nmade.ts\n//- m.ts\nexport {{}}\n//- head\n//- m.ts\nexport {{}}\n{line}\n"
        )]);
    }
    must_not_find(&[
        // A test may import a module that is meant to fail.
        "//- m.test.ts\nexport {}\n//- head\n//- m.test.ts\nexport {}\nit('fails', async () => {\n  await fails(() => import('./x'))\n})\n",
        // A default export covers all names; an old error is not new; a possible name is not
        // missing.
        "//- x.js\nmodule.exports = { a: 1 }\n//- m.ts\nexport {}\n//- head\n//- m.ts\nimport x from './x'\n",
        "//- x.ts\nexport const a = 1\n//- m.ts\nimport {\n  gone,\n} from './x'\n//- head\n//- m.ts\nimport {\n  gone,\n  a,\n} from './x'\n",
        "//- x.ts\nexport const a = 1\n//- m.ts\nimport { gone } from './x'\n//- head\n//- m.ts\nimport { gone, a } from './x'\n",
        "//- x.js\nmodule.exports = { a: 1 }\nmodule.exports[name] = 1\n//- m.js\nf()\n//- head\n//- m.js\nconst { gone } = require('./x')\n",
    ]);
}

#[test]
fn moved_script_is_missing_at_old_path() {
    let gone = |path: &str, places: &str| format!("{path} is gone, and {places} still import it");
    must_find(&[
        (
            "//- src/a.ts\nexport const x = 1\n//- src/a.test.ts\nimport { x } from './a'\n//- src/b.ts\nimport { x } from './a'\nrequire('./a.js')\n//- head\n//- src/c.ts from src/a.ts\nexport const x = 1\n",
            &format!("src/c.ts:1 removed {}", gone("`src/a.ts`", "3 places")),
        ),
        (
            "//- src/a.ts\nexport const x = 1\n//- src/b.ts\nexport * from './a'\n//- src/c.js\nimport('./a')\n//- head\n//- src/a.ts deleted\n",
            &format!("src/a.ts:-1 removed {}", gone("`src/a.ts`", "2 places")),
        ),
        // Its own imports no longer resolve.
        (
            "//- src/a.ts\nimport { x } from './b'\n//- src/b.ts\nexport const x = 1\n//- other/c.ts\n1\n//- head\n//- other/a.ts from src/a.ts\nimport { x } from './b'\n",
            "other/a.ts:1 missing-import `./b` is imported, but there is no such module",
        ),
    ]);
    must_not_find(&[
        "//- src/a.ts\nexport const x = 1\n//- src/b.ts\nimport { x } from './a'\n//- head\n//- src/a/index.ts from src/a.ts\nexport const x = 1\n",
        "//- src/a.js\nexport const x = 1\n//- src/b.ts\nimport { x } from './a.js'\n//- head\n//- src/a.ts from src/a.js\nexport const x = 1\n",
    ]);
}

#[test]
fn typescript_call_must_pass_required_arguments() {
    let table = [
        ("x: number", "load(1)", "x: number, y: unknown", true),
        ("x: number", "load(1)", "x: number, y: any", true),
        ("x: number", "load(1)", "x: number, y: () => void", true),
        ("x: number", "load(1)", "x: number, y: Company", true),
        ("x: number, y: number", "load(1, 2)", "x: number", true),
        ("x: number", "load(1)", "", true),
        ("x: number", "new load(1)", "x: number, y: string", true),
        ("x: number", "load<number>(1)", "x: number, y: string", true),
        ("x: number", "load(1)", "x: number, y: void", false),
        ("x: number", "load(1)", "x: number, y: string | void", false),
        ("x: number", "load(1)", "x: number, y?: string", false),
        ("x: number", "load(1)", "x: number, y = 1", false),
        ("x: number", "load(1)", "x: number, ...y: string[]", false),
        ("x: number", "load(...y)", "x: number, y: string", false),
        ("x: number", "y.load(1)", "x: number, y: string", false),
        ("x: number", "g(load)", "x: number, y: string", false),
        ("x: number", "load.call(1)", "x: number, y: string", false),
        ("this: A, x: number", "load(1)", "this: B, x: number", false),
    ];
    for (before, call, after, is_found) in table {
        let fixture = format!(
            "//- a.ts\nexport function load({before}) {{}}\n//- b.ts\nimport {{ load }} from './a'\n{call}\n//- head\n//- a.ts\nexport function load({after}) {{}}\n"
        );
        check_arity(&fixture, "a.ts:1", is_found);
    }
}
