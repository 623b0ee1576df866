use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use expect_test::{Expect, expect};
use serde_json::Value;
use tokio::sync::Barrier;

use super::*;
use crh_llm::Arguments;

/// Tools that misbehave, each in a way of its own.
struct Shed {
    barrier: Barrier,
    running: AtomicUsize,
    most: AtomicUsize,
    /// Never sent to while the tests run: whoever listens blocks its thread.
    silence: Arc<std::sync::Mutex<mpsc::Receiver<()>>>,
}

impl Toolbox for Shed {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        match call.name.as_str() {
            "quick" => {}
            "meet" => {
                self.barrier.wait().await;
            }
            "count" | "write" => {
                let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(running, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                self.running.fetch_sub(1, Ordering::SeqCst);
            }
            "slow" | "delegate" => tokio::time::sleep(Duration::from_secs(60)).await,
            "hang" => std::future::pending().await,
            "panic" => panic!("the payload"),
            "panic on a thread" => return on_thread("tool", || panic!("the payload")).await,
            "block" => {
                let silence = self.silence.clone();
                return on_thread("tool", move || {
                    ToolOutcome::Answered(format!("{:?}", silence.lock().unwrap().recv()))
                })
                .await;
            }
            "thread" => {
                return on_thread("tool", || {
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

    fn order(&self, name: &str) -> Order {
        if matches!(name, "write" | "panic") { Order::OneByOne } else { Order::SideBySide }
    }

    fn patience(&self, name: &str) -> Patience {
        if name == "delegate" { Patience::UntilDone } else { Patience::Limited }
    }
}

/// Calls the tools and shows what each brought after how many seconds of the run, which may take so many.
async fn called(names: &[&str], wall: u64) -> (String, usize) {
    let (kept_silent, silence) = mpsc::channel();
    let shed = Arc::new(Shed {
        barrier: Barrier::new(2),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        silence: Arc::new(std::sync::Mutex::new(silence)),
    });
    let call = |name: &&str| ToolCall {
        id: String::new(),
        name: (*name).to_owned(),
        arguments: Arguments::Json(Value::Null),
        signatures: Vec::new(),
    };
    let calls: Vec<_> = names.iter().map(call).collect();
    let deadline = Some(Instant::now() + Duration::from_secs(wall));
    let mut running = Calls::start(&shed, &calls, Time { each: TOOL_TIME, deadline });
    let mut lines = vec![String::new(); names.len()];
    while let Some(Called { index, outcome, took }) = running.next().await {
        lines[index] = format!("{}: {outcome:?} after {} s\n", names[index], took.as_secs());
    }
    drop(kept_silent);
    (lines.concat(), shed.most.load(Ordering::SeqCst))
}

async fn check(names: &[&str], expected: Expect) {
    expected.assert_eq(&called(names, 100).await.0);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_turn_run_side_by_side() {
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
async fn calls_that_change_something_are_made_one_by_one_also_if_one_of_them_breaks() {
    let names = ["write", "panic", "write", "quick", "write"];
    let (lines, most) = called(&names, 100).await;
    assert_eq!(most, 1, "{lines}");
    assert_eq!(lines.matches("Answered").count(), 4, "{lines}");
    // More than run at a time: those that wait take no place.
    let (lines, most) = called(&["write"; 20], 100).await;
    assert_eq!((most, lines.matches("Answered").count()), (1, 20));
}

#[tokio::test(start_paused = true)]
async fn no_more_than_eight_run_at_a_time() {
    let (_, most) = called(&["count"; 20], 100).await;
    assert_eq!(most, SIDE_BY_SIDE);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_hangs_or_blocks_its_thread_costs_its_own_call_only() {
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

// Not on paused time: it would not wait for a thread. How long a thread takes is the machine's business.
#[tokio::test]
async fn a_thread_has_a_name_and_keeps_its_panic_to_itself() {
    let (shown, _) = called(&["panic on a thread", "thread"], 3_600).await;
    let brought: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.rsplit_once(" after "))
        .map(|(said, _)| said)
        .collect();
    let expected = [
        r#"panic on a thread: Failed("the tool broke on this call; try it another way")"#,
        r#"thread: Answered("tool")"#,
    ];
    assert_eq!(brought, expected);
}

#[tokio::test(start_paused = true)]
async fn a_tool_in_which_others_work_may_take_as_long_as_the_run() {
    check(
        &["delegate"],
        expect![[r#"
        delegate: Answered("done") after 60 s
    "#]],
    )
    .await;
    let (short, _) = called(&["delegate", "hang"], 5).await;
    expect![[r#"
        delegate: Failed("`delegate` did not end before the time of the run") after 5 s
        hang: Failed("`hang` did not end before the time of the run") after 5 s
    "#]]
    .assert_eq(&short);
}

#[tokio::test(start_paused = true)]
async fn calls_that_nobody_waits_for_any_more_are_aborted() {
    struct Held(Arc<AtomicUsize>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    struct Waits(Arc<AtomicUsize>);
    impl Toolbox for Waits {
        async fn call(&self, _: &ToolCall) -> ToolOutcome {
            let _held = Held(self.0.clone());
            std::future::pending().await
        }
    }
    let ended = Arc::new(AtomicUsize::new(0));
    let call = ToolCall {
        id: String::new(),
        name: String::new(),
        arguments: Arguments::Json(Value::Null),
        signatures: Vec::new(),
    };
    let time = Time { each: TOOL_TIME, deadline: None };
    let mut running = Calls::start(&Arc::new(Waits(ended.clone())), &[call], time);
    tokio::time::timeout(Duration::from_secs(1), running.next()).await.unwrap_err();
    drop(running);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}
