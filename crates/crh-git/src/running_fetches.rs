//! Running git network commands. They have their own process groups, which Ctrl-C does not reach,
//! so crh stops them here before it exits.

use std::io;
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crh_os::process;
use crh_os::process::{EndSignal, ProcessGroup};

/// Time for git to remove its locks after SIGTERM. The user waits that long after Ctrl-C.
pub(crate) const SIGTERM_WAIT: Duration = Duration::from_secs(2);
/// Time to wait after SIGKILL for the processes to disappear.
const SIGKILL_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct RunningFetches {
    /// Group leaders that are not reaped, so that no process id is reused.
    groups: Vec<ProcessGroup>,
    /// Whether crh is about to exit.
    is_exiting: bool,
}

impl RunningFetches {
    fn signal_all(&self, signal: EndSignal) {
        for group in &self.groups {
            group.signal(signal);
        }
    }
}

static RUNNING: Mutex<RunningFetches> =
    Mutex::new(RunningFetches { groups: Vec::new(), is_exiting: false });
static GROUP_ENDED: Condvar = Condvar::new();

fn lock_running() -> MutexGuard<'static, RunningFetches> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child in its own process group. Never returns if crh is exiting.
pub(crate) fn spawn_group(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    // Hold the lock while spawning, so that `stop_fetches` misses no child.
    let mut running = lock_running();
    if running.is_exiting {
        wait_for_exit(running);
    }
    let (child, group) = process::spawn_group(command)?;
    running.groups.push(group.clone());
    Ok((child, group))
}

/// Removes the group of an exited child that is not reaped yet. Never returns if crh is exiting,
/// because the result no longer matters.
pub(crate) fn remove_group(ended_group: &ProcessGroup) {
    let mut running = lock_running();
    if running.is_exiting {
        // The children of git may ignore SIGTERM.
        ended_group.signal(EndSignal::Kill);
    }
    running.groups.retain(|group| group != ended_group);
    GROUP_ENDED.notify_all();
    if running.is_exiting {
        wait_for_exit(running);
    }
}

fn wait_for_exit(mut running: MutexGuard<'_, RunningFetches>) -> ! {
    loop {
        running = GROUP_ENDED.wait(running).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Stops all git network commands and their children, and waits for them: first SIGTERM, so that no
/// lock is left, then SIGKILL. Call it right before exiting: no new command starts, and waiting
/// callers never return.
pub fn stop_fetches() {
    let mut running = lock_running();
    running.is_exiting = true;
    running.signal_all(EndSignal::Terminate);
    let running = wait_until_empty(running, SIGTERM_WAIT);
    running.signal_all(EndSignal::Kill);
    drop(wait_until_empty(running, SIGKILL_WAIT));
}

fn wait_until_empty(
    running: MutexGuard<'_, RunningFetches>,
    limit: Duration,
) -> MutexGuard<'_, RunningFetches> {
    let has_groups = |running: &mut RunningFetches| !running.groups.is_empty();
    let result = GROUP_ENDED.wait_timeout_while(running, limit, has_groups);
    result.unwrap_or_else(PoisonError::into_inner).0
}
