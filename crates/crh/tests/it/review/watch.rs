//! `crh review --watch`: what a save, a pause, a full budget and Ctrl-C do.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use expect_test::expect;

use super::script::answers;
use super::{ORDERS, ReviewFixture, with_key};
use crate::user::processes_in;
use crh_testkit::fake_model::FakeRequest;
use crh_testkit::{FakeModel, Program, RunningProgram};

/// Longest wait for something that should happen, on a slow machine.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// A quiet time of an hour: no review starts during a test.
const NEVER_QUIET: u64 = 3_600;
/// Longer than the quiet time of a second and a look at the files.
const SEVERAL_QUIET_TIMES: Duration = Duration::from_secs(4);

/// A watcher whose output goes to a file, so that tests can read it while it runs.
struct RunningWatcher {
    running: RunningProgram,
    log: PathBuf,
}

impl RunningWatcher {
    fn start(fixture: &ReviewFixture, model: &FakeModel, settings: &str) -> Self {
        fixture.user.write(".config/crh/config.toml", &format!("[watch]\n{settings}\n"));
        let log = fixture.user.path("log");
        let base = fixture.repo.id("HEAD~1");
        let script = "exec \"$0\" \"$@\" >\"$LOG\" 2>&1";
        let shell = Program::new("sh", fixture.repo.path()).args(["-c", script]);
        let shell = shell.args([env!("CARGO_BIN_EXE_crh"), "review", "--watch", "--base", &base]);
        let home = fixture.user.path("");
        let shell = shell
            .args(["--strategy", "single"])
            .env("HOME", home.to_str().unwrap())
            .env("CRH_ANALYSERS", "never")
            .env("LOG", log.to_str().unwrap());
        Self { running: with_key(shell, model).start(), log }
    }

    fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Number of finished checks. A check is free, and a review by the fake model is not.
    fn checks(&self) -> usize {
        self.output().matches(" · 0.00 USD · ").count()
    }

    fn wait_for_checks(&self, count: usize) {
        self.wait(|| self.checks() >= count, &format!("{count} checks"));
    }

