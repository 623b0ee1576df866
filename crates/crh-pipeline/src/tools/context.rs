//! What tools work with: workspace, repository, analysers and cancellation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::thread;

use crate::context_pack::ContextPack;
use crate::revisions::Revisions;
use crate::tools::ToolError;
use crate::workspace::Workspace;
use crh_lint::analysers::Analysers;
use crh_review::finding::Side;
use crh_review::identity::content_id;
use crh_syntax::{Language, Symbols, symbols};

type OpenRepository = Box<dyn FnOnce() -> Result<Revisions, ToolError> + Send>;
/// A repository that is opened on first use.
type LazyRepository = LazyLock<Result<Revisions, ToolError>, OpenRepository>;

/// Symbols of parsed files. Files with the same text share them. `None` for files that do not
/// parse.
#[derive(Debug, Default)]
struct ParsedSymbols {
    by_path: BTreeMap<(Side, String), Option<Arc<Symbols>>>,
    /// By language and content id.
    by_text: BTreeMap<(Language, String), Option<Arc<Symbols>>>,
}

/// What tools work with. Cheap to clone; clones share everything.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    workspace: Option<Arc<Workspace>>,
    repository: Option<Arc<LazyRepository>>,
    parsed_symbols: Arc<Mutex<ParsedSymbols>>,
    context_pack: Arc<OnceLock<ContextPack>>,
    analysers: Option<Arc<Analysers>>,
    cancelled: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl ToolContext {
    /// An empty context, for tools that only compute.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a workspace.
    #[must_use]
    pub fn with_workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = Some(Arc::new(workspace));
        self
    }

    /// The workspace.
    pub fn workspace(&self) -> Result<&Workspace, ToolError> {
        let no_workspace =
            || ToolError::Abort("this tool needs a workspace, and there is none".to_owned());
        self.workspace.as_deref().ok_or_else(no_workspace)
    }

    /// Adds the repository of the change, opened on first use.
    #[must_use]
    pub fn with_repository(
        mut self,
        open: impl FnOnce() -> Result<Revisions, ToolError> + Send + 'static,
    ) -> Self {
        self.repository = Some(Arc::new(LazyLock::new(Box::new(open))));
        self
    }

    /// A new context with the same workspace and other revisions. Does not share parsed symbols.
    #[must_use]
    pub fn with_other_revisions(&self, revisions: Revisions) -> Self {
        let (workspace, analysers) = (self.workspace.clone(), self.analysers.clone());
        let ctx = Self { workspace, analysers, ..Self::default() };
        ctx.with_repository(move || Ok(revisions))
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

    /// Adds the installed analysers.
    #[must_use]
    pub fn with_analysers(mut self, analysers: Option<Arc<Analysers>>) -> Self {
        self.analysers = analysers;
        self
    }

    /// Installed analysers. `None` if they must not run.
    pub fn analysers(&self) -> Option<&Analysers> {
        self.analysers.as_deref()
    }

    /// Symbols of a file, parsed once: parsing is slow, and several stages need the same files.
    pub(crate) fn symbols(
        &self,
        side: Side,
        path: &str,
        text: impl FnOnce() -> Option<String>,
    ) -> Option<Arc<Symbols>> {
        let key = (side, path.to_owned());
        let cache = || self.parsed_symbols.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(symbols) = cache().by_path.get(&key) {
            return symbols.clone();
        }
        let language = Language::from_path(path)?;
        let parsed_file = text().and_then(|text| {
            let text_key = (language, content_id(text.as_bytes()));
            if let Some(symbols) = cache().by_text.get(&text_key) {
                return symbols.clone();
            }
            let parsed_text = symbols(language, &text).ok().map(Arc::new);
            cache().by_text.insert(text_key, parsed_text.clone());
            parsed_text
        });
        cache().by_path.insert(key, parsed_file.clone());
        parsed_file
    }

    /// Parses files into the cache, on all processors, until the current call must end.
    pub(crate) fn parse_in_parallel(
        &self,
        files: &[(Side, String)],
        text: impl Fn(Side, &str) -> Option<String> + Sync,
    ) {
        let next_file = AtomicUsize::new(0);
        let parse = || {
            while self.check_stopped().is_ok()
                && let Some((side, path)) = files.get(next_file.fetch_add(1, Ordering::Relaxed))
            {
                self.symbols(*side, path, || text(*side, path));
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(parse);
            }
        });
    }

    /// The context pack of the change, built once.
    pub(crate) fn context_pack(&self, build: impl FnOnce() -> ContextPack) -> &ContextPack {
        self.context_pack.get_or_init(build)
    }

    /// Set when the current call must end: timeout or cancellation.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Returns an error when the current call must end. For `?` in loops.
    pub fn check_stopped(&self) -> Result<(), ToolError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(ToolError::Abort("the call was stopped".to_owned()))
        } else {
            Ok(())
        }
    }

    /// Cancels all calls of this context and its clones, now and later.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// A clone with its own stop flag, so that a timeout ends only one call or one group of checks.
    pub(crate) fn for_one_call(&self) -> Self {
        Self { stop: Arc::default(), ..self.clone() }
    }

    pub(crate) fn stop_handle(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_call_parses_no_more_files() {
        let ctx = ToolContext::new();
        let read_files = AtomicUsize::new(0);
        let files = ["a.py", "b.py"].map(|path| (Side::New, path.to_owned()));
        let parse = || {
            ctx.parse_in_parallel(&files, |_, _| {
                read_files.fetch_add(1, Ordering::Relaxed);
                Some("x = 1\n".to_owned())
            });
            read_files.load(Ordering::Relaxed)
        };
        ctx.stop().store(true, Ordering::Relaxed);
        assert_eq!(parse(), 0);
        ctx.stop().store(false, Ordering::Relaxed);
        assert_eq!(parse(), 2);
    }
}
