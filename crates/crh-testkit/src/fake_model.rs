//! A model that says what it is told to, over real HTTP, in the wire formats of four vendors.
//!
//! Replies are scripted for each caller, since the order across callers is not fixed. A request that nobody scripted and
//! a reply that nobody asked for fail the test.
//!
//! ```ignore
//! let model = FakeModel::start()
//!     .on("correctness", [calls("read_file", json!({ "path": "a.rs" })), says("done")])
//!     .on("security", [rate_limited(2), says("nothing")]);
//! ```

mod asked;
mod book;
mod conversations;
mod count;
mod json;
mod reply;
mod rules;
mod script;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

pub use asked::{Asked, Read, Wire};
use book::{Book, Keeps};
pub use count::{BYTES_PER_TOKEN, Counted, Tokens, tokens};
pub use script::{
    Malformed, Scripted, bad_key, bad_request, calls, calls_all, calls_raw, context_full, decided,
    declines, fails_with, fills_context, hangs_up, malformed, no_credit, overloaded, rate_limited,
    redirects, refuses, refuses_prompt, says, says_nothing, server_error,
};

use crate::http::Server;

/// The fake model. It listens as long as it lives, and checks at its end that its script was followed.
#[derive(Debug)]
pub struct FakeModel {
    server: Option<Server>,
    address: SocketAddr,
    book: Arc<Book>,
}

impl FakeModel {
    /// A model without a script, on a port of its own.
    pub fn start() -> Self {
        Self::with(None)
    }

    /// A model that decides from each request what it answers, for tests under load. Nothing can stay unused.
    pub fn answering(decide: impl Fn(&Asked) -> Scripted + Send + Sync + 'static) -> Self {
        Self::with(Some(decided(decide)))
    }

    fn with(always: Option<Scripted>) -> Self {
        let book = Arc::new(Book::new(always));
        let server = Server::start(book.clone()).unwrap();
        Self { address: server.address(), server: Some(server), book }
    }

    /// Scripts replies for a caller, after those that are there.
    #[must_use]
    pub fn on(self, caller: &str, replies: impl IntoIterator<Item = Scripted>) -> Self {
        self.script(caller, replies);
        self
    }

    /// Scripts replies for a caller of a model that is in use already.
    pub fn script(&self, caller: &str, replies: impl IntoIterator<Item = Scripted>) {
        self.book.state().scripts.entry(caller.to_owned()).or_default().extend(replies);
    }

    /// Shows a text that a prompt contains as `<name>` in `conversations`.
    #[must_use]
    pub fn tag(self, name: &str, text: &str) -> Self {
        self.book.state().tags.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Keeps only numbers, no requests: a test under load measures the memory of others.
    #[must_use]
    pub fn forgetful(self) -> Self {
        self.book.state().keeps = Keeps::Numbers;
        self
    }

    /// The base URL, `http://127.0.0.1:PORT/v1`, the same for all formats: the path that a client adds says which one it
    /// speaks (`/chat/completions`, `/responses`, `/messages`, `/models/NAME:streamGenerateContent?alt=sse`). A client
    /// that joins URLs, as genai does, needs a `/` at its end.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Waits until a caller has asked so many times; the answer to the last may be held back with `delayed`.
    ///
    /// # Panics
    /// If it does not in two minutes.
    pub fn wait_for(&self, caller: &str, times: usize) {
        assert!(self.book.wait_for(caller, times), "`{caller}` has not asked {times} times");
    }

    /// The requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Asked> {
        self.book.state().requests.iter().map(|asked| Asked::clone(asked)).collect()
    }

    /// What was counted so far, over all models.
    pub fn counted(&self) -> Counted {
        let mut sum = Counted::default();
        for counted in self.counted_by_model().into_values() {
            sum += counted;
        }
        sum
    }

    /// What was counted so far for each model that was asked.
    pub fn counted_by_model(&self) -> BTreeMap<String, Counted> {
        self.book.state().counted.clone()
    }

    /// What the model saw, a message a line, callers in the order of their names.
    pub fn conversations(&self) -> String {
        let state = self.book.state();
        conversations::shown(&state.requests, &state.tags)
    }

    /// Fails the test if there was a request without a reply in the script, a reply without a request, or a request that
    /// a vendor would refuse. The end of the model does the same.
    pub fn verify(&self) {
        let faults = self.book.state().all_faults();
        assert!(
            faults.is_empty(),
            "the fake model's script was not followed:\n{}",
            faults.join("\n")
        );
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        drop(self.server.take());
        if !std::thread::panicking() {
            self.verify();
        }
    }
}
