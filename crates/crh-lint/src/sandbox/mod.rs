//! The sandbox for external analysers: a process that has no network, cannot reach processes
//! outside the sandbox and has almost no access to the disk.
//!
//! crh starts itself as a helper, which restricts itself (`helper.rs`) and then becomes the
//! analyser. If the kernel does not support all restrictions, nothing is run. Only Linux has them.

#[cfg_attr(not(target_os = "linux"), path = "no_helper.rs")]
mod helper;
#[cfg(target_os = "linux")]
mod syscalls;
mod user_command;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::helper::run_helper;
pub use self::user_command::{CommandOutcome, UserCommand};
use crate::process;
use crate::process::{NEVER_STOPPED, ProcessCommand, ProcessError, ProcessLimits, ProcessOutput};

/// The argument that turns crh into the sandbox helper.
pub const HELPER: &str = "__sandbox";

/// Exit code of a helper that did not run the program. An analyser may have the same exit code, so
/// crh also looks for [`ERROR_PREFIX`] on stderr.
const NOT_SANDBOXED: u8 = 125;
/// Prefix of the helper's error message.
const ERROR_PREFIX: &str = "crh-sandbox: ";
/// Time limit of the probe, about 100 times what a slow machine needs.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
const PROBE_OUTPUT_MAX: u64 = 10_000;
/// Maximum characters of an error message to quote.
const ERROR_CHARS_MAX: usize = 300;

/// A working sandbox.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The helper program: crh.
    helper: PathBuf,
}

/// Why the sandbox is not available, as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SandboxUnavailable(pub String);

/// A program to run in the sandbox.
#[derive(Debug)]
pub(crate) struct SandboxJob<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<String>,
    /// The program's own `PATH`.
    pub(crate) path: &'a OsStr,
    /// The only writable folder; `HOME` of the program.
    pub(crate) scratch: &'a Path,
    /// Working directory, inside the scratch folder.
    pub(crate) folder: PathBuf,
    /// Files and folders that the program may read and execute besides the system's programs.
    pub(crate) readable: Vec<PathBuf>,
}

/// The helper's input, on stdin.
#[derive(Debug, Serialize, Deserialize)]
struct HelperSpec {
    /// `None` for a probe.
    run: Option<HelperProgram>,
}

/// The program that the helper executes.
#[derive(Debug, Serialize, Deserialize)]
struct HelperProgram {
    program: PathBuf,
    args: Vec<String>,
    path: OsString,
    scratch: PathBuf,
    folder: PathBuf,
    readable: Vec<PathBuf>,
    /// CPU time limit in seconds, over all cores.
    cpu: u64,
}

/// Why a job did not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxJobError {
    #[error("the sandbox failed: {0}")]
    Sandbox(String),
    #[error("it did not end within {0} seconds")]
    Timeout(u64),
    #[error("it was stopped")]
    Stopped,
    #[error("it printed more than {0} bytes")]
    TooMuchOutput(u64),
    #[error("it could not be run: {0}")]
    Io(String),
}

impl Sandbox {
    /// Checks whether processes can be sandboxed on this machine. `helper` is the crh program.
    pub fn probe(helper: &Path) -> Result<Self, SandboxUnavailable> {
        let sandbox = Self { helper: helper.to_owned() };
        let limits = ProcessLimits {
            time: PROBE_TIMEOUT,
            output: PROBE_OUTPUT_MAX,
            is_stopped: NEVER_STOPPED,
        };
        let result = sandbox.start(&HelperSpec { run: None }, limits);
        let unavailable = |why: String| SandboxUnavailable(why);
        let output = result.map_err(|why| unavailable(why.to_string()))?;
        match output.status.success() {
            true => Ok(sandbox),
            false => Err(unavailable(
                helper_error(&output).unwrap_or_else(|| "the sandbox helper failed".to_owned()),
            )),
        }
    }

    /// Runs a program to its end.
    pub(crate) fn run(
        &self,
        job: SandboxJob<'_>,
        limits: ProcessLimits,
    ) -> Result<ProcessOutput, SandboxJobError> {
        // Twice the time limit, so that a runaway process ends even if crh does not kill it.
        let cpu = limits.time.as_secs().saturating_mul(2).max(1);
        let program = HelperProgram {
            program: job.program.to_owned(),
            args: job.args,
            path: job.path.to_owned(),
            scratch: job.scratch.to_owned(),
            folder: job.folder,
            readable: job.readable,
            cpu,
        };
        let output = self.start(&HelperSpec { run: Some(program) }, limits)?;
        match helper_error(&output) {
            Some(why) => Err(SandboxJobError::Sandbox(why)),
            None => Ok(output),
        }
    }

    fn start(
        &self,
        spec: &HelperSpec,
        limits: ProcessLimits,
    ) -> Result<ProcessOutput, SandboxJobError> {
        let input = serde_json::to_vec(spec).map_err(|why| SandboxJobError::Io(why.to_string()))?;
        let command =
            ProcessCommand { program: &self.helper, args: &[HELPER], path: OsStr::new(""), input };
        process::run(command, limits).map_err(|process_error| match process_error {
            ProcessError::Io(error) => SandboxJobError::Io(error.to_string()),
            ProcessError::Timeout => SandboxJobError::Timeout(limits.time.as_secs().max(1)),
            ProcessError::Stopped => SandboxJobError::Stopped,
            ProcessError::TooMuchOutput => SandboxJobError::TooMuchOutput(limits.output),
        })
    }
}

/// The line that a failed helper prints on stderr.
pub fn helper_error_line(why: &str) -> String {
    format!("{ERROR_PREFIX}{why}")
}

/// The error of the helper; `None` if the helper did not fail.
fn helper_error(output: &ProcessOutput) -> Option<String> {
    if output.status.code() != Some(NOT_SANDBOXED.into()) {
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr = stderr.lines().find_map(|line| line.strip_prefix(ERROR_PREFIX))?;
    Some(stderr.chars().take(ERROR_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_helper_makes_sandbox_unavailable() {
        for (helper, why) in [
            ("/bin/false", "the sandbox helper failed"),
            ("/nowhere/crh", "it could not be run: No such file or directory (os error 2)"),
        ] {
            assert_eq!(
                Sandbox::probe(Path::new(helper)).unwrap_err(),
                SandboxUnavailable(why.to_owned())
            );
        }
    }
}
