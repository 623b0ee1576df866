//! A stateful fake Launchpad on loopback: web service, token flow, librarian (which serves diffs)
//! and git over HTTP, with real repositories.
//!
//! The fake behaves like Launchpad for merge proposals and has scripted faults. `surprises` lists
//! requests that crh should not send. `scripts/check-launchpad-fake` tests the fake with
//! Launchpad's own client.
//!
//! ```ignore
//! let launchpad = FakeLaunchpad::start();
//! launchpad.repository("~acme/shop/+git/shop", &repo);
//! let merge = launchpad.propose(Merge::default());
//! program.envs(launchpad.environment());
//! assert_eq!(launchpad.render(&merge), "…");
//! ```

mod barrier;
mod create;
mod faults;
mod json;
mod oauth;
mod render;
mod rest;
mod scenario;
mod server;
mod state;

#[cfg(test)]
mod tests;

use std::sync::{Arc, MutexGuard};

pub use barrier::RequestBarrier;
pub use faults::{LaunchpadFault, LaunchpadFaultKind, LaunchpadFaultTrigger};
pub use scenario::{Merge, MergeHandle};
use server::{FakeLaunchpadServer, Librarian};
pub use state::Comment;
use state::{FakeLaunchpadState, Proposal};
use tempfile::TempDir;

pub use crate::fake_github::{Exchange, HoldPoint, WriteHold};
use crate::http::Server;

/// Account of the program under test.
pub const REVIEWER: &str = "crh-reviewer";

/// Consumer key of the token.
pub const CONSUMER: &str = "crh";

/// Token of [`REVIEWER`].
pub const TOKEN: &str = "fakeTokenOfTheReviewer";

/// Secret of the token: letters and digits, as Launchpad issues them.
pub const SECRET: &str = "fakeSecretOfTheReviewer";

/// A fake Launchpad. Stops when dropped.
#[derive(Debug)]
pub struct FakeLaunchpad {
    server: Option<Server>,
    librarian: Option<Server>,
    service: Arc<FakeLaunchpadServer>,
    /// Bare repositories.
    folder: TempDir,
}

impl FakeLaunchpad {
    /// Starts a Launchpad without repositories on a free port. It knows [`REVIEWER`] with a
    /// [`TOKEN`]. The librarian has its own port.
    pub fn start() -> Self {
        let service = Arc::new(FakeLaunchpadServer::default());
        let server = Server::start(service.clone()).unwrap();
        let librarian = Server::start(Arc::new(Librarian(service.clone()))).unwrap();
        service.set_addresses(
            format!("http://{}", server.address()),
            format!("http://{}", librarian.address()),
        );
        let folder = TempDir::new().unwrap();
        let launchpad = Self { server: Some(server), librarian: Some(librarian), service, folder };
        launchpad.token(TOKEN, SECRET, REVIEWER);
        launchpad
    }

    /// Address of pages and git.
    pub fn url(&self) -> String {
        self.service.address().to_owned()
    }

    /// The address of the web service.
    pub fn api_url(&self) -> String {
        format!("{}/devel", self.url())
    }

    /// Address of the librarian, which serves diffs.
    pub fn librarian_url(&self) -> String {
        self.service.librarian_address().to_owned()
    }

    /// Address to fetch a repository from with git.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}", self.url())
    }

    /// Environment for a program that uses this Launchpad as [`REVIEWER`].
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = self.environment_without();
        environment.push(("LP_ACCESS_TOKEN", TOKEN.to_owned()));
        environment.push(("LP_ACCESS_SECRET", SECRET.to_owned()));
        environment
    }

    /// Environment for anonymous access.
    pub fn environment_without(&self) -> Vec<(&'static str, String)> {
        vec![("LP_SERVICE_ROOT", self.url()), ("LP_CONSUMER_KEY", CONSUMER.to_owned())]
    }

    /// Adds a fault. Of the faults that fit a request, the first one applies.
    pub fn fail(&self, fault: LaunchpadFault) -> &Self {
        self.service.traffic().faults.push(fault);
        self
    }

    /// Holds a write by number until the test releases it.
    pub fn hold_write(&self, number: usize, moment: HoldPoint) -> WriteHold {
        let hold = WriteHold::new(number, moment);
        self.service.traffic().held.push(hold.held.clone());
        hold
    }

    /// Answers web service requests only when this many wait at the same time, or after a timeout.
    pub fn gather(&self, requests: usize) -> RequestBarrier {
        let gathering = RequestBarrier::new(requests);
        self.service.traffic().gathering = Some(gathering.clone());
        gathering
    }

    /// All requests, in order of arrival.
    pub fn requests(&self) -> Vec<Exchange> {
        self.service.traffic().exchanges.clone()
    }

    /// Requests that changed something.
    pub fn writes(&self) -> Vec<Exchange> {
        self.requests().into_iter().filter(|exchange| exchange.applied).collect()
    }

    /// Requests to the librarian, with headers.
    pub fn librarian_requests(&self) -> Vec<Exchange> {
        self.service.traffic().librarian.clone()
    }

    /// Requests that crh should not send, such as writes that Launchpad does not know. Tests expect
    /// none.
    pub fn surprises(&self) -> Vec<String> {
        self.state().surprises.clone()
    }

    /// The comments on a merge proposal, oldest first.
    pub fn comments(&self, handle: &MergeHandle) -> Vec<Comment> {
        self.with(handle, |proposal| proposal.comments.clone())
    }

    /// The ids of the preview diffs of a merge proposal, oldest first.
    pub fn preview_diffs(&self, handle: &MergeHandle) -> Vec<u64> {
        self.with(handle, |proposal| proposal.diffs.iter().map(|diff| diff.id).collect())
    }

    /// The text of the newest preview diff.
    ///
    /// # Panics
    /// If there is no preview diff.
    pub fn diff_text(&self, handle: &MergeHandle) -> String {
        self.with(handle, |proposal| {
            String::from_utf8_lossy(&proposal.diffs.last().unwrap().text).into_owned()
        })
    }

    /// Head commit of the source branch, as Launchpad knows it.
    pub fn head(&self, handle: &MergeHandle) -> String {
        let (repository, branch) = self.with(handle, |proposal| proposal.source.clone());
        self.state().repository(&repository).unwrap().bare.tip(&branch).unwrap()
    }

    /// The visible content of a merge proposal as text for comparison, without times and commits.
    pub fn render(&self, handle: &MergeHandle) -> String {
        self.with(handle, render::render_proposal)
    }

    fn state(&self) -> MutexGuard<'_, FakeLaunchpadState> {
        self.service.state()
    }

    fn with<T>(&self, handle: &MergeHandle, read: impl FnOnce(&Proposal) -> T) -> T {
        read(&self.state().proposals[&handle.path])
    }
}

impl Drop for FakeLaunchpad {
    fn drop(&mut self) {
        drop(self.server.take());
        drop(self.librarian.take());
    }
}
