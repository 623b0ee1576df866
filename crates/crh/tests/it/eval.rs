//! `crh eval`: suites, runs over them, and what is said about how good they were. How numbers are made is tested in
//! `crh_review::eval`; here is what a user types and sees.

mod gating;
mod judge;
mod noise;
mod outside;
mod panel;
mod ruff;
mod running;
mod shipped;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::user::User;
use crh_testkit::{Output, Program};

/// A case: its id, its title, the files before, the files that the change writes, and what `case.toml` says besides.
struct Written<'a> {
    id: &'a str,
    title: &'a str,
    base: &'a [(&'a str, &'a str)],
    head: &'a [(&'a str, &'a str)],
    labels: &'a str,
}

/// A defect that needs no model: the file no longer parses.
const BROKEN: Written<'_> = Written {
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

/// A defect that only a model can see.
const WRONG: Written<'_> = Written {
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

/// Nothing is wrong with it.
const CLEAN: Written<'_> = Written {
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
    /// A user with the three cases.
    fn new() -> Self {
        Self::with(&[BROKEN, WRONG, CLEAN])
    }

    fn with(cases: &[Written<'_>]) -> Self {
        let bench = Self { user: User::new() };
        cases.iter().for_each(|case| bench.write(case));
        bench
    }

    fn write(&self, case: &Written<'_>) {
        self.write_in("python", case);
    }

    /// A case of which the labels say that it is in this language.
    fn write_in(&self, language: &str, case: &Written<'_>) {
        let folder = format!("suite/{}", case.id);
        for (side, files) in [("base", case.base), ("head", case.head)] {
            for (path, text) in files {
                self.user.write(&format!("{folder}/{side}/{path}"), text);
            }
        }
        let Written { title, labels, .. } = case;
        let labels = format!(
            "title = \"{title}\"\nbody = \"\"\nlanguage = \"{language}\"\nlicence = \"MIT\"\n{labels}"
        );
        self.user.write(&format!("{folder}/case.toml"), &labels);
    }

    /// The program in the user's home.
    fn crh(&self, args: &[&str]) -> Program {
        self.user.crh(&self.user.path(""), args)
    }

    /// Evaluates the suite without a model, and keeps it in a folder of this name.
    fn checked(&self, out: &str, args: &[&str]) -> Output {
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

/// A folder of programs for `PATH`: git and what scripts need. On this machine there may be a `ruff` as well, which would stand
/// among the baselines.
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
