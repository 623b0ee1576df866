//! `crh lsp`, driven by rust-analyzer's message library and the types of `lsp-types`.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use lsp_server::{Message, Notification, Request, RequestId, Response};
use lsp_types::notification::Notification as _;
use lsp_types::request::Request as _;
use lsp_types::{
    ApplyWorkspaceEditParams, CodeActionOrCommand, CodeActionParams, Diagnostic,
    DiagnosticSeverity, DidChangeTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, DocumentChanges, ExecuteCommandParams, InitializeResult, OneOf,
    PublishDiagnosticsParams, Range, ShowDocumentParams, TextDocumentContentChangeEvent,
    TextDocumentIdentifier, TextDocumentItem, Uri, VersionedTextDocumentIdentifier, notification,
    request,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::review::script::{answers, confirms, finding, with};
use crate::review::with_key;
use crate::user::{User, processes_in};
use crh_testkit::{FakeModel, Repo};

/// Longest wait for a message of the server, on a slow machine.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
const FILE: &str = "shop.py";
/// `is` is found by a static check, and the emoji moves the columns after it.
const SOURCE: &str = "def total(items):\n    return items / 2\n\n\ndef is_full(items):\n    return len(items) is 3  # \u{1F600} full\n";
const FIXED_LINE: &str = "    return sum(items)";

/// A user, a repository with a change, and its address in the editor.
struct Workspace {
    user: User,
    repo: Repo,
}

/// An editor that is connected to `crh lsp`.
struct Editor {
    server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Message>,
    /// Requests of the server that were not answered yet.
    requests: Vec<Request>,
    /// Newest diagnostics by address.
    diagnostics: BTreeMap<String, Vec<Diagnostic>>,
    /// Messages to the user.
    shown: Vec<String>,
    last_id: i32,
}

impl Workspace {
    fn new() -> Self {
        let repo = Repo::from_fixture("//- shop.py\ndef total(items):\n    return sum(items)\n");
        repo.git(&["switch", "--quiet", "-c", "topic"]);
        repo.write(FILE, SOURCE);
        Self { user: User::new(), repo }
    }

    /// Reviews the change with a model that finds one issue with an exact fix.
    fn review(&self) {
        let wrong = finding("P1", "The total is halved", "shop.py:2", "    return items / 2");
        let fix = json!({
            "autofix_class": "safe_auto", "owner": "review-fixer", "replacement": FIXED_LINE,
        });
        let model = FakeModel::start()
            .on("single", [answers(&[with(wrong, fix)])])
            .on("validate-1", [confirms()]);
        let args = ["review", "--strategy", "single", "--base", "HEAD"];
        let output = with_key(self.user.crh(self.repo.path(), &args), &model).run();
        assert_eq!(output.code, 1, "{}", output.shown());
    }

    fn uri(&self, file: &str) -> Uri {
        uri(&self.repo.path().canonicalize().unwrap().join(file))
    }

    #[expect(clippy::disallowed_methods, reason = "the test talks to the server while it runs")]
    fn start_server(&self, folder: &Path) -> Child {
        let home = self.user.path("");
        let mut command = Command::new(env!("CARGO_BIN_EXE_crh"));
        command.arg("lsp").current_dir(folder).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &home).env("CRH_STORE", home.join("store"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Starts a server and initialises it for the repository.
    fn open(&self, options: Value, capabilities: Value) -> (Editor, InitializeResult) {
        let mut editor = Editor::connect(self.start_server(self.repo.path()));
        let result = editor.initialize(self.repo.path(), options, capabilities);
        (editor, result)
    }
}

impl Editor {
    fn connect(mut server: Child) -> Self {
        let stdin = server.stdin.take();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok(Some(message)) = Message::read(&mut stdout) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let (requests, shown) = (Vec::new(), Vec::new());
        Self { server, stdin, messages, requests, diagnostics: BTreeMap::new(), shown, last_id: 0 }
    }

    fn initialize(
        &mut self,
        folder: &Path,
        options: Value,
        capabilities: Value,
    ) -> InitializeResult {
        let folders = json!([{ "uri": uri(folder).as_str(), "name": "repository" }]);
        let params = json!({
            "processId": null, "rootUri": null, "workspaceFolders": folders,
            "initializationOptions": options, "capabilities": capabilities,
        });
        let result = self.request(request::Initialize::METHOD, params).unwrap();
        self.notify(notification::Initialized::METHOD, json!({}));
        serde_json::from_value(result).unwrap()
    }

    fn send(&mut self, message: Message) {
        message.write(self.stdin.as_mut().unwrap()).unwrap();
    }

    fn notify(&mut self, method: &str, params: impl Serialize) {
        self.send(Notification::new(method.to_owned(), params).into());
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, method: &str, params: impl Serialize) -> Result<Value, String> {
        self.last_id += 1;
        let id = RequestId::from(self.last_id);
        self.send(Request::new(id.clone(), method.to_owned(), params).into());
        loop {
            if let Some(response) = self.receive() {
                assert_eq!(response.id, id);
                return response.response_result.map_err(|error| error.message);
            }
        }
    }

    /// Receives a message, and returns it if it is a response.
    fn receive(&mut self) -> Option<Response> {
        match self.messages.recv_timeout(LONGEST_WAIT).unwrap() {
            Message::Response(response) => return Some(response),
            Message::Request(request) => self.requests.push(request),
            Message::Notification(Notification { method, params }) => match method.as_str() {
                notification::PublishDiagnostics::METHOD => {
                    let params: PublishDiagnosticsParams = serde_json::from_value(params).unwrap();
                    self.diagnostics.insert(params.uri.to_string(), params.diagnostics);
                }
                notification::ShowMessage::METHOD => {
                    self.shown.push(params["message"].as_str().unwrap().to_owned());
                }
                _ => {}
            },
        }
        None
    }

    /// Waits for a request of the server.
    fn wait_for_request<T: DeserializeOwned>(&mut self, method: &str) -> (RequestId, T) {
        loop {
            if let Some(index) = self.requests.iter().position(|it| it.method == method) {
                let request = self.requests.remove(index);
                return (request.id, serde_json::from_value(request.params).unwrap());
            }
            assert!(self.receive().is_none(), "{method}");
        }
    }

    fn respond(&mut self, id: RequestId, result: Value) {
        self.send(Response::new_ok(id, result).into());
    }

    /// Waits until the diagnostics of a file are these: line and title.
    fn wait_for_diagnostics(&mut self, uri: &Uri, expected: &[(u32, &str)]) -> Vec<Diagnostic> {
        let line = |it: &Diagnostic| {
            let title = it.message.lines().next().unwrap_or_default();
            (it.range.start.line, title.to_owned())
        };
        let start = Instant::now();
        loop {
            if let Some(found) = self.diagnostics.get(uri.as_str()) {
                let mut lines: Vec<(u32, String)> = found.iter().map(line).collect();
                lines.sort();
                let expected = expected.iter().map(|(line, title)| (*line, (*title).to_owned()));
                if lines == expected.collect::<Vec<_>>() {
                    return found.clone();
                }
            }
            assert!(start.elapsed() < LONGEST_WAIT, "{expected:?}: {:?}", self.diagnostics);
            assert!(self.receive().is_none());
        }
    }

    fn open_file(&mut self, uri: &Uri, text: &str) {
        let text_document =
            TextDocumentItem::new(uri.clone(), "python".to_owned(), 1, text.to_owned());
        let params = DidOpenTextDocumentParams { text_document };
        self.notify(notification::DidOpenTextDocument::METHOD, params);
    }

    fn change_file(&mut self, uri: &Uri, version: i32, text: &str) {
        let change = TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: text.to_owned(),
        };
        let params = DidChangeTextDocumentParams {
            text_document: VersionedTextDocumentIdentifier::new(uri.clone(), version),
            content_changes: vec![change],
        };
        self.notify(notification::DidChangeTextDocument::METHOD, params);
    }

    fn save_file(&mut self, uri: &Uri) {
        let text_document = TextDocumentIdentifier::new(uri.clone());
        let params = DidSaveTextDocumentParams { text_document, text: None };
        self.notify(notification::DidSaveTextDocument::METHOD, params);
    }

    /// Titles and commands of the code actions of a range.
    fn actions(&mut self, uri: &Uri, range: Range) -> BTreeMap<String, ExecuteCommandParams> {
        let params = CodeActionParams {
            text_document: TextDocumentIdentifier::new(uri.clone()),
            range,
            context: lsp_types::CodeActionContext::default(),
            work_done_progress_params: lsp_types::WorkDoneProgressParams::default(),
            partial_result_params: lsp_types::PartialResultParams::default(),
        };
        let actions = self.request(request::CodeActionRequest::METHOD, params).unwrap();
        let actions: Option<Vec<CodeActionOrCommand>> = serde_json::from_value(actions).unwrap();
        let command = |action| match action {
            CodeActionOrCommand::CodeAction(action) => {
                let command = action.command.unwrap();
                let params = ExecuteCommandParams {
                    command: command.command,
                    arguments: command.arguments.unwrap(),
                    work_done_progress_params: lsp_types::WorkDoneProgressParams::default(),
                };
                (action.title, params)
            }
            CodeActionOrCommand::Command(command) => panic!("{command:?}"),
        };
        actions.unwrap_or_default().into_iter().map(command).collect()
    }

    /// Executes the code action with this title.
    fn execute(&mut self, uri: &Uri, range: Range, title: &str) {
        let actions = self.actions(uri, range);
        let titles: Vec<&String> = actions.keys().collect();
        let command = actions.get(title).unwrap_or_else(|| panic!("{title}: {titles:?}"));
        self.request(request::ExecuteCommand::METHOD, command).unwrap();
    }

    /// Ends the session as the protocol prescribes, with standard input open. Returns the exit code.
    fn shut_down(mut self) -> Option<i32> {
        self.request(request::Shutdown::METHOD, Value::Null).unwrap();
        self.notify(notification::Exit::METHOD, Value::Null);
        let start = Instant::now();
        let code = self.server.wait().unwrap().code();
        // Less than the time that the server gives to its children.
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        code
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // The server may have exited already.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn uri(path: &Path) -> Uri {
    Uri::from_str(&format!("file://{}", path.display())).unwrap()
}

/// Capabilities of an editor that can do everything crh asks for.
fn full_capabilities(encodings: &[&str]) -> Value {
    json!({
        "general": { "positionEncodings": encodings },
        "workspace": { "applyEdit": true, "workspaceEdit": { "documentChanges": true } },
        "window": { "showDocument": { "support": true } },
    })
}

const HALVED: &str = "P1 The total is halved";
const IDENTITY: &str = "P1 `is` with a literal compares identity, not equality";

#[test]
fn editor_session_with_fix_dismissal_and_evidence() {
    let workspace = Workspace::new();
    workspace.review();
    let capabilities = full_capabilities(&["utf-16", "utf-8"]);
    let (mut editor, result) = workspace.open(json!({ "trusted": true }), capabilities);
    assert_eq!(result.capabilities.position_encoding.unwrap().as_str(), "utf-8");
    let file = workspace.uri(FILE);
    editor.open_file(&file, SOURCE);
    let found = editor.wait_for_diagnostics(&file, &[(1, HALVED), (5, IDENTITY)]);
    let identity = found.iter().find(|it| it.range.start.line == 5).unwrap();
    // Bytes: the emoji counts as four.
    assert_eq!((identity.range.start.character, identity.range.end.character), (4, 39));
    assert_eq!(identity.severity, Some(DiagnosticSeverity::ERROR));
    let halved = found.iter().find(|it| it.range.start.line == 1).unwrap().range;

    editor.execute(&file, halved, "crh: apply fix (The total is halved)");
    let (id, edit) = editor.wait_for_request(request::ApplyWorkspaceEdit::METHOD);
    let ApplyWorkspaceEditParams { edit, .. } = edit;
    let Some(DocumentChanges::Edits(edits)) = edit.document_changes else { panic!("{edit:?}") };
    assert_eq!(edits.len(), 1);
    assert_eq!(
        (edits[0].text_document.uri.clone(), edits[0].text_document.version),
        (file.clone(), Some(1))
    );
    let [OneOf::Left(edit)] = &edits[0].edits[..] else { panic!("{edits:?}") };
    assert_eq!(edit.new_text, format!("{FIXED_LINE}\n"));
    assert_eq!((edit.range.start.line, edit.range.end.line, edit.range.end.character), (1, 2, 0));
    editor.respond(id, json!({ "applied": true }));

    // Unsaved: the fixed line is gone from the buffer, and the other one has moved.
    let fixed = format!("# New\n{}", SOURCE.replace("    return items / 2", FIXED_LINE));
    editor.change_file(&file, 2, &fixed);
    editor.wait_for_diagnostics(&file, &[(6, IDENTITY)]);
    workspace.repo.write(FILE, &fixed);
    editor.save_file(&file);
    let found = editor.wait_for_diagnostics(&file, &[(6, IDENTITY)]);

    let title = "`is` with a literal compares identity, not equality";
    editor.execute(&file, found[0].range, &format!("crh: show evidence ({title})"));
    let (id, page): (_, ShowDocumentParams) =
        editor.wait_for_request(request::ShowDocument::METHOD);
    let page = fs::read_to_string(page.uri.as_str().strip_prefix("file://").unwrap()).unwrap();
    assert!(page.contains("Quoted from `shop.py` line"), "{page}");
    editor.respond(id, json!({ "success": true }));

    for (answer, rest) in
        [(Value::Null, &[(6, IDENTITY)][..]), (json!({ "title": "False alarm" }), &[])]
    {
        editor.execute(&file, found[0].range, &format!("crh: dismiss… ({title})"));
        let (id, question): (_, Value) =
            editor.wait_for_request(request::ShowMessageRequest::METHOD);
        assert_eq!(question["actions"].as_array().unwrap().len(), 3, "{question}");
        editor.respond(id, answer);
        editor.wait_for_diagnostics(&file, rest);
    }
    let list = workspace.user.crh(workspace.repo.path(), &["dismiss", "--list"]).run();
    assert!(list.stdout.contains("False alarm"), "{}", list.shown());
    assert_eq!(editor.shown, Vec::<String>::new());
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn untrusted_workspace_with_moved_lines_offers_no_fix() {
    let workspace = Workspace::new();
    workspace.review();
    // Written after the review, so the lines of the run have moved.
    let moved = format!("# One\n# Two\n{SOURCE}");
    workspace.repo.write(FILE, &moved);
    let (mut editor, result) = workspace.open(Value::Null, json!({}));
    assert_eq!(result.capabilities.position_encoding.unwrap().as_str(), "utf-16");
    let file = workspace.uri(FILE);
    // Not open: the text comes from the disk.
    let found = editor.wait_for_diagnostics(&file, &[(3, HALVED), (7, IDENTITY)]);
    let identity = found.iter().find(|it| it.range.start.line == 7).unwrap();
    // UTF-16: the emoji counts as two.
    assert_eq!(identity.range.end.character, 37);
    let halved = found.iter().find(|it| it.range.start.line == 3).unwrap().range;
    let titles: Vec<String> = editor.actions(&file, halved).into_keys().collect();
    assert_eq!(
        titles,
        ["crh: dismiss… (The total is halved)", "crh: show evidence (The total is halved)"]
    );
    // An editor that opens no pages gets a message.
    editor.execute(&file, halved, "crh: show evidence (The total is halved)");
    while editor.shown.is_empty() {
        assert!(editor.receive().is_none());
    }
    assert!(editor.shown[0].contains("Found by single"), "{}", editor.shown[0]);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn unsaved_changes_in_fixed_lines_are_not_overwritten() {
    let workspace = Workspace::new();
    workspace.review();
    let (mut editor, _) = workspace.open(json!({ "trusted": true }), full_capabilities(&["utf-8"]));
    let file = workspace.uri(FILE);
    editor.open_file(&file, SOURCE);
    editor.wait_for_diagnostics(&file, &[(1, HALVED), (5, IDENTITY)]);
    editor.change_file(&file, 2, &SOURCE.replace("def total(items)", "def total(entries)"));
    let found = editor.wait_for_diagnostics(&file, &[(1, HALVED), (5, IDENTITY)]);
    let halved = found.iter().find(|it| it.range.start.line == 1).unwrap().range;
    editor.execute(&file, halved, "crh: apply fix (The total is halved)");
    while editor.shown.is_empty() {
        assert!(editor.receive().is_none());
    }
    assert_eq!(editor.shown, ["`shop.py` has unsaved changes; save it, then apply the fix"]);
    assert!(editor.requests.is_empty());
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn issue_of_a_check_is_dismissed_without_a_stored_run() {
    let workspace = Workspace::new();
    let (mut editor, _) = workspace.open(Value::Null, json!({}));
    let file = workspace.uri(FILE);
    let found = editor.wait_for_diagnostics(&file, &[(5, IDENTITY)]);
    let title = "crh: dismiss… (`is` with a literal compares identity, not equality)";
    editor.execute(&file, found[0].range, title);
    let (id, _): (_, Value) = editor.wait_for_request(request::ShowMessageRequest::METHOD);
    editor.respond(id, json!({ "title": "Accepted risk" }));
    editor.wait_for_diagnostics(&file, &[]);
    assert!(!workspace.repo.path().join(".crh/runs").exists());
    // An editor that cannot ask gets the command to type.
    workspace.repo.write(FILE, format!("{SOURCE}    return len(items) is 4\n"));
    editor.save_file(&file);
    let found = editor.wait_for_diagnostics(&file, &[(6, IDENTITY)]);
    editor.execute(&file, found[0].range, title);
    let (id, _): (_, Value) = editor.wait_for_request(request::ShowMessageRequest::METHOD);
    editor.send(Response::new_err(id, -32601, "Method not found".to_owned()).into());
    while editor.shown.is_empty() {
        assert!(editor.receive().is_none());
    }
    assert!(editor.shown[0].starts_with("this editor cannot ask for a reason; type: crh check"));
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
fn file_or_folder_without_repository_has_no_diagnostics() {
    let workspace = Workspace::new();
    let outside = workspace.user.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.py"), "x is 3\n").unwrap();
    let (mut editor, _) = workspace.open(Value::Null, json!({}));
    editor.open_file(&uri(&outside.join("a.py")), "x is 3\n");
    editor.save_file(&uri(&outside.join("a.py")));
    editor.wait_for_diagnostics(&workspace.uri(FILE), &[(5, IDENTITY)]);
    assert_eq!(editor.diagnostics.len(), 1, "{:?}", editor.diagnostics);
    let unknown = json!({ "command": "crh.delete", "arguments": [] });
    let refused = editor.request(request::ExecuteCommand::METHOD, unknown).unwrap_err();
    assert!(refused.starts_with("unknown command `crh.delete`"), "{refused}");
    let elsewhere = json!({
        "command": "crh.dismiss", "arguments": [{ "folder": "/", "key": "0123456789abcdef" }],
    });
    editor.request(request::ExecuteCommand::METHOD, elsewhere).unwrap();
    while editor.shown.is_empty() {
        assert!(editor.receive().is_none());
    }
    assert_eq!(editor.shown, ["this issue is gone; save the file to check again"]);
    assert_eq!(editor.shut_down(), Some(0));

    let mut editor = Editor::connect(workspace.start_server(&outside));
    editor.initialize(&outside, Value::Null, json!({}));
    while editor.shown.len() < 2 {
        assert!(editor.receive().is_none());
    }
    assert!(editor.shown[0].contains("is not inside a git repository"), "{:?}", editor.shown);
    assert_eq!(editor.shut_down(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn client_that_disappears_leaves_no_process() {
    let workspace = Workspace::new();
    let (mut editor, _) = workspace.open(Value::Null, json!({}));
    // The first check is running or about to.
    drop(editor.stdin.take());
    assert_eq!(editor.server.wait().unwrap().code(), Some(1));
    assert_eq!(processes_in(workspace.repo.path()), 0);
}
