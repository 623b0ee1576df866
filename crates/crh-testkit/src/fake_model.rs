//! A scripted model server over real HTTP, in the wire formats of four vendors.
//!
//! Replies are scripted per caller, because the order across callers is not fixed. A request
//! without a scripted reply, or a reply that is not requested, fails the test.
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

/// The fake model. It listens until it is dropped, and then checks that its script was followed.
#[derive(Debug)]
pub struct FakeModel {
    server: Option<Server>,
    address: SocketAddr,
    book: Arc<Book>,
}

impl FakeModel {
    /// Starts a model without a script on a free port.
    pub fn start() -> Self {
        Self::with(None)
    }

    /// Starts a model that computes each answer from its request, for load tests.
    pub fn answering(decide: impl Fn(&Asked) -> Scripted + Send + Sync + 'static) -> Self {
        Self::with(Some(decided(decide)))
    }

    fn with(always: Option<Scripted>) -> Self {
        let book = Arc::new(Book::new(always));
        let server = Server::start(book.clone()).unwrap();
        Self { address: server.address(), server: Some(server), book }
    }

    /// Adds scripted replies for a caller.
    #[must_use]
    pub fn on(self, caller: &str, replies: impl IntoIterator<Item = Scripted>) -> Self {
        self.script(caller, replies);
        self
    }

    /// Adds scripted replies while the model is running.
    pub fn script(&self, caller: &str, replies: impl IntoIterator<Item = Scripted>) {
        self.book.state().scripts.entry(caller.to_owned()).or_default().extend(replies);
    }

    /// Shows a text that a prompt contains as `<name>` in `conversations`.
    #[must_use]
    pub fn tag(self, name: &str, text: &str) -> Self {
        self.book.state().tags.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Keeps only counts, not requests, so that load tests can measure memory.
    #[must_use]
    pub fn forgetful(self) -> Self {
        self.book.state().keeps = Keeps::Numbers;
        self
    }

    /// The base URL, `http://127.0.0.1:PORT/v1`, for all formats. The path that the client appends
    /// selects the format (`/chat/completions`, `/responses`, `/messages`,
    /// `/models/NAME:streamGenerateContent?alt=sse`). A client that joins URLs, such as genai,
    /// needs a trailing `/`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Waits until a caller has sent this many requests. `delayed` can hold back the last answer.
    ///
    /// # Panics
    ///
    /// After two minutes.
    pub fn wait_for(&self, caller: &str, times: usize) {
        assert!(self.book.wait_for(caller, times), "`{caller}` has not asked {times} times");
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Asked> {
        self.book.state().requests.iter().map(|asked| Asked::clone(asked)).collect()
    }

    /// Totals over all models.
    pub fn counted(&self) -> Counted {
        let mut sum = Counted::default();
        for counted in self.counted_by_model().into_values() {
            sum += counted;
        }
        sum
    }

    /// Totals per model.
    pub fn counted_by_model(&self) -> BTreeMap<String, Counted> {
        self.book.state().counted.clone()
    }

    /// All conversations, one message per line, sorted by caller.
    pub fn conversations(&self) -> String {
        let state = self.book.state();
        conversations::shown(&state.requests, &state.tags)
    }

    /// Fails the test if a request had no scripted reply, a reply was not requested, or a vendor
    /// would reject a request. Dropping the model does the same.
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
