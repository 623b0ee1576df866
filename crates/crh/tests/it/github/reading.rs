//! Reading a pull request from inside and outside a clone.

use std::collections::BTreeMap;
use std::fs;

use expect_test::{expect, expect_file};
use serde_json::json;

use super::{GitHubScenario, NAME};
use crate::user::{all_text, assert_same, changed_files, tree};
use crh_testkit::Repo;
use crh_testkit::fake_github::Pull;

#[test]
fn workspace_is_the_same_with_and_without_clone() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    clone.git(&["checkout", "--quiet", "main"]);
    let mut trees = BTreeMap::new();
    let number = hub.pull.number.to_string();
    for (from, folder, target) in [
        ("the address", hub.elsewhere.path(), hub.url()),
        ("the name", hub.elsewhere.path(), format!("{NAME}#{number}")),
        ("the number in a clone", clone.path(), number.clone()),
        ("the number with a sign", clone.path(), format!("#{number}")),
    ] {
        hub.prepared(folder, &[&target]);
        trees.insert(from, tree(&hub.user.path("out")));
    }
    let first = &trees["the address"];
    for (from, tree) in &trees {
        assert_same(first, tree, from);
    }
}

#[test]
fn workspace_has_all_github_data() {
    let hub = GitHubScenario::new();
    let github = &hub.github;
    let issue =
        github.issue(NAME, "customer", "Totals are wrong", "Two items cost as much as one.");
    let pull = github.pull(
        NAME,
        Pull {
            title: "Totals".to_owned(),
            body: format!("Closes #{issue}"),
            labels: vec!["bug".to_owned(), "shop".to_owned()],
            closes: vec![issue],
            ..Pull::default()
        },
    );
    let head = github.head(&pull);
    github.check(NAME, &head, "build", Some("success")).status(NAME, &head, "lint", "failure");
    github.comment(&pull, "member", "Is this ready?");
    let thread = github.thread(&pull, "member", ("shop/orders.py", 3), "One of what?");
    github.reply(&thread, "author", "Of the items.");
    let settled = github.thread(&pull, "member", ("AGENTS.md", 1), "Really?");
    github.resolve(&settled, "member");
    hub.prepared(hub.elsewhere.path(), &[&format!("{NAME}#{}", pull.number)]);
    let text = all_text(&hub.user.path("out"));
    expect_file!["../../data/github/workspace.txt"].assert_eq(&hub.shown(&text));
    assert_eq!(github.surprises(), Vec::<String>::new());
    assert_eq!(github.writes_received(), 0);
}

#[test]
fn fork_is_read_from_the_target_repository() {
    let hub = GitHubScenario::new();
    let fork = hub.repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "patch", "origin/main"]);
    fork.write("new.py", "x = 1\n");
    let head = fork.commit("from a fork");
    hub.github.fork("stranger/shop", NAME, &fork);
    let pull = hub.github.pull(NAME, Pull { head: "stranger:patch".to_owned(), ..Pull::default() });
    hub.github.make_private("stranger/shop");
    let (_, summary) = hub.prepared(hub.elsewhere.path(), &[&format!("{NAME}#{}", pull.number)]);
    assert_eq!(changed_files(&summary), ["added new.py"]);
    assert_eq!(summary["headRev"], json!(head));
}

#[test]
fn number_in_a_clone_of_a_fork_is_found_in_the_parent() {
    let hub = GitHubScenario::new();
    let fork = hub.repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "patch", "origin/main"]);
    fork.write("new.py", "x = 1\n");
    let head = fork.commit("from a fork");
    hub.github.fork("stranger/shop", NAME, &fork);
    let pull = hub.github.pull(NAME, Pull { head: "stranger:patch".to_owned(), ..Pull::default() });
    let clone = hub.clone();
    clone.git(&["remote", "set-url", "origin", &hub.github.git_url("stranger/shop")]);
    let (_, summary) = hub.prepared(clone.path(), &[&pull.number.to_string()]);
    assert_eq!(summary["headRev"], json!(head));
    let missing = hub.crh(clone.path(), &["prepare", "--out", "missing", "99"]).run();
    assert_eq!(missing.code, 3, "{}", missing.shown());
}

