//! Accepts a limited number of connections, each with a time limit for the head of a request.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

/// Limits of a listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    /// Maximum connections at the same time. Others wait in the queue of the operating system.
    pub(super) connections: usize,
    /// Longest time to send the head of a request. Idle connections end, too.
    pub(super) head_time: Duration,
    /// Longest time in which a client reads nothing of an answer.
    pub(super) stall_time: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        let (head_time, stall_time) = (Duration::from_secs(10), Duration::from_secs(20));
        Self { connections: 1_000, head_time, stall_time }
    }
}

/// Pause after a failed accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves HTTP/1 until `stop` ends, then finishes the requests that run.
pub(super) async fn serve_connections(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    stop: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_time);
    tokio::pin!(stop);
    loop {
        let next = async {
            // The semaphore is never closed.
            let slot = slots.clone().acquire_owned().await.ok();
            (slot, accept(&listener).await)
        };
        let (slot, (stream, peer)) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        let router = router.clone();
        let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            // A router is always ready.
            router.clone().call(request)
        });
        let stream = TokioIo::new(AnswerStream::new(stream, limits.stall_time));
        let connection = graceful.watch(http.serve_connection(stream, service));
        tokio::spawn(async move {
            // An error is the client's: it went away, was too slow, or does not speak HTTP/1.
            drop(connection.await);
            drop(slot);
        });
    }
    graceful.shutdown().await;
}

/// A connection that fails if its client does not read. Otherwise such clients would keep all
/// connections.
struct AnswerStream {
    stream: TcpStream,
    stall_time: Duration,
    /// Deadline of a write that waits for the client.
    stall_end: Option<Pin<Box<Sleep>>>,
}

impl AnswerStream {
    fn new(stream: TcpStream, stall_time: Duration) -> Self {
        Self { stream, stall_time, stall_end: None }
    }

    /// Ends a write that waits for too long.
    fn limit(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stall_end = None;
            return written;
        }
        let time = self.stall_time;
        let end = self.stall_end.get_or_insert_with(|| Box::pin(sleep(time)));
        end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for AnswerStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for AnswerStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                let client_hung_up = matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
                );
                if !client_hung_up {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Sends a text and returns the answer when the server closes the connection.
    async fn send(address: SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The server may reset the connection.
        drop(stream.read_to_end(&mut answer).await);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn slow_and_foreign_clients_do_not_keep_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "hello"));
        let (head_time, stall_time) = (Duration::from_millis(300), Duration::from_secs(20));
        let limits = ConnectionLimits { connections: 1, head_time, stall_time };
        let stop = std::future::pending();
        let server = tokio::spawn(serve_connections(listener, router, limits, stop));
        let whole = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        // The first one takes the only connection and loses it.
        let slow = send(address, "GET / HTTP/1.1\r\nho");
        let (slow, fast) = tokio::join!(slow, send(address, whole));
        assert!(!slow.contains("hello"), "{slow}");
        assert!(fast.starts_with("HTTP/1.1 200") && fast.ends_with("hello"), "{fast}");
        // A connection that waits after its first request is closed, too.
        let idle = send(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert!(idle.ends_with("hello"), "{idle}");
        let http2 = send(address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        assert!(!http2.contains("200"), "{http2}");
        assert!(send(address, whole).await.ends_with("hello"));
        server.abort();
    }

    #[tokio::test]
    async fn client_that_reads_nothing_loses_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/", get(async || "hello"))
            .route("/large", get(async || "x".repeat(64 << 20)));
        let (head_time, stall_time) = (Duration::from_secs(20), Duration::from_millis(300));
        let limits = ConnectionLimits { connections: 1, head_time, stall_time };
        let stop = std::future::pending();
        let server = tokio::spawn(serve_connections(listener, router, limits, stop));
        let mut silent = TcpStream::connect(address).await.unwrap();
        silent.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let next = send(address, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        let next = tokio::time::timeout(Duration::from_secs(10), next).await.unwrap();
        assert!(next.ends_with("hello"), "{next}");
        drop(silent);
        server.abort();
    }
}
