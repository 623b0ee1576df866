//! The clock, the terminal and the changes of an evaluation.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::interrupts::InterruptGuard;
use super::super::review::resolved_change::ResolvedChange;
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::failure::Failure;
use crate::ui::Verbosity;
use crate::ui::task_progress::TaskProgress;
use crate::{input, ui};
use crh_eval::{EvalHost, ReviewTask, TaskDisplay};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::resolve::UntrackedPolicy;
use crh_pipeline::target_args::ParsedTarget;

/// Shown at the first Ctrl-C.
const STOPPING: &str = "stopping; finished reviews are stored; press Ctrl-C again to end at once";

/// Gives an evaluation its files, changes, clock and terminal.
pub(super) struct CommandHost<'a> {
    environment: &'a Environment,
    /// Environment of the repository with the changes.
    change_environment: Environment,
    verbosity: Verbosity,
}

impl<'a> CommandHost<'a> {
    /// A host whose changes are in the current repository.
    pub(super) fn new(environment: &'a Environment, verbosity: Verbosity) -> Self {
        Self { environment, change_environment: environment.clone(), verbosity }
    }

    /// Sets the repository with the changes. The user's settings do not apply there.
    pub(super) fn inside(self, (repository, home): (PathBuf, &Path)) -> Self {
        Self { change_environment: self.environment.isolated(&repository, home), ..self }
    }
}

impl EvalHost for CommandHost<'_> {
    fn read_file(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        input::bytes(path)
    }

    fn open_change(
        &self,
        task: &ReviewTask,
        workspace: &Path,
    ) -> Result<ChangeUnderReview, Failure> {
        let parsed = ParsedTarget { target: task.target.clone(), mode: None, plan: None };
        let flags = RawSettings {
            git_offline: Some(SourcedValue::from_flag("--offline", true)),
            ..RawSettings::default()
        };
        let resolved = ResolvedChange::target(
            &parsed,
            &mut None,
            UntrackedPolicy::Listed,
            &self.change_environment,
            flags,
            None,
            |change| task.replace_title_and_body(change),
        )?;
        resolved.subject(workspace)
    }

    fn now(&self) -> SystemTime {
        self.environment.now()
    }

    fn warn(&self, message: &str) {
        ui::warn(message);
    }

    fn note(&self, message: &str) {
        ui::note(message);
    }

    fn detail(&self, message: &str) {
        ui::detail(message);
    }

    fn show_progress(&self, total: usize) -> Box<dyn TaskDisplay> {
        Box::new(TaskProgress::new(total, self.verbosity, self.environment))
    }

    fn on_interrupt(&self, stop: Box<dyn FnOnce() + Send>) -> Result<Box<dyn Any>, Failure> {
        let guard = InterruptGuard::watch(move || {
            stop();
            ui::note(STOPPING);
        })?;
        Ok(Box::new(guard))
    }
}
