//! The sandbox in which analysers of others run: a process of their own with no network, no other processes to see, next to nothing
//! of the disk, and no way to get any of it back.
//!
//! crh starts itself again as a helper, which shuts itself in (`inside.rs`) and then becomes the analyser. Where the kernel cannot
//! shut a process in completely, nothing is run.

#[path = "syscalls.rs"]
mod calls;
#[path = "user_command.rs"]
mod command;
#[path = "helper.rs"]
mod inside;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::command::{CommandEnd, UserCommand};
pub use self::inside::helper;
use crate::process;
use crate::process::{Bounds, Finished, Launch, UNSTOPPED, Unfinished};

/// The word on the command line of crh that makes it the helper.
pub const HELPER: &str = "__sandbox";

/// How the helper ends if it could not shut itself in. An analyser that ends the same way is taken for a broken one, which it is.
const NOT_SHUT_IN: u8 = 125;
/// What its complaint begins with.
const COMPLAINT: &str = "crh-sandbox: ";
/// How long shutting a process in may take: a hundred times what it does on a slow machine.
const PROBE_TIME: Duration = Duration::from_secs(20);
/// More than a complaint has.
const PROBE_OUTPUT: u64 = 10_000;
/// How many characters of a complaint are told.
const WORDS_CHARS: usize = 300;

/// A sandbox that works here.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The program that is the helper: crh.
    helper: PathBuf,
}

/// Why there is no sandbox, as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSandbox(pub String);

/// A program to be run in the sandbox.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<String>,
    /// Where it finds other programs.
    pub(crate) path: &'a OsStr,
    /// The one folder that it may write to; its home.
    pub(crate) scratch: &'a Path,
    /// Where in it the program begins.
    pub(crate) folder: PathBuf,
    /// What it may read and run besides the system's own programs.
    pub(crate) readable: Vec<PathBuf>,
}

/// What the helper is told, on its standard input.
#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    /// None if it is only asked whether it can be done.
    run: Option<Program>,
}

/// What the helper becomes.
#[derive(Debug, Serialize, Deserialize)]
struct Program {
    program: PathBuf,
    args: Vec<String>,
    path: OsString,
    scratch: PathBuf,
    folder: PathBuf,
    readable: Vec<PathBuf>,
    /// Seconds of work, on all cores together.
    cpu: u64,
}

/// Why a job did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error("the sandbox failed: {0}")]
    Sandbox(String),
    #[error("it did not end within {0} seconds")]
    TooSlow(u64),
    #[error("it was stopped")]
    Stopped,
    #[error("it printed more than {0} bytes")]
    TooMuch(u64),
    #[error("it could not be run: {0}")]
    Io(String),
}

impl Sandbox {
    /// Tries whether a process can be shut in here, by a helper that is this program.
    pub fn probe(helper: &Path) -> Result<Self, NoSandbox> {
        let sandbox = Self { helper: helper.to_owned() };
        let bounds = Bounds { time: PROBE_TIME, output: PROBE_OUTPUT, is_stopped: UNSTOPPED };
        let finished = sandbox.start(&Spec { run: None }, bounds);
        let no = |why: String| NoSandbox(why);
        let finished = finished.map_err(|why| no(why.to_string()))?;
        match finished.status.success() {
            true => Ok(sandbox),
            false => {
                Err(no(complaint(&finished).unwrap_or_else(|| "the helper failed".to_owned())))
            }
        }
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, job: Job<'_>, bounds: Bounds) -> Result<Finished, JobError> {
        // Whatever it computes on two cores in its time; it must not go on for ever if nobody ends it.
        let cpu = bounds.time.as_secs().saturating_mul(2).max(1);
        let program = Program {
            program: job.program.to_owned(),
            args: job.args,
            path: job.path.to_owned(),
            scratch: job.scratch.to_owned(),
            folder: job.folder,
            readable: job.readable,
            cpu,
        };
        let finished = self.start(&Spec { run: Some(program) }, bounds)?;
        match complaint(&finished) {
            Some(why) => Err(JobError::Sandbox(why)),
            None => Ok(finished),
        }
    }

    fn start(&self, spec: &Spec, bounds: Bounds) -> Result<Finished, JobError> {
        let input = serde_json::to_vec(spec).map_err(|why| JobError::Io(why.to_string()))?;
        let launch = Launch { program: &self.helper, args: &[HELPER], path: OsStr::new(""), input };
        process::run(launch, bounds).map_err(|unfinished| match unfinished {
            Unfinished::Io(error) => JobError::Io(error.to_string()),
            Unfinished::TooSlow => JobError::TooSlow(bounds.time.as_secs()),
            Unfinished::Stopped => JobError::Stopped,
            Unfinished::TooMuch => JobError::TooMuch(bounds.output),
        })
    }
}

/// What a helper says that could not shut itself in, as it is printed on standard error.
pub fn said(why: &str) -> String {
    format!("{COMPLAINT}{why}")
}

/// Why the helper did not shut itself in; none if it did.
fn complaint(finished: &Finished) -> Option<String> {
    if finished.status.code() != Some(NOT_SHUT_IN.into()) {
        return None;
    }
    let said = String::from_utf8_lossy(&finished.stderr);
    let said = said.lines().find_map(|line| line.strip_prefix(COMPLAINT))?;
    Some(said.chars().take(WORDS_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_that_is_not_one_is_no_sandbox() {
        for (helper, why) in [
            ("/bin/false", "the helper failed"),
            ("/nowhere/crh", "it could not be run: No such file or directory (os error 2)"),
        ] {
            assert_eq!(Sandbox::probe(Path::new(helper)).unwrap_err(), NoSandbox(why.to_owned()));
        }
    }
}
