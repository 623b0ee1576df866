//! What an evaluation needs of the program that runs it.

use std::any::Any;
use std::path::Path;
use std::time::SystemTime;

use crate::reviews::ReviewTask;
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::failure::Failure;

/// The program that runs an evaluation: its clock, its terminal, and how it opens a change.
pub trait EvalHost: Sync {
    /// Reads a file that a user named.
    fn read_file(&self, path: &Path) -> Result<Vec<u8>, Failure>;

    /// Resolves a change and writes its workspace into this folder.
    fn open_change(
        &self,
        task: &ReviewTask,
        workspace: &Path,
    ) -> Result<ChangeUnderReview, Failure>;

    /// The current time.
    fn now(&self) -> SystemTime;

    /// Shows a warning.
    fn warn(&self, message: &str);

    /// Shows a note.
    fn note(&self, message: &str);

    /// Shows a note if the user asked for details.
    fn detail(&self, message: &str);

    /// Starts to show the progress of `total` tasks.
    fn show_progress(&self, total: usize) -> Box<dyn TaskDisplay>;

    /// Calls `stop` at the first Ctrl-C, unless the caller dropped the returned value before.
    fn on_interrupt(&self, stop: Box<dyn FnOnce() + Send>) -> Result<Box<dyn Any>, Failure>;
}

/// Shows tasks as they end, until it is dropped.
pub trait TaskDisplay {
    /// Shows the line of a task that ended.
    fn task_ended(&mut self, line: &str, already_done: AlreadyDone);
}

/// Whether a task was finished before this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlreadyDone {
    /// Its result was stored.
    Yes,
    /// This command did it.
    No,
}
