//! The command that says whether a tree still works, on a copy of it: shut in, unless the change is trusted.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::ground::Ground;
use crate::commands::interrupts;
use crate::commands::review::Begun;
use crate::config::environment::{Environment, PATH};
use crate::programs;
use crate::programs::Check;
use crh_git::WorkTree;
use crh_lint::sandbox::{CommandEnd, Sandbox, UserCommand};

/// As much of what a command printed as fits into a sentence: the end of it tells.
const WORDS_CHARS: usize = 200;

/// All runs for one pass of fixes together may take so many times as long as one: with all fixes, with none, and as long again to tell
/// those that hold from those that do not.
const RUNS: u32 = 4;

/// What the user has said about it.
pub(super) struct Verification<'b> {
    program: &'b str,
    args: &'b [String],
    /// How long one run may take.
    time: Duration,
    /// How long all that are to come may take.
    left: Cell<Duration>,
    path: &'b OsStr,
    shut_in: ShutIn<'b>,
}

/// Where it runs.
enum ShutIn<'b> {
    /// In the sandbox.
    Yes(Sandbox),
    /// As the user would run it: the change is trusted. With where crh is, if that is known.
    No(Option<&'b Path>),
    /// Nowhere, and why: the change is not trusted, and there is no sandbox here.
    Impossible(String),
}

/// What it said of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// It works.
    Passed,
    /// It does not, and how that was seen, as the end of a sentence.
    Failed(String),
    /// It could not be asked, and why.
    Nothing(String),
    /// There was no time left to ask it, or to wait for what it says; how long there was.
    OutOfTime(String),
}

impl<'b> Verification<'b> {
    /// The one that is set up, for one pass of fixes; none if none is.
    pub(super) fn of(begun: &'b Begun, environment: &'b Environment) -> Option<Self> {
        let (program, args) = begun.settings.fix_verify.value.split()?;
        let time = Duration::from_secs(begun.settings.fix_verify_seconds.value.get());
        let path = environment.variable(PATH).unwrap_or_default();
        let shut_in = match (begun.is_trusted(), &environment.program) {
            (true, crh) => ShutIn::No(crh.as_deref()),
            (false, None) => ShutIn::Impossible("it is not known where crh is".to_owned()),
            (false, Some(helper)) => match Sandbox::probe(helper) {
                Ok(sandbox) => ShutIn::Yes(sandbox),
                Err(why) => ShutIn::Impossible(why.to_string()),
            },
        };
        let left = Cell::new(time.saturating_mul(RUNS));
        Some(Self { program, args, time, left, path, shut_in })
    }

    /// What it says of a commit of the private store, on a copy that is gone afterwards.
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
        Said::OutOfTime(format!("all runs of `fix.verify` together may take {all} seconds"))
    }

    fn said_within(&self, time: Duration, ground: &Ground<'_>, commit: &str) -> Said {
        let tree = match WorkTree::of(ground.bare, commit) {
            Ok(tree) => tree,
            Err(why) => return Said::Nothing(why.to_string()),
        };
        let folder = tree.path();
        let end = match &self.shut_in {
            ShutIn::Impossible(why) => {
                return Said::Nothing(format!("there is no sandbox for it: {why}"));
            }
            ShutIn::Yes(sandbox) => sandbox.command(&UserCommand {
                program: self.program,
                args: self.args,
                path: self.path,
                scratch: folder.parent().unwrap_or(folder),
                tree: folder,
                time,
                is_stopped: interrupts::is_pressed,
            }),
            ShutIn::No(crh) => {
                let check = Check {
                    program: self.program.to_owned(),
                    args: self.args.to_vec(),
                    tree: folder.to_owned(),
                    time,
                };
                programs::verified(*crh, &check, interrupts::is_pressed)
            }
        };
        match end {
            CommandEnd::Passed => Said::Passed,
            CommandEnd::Failed(code, printed) => {
                let how = match code {
                    Some(code) => format!("it ended with exit code {code}"),
                    None => "a signal ended it".to_owned(),
                };
                Said::Failed(match last_words(&printed) {
                    words if words.is_empty() => how,
                    words => format!("{how}: {words}"),
                })
            }
            CommandEnd::TooSlow(_) if time < self.time => self.out_of_time(),
            CommandEnd::TooSlow(seconds) => {
                Said::Failed(format!("it did not end within {seconds} seconds"))
            }
            CommandEnd::NotRun(why) => Said::Nothing(why),
        }
    }
}

/// The last line that says something.
fn last_words(printed: &str) -> String {
    let line = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(WORDS_CHARS).collect()
}