    fn wait(&self, is_done: impl Fn() -> bool, what: &str) {
        let start = Instant::now();
        while !is_done() {
            assert!(start.elapsed() < LONGEST_WAIT, "no {what}:\n{}", self.output());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses Ctrl-C. Returns the exit code and the output.
    fn end(self) -> (i32, String) {
        self.running.interrupt();
        let code = self.running.end().code;
        (code, fs::read_to_string(&self.log).unwrap_or_default())
    }
}

/// A model that finds nothing, and answers after a delay.
fn slow_model(delay: Duration) -> FakeModel {
    FakeModel::answering(move |_: &FakeRequest| answers(&[]).delayed(delay))
}

/// Money that is booked for the day, in dollars.
fn booked(fixture: &ReviewFixture) -> f64 {
    let file = fixture.user.path(".local/state/crh/watch/spending.json");
    super::json(&file)["picodollars"].as_f64().unwrap() / 1e12
}

#[test]
fn save_is_checked_without_model_until_files_are_quiet() {
    let fixture = ReviewFixture::new();
    let model = slow_model(Duration::ZERO);
    let watcher =
        RunningWatcher::start(&fixture, &model, &format!("quiet_seconds = {NEVER_QUIET}"));
    watcher.wait_for_checks(1);
    fixture.repo.write(ORDERS, "def total(items):\n    return items is 3\n");
    watcher.wait_for_checks(2);
    fixture.repo.write("shop/ignored.txt", "untracked\n");
    watcher.wait_for_checks(3);
    let (code, output) = watcher.end();
    assert_eq!(code, 130);
    assert_eq!(model.requests().len(), 0);
    // The third check found the same as the second one.
    let finding = "shop/orders.py:2:1: P1 patterns/literal-identity";
    assert_eq!(output.matches(finding).count(), 1, "{output}");
    assert_eq!(fixture.runs(), Vec::<PathBuf>::new(), "checks are not stored");
}

#[test]
fn quiet_diff_is_reviewed_once_and_again_when_it_changes() {
    let fixture = ReviewFixture::new();
    let model = slow_model(Duration::ZERO);
    let watcher = RunningWatcher::start(&fixture, &model, "quiet_seconds = 1");
    watcher.wait(|| watcher.output().contains("Looked at all of it."), "review");
    let source = fs::read(fixture.repo.path().join(ORDERS)).unwrap();
    let checks = watcher.checks();
    fixture.repo.write(ORDERS, &source);
    watcher.wait_for_checks(checks + 1);
    // The same diff, now in another commit.
    fixture.repo.git(&["commit", "--quiet", "--amend", "-m", "Other words"]);
    watcher.wait_for_checks(checks + 2);
    std::thread::sleep(SEVERAL_QUIET_TIMES);
    assert_eq!(model.requests().len(), 1);
    fixture.repo.write(ORDERS, "def total(items):\n    return 1\n");
    watcher.wait(|| model.requests().len() == 2, "second review");
    watcher.wait(|| watcher.output().matches("Looked at all of it.").count() == 2, "report");
    let (code, output) = watcher.end();
    assert_eq!(code, 130);
    assert_eq!(model.requests().len(), 2);
    assert!(output.contains("reviewing the change, for at most 2.0000 USD"), "{output}");
    let spent = booked(&fixture);
    assert!(spent > 0.0 && spent < 0.1, "{spent}");
    assert_eq!(fixture.runs().len(), 2);
    // A new watcher knows the newest run.
    let watcher = RunningWatcher::start(&fixture, &model, "quiet_seconds = 1");
    let note = "the newest stored review covers this diff";
    watcher.wait(|| watcher.output().contains(note), "note");
    std::thread::sleep(SEVERAL_QUIET_TIMES);
    watcher.end();
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn saves_during_a_review_lead_to_one_later_review() {
    let fixture = ReviewFixture::new();
    // The model answers while the test does not hold this lock.
    let answering = Arc::new(Mutex::new(()));
    let lock = answering.clone();
    let held = answering.lock().unwrap();
    let model = FakeModel::answering(move |_: &FakeRequest| {
        drop(lock.lock());
        answers(&[])
    });
    let watcher = RunningWatcher::start(&fixture, &model, "quiet_seconds = 1");
    watcher.wait(|| model.requests().len() == 1, "review");
    for text in ["first", "second"] {
        let checks = watcher.checks();
        fixture.repo.write(ORDERS, format!("def total(items):\n    return '{text}'\n"));
        watcher.wait_for_checks(checks + 1);
    }
    std::thread::sleep(SEVERAL_QUIET_TIMES);
    assert_eq!(model.requests().len(), 1, "two reviews ran at once");
    drop(held);
    watcher.wait(|| watcher.output().matches("Looked at all of it.").count() == 2, "reports");
    std::thread::sleep(SEVERAL_QUIET_TIMES);
    let (code, _) = watcher.end();
    assert_eq!(code, 130);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn used_day_budget_is_stated_and_calls_no_model() {
    let fixture = ReviewFixture::new();
    let model = slow_model(Duration::ZERO);
    let watcher =
        RunningWatcher::start(&fixture, &model, "quiet_seconds = 1\nmax_usd_per_day = 0.1");
    watcher.wait(|| watcher.output().contains("today's budget"), "statement");
    fixture.repo.write(ORDERS, "def total(items):\n    return 1\n");
    watcher.wait_for_checks(2);
    std::thread::sleep(SEVERAL_QUIET_TIMES);
    let (code, output) = watcher.end();
    assert_eq!(code, 130);
    assert_eq!(model.requests().len(), 0);
    let statement = "warning: today's budget (0.1000 USD) is used up; crh runs only the static checks until midnight UTC";
    assert_eq!(output.matches(statement).count(), 1, "{output}");
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_ends_the_review_and_books_its_real_cost() {
    let fixture = ReviewFixture::new();
    let model = slow_model(Duration::from_secs(3_600));
    let watcher = RunningWatcher::start(&fixture, &model, "quiet_seconds = 1");
    watcher.wait(|| model.requests().len() == 1, "review");
    assert_eq!(booked(&fixture), 2.0);
    assert!(processes_in(fixture.repo.path()) >= 2);
    let (code, output) = watcher.end();
    assert_eq!(code, 130, "{output}");
    assert_eq!(processes_in(fixture.repo.path()), 0);
    // The interrupted review is stored and shown.
    assert!(output.contains(".crh/runs/"), "{output}");
    assert!(booked(&fixture) < 2.0, "{output}");
}

#[test]
fn watching_something_else_than_a_checkout_is_rejected() {
    let fixture = ReviewFixture::new();
    let refused = |args: &[&str]| fixture.user.refused(&fixture.repo, args);
    expect![[r#"
        exit 2
        error: `--watch` reviews only the current checkout
        hint: remove the target, or use `--base REF` or `--uncommitted`
        ---
    "#]]
    .assert_eq(&refused(&["review", "--watch", "HEAD~1..HEAD"]));
    expect![[r#"
        exit 2
        error: `--watch` has no mode: it edits nothing and asks nothing
        hint: remove `mode:`; apply fixes with `crh fix`
        ---
    "#]]
    .assert_eq(&refused(&["review", "--watch", "mode:autofix"]));
    let outside = fixture.user.path("");
    let output = fixture.user.crh(&outside, &["review", "--watch"]).run();
    assert_eq!(output.code, 2, "{}", output.shown());
    assert!(output.stderr.contains("hint: run it in the checkout to watch"), "{}", output.shown());
}

#[test]
fn second_watcher_of_a_checkout_is_rejected() {
    let fixture = ReviewFixture::new();
    let model = FakeModel::start();
    let watcher =
        RunningWatcher::start(&fixture, &model, &format!("quiet_seconds = {NEVER_QUIET}"));
    watcher.wait_for_checks(1);
    expect![[r#"
        exit 2
        error: another `crh review --watch` runs in this checkout
        hint: end it with Ctrl-C in its terminal
        ---
    "#]]
    .assert_eq(&fixture.user.refused(&fixture.repo, &["review", "--watch"]));
    let (code, _) = watcher.end();
    assert_eq!(code, 130);
}

#[test]
fn clean_tree_waits_and_names_what_is_left_out_and_gone() {
    let fixture = ReviewFixture::new();
    let model = slow_model(Duration::ZERO);
    // The base is the parent of the head: nothing differs.
    fixture.repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    fixture.repo.git(&["commit", "--quiet", "--allow-empty", "-m", "Nothing"]);
    let watcher =
        RunningWatcher::start(&fixture, &model, &format!("quiet_seconds = {NEVER_QUIET}"));
    watcher.wait(|| watcher.output().contains("crh waits for a change"), "note");
    fixture.repo.write(ORDERS, "def total(items):\n    return items is 3\n");
    fixture.repo.write("shop/new.py", "x = 1\n");
    let found = "shop/orders.py:2:1: P1 patterns/literal-identity";
    watcher.wait(|| watcher.output().contains(found), "issue");
    watcher.wait(|| watcher.output().contains("untracked: `shop/new.py`"), "untracked file");
    fixture.repo.write(ORDERS, "def total(items):\n    return items == 3\n");
    watcher.wait(|| watcher.output().contains("gone: shop/orders.py:2"), "issue that is gone");
    let (code, output) = watcher.end();
    assert_eq!(code, 130, "{output}");
    assert_eq!(output.matches("crh waits for a change").count(), 1, "{output}");
}
