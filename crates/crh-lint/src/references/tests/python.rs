use super::{check_arity, must_find, must_not_find};

#[test]
#[rustfmt::skip]
fn removed_python_symbols_are_reported() {
    must_find(&[
        ("//- a.py\nclass A:\n    def load(self):\n        pass\n\n    def run(self):\n        self.load()\n//- head\n//- a.py\nclass A:\n    def read(self):\n        pass\n\n    def run(self):\n        self.load()\n", "a.py:2 removed `A` still calls its removed method `load`"),
        ("//- a.py\ndef load():\n    pass\n\ndef keep():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a.py\ndef keep():\n    pass\n", "a.py:-1 removed `load` is gone, and 1 place still uses it"),
        ("//- a.py\ndef load():\n    pass\n//- b.py\nimport a\na.load()\n//- head\n//- a.py\ndef load_all():\n    pass\n", "a.py:1 removed `load` is gone, and 1 place still uses it"),
        ("//- a.py\ndef load():\n    pass\n\ndef main():\n    load()\n//- head\n//- a.py\ndef main():\n    load()\n", "a.py:-1 removed `load` is gone, and 1 place still uses it"),
        ("//- pkg/__init__.py\n//- pkg/util.py\nLIMIT = 1\n//- pkg/b.py\nfrom . import util\nfrom .util import LIMIT\nx = util.LIMIT\n//- head\n//- pkg/util.py\nMOST = 1\n", "pkg/util.py:1 removed `LIMIT` is gone, and 2 places still use it"),
        ("//- src/pkg/__init__.py\n//- src/pkg/util.py\nclass Row:\n    pass\n//- tests/test_it.py\nfrom pkg.util import Row\n//- head\n//- src/pkg/util.py deleted\n", "src/pkg/util.py:-1 removed `src/pkg/util.py` is gone, and 1 place still imports it"),
        ("//- pkg/__init__.py\nfrom .util import Row\n//- pkg/util.py\nclass Row:\n    pass\n//- b.py\nimport pkg.util as util\nutil.Row()\n//- head\n//- pkg/rows.py from pkg/util.py\nclass Row:\n    pass\n", "pkg/rows.py:1 removed `pkg/util.py` is gone, and 2 places still import it"),
        ("//- pkg/__init__.py\nfrom .util import Row\n//- pkg/util.py\nclass Row:\n    pass\n//- b.py\nfrom pkg import Row\n//- head\n//- pkg/__init__.py\nimport os\n", "pkg/__init__.py:1 removed `Row` is gone, and 1 place still uses it"),
        ("//- a.py\ndef load(x):\n    pass\n//- b.py\nfrom a import load as fetch\nfetch(1)\nfetch(1, 2)\n//- head\n//- a.py\ndef load(x, y):\n    pass\n", "a.py:1 arity 1 call of `load` does not match its new parameters"),
        ("//- a.py\ndef load(\n    x,\n    limit=1,\n):\n    pass\n\nload(1, limit=2)\n//- head\n//- a.py\ndef load(\n    x,\n):\n    pass\n\nload(1, limit=2)\n", "a.py:1 arity 1 call of `load` does not match its new parameters"),
        ("//- a.py\nclass Row:\n    def __init__(self, a):\n        pass\n//- b.py\nimport a\na.Row(1)\n//- head\n//- a.py\nclass Row:\n    def __init__(self, a, b):\n        pass\n", "a.py:1 arity 1 call of `Row` does not match its new parameters"),
        ("//- pkg/__init__.py\n//- pkg/util.py\ndef load():\n    pass\n//- pkg/b.py\nimport os\n//- head\n//- pkg/b.py\nimport os\nfrom .util import lod\nfrom pkg.utils import load\nfrom . import nothing\n", "pkg/b.py:2 missing-import `lod` is imported, but `pkg/util.py` does not have it\npkg/b.py:3 missing-import `pkg.utils` is imported, but there is no such module\npkg/b.py:4 missing-import `nothing` is imported, but `pkg/__init__.py` does not have it"),
    ]);
}

