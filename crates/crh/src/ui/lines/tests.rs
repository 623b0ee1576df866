//! Tests for log lines and their throttling.

use expect_test::{Expect, expect};

use super::*;
use crh_agent::{LimitKind, UsageTotals};
use crh_llm::{Money, TokenUsage};
use crh_pipeline::events::Stage;

/// One event of each kind, with its time in milliseconds.
fn events() -> Vec<(u64, ReviewEvent)> {
    let text = str::to_owned;
    let ended = |run: &str, failure: Option<&str>, limited, findings| ReviewEvent::RunEnded {
        run: run.to_owned(),
        failure: failure.map(str::to_owned),
        limited,
        findings,
        took_ms: 12_345,
    };
    let usage = TokenUsage { input: 12_000, cache_read: 6_000, cache_written: 0, output: 345 };
    let totals = UsageTotals { usage, money: Money::cents(7), ..UsageTotals::default() };
    vec![
        (0, ReviewEvent::StageStarted { stage: Stage::Target }),
        (10, ReviewEvent::StageEnded { stage: Stage::Target, took_ms: 10 }),
        (20, ReviewEvent::StageStarted { stage: Stage::Scope }),
        (30, ReviewEvent::Warning { text: text("the base is\n3 days old\u{1b}[2J") }),
        (40, ReviewEvent::Planned { files: 2, budget: Money::cents(200) }),
        (50, ReviewEvent::StageStarted { stage: Stage::Review }),
        (60, ReviewEvent::RunStarted { run: text("sub-agent-1"), label: text("parser"), files: 1 }),
        (2_000, ReviewEvent::RunStarted { run: text("sub-agent-2"), label: text(""), files: 2 }),
        (
            2_100,
            ReviewEvent::ToolCalled {
                run: text("sub-agent-2"),
                tool: text("read"),
                about: text("a.rs"),
            },
        ),
        (2_200, ReviewEvent::Refused { run: text("sub-agent-2"), message: text("not twice") }),
        (2_300, ReviewEvent::FileReviewed { path: text("a.rs") }),
        (2_400, ReviewEvent::Spent { totals }),
        (30_000, ReviewEvent::Spent { totals }),
        (30_100, ended("sub-agent-1", Some("no answer"), None, 0)),
        (30_150, ended("sub-agent-4", Some("no answer"), None, 0)),
        (30_200, ended("sub-agent-2", None, Some(LimitKind::Tokens), 1)),
        (30_300, ended("sub-agent-3", None, None, 2)),
    ]
}

/// All lines without throttling.
fn all_lines(detail: LineDetail) -> String {
    let mut state = ProgressState::default();
    let mut out = String::new();
    for (at, event) in events() {
        state.apply(&event, Duration::from_millis(at));
        if let Some(line) = line(&event, &state, detail) {
            out.push_str(&format!("{:7?} {}\n", line.priority, line.text));
        }
    }
    out
}

