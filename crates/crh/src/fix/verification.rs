//! Runs the verification command on a copy of the tree, in a sandbox unless the change is trusted.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::ground::Ground;
use crate::commands::interrupts;
use crate::commands::review::Begun;
use crate::config::environment::{Environment, PATH};
use crate::programs;
use crate::programs::VerifyJob;
use crh_git::TempCheckout;
use crh_lint::sandbox::{CommandOutcome, Sandbox, UserCommand};

/// Maximum characters of output in a message. The end is kept.
const WORDS_CHARS: usize = 200;

/// Time for all runs of one pass, as a multiple of the time for one: with all fixes, without them,
/// and twice for the bisection.
const RUNS: u32 = 4;

/// The configured command.
pub(super) struct Verification<'b> {
    program: &'b str,
    args: &'b [String],
    /// Timeout of one run.
    time: Duration,
    /// Remaining time for all runs.
    left: Cell<Duration>,
    path: &'b OsStr,
    shut_in: ShutIn<'b>,
}

/// Isolation of the command.
enum ShutIn<'b> {
    /// In the sandbox.
    Yes(Sandbox),
    /// As the user, because the change is trusted. Has the path of crh, if known.
    No(Option<&'b Path>),
    /// Not at all: the change is not trusted and no sandbox is available.
    Impossible(String),
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Passed,
    /// It failed, with its last output as the end of a sentence.
    Failed(String),
    /// It could not be started, with the reason.
    Nothing(String),
    /// The remaining time was too short; has that time.
    OutOfTime(String),
}

impl<'b> Verification<'b> {
    /// The command for one pass of fixes. `None` if none is configured.
    pub(super) fn of(begun: &'b Begun, environment: &'b Environment) -> Option<Self> {
        let (program, args) = begun.settings.fix_verify.value.split()?;
        let time = Duration::from_secs(begun.settings.fix_verify_seconds.value.get());
        let path = environment.variable(PATH).unwrap_or_default();
        let shut_in = match (begun.is_trusted(), &environment.program) {
            (true, crh) => ShutIn::No(crh.as_deref()),
            (false, None) => ShutIn::Impossible("the path of crh is unknown".to_owned()),
            (false, Some(helper)) => match Sandbox::probe(helper) {
                Ok(sandbox) => ShutIn::Yes(sandbox),
                Err(why) => ShutIn::Impossible(why.to_string()),
            },
        };
        let left = Cell::new(time.saturating_mul(RUNS));
        Some(Self { program, args, time, left, path, shut_in })
    }

    /// Runs the command on a temporary copy of a commit.
    pub(super) fn of_commit(&self, ground: &Ground<'_>, commit: &str) -> Said {
        let (began, left) = (Instant::now(), self.left.get());
        if left.is_zero() {
            return self.out_of_time();
        }
        let said = self.said_within(left.min(self.time), ground, commit);
        self.left.set(left.saturating_sub(began.elapsed()));
        said
    }

    fn out_of_time(&self) -> Said {
        let all = self.time.saturating_mul(RUNS).as_secs();
        Said::OutOfTime(format!("the time limit for all runs of `fix.verify` is {all} seconds"))
    }

    fn said_within(&self, time: Duration, ground: &Ground<'_>, commit: &str) -> Said {
        let tree = match TempCheckout::create(ground.bare, commit) {
            Ok(tree) => tree,
            Err(why) => return Said::Nothing(why.to_string()),
        };
        let folder = tree.path();
        let end = match &self.shut_in {
            ShutIn::Impossible(why) => {
                return Said::Nothing(format!("no sandbox is available: {why}"));
            }
            ShutIn::Yes(sandbox) => sandbox.run_command(&UserCommand {
                program: self.program,
                args: self.args,
                path: self.path,
                scratch: folder.parent().unwrap_or(folder),
                tree: folder,
                time,
                is_stopped: interrupts::is_pressed,
            }),
            ShutIn::No(crh) => {
                let check = VerifyJob {
                    program: self.program.to_owned(),
                    args: self.args.to_vec(),
                    tree: folder.to_owned(),
                    time_limit: time,
                };
                programs::run_verify(*crh, &check, interrupts::is_pressed)
            }
        };
        match end {
            CommandOutcome::Passed => Said::Passed,
            CommandOutcome::Failed(code, printed) => {
                let how = match code {
                    Some(code) => format!("exit code {code}"),
                    None => "killed by a signal".to_owned(),
                };
                Said::Failed(match last_words(&printed) {
                    words if words.is_empty() => how,
                    words => format!("{how}: {words}"),
                })
            }
            CommandOutcome::TooSlow(_) if time < self.time => self.out_of_time(),
            CommandOutcome::TooSlow(seconds) => {
                Said::Failed(format!("timed out after {seconds} s"))
            }
            CommandOutcome::NotRun(why) => Said::Nothing(why),
        }
    }
}

/// The last line of the output that is not empty.
fn last_words(printed: &str) -> String {
    let line = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(WORDS_CHARS).collect()
}
