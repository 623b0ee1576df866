//! Handles the messages of the client, and decides when to publish diagnostics.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    ClientCapabilities, CodeActionOptions, CodeActionParams, CodeActionProviderCapability,
    CodeActionResponse, DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    ExecuteCommandOptions, ExecuteCommandParams, InitializeParams, InitializeResult,
    InitializedParams, LSPAny, MessageType, OneOf, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions, Uri, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};
use tower_lsp_server::{Client, LanguageServer};

use super::commands;
use super::diagnostics::{PlacedIssue, place_issues};
use super::place::{ColumnUnit, shares_line};
use super::workspace::{KnownIssue, WorkspaceRoot, read_text};
use crate::program::{Invocation, Program, ProgramError, ProgramOutput, StopFlag};
use crh_os::names::canonical;
use crh_review::report::Report;

/// Time limit of a check.
const CHECK_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Time limit of commands that only read or write small files.
const SHORT_LIMIT: Duration = Duration::from_secs(60);
/// How often to look for a new stored run.
const RUNS_POLL: Duration = Duration::from_secs(2);

/// Whether the editor trusts the workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WorkspaceTrust {
    /// External linters run in crh's sandbox, and crh offers fixes.
    Trusted,
    /// No external linter runs, and crh offers no fixes.
    #[default]
    Untrusted,
}

/// The part of `initializationOptions` that crh reads.
#[derive(Debug, Default, Deserialize)]
struct ClientOptions {
    #[serde(default)]
    trusted: bool,
}

/// What the client sent with `initialize`.
#[derive(Debug, Clone)]
pub(super) struct ClientSetup {
    pub(super) unit: ColumnUnit,
    pub(super) trust: WorkspaceTrust,
    pub(super) capabilities: ClientCapabilities,
}

/// An open file.
#[derive(Debug, Clone)]
struct OpenDocument {
    uri: Uri,
    version: i32,
    text: String,
}

/// State of the session.
#[derive(Debug)]
struct SessionState {
    setup: ClientSetup,
    roots: Vec<Arc<WorkspaceRoot>>,
    /// Open files by their path without symlinks.
    documents: BTreeMap<PathBuf, OpenDocument>,
    /// Files with published diagnostics, by root folder.
    published: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

/// What handlers and tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) stop: StopFlag,
    pub(super) is_shut_down: AtomicBool,
    program: Program,
    state: Mutex<SessionState>,
    /// Folder for pages that the editor opens and for runs of this session; deleted at the end.
    scratch: OnceLock<TempDir>,
}

/// The language server.
pub(super) struct Backend(Arc<Shared>);

impl Backend {
    pub(super) fn new(client: Client, program: Program) -> Self {
        let setup = ClientSetup {
            unit: ColumnUnit::Utf16,
            trust: WorkspaceTrust::Untrusted,
            capabilities: ClientCapabilities::default(),
        };
        let state = SessionState {
            setup,
            roots: Vec::new(),
            documents: BTreeMap::new(),
            published: BTreeMap::new(),
        };
        Self(Arc::new(Shared {
            client,
            stop: StopFlag::default(),
            is_shut_down: AtomicBool::new(false),
            program,
            state: Mutex::new(state),
            scratch: OnceLock::new(),
        }))
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        self.0.clone()
    }

    /// Opens workspace folders and watches them. Warns about folders outside of a repository.
    async fn open_folders(&self, folders: Vec<Uri>) -> Vec<Arc<WorkspaceRoot>> {
        let mut roots = Vec::new();
        for uri in folders {
            let path = uri.to_file_path().map(std::borrow::Cow::into_owned);
            let Some(path) = path else {
                self.0.warn(&format!("`{}` is not a folder on this machine", uri.as_str())).await;
                continue;
            };
            match WorkspaceRoot::open(&path) {
                Ok(root) => {
                    let root = Arc::new(root);
                    let shared = self.0.clone();
                    self.0.state().roots.push(root.clone());
                    roots.push(root.clone());
                    tokio::spawn(async move { shared.watch(root).await });
                }
                Err(problem) => self.0.warn(&problem.to_string()).await,
            }
        }
        roots
    }

