//! What the tests of Launchpad begin with: a repository with a change, a Launchpad that has it, and a client.

use std::time::Duration;

use crate::scene::{QUICK, now};
use crh_forge::launchpad::{Client, Credentials, Name, Service, Setup};
use crh_http::{Network, Timeouts};
use crh_testkit::fake_launchpad::{CONSUMER, Merge, MergeAt, SECRET, TOKEN};
use crh_testkit::{FakeLaunchpad, Repo};

/// The repository that is proposed to, and one that proposals come from.
pub(crate) const SHOP: &str = "~acme/shop/+git/shop";
pub(crate) const FORK: &str = "~ann/shop/+git/shop";

/// A Launchpad with a merge proposal of one round, which changes line 5 of nine lines.
pub(crate) struct LaunchpadScene {
    pub(crate) launchpad: FakeLaunchpad,
    pub(crate) merge: MergeAt,
    pub(crate) repo: Repo,
}

pub(crate) fn lines(five: &str) -> String {
    (1..=9).map(|line| format!("line {}\n", if line == 5 { five } else { "x" })).collect()
}

impl LaunchpadScene {
    pub(crate) fn new() -> Self {
        let repo = Repo::new();
        repo.write("orders.py", lines("5"));
        repo.write("far.py", lines("5").repeat(5));
        repo.commit("base");
        repo.git(&["switch", "--quiet", "-c", "feature"]);
        repo.write("orders.py", lines("five"));
        repo.commit("change");
        let launchpad = FakeLaunchpad::start();
        launchpad.repository(SHOP, &repo).repository(FORK, &repo);
        let merge = launchpad.propose(Merge {
            source: FORK.to_owned(),
            description: "Five is a word.\n\nMore of it.".to_owned(),
            commit_message: "Spell out five\n\nAs a word.".to_owned(),
            ..Merge::default()
        });
        Self { launchpad, merge, repo }
    }

    /// Makes another round: line 5 says this, and something else may be changed as well.
    pub(crate) fn push(&self, five: &str, more: &[(&str, &str)]) {
        self.repo.write("orders.py", lines(five));
        for (path, text) in more {
            self.repo.write(path, text);
        }
        self.repo.commit(five);
        self.launchpad.push(&self.merge);
    }

    pub(crate) fn service(&self) -> Service {
        Service::named(&self.launchpad.url()).unwrap()
    }

    pub(crate) fn name(&self) -> Name {
        let url = format!("{}/{}", self.launchpad.url(), self.merge);
        Name::parse(&url, &self.service()).unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        self.client_as(Credentials::new(CONSUMER, TOKEN, &SECRET.into()).unwrap())
    }

    pub(crate) fn client_as(&self, credentials: Credentials) -> Client {
        let setup = Setup { service: self.service(), credentials, retry: QUICK, now, seed: 7 };
        Client::new(&network(), setup).unwrap()
    }
}

pub(crate) fn network() -> Network {
    let timeouts = Timeouts { idle: Duration::from_secs(20), ..Timeouts::default() };
    Network { timeouts, ..Network::default() }
}
