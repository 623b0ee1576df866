//! Code actions and their commands: apply a fix, dismiss an issue, show its evidence.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tower_lsp_server::jsonrpc;
use tower_lsp_server::ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Command, DocumentChanges,
    ExecuteCommandParams, MessageActionItem, MessageType, OneOf,
    OptionalVersionedTextDocumentIdentifier, ShowDocumentParams, TextDocumentEdit, Uri,
    WorkspaceEdit,
};

use super::diagnostics::PlacedIssue;
use super::server::{ClientSetup, Shared, WorkspaceTrust};
use super::workspace::{KnownIssue, WorkspaceRoot};
use super::{edits, evidence};
use crh_review::diff::Diff;

const APPLY_FIX: &str = "crh.applyFix";
const DISMISS: &str = "crh.dismiss";
const SHOW_EVIDENCE: &str = "crh.showEvidence";

/// Commands of the server.
pub(super) const NAMES: [&str; 3] = [APPLY_FIX, DISMISS, SHOW_EVIDENCE];
pub(super) const ACTION_KIND: CodeActionKind = CodeActionKind::QUICKFIX;

/// Reasons that the user can choose for a dismissal: the protocol has no text input.
const REASONS: [&str; 3] = ["False alarm", "Accepted risk", "Not in this change"];
/// Longest title of an issue in a menu.
const TITLE_MAX: usize = 60;
/// Time limit of `crh fix --dry-run`: it checks the fixed tree and may run the user's tests.
const FIX_LIMIT: Duration = Duration::from_secs(30 * 60);
const SHORT_LIMIT: Duration = Duration::from_secs(60);

/// Argument of a command: the issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IssueRef {
    /// Workspace folder.
    folder: PathBuf,
    /// Key of the issue.
    key: String,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IssueAction {
    ApplyFix,
    Dismiss,
    ShowEvidence,
}

/// A command that the client sent.
#[derive(Debug)]
pub(super) struct IssueCommand {
    action: IssueAction,
    issue: IssueRef,
}

impl IssueCommand {
    /// Rejects an unknown command or argument.
    pub(super) fn parse(params: ExecuteCommandParams) -> jsonrpc::Result<Self> {
        let action = match params.command.as_str() {
            APPLY_FIX => IssueAction::ApplyFix,
            DISMISS => IssueAction::Dismiss,
            SHOW_EVIDENCE => IssueAction::ShowEvidence,
            other => {
                let commands = NAMES.join(", ");
                let message = format!("unknown command `{other}`; crh has {commands}");
                return Err(jsonrpc::Error::invalid_params(message));
            }
        };
        let argument = params.arguments.into_iter().next().unwrap_or_default();
        let issue = serde_json::from_value(argument).map_err(|error| {
            jsonrpc::Error::invalid_params(format!("expected an issue of crh: {error}"))
        })?;
        Ok(Self { action, issue })
    }
}

/// The code actions of an issue.
pub(super) fn code_actions(
    placed: &PlacedIssue,
    known: &KnownIssue,
    folder: &Path,
    setup: &ClientSetup,
) -> Vec<CodeActionOrCommand> {
    let workspace = setup.capabilities.workspace.as_ref();
    let can_edit = workspace.and_then(|workspace| workspace.apply_edit).unwrap_or_default();
    // crh offers only exact replacements here: any other fix would ask a model and cost money.
    let is_fixable = known.run.is_some() && known.issue.replacement.is_some();
    let has_fix = can_edit && is_fixable && setup.trust == WorkspaceTrust::Trusted;
    let titles = [
        (APPLY_FIX, "apply fix", has_fix),
        (DISMISS, "dismiss…", true),
        (SHOW_EVIDENCE, "show evidence", true),
    ];
    let issue = IssueRef { folder: folder.to_owned(), key: placed.issue.dedupe_key.clone() };
    let about = crh_review::escape_invisible(&placed.issue.title).replace('\n', " ");
    let about = crh_review::truncate(&about, TITLE_MAX);
    let offered = titles.into_iter().filter(|(_, _, is_offered)| *is_offered);
    offered
        .map(|(command, verb, _)| {
            let title = format!("crh: {verb} ({about})");
            let arguments = serde_json::to_value(&issue).ok().map(|issue| vec![issue]);
            CodeActionOrCommand::CodeAction(CodeAction {
                title: title.clone(),
                kind: Some(ACTION_KIND),
                diagnostics: Some(vec![placed.diagnostic.clone()]),
                command: Some(Command { title, command: command.to_owned(), arguments }),
                ..CodeAction::default()
            })
        })
        .collect()
}

