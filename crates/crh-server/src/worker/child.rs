//! Child processes: `crh` without the worker's environment, in its own process group, with a time
//! limit.

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};

use super::signal::StopSignal;
use crate::job::{AttemptFailure, RetryAdvice};

/// Variable with the process id of the worker. `crh` ends when that process does.
pub const PARENT_VARIABLE: &str = "CRH_PARENT_PROCESS";

/// Maximum output of a child that the worker keeps, in bytes: the last part. A report as JSON is
/// smaller.
const OUTPUT_MAX: usize = 4 << 20;

/// Time between SIGTERM and SIGKILL. `crh` needs it to store what it has.
const GRACE: Duration = Duration::from_secs(10);

/// A command to run as a child.
#[derive(Debug)]
pub struct ChildCommand {
    /// Program.
    pub program: PathBuf,
    /// Arguments. They are visible to other processes, so they hold no secret.
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, SecretString)>,
    /// Working folder.
    pub folder: PathBuf,
    /// Time limit.
    pub timeout: Duration,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildEnd {
    /// It exited.
    Exited {
        /// Exit code.
        code: i32,
        /// Last part of standard output.
        stdout: String,
        /// Last part of standard error.
        stderr: String,
    },
    /// A signal ended it, such as the kernel's for too much memory.
    Killed,
    /// It ran for too long.
    TimedOut,
    /// The worker stopped it, because of the stop signal.
    Stopped,
    /// It could not be started.
    NotStarted(String),
}

impl ChildEnd {
    /// The failure of a step whose child ended like this.
    pub(crate) fn failure(self, step: &str) -> AttemptFailure {
        let (reason, retry) = match self {
            Self::Exited { code, stderr, .. } => {
                let advice = if code == 2 { RetryAdvice::Never } else { RetryAdvice::Backoff };
                (error_line(&stderr, &format!("exit code {code}")), advice)
            }
            Self::Killed => ("a signal ended the process".to_owned(), RetryAdvice::Backoff),
            Self::TimedOut => ("the time limit is reached".to_owned(), RetryAdvice::Backoff),
            Self::Stopped => ("the worker stopped".to_owned(), RetryAdvice::Backoff),
            Self::NotStarted(error) => (error, RetryAdvice::Backoff),
        };
        AttemptFailure { reason: format!("{step}: {reason}"), retry }
    }
}

/// The text of the last line that starts with `error: `, else the last line, else `fallback`. At
/// most 300 characters, without control characters.
pub(super) fn error_line(stderr: &str, fallback: &str) -> String {
    let line = stderr.lines().rev().find_map(|line| line.strip_prefix("error: "));
    line.or_else(|| stderr.lines().rev().find(|line| !line.trim().is_empty()))
        .unwrap_or(fallback)
        .chars()
        .filter(|letter| !letter.is_control())
        .take(300)
        .collect()
}

/// Runs a child to its end. In every case, no process of its group is left.
pub async fn run_child(command: &ChildCommand, stop: &StopSignal) -> ChildEnd {
    let mut child = match spawn(command) {
        Ok(child) => child,
        Err(error) => {
            return ChildEnd::NotStarted(format!(
                "cannot start `{}`: {error}",
                command.program.display()
            ));
        }
    };
    let group = child.id();
    let stdout = tokio::spawn(read_tail(child.stdout.take()));
    let stderr = tokio::spawn(read_tail(child.stderr.take()));
    let end = tokio::select! {
        status = child.wait() => match status {
            Ok(status) => exit_code(status).map_or(ChildEnd::Killed, |code| ChildEnd::Exited {
                code,
                stdout: String::new(),
                stderr: String::new(),
            }),
            Err(_) => ChildEnd::Killed,
        },
        () = tokio::time::sleep(command.timeout) => ChildEnd::TimedOut,
        () = stop.stopped() => ChildEnd::Stopped,
    };
    match &end {
        ChildEnd::Exited { .. } | ChildEnd::Killed | ChildEnd::NotStarted(_) => {}
        ChildEnd::TimedOut | ChildEnd::Stopped => {
            signal_group(group, Signal::TERM);
            // Whether the child ends in time does not matter: the group is killed anyway.
            drop(tokio::time::timeout(GRACE, child.wait()).await);
        }
    }
    signal_group(group, Signal::KILL);
    // The group is gone, so the pipes close.
    let (stdout, stderr) = (stdout.await.unwrap_or_default(), stderr.await.unwrap_or_default());
    match end {
        ChildEnd::Exited { code, .. } => ChildEnd::Exited { code, stdout, stderr },
        other => other,
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place of the server that starts programs")]
fn spawn(command: &ChildCommand) -> std::io::Result<Child> {
    let environment = command.environment.iter().map(|(name, value)| (name, value.expose_secret()));
    Command::new(&command.program)
        .args(&command.arguments)
        .env_clear()
        .envs(environment)
        .env(PARENT_VARIABLE, std::process::id().to_string())
        .current_dir(&command.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Ends the calling process when the worker that started it ends. `parent` is the process id of the
/// worker. `crh` calls it first, so that a killed worker leaves no review behind that spends money.
/// Linux only: elsewhere the child's own limits end it.
pub fn end_with_parent(parent: Option<&str>) {
    #[cfg(target_os = "linux")]
    if let Some(parent) = parent.and_then(|text| text.parse::<i32>().ok()) {
        use rustix::process::{getppid, set_parent_process_death_signal};
        // If the signal cannot be set, the child's own limits end it.
        let _: Result<(), _> = set_parent_process_death_signal(Some(Signal::KILL));
        let is_parent = getppid().is_some_and(|pid| pid.as_raw_nonzero().get() == parent);
        if !is_parent {
            // The worker ended before the death signal was set.
            signal_group(
                u32::try_from(rustix::process::getpid().as_raw_nonzero().get()).ok(),
                Signal::KILL,
            );
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
}

/// Signals a process group. It may be gone already.
fn signal_group(group: Option<u32>, signal: Signal) {
    if let Some(pid) = group.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        let _: Result<(), _> = kill_process_group(pid, signal);
    }
}

fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// The last part of a stream. Reads all of it, so that the child never waits.
async fn read_tail(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * OUTPUT_MAX {
            kept.drain(..kept.len() - OUTPUT_MAX);
        }
    }
    String::from_utf8_lossy(&kept[kept.len().saturating_sub(OUTPUT_MAX)..]).into_owned()
}
