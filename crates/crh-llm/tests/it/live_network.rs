//! Network access: keys, redirects, proxies, certificates, connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use expect_test::expect;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::live_setup::{KEY, WIRES, ask, client, endpoint, live, question};
use crh_llm::{
    Endpoint, FailureCost, ModelError, ModelSetupError, NetworkSettings, Timeouts, VendorClient,
    Wire,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{redirects, says};

/// Maximum wait for the other side. A passing test never reaches it.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// A raw server for one connection, for behaviour that the fake model does not offer.
pub(crate) struct Server {
    address: SocketAddr,
    thread: JoinHandle<String>,
}

impl Server {
    /// Accepts one connection. `serve` returns the head of the request.
    fn accept(serve: impl FnOnce(TcpStream) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
            serve(stream)
        });
        Self { address, thread }
    }

    /// Reads one request and runs `serve`. The request is kept for `head`.
    fn start(serve: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        Self::accept(move |mut stream| {
            let head = head(&mut stream);
            serve(stream);
            head
        })
    }

    /// Sends these frames, then `tail`.
    pub(crate) fn events(frames: &[Value], tail: &str) -> Self {
        let lines: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
        let answer = format!("{EVENTS}{lines}{tail}");
        Self::start(move |mut stream| stream.write_all(answer.as_bytes()).unwrap())
    }

    /// Sends text until the client disconnects.
    pub(crate) fn endless() -> Self {
        Self::repeats(&"x".repeat(16_000))
    }

    /// Sends a word per event until the client disconnects.
    pub(crate) fn endless_words() -> Self {
        Self::repeats("word ")
    }

    /// Sends an event with this text until the client disconnects.
    fn repeats(text: &str) -> Self {
        let frame = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        Self::start(move |mut stream| {
            stream.write_all(EVENTS.as_bytes()).unwrap();
            while stream.write_all(frame.as_bytes()).is_ok() {}
        })
    }

    /// Sends one event without an end until the client disconnects.
    pub(crate) fn endless_event() -> Self {
        let text = "x".repeat(64 << 10);
        Self::start(move |mut stream| {
            stream.write_all(EVENTS.as_bytes()).unwrap();
            stream.write_all(br#"data: {"choices":[{"delta":{"content":""#).unwrap();
            while stream.write_all(text.as_bytes()).is_ok() {}
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The received request, after the connection ended.
    fn head(self) -> String {
        self.thread.join().unwrap()
    }
}

fn head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// A complete chat reply.
fn hello() -> String {
    let frames = r#"data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    format!("{EVENTS}{frames}\n\ndata: [DONE]\n\n")
}

#[tokio::test]
async fn key_and_caller_are_sent_in_headers() {
    let mut lines = String::new();
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [says("Hi")]);
        ask(&live(wire, model.url()), &question()).await.unwrap();
        let request = model.requests().pop().unwrap();
        lines.push_str(&format!("{}\n", request.path));
        let mut headers = request.headers.clone();
        headers.sort();
        for (name, value) in &headers {
            if !matches!(name.as_str(), "host" | "content-length") {
                lines.push_str(&format!("    {name}: {value}\n"));
            }
        }
    }
    expect![[r#"
        /v1/chat/completions
            accept: */*
            authorization: Bearer sk-live-0123456789abcdefghij
            content-type: application/json
            user-agent: crh/0.1.0 (tester)
        /v1/responses
            accept: */*
            authorization: Bearer sk-live-0123456789abcdefghij
            content-type: application/json
            user-agent: crh/0.1.0 (tester)
        /v1/messages
            accept: */*
            anthropic-version: 2023-06-01
            content-type: application/json
            user-agent: crh/0.1.0 (tester)
            x-api-key: sk-live-0123456789abcdefghij
        /v1/models/gemini-3-flash:streamGenerateContent?alt=sse
            accept: */*
            content-type: application/json
            user-agent: crh/0.1.0 (tester)
            x-goog-api-key: sk-live-0123456789abcdefghij
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn without_a_key_no_auth_header_is_sent() {
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [says("Hi")]);
        let keyless = Endpoint { key: None, ..endpoint(wire, model.url()) };
        ask(&client(keyless), &question()).await.unwrap();
        for (name, _) in &model.requests().pop().unwrap().headers {
            #[rustfmt::skip]
            let plain = [
                "accept", "anthropic-version", "content-length", "content-type", "host", "user-agent",
            ];
            assert!(plain.contains(&name.as_str()), "{wire:?}: {name}");
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for wire in WIRES {
        // Any request that arrives here fails the test.
        let elsewhere = FakeModel::start();
        let model = FakeModel::start().on("tester", [redirects(elsewhere.url())]);
        let error = ask(&live(wire, model.url()), &question()).await.unwrap_err();
        let message = format!(
            "the server redirects to `{}` (307); crh follows no redirects, to protect the API key (`{}/",
            elsewhere.url(),
            model.url()
        );
        assert!(error.to_string().contains(&message), "{wire:?}: {error}");
        assert!(matches!(error, ModelError::BadRequest { .. }), "{wire:?}: {error:?}");
    }
}

#[tokio::test]
async fn http_proxy_is_used_unless_excluded() {
    let proxy = FakeModel::start().on("tester", [says("through the proxy")]);
    let origin = proxy.url().trim_end_matches("/v1").to_owned();
    let network =
        NetworkSettings { http_proxy: Some(origin.clone()), ..NetworkSettings::default() };
    let far = endpoint(Wire::OpenAiChat, "http://model.invalid/v1");
    let live = VendorClient::new(far, &network).unwrap();
    assert_eq!(ask(&live, &question()).await.unwrap().turn.full_text(), "through the proxy");
    assert_eq!(proxy.requests()[0].path, "http://model.invalid/v1/chat/completions");

    let near = FakeModel::start().on("tester", [says("without it")]);
    let network = NetworkSettings { no_proxy: Some("127.0.0.1,example.org".to_owned()), ..network };
    let live = VendorClient::new(endpoint(Wire::OpenAiChat, near.url()), &network).unwrap();
    assert_eq!(ask(&live, &question()).await.unwrap().turn.full_text(), "without it");
    proxy.verify();
}

#[tokio::test]
async fn https_proxy_tunnels_and_never_sees_the_key() {
    let proxy = Server::start(|mut stream| {
        stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let origin = format!("http://{}", proxy.address);
    let network = NetworkSettings { https_proxy: Some(origin), ..NetworkSettings::default() };
    let far = endpoint(Wire::Anthropic, "https://model.invalid/v1");
    let error = ask(&VendorClient::new(far, &network).unwrap(), &question()).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Transport { spent: FailureCost::Nothing, .. }),
        "{error:?}"
    );
    let head = proxy.head();
    assert!(head.starts_with("CONNECT model.invalid:443 HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains(KEY), "{head}");
}

/// `ALL_PROXY` often names a SOCKS proxy. An HTTP request to it would leak the key.
#[tokio::test]
async fn socks_proxy_gets_a_socks_handshake() {
    for scheme in ["socks5", "socks5h"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("{scheme}://{}", listener.local_addr().unwrap());
        let greeting = thread::spawn(move || {
            let mut greeting = [0; 3];
            listener.accept().unwrap().0.read_exact(&mut greeting).unwrap();
            greeting
        });
        let network = NetworkSettings { http_proxy: Some(proxy), ..NetworkSettings::default() };
        let far = endpoint(Wire::OpenAiChat, "http://192.0.2.1/v1");
        let error = ask(&VendorClient::new(far, &network).unwrap(), &question()).await.unwrap_err();
        assert!(
            matches!(error, ModelError::Transport { spent: FailureCost::Nothing, .. }),
            "{error:?}"
        );
        // Version 5, one method: no authentication.
        assert_eq!(greeting.join().unwrap(), [5, 1, 0], "{scheme}");
    }
}

/// The other side accepts and sends nothing, so no request was sent.
#[tokio::test]
async fn connect_timeout_costs_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let timeouts = Timeouts { connect: Duration::from_millis(100), ..Timeouts::default() };
    let network = NetworkSettings { timeouts, ..NetworkSettings::default() };
    for wire in WIRES {
        let live = VendorClient::new(endpoint(wire, url.as_str()), &network).unwrap();
        let error = tokio::time::timeout(TEST_TIMEOUT, ask(&live, &question())).await.unwrap();
        // The address is that of this machine, so the server is not running.
        let Err(ModelError::NoServer { message }) = error else { panic!("{wire:?}: {error:?}") };
        let expected = format!("operation timed out (`{url}/");
        assert!(message.starts_with(&expected), "{wire:?}: {message}");
    }
}

/// A certificate for `localhost`, its key, and its authority, valid until 2120. They protect
/// nothing, and the authority's key was deleted.
fn data(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).join(name)
}

/// A server whose certificate is signed by the test authority.
fn secure_server() -> Server {
    let chain = CertificateDer::pem_file_iter(data("server.pem")).unwrap().map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(data("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), key)
        .unwrap();
    Server::accept(move |stream| {
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let head = head(&mut stream);
        // An untrusting client has disconnected.
        if !head.is_empty() {
            stream.write_all(hello().as_bytes()).unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
        head
    })
}

#[tokio::test]
async fn configured_ca_file_is_trusted() {
    let server = secure_server();
    let network = NetworkSettings { ca_files: vec![data("ca.pem")], ..NetworkSettings::default() };
    let url = format!("https://{}/v1", server.address);
    let live = VendorClient::new(endpoint(Wire::OpenAiChat, url), &network).unwrap();
    assert_eq!(ask(&live, &question()).await.unwrap().turn.full_text(), "Hi");
    assert!(server.head().contains(KEY));

    let server = secure_server();
    let url = format!("https://{}/v1", server.address);
    let untrusting = client(endpoint(Wire::OpenAiChat, url));
    let error = ask(&untrusting, &question()).await.unwrap_err();
    let error_text = format!("{error:?}").replace(&server.address.to_string(), "ADDRESS");
    expect![[r#"NoServer { message: "invalid peer certificate: UnknownIssuer (`https://ADDRESS/v1/chat/completions`)" }"#]].assert_eq(&error_text);
    assert_eq!(server.head(), "");
}

#[test]
fn invalid_settings_fail_before_the_first_request() {
    let right = || endpoint(Wire::OpenAiChat, "https://api.openai.com/v1");
    let direct = NetworkSettings::default;
    let mut lines = String::new();
    for (endpoint, network) in [
        (Endpoint { key: Some("sk-1\n".into()), ..right() }, direct()),
        (
            right(),
            NetworkSettings { http_proxy: Some("http://u:secret@:x".to_owned()), ..direct() },
        ),
        (right(), NetworkSettings { https_proxy: Some("::secret".to_owned()), ..direct() }),
        (right(), NetworkSettings { ca_files: vec![PathBuf::from("/no/such.pem")], ..direct() }),
        (right(), NetworkSettings { ca_files: vec![data("server.key")], ..direct() }),
        (right(), NetworkSettings { ca_files: vec![PathBuf::from("/dev/zero")], ..direct() }),
    ] {
        let error: ModelSetupError = VendorClient::new(endpoint, &network).unwrap_err();
        let text = format!("{error}\n");
        assert!(!format!("{text}{error:?}").contains("secret"), "{text}");
        lines.push_str(&text.replace(env!("CARGO_MANIFEST_DIR"), "…"));
    }
    expect![[r#"
        the API key contains invalid characters; does it contain a line break?
        the proxy for `http` is not a valid proxy URL
        the proxy for `https` is not a valid proxy URL
        cannot use the certificates in `/no/such.pem`: No such file or directory (os error 2)
        cannot use the certificates in `…/tests/data/server.key`: it contains no PEM certificate
        cannot use the certificates in `/dev/zero`: it is larger than 4194304 bytes
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn dropped_request_closes_its_connection() {
    let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        stream.write_all(EVENTS.as_bytes()).unwrap();
        stream.write_all(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n").unwrap();
        began.send(()).unwrap();
        // Reads the request body, then waits for the connection to close.
        stream.read_to_end(&mut Vec::new()).map(|_| ()).unwrap_or_else(|error| {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        });
    });
    let live = live(Wire::OpenAiChat, server.url());
    let request = question();
    tokio::select! {
        reply = ask(&live, &request) => panic!("it has no end: {reply:?}"),
        begun = begins.recv() => assert_eq!(begun, Some(())),
    }
    // The connection is closed by a task of the same runtime.
    tokio::task::spawn_blocking(|| server.head()).await.unwrap();
}

/// Answers this many requests on one connection and accepts no other.
fn keeps_alive(requests: usize) -> Server {
    Server::accept(move |mut stream| {
        for _ in 0..requests {
            let head = head(&mut stream);
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            stream.read_exact(&mut vec![0; length.unwrap().parse().unwrap()]).unwrap();
            let answer = hello();
            let (_, events) = answer.split_once("\r\n\r\n").unwrap();
            let chunk = format!("{:x}\r\n{events}\r\n0\r\n\r\n", events.len());
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}{chunk}").as_bytes()).unwrap();
        }
        String::new()
    })
}

#[tokio::test]
async fn clones_share_a_connection() {
    let server = keeps_alive(3);
    let first = live(Wire::OpenAiChat, server.url());
    for live in [first.clone(), first.clone(), first] {
        assert_eq!(ask(&live, &question()).await.unwrap().turn.full_text(), "Hi");
        // The connection returns to the pool in its own task.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    server.head();
}

#[test]
fn debug_and_errors_never_show_the_key() {
    let endpoint = endpoint(Wire::OpenAiChat, "https://api.openai.com/v1");
    let live = VendorClient::new(endpoint.clone(), &NetworkSettings::default()).unwrap();
    let debug_text = format!("{live:?} {endpoint:?} {live:#?} {endpoint:#?}");
    assert!(!debug_text.contains(KEY), "{debug_text}");
    assert!(debug_text.contains("gpt-4.1-mini"), "{debug_text}");
}
