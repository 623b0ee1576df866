//! `crh eval` at the command line. `crh_review::eval` tests how scores are calculated.

mod arms;
mod gating;
mod judge;
mod noise;
mod outside;
mod panel;
mod pull_requests;
mod ruff;
mod running;
mod shipped;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::user::User;
use crh_testkit::{Output, Program};

/// Files and labels of an evaluation case. `labels` is appended to `case.toml`.
struct TestCase<'a> {
    id: &'a str,
    title: &'a str,
    base: &'a [(&'a str, &'a str)],
    head: &'a [(&'a str, &'a str)],
    labels: &'a str,
}

/// A defect that static checks find: the file no longer parses.
const BROKEN: TestCase<'_> = TestCase {
    id: "python-broken",
    title: "Round prices",
    base: &[("shop.py", "def price(item):\n    return item.price\n")],
    head: &[(
        "shop.py",
        "def price(item):\n    return round(item.price, 2\n\n\ndef total(items):\n    return sum(map(price, items))\n",
    )],
    labels: r#"
[[expected]]
file = "shop.py"
line_start = 2
category = "bug"
severity = "P0"
description = "The file does not parse: the call of `round` is not closed."
keywords = ["parse", "syntax"]
note = "import shop raises SyntaxError"
proved = "not run: it is plain to see"

[twin]
title = "Do not round prices"
body = ""
"#,
};

/// A defect that only a model can find.
const WRONG: TestCase<'_> = TestCase {
    id: "python-wrong",
    title: "Share the bill",
    base: &[(
        "bill.py",
        "def share(total, people):\n    if not people:\n        return 0\n    return total / len(people)\n",
    )],
    head: &[("bill.py", "def share(total, people):\n    return total / len(people)\n")],
    labels: r#"
[[expected]]
file = "bill.py"
line_start = 2
category = "bug"
severity = "P1"
description = "An empty list of people is a division by zero."
keywords = ["zero", "empty"]
note = "share(10, []) raises ZeroDivisionError"
proved = "not run: it is plain to see"
"#,
};

/// A case without a defect.
const CLEAN: TestCase<'_> = TestCase {
    id: "python-clean",
    title: "Greet by name",
    base: &[("greet.py", "def greet():\n    return \"hello\"\n")],
    head: &[("greet.py", "def greet(name):\n    return f\"hello {name}\"\n")],
    labels: "",
};

/// A user with a suite.
struct Bench {
    user: User,
}

impl Bench {
    /// A user with three cases.
    fn new() -> Self {
        Self::with(&[BROKEN, WRONG, CLEAN])
    }

    fn with(cases: &[TestCase<'_>]) -> Self {
        let bench = Self { user: User::new() };
        cases.iter().for_each(|case| bench.write(case));
        bench
    }

    fn write(&self, case: &TestCase<'_>) {
        self.write_in("python", case);
    }

    /// Writes a case with this language in its labels.
    fn write_in(&self, language: &str, case: &TestCase<'_>) {
        let folder = format!("suite/{}", case.id);
        for (side, files) in [("base", case.base), ("head", case.head)] {
            for (path, text) in files {
                self.user.write(&format!("{folder}/{side}/{path}"), text);
            }
        }
        let TestCase { title, labels, .. } = case;
        let labels = format!(
            "title = \"{title}\"\nbody = \"\"\nlanguage = \"{language}\"\nlicence = \"MIT\"\n{labels}"
        );
        self.user.write(&format!("{folder}/case.toml"), &labels);
    }

    /// Runs crh in the user's home folder.
    fn crh(&self, args: &[&str]) -> Program {
        self.user.crh(&self.user.path(""), args)
    }

    /// Evaluates the suite without a model and writes the result to the folder `out`.
    fn run_static(&self, out: &str, args: &[&str]) -> Output {
        self.crh(&[&["eval", "run", "suite", "--strategy", "static", "--out", out], args].concat())
            .run()
    }

    fn stored(&self, out: &str) -> Value {
        json(&self.user.path(out).join("eval.json"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.user.path(name)
    }
}

/// A folder for `PATH` with git and the programs that scripts need. It leaves out an installed
/// `ruff`, which would become a baseline.
fn programs(user: &User) -> PathBuf {
    let folder = user.path("bin");
    fs::create_dir(&folder).unwrap();
    let all = std::env::var_os("PATH").unwrap();
    for name in ["git", "sh", "cat", "grep", "sed"] {
        let mut found = std::env::split_paths(&all).map(|folder| folder.join(name));
        symlink(found.find(|file| file.exists()).unwrap(), folder.join(name)).unwrap();
    }
    folder
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
