//! Runs a program as a user would and shows what came of it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

/// A program about to be run. Its environment is empty but for `PATH`.
#[derive(Debug)]
pub struct Program {
    command: Command,
    stdin: Vec<u8>,
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

    /// Runs it to the end.
    pub fn run(mut self) -> Output {
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
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Output {
    /// All of it as one text, for comparing whole: exit code, standard error, standard output.
    pub fn shown(&self) -> String {
        format!("exit {}\n{}---\n{}", self.code, self.stderr, self.stdout)
    }
}
