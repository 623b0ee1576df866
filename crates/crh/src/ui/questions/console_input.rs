//! Input from the console of Windows, line by line: a thread reads it, because a console cannot be
//! polled together with a time limit.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use super::TerminalInput;

/// Lines from standard input, which only the thread reads from now on.
fn lines() -> MutexGuard<'static, Receiver<String>> {
    static LINES: OnceLock<Mutex<Receiver<String>>> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let (sender, receiver) = mpsc::channel();
        let read = move || {
            io::stdin().lines().map_while(Result::ok).all(|line| sender.send(line + "\n").is_ok())
        };
        // If the thread cannot start, the channel is closed, as at the end of the input.
        drop(std::thread::Builder::new().name("input".to_owned()).spawn(read));
        Mutex::new(receiver)
    });
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a line, at most for `time`.
pub(super) fn poll_input(time: Duration) -> TerminalInput {
    match lines().recv_timeout(time) {
        Ok(line) => TerminalInput::Bytes(line.into_bytes()),
        Err(RecvTimeoutError::Timeout) => TerminalInput::Nothing,
        Err(RecvTimeoutError::Disconnected) => TerminalInput::End,
    }
}

/// Reads a line; `None` at the end of the input, or if the line is longer than `max_bytes`.
pub(in crate::ui) fn read_line(max_bytes: u64) -> Option<String> {
    lines().recv().ok().filter(|line| line.len() as u64 <= max_bytes)
}

/// Discards lines typed before the question.
pub(in crate::ui) fn discard_input() {
    while lines().try_recv().is_ok() {}
}
