//! What tools work with: the workspace, the repository, and a way to be stopped.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use crate::revisions::Revisions;
use crate::tools::ToolError;
use crate::workspace::Workspace;

/// Opens a repository.
type Open = Box<dyn FnOnce() -> Result<Revisions, ToolError> + Send>;
/// A repository that is opened when it is first asked for.
type Lazy = LazyLock<Result<Revisions, ToolError>, Open>;

/// What tools work with. Cloning is cheap, and clones work with the same things.
#[derive(Debug, Clone, Default)]
pub struct Bench {
    workspace: Option<Arc<Workspace>>,
    repository: Option<Arc<Lazy>>,
    cancelled: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Bench {
    /// A bench with nothing on it: enough for tools that only compute.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bench with a workspace on it.
    #[must_use]
    pub fn with_workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = Some(Arc::new(workspace));
        self
    }

    /// The workspace.
    pub fn workspace(&self) -> Result<&Workspace, ToolError> {
        let missing =
            || ToolError::Abort("this tool needs a workspace, and there is none".to_owned());
        self.workspace.as_deref().ok_or_else(missing)
    }

    /// The bench with the repository of the change on it, which is opened when a tool first asks for it.
    #[must_use]
    pub fn with_repository(
        mut self,
        open: impl FnOnce() -> Result<Revisions, ToolError> + Send + 'static,
    ) -> Self {
        self.repository = Some(Arc::new(LazyLock::new(Box::new(open))));
        self
    }

    /// The repository of the change.
    pub fn repository(&self) -> Result<&Revisions, ToolError> {
        let Some(repository) = &self.repository else {
            self.workspace()?;
            let message = "the change is only a diff: there is no repository to read from";
            return Err(ToolError::TellModel(message.to_owned()));
        };
        LazyLock::force(repository).as_ref().map_err(ToolError::clone)
    }

    /// Set when this call should end: its time is up, or the run was stopped.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// An error once this call should end, for `?` in loops.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(ToolError::Abort("the call was stopped".to_owned()))
        } else {
            Ok(())
        }
    }

    /// Stops all calls on this bench and its clones, now and later.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The same bench with a stop flag of its own, so that a call that took too long ends alone.
    pub(super) fn for_one_call(&self) -> Self {
        Self { stop: Arc::default(), ..self.clone() }
    }

    pub(super) fn stop_handle(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}
