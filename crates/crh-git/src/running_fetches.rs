//! The git commands that talk to remotes right now. They are in groups of their own, which Ctrl-C at a terminal does not reach:
//! whoever leaves in the middle of a fetch ends them here.

use std::io;
use std::process::Child;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a git that was told to end may take for removing its locks and half-written files. That is a matter of milliseconds; and
/// whoever has pressed Ctrl-C does not wait much longer.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// How long it is waited for what was ended by force: longer than any system takes that still works.
const LAST_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct UnderWay {
    /// The leaders of the groups. None has been waited for, so that no number here is another's by now.
    groups: Vec<Pid>,
    /// Whether the program is about to end.
    leaving: bool,
}

impl UnderWay {
    fn tell(&self, signal: Signal) {
        for group in &self.groups {
            tell_group(*group, signal);
        }
    }
}

static UNDER_WAY: Mutex<UnderWay> = Mutex::new(UnderWay { groups: Vec::new(), leaving: false });
static FEWER: Condvar = Condvar::new();

fn under_way() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a signal to a group whose leader has not been waited for.
pub(crate) fn tell_group(leader: Pid, signal: Signal) {
    // If it fails, all of it has ended by itself in this moment.
    kill_process_group(leader, signal).unwrap_or_default();
}

/// Starts a child that leads a group of its own. Does not come back if the program is about to end.
pub(crate) fn started(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    // Held while it starts, so that none is missed by whoever ends them.
    let mut under_way = under_way();
    if under_way.leaving {
        wait_for_the_end(under_way);
    }
    let child = spawn()?;
    under_way.groups.push(Pid::from_child(&child));
    Ok(child)
}

/// Notes that a child has ended that is not waited for yet. Does not come back if the program is about to end: what was ended from
/// here has nothing to say.
pub(crate) fn ended(leader: Pid) {
    let mut under_way = under_way();
    if under_way.leaving {
        // What it has started may be deaf.
        tell_group(leader, Signal::KILL);
    }
    under_way.groups.retain(|group| *group != leader);
    FEWER.notify_all();
    if under_way.leaving {
        wait_for_the_end(under_way);
    }
}

fn wait_for_the_end(mut under_way: MutexGuard<'_, UnderWay>) -> ! {
    loop {
        under_way = FEWER.wait(under_way).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Ends every git that talks to a remote, with what it has started, and waits until it has: first with a request, so that no lock is
/// left behind, then by force. For a program that ends then: no other one is started, and whoever waits for one of these is never
/// told.
pub fn end_fetches() {
    let mut under_way = under_way();
    under_way.leaving = true;
    under_way.tell(Signal::TERM);
    let under_way = until_none(under_way, GRACE);
    under_way.tell(Signal::KILL);
    drop(until_none(under_way, LAST_WAIT));
}

fn until_none(under_way: MutexGuard<'_, UnderWay>, limit: Duration) -> MutexGuard<'_, UnderWay> {
    let is_some = |under_way: &mut UnderWay| !under_way.groups.is_empty();
    let waited = FEWER.wait_timeout_while(under_way, limit, is_some);
    waited.unwrap_or_else(PoisonError::into_inner).0
}