#[test]
fn every_event_has_a_line() {
    expect![[r#"
        Transient Reading the change
        Transient Reading the change: 10 ms
        Transient Selecting files
        Permanent warning: the base is 3 days old\u{1b}[2J
        Permanent reviewing 2 files, budget 2.00 USD
        Transient Reviewing
        Transient sub-agent-1 started: parser, 1 file
        Transient sub-agent-2 started: 2 files
        Transient sub-agent-2: read a.rs
        Transient sub-agent-2: call refused: not twice
        Transient reviewed a.rs
        Status 0 of 2 reviewers done, 2 runs active, 12.3k tokens, 0.07 of 2.00 USD
        Status 0 of 2 reviewers done, 2 runs active, 12.3k tokens, 0.07 of 2.00 USD
        Permanent sub-agent-1 failed: no answer
        Transient sub-agent-4 failed with the same error
        Permanent sub-agent-2 reached its limit (tokens): 1 finding in 12.3 s
        Transient sub-agent-3 finished: 2 findings in 12.3 s
    "#]]
    .assert_eq(&all_lines(LineDetail::Every));
    expect![[r#"
        Transient Reading the change
        Transient Selecting files
        Permanent warning: the base is 3 days old\u{1b}[2J
        Permanent reviewing 2 files, budget 2.00 USD
        Transient Reviewing
        Transient sub-agent-1 started: parser, 1 file
        Transient sub-agent-2 started: 2 files
        Status 0 of 2 reviewers done, 2 runs active, 0 tokens, 0.00 of 2.00 USD
        Status 0 of 2 reviewers done, 2 runs active, 12.3k tokens, 0.07 of 2.00 USD
        Status 0 of 2 reviewers done, 2 runs active, 12.3k tokens, 0.07 of 2.00 USD
        Permanent sub-agent-1 failed: no answer
        Transient sub-agent-4 failed with the same error
        Permanent sub-agent-2 reached its limit (tokens): 1 finding in 12.3 s
        Transient sub-agent-3 finished: 2 findings in 12.3 s
    "#]]
    .assert_eq(&all_lines(LineDetail::Brief));
}

/// Offers lines at given times and compares when they are printed. The clock ticks five times a
/// second.
fn check(offered: &[(u64, LinePriority, &str)], expected: Expect) {
    let mut pace = LineThrottle::default();
    let mut out = String::new();
    let mut say = |at: u64, lines: Vec<String>| {
        for line in lines {
            out.push_str(&format!("{at:<5} {line}\n"));
        }
    };
    let mut offered = offered.iter().peekable();
    for at in (0..=15_000).step_by(200) {
        while let Some((when, weight, text)) = offered.next_if(|(when, ..)| *when <= at) {
            pace.queue(ProgressLine { text: (*text).to_owned(), priority: *weight });
            say(*when, pace.take_due(Duration::from_millis(*when)));
        }
        say(at, pace.take_due(Duration::from_millis(at)));
    }
    assert_eq!(offered.next(), None);
    for line in pace.remaining() {
        out.push_str(&format!("end   {line}\n"));
    }
    expected.assert_eq(&out);
}

#[test]
fn one_line_per_second_and_newest_wins() {
    use LinePriority::Transient;
    check(
        &[
            (0, Transient, "a"),
            (100, Transient, "b"),
            (300, Transient, "c"),
            (2_000, Transient, "d"),
        ],
        expect![[r#"
            0     a
            1000  c
            2000  d
        "#]],
    );
}

#[test]
fn permanent_lines_wait_for_next_slot() {
    use LinePriority::{Permanent, Transient};
    check(
        &[
            (0, Transient, "a"),
            (100, Permanent, "warning: 1"),
            (150, Transient, "b"),
            (200, Permanent, "warning: 2"),
            (250, Transient, "c"),
            (15_000, Permanent, "warning: 3"),
        ],
        expect![[r#"
            0     a
            1000  warning: 1
            1000  warning: 2
            1000  c
            15000 warning: 3
        "#]],
    );
}

#[test]
fn queued_lines_are_printed_at_the_end() {
    use LinePriority::{Permanent, Transient};
    check(
        &[(14_500, Transient, "a"), (14_900, Permanent, "warning"), (14_950, Transient, "b")],
        expect![[r#"
            14500 a
            end   warning
        "#]],
    );
}

#[test]
fn status_lines_are_rare() {
    use LinePriority::{Status, Transient};
    check(
        &[
            (0, Transient, "a"),
            (1_500, Status, "1 of 9"),
            (3_000, Status, "2 of 9"),
            (9_900, Status, "3 of 9"),
            (12_000, Transient, "b"),
            (12_100, Transient, "c"),
            (12_200, Status, "4 of 9"),
        ],
        expect![[r#"
            0     a
            10000 3 of 9
            12000 b
            13000 c
        "#]],
    );
}

#[test]
fn quiet_review_prints_its_status_twice_a_minute() {
    let mut throttle = LineThrottle::default();
    let mut state = ProgressState::default();
    let stage = ReviewEvent::StageStarted { stage: Stage::Review };
    let run = ReviewEvent::RunStarted { run: "single".to_owned(), label: String::new(), files: 1 };
    let mut out = String::new();
    for event in [stage, run] {
        state.apply(&event, Duration::ZERO);
        throttle.queue(line(&event, &state, LineDetail::Brief).unwrap());
    }
    for at in (0..=95_000).step_by(200) {
        for line in throttle.tick(Duration::from_millis(at), &state) {
            out.push_str(&format!("{at:<5} {line}\n"));
        }
    }
    expect![[r#"
        0     single started: 1 file
        30000 0 of 1 reviewer done, 1 run active, 0 tokens, 0.00 USD
        60000 0 of 1 reviewer done, 1 run active, 0 tokens, 0.00 USD
        90000 0 of 1 reviewer done, 1 run active, 0 tokens, 0.00 USD
    "#]]
    .assert_eq(&out);
}

#[test]
fn run_that_starts_again_is_one_run() {
    let mut state = ProgressState::default();
    let run = ReviewEvent::RunStarted { run: "single".to_owned(), label: String::new(), files: 1 };
    for event in [ReviewEvent::StageStarted { stage: Stage::Review }, run.clone(), run] {
        state.apply(&event, Duration::ZERO);
    }
    assert_eq!(status(&state), "0 of 1 reviewer done, 1 run active, 0 tokens, 0.00 USD");
}

/// The editor reads findings and has no files of its own.
#[test]
fn run_without_files_starts_without_a_count() {
    let started = |label: &str| {
        let (run, label) = ("editor".to_owned(), label.to_owned());
        let event = ReviewEvent::RunStarted { run, label, files: 0 };
        line(&event, &ProgressState::default(), LineDetail::Brief).unwrap().text
    };
    let title = format::run_title("editor");
    assert_eq!(started(""), format!("{title} started"));
    assert_eq!(started("2 issues"), format!("{title} started: 2 issues"));
}
