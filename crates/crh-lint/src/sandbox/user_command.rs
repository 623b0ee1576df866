//! User commands in the sandbox. A command can change and run the files of a copy of the tree, and
//! can run the system's programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Sandbox, SandboxJob, SandboxJobError};
use crate::installation::{command_files, is_executable};
use crate::process::ProcessLimits;

/// Output limit. The caller shows only the end of the output.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// A command and its environment.
#[derive(Debug)]
pub struct UserCommand<'a> {
    /// The program: a name in `path`, or a path. A relative path with a slash starts in the tree.
    pub program: &'a str,
    /// Arguments.
    pub args: &'a [String],
    /// The `PATH` to search.
    pub path: &'a OsStr,
    /// The writable folder, which contains the tree and serves as `HOME`.
    pub scratch: &'a Path,
    /// The tree: the working directory.
    pub tree: &'a Path,
    /// Time limit.
    pub time: Duration,
    /// Whether the user has cancelled.
    pub is_stopped: fn() -> bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandOutcome {
    /// The command succeeded.
    Passed,
    /// The command failed: exit code and output. After a signal, the code is 128 plus the signal's
    /// number. It is `None` if the sandbox helper was killed.
    Failed(Option<i32>, String),
    /// The command exceeded the time limit, in seconds.
    TooSlow(u64),
    /// The command could not be run, was cancelled or printed too much, with the reason.
    NotRun(String),
}

impl Sandbox {
    /// Runs a user command.
    pub fn run_command(&self, command: &UserCommand<'_>) -> CommandOutcome {
        let Some(program) = find_program(command) else {
            return CommandOutcome::NotRun(format!("there is no program `{}`", command.program));
        };
        let (scratch, tree) = match (command.scratch.canonicalize(), command.tree.canonicalize()) {
            (Ok(scratch), Ok(tree)) => (scratch, tree),
            (Err(why), _) | (_, Err(why)) => return CommandOutcome::NotRun(why.to_string()),
        };
        let home = std::env::home_dir();
        let mut readable = command_files(&program, command.path, home.as_deref());
        readable.push(tree.clone());
        let job = SandboxJob {
            program: &program,
            args: command.args.to_vec(),
            path: command.path,
            scratch: &scratch,
            folder: tree,
            readable,
        };
        let UserCommand { time, is_stopped, .. } = *command;
        match self.run(job, ProcessLimits { time, output: OUTPUT_BYTES_MAX, is_stopped }) {
            Ok(output) if output.status.success() => CommandOutcome::Passed,
            Ok(output) => {
                let printed_bytes = [output.stdout, output.stderr].concat();
                let printed_text = String::from_utf8_lossy(&printed_bytes).into_owned();
                CommandOutcome::Failed(output.status.code(), printed_text)
            }
            Err(SandboxJobError::Timeout(seconds)) => CommandOutcome::TooSlow(seconds),
            Err(
                why @ (SandboxJobError::Sandbox(_)
                | SandboxJobError::TooMuchOutput(_)
                | SandboxJobError::Stopped
                | SandboxJobError::Io(_)),
            ) => CommandOutcome::NotRun(why.to_string()),
        }
    }
}

fn find_program(command: &UserCommand<'_>) -> Option<PathBuf> {
    let name = command.program;
    if name.contains('/') {
        return Some(command.tree.join(name)).filter(|file| file.is_file());
    }
    let folders = std::env::split_paths(command.path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
}