/// Executes a command. Tells the user what failed.
pub(super) async fn execute(shared: &Shared, command: IssueCommand) {
    let IssueCommand { action, issue: IssueRef { folder, key } } = command;
    let root = shared.root(&folder);
    let known = root
        .as_ref()
        .and_then(|root| root.issues().into_iter().find(|known| known.issue.dedupe_key == key));
    let (Some(root), Some(known)) = (root, known) else {
        shared.warn("this issue is gone; save the file to check again").await;
        return;
    };
    let done = match action {
        IssueAction::ApplyFix => apply_fix(shared, &root, &known).await,
        IssueAction::Dismiss => dismiss(shared, &root, &known).await,
        IssueAction::ShowEvidence => show_evidence(shared, &known).await,
    };
    if let Err(message) = done {
        shared.warn(&message).await;
    }
}

/// Puts the fix into the editor, unsaved, so that the user sees it and can undo it.
async fn apply_fix(
    shared: &Shared,
    root: &WorkspaceRoot,
    known: &KnownIssue,
) -> Result<(), String> {
    if shared.setup().trust == WorkspaceTrust::Untrusted {
        return Err("crh fixes nothing in a workspace that the editor does not trust".to_owned());
    }
    let (run, number) = root
        .number_in_run(&known.issue.dedupe_key)
        .ok_or("this issue has no stored run; start one with `crh review`")?;
    let args = ["fix", &run, "--issue", &number.to_string(), "--dry-run"].map(OsString::from);
    let output =
        shared.run(root, args.to_vec(), FIX_LIMIT).await.map_err(|error| error.to_string())?;
    if output.stdout.is_empty() {
        return Err(format!("crh fix: {}", output.message()));
    }
    let diff = Diff::read(output.stdout);
    let mut changes = Vec::new();
    for file in diff.files() {
        let name = file.path.shown();
        let path =
            root.path_of(&name).ok_or_else(|| format!("`{name}` is outside the workspace"))?;
        let (uri, version, text) =
            shared.text_of(&path).ok_or_else(|| format!("`{name}` cannot be read"))?;
        let edit = edits::text_edit(&diff, file, &text)
            .ok_or_else(|| format!("`{name}` has unsaved changes; save it, then apply the fix"))?;
        changes.push((uri, version, edit));
    }
    let edit = workspace_edit(changes, &shared.setup());
    let response = shared.client.apply_edit(edit).await.map_err(|error| error.to_string())?;
    match (response.applied, response.failure_reason) {
        (true, _) => Ok(()),
        (false, reason) => {
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            Err(format!("the editor did not apply the fix: {reason}"))
        }
    }
}

/// The edit, with versions if the client checks them.
fn workspace_edit(
    changes: Vec<(Uri, Option<i32>, tower_lsp_server::ls_types::TextEdit)>,
    setup: &ClientSetup,
) -> WorkspaceEdit {
    let workspace = setup.capabilities.workspace.as_ref();
    let edits = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
    if edits.and_then(|edits| edits.document_changes).unwrap_or_default() {
        let change = |(uri, version, edit)| TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
            edits: vec![OneOf::Left(edit)],
        };
        let changes = changes.into_iter().map(change).collect();
        let document_changes = Some(DocumentChanges::Edits(changes));
        return WorkspaceEdit { document_changes, ..WorkspaceEdit::default() };
    }
    let changes: HashMap<_, _> =
        changes.into_iter().map(|(uri, _, edit)| (uri, vec![edit])).collect();
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

