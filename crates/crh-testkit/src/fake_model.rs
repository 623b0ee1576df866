//! A scripted model server over real HTTP, in four wire formats of three vendors.
//!
//! Replies are scripted per caller, because the order across callers is not fixed. A request
//! without a scripted reply, or a reply that is not requested, fails the test. Only an editor needs
//! no script: by default, it publishes all findings.
//!
//! ```ignore
//! let model = FakeModel::start()
//!     .on("correctness", [calls("read_file", json!({ "path": "a.rs" })), says("done")])
//!     .on("security", [rate_limited(2), says("nothing")]);
//! ```

mod behaviour;
mod conversations;
mod count;
mod editor;
mod json;
mod reply;
mod request;
mod rules;
mod script;
mod server;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

pub use behaviour::{BehavingModel, Behaviour};
pub use count::{BYTES_PER_TOKEN, FakeUsage, Tokens, tokens};
pub use editor::publish_all;
pub use request::{FakeRequest, PromptPart, Wire};
pub use script::{
    Malformed, ScriptedReply, bad_key, bad_request, calls, calls_all, calls_raw, computed,
    context_full, declines, fails_with, fills_context, hangs_up, malformed, no_credit, overloaded,
    rate_limited, redirects, refuses, refuses_prompt, says, says_nothing, server_error,
};
use server::{FakeModelServer, RequestStorage};

use crate::http::Server;

/// The fake model. It listens until it is dropped, and then checks that its script was followed.
#[derive(Debug)]
pub struct FakeModel {
    server: Option<Server>,
    address: SocketAddr,
    service: Arc<FakeModelServer>,
}

impl FakeModel {
    /// Starts a model without a script on a free port.
    pub fn start() -> Self {
        Self::with(None)
    }

    /// Starts a model that computes each answer from its request. As an editor, it publishes all
    /// findings.
    pub fn answering(
        decide: impl Fn(&FakeRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self::answering_all(move |asked| publish_all(asked).unwrap_or_else(|| decide(asked)))
    }

    /// Starts a model that computes each answer from its request, also as an editor.
    pub fn answering_all(
        decide: impl Fn(&FakeRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self::with(Some(computed(decide)))
    }

    fn with(fixed_reply: Option<ScriptedReply>) -> Self {
        let service = Arc::new(FakeModelServer::new(fixed_reply));
        let server = Server::start(service.clone()).unwrap();
        Self { address: server.address(), server: Some(server), service }
    }

    /// Adds scripted replies for a caller.
    #[must_use]
    pub fn on(self, caller: &str, replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        self.script(caller, replies);
        self
    }

    /// Adds scripted replies while the model is running.
    pub fn script(&self, caller: &str, replies: impl IntoIterator<Item = ScriptedReply>) {
        self.service.state().scripts.entry(caller.to_owned()).or_default().extend(replies);
    }

    /// Shows a text that a prompt contains as `<name>` in `conversations`.
    #[must_use]
    pub fn tag(self, name: &str, text: &str) -> Self {
        self.service.state().tags.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Serves a JSON page about the server, such as `/v1/models`. Other pages do not exist.
    #[must_use]
    pub fn page(self, path: &str, json: serde_json::Value) -> Self {
        self.service.state().pages.insert(path.to_owned(), json);
        self
    }

    /// Serves a page after the first request to the model, or after Ollama's `/api/generate`, as a
    /// server does that has loaded its model.
    #[must_use]
    pub fn page_when_loaded(self, path: &str, json: serde_json::Value) -> Self {
        self.service.state().pages_when_loaded.insert(path.to_owned(), json);
        self
    }

    /// Serves pages only to requests with this header, as a gateway does.
    #[must_use]
    pub fn pages_need_header(self, name: &str, value: &str) -> Self {
        self.service.state().page_header = Some((name.to_owned(), value.to_owned()));
        self
    }

    /// Keeps only counts, not requests, so that load tests can measure memory.
    #[must_use]
    pub fn forgetful(self) -> Self {
        self.service.state().storage = RequestStorage::Numbers;
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
        assert!(self.service.wait_for(caller, times), "`{caller}` has not asked {times} times");
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<FakeRequest> {
        self.service.state().requests.iter().map(|request| FakeRequest::clone(request)).collect()
    }

    /// Totals over all models.
    pub fn usage(&self) -> FakeUsage {
        let mut sum = FakeUsage::default();
        for model_usage in self.usage_by_model().into_values() {
            sum += model_usage;
        }
        sum
    }

    /// Totals per model.
    pub fn usage_by_model(&self) -> BTreeMap<String, FakeUsage> {
        self.service.state().usage.clone()
    }

    /// All conversations, one message per line, sorted by caller.
    pub fn conversations(&self) -> String {
        let state = self.service.state();
        conversations::render(&state.requests, &state.tags)
    }

    /// Fails the test if a request had no scripted reply, a reply was not requested, or a vendor
    /// would reject a request. Dropping the model does the same.
    pub fn verify(&self) {
        let faults = self.service.state().all_faults();
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
