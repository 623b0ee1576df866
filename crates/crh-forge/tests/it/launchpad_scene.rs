//! Launchpad test scene: a repository with a change, a fake Launchpad, and a client.

use std::time::Duration;

use crate::scene::{QUICK, now};
use crh_forge::launchpad::{
    LaunchpadClient, LaunchpadClientConfig, LaunchpadCredentials, LaunchpadService,
    MergeProposalRef,
};
use crh_http::{NetworkSettings, Timeouts};
use crh_testkit::fake_launchpad::{CONSUMER, Merge, MergeHandle, SECRET, TOKEN};
use crh_testkit::{FakeLaunchpad, Repo};

/// Target and source repository.
pub(crate) const SHOP: &str = "~acme/shop/+git/shop";
pub(crate) const FORK: &str = "~ann/shop/+git/shop";

/// A Launchpad with a merge proposal of one round that changes line 5 of nine.
pub(crate) struct LaunchpadScene {
    pub(crate) launchpad: FakeLaunchpad,
    pub(crate) merge: MergeHandle,
    pub(crate) repo: Repo,
}

pub(crate) fn lines(line_five: &str) -> String {
    (1..=9).map(|line| format!("line {}\n", if line == 5 { line_five } else { "x" })).collect()
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

    /// Adds a round with a new line 5 and optional other changes.
    pub(crate) fn push(&self, line_five: &str, other_files: &[(&str, &str)]) {
        self.repo.write("orders.py", lines(line_five));
        for (path, text) in other_files {
            self.repo.write(path, text);
        }
        self.repo.commit(line_five);
        self.launchpad.push(&self.merge);
    }

    pub(crate) fn service(&self) -> LaunchpadService {
        LaunchpadService::parse(&self.launchpad.url()).unwrap()
    }

    pub(crate) fn proposal_ref(&self) -> MergeProposalRef {
        let url = format!("{}/{}", self.launchpad.url(), self.merge);
        MergeProposalRef::parse(&url, &self.service()).unwrap()
    }

    pub(crate) fn client(&self) -> LaunchpadClient {
        self.client_as(LaunchpadCredentials::new(CONSUMER, TOKEN, &SECRET.into()).unwrap())
    }

    pub(crate) fn client_as(&self, credentials: LaunchpadCredentials) -> LaunchpadClient {
        let config = LaunchpadClientConfig {
            service: self.service(),
            credentials,
            retry: QUICK,
            now,
            seed: 7,
        };
        LaunchpadClient::new(&network(), config).unwrap()
    }
}

pub(crate) fn network() -> NetworkSettings {
    let timeouts = Timeouts { idle: Duration::from_secs(20), ..Timeouts::default() };
    NetworkSettings { timeouts, ..NetworkSettings::default() }
}
