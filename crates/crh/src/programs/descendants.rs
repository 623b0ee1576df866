//! All that a command has started, wherever it went: whoever leaves its group still comes to the companion when the one that started
//! it has ended, and is ended there.

use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Where the kernel lists the children of this process, by its threads.
const THREADS: &str = "/proc/self/task";
/// How often it is looked whether all have ended.
const LOOK: Duration = Duration::from_millis(2);
/// How long they may take to end: a kill is a matter of milliseconds, but for what the user may not end or what starts itself anew
/// faster than it is ended, and nobody waits for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether this process is the parent of whoever has lost theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Descendants {
    Adopted,
    /// They come to somebody else, out of reach.
    Loose,
}

impl Descendants {
    /// Adopts all that this process is going to start, and what that starts, where the system can do that.
    pub(super) fn adopted() -> Self {
        match adopt() {
            Ok(()) => Self::Adopted,
            Err(_) => Self::Loose,
        }
    }

    /// Ends those that are within reach. Only for a process whose children are all to end.
    pub(super) fn end(self) {
        match self {
            Self::Adopted => end_children(),
            Self::Loose => {}
        }
    }
}

#[cfg(target_os = "linux")]
fn adopt() -> io::Result<()> {
    let this = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(this))?)
}

#[cfg(not(target_os = "linux"))]
fn adopt() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Ends children until there are none. When one ends, those that it has started become children.
fn end_children() {
    let until = Instant::now() + PATIENCE;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    while Instant::now() < until {
        for child in children() {
            // Its number is its own until it is waited for below. If it fails, it has ended already.
            kill_process(child, Signal::KILL).unwrap_or_default();
        }
        match waitid(WaitId::All, look) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(LOOK),
            // There is nobody to wait for.
            Err(_) => return,
        }
    }
}

/// The children of this process. What cannot be read has none.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir(THREADS).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| {
        let numbers = list.split_whitespace().filter_map(|word| word.parse().ok());
        numbers.filter_map(Pid::from_raw).collect::<Vec<_>>()
    };
    lists.flat_map(numbers).collect()
}
