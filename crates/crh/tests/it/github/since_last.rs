//! `--since-last`: what is reviewed again, what is carried over, and when everything is reviewed.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use super::{GitHubScenario, NAME};
use crate::review::script::{answers, confirms, finding};
use crate::review::with_model;
use crh_testkit::fake_model::bad_request;
use crh_testkit::{FakeModel, Output, Repo};

const SHOP: &str = "
    //- shop/orders.py
    def total(items):
        return sum(item.price for item in items)
    //- shop/mail.py
    def send(to, text):
        return smtp.send(to, text)
    //- shop/stock.py
    def left(item):
        return item.count
    ";

/// A pull request of two files, one with a wrong total.
fn hub() -> GitHubScenario {
    let repo = Repo::from_fixture(SHOP);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("shop/orders.py", "def total(items):\n    return sum(items) / len(items)\n");
    repo.write("shop/mail.py", "def send(to, text):\n    return smtp.send(to, text, retry=True)\n");
    repo.commit("totals of several items");
    GitHubScenario::with(repo)
}

/// The same with a conflict that a static check finds.
fn conflict() -> GitHubScenario {
    let repo = Repo::from_fixture(SHOP);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write(
        "shop/orders.py",
        "def total(items):\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n",
    );
    repo.write("shop/mail.py", "def send(to, text):\n    return smtp.send(to, text, retry=True)\n");
    repo.commit("totals of several items");
    GitHubScenario::with(repo)
}

impl GitHubScenario {
    /// Pushes one more commit to the pull request.
    fn pushes(&self, path: &str, text: &str) {
        self.repo.git(&["checkout", "--quiet", "feature"]);
        self.repo.write(path, text);
        self.repo.commit("one more");
        self.github.push(&self.pull);
    }

    /// Runs `check` on the pull request and posts it.
    fn checks(&self, more: &[&str]) -> (Output, Value) {
        let url = self.url();
        let args = [&["check", &url, "--sink", "github", "--format", "json"], more].concat();
        reported(self.crh(self.elsewhere.path(), &args).run())
    }

    /// Runs `review` on the pull request with one call of a model, and posts it.
    fn reviews(&self, model: &FakeModel, more: &[&str]) -> (Output, Value) {
        let url = self.url();
        let usual = ["review", &url, "--sink", "github", "--format", "json"];
        let single = ["--strategy", "single", "--analysers", "never"];
        let args = [&usual[..], &single, more].concat();
        reported(with_model(self.crh(self.elsewhere.path(), &args), model).run())
    }

    /// Why everything was reviewed, from the report and standard error.
    fn widened(&self, (output, report): &(Output, Value)) -> String {
        let told = "reviewing everything despite `--since-last`: ";
        let said = |lines: Vec<&str>| {
            let found = lines.into_iter().find_map(|line| line.split_once(told));
            found.unwrap_or_else(|| panic!("{}", output.shown())).1.to_owned()
        };
        let in_report = said(strings(&report["warnings"]));
        assert_eq!(said(output.stderr.lines().collect()), in_report);
        let states: Vec<_> = coverage(report).into_iter().map(|(_, state)| state).collect();
        assert!(!states.contains(&"reviewed_before".to_owned()), "{states:?}");
        in_report
    }
}

