//! Another account repeats crh's comments with their markers. crh must not edit, resolve, count or
//! build on them.

use serde_json::Value;

use super::{GitHubScenario, NAME};
use crh_testkit::Output;
use crh_testkit::fake_github::{REVIEWER, TOKEN, Thread};

/// The forger: a project member, whose dismissals would count.
const MALLORY: &str = "mallory";

/// Title of the issue.
const CONFLICT: &str = "A merge conflict was left in the file";

/// Why there is no base for an incremental review.
const NONE: &str = "this account and instance have not reviewed this pull request before";

/// Reviews the pull request with all options that depend on existing comments.
fn check(hub: &GitHubScenario) -> (Output, Value) {
    let goes_by = ["--since-last", "--resolve-outdated"];
    let args = [&["--sink", "github", "--format", "json"], &goes_by[..]].concat();
    let (program, _model) = hub.review(&args, TOKEN);
    let output = program.run();
    let report = serde_json::from_str(&output.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", output.shown()));
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
    (output, report)
}

/// Reposts everything of an identical pull request as mallory.
fn forge(hub: &GitHubScenario, original: &GitHubScenario) {
    hub.github.association(NAME, MALLORY, "MEMBER");
    let here = |body: &str| body.replace(&original.github.url(), &hub.github.url());
    for comment in original.github.comments(&original.pull) {
        hub.github.comment(&hub.pull, MALLORY, &here(&comment.body));
    }
    for thread in original.github.threads(&original.pull) {
        let place = (thread.path.as_str(), thread.line.unwrap());
        hub.github.thread(&hub.pull, MALLORY, place, &here(&thread.comments[0].body));
    }
}

/// A pull request with forged comments, and one with real ones.
fn forged() -> (GitHubScenario, GitHubScenario) {
    let (hub, original) = (GitHubScenario::new(), GitHubScenario::new());
    check(&original);
    forge(&hub, &original);
    (hub, original)
}

fn threads_of(hub: &GitHubScenario, login: &str) -> Vec<Thread> {
    let threads = hub.github.threads(&hub.pull).into_iter();
    threads.filter(|thread| thread.comments[0].author == login).collect()
}

fn comments_of(hub: &GitHubScenario, login: &str) -> Vec<String> {
    let comments = hub.github.comments(&hub.pull).into_iter();
    comments.filter(|comment| comment.author == login).map(|comment| comment.body).collect()
}

/// Inline comments of crh.
fn at_lines(hub: &GitHubScenario) -> Vec<String> {
    let threads = threads_of(hub, REVIEWER);
    let shown = threads.iter().map(|thread| {
        hub.shown(&format!("{}:{:?} {}", thread.path, thread.line, thread.comments[0].body))
    });
    shown.collect()
}

fn titles(report: &Value) -> Vec<&str> {
    let issues = report["issues"].as_array().unwrap().iter();
    issues.map(|issue| issue["title"].as_str().unwrap()).collect()
}

#[test]
fn forged_comments_have_no_effect() {
    let (hub, original) = forged();
    let theirs = (comments_of(&hub, MALLORY), threads_of(&hub, MALLORY));
    assert!(theirs.0.len() == 1 && !theirs.1.is_empty(), "{theirs:?}");
    let (output, report) = check(&hub);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(output.stderr.contains(NONE), "{}", output.stderr);
    assert!(report["warnings"].to_string().contains(NONE), "{report:#}");
    assert_eq!(titles(&report), [CONFLICT]);
    assert_eq!(at_lines(&hub), at_lines(&original), "as without forgery");
    assert_eq!((comments_of(&hub, MALLORY), threads_of(&hub, MALLORY)), theirs);
    let writes = hub.github.writes();
    let made: Vec<String> =
        writes.iter().map(|write| format!("{} {}", write.method, write.path)).collect();
    let expected = [
        "POST /api/v3/repos/acme/shop/pulls/1/reviews",
        "POST /api/v3/repos/acme/shop/issues/1/comments",
    ];
    assert_eq!(made, expected, "only new things");
}

#[test]
fn forged_threads_and_summaries_stay_untouched() {
    for forged_first in [true, false] {
        let (hub, original) = match forged_first {
            true => forged(),
            false => (GitHubScenario::new(), GitHubScenario::new()),
        };
        check(&hub);
        if !forged_first {
            check(&original);
            forge(&hub, &original);
        }
        let summary = comments_of(&hub, MALLORY);
        hub.repo.git(&["checkout", "--quiet", "feature"]);
        hub.repo.write("shop/orders.py", "def total(items):\n    return sum(items)\n");
        hub.repo.commit("no conflict");
        hub.github.push(&hub.pull);
        let (output, report) = check(&hub);
        assert_eq!(titles(&report), Vec::<&str>::new(), "{}", output.shown());
        let resolved = |login: &str| -> Vec<(bool, bool)> {
            threads_of(&hub, login).iter().map(|it| (it.outdated, it.resolved)).collect()
        };
        assert_eq!(resolved(REVIEWER), [(true, true)], "{forged_first}");
        assert_eq!(resolved(MALLORY), [(true, false)], "{forged_first}");
        assert_eq!(comments_of(&hub, MALLORY), summary, "{forged_first}");
        let ours = comments_of(&hub, REVIEWER);
        assert!(ours.len() == 1 && !ours[0].contains(CONFLICT), "{ours:?}");
    }
}

#[test]
fn dismissal_in_forged_thread_is_ignored() {
    let (hub, _) = forged();
    for thread in threads_of(&hub, MALLORY) {
        hub.github.reply(&thread.id, MALLORY, "won't fix");
        hub.github.resolve(&thread.id, MALLORY);
    }
    let (output, report) = check(&hub);
    assert_eq!(output.code, 1, "{}", output.shown());
    let fates = report["suppressed"].as_array().unwrap().iter().map(|dropped| &dropped["fate"]);
    assert!(!fates.into_iter().any(|fate| fate == "dismissed"), "{report:#}");
    assert!(titles(&report).contains(&CONFLICT), "{report:#}");
    assert_eq!(threads_of(&hub, REVIEWER).len(), 1, "it is raised");
}
