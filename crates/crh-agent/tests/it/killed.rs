//! A process that is killed during a run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::setup;
use crh_agent::{AgentRun, drive};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{calls, says};

/// Variables that tell the child process where the fake model and the transcript are.
const URL: &str = "CRH_TEST_KILLED_URL";
const TRANSCRIPT: &str = "CRH_TEST_KILLED_TRANSCRIPT";

#[test]
fn a_killed_process_loses_at_most_the_call_in_flight() {
    if let (Some(url), Some(path)) = (std::env::var_os(URL), std::env::var_os(TRANSCRIPT)) {
        return runs_until_it_is_killed(url.to_str().unwrap(), Path::new(&path));
    }
    let (asked, wait) = mpsc::channel();
    let fake = FakeModel::answering(move |request| match request.number {
        1 => calls("echo", json!({ "text": "found it" })),
        _ => {
            asked.send(()).unwrap();
            says("too late").delayed(Duration::from_secs(10_000))
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    #[expect(clippy::disallowed_methods, reason = "kills a real process")]
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::a_killed_process_loses_at_most_the_call_in_flight"])
        .env(URL, fake.url())
        .env(TRANSCRIPT, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait.recv_timeout(Duration::from_secs(60)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["started", "asked", "replied", "tool_call", "tool_result", "asked"]);
    assert_eq!(lines[4]["content"], json!({ "answered": "found it" }));
}

fn runs_until_it_is_killed(url: &str, transcript: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut context = setup::run_context(url, setup::TOOLS);
        context.transcript = setup::transcript(transcript);
        let run = AgentRun::new(setup::task("alice"), setup::limits(), context.model.facts());
        panic!("it was not killed: {:?}", drive(run, &context).await);
    });
}
