//! The git commands that talk to remotes right now. They are in groups of their own, which Ctrl-C at a terminal does not reach:
//! whoever leaves in the middle of a fetch ends them here.

use std::collections::BTreeSet;
use std::io;
use std::process::Child;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::kill_process_group;

/// How long it is waited for what was ended by force: longer than any system takes that still works.
const LAST_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct UnderWay {
    /// The leaders of the groups, none of which has been waited for.
    groups: BTreeSet<u32>,
    /// Whether the program is about to end.
    leaving: bool,
}

static UNDER_WAY: Mutex<UnderWay> =
    Mutex::new(UnderWay { groups: BTreeSet::new(), leaving: false });
static FEWER: Condvar = Condvar::new();

fn under_way() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child that leads a group of its own.
pub(crate) fn started(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    // Held while it starts, so that none is missed by whoever ends them.
    let mut under_way = under_way();
    if under_way.leaving {
        return Err(io::Error::other("the program is about to end"));
    }
    let child = spawn()?;
    under_way.groups.insert(child.id());
    Ok(child)
}

/// Notes that a child has been waited for. Does not come back if the program is about to end: what was ended by force has nothing to
/// say.
pub(crate) fn ended(id: u32) {
    let mut under_way = under_way();
    under_way.groups.remove(&id);
    FEWER.notify_all();
    while under_way.leaving {
        under_way = FEWER.wait(under_way).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Ends every git that talks to a remote, with what it has started, and waits until it has. For a program that ends then: no other
/// one is started, and whoever waits for one of these is never told.
pub fn end_fetches() {
    let mut under_way = under_way();
    under_way.leaving = true;
    let groups = under_way.groups.iter().filter_map(|id| Pid::from_raw(i32::try_from(*id).ok()?));
    for group in groups {
        // If it fails, it has ended by itself in this moment.
        kill_process_group(group, Signal::KILL).unwrap_or_default();
    }
    let all_ended =
        FEWER.wait_timeout_while(under_way, LAST_WAIT, |under_way| !under_way.groups.is_empty());
    drop(all_ended);
}
