//! The one place where programs are started: on standard input alone, in an empty folder, with nothing of the user's environment but
//! where programs are, and never for longer or with more to say than they should.
//!
//! This keeps an analyser from reading the user's settings. What keeps it from the disk and the network is the sandbox: there the
//! program that is started is the helper, which comes back here to start what it was told to.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often it is asked whether a program is to be stopped: whoever stops it does not notice as little.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// How often it is asked whether a program that has closed its output has ended: nobody notices as little.
const LOOK: Duration = Duration::from_millis(2);

/// A program that is about to be run.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [&'a str],
    /// Where it finds other programs.
    pub(crate) path: &'a OsStr,
    /// What it reads from standard input.
    pub(crate) input: Vec<u8>,
}

/// How far a program may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// How long it may take.
    pub(crate) time: Duration,
    /// How many bytes it may print, on each of its two outputs.
    pub(crate) output: u64,
    /// Whether nobody wants to wait for it any more.
    pub(crate) is_stopped: fn() -> bool,
}

/// For what is waited for in any case: it takes seconds.
pub(crate) const UNSTOPPED: fn() -> bool = || false;

/// A program that came to its end.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why a program did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfinished {
    #[error("it could not be run")]
    Io(#[from] io::Error),
    #[error("it took too long")]
    TooSlow,
    #[error("it was stopped")]
    Stopped,
    #[error("it printed too much")]
    TooMuch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

type Collected = (Stream, io::Result<Vec<u8>>);

/// Runs a program to its end. Whatever it has started and is still in its group is ended with it, however it went.
pub(crate) fn run(launch: Launch<'_>, bounds: Bounds) -> Result<Finished, Unfinished> {
    let Launch { program, args, path, input } = launch;
    let folder = tempfile::tempdir()?;
    let began = Instant::now();
    let mut command = command(program);
    command.args(args).current_dir(folder.path()).env_clear().env("PATH", path);
    let mut child = command.spawn()?;
    let said = said(&mut child, input, bounds, began);
    end(&child);
    // It has ended by itself or was ended now; only here its number is given back.
    let status = child.wait()?;
    let (stdout, stderr) = said?;
    Ok(Finished { status, stdout, stderr })
}

/// Runs a program with this on its standard input and otherwise in the place of this process: what it prints is what this process prints.
/// Its exit code, or 128 and the number of the signal that ended it.
pub(crate) fn follow(program: &Path, args: &[&str], input: &[u8]) -> io::Result<u8> {
    let mut command = bare(program);
    let mut child = command.args(args).env_clear().stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let status = child.wait()?;
    let signal = || 128 + status.signal().unwrap_or_default();
    Ok(u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(u8::MAX))
}

/// Makes this process another program, with these variables and no other. It comes back only if that cannot be done.
pub(crate) fn become_program(
    program: &Path,
    args: &[String],
    folder: &Path,
    variables: &[(&str, &OsStr)],
) -> io::Error {
    bare(program).args(args).current_dir(folder).env_clear().envs(variables.iter().copied()).exec()
}

#[expect(clippy::disallowed_methods, reason = "this is where analysers are run")]
fn bare(program: &Path) -> Command {
    Command::new(program)
}

fn command(program: &Path) -> Command {
    let mut command = bare(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it starts can be ended with it.
    command.process_group(0);
    command
}

/// Everything that a program prints until it ends, on its two outputs. It is not waited for in the sense of the system: its number stays
/// its own.
fn said(
    child: &mut Child,
    input: Vec<u8>,
    bounds: Bounds,
    began: Instant,
) -> Result<(Vec<u8>, Vec<u8>), Unfinished> {
    let left = || bounds.time.checked_sub(began.elapsed()).ok_or(Unfinished::TooSlow);
    // These threads end with the pipes. They are not waited for: somebody who got away may hold a pipe open for ever.
    let stdin = child.stdin.take();
    thread::spawn(move || {
        // A program that stops reading says why on its standard error.
        stdin.is_some_and(|mut stdin| stdin.write_all(&input).is_ok())
    });
    let (sender, collected) = mpsc::channel();
    collect(Stream::Out, child.stdout.take(), bounds.output, sender.clone());
    collect(Stream::Err, child.stderr.take(), bounds.output, sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (stream, bytes) = loop {
            match collected.recv_timeout(left()?.min(STOP_LOOK)) {
                Ok(collected) => break collected,
                Err(RecvTimeoutError::Disconnected) => return Err(Unfinished::TooSlow),
                Err(RecvTimeoutError::Timeout) if (bounds.is_stopped)() => {
                    return Err(Unfinished::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let bytes = bytes?;
        if bytes.len() as u64 > bounds.output {
            return Err(Unfinished::TooMuch);
        }
        match stream {
            Stream::Out => stdout = bytes,
            Stream::Err => stderr = bytes,
        }
    }
    while !has_ended(child)? {
        if (bounds.is_stopped)() {
            return Err(Unfinished::Stopped);
        }
        thread::sleep(LOOK.min(left()?));
    }
    Ok((stdout, stderr))
}

fn has_ended(child: &Child) -> io::Result<bool> {
    let Some(id) = number(child) else { return Ok(true) };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(id), look)?.is_some())
}

/// Reads all that comes, or one byte more than it may be.
fn collect(
    stream: Stream,
    from: Option<impl Read + Send + 'static>,
    most: u64,
    sender: Sender<Collected>,
) {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = match from {
            Some(from) => from.take(most.saturating_add(1)).read_to_end(&mut bytes),
            None => Ok(0),
        };
        // Nobody listens any more if it took too long.
        sender.send((stream, read.map(|_| bytes))).is_ok()
    });
}

/// Ends a program that was started here and has not been waited for, so that its number is still its own, and all of its group.
fn end(child: &Child) {
    let Some(id) = number(child) else { return };
    // If it fails, everybody has ended already.
    kill_process_group(id, Signal::KILL).unwrap_or_default();
}

fn number(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_nobody_waits_for_any_more_is_ended() {
        let bounds = Bounds { time: Duration::MAX, output: 1_000, is_stopped: || true };
        let (program, args, path) = (Path::new("/bin/sleep"), &["1000"], OsStr::new(""));
        let launch = Launch { program, args, path, input: Vec::new() };
        assert!(matches!(run(launch, bounds), Err(Unfinished::Stopped)));
    }
}
