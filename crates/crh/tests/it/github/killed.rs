//! A program that is killed at any of its writes and started again leaves the same behind as one that nobody disturbed.

use std::fs;
use std::time::Duration;

use super::{Hub, NAME, numbered, troubles};
use crh_testkit::fake_github::{Fault, How, Moment, Permission};
use crh_testkit::{FakeModel, Program, Repo};

/// How long a test waits for a write: several times what a slow machine takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A token such as Actions has: that of an App, which may also make check runs.
const OF_APP: &str = "ghs_ofAnApp0123456789";

/// Comments on lines, and a summary.
const REVIEW: [&str; 2] = ["--sink", "github"];

/// One comment.
const COMMENT: [&str; 2] = ["--sink", "github-comment"];

/// Everything that can be written: comments on lines, a vote, a summary, the end of a conversation, a check run.
const ALL: [&str; 6] =
    ["--sink", "github", "--request-changes", "--resolve-outdated", "--sink", "github-check"];

/// A pull request that nobody has reviewed yet, with trouble on lines 10 and 30.
fn first_round() -> Hub {
    let repo = Repo::new();
    repo.write("old.js", numbered(3));
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("new.js", numbered(80));
    repo.commit("a change");
    let hub = Hub::with(repo);
    hub.github.token(OF_APP, "actions[bot]", &Permission::ALL);
    hub.user.write("tool.sarif", &troubles(&[("new.js", 10), ("new.js", 30)]));
    hub
}

/// The same, reviewed and with a new commit: the trouble on line 10 is gone with its line, that on line 30 stands, that on lines
/// 50 and 70 is new.
fn second_round() -> Hub {
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

/// The command that is killed and repeated, and the model that it asks.
fn program(hub: &Hub, sinks: &[&str]) -> (Program, FakeModel) {
    let tool = hub.user.path("tool.sarif");
    hub.review(&[&["--sarif", tool.to_str().unwrap()], sinks].concat(), OF_APP)
}

/// Reviews and posts, and nothing disturbs it.
fn posted(hub: &Hub, sinks: &[&str]) {
    let (program, _model) = program(hub, sinks);
    let output = program.run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!output.stderr.contains("did not go to"), "{}", output.shown());
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

/// All that readers see, but for where the fake listens: comments, reviews, conversations and check runs.
fn seen(hub: &Hub) -> String {
    let runs = hub.github.check_runs(NAME);
    let runs = runs.iter().map(|run| {
        let fields = ["name", "head_sha", "external_id", "status", "conclusion", "output"];
        fields.map(|field| format!("{field}: {}\n", run[field])).concat()
    });
    let runs: String = runs.collect();
    hub.shown(&format!("{}\n{runs}", hub.github.shown(&hub.pull)))
}

/// What nobody disturbed leaves behind, and how many writes that takes.
fn undisturbed(hub: &Hub, sinks: &[&str]) -> (String, usize) {
    let before = hub.github.writes_received();
    posted(hub, sinks);
    (seen(hub), hub.github.writes_received() - before)
}

/// Kills the program at each of its writes, of which there are so many, and runs it again.
fn check(hub: &Hub, sinks: &[&str], expected_writes: usize) {
    let kept = hub.github.kept();
    let (expected, writes) = undisturbed(hub, sinks);
    assert_eq!(writes, expected_writes, "{expected}");
    for moment in [Moment::Before, Moment::After] {
        for number in 1..=writes {
            hub.github.put_back(&kept);
            // On another machine, which has none of the answers that were given since.
            fs::remove_dir_all(hub.user.path("store")).unwrap();
            let hold = hub.github.hold_write(hub.github.writes_received() + number, moment);
            let (program, _model) = program(hub, sinks);
            let running = program.start();
            assert!(hold.wait(PATIENCE), "{moment:?} {number}");
            let killed = running.kill();
            assert_eq!(killed.code, -1, "{}", killed.shown());
            hold.release();
            let is_over = (moment, number) == (Moment::After, writes);
            assert_eq!(seen(hub) == expected, is_over, "{moment:?} {number}");
            posted(hub, sinks);
            assert_eq!(seen(hub), expected, "{moment:?} {number}");
        }
    }
}

#[test]
fn a_first_review_that_is_killed_at_any_write_and_repeated_ends_in_the_same_state() {
    check(&first_round(), &REVIEW, 2);
}

#[test]
fn a_later_review_that_is_killed_at_any_write_and_repeated_ends_in_the_same_state() {
    check(&second_round(), &ALL, 5);
}

#[test]
fn one_comment_that_is_killed_at_its_write_and_repeated_ends_in_the_same_state() {
    check(&first_round(), &COMMENT, 1);
}

#[test]
fn a_connection_that_is_cut_at_any_write_ends_in_the_same_state_at_once() {
    let (expected, writes) = undisturbed(&second_round(), &ALL);
    assert_eq!(writes, 5, "{expected}");
    // The program waits for a while before it looks what became of the write: all of them at a time.
    std::thread::scope(|threads| {
        for number in 1..=writes {
            let expected = &expected;
            threads.spawn(move || {
                let hub = second_round();
                let number = hub.github.writes_received() + number;
                hub.github.fail(Fault::on_write(number, How::CutAfter));
                posted(&hub, &ALL);
                assert_eq!(&seen(&hub), expected, "{number}");
            });
        }
    });
}
