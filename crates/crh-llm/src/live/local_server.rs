//! Asks a model server for its models and their context lengths: Ollama, LM Studio, llama.cpp, vLLM
//! and other servers with `/v1/models`.
//!
//! The answers are a convenience: a server that does not answer, or not in time, is no error.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::NetworkSettings;
use crh_http::BaseUrl;

/// Time limit of a list of models, of each page that `kind` asks for, and of all requests for a
/// context length. A server on the same machine answers within milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Time limit for loading a model: a slow disk reads 20 GB in that time. A model request waits as
/// long for its first byte ([`Timeouts::first_byte`](crh_http::Timeouts)).
const LOAD_TIME_LIMIT: Duration = Duration::from_secs(300);
/// Maximum size of an answer. The longest known list of models has half a megabyte.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// A model server, by its base URL.
#[derive(Debug, Clone)]
pub struct ModelServer {
    client: reqwest::Client,
    url: BaseUrl,
    key: Option<SecretString>,
    /// Further headers of the user.
    extra_headers: HeaderMap,
}

/// Program that serves models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// The server of llama.cpp.
    LlamaCpp,
    /// Another server with an OpenAI-compatible API.
    Other,
}

/// Context length of a model, as its server tells it, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextLength {
    /// The length that the server uses.
    InUse(u64),
    /// The longest that the model allows. When the server loads the model, it may choose a shorter
    /// one.
    AtMost(u64),
}

impl ContextLength {
    /// The length in tokens.
    pub fn tokens(self) -> u64 {
        match self {
            Self::InUse(tokens) | Self::AtMost(tokens) => tokens,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The server answered with an error, with too much data or in an unknown form.
    OtherForm,
    /// The connection failed, or the server did not answer in time.
    NoServer,
}

impl ModelServer {
    /// A server with the base URL of its OpenAI-compatible API. `None` if the network settings are
    /// invalid; the model client reports that.
    pub fn new(url: BaseUrl, key: Option<SecretString>, network: &NetworkSettings) -> Option<Self> {
        let client = crh_http::build_client(network).ok()?;
        Some(Self { client, url, key, extra_headers: HeaderMap::new() })
    }

    /// Adds headers to every request. A header of crh with the same name is replaced. `None` if a
    /// header is invalid; the model client reports that.
    pub fn with_headers(mut self, headers: &[(String, SecretString)]) -> Option<Self> {
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let mut value = HeaderValue::from_str(value.expose_secret()).ok()?;
            value.set_sensitive(true);
            self.extra_headers.insert(name, value);
        }
        Some(self)
    }

    /// Ids of the models that the server offers.
    pub async fn models(&self) -> Result<Vec<String>, NoAnswer> {
        let list = tokio::time::timeout(TIME_LIMIT, self.get(self.api("/models"))).await;
        listed_models(&list.map_err(|_| NoAnswer::NoServer)??).ok_or(NoAnswer::OtherForm)
    }

    /// Program of the server, by the pages that it has. `Other` if it does not answer in time.
    pub async fn kind(&self) -> ServerKind {
        let pages = [
            ("/api/version", ServerKind::Ollama),
            ("/api/v0/models", ServerKind::LmStudio),
            ("/props", ServerKind::LlamaCpp),
        ];
        for (path, kind) in pages {
            match tokio::time::timeout(TIME_LIMIT, self.get(self.page(path))).await {
                Ok(Ok(page)) if is_page_of(kind, &page) => return kind,
                Ok(Ok(_) | Err(NoAnswer::OtherForm)) => {}
                Ok(Err(NoAnswer::NoServer)) | Err(_) => break,
            }
        }
        ServerKind::Other
    }

    /// Context length of a model. `None` if the server does not tell.
    pub async fn context_length(&self, model: &str) -> Option<ContextLength> {
        tokio::time::timeout(TIME_LIMIT, self.ask_context_length(model)).await.ok().flatten()
    }

    /// Lets Ollama load a model, and returns the context length that it chose. `None` if the server
    /// is another one, or cannot load the model.
    pub async fn load(&self, model: &str) -> Option<ContextLength> {
        // A request without a prompt only loads the model.
        let request = json!({ "model": model });
        let loading = self.post(self.page("/api/generate"), &request);
        tokio::time::timeout(LOAD_TIME_LIMIT, loading).await.ok()?.ok()?;
        let loaded = self.get(self.page("/api/ps"));
        let loaded = tokio::time::timeout(TIME_LIMIT, loaded).await.ok()?.ok()?;
        ollama_loaded_length(&loaded, model)
    }

    async fn ask_context_length(&self, model: &str) -> Option<ContextLength> {
        let is_answered = |answer: &Result<Value, NoAnswer>| match answer {
            Ok(_) | Err(NoAnswer::OtherForm) => true,
            Err(NoAnswer::NoServer) => false,
        };
        let list = self.get(self.api("/models")).await;
        if !is_answered(&list) {
            return None;
        }
        if let Some(length) = list.ok().and_then(|list| listed_length(&list, model)) {
            return Some(length);
        }
        // The other pages are outside the versioned API. crh asks only servers on this machine for
        // them.
        if !self.url.is_loopback() {
            return None;
        }
        let props = self.get(self.page("/props")).await.ok();
        if let Some(length) = props.and_then(|props| llama_cpp_length(&props)) {
            return Some(length);
        }
        let loaded = self.get(self.page("/api/ps")).await.ok();
        if let Some(length) = loaded.and_then(|loaded| ollama_loaded_length(&loaded, model)) {
            return Some(length);
        }
        let shown = self.post(self.page("/api/show"), &json!({ "model": model })).await.ok();
        if let Some(length) = shown.and_then(|shown| ollama_length(&shown)) {
            return Some(length);
        }
        let list = self.get(self.page("/api/v0/models")).await.ok()?;
        listed_length(&list, model)
    }

    /// An address of the OpenAI-compatible API.
    fn api(&self, path: &str) -> String {
        format!("{}{path}", self.url.as_str())
    }

    /// An address at the root of the server.
    fn page(&self, path: &str) -> String {
        format!("{}{path}", self.url.origin())
    }

    async fn get(&self, address: String) -> Result<Value, NoAnswer> {
        self.send(self.client.get(address)).await
    }

    async fn post(&self, address: String, body: &Value) -> Result<Value, NoAnswer> {
        let request = self.client.post(address).header("content-type", "application/json");
        self.send(request.body(body.to_string())).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, NoAnswer> {
        let request = match &self.key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        };
        let request = request.headers(self.extra_headers.clone());
        let mut response = request.send().await.map_err(|_| NoAnswer::NoServer)?;
        if !response.status().is_success() {
            return Err(NoAnswer::OtherForm);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| NoAnswer::NoServer)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err(NoAnswer::OtherForm);
            }
        }
        serde_json::from_slice(&bytes).map_err(|_| NoAnswer::OtherForm)
    }
}

