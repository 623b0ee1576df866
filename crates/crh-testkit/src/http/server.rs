//! The listener and its connection threads. All of them end when the server is dropped.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::{End, Incoming, Outgoing, incoming};

/// Several times as many connections as the largest load test has.
const MAX_CONNECTIONS: usize = 1024;

/// Longest idle time. It only keeps a forgotten thread from waiting for ever.
const MAX_SILENCE: Duration = Duration::from_secs(300);

/// Stack size of a connection thread. Requests are small and their JSON is shallow.
const STACK: usize = 512 * 1024;

/// The answers of a server. Each fake implements it.
pub(crate) trait Service: Send + Sync + 'static {
    /// State to store when the answer begins.
    type Pending;

    /// The answer to a request.
    fn answer(&self, request: Incoming) -> (Outgoing, Self::Pending);

    /// Called when the answer begins, after its delay.
    fn begins(&self, pending: Self::Pending);

    /// Called for input that is not HTTP.
    fn misunderstood(&self, why: String);
}

/// A server on loopback with a free port.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    open: Arc<Open>,
    listener: Option<JoinHandle<()>>,
}

/// Open connections, and whether the server is closing.
#[derive(Debug, Default)]
struct Open {
    connections: Mutex<Connections>,
    closing: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    closing: bool,
    next: u64,
    streams: HashMap<u64, TcpStream>,
}

/// Registers a connection while it lives, even if its thread panics.
struct Entered {
    open: Arc<Open>,
    number: u64,
}

impl Server {
    pub(crate) fn start(service: Arc<impl Service>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let open = Arc::new(Open::default());
        let known = open.clone();
        let listener = thread::Builder::new()
            .name("fake-server".to_owned())
            .spawn(move || listen(&listener, &known, &service))?;
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

impl Open {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut connections = self.lock();
        connections.closing = true;
        for stream in connections.streams.values() {
            // Fails if the client closed it first.
            drop(stream.shutdown(Shutdown::Both));
        }
        self.closing.notify_all();
    }

    fn closing(&self) -> bool {
        self.lock().closing
    }

    /// Sleeps, but not longer than the server lives.
    fn wait(&self, time: Duration) {
        if !time.is_zero() {
            let waited = self.closing.wait_timeout_while(self.lock(), time, |open| !open.closing);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Entered {
    /// `None` if there are too many connections or the server is closing.
    fn new(open: &Arc<Open>, stream: &TcpStream) -> Option<Self> {
        let stream = stream.try_clone().ok()?;
        let mut connections = open.lock();
        if connections.closing || connections.streams.len() >= MAX_CONNECTIONS {
            return None;
        }
        connections.next += 1;
        let number = connections.next;
        connections.streams.insert(number, stream);
        Some(Self { open: open.clone(), number })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.open.lock().streams.remove(&self.number);
    }
}

fn listen(listener: &TcpListener, open: &Arc<Open>, service: &Arc<impl Service>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if open.closing() {
            break;
        }
        let Ok(stream) = stream else { continue };
        let Some(entered) = Entered::new(open, &stream) else { continue };
        threads.retain(|thread| !thread.is_finished());
        let service = service.clone();
        let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
            // A client may disconnect at any time; invalid HTTP is a test failure.
            if let Err(error) = converse(stream, &entered.open, &*service)
                && error.kind() == io::ErrorKind::InvalidData
            {
                service.misunderstood(format!("a request was not understood: {error}"));
            }
        });
        threads.extend(thread.ok());
    }
    for thread in threads {
        // A panic was printed already, and the connection is closed.
        drop(thread.join());
    }
}

fn converse(mut stream: TcpStream, open: &Open, service: &impl Service) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(request) = incoming(&mut stream, &mut buffer)? {
        let arrived = Instant::now();
        let (outgoing, pending) = service.answer(request);
        // Computing the answer counts towards the delay.
        open.wait(outgoing.delay.saturating_sub(arrived.elapsed()));
        service.begins(pending);
        for bytes in &outgoing.writes {
            stream.write_all(bytes)?;
        }
        match outgoing.end {
            End::KeepAlive => {}
            End::Close => return stream.shutdown(Shutdown::Both),
            End::Silence => {
                // Ends when the client disconnects or the server closes.
                stream.set_read_timeout(Some(MAX_SILENCE))?;
                return stream.read(&mut [0]).map(|_| ());
            }
        }
    }
    Ok(())
}
