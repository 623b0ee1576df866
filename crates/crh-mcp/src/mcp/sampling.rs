//! Reviews with the client's model, so that the user needs no key.
//!
//! The child process of crh sends requests to a small server on the loopback interface, as to any
//! OpenAI-compatible model. Each request becomes `sampling/createMessage` to the client. crh counts
//! calls as usual, and tokens by its upper estimate, because the client reports no usage.

#![expect(deprecated, reason = "the newest protocol drops sampling, but clients still use it")]

mod chat;
mod http;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, CreateMessageRequest, CreateMessageRequestParams,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use self::http::{HttpReply, read_request};
use super::report::random_name;

/// Time for one answer. The user may have to agree first.
const ANSWER_TIME: Duration = Duration::from_secs(10 * 60);
/// Maximum connections at the same time. crh runs a handful of reviewers in parallel.
const CONNECTIONS_MAX: usize = 32;

/// The client's model as a server on the loopback interface. Dropping it closes the server.
#[derive(Debug)]
pub(crate) struct ClientModel {
    address: SocketAddr,
    /// API key that the child sends. Other users of this machine do not know it.
    token: Arc<str>,
    task: AbortHandle,
}

/// Why the client's model cannot review.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SamplingError {
    #[error(
        "the server was started with `--client-model`, but this client does not offer its model with tools \
         (sampling); start `crh mcp` without that flag and with an API key"
    )]
    NotOffered,
    #[error("cannot listen on the loopback interface: {0}")]
    Listen(#[from] std::io::Error),
}

impl Drop for ClientModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ClientModel {
    pub(crate) async fn start(client: Peer<RoleServer>) -> Result<Self, SamplingError> {
        if !client.supports_sampling_tools() {
            return Err(SamplingError::NotOffered);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let token: Arc<str> = random_name().into();
        let task = tokio::spawn(listen(listener, client, token.clone())).abort_handle();
        Ok(Self { address, token, task })
    }

    /// The model as `--model` takes it.
    pub(crate) fn name(&self) -> String {
        format!("openai:client@{}", self.url())
    }

    /// Variables that make crh send the token to this server, and to no other.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        vec![
            ("OPENAI_BASE_URL".to_owned(), self.url()),
            ("OPENAI_API_KEY".to_owned(), self.token.to_string()),
        ]
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

/// Serves connections until it is aborted. The open connections end with it.
async fn listen(listener: TcpListener, client: Peer<RoleServer>, token: Arc<str>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        // Fails if crh closed the connection or the system has no file descriptors; crh tries
        // again.
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, client.clone(), token.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Answers one request.
async fn serve(mut stream: TcpStream, client: Peer<RoleServer>, token: Arc<str>) {
    let Some(request) = read_request(&mut stream).await else { return };
    let reply = if request.key.as_deref() != Some(&*token) {
        HttpReply::error(401, "wrong key")
    } else if request.method == "GET" && request.path.ends_with("/models") {
        HttpReply::json(
            &json!({ "object": "list", "data": [{ "id": "client", "object": "model" }] }),
        )
    } else if request.method == "POST" && request.path.ends_with("/chat/completions") {
        let (mut reader, _) = stream.split();
        tokio::select! {
            reply = answer(&request.body, &client) => reply,
            // crh closes the connection when the review is cancelled.
            _ = reader.read_u8() => return,
        }
    } else {
        HttpReply::error(404, "no such page")
    };
    // crh may have been stopped meanwhile.
    reply.send(&mut stream).await.unwrap_or_default();
}

async fn answer(body: &[u8], client: &Peer<RoleServer>) -> HttpReply {
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return HttpReply::error(400, "the request is not JSON");
    };
    let params = match serde_json::from_value(chat::sampling_params(&request)) {
        Ok(params) => params,
        Err(error) => {
            return HttpReply::error(400, &format!("the request is not readable: {error}"));
        }
    };
    let result = match ask(params, client).await {
        Ok(result) => result,
        // crh does not repeat a request with this status: the user may have refused it.
        Err(error) => return HttpReply::error(400, &format!("the client's model: {error}")),
    };
    match request.get("stream").and_then(Value::as_bool) {
        Some(true) => HttpReply::events(&chat::stream_events(&result)),
        Some(false) | None => HttpReply::json(&chat::completion(&result)),
    }
}

/// Cancels a request to the client when it is dropped before the answer.
struct CancelOnDrop {
    client: Peer<RoleServer>,
    params: Option<CancelledNotificationParam>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // Without a runtime, the server ends, and the client notices that.
        let runtime = tokio::runtime::Handle::try_current();
        if let (Some(params), Ok(runtime)) = (self.params.take(), runtime) {
            let client = self.client.clone();
            // Fails only if the client is gone.
            runtime.spawn(async move { client.notify_cancelled(params).await.is_ok() });
        }
    }
}

async fn ask(
    params: CreateMessageRequestParams,
    client: &Peer<RoleServer>,
) -> Result<Value, ServiceError> {
    let request = CreateMessageRequest::new(params);
    let request = ServerRequest::CreateMessageRequest(request);
    let options = PeerRequestOptions::with_timeout(ANSWER_TIME);
    let handle = client.send_cancellable_request(request, options).await?;
    let cancelled = CancelledNotificationParam::new(
        Some(handle.id.clone()),
        Some("the review was cancelled".to_owned()),
    );
    let mut guard = CancelOnDrop { client: client.clone(), params: Some(cancelled) };
    let result = handle.await_response().await;
    guard.params = None;
    match result? {
        ClientResult::CreateMessageResult(result) => {
            serde_json::to_value(&result).map_err(|_| ServiceError::UnexpectedResponse)
        }
        _ => Err(ServiceError::UnexpectedResponse),
    }
}
