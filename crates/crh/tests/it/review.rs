//! `crh review` and related commands against a fake model over HTTP: output, files and exit codes.
//! The stages have their own tests; here is one test per promise to users.

mod budget;
mod credentials;
mod custom_prompts;
mod interrupted;
mod outputs;
pub(crate) mod panel;
mod panel_options;
mod reviewers;
mod run_folder;
pub(crate) mod script;
mod single;
mod targets;
mod watch;
mod without_model;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::user::User;
use crh_testkit::{FakeModel, Output, Program, Repo};

/// The API key. It may only occur in a request header.
pub(crate) const KEY: &str = "sk-proj-4f9Tq2LmZx81RvBnWc07YdKe";

/// The change that most tests review.
pub(crate) const SHOP: &str = "
    //- shop/orders.py
    def total(items):
        return sum(item.price for item in items)


    def refund(order):
        if order.paid:
            return order.amount
        return 0
    //- shop/mail.py
    def send(to, text):
        return smtp.send(to, text)
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
    ";
const ORDERS: &str = "shop/orders.py";
const MAIL: &str = "shop/mail.py";

/// A user with a repository whose last commit is the change.
struct ReviewFixture {
    user: User,
    repo: Repo,
}

/// A finished review.
struct FinishedReview {
    output: Output,
    /// `review.json` of the run folder; null if there is none.
    report: Value,
}

impl ReviewFixture {
    /// A user with the shop repository.
    fn new() -> Self {
        Self::with(SHOP)
    }

    fn with(fixture: &str) -> Self {
        Self { user: User::new(), repo: Repo::from_fixture(fixture) }
    }

    /// Runs crh in the repository without a model.
    fn crh(&self, args: &[&str]) -> Program {
        self.user.crh(self.repo.path(), args)
    }

    /// Runs crh in the repository with a model.
    fn crh_with_model(&self, model: &FakeModel, args: &[&str]) -> Program {
        with_model(self.crh(args), model)
    }

    /// Reviews the last commit.
    fn review(&self, model: &FakeModel, args: &[&str]) -> FinishedReview {
        let output =
            self.crh_with_model(model, &[&["review", "HEAD~1..HEAD"], args].concat()).run();
        self.reviewed(output)
    }

    /// Reviews the last commit without flags.
    fn review_as_usual(&self, model: &FakeModel, args: &[&str]) -> FinishedReview {
        let program = self.crh(&[&["review", "HEAD~1..HEAD"], args].concat());
        self.reviewed(with_key(program, model).run())
    }

    /// The report of a finished run.
    fn reviewed(&self, output: Output) -> FinishedReview {
        let report = self.runs().pop().map(|run| json(&run.join("review.json")));
        FinishedReview { output, report: report.unwrap_or_default() }
    }

    /// The run folders, oldest first.
    fn runs(&self) -> Vec<PathBuf> {
        runs(&self.repo.path().join(".crh/runs"))
    }

    /// Output with temporary values replaced by names. Status lines are left out, because their
    /// number depends on timing.
    fn shown(&self, output: &Output) -> String {
        let closing = output.stderr.lines().last().unwrap_or_default();
        let is_said = |line: &&str| {
            ["error: ", "hint: ", "warning: ", "note: "].iter().any(|word| line.starts_with(word))
        };
        let mut told: Vec<&str> = output.stderr.lines().filter(is_said).collect();
        if !closing.is_empty() && !is_said(&closing) {
            told.push(closing);
        }
        let told: String = told.iter().map(|line| format!("{line}\n")).collect();
        let Output { code, stdout, .. } = output;
        without_times(
            &self.user.replace_paths(&self.repo, &format!("exit {code}\n{told}---\n{stdout}")),
        )
    }
}

impl FinishedReview {
    /// Exit code, status and verdict.
    fn end(&self) -> (i32, &str, &str) {
        let word = |name: &str| self.report[name].as_str().unwrap_or("none");
        (self.output.code, word("status"), word("verdict"))
    }

    /// The issues, one per line.
    fn issues(&self) -> String {
        issues(&self.report)
    }

    /// Hidden findings, one per line.
    fn fates(&self) -> String {
        let row = |dropped: &Value| {
            let title = dropped["member"]["finding"]["title"].as_str();
            let title = title.or_else(|| dropped["raw"]["title"].as_str());
            format!(
                "{} {}: {}\n",
                text(&dropped["fate"]),
                title.unwrap_or("-"),
                text(&dropped["reason"])
            )
        };
        items(&self.report["suppressed"]).iter().map(row).collect()
    }

    /// The reviewers, one per line.
    fn reviewers(&self) -> String {
        let row = |row: &Value| {
            format!("{} {}: {}\n", text(&row["name"]), text(&row["outcome"]), text(&row["note"]))
        };
        items(&self.report["reviewers"]).iter().map(row).collect()
    }

    /// Coverage, one file per line.
    fn coverage(&self) -> String {
        let row = |file: &Value| {
            let line = format!(
                "{} {} {}",
                text(&file["path"]),
                text(&file["state"]),
                text(&file["reason"])
            );
            format!("{}\n", line.trim_end())
        };
        items(&self.report["coverage"]).iter().map(row).collect()
    }

    /// Warnings, one per line.
    fn warnings(&self) -> String {
        items(&self.report["warnings"]).iter().map(|line| format!("{}\n", text(line))).collect()
    }
}

/// Runs with the fake model as OpenAI and the `delegate` strategy by default. Panel tests set their
/// own strategy, because the requests of a panel depend on its reviewers.
pub(crate) fn with_model(program: Program, model: &FakeModel) -> Program {
    with_key(program, model).env("CRH_STRATEGY", "delegate")
}

/// Runs with the fake model as OpenAI.
pub(crate) fn with_key(program: Program, model: &FakeModel) -> Program {
    program.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &model.url())
}

/// Run folders, oldest first.
pub(crate) fn runs(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut runs: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    // Names have a resolution of one second, so runs are sorted by the time when their terms were
    // written.
    let begun = |path: &PathBuf| fs::metadata(path.join("stages/terms.json")).unwrap().modified();
    runs.sort_by_key(|path| begun(path).unwrap());
    runs
}

/// Issues of a report, one per line.
fn issues(report: &Value) -> String {
    let row = |issue: &Value| {
        format!(
            "#{} {} {}:{} {} ({}, {})\n",
            issue["number"],
            text(&issue["severity"]),
            text(&issue["file"]),
            issue["line_start"],
            text(&issue["title"]),
            issue["confidence"],
            text(&issue["validation"]),
        )
    };
    items(&report["issues"]).iter().map(row).collect()
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Replaces run names by `RUN` and durations by `TIME`.
pub(crate) fn without_times(text: &str) -> String {
    const ENDS: [char; 5] = [' ', '/', '\n', '`', '\''];
    let is_run = |word: &str| {
        let parts = word.split_once("Z_");
        parts.is_some_and(|(time, id)| time.starts_with("20") && id.len() >= 16)
    };
    let is_time = |part: &str| {
        let number = part.strip_suffix(" ms").or_else(|| part.strip_suffix(" s"));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let words = text.split_inclusive(ENDS).map(|word| {
        let bare = word.trim_end_matches(ENDS);
        if is_run(bare) { format!("RUN{}", &word[bare.len()..]) } else { word.to_owned() }
    });
    let text: String = words.collect();
    let parts = text.split(" · ").map(|part| if is_time(part) { "TIME" } else { part });
    parts.collect::<Vec<_>>().join(" · ")
}