/// Whether a page is the one by which crh recognises a server. Other servers may answer every path.
fn is_page_of(kind: ServerKind, page: &Value) -> bool {
    match kind {
        ServerKind::Ollama => page["version"].is_string(),
        ServerKind::LmStudio => {
            let has_length = |model: &Value| {
                ["state", "loaded_context_length", "max_context_length"]
                    .iter()
                    .any(|key| model.get(key).is_some())
            };
            page["data"].as_array().is_some_and(|models| models.iter().any(has_length))
        }
        ServerKind::LlamaCpp => page.get("default_generation_settings").is_some(),
        ServerKind::Other => false,
    }
}

/// Ids in a list of models. Ollama without a model sends `null` instead of a list.
fn listed_models(list: &Value) -> Option<Vec<String>> {
    match list.get("data")? {
        Value::Null => Some(Vec::new()),
        models => {
            let ids = models.as_array()?.iter().filter_map(|model| model["id"].as_str());
            Some(ids.map(str::to_owned).collect())
        }
    }
}

/// The length in a list of models: of vLLM (`max_model_len`), llama.cpp (`meta.n_ctx`), LM Studio
/// (`loaded_context_length`) and OpenRouter (`context_length`).
fn listed_length(list: &Value, model: &str) -> Option<ContextLength> {
    let entry = list["data"].as_array()?.iter().find(|entry| entry["id"] == model)?;
    let fields = [
        &entry["loaded_context_length"],
        &entry["max_model_len"],
        &entry["meta"]["n_ctx"],
        &entry["context_length"],
    ];
    let in_use = fields.into_iter().find_map(length).map(ContextLength::InUse);
    in_use.or_else(|| length(&entry["max_context_length"]).map(ContextLength::AtMost))
}

/// The length of a request slot in `/props` of llama.cpp.
fn llama_cpp_length(props: &Value) -> Option<ContextLength> {
    length(&props["default_generation_settings"]["n_ctx"]).map(ContextLength::InUse)
}

/// The length of a loaded model in `/api/ps` of Ollama.
fn ollama_loaded_length(loaded: &Value, model: &str) -> Option<ContextLength> {
    let is_model = |entry: &&Value| {
        entry["model"].as_str().is_some_and(|name| {
            name == model || name.strip_suffix(":latest").is_some_and(|name| name == model)
        })
    };
    let entry = loaded["models"].as_array()?.iter().find(is_model)?;
    length(&entry["context_length"]).map(ContextLength::InUse)
}

