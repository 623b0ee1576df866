//! Unix: process groups and signals.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, kill_process_group, waitid,
};

use super::EndSignal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    leader: Pid,
    reach: SignalReach,
}

#[derive(Debug, Clone, Copy)]
enum SignalReach {
    Group,
    Leader,
}

impl Group {
    pub(super) fn id(&self) -> Pid {
        self.leader
    }

    pub(super) fn signal(&self, signal: EndSignal) {
        let signal = number(signal);
        let result = match self.reach {
            SignalReach::Group => kill_process_group(self.leader, signal),
            SignalReach::Leader => kill_process(self.leader, signal),
        };
        // An error means that the processes have just exited.
        result.unwrap_or_default();
    }

    pub(super) fn signal_leader(&self, signal: EndSignal) {
        // An error means that the process has just exited.
        kill_process(self.leader, number(signal)).unwrap_or_default();
    }
}

fn number(signal: EndSignal) -> Signal {
    match signal {
        EndSignal::Terminate => Signal::TERM,
        EndSignal::Interrupt => Signal::INT,
        EndSignal::Kill => Signal::KILL,
    }
}

pub(super) fn spawn_group(command: &mut Command) -> io::Result<(Child, Group)> {
    let child = command.process_group(0).spawn()?;
    let leader = Pid::from_child(&child);
    Ok((child, Group { leader, reach: SignalReach::Group }))
}

pub(super) fn spawn_alone(command: &mut Command) -> io::Result<(Child, Group)> {
    let child = command.spawn()?;
    let leader = Pid::from_child(&child);
    Ok((child, Group { leader, reach: SignalReach::Leader }))
}

pub(super) fn detach(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

pub(super) fn has_exited(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

pub(super) fn wait_until_exited(child: &Child) -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(child)), options))?;
    Ok(())
}

pub(super) fn end_with_input(signals: [(EndSignal, Duration); 2]) {
    let wait = move || {
        // Returns at the end of the input, or if it cannot be read.
        io::copy(&mut io::stdin().lock(), &mut io::sink()).unwrap_or_default();
        // Signals to the own process fail only if they are unknown.
        for (signal, time) in signals {
            kill_process(getpid(), number(signal)).unwrap_or_default();
            std::thread::sleep(time);
        }
        kill_process_group(getpgrp(), Signal::KILL).unwrap_or_default();
    };
    // If the thread cannot start, only the parent's signals end this process.
    drop(std::thread::Builder::new().name("parent".to_owned()).spawn(wait));
}