/// Asks for a reason and dismisses the issue. Without a reason, nothing happens.
async fn dismiss(shared: &Shared, root: &WorkspaceRoot, known: &KnownIssue) -> Result<(), String> {
    let title = crh_review::escape_invisible(&known.issue.title);
    let question = format!("Hide this issue in all later reviews of the repository? {title}");
    let reasons = REASONS.map(|reason| MessageActionItem {
        title: reason.to_owned(),
        properties: HashMap::default(),
    });
    let client = &shared.client;
    let answer =
        client.show_message_request(MessageType::INFO, question, Some(reasons.to_vec())).await;
    let reason = match answer {
        Ok(Some(reason)) => reason,
        Ok(None) => return Ok(()),
        Err(_) => return Err(dismissal_by_hand(root, known)),
    };
    if !REASONS.contains(&reason.title.as_str()) {
        return Ok(());
    }
    let mut args: Vec<OsString> = vec!["dismiss".into()];
    let (run, number) = match root.number_in_run(&known.issue.dedupe_key) {
        Some(known) => known,
        // `crh dismiss` needs a stored run. crh stores this check in a temporary folder, so that
        // the newest review stays the newest run of the checkout.
        None => {
            let folder = shared.scratch_folder().map_err(|error| error.to_string())?;
            let run_dir = format!("--run-dir={}", folder.join("runs").display());
            let report = shared.check_report(root, &[&run_dir]).await?;
            args.push(run_dir.into());
            let mut issues = report.all_issues();
            let issue = issues.find(|issue| issue.dedupe_key == known.issue.dedupe_key);
            (report.run_id.clone(), issue.ok_or("this issue is gone")?.number)
        }
    };
    args.extend([format!("{run}#{number}").into(), reason.title.into()]);
    let output = shared.run(root, args, SHORT_LIMIT).await.map_err(|error| error.to_string())?;
    if output.code != Some(0) {
        return Err(format!("crh dismiss: {}", output.message()));
    }
    shared.read_run(root).await;
    shared.publish(root).await;
    Ok(())
}

/// What the user can type if the editor cannot ask.
fn dismissal_by_hand(root: &WorkspaceRoot, known: &KnownIssue) -> String {
    match root.number_in_run(&known.issue.dedupe_key) {
        Some((run, number)) => {
            format!("this editor cannot ask for a reason; type: crh dismiss {run}#{number} REASON")
        }
        None => format!(
            "this editor cannot ask for a reason; type: crh check, then crh dismiss {} REASON",
            known.issue.number
        ),
    }
}

/// Opens a page with the evidence, or shows it as a message if the client opens no pages.
async fn show_evidence(shared: &Shared, known: &KnownIssue) -> Result<(), String> {
    let source = match &known.run {
        Some(run) => format!("run {run}, `crh show {run}`"),
        None => "`crh check`".to_owned(),
    };
    let page = evidence::page(&known.issue, &source);
    let setup = shared.setup();
    let window = setup.capabilities.window.as_ref();
    let can_open = window.and_then(|window| window.show_document.as_ref());
    if !can_open.is_some_and(|can_open| can_open.support) {
        shared.client.show_message(MessageType::INFO, page).await;
        return Ok(());
    }
    let folder = shared.scratch_folder();
    let file = folder.and_then(|folder| {
        let file = folder.join(format!("{}.md", known.issue.dedupe_key));
        fs::write(&file, page).map(|()| file)
    });
    let file = file.map_err(|error| format!("cannot write the evidence: {error}"))?;
    let uri = Uri::from_file_path(&file).ok_or("cannot name the evidence")?;
    let params =
        ShowDocumentParams { uri, external: Some(false), take_focus: Some(true), selection: None };
    let is_shown = shared.client.show_document(params).await;
    match is_shown.map_err(|error| error.to_string())? {
        true => Ok(()),
        false => Err(format!("the editor did not open `{}`", file.display())),
    }
}
