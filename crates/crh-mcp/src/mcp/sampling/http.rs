//! The part of HTTP that one local client needs: one request per connection.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Maximum bytes of a request's head.
const HEAD_MAX: usize = 32 << 10;
/// Maximum number of headers.
const HEADERS_MAX: usize = 64;
/// Maximum bytes of a body: a long conversation.
const BODY_MAX: usize = 16 << 20;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    pub(super) path: String,
    /// The key of the `Authorization` header.
    pub(super) key: Option<String>,
    pub(super) body: Vec<u8>,
}

/// A reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpReply {
    status: u16,
    kind: &'static str,
    body: String,
}

impl HttpReply {
    pub(super) fn json(value: &Value) -> Self {
        Self { status: 200, kind: "application/json", body: value.to_string() }
    }

    pub(super) fn error(status: u16, message: &str) -> Self {
        let body = json!({ "error": { "message": message, "type": "invalid_request_error" } });
        Self { status, ..Self::json(&body) }
    }

    /// All events of a stream in one reply.
    pub(super) fn events(events: &[Value]) -> Self {
        let mut body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        body.push_str("data: [DONE]\n\n");
        Self { status: 200, kind: "text/event-stream", body }
    }

    pub(super) async fn send(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let Self { status, kind, body } = self;
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    }
}

/// Reads a request; `None` if it is malformed or too long.
pub(super) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<HttpRequest> {
    let mut bytes = Vec::new();
    let (mut request, head, length) = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 || bytes.len() > HEAD_MAX + BODY_MAX {
            return None;
        }
        if let Some(parsed) = parse_head(&bytes)? {
            break parsed;
        }
    };
    if length > BODY_MAX {
        return None;
    }
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    request.body = bytes.get(head..head + length)?.to_vec();
    Some(request)
}

/// The request without its body, and the lengths of head and body. `Some(None)` if the head is
/// incomplete, `None` if it is malformed.
#[expect(clippy::option_option, reason = "incomplete is not malformed")]
fn parse_head(bytes: &[u8]) -> Option<Option<(HttpRequest, usize, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes).ok()? {
        httparse::Status::Complete(head) => head,
        httparse::Status::Partial if bytes.len() > HEAD_MAX => return None,
        httparse::Status::Partial => return Some(None),
    };
    let header = |name: &str| {
        let header = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        header.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let key = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let length = header("content-length").map_or(Ok(0), str::parse).ok()?;
    let request = HttpRequest {
        method: parsed.method?.to_owned(),
        path: parsed.path?.to_owned(),
        key: key.map(str::to_owned),
        body: Vec::new(),
    };
    Some(Some((request, head, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(mut bytes: &[u8]) -> Option<HttpRequest> {
        read_request(&mut bytes).await
    }

    #[tokio::test]
    async fn request_is_read_with_key_and_body() {
        let bytes =
            b"POST /v1/x HTTP/1.1\r\nAuthorization: Bearer k\r\nContent-Length: 2\r\n\r\n{}";
        let expected = HttpRequest {
            method: "POST".to_owned(),
            path: "/v1/x".to_owned(),
            key: Some("k".to_owned()),
            body: b"{}".to_vec(),
        };
        assert_eq!(read(bytes).await, Some(expected));
    }

    #[tokio::test]
    async fn malformed_or_long_request_is_refused() {
        assert_eq!(read(b"nonsense\r\n\r\n").await, None);
        assert_eq!(read(b"POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n").await, None);
        assert_eq!(read(b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nab").await, None);
        let long = format!("GET /{} HTTP/1.1", "a".repeat(HEAD_MAX + 1));
        assert_eq!(read(long.as_bytes()).await, None);
    }
}
