use std::fs;

use serde_json::json;
use tower_lsp_server::LspService;

use super::*;
use crate::program::ATTENDED;

/// A report with issues.
const REPORT: &str = include_str!("../../../../crh-review/tests/data/render/report.json");

/// Commands that a session starts: a check, and "apply fix" of a client that does not respect what
/// it was offered.
async fn started_commands(trust: WorkspaceTrust) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join("report.json"), REPORT).unwrap();
    // A script in the place of crh: the shell takes the first argument as the name of its script.
    let script = "echo \"$@\" >>calls\ncat report.json\n";
    fs::write(folder.path().join(ATTENDED), script).unwrap();
    let mut shared = None;
    let (_service, _socket) = LspService::new(|client| {
        let backend = Backend::new(client, Program::new("/bin/sh"));
        shared = Some(backend.shared());
        backend
    });
    let shared = shared.unwrap();
    let root = Arc::new(WorkspaceRoot::open(folder.path()).unwrap());
    shared.state().setup.trust = trust;
    shared.state().roots.push(root.clone());
    shared.check(&root).await;
    shared.read_run(&root).await;
    let key = root.issues()[0].issue.dedupe_key.clone();
    let params = json!({
        "command": "crh.applyFix", "arguments": [{ "folder": root.folder, "key": key }],
    });
    let call = commands::IssueCommand::parse(serde_json::from_value(params).unwrap()).unwrap();
    // The client does not answer the request to edit.
    let execute = commands::execute(&shared, call);
    drop(tokio::time::timeout(Duration::from_secs(5), execute).await);
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    calls.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn untrusted_workspace_starts_no_analyser_and_no_command() {
    let untrusted = started_commands(WorkspaceTrust::Untrusted).await;
    let check = "check --format=json --no-pr --offline --mode=report-only";
    let reads = ["show --format=json", "dismiss --list --format=json"];
    let checked = format!("{check} --analysers=never");
    assert_eq!(untrusted, [&[checked.as_str()][..], &reads].concat());
    let trusted = started_commands(WorkspaceTrust::Trusted).await;
    assert_eq!(trusted[..3], [&[check][..], &reads].concat());
    assert!(trusted[3].starts_with("fix ") && trusted[3].ends_with(" --dry-run"), "{trusted:?}");
}
