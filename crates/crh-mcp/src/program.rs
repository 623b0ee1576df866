//! Runs the program crh as a child process: with a time limit, a limit on its output, and a flag
//! that stops it.
//!
//! A child is a process group of its own, so that it ends as a whole. It ends when its call is
//! stopped, and also when this process ends, even by SIGKILL: see [`end_with_parent`].

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crh_os::process::{EndSignal, ProcessGroup, end_with_input, has_exited, spawn_group};

/// First argument of a child that must end with its parent. `crh` calls [`end_with_parent`] and
/// then reads the other arguments as usual.
pub const ATTENDED: &str = "__attended";

/// Maximum bytes of standard output. A large report has a few megabytes.
const OUTPUT_MAX: u64 = 64 << 20;
/// Maximum bytes of one line of standard error. The rest of a longer line is a line of its own.
const LINE_MAX: u64 = 64 << 10;
/// Number of lines of standard error to keep for messages: the last ones.
const KEPT_LINES: usize = 40;
/// How often to check for the exit of the child and for the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time for crh to end by itself after SIGTERM: to cancel model calls and store the run.
const TERM_WAIT: Duration = Duration::from_secs(5);
/// Time to end after SIGINT, which makes crh stop its git fetches and exit at once.
const INTERRUPT_WAIT: Duration = Duration::from_secs(1);
/// Signals that tell a child to end, each with the time that the child then has.
const END_SIGNALS: [(EndSignal, Duration); 2] =
    [(EndSignal::Terminate, TERM_WAIT), (EndSignal::Interrupt, INTERRUPT_WAIT)];
/// Time to read the rest of a pipe after the exit. A process outside the group may keep it open.
const PIPE_WAIT: Duration = Duration::from_secs(1);

/// The program crh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    executable: PathBuf,
}

/// One call of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Working folder.
    pub folder: PathBuf,
    /// Arguments, beginning with the command.
    pub args: Vec<OsString>,
    /// Environment variables to set in addition to those of this process.
    pub variables: Vec<(String, OsString)>,
    /// Time limit.
    pub time_limit: Duration,
}

/// What a child printed until it exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Exit code; `None` if a signal ended the child.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// The last lines of standard error.
    pub stderr: Vec<String>,
}

/// Why a call gave no output.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program cannot be started, or waiting for it failed.
    #[error("cannot run `{}`: {error}", .program.display())]
    NotRun {
        /// Path of the program.
        program: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The stop flag was set.
    #[error("the call was stopped")]
    Stopped,
    /// The time limit was reached.
    #[error("crh did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The child printed too much.
    #[error("crh printed more than {} MB", OUTPUT_MAX >> 20)]
    TooMuchOutput,
}

/// Stops a call from another thread. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Stops the calls that have this flag.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the flag is set.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Invocation {
    /// A call without additional environment variables.
    pub fn new(
        folder: impl Into<PathBuf>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        time_limit: Duration,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { folder: folder.into(), args, variables: Vec::new(), time_limit }
    }
}