    /// Stores the text of a document, and places its issues again.
    async fn update_document(&self, uri: Uri, version: i32, text: String) {
        let Some(path) = canonical_path(&uri) else { return };
        let root = {
            let mut state = self.0.state();
            state.documents.insert(path.clone(), OpenDocument { uri, version, text });
            state.root_of(&path)
        };
        if let Some(root) = root {
            self.0.publish_file(&root, &path).await;
        }
    }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let general = params.capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref());
        let unit = ColumnUnit::negotiate(offered);
        let options = params.initialization_options.unwrap_or_default();
        let options = serde_json::from_value::<Option<ClientOptions>>(options).ok().flatten();
        let trust = match options.unwrap_or_default().trusted {
            true => WorkspaceTrust::Trusted,
            false => WorkspaceTrust::Untrusted,
        };
        #[expect(deprecated, reason = "older clients send only the root")]
        let root_uri = params.root_uri;
        let folders: Vec<Uri> = match params.workspace_folders {
            Some(folders) => folders.into_iter().map(|folder| folder.uri).collect(),
            None => root_uri.into_iter().collect(),
        };
        self.0.state().setup = ClientSetup { unit, trust, capabilities: params.capabilities };
        self.open_folders(folders).await;
        Ok(InitializeResult {
            capabilities: capabilities(unit),
            server_info: Some(ServerInfo {
                name: "crh".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..InitializeResult::default()
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        let roots = self.0.state().roots.clone();
        if roots.is_empty() {
            self.0.warn("crh reports nothing: open a folder of a git repository").await;
        }
        for root in roots {
            root.saved.notify_one();
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.0.is_shut_down.store(true, Ordering::SeqCst);
        self.0.stop.stop();
        Ok(())
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let event = params.event;
        let removed: Vec<PathBuf> =
            event.removed.iter().filter_map(|folder| canonical_path(&folder.uri)).collect();
        let gone = {
            let mut state = self.0.state();
            state.roots.retain(|root| !removed.contains(&root.folder));
            let files = removed.iter().filter_map(|folder| state.published.remove(folder));
            files.flatten().collect::<Vec<_>>()
        };
        for path in gone {
            self.0.send_diagnostics(&path, Vec::new()).await;
        }
        let added = event.added.into_iter().map(|folder| folder.uri).collect();
        for root in self.open_folders(added).await {
            root.saved.notify_one();
        }
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.update_document(document.uri, document.version, document.text).await;
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        // With full synchronisation, the last change has the whole text.
        let Some(change) = params.content_changes.into_iter().next_back() else { return };
        let document = params.text_document;
        self.update_document(document.uri, document.version, change.text).await;
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        let path = canonical_path(&params.text_document.uri);
        let root = path.and_then(|path| self.0.state().root_of(&path));
        if let Some(root) = root {
            root.saved.notify_one();
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let Some(path) = canonical_path(&params.text_document.uri) else { return };
        let root = {
            let mut state = self.0.state();
            state.documents.remove(&path);
            state.root_of(&path)
        };
        if let Some(root) = root {
            self.0.publish_file(&root, &path).await;
        }
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let path = canonical_path(&params.text_document.uri);
        let Some(path) = path else { return Ok(None) };
        let (setup, root) = {
            let state = self.0.state();
            (state.setup.clone(), state.root_of(&path))
        };
        let Some(root) = root else { return Ok(None) };
        let placed = self.0.place_file(&root, &path);
        let here =
            placed.iter().filter(|(placed, _)| shares_line(placed.diagnostic.range, params.range));
        let actions = here.flat_map(|(placed, known)| {
            commands::code_actions(placed, known, &root.folder, &setup)
        });
        Ok(Some(actions.collect()))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        let call = commands::IssueCommand::parse(params)?;
        let shared = self.0.clone();
        // The command may wait for an answer of the client, so this handler does not wait for the
        // command.
        tokio::spawn(async move { commands::execute(&shared, call).await });
        Ok(None)
    }
}

impl SessionState {
    /// The innermost workspace folder of a file.
    fn root_of(&self, path: &Path) -> Option<Arc<WorkspaceRoot>> {
        let roots = self.roots.iter().filter(|root| root.contains(path));
        roots.max_by_key(|root| root.folder.as_os_str().len()).cloned()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn setup(&self) -> ClientSetup {
        self.state().setup.clone()
    }

    /// The workspace folder at this path.
    pub(super) fn root(&self, folder: &Path) -> Option<Arc<WorkspaceRoot>> {
        self.state().roots.iter().find(|root| root.folder == folder).cloned()
    }

    /// Address, version and text of a file, as the editor has it or from disk.
    pub(super) fn text_of(&self, path: &Path) -> Option<(Uri, Option<i32>, String)> {
        let document = self.state().documents.get(path).cloned();
        match document {
            Some(OpenDocument { uri, version, text }) => Some((uri, Some(version), text)),
            None => Some((Uri::from_file_path(path)?, None, read_text(path)?)),
        }
    }

    /// A temporary folder that only the user can read.
    pub(super) fn scratch_folder(&self) -> io::Result<&Path> {
        if self.scratch.get().is_none() {
            let folder = tempfile::Builder::new().prefix("crh-").tempdir()?;
            // Another command may have created the folder meanwhile; then this one is deleted.
            self.scratch.set(folder).unwrap_or_default();
        }
        let folder = self.scratch.get().ok_or(io::ErrorKind::NotFound)?;
        Ok(folder.path())
    }

    pub(super) async fn warn(&self, message: &str) {
        let message = crh_review::escape_invisible(message);
        self.client.show_message(MessageType::WARNING, message).await;
    }

    /// Runs a command of crh in a workspace folder.
    pub(super) async fn run(
        &self,
        root: &WorkspaceRoot,
        args: Vec<OsString>,
        time_limit: Duration,
    ) -> std::result::Result<ProgramOutput, ProgramError> {
        let call = Invocation::new(&root.folder, args, time_limit);
        let (program, stop) = (self.program.clone(), self.stop.clone());
        let run = tokio::task::spawn_blocking(move || program.run(&call, &stop, |_| {}));
        // Fails if the thread panics or the server ends.
        run.await.unwrap_or(Err(ProgramError::Stopped))
    }

    /// Runs a short command that prints JSON. `None` if it fails.
    async fn read_json<T: DeserializeOwned>(
        &self,
        root: &WorkspaceRoot,
        args: &[&str],
    ) -> Option<T> {
        let args = args.iter().map(OsString::from).collect();
        let output = self.run(root, args, SHORT_LIMIT).await.ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// Checks a folder after each save. After a save, or when a newer run is stored, reads the
    /// newest run and publishes all issues. One check runs at a time, and saves during a check lead
    /// to one more.
    async fn watch(&self, root: Arc<WorkspaceRoot>) {
        let mut newest_report = None;
        loop {
            let is_saved = tokio::select! {
                () = root.saved.notified() => true,
                () = tokio::time::sleep(RUNS_POLL) => false,
            };
            if self.stop.is_stopped() || self.root(&root.folder).is_none() {
                return;
            }
            let newest = root.newest_report();
            let is_new_run = newest != newest_report;
            if !is_saved && !is_new_run {
                continue;
            }
            if is_saved {
                self.check(&root).await;
            }
            newest_report = newest;
            self.read_run(&root).await;
            self.publish(&root).await;
        }
    }

    /// Runs the static checks.
    async fn check(&self, root: &WorkspaceRoot) {
        let report = self.check_report(root, &["--mode=report-only"]).await;
        match report {
            Ok(report) => root.findings().check = Some(report),
            Err(message) => {
                root.findings().check = None;
                if !self.stop.is_stopped() {
                    self.client.log_message(MessageType::WARNING, message).await;
                }
            }
        }
    }

    /// The report of the static checks, or the error message.
    pub(super) async fn check_report(
        &self,
        root: &WorkspaceRoot,
        more_args: &[&str],
    ) -> std::result::Result<Report, String> {
        let args = ["check", "--format=json", "--no-pr", "--offline"];
        let args = args.iter().chain(more_args).chain(self.trust_args());
        let args = args.map(OsString::from).collect();
        let output = self.run(root, args, CHECK_LIMIT).await.map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("crh check: {}", output.message()))
    }

    /// Arguments that keep an untrusted workspace from starting programs.
    pub(super) fn trust_args(&self) -> &'static [&'static str] {
        match self.state().setup.trust {
            WorkspaceTrust::Trusted => &[],
            WorkspaceTrust::Untrusted => &["--analysers=never"],
        }
    }

    /// Reads the newest stored run and the dismissed issues.
    pub(super) async fn read_run(&self, root: &WorkspaceRoot) {
        let run: Option<Report> = self.read_json(root, &["show", "--format=json"]).await;
        let list: Option<Vec<DismissalEntry>> =
            self.read_json(root, &["dismiss", "--list", "--format=json"]).await;
        let mut findings = root.findings();
        let report = findings.check.as_ref().or(run.as_ref());
        let repo = report.map(|report| report.change.repo.clone()).unwrap_or_default();
        let dismissed = list.unwrap_or_default().into_iter().filter(|entry| entry.repo == repo);
        findings.dismissed = dismissed.map(|entry| entry.dedupe_key).collect();
        findings.run = run;
    }

    /// Issues of a file at their places in its current text.
    fn place_file(&self, root: &WorkspaceRoot, path: &Path) -> Vec<(PlacedIssue, KnownIssue)> {
        let Some((_, _, text)) = self.text_of(path) else { return Vec::new() };
        let unit = self.state().setup.unit;
        let known = root.issues();
        let here = known.into_iter().filter(|known| {
            root.path_of(&known.issue.location.file).is_some_and(|file| file == path)
        });
        let uri_of = |file: &str| Uri::from_file_path(root.path_of(file)?);
        here.flat_map(|known| {
            let placed = place_issues([&known.issue], &text, unit, uri_of);
            placed.into_iter().map(move |placed| (placed, known.clone()))
        })
        .collect()
    }

    /// Publishes the diagnostics of all files with issues, and clears those of files without
    /// issues.
    pub(super) async fn publish(&self, root: &WorkspaceRoot) {
        let issues = root.issues();
        let files: BTreeSet<PathBuf> =
            issues.iter().filter_map(|known| root.path_of(&known.issue.location.file)).collect();
        let before = self.state().published.insert(root.folder.clone(), files.clone());
        for path in before.unwrap_or_default().difference(&files) {
            self.send_diagnostics(path, Vec::new()).await;
        }
        for path in &files {
            self.send_diagnostics(path, self.place_file(root, path)).await;
        }
    }

    /// Publishes the diagnostics of one file, if it has or had any.
    async fn publish_file(&self, root: &WorkspaceRoot, path: &Path) {
        let placed = self.place_file(root, path);
        let is_published = {
            let mut state = self.state();
            let files = state.published.entry(root.folder.clone()).or_default();
            let was_published = files.contains(path);
            if !placed.is_empty() {
                files.insert(path.to_owned());
            }
            was_published || !placed.is_empty()
        };
        if is_published {
            self.send_diagnostics(path, placed).await;
        }
    }

    async fn send_diagnostics(&self, path: &Path, placed: Vec<(PlacedIssue, KnownIssue)>) {
        let document = self.state().documents.get(path).map(|it| (it.uri.clone(), it.version));
        let (uri, version) = match document {
            Some((uri, version)) => (uri, Some(version)),
            None => match Uri::from_file_path(path) {
                Some(uri) => (uri, None),
                None => return,
            },
        };
        let diagnostics = placed.into_iter().map(|(placed, _)| placed.diagnostic).collect();
        self.client.publish_diagnostics(uri, diagnostics, version).await;
    }
}

/// An entry of `crh dismiss --list --format json`.
#[derive(Debug, Deserialize)]
struct DismissalEntry {
    repo: String,
    dedupe_key: String,
}

/// The path of a file or folder of the editor, without symlinks.
fn canonical_path(uri: &Uri) -> Option<PathBuf> {
    canonical(uri.to_file_path()?).ok()
}

fn capabilities(unit: ColumnUnit) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::FULL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions::default())),
        ..TextDocumentSyncOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(unit.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![commands::ACTION_KIND]),
            ..CodeActionOptions::default()
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::NAMES.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}

#[cfg(test)]
mod tests;
