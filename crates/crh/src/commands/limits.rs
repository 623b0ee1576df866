//! Limits the memory of a command, and the time that it spends without a model. A small change can
//! need any amount of both, for example a tree whose folders share subfolders.
//!
//! These limits are the last resort: they end the command. Stages have their own, smaller limits,
//! after which the review goes on.

use std::fs;
use std::sync::Once;
use std::sync::mpsc;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind};
use crate::ui;
use crh_git::TimeLimit;

/// Interval between two measurements of the memory. crh allocates at most some 100 MB in this time.
const MEMORY_INTERVAL: Duration = Duration::from_millis(50);
/// Time that the command has after git's time limit, to report what was reviewed.
const GRACE: Duration = Duration::from_secs(15);

/// Ends the command if it needs more memory than `budget.memory_mb`. Does nothing if the settings
/// are invalid: the command itself reports that.
pub(super) fn watch_memory(environment: &Environment) {
    static STARTED: Once = Once::new();

    let Ok(settings) = config::load(environment, None, RawSettings::default()) else { return };
    let megabytes = settings.budget_memory_mb.value.get();
    let watch = move || {
        // Systems without `/proc` have no memory limit.
        while let Some(used) = used_memory() {
            if used >> 20 >= megabytes {
                ui::exit_at_limit(
                    &format!("crh reached its memory limit of {megabytes} MB and stopped"),
                    "raise `budget.memory_mb` in your config, or review parts of the change, for example `crh review A..B`",
                );
            }
            thread::sleep(MEMORY_INTERVAL);
        }
    };
    STARTED.call_once(|| spawn("memory", watch));
}

/// Memory of this process in bytes, without mapped files: the system can drop those at any time.
fn used_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

const OUT_OF_TIME: &str = "reached the time limit of the review; the change is not reviewed";
const OUT_OF_TIME_HINT: &str = "review parts of the change, for example `crh review A..B`, or raise `budget.seconds` in your config";

/// Limits the time of work without a model and without the network. Dropping it ends the limit.
pub(super) struct WorkTime {
    _git: TimeLimit,
    _running: Sender<()>,
}

impl WorkTime {
    /// Starts the limit: first git commands fail, then the command ends.
    pub(super) fn start(limit: Duration) -> Self {
        let (running, ended) = mpsc::channel();
        let git = TimeLimit::start(limit);
        let watch = move || {
            let is_running = |wait| ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
            while is_running(TimeLimit::left().saturating_add(GRACE)) {
                if TimeLimit::left().is_zero() {
                    ui::exit_at_limit(OUT_OF_TIME, OUT_OF_TIME_HINT);
                }
            }
        };
        spawn("time", watch);
        Self { _git: git, _running: running }
    }

    /// If no time is left, replaces an external failure by one that names the time limit.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        explain_at(TimeLimit::left(), failure)
    }
}

fn explain_at(time_left: Duration, failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::External if time_left.is_zero() => {
            let error = anyhow::anyhow!(OUT_OF_TIME);
            Failure::new(FailureKind::Skipped, error).hint(OUT_OF_TIME_HINT)
        }
        FailureKind::External | FailureKind::Usage | FailureKind::Skipped | FailureKind::Bug => {
            failure
        }
    }
}

/// Starts a thread that watches a limit.
fn spawn(name: &str, watch: impl FnOnce() + Send + 'static) {
    if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(watch) {
        ui::warn(&format!("cannot watch the limit of {name}: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_without_time_left_is_the_time_limit() {
        let explained = |time_left, kind| {
            let failure = Failure::new(kind, anyhow::anyhow!("`git remote` did not end"));
            let failure = explain_at(time_left, failure);
            (failure.kind, failure.error.to_string())
        };
        let (over, left) = (Duration::ZERO, Duration::from_secs(1));
        let limit = (FailureKind::Skipped, OUT_OF_TIME.to_owned());
        assert_eq!(explained(over, FailureKind::External), limit);
        let same = |kind| (kind, "`git remote` did not end".to_owned());
        assert_eq!(explained(left, FailureKind::External), same(FailureKind::External));
        assert_eq!(explained(over, FailureKind::Usage), same(FailureKind::Usage));
    }
}