#[test]
fn possibly_existing_python_symbols_are_not_reported() {
    must_not_find(&[
        // Attributes of every module.
        "//- p/__init__.py\n//- p/a.py\nX = 1\n//- p/m.py\n//- head\n//- p/m.py\nfrom .a import __file__ as where\nfrom p.a import __name__\n",
        // A method that other code may add to the class.
        "//- a.py\nclass A(B):\n    def load(self):\n        pass\n\n    def run(self):\n        self.load()\n//- head\n//- a.py\nclass A(B):\n    def run(self):\n        self.load()\n",
        "//- a.py\nclass A:\n    def load(self):\n        pass\n\n    def run(self):\n        self.load()\n//- b.py\nclass B(A):\n    def load(self):\n        pass\n//- head\n//- a.py\nclass A:\n    def run(self):\n        self.load()\n",
        "//- a.py\nclass A:\n    def load(self):\n        pass\n\n    def run(self):\n        self.load()\n//- head\n//- a.py\nclass A:\n    def __init__(self, load):\n        self.load = load\n\n    def run(self):\n        self.load()\n",
        // Moved and re-exported.
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a.py\nfrom c import load\n//- c.py\ndef load():\n    pass\n",
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a.py\nfrom c import *\n//- c.py\ndef load():\n    pass\n",
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a.py\nfrom elsewhere import *\n",
        // Created at run time.
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a.py\ndef __getattr__(name):\n    pass\n",
        // Conditional.
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a.py\ntry:\n    from fast import load\nexcept ImportError:\n    load = None\n",
        "//- a.py\ndef load():\n    pass\n//- b.py\ntry:\n    from a import load\nexcept ImportError:\n    load = None\n//- head\n//- a.py\nx = 1\n",
        // Another definition of the same name.
        "//- a.py\ndef load():\n    pass\n//- b.py\ndef load():\n    pass\nload()\n//- head\n//- a.py\nx = 1\n",
        "//- a.py\ndef load():\n    pass\n//- b.py\nimport a\ndef f(a):\n    a.load()\n//- head\n//- a.py\nx = 1\n",
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom other import load\nload()\nx.load()\n//- head\n//- a.py\nx = 1\n",
        // A package replaced the module.
        "//- a.py\ndef load():\n    pass\n//- b.py\nfrom a import load\n//- head\n//- a/__init__.py from a.py\ndef load():\n    pass\n",
        // Strings and comments that mention it.
        "//- a.py\ndef load():\n    pass\n//- b.py\n# load\nx = 'from a import load'\n//- docs/b.py\nfrom a import load\n//- head\n//- a.py\nx = 1\n",
        // The calls still match, or cannot be checked.
        "//- a.py\ndef load(x):\n    pass\n//- b.py\nfrom a import load\nload(1)\nload(*y)\nload(**y)\n//- head\n//- a.py\ndef load(x, y=1):\n    pass\n",
        "//- a.py\n@wraps\ndef load(x):\n    pass\n//- b.py\nfrom a import load\nload(1)\n//- head\n//- a.py\n@wraps\ndef load(x, y):\n    pass\n",
        "//- a.py\nclass Row(Base):\n    def __init__(self, a):\n        pass\n//- b.py\nimport a\na.Row(1)\n//- head\n//- a.py\nclass Row(Base):\n    def __init__(self, a, b):\n        pass\n",
        // External imports.
        "//- b.py\nimport os\n//- head\n//- b.py\nimport os\nimport yaml\nfrom requests.adapters import X\nfrom b import os\n",
        "//- pkg/__init__.py\n//- pkg/sub/x.py\n//- b.py\nimport os\n//- head\n//- b.py\nimport os\nfrom pkg import sub\nimport pkg.sub.x\nfrom pkg.sub import x\nfrom pkg._version import v\n",
    ]);
}

#[test]
fn references_of_scripts_without_extension_are_checked() {
    must_find(&[
        (
            "//- a.py\ndef load():\n    pass\n//- tool\n#!/usr/bin/env python3\nimport a\na.load()\n//- head\n//- a.py\ndef read():\n    pass\n",
            "a.py:1 removed `load` is gone, and 1 place still uses it",
        ),
        (
            "//- pkg/__init__.py\n//- pkg/util.py\nx = 1\n//- head\n//- tool\n#!/usr/bin/python3\nfrom pkg.utils import x\n",
            "tool:2 missing-import `pkg.utils` is imported, but there is no such module",
        ),
    ]);
}

