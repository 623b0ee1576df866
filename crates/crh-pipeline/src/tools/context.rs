//! What tools work with: the workspace, the repository, and a way to be stopped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::revisions::Revisions;
use crate::tools::ToolError;
use crate::workspace::Workspace;
use crh_lint::analysers::Analysers;
use crh_review::finding::Side;
use crh_syntax::{Language, Symbols, symbols};

/// Opens a repository.
type Open = Box<dyn FnOnce() -> Result<Revisions, ToolError> + Send>;
/// A repository that is opened when it is first asked for.
type Lazy = LazyLock<Result<Revisions, ToolError>, Open>;

/// The functions and types of files that were parsed, by side and path; none of a file that cannot be.
type Parsed = BTreeMap<(Side, String), Option<Arc<Symbols>>>;

/// What tools work with. Cloning is cheap, and clones work with the same things.
#[derive(Debug, Clone, Default)]
pub struct Bench {
    workspace: Option<Arc<Workspace>>,
    repository: Option<Arc<Lazy>>,
    parsed: Arc<Mutex<Parsed>>,
    analysers: Option<Arc<Analysers>>,
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

    /// A bench of its own with the same workspace on it, and another repository: what was parsed of this one does not count there.
    #[must_use]
    pub fn over(&self, revisions: Revisions) -> Self {
        let (workspace, analysers) = (self.workspace.clone(), self.analysers.clone());
        let bench = Self { workspace, analysers, ..Self::default() };
        bench.with_repository(move || Ok(revisions))
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

    /// The bench with the analysers that are installed on it.
    #[must_use]
    pub fn with_analysers(mut self, analysers: Option<Arc<Analysers>>) -> Self {
        self.analysers = analysers;
        self
    }

    /// The analysers that are installed; none if they are not to be run.
    pub fn analysers(&self) -> Option<&Analysers> {
        self.analysers.as_deref()
    }

    /// The functions and types of a file. Parsing takes longer than reading, and several stages ask about the same files:
    /// each is parsed once.
    pub(crate) fn symbols(
        &self,
        side: Side,
        path: &str,
        text: impl FnOnce() -> Option<String>,
    ) -> Option<Arc<Symbols>> {
        let key = (side, path.to_owned());
        let parsed = || self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = parsed().get(&key) {
            return known.clone();
        }
        let language = Language::of_path(path)?;
        let found = text().and_then(|text| symbols(language, &text).ok()).map(Arc::new);
        parsed().insert(key, found.clone());
        found
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
