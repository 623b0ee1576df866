//! A command of the user's in the sandbox: it sees a copy of a tree, which it may write to and run, and the programs of the system.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Job, JobError, Sandbox};
use crate::process::Bounds;

/// More than anybody reads of what a command prints; the end of it tells.
const OUTPUT: u64 = 64 << 20;

/// A command, and where it works.
#[derive(Debug)]
pub struct UserCommand<'a> {
    /// The program: a name to be found in `path`, or a path; one with a slash that is relative starts in the tree.
    pub program: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Where programs are.
    pub path: &'a OsStr,
    /// The folder that it may write to, with the tree in it. It is its home.
    pub scratch: &'a Path,
    /// The tree, where it begins.
    pub tree: &'a Path,
    /// How long it may take.
    pub time: Duration,
    /// Whether nobody wants to wait for it any more.
    pub is_stopped: fn() -> bool,
}

/// How a command came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    /// It ended well.
    Passed,
    /// It ended badly: its exit code, or none after a signal, and all that it printed.
    Failed(Option<i32>, String),
    /// It was ended: it took so many seconds.
    TooSlow(u64),
    /// It could not be run, and why.
    NotRun(String),
}

impl Sandbox {
    /// Runs a command of the user's.
    pub fn command(&self, command: &UserCommand<'_>) -> CommandEnd {
        let Some(program) = found(command) else {
            return CommandEnd::NotRun(format!("there is no program `{}`", command.program));
        };
        let (scratch, tree) = match (command.scratch.canonicalize(), command.tree.canonicalize()) {
            (Ok(scratch), Ok(tree)) => (scratch, tree),
            (Err(why), _) | (_, Err(why)) => return CommandEnd::NotRun(why.to_string()),
        };
        // What lies beside the program belongs to it as a rule: interpreters bring their libraries along.
        let installed =
            program.parent().and_then(Path::parent).filter(|root| *root != Path::new("/"));
        let readable = installed.map(Path::to_owned).into_iter().chain([tree.clone()]).collect();
        let job = Job {
            program: &program,
            args: command.args.to_vec(),
            path: command.path,
            scratch: &scratch,
            folder: tree,
            readable,
        };
        let UserCommand { time, is_stopped, .. } = *command;
        match self.run(job, Bounds { time, output: OUTPUT, is_stopped }) {
            Ok(finished) if finished.status.success() => CommandEnd::Passed,
            Ok(finished) => {
                let printed = [finished.stdout, finished.stderr].concat();
                let printed = String::from_utf8_lossy(&printed).into_owned();
                CommandEnd::Failed(finished.status.code(), printed)
            }
            Err(JobError::TooSlow(seconds)) => CommandEnd::TooSlow(seconds),
            Err(
                why @ (JobError::Sandbox(_)
                | JobError::TooMuch(_)
                | JobError::Stopped
                | JobError::Io(_)),
            ) => CommandEnd::NotRun(why.to_string()),
        }
    }
}

fn found(command: &UserCommand<'_>) -> Option<PathBuf> {
    let name = command.program;
    if name.contains('/') {
        return Some(command.tree.join(name)).filter(|file| file.is_file());
    }
    let folders = std::env::split_paths(command.path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| crate::analysers::is_program(file))
}
