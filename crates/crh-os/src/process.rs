//! Child processes that end as a whole, with everything that they start.
//!
//! Unix: a process group, which gets signals. Windows: a job object. It has no signals, so a process
//! that is asked to end is killed at once. A job also ends when the process that started it does.

#[cfg_attr(unix, path = "process/unix.rs")]
#[cfg_attr(windows, path = "process/windows.rs")]
mod system;

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

/// How a process is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM: the process may tidy up. Windows: kills it.
    Terminate,
    /// SIGINT, as Ctrl-C sends it. Windows: kills it.
    Interrupt,
    /// SIGKILL.
    Kill,
}

/// A child process, alone or with everything that it starts. Clones mean the same processes.
#[derive(Debug, Clone)]
pub struct ProcessGroup(system::Group);

impl PartialEq for ProcessGroup {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

impl ProcessGroup {
    /// Signals the processes. The leader must not be reaped yet. Processes that have exited are no
    /// error.
    pub fn signal(&self, signal: EndSignal) {
        self.0.signal(signal);
    }

    /// Signals only the leader, which tells the others itself. Windows: as [`Self::signal`].
    pub fn signal_leader(&self, signal: EndSignal) {
        self.0.signal_leader(signal);
    }
}

/// Starts a child as the leader of its own group, which Ctrl-C does not reach.
pub fn spawn_group(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    system::spawn_group(command).map(|(child, group)| (child, ProcessGroup(group)))
}

/// Starts a child in the group of this process, so that Ctrl-C reaches it. Signals to the returned
/// group reach only the child. Windows: they also end what it has started.
pub fn spawn_alone(command: &mut Command) -> io::Result<(Child, ProcessGroup)> {
    system::spawn_alone(command).map(|(child, group)| (child, ProcessGroup(group)))
}

/// Starts a child that may outlive this process and that Ctrl-C does not reach.
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    system::detach(command).spawn()
}

/// Whether a child has exited. Does not reap it, so that its process id stays valid.
pub fn has_exited(child: &mut Child) -> io::Result<bool> {
    system::has_exited(child)
}

/// Waits until a child exits. Does not reap it, so that its process id stays valid.
pub fn wait_until_exited(child: &mut Child) -> io::Result<()> {
    system::wait_until_exited(child)
}

/// Starts a thread that ends this process when its standard input ends. The thread sends each
/// signal to this process and then waits for the duration given with the signal. Finally it kills
/// the process group, which this process must lead. Windows: does nothing, because the job ends
/// with the process that started it.
pub fn end_with_input(signals: [(EndSignal, Duration); 2]) {
    system::end_with_input(signals);
}
