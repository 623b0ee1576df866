use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use expect_test::{Expect, expect};
use serde_json::Value;
use tokio::sync::Barrier;

use super::*;
use crh_llm::CallArguments;

/// Tools that misbehave in different ways.
struct FakeToolbox {
    barrier: Barrier,
    running: AtomicUsize,
    max_running: AtomicUsize,
    /// Never sent to, so that receivers block their thread.
    silence: Arc<std::sync::Mutex<mpsc::Receiver<()>>>,
}

impl Toolbox for FakeToolbox {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        match call.name.as_str() {
            "quick" => {}
            "meet" => {
                self.barrier.wait().await;
            }
            "count" | "write" => {
                let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
                self.max_running.fetch_max(running, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                self.running.fetch_sub(1, Ordering::SeqCst);
            }
            "slow" | "delegate" => tokio::time::sleep(Duration::from_secs(60)).await,
            "hang" => std::future::pending().await,
            "panic" => panic!("the payload"),
            "panic on a thread" => return run_on_thread("tool", || panic!("the payload")).await,
            "block" => {
                let silence = self.silence.clone();
                return run_on_thread("tool", move || {
                    ToolOutcome::Answered(format!("{:?}", silence.lock().unwrap().recv()))
                })
                .await;
            }
            "thread" => {
                return run_on_thread("tool", || {
                    ToolOutcome::Answered(
                        std::thread::current().name().unwrap_or_default().to_owned(),
                    )
                })
                .await;
            }
            other => return ToolOutcome::Failed(format!("no `{other}` here")),
        }
        ToolOutcome::Answered("done".to_owned())
    }

    fn order(&self, name: &str) -> CallOrder {
        if matches!(name, "write" | "panic") { CallOrder::Sequential } else { CallOrder::Parallel }
    }

    fn timeout(&self, name: &str) -> ToolTimeout {
        if name == "delegate" { ToolTimeout::UntilDone } else { ToolTimeout::Limited }
    }
}

/// Calls the tools within a time limit and prints each result with its time.
async fn call_all(names: &[&str], wall: u64) -> (String, usize) {
    let (sender, silence) = mpsc::channel();
    let toolbox = Arc::new(FakeToolbox {
        barrier: Barrier::new(2),
        running: AtomicUsize::new(0),
        max_running: AtomicUsize::new(0),
        silence: Arc::new(std::sync::Mutex::new(silence)),
    });
    let call = |name: &&str| ToolCall {
        id: String::new(),
        name: (*name).to_owned(),
        arguments: CallArguments::Json(Value::Null),
        signatures: Vec::new(),
    };
    let calls: Vec<_> = names.iter().map(call).collect();
    let deadline = Some(Instant::now() + Duration::from_secs(wall));
    let mut running =
        RunningCalls::start(&toolbox, &calls, ToolTimeLimits { per_call: TOOL_TIMEOUT, deadline });
    let mut lines = vec![String::new(); names.len()];
    while let Some(FinishedCall { index, outcome, duration }) = running.next().await {
        lines[index] = format!("{}: {outcome:?} after {} s\n", names[index], duration.as_secs());
    }
    drop(sender);
    (lines.concat(), toolbox.max_running.load(Ordering::SeqCst))
}

async fn check(names: &[&str], expected: Expect) {
    expected.assert_eq(&call_all(names, 100).await.0);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_turn_run_in_parallel() {
    check(
        &["meet", "meet"],
        expect![[r#"
        meet: Answered("done") after 0 s
        meet: Answered("done") after 0 s
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn sequential_calls_continue_after_a_panic() {
    let names = ["write", "panic", "write", "quick", "write"];
    let (lines, max_parallel) = call_all(&names, 100).await;
    assert_eq!(max_parallel, 1, "{lines}");
    assert_eq!(lines.matches("Answered").count(), 4, "{lines}");
    // Waiting calls take no slot.
    let (lines, max_parallel) = call_all(&["write"; 20], 100).await;
    assert_eq!((max_parallel, lines.matches("Answered").count()), (1, 20));
}

#[tokio::test(start_paused = true)]
async fn at_most_eight_calls_run_at_a_time() {
    let (_, max_parallel) = call_all(&["count"; 20], 100).await;
    assert_eq!(max_parallel, MAX_PARALLEL_CALLS);
}

#[tokio::test(start_paused = true)]
async fn misbehaving_tool_fails_only_its_own_call() {
    check(
        &["panic", "hang", "slow", "block", "quick"],
        expect![[r#"
        panic: Failed("the tool broke on this call; try it another way") after 0 s
        hang: Failed("`hang` did not end within 10 s; ask for less at once") after 10 s
        slow: Failed("`slow` did not end within 10 s; ask for less at once") after 10 s
        block: Failed("`block` did not end within 10 s; ask for less at once") after 10 s
        quick: Answered("done") after 0 s
    "#]],
    )
    .await;
}

// Paused time would not wait for a thread.
#[tokio::test]
async fn panic_on_tool_thread_is_caught() {
    let (report, _) = call_all(&["panic on a thread", "thread"], 3_600).await;
    let results: Vec<&str> = report
        .lines()
        .filter_map(|line| line.rsplit_once(" after "))
        .map(|(result, _)| result)
        .collect();
    let expected = [
        r#"panic on a thread: Failed("the tool broke on this call; try it another way")"#,
        r#"thread: Answered("tool")"#,
    ];
    assert_eq!(results, expected);
}

#[tokio::test(start_paused = true)]
async fn tool_without_timeout_may_use_the_run_time() {
    check(
        &["delegate"],
        expect![[r#"
        delegate: Answered("done") after 60 s
    "#]],
    )
    .await;
    let (short, _) = call_all(&["delegate", "hang"], 5).await;
    expect![[r#"
        delegate: Failed("`delegate` did not end before the time of the run") after 5 s
        hang: Failed("`hang` did not end before the time of the run") after 5 s
    "#]]
    .assert_eq(&short);
}

#[tokio::test(start_paused = true)]
async fn dropped_calls_are_aborted() {
    struct DropCounter(Arc<AtomicUsize>);
    impl Drop for DropCounter {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    struct WaitingToolbox(Arc<AtomicUsize>);
    impl Toolbox for WaitingToolbox {
        async fn call(&self, _: &ToolCall) -> ToolOutcome {
            let _held = DropCounter(self.0.clone());
            std::future::pending().await
        }
    }
    let finished_count = Arc::new(AtomicUsize::new(0));
    let call = ToolCall {
        id: String::new(),
        name: String::new(),
        arguments: CallArguments::Json(Value::Null),
        signatures: Vec::new(),
    };
    let time = ToolTimeLimits { per_call: TOOL_TIMEOUT, deadline: None };
    let mut running =
        RunningCalls::start(&Arc::new(WaitingToolbox(finished_count.clone())), &[call], time);
    tokio::time::timeout(Duration::from_secs(1), running.next()).await.unwrap_err();
    drop(running);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(finished_count.load(Ordering::SeqCst), 1);
}
