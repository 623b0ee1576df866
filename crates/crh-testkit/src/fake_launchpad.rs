//! A Launchpad that keeps state: the web service, the token flow, the librarian and git over HTTP, on loopback, over real
//! repositories.
//!
//! It takes what Launchpad takes and answers as Launchpad answers, as far as merge proposals are concerned, and fails on script.
//! What nobody means to send is in `surprises`. `scripts/check-launchpad-fake` holds it against Launchpad's own client.
//!
//! ```ignore
//! let launchpad = FakeLaunchpad::start();
//! launchpad.repository("~acme/shop/+git/shop", &repo);
//! let merge = launchpad.propose(Merge::default());
//! program.envs(launchpad.environment());
//! assert_eq!(launchpad.shown(&merge), "…");
//! ```

mod create;
#[path = "fake_launchpad/server.rs"]
mod desk;
mod faults;
#[path = "fake_launchpad/barrier.rs"]
mod gathering;
mod json;
mod oauth;
#[path = "fake_launchpad/scenario.rs"]
mod play;
mod rest;
#[path = "fake_launchpad/render.rs"]
mod show;
mod state;

#[cfg(test)]
mod tests;

use std::sync::{Arc, MutexGuard};

use desk::{Desk, Librarian};
pub use faults::{Fault, How, On};
pub use gathering::Gathering;
pub use play::{Merge, MergeAt};
pub use state::Comment;
use state::{Proposal, State};
use tempfile::TempDir;

pub use crate::fake_github::{Exchange, Hold, Moment};
use crate::http::Server;

/// The account that a program speaks for, unless a test says otherwise.
pub const REVIEWER: &str = "crh-reviewer";

/// The name of the program that its token was given to.
pub const CONSUMER: &str = "crh";

/// Its token.
pub const TOKEN: &str = "fakeTokenOfTheReviewer";

/// What proves that the token is its own: letters and digits, as Launchpad gives them out.
pub const SECRET: &str = "fakeSecretOfTheReviewer";

/// The fake. It listens as long as it lives.
#[derive(Debug)]
pub struct FakeLaunchpad {
    server: Option<Server>,
    librarian: Option<Server>,
    desk: Arc<Desk>,
    /// The bare repositories.
    folder: TempDir,
}

impl FakeLaunchpad {
    /// A Launchpad without repositories, on a port of its own, that knows [`REVIEWER`] with a [`TOKEN`]. Its librarian is
    /// another host: it listens on another port.
    pub fn start() -> Self {
        let desk = Arc::new(Desk::default());
        let server = Server::start(desk.clone()).unwrap();
        let librarian = Server::start(Arc::new(Librarian(desk.clone()))).unwrap();
        desk.listens_at(
            format!("http://{}", server.address()),
            format!("http://{}", librarian.address()),
        );
        let folder = TempDir::new().unwrap();
        let launchpad = Self { server: Some(server), librarian: Some(librarian), desk, folder };
        launchpad.token(TOKEN, SECRET, REVIEWER);
        launchpad
    }

    /// Its address: where its pages are, and git.
    pub fn url(&self) -> String {
        self.desk.address().to_owned()
    }

    /// The address of the web service.
    pub fn api_url(&self) -> String {
        format!("{}/devel", self.url())
    }

    /// The address of the librarian, which has the texts of diffs.
    pub fn librarian_url(&self) -> String {
        self.desk.librarian_address().to_owned()
    }

    /// Where git fetches a repository from.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}", self.url())
    }

    /// What a program has in its environment to speak with this Launchpad as [`REVIEWER`].
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = self.environment_without();
        environment.push(("LP_ACCESS_TOKEN", TOKEN.to_owned()));
        environment.push(("LP_ACCESS_SECRET", SECRET.to_owned()));
        environment
    }

    /// The same as nobody.
    pub fn environment_without(&self) -> Vec<(&'static str, String)> {
        vec![("LP_SERVICE_ROOT", self.url()), ("LP_CONSUMER_KEY", CONSUMER.to_owned())]
    }

    /// Makes something go wrong. Faults are tried in the order in which they were named, one at a request.
    pub fn fail(&self, fault: Fault) -> &Self {
        self.desk.traffic().faults.push(fault);
        self
    }

    /// Holds the write with this number, until the test lets it go.
    pub fn hold_write(&self, number: usize, moment: Moment) -> Hold {
        let hold = Hold::new(number, moment);
        self.desk.traffic().held.push(hold.held.clone());
        hold
    }

    /// Answers nothing before so many requests of the web service wait for their answers at the same time, or a long time is over.
    pub fn gather(&self, requests: usize) -> Gathering {
        let gathering = Gathering::new(requests);
        self.desk.traffic().gathering = Some(gathering.clone());
        gathering
    }

    /// All requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Exchange> {
        self.desk.traffic().exchanges.clone()
    }

    /// The requests that changed something.
    pub fn writes(&self) -> Vec<Exchange> {
        self.requests().into_iter().filter(|exchange| exchange.applied).collect()
    }

    /// What the librarian was asked, with the headers of each request.
    pub fn librarian_requests(&self) -> Vec<Exchange> {
        self.desk.traffic().librarian.clone()
    }

    /// What came that Launchpad does not know or that nobody means to send: tests want it empty.
    pub fn surprises(&self) -> Vec<String> {
        self.state().surprises.clone()
    }

    /// The comments on a merge proposal, oldest first.
    pub fn comments(&self, at: &MergeAt) -> Vec<Comment> {
        self.with(at, |proposal| proposal.comments.clone())
    }

    /// The ids of the preview diffs of a merge proposal, oldest first.
    pub fn preview_diffs(&self, at: &MergeAt) -> Vec<u64> {
        self.with(at, |proposal| proposal.diffs.iter().map(|diff| diff.id).collect())
    }

    /// The text of the newest preview diff.
    ///
    /// # Panics
    /// If there is none.
    pub fn diff_text(&self, at: &MergeAt) -> String {
        self.with(at, |proposal| {
            String::from_utf8_lossy(&proposal.diffs.last().unwrap().text).into_owned()
        })
    }

    /// The commit at the tip of the branch that is proposed, as Launchpad knows it.
    pub fn head(&self, at: &MergeAt) -> String {
        let (repository, branch) = self.with(at, |proposal| proposal.source.clone());
        self.state().repository(&repository).unwrap().bare.tip(&branch).unwrap()
    }

    /// All that can be seen of a merge proposal, as a text to compare: no times and no commits.
    pub fn shown(&self, at: &MergeAt) -> String {
        self.with(at, show::proposal)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.desk.state()
    }

    fn with<T>(&self, at: &MergeAt, look: impl FnOnce(&Proposal) -> T) -> T {
        look(&self.state().proposals[&at.path])
    }
}

impl Drop for FakeLaunchpad {
    fn drop(&mut self) {
        drop(self.server.take());
        drop(self.librarian.take());
    }
}
