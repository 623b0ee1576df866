//! The listener and its connection threads. All of them end when the server is dropped.

use std::collections::HashMap;
use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::{ConnectionEnd, HttpRequest, HttpResponse, read_request};

/// Maximum number of connections: several times as many as the largest load test has.
const MAX_CONNECTIONS: usize = 1024;

/// Longest time that a silent connection stays open, so that a forgotten thread does not wait
/// forever.
const MAX_SILENCE: Duration = Duration::from_secs(300);

/// Stack size of a connection thread. Requests are small and their JSON is shallow.
const STACK: usize = 512 * 1024;

/// Answers the requests of a server. Each fake implements this trait.
pub(crate) trait Service: Send + Sync + 'static {
    /// State to store when the answer begins.
    type Pending;

    /// The answer to a request.
    fn answer(&self, request: HttpRequest) -> (HttpResponse, Self::Pending);

    /// Called when the answer begins, after its delay.
    fn on_reply_start(&self, pending: Self::Pending);

    /// Called for input that the server cannot read as a request.
    fn on_invalid_request(&self, problem: String);
}

/// A server on loopback with a free port.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    open: Arc<OpenConnections>,
    listener: Option<JoinHandle<()>>,
}

/// Open connections, and whether the server is closing.
#[derive(Debug, Default)]
struct OpenConnections {
    connections: Mutex<Connections>,
    closing: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    is_closing: bool,
    last_number: u64,
    streams: HashMap<u64, TcpStream>,
}

/// Registers a connection while it lives, even if its thread panics.
struct ConnectionGuard {
    open: Arc<OpenConnections>,
    number: u64,
}

impl Server {
    pub(crate) fn start(service: Arc<impl Service>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let open = Arc::new(OpenConnections::default());
        let connections = open.clone();
        let listener = thread::Builder::new()
            .name("fake-server".to_owned())
            .spawn(move || listen(&listener, &connections, &service))?;
        Ok(Self { address, open, listener: Some(listener) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.open.close();
        // Wakes the listener, which then sees that the server is closing.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            // A thread that panicked has printed its message already.
            drop(listener.join());
        }
    }
}

impl OpenConnections {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut connections = self.lock();
        connections.is_closing = true;
        for stream in connections.streams.values() {
            // This fails if the client closed the connection first.
            drop(stream.shutdown(Shutdown::Both));
        }
        self.closing.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.lock().is_closing
    }

    /// Sleeps until the time is over or the server is closing.
    fn wait(&self, time: Duration) {
        if !time.is_zero() {
            let result =
                self.closing.wait_timeout_while(self.lock(), time, |open| !open.is_closing);
            drop(result.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl ConnectionGuard {
    /// `None` if there are too many connections or the server is closing.
    fn new(open: &Arc<OpenConnections>, stream: &TcpStream) -> Option<Self> {
        let stream = stream.try_clone().ok()?;
        let mut connections = open.lock();
        if connections.is_closing || connections.streams.len() >= MAX_CONNECTIONS {
            return None;
        }
        connections.last_number += 1;
        let number = connections.last_number;
        connections.streams.insert(number, stream);
        Some(Self { open: open.clone(), number })
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.open.lock().streams.remove(&self.number);
    }
}

fn listen(listener: &TcpListener, open: &Arc<OpenConnections>, service: &Arc<impl Service>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if open.is_closing() {
            break;
        }
        let Ok(stream) = stream else { continue };
        let Some(guard) = ConnectionGuard::new(open, &stream) else { continue };
        threads.retain(|thread| !thread.is_finished());
        let service = service.clone();
        let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
            // A client may disconnect at any time; invalid HTTP is a test failure.
            if let Err(error) = converse(stream, &guard.open, &*service)
                && error.kind() == io::ErrorKind::InvalidData
            {
                service.on_invalid_request(format!("a request was not understood: {error}"));
            }
        });
        threads.extend(thread.ok());
    }
    for thread in threads {
        // A panic was printed already, and the connection is closed.
        drop(thread.join());
    }
}

fn converse(
    mut stream: TcpStream,
    open: &OpenConnections,
    service: &impl Service,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer)? {
        let arrived = Instant::now();
        let (outgoing, pending) = service.answer(request);
        // Computing the answer counts towards the delay.
        open.wait(outgoing.delay.saturating_sub(arrived.elapsed()));
        service.on_reply_start(pending);
        for bytes in &outgoing.writes {
            stream.write_all(bytes)?;
        }
        match outgoing.end {
            ConnectionEnd::KeepAlive => {}
            ConnectionEnd::Close => return stream.shutdown(Shutdown::Both),
            ConnectionEnd::Silence => {
                // Ends when the client disconnects or the server closes.
                stream.set_read_timeout(Some(MAX_SILENCE))?;
                return io::copy(&mut stream, &mut io::sink()).map(|_| ());
            }
        }
    }
    Ok(())
}
