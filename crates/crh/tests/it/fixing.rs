//! Fixes by the real program in real checkouts, with a fake model: the tree afterwards, the output,
//! and the run folder.

mod alone;
mod behaviours;
mod commands;
mod faults;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod kills;
mod modes;
mod repairing;
mod resuming;
mod stopping;
mod targets;
mod todos;
mod todos_folder;
mod verifying;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::review::script::{answers, confirms, finding, with};
use crate::review::{runs, with_model, without_times};
use crate::user::User;
use crh_testkit::fake_model::ScriptedReply;
use crh_testkit::{FakeModel, Output, Program, Repo};

/// The reviewed change: two files with findings.
const SHOP: &str = "
    //- shop/orders.py
    def total(items):
        return sum(item.price for item in items)
    //- shop/mail.py
    def send(to, text):
        return smtp.send(to, text)
    //- shop/log.py
    def log(text):
        print(text)
    //- head
    //- shop/orders.py
    def total(items):
        result = 0
        for item in items:
            result += item.price * item.count
        return result / len(items)


    def refund(order):
        return order.amount
    //- shop/mail.py
    def send(to, text):
        try:
            return smtp.send(to, text)
        except Exception:
            pass
    //- shop/log.py
    def log(text):
        print(text)
        return None
    ";
const ORDERS: &str = "shop/orders.py";
const MAIL: &str = "shop/mail.py";

/// Compares the checkout with the commit before.
const CHECKOUT: [&str; 3] = ["--base", "HEAD~1", "--no-pr"];

struct Desk {
    user: User,
    repo: Repo,
    comparison: Comparison,
}

/// Whether reports are compared with the checkout after each command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Always,
    /// The checkout has an interrupted fix, or the user edits it meanwhile.
    Never,
}

impl Desk {
    fn new() -> Self {
        Self { user: User::new(), repo: Repo::from_fixture(SHOP), comparison: Comparison::Always }
    }

    /// For a checkout that gets other changes than whole fixes.
    fn with_faults() -> Self {
        Self { comparison: Comparison::Never, ..Self::new() }
    }

    fn crh(&self, args: &[&str]) -> Program {
        self.user.crh(self.repo.path(), args)
    }

    fn review(&self, model: &FakeModel, args: &[&str]) -> Output {
        let args =
            [&["review", "--strategy", "single", "--max-comments", "15"], &CHECKOUT[..], args]
                .concat();
        self.checked(with_model(self.crh(&args), model))
    }

    /// Runs a program, and compares the stored reports with the checkout.
    fn checked(&self, program: Program) -> Output {
        let before = match self.comparison {
            Comparison::Always => Some(FixState::of(&self.repo)),
            Comparison::Never => None,
        };
        let output = program.run();
        // Exit code 3 may say that the report could not be stored.
        if let Some(before) = before.filter(|_| output.code != 3) {
            before.assert_reported(&self.repo, &output.shown());
        }
        output
    }

    /// Reviews the checkout without fixes, so that `crh fix` has a run.
    fn reviewed(&self, findings: &[Value]) {
        let output = self.review(&says(findings), &[]);
        assert!(output.code < 2, "{}", output.shown());
    }

    fn fix(&self, args: &[&str]) -> Output {
        self.checked(self.crh(&[&["fix"], args].concat()))
    }

    /// The output, with values that differ between runs replaced by names.
    fn shown(&self, output: &Output) -> String {
        let is_said = |line: &&str| {
            ["error: ", "hint: ", "warning: ", "note: "].iter().any(|word| line.starts_with(word))
        };
        let told = output.stderr.lines().filter(is_said).map(|line| format!("{line}\n"));
        let told: String = told.collect();
        let text = format!("exit {}\n{told}---\n{}", output.code, output.stdout);
        without_times(&self.user.replace_paths(&self.repo, &text))
    }

    fn run(&self) -> PathBuf {
        runs(&self.repo.path().join(".crh/runs")).pop().unwrap()
    }

    fn stored(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.run().join(name)).unwrap()).unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.repo.path().join(path)).unwrap()
    }

    /// The files of the checkout without `.git` and `.crh`.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = crate::user::tree(self.repo.path());
        let is_ours = |name: &str| name == ".crh" || name.starts_with(".crh/runs");
        files.retain(|name, _| name != ".git" && !name.starts_with(".git/") && !is_ours(name));
        files
    }

    /// The state of git: status, refs and everything else that only git writes.
    fn git(&self) -> String {
        let said = |args: &[&str]| String::from_utf8(self.repo.git(args)).unwrap();
        let status = said(&["--no-optional-locks", "status", "--porcelain"]);
        let refs = said(&["for-each-ref"]);
        let head = fs::read_to_string(self.repo.path().join(".git/HEAD")).unwrap();
        let staged = said(&["--no-optional-locks", "diff", "--cached", "--stat"]);
        let refs = refs.replace(&self.repo.id("HEAD"), "HEAD");
        format!("{status}{head}{refs}{staged}")
    }
}

/// The files of a checkout, and the fixes that its stored reports name.
pub(crate) struct FixState {
    files: BTreeMap<String, String>,
    /// Fixes as JSON, with their run.
    fixes: BTreeMap<(PathBuf, String), ReportedFix>,
}

/// A fix that a stored report names.
struct ReportedFix {
    files: BTreeSet<String>,
    /// The exact new text of the issue, if the fix closed it.
    replacement: Option<String>,
}

