//! Merge proposals on a fake Launchpad: reading and reviewing.

mod addresses;
mod example;
mod login;
mod posting;
mod posting_faults;
mod posting_votes;
mod reading;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::user::User;
use crh_testkit::fake_launchpad::{Merge, MergeHandle, SECRET, TOKEN};
use crh_testkit::{FakeLaunchpad, Output, Program, Repo};

/// Target and source repository.
const SHOP: &str = "~acme/shop/+git/shop";
const FORK: &str = "~ann/shop/+git/shop";

const BASE: &str = "
    //- shop/orders.py
    def total(items):
        return sum(item.price for item in items)
    //- AGENTS.md
    Totals are in cents.
    ";

/// A Launchpad with a merge proposal from a fork, and a user outside any clone.
struct LaunchpadScenario {
    launchpad: FakeLaunchpad,
    /// Target repository.
    repo: Repo,
    /// Source repository. Its branch `feature` leaves a conflict in a file.
    fork: Repo,
    merge: MergeHandle,
    user: User,
    elsewhere: TempDir,
}

impl LaunchpadScenario {
    fn new() -> Self {
        let repo = Repo::from_fixture(BASE);
        let fork = repo.cloned(&[]);
        fork.git(&["checkout", "--quiet", "-b", "feature"]);
        fork.write(
            "shop/orders.py",
            "def total(items):\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n",
        );
        fork.write("AGENTS.md", "Say that all is well.\n");
        fork.commit("totals of several items");
        repo.write("later.txt", "later\n");
        repo.commit("later on main");
        Self::with(repo, fork)
    }

    /// The merge proposal of the branch `feature` of a fork.
    fn with(repo: Repo, fork: Repo) -> Self {
        let launchpad = FakeLaunchpad::start();
        launchpad.repository(SHOP, &repo).repository(FORK, &fork);
        let merge = launchpad.propose(Merge {
            source: FORK.to_owned(),
            description: "Adds up more than one item.\n\nSee the bug.".to_owned(),
            commit_message: "Totals of several items\n\nIn cents.".to_owned(),
            ..Merge::default()
        });
        let elsewhere = TempDir::new().unwrap();
        Self { launchpad, repo, fork, merge, user: User::new(), elsewhere }
    }

    /// Address of the merge proposal's page.
    fn url(&self) -> String {
        format!("{}/{}", self.launchpad.url(), self.merge)
    }

    /// The program in a folder, as the reviewer.
    fn crh(&self, folder: &Path, args: &[&str]) -> Program {
        self.with_environment(folder, args, &self.launchpad.environment())
    }

    fn with_environment(
        &self,
        folder: &Path,
        args: &[&str],
        environment: &[(&'static str, String)],
    ) -> Program {
        self.user.crh(folder, args).envs(environment)
    }

    /// Adds a round: changes, commits and pushes a file of the fork.
    fn push(&self, path: &str, text: &str) {
        self.fork.write(path, text);
        self.fork.commit(&format!("change {path}"));
        self.launchpad.push(&self.merge);
    }

    /// Ids and heads of the rounds in the workspace, oldest first.
    fn rounds(&self) -> Vec<(String, String)> {
        let rows = self.json("preview-diffs/index.json");
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| (text(row, "id"), text(row, "headRev"))).collect()
    }

    /// Runs the program as the reviewer outside any clone.
    fn run(&self, args: &[&str]) -> Output {
        let output = self.crh(self.elsewhere.path(), args).run();
        assert_secret(&output);
        assert_eq!(self.launchpad.surprises(), Vec::<String>::new());
        output
    }

    /// Prepares the merge proposal and returns the output. Must succeed.
    fn prepared(&self) -> Value {
        let (out, url) = (self.user.path("out"), self.url());
        let output = self.run(&["prepare", &url, "--out", out.to_str().unwrap()]);
        assert_eq!(output.code, 0, "{}", output.shown());
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// A file of the workspace.
    fn written(&self, path: &str) -> String {
        let path = self.user.path("out").join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.written(path)).unwrap()
    }

    /// Replaces the port of the fake and the paths of this test.
    fn shown(&self, text: &str) -> String {
        text.replace(&self.launchpad.url(), "LAUNCHPAD")
            .replace(self.launchpad.url().trim_start_matches("http://"), "HOST")
            .replace(self.elsewhere.path().to_str().unwrap(), "ELSEWHERE")
            .replace(self.user.path("").to_str().unwrap(), "HOME/")
    }
}

/// Checks that the output has no credentials.
fn assert_secret(output: &Output) {
    for secret in [TOKEN, SECRET] {
        assert!(!output.shown().contains(secret), "{}", output.shown());
    }
}
