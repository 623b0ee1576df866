//! A change on a fake GitLab or Gitea, from a fork: checked, posted twice, and posted from a stored
//! run.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::review::runs;
use crate::user::User;
use crh_testkit::fake_forge::{Change, ChangeHandle, Dialect, FakeForge, TOKEN};
use crh_testkit::{Output, Repo};

struct RestScenario {
    forge: FakeForge,
    fork: Repo,
    change: ChangeHandle,
    user: User,
    elsewhere: TempDir,
}

impl RestScenario {
    /// A change from a fork that leaves a conflict in a file. The forge is below a path.
    fn new(dialect: Dialect, repository: &str) -> Self {
        let repo = Repo::new();
        repo.write("orders.py", "def total(items):\n    return sum(items)\n");
        repo.commit("base");
        let fork = repo.cloned(&[]);
        fork.git(&["checkout", "--quiet", "-b", "feature"]);
        fork.write(
            "orders.py",
            "def total(items):\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n",
        );
        fork.commit("totals");
        let forge = FakeForge::start_below(dialect, "/forge");
        forge.repository(repository, &repo).fork("ann/shop", repository, &fork);
        let change = Change { source: "ann/shop".to_owned(), ..Change::default() };
        let change = forge.change(repository, change);
        Self { forge, fork, change, user: User::new(), elsewhere: TempDir::new().unwrap() }
    }

    fn run_in(&self, folder: &Path, args: &[&str]) -> Output {
        let output = self.user.crh(folder, args).envs(&self.forge.environment()).run();
        assert!(!output.shown().contains(TOKEN), "{}", output.shown());
        assert_eq!(self.forge.surprises(), Vec::<String>::new());
        output
    }

    fn run(&self, args: &[&str]) -> Output {
        self.run_in(self.elsewhere.path(), args)
    }
}

fn check_posting(dialect: Dialect, repository: &str, sink: &str) -> RestScenario {
    let scene = RestScenario::new(dialect, repository);
    let url = scene.forge.change_url(&scene.change);
    let shown = scene.run(&["check", &url, "--sink", sink, "--dry-run"]);
    let requests: Vec<Value> = serde_json::from_str(&shown.stdout).unwrap();
    assert!(requests.len() >= 2, "{}", shown.shown());
    assert_eq!(scene.forge.writes_received(), 0, "{}", shown.shown());
    let first = scene.run(&["check", &url, "--sink", sink]);
    assert_eq!(first.code, 1, "{}", first.shown());
    assert!(!first.stderr.contains("cannot deliver"), "{}", first.shown());
    assert_eq!(scene.forge.comments(&scene.change).len(), 1, "{}", first.shown());
    assert!(!scene.forge.threads(&scene.change).is_empty(), "{}", first.shown());
    let writes = scene.forge.writes_received();
    scene.run(&["check", &url, "--sink", sink]);
    assert_eq!(scene.forge.writes_received(), writes, "posting twice changes nothing");
    // As in CI: a job without a token checks, and the next one posts the stored run.
    let head = scene.fork.id("feature");
    scene.run(&["prepare", &url, "--head", &head, "--pack", "change.tar"]);
    let packed = ["check", "--packed", "change.tar", "--run-dir", "runs"];
    let packed = scene.user.crh(scene.elsewhere.path(), &packed).env("CI", "true");
    let (server, address) = scene.forge.environment().swap_remove(0);
    let packed = packed.env(server, &address).run();
    let advice = "found but not posted; run `crh post` later";
    assert!(packed.stderr.contains(advice), "{}", packed.shown());
    let run = runs(&scene.elsewhere.path().join("runs"))[0].clone();
    let run = run.to_str().unwrap();
    let status = format!("{sink}-status");
    let flags = ["post", run, "--proposal", &url, "--head", &head, "--sink", &status];
    for _ in 0..2 {
        let posted = scene.run(&flags);
        assert_eq!(posted.code, 0, "{}", posted.shown());
    }
    let statuses = scene.forge.statuses(repository);
    assert_eq!(statuses.len(), 1, "{statuses:?}");
    assert!(statuses[0].0.starts_with("fail"), "{statuses:?}");
    scene
}

#[test]
fn gitlab_merge_request_is_checked_and_posted() {
    let scene = check_posting(Dialect::GitLab, "acme/web/shop", "gitlab");
    // The short forms, outside and inside a clone.
    let named = scene.run(&["check", "acme/web/shop!1", "--format", "json"]);
    assert_eq!(named.code, 1, "{}", named.shown());
    let remote = format!("{}/acme/web/shop.git", scene.forge.url());
    scene.fork.git(&["remote", "add", "upstream", &remote]);
    let numbered = scene.run_in(scene.fork.path(), &["check", "!1", "--format", "json"]);
    assert_eq!(numbered.code, 1, "{}", numbered.shown());
}

#[test]
fn gitea_pull_request_is_checked_and_posted() {
    let scene = check_posting(Dialect::Gitea, "acme/shop", "gitea");
    let remote = format!("{}/acme/shop.git", scene.forge.url());
    scene.fork.git(&["remote", "add", "upstream", &remote]);
    for name in ["1", "#1"] {
        let numbered = scene.run_in(scene.fork.path(), &["check", name, "--format", "json"]);
        assert_eq!(numbered.code, 1, "{}", numbered.shown());
    }
}

/// In a clone of a fork, the change of the current branch needs no name.
#[test]
fn open_change_of_the_current_branch_is_found() {
    for (dialect, repository, sink) in
        [(Dialect::GitLab, "acme/web/shop", "gitlab"), (Dialect::Gitea, "acme/shop", "gitea")]
    {
        let scene = RestScenario::new(dialect, repository);
        let (source, target) = ("ann/shop", repository);
        for (name, path) in [("origin", source), ("upstream", target)] {
            drop(scene.fork.git_or_nothing(&["remote", "remove", name]));
            let remote = format!("{}/{path}.git", scene.forge.url());
            scene.fork.git(&["remote", "add", name, &remote]);
        }
        let found = scene.run_in(scene.fork.path(), &["check", "--sink", sink]);
        assert_eq!(scene.forge.comments(&scene.change).len(), 1, "{}", found.shown());
        let doctor = scene.run_in(scene.fork.path(), &["doctor"]);
        assert!(doctor.stdout.contains("has a token for"), "{}", doctor.shown());
    }
}
