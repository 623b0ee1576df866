//! Merge proposals at a fake Launchpad that keeps state: what is read and what is reviewed.

mod example;
mod login;
#[path = "launchpad/addresses.rs"]
mod pasted;
mod posting;
mod posting_faults;
mod posting_votes;
mod reading;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::user::User;
use crh_testkit::fake_launchpad::{Merge, MergeAt, SECRET, TOKEN};
use crh_testkit::{FakeLaunchpad, Output, Program, Repo};

/// The repository that is proposed to, and the one that the change comes from.
const SHOP: &str = "~acme/shop/+git/shop";
const FORK: &str = "~ann/shop/+git/shop";

const BASE: &str = "
    //- shop/orders.py
    def total(items):
        return sum(item.price for item in items)
    //- AGENTS.md
    Totals are in cents.
    ";

/// A Launchpad with a merge proposal of a fork, and a user who is in no clone of either repository.
struct Pad {
    launchpad: FakeLaunchpad,
    /// What is proposed to.
    repo: Repo,
    /// What is proposed: its branch `feature` leaves a conflict in a file.
    fork: Repo,
    merge: MergeAt,
    user: User,
    elsewhere: TempDir,
}

impl Pad {
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

    /// The address of its page.
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
        let program = self.user.crh(folder, args);
        environment.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// Makes another round: a file of the fork is changed, committed and pushed.
    fn push(&self, path: &str, text: &str) {
        self.fork.write(path, text);
        self.fork.commit(&format!("change {path}"));
        self.launchpad.push(&self.merge);
    }

    /// The ids of the rounds in the workspace, oldest first, with the heads that they show.
    fn rounds(&self) -> Vec<(String, String)> {
        let rows = self.json("preview-diffs/index.json");
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| (text(row, "id"), text(row, "headRev"))).collect()
    }

    /// Runs the program outside of any clone, as the reviewer. Nobody is told who that is.
    fn run(&self, args: &[&str]) -> Output {
        let output = self.crh(self.elsewhere.path(), args).run();
        assert_secret(&output);
        assert_eq!(self.launchpad.surprises(), Vec::<String>::new());
        output
    }

    /// Prepares the merge proposal; what was printed. It has to succeed.
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

    /// A text without the port of the fake and the places of this test.
    fn shown(&self, text: &str) -> String {
        text.replace(&self.launchpad.url(), "LAUNCHPAD")
            .replace(self.launchpad.url().trim_start_matches("http://"), "HOST")
            .replace(self.elsewhere.path().to_str().unwrap(), "ELSEWHERE")
            .replace(self.user.path("").to_str().unwrap(), "HOME/")
    }
}

/// What says who asks is in nothing that is printed.
fn assert_secret(output: &Output) {
    for secret in [TOKEN, SECRET] {
        assert!(!output.shown().contains(secret), "{}", output.shown());
    }
}