/// The length in `/api/show` of Ollama: what the Modelfile sets, else what the model was trained
/// with. Ollama may use less; crh notices that by the token counts.
fn ollama_length(shown: &Value) -> Option<ContextLength> {
    let parameters = shown["parameters"].as_str().unwrap_or_default();
    let set = parameters.lines().find_map(|line| {
        line.trim().strip_prefix("num_ctx")?.trim().parse().ok().filter(|length| *length > 0)
    });
    let trained = || {
        let info = shown["model_info"].as_object()?;
        let (_, value) = info.iter().find(|(name, _)| name.ends_with(".context_length"))?;
        length(value)
    };
    set.map(ContextLength::InUse).or_else(|| trained().map(ContextLength::AtMost))
}

fn length(value: &Value) -> Option<u64> {
    value.as_u64().filter(|length| *length > 0)
}

#[cfg(test)]
mod tests {
    use super::ContextLength::{AtMost, InUse};
    use super::*;

    #[test]
    fn server_is_recognised_by_the_form_of_its_page() {
        let list = json!({"object": "list", "data": [{"id": "fake", "object": "model"}]});
        let studio = json!({"data": [{"id": "m", "state": "loaded", "max_context_length": 8}]});
        assert!(is_page_of(ServerKind::LmStudio, &studio));
        assert!(is_page_of(ServerKind::Ollama, &json!({"version": "0.12.6"})));
        let props = json!({"default_generation_settings": {"n_ctx": 8}});
        assert!(is_page_of(ServerKind::LlamaCpp, &props));
        for kind in [ServerKind::LmStudio, ServerKind::Ollama, ServerKind::LlamaCpp] {
            assert!(!is_page_of(kind, &list), "{kind:?}");
            assert!(!is_page_of(kind, &json!(null)), "{kind:?}");
        }
    }

    #[test]
    fn list_without_models_is_a_list() {
        let ids = |list: Value| listed_models(&list);
        assert_eq!(ids(json!({"object": "list", "data": null})), Some(Vec::new()));
        assert_eq!(ids(json!({"data": [{"id": "m"}]})), Some(vec!["m".to_owned()]));
        // LM Studio answers unknown paths with status 200.
        assert_eq!(ids(json!({"error": "Unexpected endpoint or method. (GET /models)"})), None);
    }

    #[test]
    fn context_length_is_read_from_every_kind_of_server() {
        let vllm =
            json!({"data": [{"id": "a", "max_model_len": 4}, {"id": "m", "max_model_len": 8192}]});
        assert_eq!(listed_length(&vllm, "m"), Some(InUse(8192)));
        assert_eq!(listed_length(&vllm, "other"), None);
        let studio = json!({"data": [
            {"id": "m", "loaded_context_length": 4096, "max_context_length": 131_072},
            {"id": "n", "max_context_length": 131_072},
        ]});
        assert_eq!(listed_length(&studio, "m"), Some(InUse(4096)));
        assert_eq!(listed_length(&studio, "n"), Some(AtMost(131_072)));
        let ollama = json!({"data": [{"id": "m", "object": "model", "owned_by": "library"}]});
        assert_eq!(listed_length(&ollama, "m"), None);
        let props = json!({"default_generation_settings": {"n_ctx": 16_384}, "total_slots": 1});
        assert_eq!(llama_cpp_length(&props), Some(InUse(16_384)));
        let loaded = json!({"models": [{"model": "m:latest", "context_length": 4096}]});
        assert_eq!(ollama_loaded_length(&loaded, "m"), Some(InUse(4096)));
        assert_eq!(ollama_loaded_length(&loaded, "n"), None);
        let info = json!({"general.architecture": "qwen2", "qwen2.context_length": 32_768});
        assert_eq!(ollama_length(&json!({ "model_info": info })), Some(AtMost(32_768)));
        let parameters = "stop \"<|im_end|>\"\nnum_ctx                        8192";
        let shown = json!({"parameters": parameters, "model_info": info});
        assert_eq!(ollama_length(&shown), Some(InUse(8192)));
        for other in [json!(null), json!([]), json!({"data": 1}), json!({"error": "no"})] {
            assert_eq!(listed_length(&other, "m"), None);
            assert_eq!(llama_cpp_length(&other), None);
            assert_eq!(ollama_loaded_length(&other, "m"), None);
            assert_eq!(ollama_length(&other), None);
        }
    }
}
