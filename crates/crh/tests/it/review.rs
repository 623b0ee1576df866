//! `crh review` and what belongs to it, against a fake model over real HTTP: what a user sees, what is written, how it
//! ends. What the stages decide is tested where they are; here is one test for each promise.

#[path = "review/without_model.rs"]
mod besides;
mod budget;
mod credentials;
mod interrupted;
#[path = "review/run_folder.rs"]
mod kept;
mod large;
mod outputs;
pub(crate) mod panel;
#[path = "review/panel_options.rs"]
mod panel_wishes;
mod reviewers;
pub(crate) mod script;
mod single;
mod targets;
#[path = "review/custom_prompts.rs"]
mod wishes;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::user::User;
use crh_testkit::{FakeModel, Output, Program, Repo};

/// The key that may be nowhere but in a header.
const KEY: &str = "sk-proj-4f9Tq2LmZx81RvBnWc07YdKe";

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

/// A user with a repository, in which the last commit is the change.
struct Desk {
    user: User,
    repo: Repo,
}

/// A review that came to its end.
struct Reviewed {
    output: Output,
    /// `review.json` of its run folder; null if there is none.
    report: Value,
}

impl Desk {
    /// A user with the shop.
    fn new() -> Self {
        Self::with(SHOP)
    }

    fn with(fixture: &str) -> Self {
        Self { user: User::new(), repo: Repo::from_fixture(fixture) }
    }

    /// The program as the user runs it in the repository, without a model.
    fn crh(&self, args: &[&str]) -> Program {
        self.user.crh(self.repo.path(), args)
    }

    /// The same with a model.
    fn asking(&self, model: &FakeModel, args: &[&str]) -> Program {
        with_model(self.crh(args), model)
    }

    /// Reviews the last commit.
    fn review(&self, model: &FakeModel, args: &[&str]) -> Reviewed {
        let output = self.asking(model, &[&["review", "HEAD~1..HEAD"], args].concat()).run();
        self.reviewed(output)
    }

    /// Reviews the last commit as somebody does who has chosen nothing.
    fn review_as_usual(&self, model: &FakeModel, args: &[&str]) -> Reviewed {
        let program = self.crh(&[&["review", "HEAD~1..HEAD"], args].concat());
        self.reviewed(with_key(program, model).run())
    }

    /// A review that was run, and its report.
    fn reviewed(&self, output: Output) -> Reviewed {
        let report = self.runs().pop().map(|run| json(&run.join("review.json")));
        Reviewed { output, report: report.unwrap_or_default() }
    }

    /// The run folders, oldest first.
    fn runs(&self) -> Vec<PathBuf> {
        runs(&self.repo.path().join(".crh/runs"))
    }

    /// What was printed, with what differs from run to run by name. Lines that only say how far a review is are left
    /// out: how many there are depends on the time it takes.
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
        timeless(&self.user.named(&self.repo, &format!("exit {code}\n{told}---\n{stdout}")))
    }
}

impl Reviewed {
    /// How it ended: exit code, status and verdict.
    fn end(&self) -> (i32, &str, &str) {
        let word = |name: &str| self.report[name].as_str().unwrap_or("none");
        (self.output.code, word("status"), word("verdict"))
    }

    /// The issues, one a line.
    fn issues(&self) -> String {
        issues(&self.report)
    }

    /// The findings that are not shown, one a line.
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

    /// The reviewers, one a line.
    fn reviewers(&self) -> String {
        let row = |row: &Value| {
            format!("{} {}: {}\n", text(&row["name"]), text(&row["outcome"]), text(&row["note"]))
        };
        items(&self.report["reviewers"]).iter().map(row).collect()
    }

    /// What was reviewed of each file, one a line.
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

    /// What the report warns of, one a line.
    fn warnings(&self) -> String {
        items(&self.report["warnings"]).iter().map(|line| format!("{}\n", text(line))).collect()
    }
}

/// A program whose OpenAI is the fake one, and whose reviews are divided by an orchestrator unless it says otherwise: what a panel
/// asks depends on who sits in it, so that the tests of panels name theirs.
pub(crate) fn with_model(program: Program, model: &FakeModel) -> Program {
    with_key(program, model).env("CRH_STRATEGY", "delegate")
}

/// A program whose OpenAI is the fake one, and nothing else.
fn with_key(program: Program, model: &FakeModel) -> Program {
    program.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &model.url())
}

/// The run folders of a place, oldest first.
pub(crate) fn runs(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut runs: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    // Names tell seconds, and two of one second may differ in anything. The terms are written once, when a run begins.
    let begun = |path: &PathBuf| fs::metadata(path.join("stages/terms.json")).unwrap().modified();
    runs.sort_by_key(|path| begun(path).unwrap());
    runs
}

/// The issues of a report, one a line.
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

/// A text in which the names of runs are `RUN` and how long a review took is `TIME`.
pub(crate) fn timeless(text: &str) -> String {
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
