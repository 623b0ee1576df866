//! Benchmark of the overhead of a run: time relative to the model's time, and memory per waiting
//! run.
//!
//! The fake model is a separate process, so its memory is not counted. `cargo bench -p crh-agent`
//! prints one line per measure and fails if a limit is exceeded.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crh_agent::{
    AgentOutcome, AgentRun, AgentTask, RunContext, ToolOutcome, Toolbox, Transcript,
    TranscriptDetail, drive, run_on_thread,
};
use crh_llm::{CacheMark, Conversation, Redactor, ToolCall};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, calls, calls_all};
use crh_testkit::measure::is_within;

use self::setup::Verdict;

#[expect(dead_code, reason = "the tests use the other items")]
#[path = "../tests/it/setup.rs"]
mod setup;

/// Argument that makes this program act as the fake model.
const FAKE: &str = "--fake-model";

/// Response time of the fake model.
const ANSWER: Duration = Duration::from_millis(100);

/// Turns of a run, including the submitting one.
const TURNS: usize = 20;

/// Parallel runs.
const MANY: usize = 64;

/// Idle runs in the memory benchmark.
const IDLE: usize = 200;

/// The fake model never answers this caller.
const NEVER: &str = "idle";

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == FAKE) {
        serve_fake_model();
        return ExitCode::SUCCESS;
    }
    let fake = Fake::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let within_limits = runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let transcript =
            Transcript::append_to(&path, Redactor::default(), TranscriptDetail::Full).unwrap();
        let context = setup::context_with_toolbox(&fake.url, setup::TOOLS, Arc::new(ReadToolbox));
        let context = Arc::new(RunContext { transcript, ..context });
        // Measure memory first, before freed memory is reused, but after one warm-up run.
        runs(&context, 1).await;
        let small = idle(&context).await;
        let model = ANSWER * TURNS as u32;
        let mut one = Vec::new();
        for _ in 0..3 {
            one.push(runs(&context, 1).await);
        }
        one.sort();
        let detail = format!("{:.0?} / {TURNS} x {ANSWER:.0?}, with a transcript", one[1]);
        let alone = is_within("a run of 20 turns / its model", ratio(one[1], model), 1.05, &detail);
        let many = runs(&context, MANY).await;
        let detail = format!("{many:.0?} / {TURNS} x {ANSWER:.0?}");
        let crowd =
            is_within("64 runs side by side / their model", ratio(many, model), 1.15, &detail);
        small && crowd && alone
    });
    runtime.shutdown_background();
    if within_limits { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ratio(left: Duration, right: Duration) -> f64 {
    left.as_secs_f64() / right.as_secs_f64()
}

/// Duration of this many parallel runs.
async fn runs(context: &Arc<RunContext<ReadToolbox>>, count: usize) -> Duration {
    let start = Instant::now();
    let runs: Vec<_> = (0..count).map(|number| spawn(context, &format!("run-{number}"))).collect();
    for run in runs {
        assert_eq!(run.await.unwrap(), AgentOutcome::Answered(Verdict("fine".to_owned())));
    }
    start.elapsed()
}

fn spawn(
    context: &Arc<RunContext<ReadToolbox>>,
    caller: &str,
) -> tokio::task::JoinHandle<AgentOutcome<Verdict>> {
    let (context, task) = (context.clone(), task(caller));
    tokio::spawn(async move {
        let run = AgentRun::new(task, setup::limits(), context.model.facts());
        drive(run, &context).await.end.outcome
    })
}

/// Measures the memory of runs that wait for an answer. Returns whether each is within the limit.
async fn idle(context: &Arc<RunContext<ReadToolbox>>) -> bool {
    let Some(before) = resident() else {
        println!("  -  memory is measured where /proc is");
        return true;
    };
    let runs: Vec<_> = (0..IDLE).map(|_| spawn(context, NEVER)).collect();
    // Wait until all runs have asked and memory is stable.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = resident().unwrap_or_default();
    let each = after.saturating_sub(before) as f64 / IDLE as f64 / 1e6;
    let waiting = runs.iter().filter(|run| !run.is_finished()).count();
    assert_eq!(waiting, IDLE);
    runs.iter().for_each(tokio::task::JoinHandle::abort);
    let detail = format!(
        "{IDLE} runs, {:.1} MB before, {:.1} MB then",
        before as f64 / 1e6,
        after as f64 / 1e6
    );
    is_within("megabytes for each run that waits", each, 1.0, &detail)
}

/// Resident memory of this process in bytes, if the system reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The fake model process. It exits when its standard input closes.
struct Fake {
    child: Child,
    url: String,
}

impl Fake {
    #[expect(clippy::disallowed_methods, reason = "starts itself as the fake model")]
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(FAKE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

fn serve_fake_model() {
    let fake = FakeModel::answering(turn).forgetful();
    println!("{}", fake.url());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn turn(asked: &FakeRequest) -> ScriptedReply {
    if asked.caller == NEVER {
        return calls("submit", json!({})).delayed(Duration::from_secs(1_000));
    }
    // Derive the turn from the conversation, because callers repeat.
    let turn_count = asked.body["messages"].as_array().map_or(0, |messages| {
        messages.iter().filter(|message| message["role"] == "assistant").count()
    });
    let text = |part: &str| json!({ "text": format!("src/{part}{turn_count}.rs") });
    let turn = match turn_count + 1 == TURNS {
        true => calls("submit", json!({ "verdict": "fine" })),
        false => calls_all([("echo", text("a")), ("echo", text("b"))]),
    };
    turn.delayed(ANSWER)
}

/// A prompt of the size of a small review: 4 kB of instructions and 8 kB of diff.
fn task(caller: &str) -> AgentTask<Verdict> {
    let mut conversation = Conversation::new("Judge what you see. ".repeat(200));
    conversation.push_user("+    let value = compute(1);\n".repeat(280), CacheMark::Breakpoint);
    AgentTask { conversation, ..setup::task(caller) }
}

/// A typical review tool: blocking code on its own thread, with 1 kB of output.
struct ReadToolbox;

impl Toolbox for ReadToolbox {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let call = format!("{:?}", call.arguments);
        run_on_thread("read", move || ToolOutcome::Answered(format!("{call}\n").repeat(20))).await
    }
}