#[test]
fn moved_python_module_is_missing_at_old_path() {
    let base = "//- p/__init__.py\n//- p/a.py\nX = 1\n";
    let head = "//- head\n//- p/b.py from p/a.py\nX = 1\n";
    let uses = [
        "from p.a import X",
        "from p import a",
        "import p.a",
        "import p.a as q",
        "from p.a import (\n    X,\n)",
        "def f():\n    from p.a import X",
    ];
    for line in uses {
        let fixture = format!("{base}//- m.py\n{line}\n{head}");
        let expected = "p/b.py:1 removed `p/a.py` is gone, and 1 place still imports it";
        must_find(&[(&fixture, expected)]);
    }
    must_find(&[(
        "//- p/__init__.py\n//- p/a.py\nX = 1\n//- p/m.py\nfrom .a import X\nfrom . import a\n//- head\n//- p/a.py deleted\n",
        "p/a.py:-1 removed `p/a.py` is gone, and 2 places still import it",
    )]);
    // A file in the repository counts even if its path is ignored.
    must_find(&[(
        "//- .gitignore\nlib/\n//- lib/a.py\nX = 1\nY = 2\n//- m.py\nfrom lib.a import X\n//- head\n//- lib/a.py\nY = 2\n",
        "lib/a.py:-1 removed `X` is gone, and 1 place still uses it",
    )]);
    must_not_find(&[
        "//- p/__init__.py\n//- p/a.py\nX = 1\n//- m.py\nfrom p.a import X\n//- head\n//- p/a/__init__.py from p/a.py\nX = 1\n",
        "//- p/__init__.py\n//- p/a.py\nX = 1\n//- m.py\ntry:\n    from p.a import X\nexcept ImportError:\n    X = 1\n//- head\n//- p/a.py deleted\n",
        "//- p/__init__.py\n//- p/a.py\nX = 1\n//- m.py\nfrom p.a import X\n//- .gitignore\n/p/a.py\n//- head\n//- p/a.py deleted\n",
    ]);
}

#[test]
fn missing_python_import_is_reported_on_any_touched_line() {
    let base = "//- p/__init__.py\n//- p/a.py\nX = 1\nY = 1\n";
    let name = "missing-import `gone` is imported, but `p/a.py` does not have it";
    let module = "missing-import `p.b` is imported, but there is no such module";
    let table = [
        ("from p.a import (\n    X,\n)\n", "from p.a import (\n    X,\n    gone,\n)\n", 3, name),
        ("from p.a import (\n    X,\n)\n", "from p.a import (\n    X, gone,\n)\n", 2, name),
        (
            "from p.a import (\n    X,\n    Y)\n",
            "from p.a import (\n    X,\n    gone as Y)\n",
            3,
            name,
        ),
        ("from p.a import (\n    X,\n)\n", "from p.b import (\n    X,\n)\n", 1, module),
        ("from q import (\n    gone,\n)\n", "from p.a import (\n    gone,\n)\n", 1, name),
        ("import os\n", "import os\nimport p.b\n", 2, module),
        ("import os\n", "if TYPE_CHECKING:\n    from p.a import gone\n", 2, name),
        ("import os\n", "def f():\n    from p.a import gone\n", 2, name),
    ];
    for (before, after, line, finding) in table {
        let fixture = format!("{base}//- m.py\n{before}//- head\n//- m.py\n{after}");
        must_find(&[(&fixture, &format!("m.py:{line} {finding}"))]);
    }
    must_find(&[(
        "//- p/__init__.py\n//- p/a.py\nX = 1\n//- p/m.py\nimport os\n//- head\n//- p/m.py\nfrom .a import gone\nfrom .b import X\nfrom . import c\n",
        "p/m.py:1 missing-import `gone` is imported, but `p/a.py` does not have it\np/m.py:2 missing-import `.b` is imported, but there is no such module\np/m.py:3 missing-import `c` is imported, but `p/__init__.py` does not have it",
    )]);
    let ways = [
        "def __getattr__(name):\n    pass",
        "def __getattr__(name: str):\n    if name == \"got\":\n        return 1\n    raise AttributeError(name)",
        "def __getattr__(name):\n    if name in (\"x\", 'got'):\n        return 1\n    raise AttributeError(name)",
        "def __getattr__(name):\n    if name in NAMES:\n        return 1\n    raise AttributeError(name)",
        "def __getattr__(name):\n    if name == \"x\":\n        return 1\n    return f(name)",
        "def __getattr__(name):\n    for it in ALL:\n        if it == name:\n            return 1\n    raise AttributeError(name)",
        "__getattr__, __all__ = attach(__name__)",
        "from os import __getattr__",
        "from q import *",
        "import sys\nsys.modules[__name__] = make()",
        "globals()['got'] = 1",
        "globals().update(x)",
        "if y:\n    got = 1",
        "try:\n    got = 1\nexcept E:\n    pass",
        "def f():\n    global got\n    got = 1",
        "for got in y:\n    pass",
        "with y as got:\n    pass",
        "with y as (a, got), z as b:\n    pass",
        "if (got := y):\n    pass",
        "while (got := y):\n    pass",
        "print(got := 1)",
        "import y as got",
        "from y import z as got",
        "type got = int",
        "class got:\n    pass",
        "a, (b, *got) = y",
        "a = got = 1",
        "got: int",
        "got += 1",
        "match y:\n    case {\"a\": got}:\n        pass",
        "try:\n    pass\nexcept E as got:\n    pass",
        "@d\ndef got():\n    pass",
        "async def got():\n    pass",
        "x = [got := 1, 2]",
    ];
    for way in ways {
        must_not_find(&[&format!(
            "//- p/__init__.py\n//- p/a.py\n{way}\n//- m.py\nimport os\n//- head\n//- m.py\nfrom p.a import got\n"
        )]);
    }
}

