//! `crh lsp`: a language server over standard input and output. It publishes the static checks and
//! the issues of the newest stored run as diagnostics, and offers to fix, dismiss or explain them.
//!
//! Child processes of crh do all work. The server answers each message at once and starts a task
//! for the rest, so that the server can end as soon as the client disappears.

mod commands;
mod diagnostics;
mod edits;
mod evidence;
mod framing;
mod place;
mod server;
mod workspace;

use std::io;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tower_lsp_server::{ClientSocket, LspService, Server};

use self::server::Shared;
use crate::program::Program;

/// Time for children to end after the client has disappeared. [`Program::run`] kills them sooner.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Buffer size of the pipes between client and server, in bytes.
const PIPE_BYTES: usize = 64 << 10;

/// How the client ended the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// By `shutdown`.
    AfterShutdown,
    /// By `exit` or by closing the connection, without `shutdown`.
    WithoutShutdown,
}

/// Serves one client on standard input and output until it leaves.
pub fn serve(program: Program) -> io::Result<SessionEnd> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let shared = runtime.block_on(async {
        let mut shared = None;
        let (service, socket) = LspService::new(|client| {
            let server = server::Backend::new(client, program);
            shared = Some(server.shared());
            server
        });
        serve_streams(service, socket).await;
        shared
    });
    if let Some(shared) = &shared {
        shared.stop.stop();
    }
    // Waits for the threads that run children.
    runtime.shutdown_timeout(END_LIMIT);
    let is_shut_down = |shared: &Arc<Shared>| shared.is_shut_down.load(Ordering::SeqCst);
    Ok(match shared.as_ref().is_some_and(is_shut_down) {
        true => SessionEnd::AfterShutdown,
        false => SessionEnd::WithoutShutdown,
    })
}

/// Serves until the client leaves. `tower_lsp_server` would end at the first malformed message, so
/// [`framing`] answers these.
async fn serve_streams(service: LspService<server::Backend>, socket: ClientSocket) {
    let (requests, server_input) = tokio::io::duplex(PIPE_BYTES);
    let (server_output, messages) = tokio::io::duplex(PIPE_BYTES);
    let (sender, answers) = mpsc::channel(framing::ANSWERS_MAX);
    let input = BufReader::new(read_stdin());
    let forward = tokio::spawn(framing::forward_requests(input, requests, sender));
    let messages = BufReader::new(messages);
    let write = framing::write_messages(messages, answers, tokio::io::stdout());
    let write = tokio::spawn(write);
    Server::new(server_input, server_output, socket).serve(service).await;
    forward.abort();
    // A client that no longer reads has left; the last messages are lost.
    if let Ok(Err(error)) = write.await {
        drop(error);
    }
}

/// Reads standard input in a thread. At the end of the session, the runtime does not wait for this
/// thread, because a client may leave the pipe open after `exit`.
fn read_stdin() -> DuplexStream {
    let (input, mut copy) = tokio::io::duplex(PIPE_BYTES);
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let (mut stdin, mut bytes) = (io::stdin().lock(), [0; 8 << 10]);
        // Ends with the input, or if the server reads no more.
        while let Ok(count @ 1..) = stdin.read(&mut bytes)
            && runtime.block_on(copy.write_all(&bytes[..count])).is_ok()
        {}
    });
    input
}
