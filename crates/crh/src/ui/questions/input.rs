//! Input from the terminal.

use std::io;
use std::io::{BufRead as _, Read as _};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

use super::TerminalInput;

/// Bytes to read at once. Larger input is read in several steps.
const READ_SIZE: usize = 256;

/// Waits for input, at most for `time`.
pub(super) fn poll_input(time: Duration) -> TerminalInput {
    let stdin = io::stdin();
    let time = Timespec::try_from(time).ok();
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], time.as_ref()) {
        // The time is up, or a signal interrupted the wait. The caller polls again.
        Ok(0) | Err(Errno::INTR) => return TerminalInput::Nothing,
        Ok(_) => {}
        Err(_) => return TerminalInput::End,
    }
    let mut bytes = [0; READ_SIZE];
    match rustix::io::read(&stdin, &mut bytes) {
        Ok(0) => TerminalInput::End,
        Ok(count) => TerminalInput::Bytes(bytes[..count].to_vec()),
        Err(Errno::INTR | Errno::AGAIN) => TerminalInput::Nothing,
        Err(_) => TerminalInput::End,
    }
}

/// Reads a line, cut after `max_bytes` bytes; `None` at the end of the input.
pub(in crate::ui) fn read_line(max_bytes: u64) -> Option<String> {
    let mut line = String::new();
    let byte_count = io::stdin().lock().take(max_bytes).read_line(&mut line);
    byte_count.ok().filter(|count| *count > 0)?;
    Some(line)
}

/// Discards input typed before the question. Ignores errors.
pub(in crate::ui) fn discard_input() {
    tcflush(io::stdin(), QueueSelector::IFlush).ok();
}