#[test]
fn local_work_on_top_of_head_is_reviewed() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    clone.write("fix.py", "y = 1\n");
    clone.commit("a fix that is not pushed");
    clone.write("shop/orders.py", "def total(items):\n    return 0\n");
    let number = hub.pull.number.to_string();
    let (output, summary) = hub.prepared(clone.path(), &[&number]);
    assert_eq!(
        changed_files(&summary),
        ["modified AGENTS.md", "added fix.py", "modified shop/orders.py"]
    );
    assert!(
        output.stderr.contains("includes local changes on top of the head of the pull request"),
        "{}",
        output.stderr
    );
    let rounds = hub.json("preview-diffs/index.json");
    let rounds: Vec<_> = rounds
        .as_array()
        .unwrap()
        .iter()
        .map(|round| {
            (round["id"].as_str().unwrap().to_owned(), round["isLatest"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(rounds, [("1".to_owned(), false), ("2".to_owned(), true)]);
    // A checkout without the head does not count.
    clone.git(&["stash", "--quiet"]);
    clone.git(&["checkout", "--quiet", "main"]);
    let (_, summary) = hub.prepared(clone.path(), &[&number]);
    assert_eq!(changed_files(&summary), ["modified AGENTS.md", "modified shop/orders.py"]);
}

#[test]
fn pull_request_of_current_branch_is_found() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    let (_, summary) = hub.prepared(clone.path(), &[]);
    assert_eq!(summary["title"], json!("Totals of several items"));
    assert_eq!(hub.json("metadata.json")["url"], json!(hub.url()));
    hub.github.forget_requests();
    let out = hub.user.path("out");
    let args = ["prepare", "--no-pr", "--offline", "--out", out.to_str().unwrap()];
    let output = hub.crh(clone.path(), &args).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(hub.json("metadata.json")["url"], json!(""));
    assert_eq!(hub.github.requests().len(), 0);
}

#[test]
fn unreachable_github_is_a_note_in_plain_review() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    let out = hub.user.path("out");
    let wrong = hub.github.environment_with("ghp_unknownToken0123456789");
    let args = ["prepare", "--out", out.to_str().unwrap()];
    let output = hub.with_environment(clone.path(), &args, &wrong).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert!(output.stderr.contains("reviewing without the pull request"), "{}", output.stderr);
    assert!(!output.shown().contains("ghp_unknown"), "{}", output.shown());
}

#[test]
fn missing_token_names_required_permissions() {
    let hub = GitHubScenario::new();
    let environment = hub.github.environment_without();
    let output =
        hub.with_environment(hub.elsewhere.path(), &["review", &hub.url()], &environment).run();
    let host = hub.github.url().replace("http://", "");
    expect![[r#"
        exit 2
        error: there is no token for `HOST`
        hint: set `GITHUB_TOKEN` or `GH_TOKEN`, or log in with `gh auth login --hostname HOST`; reading needs `Contents: read` and `Pull requests: read`; optional: `Checks: read`, `Commit statuses: read`, `Issues: read`
        ---
    "#]].assert_eq(&output.shown().replace(&host, "HOST"));
}

#[test]
fn gitlab_clone_is_not_told_to_set_gh_host() {
    let hub = GitHubScenario::new();
    let repo = Repo::new();
    repo.write("a.md", "a\n");
    repo.commit("a");
    repo.git(&["remote", "add", "origin", "https://gitlab.com/acme/shop.git"]);
    let output = hub.crh(repo.path(), &["review", "12"]).run();
    expect![[r#"
        exit 2
        error: there is no token for `gitlab.com`
        hint: set `GITLAB_TOKEN` (and `GITLAB_HOST` for a server other than gitlab.com), or run `glab auth login --hostname gitlab.com`; reading needs the scope `read_api`, posting the scope `api` and at least the role Reporter; job tokens cannot post
        ---
    "#]]
    .assert_eq(&output.shown());
}

#[test]
fn invalid_pull_request_is_refused() {
    let hub = GitHubScenario::new();
    let mut shown = String::new();
    for word in ["7", "https://example.com/o/r/issues/1", "acme/shop#99"] {
        let output = hub.crh(hub.elsewhere.path(), &["check", word]).run();
        shown += &format!("{word}: {}", hub.shown(&output.shown()));
    }
    let offline = hub.crh(hub.elsewhere.path(), &["check", "--offline", "acme/shop#1"]).run();
    shown += &offline.shown();
    expect![[r#"
        7: exit 2
        error: `7` works only in a clone of a GitHub repository; elsewhere use `owner/name#7`
        hint: run this in a clone that has a GitHub remote
        ---
        https://example.com/o/r/issues/1: exit 2
        error: this is the address of an issue, not of a GitHub pull request, which ends in `/pull/NUMBER`
        hint: pass the address of the pull request that your browser shows
        ---
        acme/shop#99: exit 3
        error: `GET /repos/acme/shop/pulls/99` failed: not found, or the token cannot see it
        hint: reading needs `Contents: read` and `Pull requests: read`; optional: `Checks: read`, `Commit statuses: read`, `Issues: read`
        ---
        exit 2
        error: a pull request cannot be read offline
        hint: leave out `--offline`, or name a branch
        ---
    "#]].assert_eq(&shown);
}

#[test]
fn no_cache_flag_stores_nothing() {
    let hub = GitHubScenario::new();
    let args = ["check", &hub.url(), "--no-cache", "--mode", "report-only"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(tree(&hub.user.path("")).keys().collect::<Vec<_>>(), [""]);
    assert_eq!(tree(hub.elsewhere.path()).keys().collect::<Vec<_>>(), [""]);
}

#[test]
fn archive_has_dismissals_of_maintainers() {
    let hub = GitHubScenario::new();
    hub.github.association(NAME, "member", "MEMBER");
    let pack = hub.user.path("pull.tar");
    let pack = pack.to_str().unwrap();
    let conflict = "A merge conflict was left in the file";
    // The fate of the conflict.
    let fate_in = |more: &[&str]| {
        let args = [&["check", "--packed", pack, "--format", "json"], more].concat();
        let without = [("GITHUB_SERVER_URL", hub.github.url())];
        let output = hub.with_environment(hub.elsewhere.path(), &args, &without).run();
        let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        let find = |list: &str| {
            let rows = report[list].as_array().unwrap().iter();
            rows.filter(|row| row.to_string().contains(conflict)).cloned().collect::<Vec<_>>()
        };
        let (raised, dropped) = (find("issues"), find("suppressed"));
        assert_eq!(raised.len() + dropped.len(), 1, "{report:#}");
        dropped.first().map(|dropped| dropped["fate"].as_str().unwrap().to_owned())
    };
    let fate = || {
        let args = ["prepare", &hub.url(), "--pack", pack];
        let output = hub.crh(hub.elsewhere.path(), &args).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        fate_in(&[])
    };
    assert_eq!(fate(), None);
    hub.crh(hub.elsewhere.path(), &["check", &hub.url(), "--sink", "github"]).run();
    for thread in &hub.github.threads(&hub.pull) {
        hub.github.reply(&thread.id, "member", "won't fix");
    }
    assert_eq!(fate().as_deref(), Some("dismissed"));
    assert_eq!(fate_in(&["--resume", "latest"]).as_deref(), Some("dismissed"));
}

#[test]
fn archive_uses_settings_of_base_branch() {
    let repo = Repo::from_fixture(super::SHOP);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    let conflict = "<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n";
    repo.write("shop/orders.py", format!("def total(items):\n{conflict}"));
    repo.write("vendor/a.py", format!("def total(items):\n{conflict}"));
    repo.write("made/here/b.py", format!("def total(items):\n{conflict}"));
    repo.commit("three conflicts");
    let user = crate::user::User::new();
    let output = user.crh(repo.path(), &["baseline"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let baseline = fs::read(repo.path().join(".crh/baseline.json")).unwrap();
    fs::remove_dir_all(repo.path().join(".crh")).unwrap();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write(".crh/baseline.json", baseline);
    repo.write("crh.toml", "[scope]\nexclude = [\"vendor/**\"]\n");
    repo.write("made/here/.gitattributes", "*.py linguist-generated\n");
    repo.commit("rules that the change does not know of");
    let hub = GitHubScenario::with(repo);
    let pack = hub.user.path("pull.tar");
    let pack = pack.to_str().unwrap();
    let output = hub.crh(hub.elsewhere.path(), &["prepare", &hub.url(), "--pack", pack]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let report = |args: &[&str]| -> serde_json::Value {
        let args = [&["check", "--format", "json"], args].concat();
        let output = hub.crh(hub.elsewhere.path(), &args).run();
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.shown()))
    };
    let (packed, straight) = (report(&["--packed", pack]), report(&[&hub.url()]));
    for part in ["issues", "suppressed", "coverage", "verdict"] {
        assert_eq!(packed[part], straight[part], "{part}");
    }
    assert_eq!(packed["issues"], json!([]), "{packed:#}");
    let shown = packed["coverage"].to_string();
    assert!(shown.contains("vendor/**"), "{shown}");
    assert!(shown.contains("linguist-generated"), "{shown}");
}
