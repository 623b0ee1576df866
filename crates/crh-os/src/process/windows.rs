//! Windows: job objects.
//!
//! crh puts a child into its job right after the start. A process that the child starts before that
//! would stay outside the job. That does not happen, because a child needs longer to load.

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use win32job::{ExtendedLimitInfo, Job};

use super::EndSignal;

/// Flag of `CreateProcess`: Ctrl-C does not reach the child and what it starts.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// The processes of a job end when its last handle is closed, also if this process is killed.
#[derive(Debug, Clone)]
pub(super) struct Group {
    id: u32,
    /// `None` after the processes were killed, or if the child exited before it got a job.
    job: Arc<Mutex<Option<Job>>>,
}

impl Group {
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn signal(&self, signal: EndSignal) {
        match signal {
            EndSignal::Terminate | EndSignal::Interrupt | EndSignal::Kill => {
                drop(self.job.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        }
    }

    pub(super) fn signal_leader(&self, signal: EndSignal) {
        self.signal(signal);
    }

    /// Puts a child into a new job. If that fails, kills the child.
    fn around(child: &mut Child) -> io::Result<Self> {
        let job = match new_job_with(child) {
            Ok(job) => Some(job),
            Err(_) if child.try_wait()?.is_some() => None,
            Err(error) => {
                child.kill()?;
                return Err(io::Error::other(error));
            }
        };
        Ok(Self { id: child.id(), job: Arc::new(Mutex::new(job)) })
    }
}

fn new_job_with(child: &Child) -> Result<Job, win32job::JobError> {
    let mut limits = ExtendedLimitInfo::new();
    let job = Job::create_with_limit_info(limits.limit_kill_on_job_close())?;
    job.assign_process(child.as_raw_handle() as isize)?;
    Ok(job)
}

pub(super) fn spawn_group(command: &mut Command) -> io::Result<(Child, Group)> {
    spawn_alone(detach(command))
}

pub(super) fn spawn_alone(command: &mut Command) -> io::Result<(Child, Group)> {
    let mut child = command.spawn()?;
    let group = Group::around(&mut child)?;
    Ok((child, group))
}

pub(super) fn detach(command: &mut Command) -> &mut Command {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP)
}

/// No other process gets the id of a child while its handle is open, so there is nothing to reap.
pub(super) fn has_exited(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

pub(super) fn wait_until_exited(child: &mut Child) -> io::Result<()> {
    child.wait().map(drop)
}

pub(super) fn end_with_input(_: [(EndSignal, Duration); 2]) {}