fn reported(output: Output) -> (Output, Value) {
    let report = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", output.shown()));
    (output, report)
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn coverage(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = report["coverage"].as_array().unwrap().iter();
    rows.map(|row| (text(&row["path"]), text(&row["state"]))).collect()
}

/// One line per issue.
fn issues(report: &Value) -> Vec<String> {
    let issues = report["issues"].as_array().unwrap().iter();
    let shown = |issue: &Value| {
        let field = |name: &str| issue[name].as_str().unwrap().to_owned();
        let (severity, confidence) = (field("severity"), issue["confidence"].clone());
        let place = format!("{}:{}", field("file"), issue["line_start"]);
        let (title, key) = (field("title"), field("dedupe_key"));
        format!("{severity} {confidence} {place} {title} {} {key}", field("validation"))
    };
    issues.map(shown).collect()
}

fn wrong_total() -> Value {
    finding("P1", "The total is a mean", "shop/orders.py:2", "return sum(items) / len(items)")
}

fn model() -> FakeModel {
    FakeModel::start().on("single", [answers(&[wrong_total()])]).on("validate-1", [confirms()])
}

#[test]
fn changed_files_are_reviewed_and_open_issues_carried() {
    let (hub, model) = (hub(), model());
    let (output, first) = hub.reviews(&model, &[]);
    assert_eq!((output.code, model.requests().len()), (1, 3), "{}", output.shown());
    let reviewed = hub.github.head(&hub.pull);
    hub.pushes("shop/stock.py", "def left(item):\n    return item.count - item.sold\n");
    model.script("single", [answers(&[])]);
    let (output, second) = hub.reviews(&model, &["--since-last"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(issues(&second), issues(&first));
    let asked = format!("{:?}", model.requests()[3].prompt_parts());
    let mentions = |text: &str| asked.contains(text);
    assert!(mentions("item.count - item.sold") && !mentions("retry=True"), "{asked}");
    assert_eq!(model.requests().len(), 4, "nothing that is carried over is checked again");
    let states = coverage(&second);
    let states: Vec<_> = states.iter().map(|(path, state)| format!("{path} {state}")).collect();
    expect![[r#"
        [
            "shop/mail.py reviewed_before",
            "shop/orders.py reviewed_before",
            "shop/stock.py reviewed",
        ]
    "#]]
    .assert_debug_eq(&states);
    let line = second["scope"]["line"].as_str().unwrap().replace(&reviewed[..12], "REVIEWED");
    expect!["1 of 3 files, +1 -1; 2 left out (2 reviewed before); changed since REVIEWED"]
        .assert_eq(&line);
    let warnings = second["warnings"].to_string().replace(&reviewed[..12], "REVIEWED");
    expect![[r#"["reviewing only what changed since the review of `REVIEWED`","carried over from the review of `REVIEWED`: The total is a mean (shop/orders.py:2)"]"#]]
        .assert_eq(&warnings);
    assert_eq!(
        (second["status"].as_str(), second["verdict"].as_str()),
        (Some("ok"), Some("Ready with fixes"))
    );
    assert_eq!(hub.github.threads(&hub.pull).len(), 1, "it is not posted twice");
    let summary = hub.github.comments(&hub.pull).remove(0).body;
    assert!(summary.contains("Carried over from the last review"), "{summary}");
    // Once more: carried issues are carried again.
    hub.pushes("shop/mail.py", "def send(to, text):\n    return smtp.send(to, text, retry=3)\n");
    model.script("single", [answers(&[])]);
    let (output, third) = hub.reviews(&model, &["--since-last"]);
    assert_eq!((output.code, issues(&third)), (1, issues(&first)), "{}", output.shown());
    assert_eq!(hub.github.threads(&hub.pull).len(), 1);
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

#[test]
fn issue_not_found_again_is_settled() {
    let (hub, model) = (hub(), model());
    hub.reviews(&model, &[]);
    hub.pushes("shop/orders.py", "def total(items):\n    return sum(items)\n");
    model.script("single", [answers(&[])]);
    let (output, second) = hub.reviews(&model, &["--since-last"]);
    assert_eq!((output.code, issues(&second).len()), (0, 0), "{}", output.shown());
    assert_eq!(second["verdict"], "Ready to merge");
}

#[test]
fn issue_with_removed_code_is_not_carried() {
    let hub = conflict();
    let (output, first) = hub.checks(&[]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!issues(&first).is_empty());
    // The file is no longer part of the pull request.
    let before = "def total(items):\n    return sum(item.price for item in items)\n";
    hub.pushes("shop/orders.py", before);
    let (output, second) = hub.checks(&["--since-last"]);
    assert_eq!((output.code, issues(&second).len()), (0, 0), "{}", output.shown());
    let told = strings(&second["warnings"]).join("\n");
    assert!(told.contains("no longer there from the review of"), "{told}");
    assert_eq!(second["suppressed"][0]["fate"], "unsupported");
}

#[test]
fn check_carries_issues_and_dismissals_stay() {
    let hub = conflict();
    let (_, first) = hub.checks(&[]);
    let threads = hub.github.threads(&hub.pull).len();
    hub.pushes("shop/stock.py", "def left(item):\n    return item.count - item.sold\n");
    let (output, second) = hub.checks(&["--since-last"]);
    assert_eq!((output.code, issues(&second)), (1, issues(&first)), "{}", output.shown());
    assert_eq!(hub.github.threads(&hub.pull).len(), threads);
    hub.github.association(NAME, "member", "MEMBER");
    for thread in hub.github.threads(&hub.pull) {
        hub.github.reply(&thread.id, "member", "won't fix");
    }
    hub.pushes("shop/stock.py", "def left(item):\n    return item.count\n\n\nx = 1\n");
    let (output, third) = hub.checks(&["--since-last"]);
    assert_eq!((output.code, issues(&third).len()), (0, 0), "{}", output.shown());
}

#[test]
fn same_head_is_not_reviewed_or_posted() {
    let (hub, model) = (hub(), model());
    let (_, first) = hub.reviews(&model, &[]);
    let (shown, writes) = (hub.github.render(&hub.pull), hub.github.writes_received());
    let (output, second) = hub.reviews(&model, &["--since-last"]);
    assert_eq!((output.code, issues(&second)), (1, issues(&first)), "{}", output.shown());
    assert!(output.stderr.contains("nothing has changed since the review of"), "{}", output.stderr);
    assert!(output.stderr.contains("nothing to post"), "{}", output.stderr);
    assert_eq!(second["status"], "ok");
    assert_eq!((hub.github.render(&hub.pull), hub.github.writes_received()), (shown, writes));
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn rewritten_history_reviews_everything() {
    let hub = conflict();
    hub.checks(&[]);
    let reviewed = hub.github.head(&hub.pull);
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.git(&["commit", "--quiet", "--amend", "-m", "other words"]);
    hub.github.push(&hub.pull);
    let why = hub.widened(&hub.checks(&["--since-last"])).replace(&reviewed[..12], "REVIEWED");
    expect!["the head of the previous review, `REVIEWED`, is no longer part of the change"]
        .assert_eq(&why);
}

#[test]
fn missing_forged_or_incomplete_state_is_ignored() {
    let hub = conflict();
    let none = "this account and instance have not reviewed this pull request before";
    assert_eq!(hub.widened(&hub.checks(&["--since-last"])), none);
    // Another account repeats our comment, and ours is gone.
    let summary = hub.github.comments(&hub.pull).remove(0);
    hub.github.comment(&hub.pull, "mallory", &summary.body);
    hub.github.delete_comment(&hub.pull, summary.id);
    assert_eq!(hub.widened(&hub.checks(&["--since-last"])), none);
    assert_eq!(hub.widened(&hub.checks(&["--since-last", "--instance", "other"])), none);
    let (hub, model) = (self::hub(), FakeModel::start().on("single", [bad_request("no")]));
    let (output, report) = hub.reviews(&model, &[]);
    assert_eq!((output.code, report["status"].as_str()), (3, Some("error")), "{}", output.shown());
    let reviewed = hub.github.head(&hub.pull);
    model.script("single", [answers(&[])]);
    let why = hub.widened(&hub.reviews(&model, &["--since-last"]));
    assert_eq!(why, format!("the previous review, of `{}`, was incomplete", &reviewed[..12]));
}

#[test]
fn archive_has_the_last_review() {
    let hub = conflict();
    let archive = hub.elsewhere.path().join("change.tar");
    let archive = archive.to_str().unwrap();
    let (url, number) = (hub.url(), hub.pull.number.to_string());
    // Three jobs: with a token, without, with.
    let round = || {
        let args = ["prepare", &url, "--since-last", "--pack", archive];
        let output = hub.crh(hub.elsewhere.path(), &args).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        let runs = hub.elsewhere.path().join("runs");
        if runs.exists() {
            fs::remove_dir_all(&runs).unwrap();
        }
        let args = ["check", "--packed", archive, "--run-dir", "runs", "--format", "json"];
        let reviewed = reported(hub.user.crh(hub.elsewhere.path(), &args).run());
        let mut names = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().file_name());
        let name = names.find(|name| name.to_str().unwrap().contains('_')).unwrap();
        let (run, head) = (format!("runs/{}", name.to_str().unwrap()), hub.github.head(&hub.pull));
        let args = ["post", &run, "--repo", NAME, "--pr", &number, "--head", &head];
        let output = hub.crh(hub.elsewhere.path(), &args).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        (reviewed, output)
    };
    let (first, _) = round();
    assert!(hub.widened(&first).starts_with("this account and instance have not reviewed"));
    let threads = hub.github.threads(&hub.pull).len();
    hub.pushes("shop/stock.py", "def left(item):\n    return item.count - item.sold\n");
    let (second, _) = round();
    assert_eq!((second.0.code, issues(&second.1)), (1, issues(&first.1)), "{}", second.0.shown());
    let before = coverage(&second.1).into_iter().filter(|(_, state)| state == "reviewed_before");
    assert_eq!(before.count(), 2);
    assert_eq!(hub.github.threads(&hub.pull).len(), threads);
    let writes = hub.github.writes_received();
    let (third, posted) = round();
    assert_eq!((third.0.code, issues(&third.1)), (1, issues(&first.1)), "{}", third.0.shown());
    assert!(posted.stderr.contains("nothing to post"), "{}", posted.shown());
    assert_eq!(hub.github.writes_received(), writes);
}

#[test]
fn target_without_last_review_is_refused() {
    let hub = hub();
    let clone = hub.clone();
    let mut shown = String::new();
    let url = hub.url();
    for args in [
        vec!["check", "main..HEAD", "--since-last"],
        vec!["prepare", &url, "--since-last", "--out", "ws"],
        vec!["prepare", &url, "--pack", "change.tar"],
        vec!["check", "--packed", "change.tar", "--since-last"],
    ] {
        let output = hub.crh(clone.path(), &args).run();
        if output.code != 0 {
            shown += &output.shown();
        }
    }
    expect![[r#"
        exit 2
        error: `--since-last` needs a pull request
        hint: pass its address, `OWNER/NAME#N`, or `N` inside a clone
        ---
        exit 2
        error: `--since-last` needs an archive
        hint: write one with `--pack FILE`; a workspace folder cannot store the last review
        ---
        exit 2
        error: the archive does not contain the previous review
        hint: `crh prepare --since-last --pack FILE` puts it into an archive
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn estimate_names_the_last_reviewed_commit() {
    let (hub, model) = (hub(), model());
    hub.reviews(&model, &[]);
    let reviewed = hub.github.head(&hub.pull);
    hub.pushes("shop/stock.py", "def left(item):\n    return item.count - item.sold\n");
    let url = hub.url();
    let args = ["review", &url, "--strategy", "single", "--analysers", "never"];
    let args = [&args[..], &["--since-last", "--estimate"]].concat();
    let output = with_model(hub.crh(hub.elsewhere.path(), &args), &model).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let told = format!("reviewing only what changed since the review of `{}`", &reviewed[..12]);
    assert!(output.stdout.contains(&told), "{}", output.shown());
    assert!(
        output.stdout.contains("single") && output.stdout.contains("1 file,"),
        "{}",
        output.stdout
    );
}
