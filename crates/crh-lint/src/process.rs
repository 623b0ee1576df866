//! Starts external programs. None of them gets the user's environment variables, except `PATH` and,
//! on Windows, those that every program needs to start.
//!
//! - [`run`] starts a program in an empty folder, with its data on standard input and with limits
//!   on time and output. It starts the sandbox helper, and ruff in evaluations.
//! - [`run_inherited`] and [`exec`] are for the helper, which consists of two processes. The first
//!   process starts the second with `run_inherited`. With `exec`, the second process becomes the
//!   analyser or the user's command.
//!
//! This module does not block access to disk and network. The helper does that before `exec`.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

use crh_os::environment::system_variables;
use crh_os::process::{EndSignal, has_exited, spawn_group};

/// Interval for checking whether the user has cancelled.
const STOP_POLL: Duration = Duration::from_millis(50);
/// Interval for checking whether a program that closed its output has exited.
const EXIT_POLL: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(crate) struct ProcessCommand<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [&'a str],
    /// Value of `PATH` for the program.
    pub(crate) path: &'a OsStr,
    /// Standard input.
    pub(crate) input: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessLimits {
    /// Time limit.
    pub(crate) time: Duration,
    /// Output limit in bytes, for each of stdout and stderr.
    pub(crate) output: u64,
    /// Returns whether the user has cancelled.
    pub(crate) is_stopped: fn() -> bool,
}

/// For programs that crh does not stop if the user cancels. Their time limit ends them.
pub(crate) const NEVER_STOPPED: fn() -> bool = || false;

/// Output of a finished program.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why a program did not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("it could not be started")]
    Io(#[from] io::Error),
    #[error("it took too long")]
    Timeout,
    #[error("it was stopped")]
    Stopped,
    #[error("it printed too much")]
    TooMuchOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputStream {
    Out,
    Err,
}

type CollectedStream = (OutputStream, io::Result<Vec<u8>>);

/// Runs a program to its end in an empty folder. Then kills the rest of its process group. Of the
/// environment variables, the program gets only `PATH` and [`system_variables`].
pub(crate) fn run(
    process_command: ProcessCommand<'_>,
    limits: ProcessLimits,
) -> Result<ProcessOutput, ProcessError> {
    let ProcessCommand { program, args, path, input } = process_command;
    let folder = tempfile::tempdir()?;
    let start = Instant::now();
    let mut command = piped_command(program);
    command
        .args(args)
        .current_dir(folder.path())
        .env_clear()
        .envs(system_variables())
        .env("PATH", path);
    // The program gets its own process group, so that its children can be killed with it.
    let (mut child, group) = spawn_group(&mut command)?;
    let output = collect_output(&mut child, input, limits, start);
    // The program is not reaped yet, so no other process has its pid.
    group.signal(EndSignal::Kill);
    // The process has exited or was killed; `wait` releases its pid.
    let status = child.wait()?;
    let (stdout, stderr) = output?;
    Ok(ProcessOutput { status, stdout, stderr })
}

/// Runs a program with the given standard input, inherited output and no limits. Returns the exit
/// code, or 128 plus the number of the signal that ended the program.
#[cfg(target_os = "linux")]
pub(crate) fn run_inherited(program: &Path, args: &[&str], input: &[u8]) -> io::Result<u8> {
    use std::os::unix::process::ExitStatusExt as _;

    let mut command = new_command(program);
    let mut child = command.args(args).env_clear().stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let status = child.wait()?;
    let signal = || 128 + status.signal().unwrap_or_default();
    Ok(u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(u8::MAX))
}

/// Replaces this process by another program, with only these environment variables. Returns only on
/// failure.
#[cfg(target_os = "linux")]
pub(crate) fn exec(
    program: &Path,
    args: &[String],
    folder: &Path,
    variables: &[(&str, &OsStr)],
) -> io::Error {
    use std::os::unix::process::CommandExt as _;

    new_command(program)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .exec()
}

#[expect(clippy::disallowed_methods, reason = "this is where analysers are run")]
fn new_command(program: &Path) -> Command {
    Command::new(program)
}

fn piped_command(program: &Path) -> Command {
    let mut command = new_command(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Collects the output until the program exits. Does not reap the process, so that no other process
/// can get the same pid.
fn collect_output(
    child: &mut Child,
    input: Vec<u8>,
    limits: ProcessLimits,
    start: Instant,
) -> Result<(Vec<u8>, Vec<u8>), ProcessError> {
    let time_left = || limits.time.checked_sub(start.elapsed()).ok_or(ProcessError::Timeout);
    // These threads end when the pipes are closed. They are not joined, because a detached process
    // may hold a pipe open forever.
    let stdin = child.stdin.take();
    thread::spawn(move || {
        // A failed write is ignored: a program that stops reading reports the reason on stderr.
        stdin.is_some_and(|mut stdin| stdin.write_all(&input).is_ok())
    });
    let (sender, collected) = mpsc::channel();
    collect_stream(OutputStream::Out, child.stdout.take(), limits.output, sender.clone());
    collect_stream(OutputStream::Err, child.stderr.take(), limits.output, sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (stream, bytes) = loop {
            match collected.recv_timeout(time_left()?.min(STOP_POLL)) {
                Ok(collected) => break collected,
                Err(RecvTimeoutError::Disconnected) => return Err(ProcessError::Timeout),
                Err(RecvTimeoutError::Timeout) if (limits.is_stopped)() => {
                    return Err(ProcessError::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let bytes = bytes?;
        if bytes.len() as u64 > limits.output {
            return Err(ProcessError::TooMuchOutput);
        }
        match stream {
            OutputStream::Out => stdout = bytes,
            OutputStream::Err => stderr = bytes,
        }
    }
    while !has_exited(child)? {
        if (limits.is_stopped)() {
            return Err(ProcessError::Stopped);
        }
        thread::sleep(EXIT_POLL.min(time_left()?));
    }
    Ok((stdout, stderr))
}

/// Reads the output of a program up to one byte over the limit, which shows that there is more.
fn collect_stream(
    stream: OutputStream,
    pipe: Option<impl Read + Send + 'static>,
    max_bytes: u64,
    sender: Sender<CollectedStream>,
) {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = match pipe {
            Some(pipe) => pipe.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes),
            None => Ok(0),
        };
        // Sending fails if the receiver is gone after a timeout.
        sender.send((stream, result.map(|_| bytes))).is_ok()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_program_is_killed() {
        let limits = ProcessLimits { time: Duration::MAX, output: 1_000, is_stopped: || true };
        let (program, args, path) = (Path::new("/bin/sleep"), &["1000"], OsStr::new(""));
        let process_command = ProcessCommand { program, args, path, input: Vec::new() };
        assert!(matches!(run(process_command, limits), Err(ProcessError::Stopped)));
    }
}
