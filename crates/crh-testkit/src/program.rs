//! Runs a program as a user would and captures its output.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for a program that should exit at once, on a slow machine.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A program to run. Its environment is empty except for `PATH`.
#[derive(Debug)]
pub struct Program {
    command: Command,
    stdin: Vec<u8>,
}

/// A running program. Dropping it kills the program.
#[derive(Debug)]
pub struct RunningProgram {
    /// `None` after waiting.
    child: Option<Child>,
    writer: Option<JoinHandle<bool>>,
}

/// Output and exit code of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Exit code; -1 if a signal ended the program.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Program {
    /// A program to run in `folder`.
    #[expect(clippy::disallowed_methods, reason = "tests run the real program")]
    pub fn new(exe: impl AsRef<OsStr>, folder: &Path) -> Self {
        let mut command = Command::new(exe);
        command
            .current_dir(folder)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        Self { command, stdin: Vec::new() }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets several variables of its environment.
    #[must_use]
    pub fn envs(mut self, variables: &[(&'static str, String)]) -> Self {
        self.command.envs(variables.iter().map(|(name, value)| (name, value)));
        self
    }

    /// Sets standard input; empty by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The command, for other ways of starting it.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to the end.
    pub fn run(self) -> Output {
        self.start().end()
    }

    /// Starts the program for tests that act while it runs. Its output stays in a pipe until the
    /// end, so it must be small.
    pub fn start(mut self) -> RunningProgram {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = self.stdin;
        // In a thread, because a program may print before it has read everything.
        let writer = std::thread::spawn(move || {
            // A program may stop reading; the test checks its output.
            stdin.write_all(&bytes).is_ok()
        });
        RunningProgram { child: Some(child), writer: Some(writer) }
    }
}

impl RunningProgram {
    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.send(Signal::INT);
    }

    /// Asks the program to end, as CI systems do.
    pub fn terminate(&self) {
        self.send(Signal::TERM);
    }

    fn send(&self, signal: Signal) {
        let id = self.child.as_ref().unwrap().id();
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        // The process was not waited for, so its id is still valid.
        kill_process(pid, signal).unwrap();
    }

    /// Kills the program with SIGKILL.
    pub fn kill(mut self) -> Output {
        self.child.as_mut().unwrap().kill().unwrap();
        self.end()
    }

    /// Waits for the end without reading output: a program that cannot print must still end.
    ///
    /// # Panics
    ///
    /// After a minute.
    pub fn end_unread(mut self) -> Output {
        let start = Instant::now();
        while self.child.as_mut().unwrap().try_wait().unwrap().is_none() {
            assert!(start.elapsed() < EXIT_TIMEOUT, "the program does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.end()
    }

    /// Waits until the program exits.
    pub fn end(mut self) -> Output {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        self.writer.take().unwrap().join().unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The program may have exited already.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl Output {
    /// Exit code, standard error and standard output as one text.
    pub fn shown(&self) -> String {
        format!("exit {}\n{}---\n{}", self.code, self.stderr, self.stdout)
    }
}
