//! Issues without an inline comment: on lines that GitHub does not show or refuses.

use super::{GitHubScenario, numbered, troubles};
use crh_testkit::fake_github::Fault;
use crh_testkit::{Output, Repo};

/// A pull request that adds `new.js` with 200 lines and changes line 20 of `old.js`, with findings
/// of a tool.
fn hub(places: &[(&str, u32)]) -> GitHubScenario {
    let repo = Repo::new();
    repo.write("old.js", numbered(60));
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("new.js", numbered(200));
    repo.write("old.js", numbered(60).replace("call(20)", "call(twenty)"));
    repo.commit("a change");
    let hub = GitHubScenario::with(repo);
    hub.user.write("tool.sarif", &troubles(places));
    hub.user.write("before.sarif", &troubles(&[]));
    hub
}

/// Checks the pull request and posts.
fn post(hub: &GitHubScenario) -> Output {
    let file = |name: &str| hub.user.path(name).to_str().unwrap().to_owned();
    let (url, now, before) = (hub.url(), file("tool.sarif"), file("before.sarif"));
    let tool = ["--sarif", &now, "--sarif-base", &before, "--max-issues", "60"];
    let args = [&["check", &url, "--sink", "github"], &tool[..]].concat();
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
    output
}

/// Posts and checks which lines have a comment and which issues are in the summary. Posting again
/// writes nothing.
fn check(hub: &GitHubScenario, at_lines: &[(&str, u32)], in_summary: &[(&str, u32)]) {
    post(hub);
    let threads = hub.github.threads(&hub.pull);
    let mut seen: Vec<(&str, u32)> =
        threads.iter().map(|thread| (thread.path.as_str(), thread.line.unwrap())).collect();
    seen.sort_unstable();
    assert_eq!(seen, at_lines);
    let comments = hub.github.comments(&hub.pull);
    assert_eq!(comments.len(), 1);
    let (_, rows) = comments[0].body.split_once("|---|").unwrap();
    let (rows, details) = rows.split_once("### Not in the diff").unwrap();
    for (file, line) in in_summary {
        let (place, title) =
            (format!("| `{file}:{line}` | Trouble {line} |"), format!("P1: Trouble {line}<"));
        assert_eq!(rows.matches(&place).count(), 1, "{place} {}", comments[0].body);
        assert_eq!(details.matches(&title).count(), 1, "{title} {}", comments[0].body);
    }
    assert_eq!(details.matches("<details>").count(), in_summary.len(), "{details}");
    let writes = hub.github.writes_received();
    post(hub);
    assert_eq!(hub.github.writes_received(), writes, "nothing was left to write");
}

#[test]
fn issue_outside_github_diff_is_in_summary() {
    // GitHub shows three lines around a change.
    let hub = hub(&[("old.js", 20), ("old.js", 27)]);
    check(&hub, &[("old.js", 20)], &[("old.js", 27)]);
    let refused: Vec<_> =
        hub.github.requests().into_iter().filter(|it| it.status >= Some(400)).collect();
    assert_eq!(refused, vec![], "it was not even tried");
}

#[test]
fn one_bad_position_leaves_39_comments() {
    let places: Vec<(&str, u32)> = (1..=40).map(|place| ("new.js", place * 5)).collect();
    let hub = hub(&places);
    let bad = ("new.js", 85);
    hub.github.fail(Fault::bad_line(bad.0, bad.1));
    let good: Vec<(&str, u32)> = places.into_iter().filter(|place| *place != bad).collect();
    assert_eq!(good.len(), 39);
    check(&hub, &good, &[bad]);
}
