//! Runs a program as a user would and shows what came of it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a program that is to end at once may take for it on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program about to be run. Its environment is empty but for `PATH`.
#[derive(Debug)]
pub struct Program {
    command: Command,
    stdin: Vec<u8>,
}

/// A program at work. Whoever lets go of it ends it.
#[derive(Debug)]
pub struct Running {
    /// None once it has been waited for.
    child: Option<Child>,
    writer: Option<JoinHandle<bool>>,
}

/// What a program printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Program {
    /// The program at a path, to be run in a folder.
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

    /// What it reads from standard input; nothing if this is left out.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The command, for whoever starts it in another way.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to the end.
    pub fn run(self) -> Output {
        self.start().end()
    }

    /// Starts it, for tests that do something while it runs. What it prints waits in a pipe until the end, so that it may
    /// not be much.
    pub fn start(mut self) -> Running {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = self.stdin;
        // In a thread, since a program may print before it has read everything.
        let writer = std::thread::spawn(move || {
            // A program may also stop reading; what it prints then is what the test looks at.
            stdin.write_all(&bytes).is_ok()
        });
        Running { child: Some(child), writer: Some(writer) }
    }
}

impl Running {
    /// Does what Ctrl-C does.
    pub fn interrupt(&self) {
        let id = self.child.as_ref().unwrap().id();
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        // It has not been waited for, so that the number is still its own.
        kill_process(pid, Signal::INT).unwrap();
    }

    /// Ends it as a machine that loses its power would: it cannot do anything more.
    pub fn kill(mut self) -> Output {
        self.child.as_mut().unwrap().kill().unwrap();
        self.end()
    }

    /// Waits for its end and reads nothing before: a program that cannot print any more has to end all the same.
    ///
    /// # Panics
    /// If it does not end in a minute.
    pub fn end_unread(mut self) -> Output {
        let start = Instant::now();
        while self.child.as_mut().unwrap().try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.end()
    }

    /// Waits for its end.
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

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself, and then there is nothing to end.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl Output {
    /// All of it as one text, for comparing whole: exit code, standard error, standard output.
    pub fn shown(&self) -> String {
        format!("exit {}\n{}---\n{}", self.code, self.stderr, self.stdout)
    }
}
