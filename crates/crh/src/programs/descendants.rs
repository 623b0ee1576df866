//! Kills all descendants of a command, including those that left its process group. The companion
//! process (see `verify.rs`) is a subreaper, so orphaned descendants become its children.

use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Folder with one folder per thread of this process; each has a list of child processes.
const THREADS_FOLDER: &str = "/proc/self/task";
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Time limit for killing all children. Killing takes milliseconds, except for processes of other
/// users and for fork bombs; crh does not wait for those.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether orphaned descendants become children of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Descendants {
    Adopted,
    /// Orphans go to another process.
    Unreachable,
}

impl Descendants {
    /// Makes this process a subreaper if the system supports it.
    pub(super) fn adopt() -> Self {
        match become_subreaper() {
            Ok(()) => Self::Adopted,
            Err(_) => Self::Unreachable,
        }
    }

    /// Kills all children. Use only in a process whose children should all end.
    pub(super) fn kill(self) {
        match self {
            Self::Adopted => kill_children(),
            Self::Unreachable => {}
        }
    }
}

fn become_subreaper() -> io::Result<()> {
    let own_pid = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(own_pid))?)
}

/// Kills children until there are none. Children of a killed process become children of this one.
fn kill_children() {
    let deadline = Instant::now() + KILL_TIMEOUT;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    while Instant::now() < deadline {
        for child in children() {
            // The pid stays valid until `waitid` below. Fails if the process has already exited.
            kill_process(child, Signal::KILL).unwrap_or_default();
        }
        match waitid(WaitId::All, options) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            // There are no children.
            Err(_) => return,
        }
    }
}

/// Children of this process, as far as `/proc` can be read.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir(THREADS_FOLDER).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids = |list: String| {
        let numbers_in_list = list.split_whitespace().filter_map(|word| word.parse().ok());
        numbers_in_list.filter_map(Pid::from_raw).collect::<Vec<_>>()
    };
    lists.flat_map(pids).collect()
}
