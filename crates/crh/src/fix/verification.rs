//! Runs the verification command on a copy of the tree, in a sandbox unless the change is trusted.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::reviewed_checkout::ReviewedCheckout;
use crate::commands::interrupts;
use crate::commands::review::session::ReviewSession;
use crate::config::environment::{Environment, PATH};
use crate::programs;
use crate::programs::VerifyJob;
use crh_git::TempCheckout;
use crh_lint::sandbox::{CommandOutcome, Sandbox, UserCommand};

/// Maximum characters of the command's last output line in a message.
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
    isolation: Isolation<'b>,
}

/// Isolation of the command.
enum Isolation<'b> {
    /// In the sandbox.
    Yes(Sandbox),
    /// As the user, because the change is trusted. Contains the path of crh, if known.
    No(Option<&'b Path>),
    /// The command cannot run: the change is not trusted and no sandbox is available.
    Impossible(String),
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VerificationResult {
    Passed,
    /// The command failed. Contains its last output as the end of a sentence.
    Failed(String),
    /// The command could not be run, or was stopped. Contains the reason.
    Nothing(String),
    /// The time for all runs is used up. Contains a text with this limit.
    OutOfTime(String),
}

impl<'b> Verification<'b> {
    /// The command for one pass of fixes. `None` if none is configured.
    pub(super) fn new(session: &'b ReviewSession, environment: &'b Environment) -> Option<Self> {
        let (program, args) = session.settings.fix_verify.value.split()?;
        let time = Duration::from_secs(session.settings.fix_verify_seconds.value.get());
        let path = environment.variable(PATH).unwrap_or_default();
        let isolation = match (session.is_trusted(), &environment.program) {
            (true, crh) => Isolation::No(crh.as_deref()),
            (false, None) => Isolation::Impossible("the path of crh is unknown".to_owned()),
            (false, Some(helper)) => match Sandbox::probe(helper) {
                Ok(sandbox) => Isolation::Yes(sandbox),
                Err(why) => Isolation::Impossible(why.to_string()),
            },
        };
        let left = Cell::new(time.saturating_mul(RUNS));
        Some(Self { program, args, time, left, path, isolation })
    }

    /// Runs the command on a temporary copy of a commit.
    pub(super) fn of_commit(
        &self,
        reviewed_checkout: &ReviewedCheckout<'_>,
        commit: &str,
    ) -> VerificationResult {
        let (began, left) = (Instant::now(), self.left.get());
        if left.is_zero() {
            return self.out_of_time();
        }
        let result = self.run_within(left.min(self.time), reviewed_checkout, commit);
        self.left.set(left.saturating_sub(began.elapsed()));
        result
    }

    fn out_of_time(&self) -> VerificationResult {
        let all = self.time.saturating_mul(RUNS).as_secs();
        VerificationResult::OutOfTime(format!(
            "the time limit for all runs of `fix.verify` is {all} seconds"
        ))
    }

    fn run_within(
        &self,
        time: Duration,
        reviewed_checkout: &ReviewedCheckout<'_>,
        commit: &str,
    ) -> VerificationResult {
        let tree = match TempCheckout::create(reviewed_checkout.bare, commit) {
            Ok(tree) => tree,
            Err(why) => return VerificationResult::Nothing(why.to_string()),
        };
        let folder = tree.path();
        let end = match &self.isolation {
            Isolation::Impossible(why) => {
                return VerificationResult::Nothing(format!("no sandbox is available: {why}"));
            }
            Isolation::Yes(sandbox) => sandbox.run_command(&UserCommand {
                program: self.program,
                args: self.args,
                path: self.path,
                scratch: folder.parent().unwrap_or(folder),
                tree: folder,
                time,
                is_stopped: interrupts::is_pressed,
            }),
            Isolation::No(crh) => {
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
            CommandOutcome::Passed => VerificationResult::Passed,
            CommandOutcome::Failed(code, printed) => {
                let how = match code {
                    Some(code) => format!("exit code {code}"),
                    None => "killed by a signal".to_owned(),
                };
                VerificationResult::Failed(match last_words(&printed) {
                    words if words.is_empty() => how,
                    words => format!("{how}: {words}"),
                })
            }
            CommandOutcome::TooSlow(_) if time < self.time => self.out_of_time(),
            CommandOutcome::TooSlow(seconds) => {
                VerificationResult::Failed(format!("timed out after {seconds} s"))
            }
            CommandOutcome::NotRun(why) => VerificationResult::Nothing(why),
        }
    }
}

/// The last line of the output that is not empty.
fn last_words(printed: &str) -> String {
    let line = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(WORDS_CHARS).collect()
}
