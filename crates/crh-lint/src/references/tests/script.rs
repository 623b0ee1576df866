use super::must_find;
use super::must_not_find;

#[test]
fn what_scripts_lose_is_found() {
    must_find(&[
        (
            "//- a.ts\nexport class A {\n  load() {\n  }\n  run() {\n    this.load()\n  }\n}\n//- head\n//- a.ts\nexport class A {\n  read() {\n  }\n  run() {\n    this.load()\n  }\n}\n",
            "a.ts:5 removed `A` calls its method `load`, which is gone",
        ),
        (
            "//- src/a.ts\nexport function load() {}\nexport const keep = 1\n//- src/b.ts\nimport { load, keep } from './a'\n//- head\n//- src/a.ts\nexport const keep = 1\n",
            "src/a.ts:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- src/a.ts\nfunction load() {}\nexport { load }\n//- src/b.ts\nimport { load } from './a.js'\n//- head\n//- src/a.ts\nfunction load() {}\nexport { load as read }\n",
            "src/a.ts:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- src/a/index.ts\nexport * from './impl'\n//- src/a/impl.ts\nexport class Row {}\nexport class Other {}\n//- src/b.tsx\nimport { Row as R } from './a'\n//- head\n//- src/a/impl.ts\nexport class Other {}\n",
            "src/a/impl.ts:1 removed `Row` is gone, and 1 place still uses it",
        ),
        (
            "//- a.js\nexport function load() {}\nexport function other() {}\n//- b.js\nimport * as a from './a'\na.load()\n//- head\n//- a.js\nexport function other() {}\n",
            "a.js:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- a.js\nfunction load() {}\nmodule.exports = { load, other: 1 }\n//- b.js\nconst { load } = require('./a')\n//- head\n//- a.js\nfunction load() {}\nmodule.exports = { other: 1 }\n",
            "a.js:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- a.ts\nexport default function load() {}\n//- b.ts\nimport load from './a'\n//- head\n//- a.ts\nexport function load() {}\n",
            "a.ts:1 removed `default` is gone, and 1 place still uses it",
        ),
        (
            "//- lib/a.ts\nexport const x = 1\n//- b.ts\nimport { x } from './lib/a'\nexport { x } from './lib/a'\n//- head\n//- lib/c.ts from lib/a.ts\nexport const x = 1\n",
            "lib/c.ts:1 removed `lib/a.ts` is gone, and 2 places still import it",
        ),
        (
            "//- a.ts\nfunction load() {}\nexport function main() { load() }\n//- head\n//- a.ts\nexport function main() { load() }\n",
            "a.ts:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- a.ts\nexport function load(x: number) {}\n//- b.ts\nimport { load } from './a'\nload(1)\n//- head\n//- a.ts\nexport function load(x: number, y: string) {}\n",
            "a.ts:1 arity Calls of `load` do not fit its parameters any more: 1 place",
        ),
        (
            "//- a.ts\nexport const load = (x: number, y: number) => {}\nload(1, 2)\n//- head\n//- a.ts\nexport const load = (x: number) => {}\nload(1, 2)\n",
            "a.ts:2 arity Calls of `load` do not fit its parameters any more: 1 place",
        ),
        (
            "//- a.ts\nexport const x = 1\n//- b.ts\nexport {}\n//- head\n//- b.ts\nexport {}\nimport {\n  y,\n  x,\n} from './a'\nimport z from './nothing'\n",
            "b.ts:3 missing-import `y` is imported, and `a.ts` does not have it\nb.ts:6 missing-import `./nothing` is imported, and there is no such module",
        ),
    ]);
}

#[test]
fn what_scripts_may_still_have_is_not_found() {
    must_not_find(&[
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