impl ProgramOutput {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The error message: the lines of standard error that are not JSON events.
    pub fn message(&self) -> String {
        let lines = self.stderr.iter().filter(|line| !line.starts_with('{'));
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Program {
    /// The program at this path.
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self { executable: executable.into() }
    }

    /// Path of the program.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Runs the program until it exits, is stopped, or reaches a limit, and blocks this thread
    /// meanwhile. `on_line` gets each line of standard error. When this returns, the child and its
    /// process group have ended.
    pub fn run(
        &self,
        call: &Invocation,
        stop: &StopFlag,
        on_line: impl FnMut(&str) + Send + 'static,
    ) -> Result<ProgramOutput, ProgramError> {
        if stop.is_stopped() {
            return Err(ProgramError::Stopped);
        }
        let not_run = |error| ProgramError::NotRun { program: self.executable.clone(), error };
        let (mut child, group) = self.spawn(call).map_err(not_run)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdout = read_in_background(move || read_output(stdout));
        let stderr = read_in_background(move || read_lines(stderr, on_line));
        let end = wait_for_end((&mut child, &group), call.time_limit, stop);
        // Kills what is left of the group.
        group.signal(EndSignal::Kill);
        let status = child.wait();
        match end.map_err(not_run)? {
            WaitEnd::Stopped => return Err(ProgramError::Stopped),
            WaitEnd::TimedOut => return Err(ProgramError::TimedOut(call.time_limit)),
            WaitEnd::Exited => {}
        }
        let stderr = finish_reading(&stderr).map_err(not_run)?.into();
        let stdout = finish_reading(&stdout).map_err(not_run)?;
        let stdout = stdout.ok_or(ProgramError::TooMuchOutput)?;
        Ok(ProgramOutput { code: status.map_err(not_run)?.code(), stdout, stderr })
    }

    #[expect(clippy::disallowed_methods, reason = "this module starts crh itself")]
    fn spawn(&self, call: &Invocation) -> io::Result<(Child, ProcessGroup)> {
        let mut command = Command::new(&self.executable);
        command.arg(ATTENDED).args(&call.args).current_dir(&call.folder);
        command.envs(call.variables.iter().map(|(name, value)| (name, value)));
        // When the call or this process ends, the child's standard input closes: see
        // `end_with_parent`.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        spawn_group(&mut command)
    }
}

/// Ends this process when its parent ends or closes its standard input: by SIGTERM, then by SIGINT,
/// then by killing the process group. Call it in a child that [`Program`] started, because such a
/// child has a process group of its own.
pub fn end_with_parent() {
    end_with_input(END_SIGNALS);
}

/// Why waiting ended.
enum WaitEnd {
    Exited,
    Stopped,
    TimedOut,
}

/// Waits until the child exits. If the call is stopped or reaches its time limit, sends SIGTERM and
/// then SIGINT.
fn wait_for_end(
    (child, group): (&mut Child, &ProcessGroup),
    time_limit: Duration,
    stop: &StopFlag,
) -> io::Result<WaitEnd> {
    let start = Instant::now();
    let end = loop {
        if has_exited(child)? {
            return Ok(WaitEnd::Exited);
        }
        if stop.is_stopped() {
            break WaitEnd::Stopped;
        }
        if start.elapsed() >= time_limit {
            break WaitEnd::TimedOut;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    for (signal, time) in END_SIGNALS {
        group.signal_leader(signal);
        if exits_within(child, time)? {
            break;
        }
    }
    Ok(end)
}

fn exits_within(child: &mut Child, time: Duration) -> io::Result<bool> {
    let start = Instant::now();
    while !has_exited(child)? {
        if start.elapsed() >= time {
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(true)
}

/// Runs a reader of a pipe in a thread. The thread is not joined, because a process outside the
/// group may keep the pipe open.
fn read_in_background<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Receiver<io::Result<T>> {
    let (sender, receiver) = mpsc::channel();
    // After `PIPE_WAIT` there is no receiver.
    std::thread::spawn(move || sender.send(read()).is_ok());
    receiver
}

/// What a reader has read, after the exit of the child.
fn finish_reading<T>(reader: &Receiver<io::Result<T>>) -> io::Result<T> {
    let no_end = |_| io::Error::other("its output has no end");
    reader.recv_timeout(PIPE_WAIT).map_err(no_end)?
}

/// Reads a pipe to its end; `None` if it has too many bytes. The pipe is closed then.
fn read_output(pipe: Option<impl Read>) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(OUTPUT_MAX + 1).read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= OUTPUT_MAX).then_some(bytes))
}

/// Hands over each line of a pipe, and returns the last ones.
fn read_lines(
    pipe: Option<impl Read>,
    mut on_line: impl FnMut(&str),
) -> io::Result<VecDeque<String>> {
    let mut kept_lines = VecDeque::new();
    let Some(pipe) = pipe else { return Ok(kept_lines) };
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut bytes = Vec::new();
        if (&mut pipe).take(LINE_MAX).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(kept_lines);
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        on_line(&line);
        if kept_lines.len() == KEPT_LINES {
            kept_lines.pop_front();
        }
        kept_lines.push_back(line);
    }
}

#[cfg(test)]
mod tests;