#[test]
fn mismatched_python_calls_are_reported() {
    let table = [
        ("a", "load(1)", "a, b", true),
        ("a, b", "load(1, 2)", "a", true),
        ("a, b=1", "load(1, b=2)", "a, c=1", true),
        ("a", "load(a=1)", "b", true),
        ("a", "load(1)", "a, *, b", true),
        ("a, b", "load(1, 2)", "a, *, b", true),
        ("*a", "load(1, 2)", "a", true),
        ("**a", "load(x=2)", "a=1", true),
        ("a: int", "load(1)", "a: int, b: str", true),
        ("a", "load(\n    1,\n)", "a,\n    b,\n", true),
        ("a", "load(1)", "a, b=None", false),
        ("a", "load(1)", "a, *b", false),
        ("a", "load(1)", "a, **b", false),
        ("a", "load(1)", "*b", false),
        ("a", "load(*x)", "a, b", false),
        ("a", "load(**x)", "a, b", false),
        ("a", "map(load, x)", "a, b", false),
        ("a", "x.load(1)", "a, b", false),
        ("a", "partial(load, 1)", "a, b", false),
    ];
    for (before, call, after, is_found) in table {
        let fixture = format!(
            "//- a.py\ndef load({before}):\n    pass\n//- b.py\nfrom a import load\n{call}\n//- head\n//- a.py\ndef load({after}):\n    pass\n"
        );
        check_arity(&fixture, "a.py:1", is_found);
    }
    must_not_find(&[
        "//- a.py\n@wrap\ndef load(a):\n    pass\n//- b.py\nfrom a import load\nload(1)\n//- head\n//- a.py\n@wrap\ndef load(a, b):\n    pass\n",
        "//- a.py\ndef load(a):\n    pass\n//- b.py\nfrom a import load\nload(1)\n//- head\n//- a.py\n@wrap\ndef load(a, b):\n    pass\n",
        "//- a.py\ndef load(a):\n    pass\n//- b.py\nfrom a import load\nload = wrap(load)\nload(1)\n//- head\n//- a.py\ndef load(a, b):\n    pass\n",
        "//- a.py\ndef load(a):\n    pass\nload = wrap(load)\n//- b.py\nfrom a import load\nload(1)\n//- head\n//- a.py\ndef load(a, b):\n    pass\nload = wrap(load)\n",
        "//- a.py\nif x:\n    def load(a):\n        pass\nelse:\n    def load(a, b):\n        pass\n//- b.py\nfrom a import load\nload(1)\n//- head\n//- a.py\nif x:\n    def load(a, c):\n        pass\nelse:\n    def load(a, b):\n        pass\n",
    ]);
}

#[test]
fn names_of_module_getattr_are_not_reported() {
    let a = "def __getattr__(name: str):\n    import warnings\n    if name == \"old\":\n        warnings.warn(f\"{name} is old\")\n        return new\n    raise AttributeError(f\"no {name}\")\n";
    must_find(&[(
        &format!(
            "//- p/__init__.py\n//- p/a.py\n{a}//- m.py\nimport os\n//- head\n//- m.py\nfrom p.a import old, got\n"
        ),
        "m.py:1 missing-import `got` is imported, but `p/a.py` does not have it",
    )]);
}

#[test]
fn calls_of_cached_functions_are_checked() {
    let fixture = |head: &str| {
        let [before, after] =
            ["a", "a, b"].map(|it| format!("//- a.py\n{head}\ndef load({it}):\n    pass\n"));
        format!("{before}//- b.py\nfrom a import load\nload(1)\n//- head\n{after}")
    };
    for head in [
        "from functools import cache\n@cache",
        "from functools import lru_cache\n@lru_cache(maxsize=None)",
        "import functools\n@functools.lru_cache()",
        "from contextlib import contextmanager\n@contextmanager",
    ] {
        let expected = "a.py:3 arity 1 call of `load` does not match its new parameters";
        must_find(&[(&fixture(head), expected)]);
    }
    for head in [
        "from x import cache\n@cache",
        "from functools import cache, wraps\n@cache\n@wraps(f)",
        "from functools import other as cache\n@cache",
    ] {
        must_not_find(&[&fixture(head)]);
    }
}