impl FixState {
    pub(crate) fn of(repo: &Repo) -> Self {
        let mut files = crate::user::tree(repo.path());
        let is_kept = |name: &str| {
            [".git", ".crh", ".context"]
                .iter()
                .all(|it| name != *it && !name.starts_with(&format!("{it}/")))
        };
        files.retain(|name, state| is_kept(name) && !state.ends_with(" folder"));
        let folder = repo.path().join(".crh/runs");
        let runs = if folder.exists() { runs(&folder) } else { Vec::new() };
        let fixes = runs.iter().flat_map(|run| reported_fixes(run)).collect();
        Self { files, fixes }
    }

    /// Fails unless the files that changed since are exactly the files of the fixes that reports
    /// gained or lost.
    pub(crate) fn assert_reported(&self, repo: &Repo, what: &str) {
        let now = Self::of(repo);
        let names = self.files.keys().chain(now.files.keys());
        // Todo files are new, and no fix.
        let is_todo = |name: &str| {
            (name.ends_with(".md") || name.ends_with("/.highest-id"))
                && !self.files.contains_key(name)
        };
        let changed: BTreeSet<&String> = names
            .filter(|name| self.files.get(*name) != now.files.get(*name) && !is_todo(name))
            .collect();
        let gained = now.fixes.iter().filter(|(fix, _)| !self.fixes.contains_key(fix));
        let lost = self.fixes.iter().filter(|(fix, _)| !now.fixes.contains_key(fix));
        let files = gained.clone().chain(lost).flat_map(|(_, fix)| &fix.files);
        let reported: BTreeSet<&String> = files.collect();
        assert_eq!(changed, reported, "the report does not match the tree: {what}");
        for ((_, name), fix) in gained.clone() {
            let Some(replacement) = &fix.replacement else { continue };
            let fixes_of_files = gained
                .clone()
                .filter(|(_, other)| other.files.iter().any(|it| fix.files.contains(it)));
            let texts = fix.files.iter().map(|file| fs::read_to_string(repo.path().join(file)));
            let texts: Vec<String> = texts.flatten().collect();
            // Another fix may have changed the text, and the test may have deleted the file.
            let is_final = fixes_of_files.count() == 1 && texts.len() == fix.files.len();
            let is_there =
                !is_final || texts.iter().any(|text| text.contains(replacement.trim_end()));
            assert!(is_there, "the text of fix {name} is not in the tree: {what}");
        }
    }
}

/// The fixes that the files of a run name. All files name the same.
fn reported_fixes(run: &Path) -> Vec<((PathBuf, String), ReportedFix)> {
    let read = |name: &str| fs::read(run.join(name)).ok();
    let parsed = |name: &str| read(name).and_then(|it| serde_json::from_slice::<Value>(&it).ok());
    let Some(report) = parsed("review.json") else { return Vec::new() };
    let fixes = report["applied_fixes"].clone();
    assert_eq!(parsed("applied-fixes.json").unwrap_or_else(|| json!([])), fixes, "{run:?}");
    let row = |fix: &Value| {
        let files = fix["files"].as_array().unwrap().iter();
        let files = files.map(|file| file.as_str().unwrap().to_owned()).collect();
        let what = json!([fix["number"], fix["description"], fix["files"]]).to_string();
        let mut issues = report["issues"].as_array().unwrap().iter();
        let issue = issues.find(|issue| issue["number"] == fix["number"]);
        let replacement = issue.and_then(|issue| issue["replacement"].as_str());
        let replacement = replacement.filter(|_| fix["outcome"].is_null()).map(str::to_owned);
        ((run.to_owned(), what), ReportedFix { files, replacement })
    };
    fixes.as_array().unwrap().iter().map(row).collect()
}

/// A model that reports these findings once and confirms them.
fn says(findings: &[Value]) -> FakeModel {
    says_in_rounds(&[findings])
}

/// A model with other findings in each round.
fn says_in_rounds(rounds: &[&[Value]]) -> FakeModel {
    let answers: Vec<ScriptedReply> = rounds.iter().map(|findings| answers(findings)).collect();
    let confirms: Vec<ScriptedReply> = rounds.iter().map(|_| confirms()).collect();
    FakeModel::start().on("single", answers).on("validate-1", confirms)
}

/// A safe finding with an exact replacement of its line.
fn safe(title: &str, place: &str, quote: &str, replacement: &str) -> Value {
    let fields = json!({
        "replacement": replacement,
        "autofix_class": "safe_auto",
        "owner": "review-fixer",
    });
    with(finding("P2", title, place, quote), fields)
}

fn mean() -> Value {
    safe(
        "The total is divided by the count",
        "shop/orders.py:5",
        "return result / len(items)",
        "    return result",
    )
}

fn swallowed() -> Value {
    swallowed_fixed_by("    except Exception:\n        raise")
}

fn swallowed_fixed_by(replacement: &str) -> Value {
    let quote = "    except Exception:\n        pass";
    let finding = safe("The error is swallowed", "shop/mail.py:4", quote, replacement);
    with(finding, json!({ "line_end": 5 }))
}

/// A finding for `downstream-resolver`.
fn unpaid() -> Value {
    let fields = json!({ "autofix_class": "manual", "owner": "downstream-resolver" });
    with(
        finding("P1", "A refund of what was not paid", "shop/orders.py:9", "return order.amount"),
        fields,
    )
}

/// The title of each issue, and whether it is fixed, open, or open although a fix is applied.
pub(crate) fn issues(report: &Value) -> String {
    let state = |number: &Value| {
        let fixes = report["applied_fixes"].as_array().unwrap();
        match fixes.iter().find(|fix| fix["number"] == *number) {
            Some(fix) => fix["outcome"].as_str().unwrap_or("fixed"),
            None => "open",
        }
    };
    let row = |issue: &Value| {
        let state = state(&issue["number"]);
        format!("#{} {state}: {}\n", issue["number"], issue["title"].as_str().unwrap())
    };
    report["issues"].as_array().unwrap().iter().map(row).collect()
}
