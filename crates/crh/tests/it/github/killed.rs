//! A program killed at any write and started again leaves the same state as an undisturbed one.
//! CI kills it before or after each write, in turn. With `CRH_TEST_ALL=1`, it is killed at both points.

use std::fs;
use std::time::Duration;

use super::{GitHubScenario, NAME, numbered, troubles};
use crh_testkit::fake_github::{Fault, FaultKind, HoldPoint, Permission};
use crh_testkit::{FakeModel, Program, Repo};

/// How long a test waits for a write: several times what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A token of an App, as in Actions, which may create check runs.
const OF_APP: &str = "ghs_ofAnApp0123456789";

/// Inline comments and a summary.
const REVIEW: [&str; 2] = ["--sink", "github"];

/// Only the summary.
const COMMENT: [&str; 2] = ["--sink", "github-comment"];

/// All writes: inline comments, vote, summary, resolved thread, check run.
const ALL: [&str; 6] =
    ["--sink", "github", "--request-changes", "--resolve-outdated", "--sink", "github-check"];

/// A pull request without reviews, with issues on lines 10 and 30.
fn first_round() -> GitHubScenario {
    let repo = Repo::new();
    repo.write("old.js", numbered(3));
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("new.js", numbered(80));
    repo.commit("a change");
    let hub = GitHubScenario::with(repo);
    hub.github.token(OF_APP, "actions[bot]", &Permission::ALL);
    hub.user.write("tool.sarif", &troubles(&[("new.js", 10), ("new.js", 30)]));
    hub
}

/// The same after a review and a new commit: the issue on line 10 is gone, the one on line 30
/// stays, those on lines 50 and 70 are new.
fn second_round() -> GitHubScenario {
    let hub = first_round();
    posted(&hub, &REVIEW);
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.write("new.js", numbered(80).replace("call(10)", "call(ten)"));
    hub.repo.commit("a fix");
    hub.github.push(&hub.pull);
    let troubles = troubles(&[("new.js", 30), ("new.js", 50), ("new.js", 70)]);
    hub.user.write("tool.sarif", &troubles);
    hub
}

/// The command to kill and repeat, with its model.
fn program(hub: &GitHubScenario, sinks: &[&str]) -> (Program, FakeModel) {
    let tool = hub.user.path("tool.sarif");
    hub.review(&[&["--sarif", tool.to_str().unwrap()], sinks].concat(), OF_APP)
}

/// Reviews and posts without disturbance.
fn posted(hub: &GitHubScenario, sinks: &[&str]) {
    let (program, _model) = program(hub, sinks);
    let output = program.run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!output.stderr.contains("cannot deliver the report"), "{}", output.shown());
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

/// All visible content except the address: comments, reviews, threads and check runs.
fn seen(hub: &GitHubScenario) -> String {
    let runs = hub.github.check_runs(NAME);
    let runs = runs.iter().map(|run| {
        let fields = ["name", "head_sha", "external_id", "status", "conclusion", "output"];
        fields.map(|field| format!("{field}: {}\n", run[field])).concat()
    });
    let runs: String = runs.collect();
    hub.shown(&format!("{}\n{runs}", hub.github.render(&hub.pull)))
}

/// State after an undisturbed run, and its number of writes.
fn undisturbed(hub: &GitHubScenario, sinks: &[&str]) -> (String, usize) {
    let before = hub.github.writes_received();
    posted(hub, sinks);
    (seen(hub), hub.github.writes_received() - before)
}

/// Kills the program at each of its writes and runs it again.
fn check(hub: &GitHubScenario, sinks: &[&str], expected_writes: usize) {
    let kept = hub.github.snapshot();
    let (expected, writes) = undisturbed(hub, sinks);
    assert_eq!(writes, expected_writes, "{expected}");
    for (choice, moment) in [HoldPoint::Before, HoldPoint::After].into_iter().enumerate() {
        for number in (1..=writes).filter(|number| crh_testkit::tries_case(*number, choice, 2)) {
            hub.github.restore(&kept);
            // As on another machine, without a cache.
            fs::remove_dir_all(hub.user.path("store")).unwrap();
            let hold = hub.github.hold_write(hub.github.writes_received() + number, moment);
            let (program, _model) = program(hub, sinks);
            let running = program.start();
            assert!(hold.wait(PATIENCE), "{moment:?} {number}");
            let killed = running.kill();
            assert_eq!(killed.code, -1, "{}", killed.shown());
            hold.release();
            let is_over = (moment, number) == (HoldPoint::After, writes);
            assert_eq!(seen(hub) == expected, is_over, "{moment:?} {number}");
            posted(hub, sinks);
            assert_eq!(seen(hub), expected, "{moment:?} {number}");
        }
    }
}

#[test]
fn killed_review_converges_when_repeated() {
    check(&second_round(), &ALL, 5);
    // The second round has these writes, too.
    if crh_testkit::runs_all_cases() {
        check(&first_round(), &REVIEW, 2);
        check(&first_round(), &COMMENT, 1);
    }
}

#[test]
fn cut_connection_at_any_write_converges() {
    let (expected, writes) = undisturbed(&second_round(), &ALL);
    assert_eq!(writes, 5, "{expected}");
    // In parallel, because the program waits before it reads the state again.
    std::thread::scope(|threads| {
        // `crh-forge` cuts the connection at each write, so CI tries the first and the last one here.
        let is_chosen =
            |number: &usize| [1, writes].contains(number) || crh_testkit::runs_all_cases();
        for number in (1..=writes).filter(is_chosen) {
            let expected = &expected;
            threads.spawn(move || {
                let hub = second_round();
                let number = hub.github.writes_received() + number;
                hub.github.fail(Fault::on_write(number, FaultKind::CutAfter));
                posted(&hub, &ALL);
                assert_eq!(&seen(&hub), expected, "{number}");
            });
        }
    });
}
