//! The lines of a log, and their pace.

use expect_test::{Expect, expect};

use super::*;
use crh_agent::{Limit, Totals};
use crh_llm::{Money, Usage};
use crh_pipeline::events::Stage;

/// Every event once, with the milliseconds at which it happens.
fn events() -> Vec<(u64, Event)> {
    let text = str::to_owned;
    let ended = |run: &str, failure: Option<&str>, limited, findings| Event::RunEnded {
        run: run.to_owned(),
        failure: failure.map(str::to_owned),
        limited,
        findings,
        took_ms: 12_345,
    };
    let usage = Usage { input: 12_000, cache_read: 6_000, cache_written: 0, output: 345 };
    let totals = Totals { usage, money: Money::cents(7), ..Totals::default() };
    vec![
        (0, Event::StageStarted { stage: Stage::Target }),
        (10, Event::StageEnded { stage: Stage::Target, took_ms: 10 }),
        (20, Event::StageStarted { stage: Stage::Scope }),
        (30, Event::Warning { text: text("the base is\n3 days old\u{1b}[2J") }),
        (40, Event::Planned { files: 2, budget: Money::cents(200) }),
        (50, Event::StageStarted { stage: Stage::Review }),
        (60, Event::RunStarted { run: text("sub-agent-1"), label: text("parser"), files: 1 }),
        (2_000, Event::RunStarted { run: text("sub-agent-2"), label: text(""), files: 2 }),
        (
            2_100,
            Event::ToolCalled { run: text("sub-agent-2"), tool: text("read"), about: text("a.rs") },
        ),
        (2_200, Event::Refused { run: text("sub-agent-2"), told: text("not twice") }),
        (2_300, Event::FileReviewed { path: text("a.rs") }),
        (2_400, Event::Spent { totals }),
        (30_000, Event::Spent { totals }),
        (30_100, ended("sub-agent-1", Some("no answer"), None, 0)),
        (30_200, ended("sub-agent-2", None, Some(Limit::Tokens), 1)),
        (30_300, ended("sub-agent-3", None, None, 2)),
    ]
}

/// What is printed if nothing holds it back.
fn said(detail: Detail) -> String {
    let mut state = State::default();
    let mut out = String::new();
    for (at, event) in events() {
        state.take_in(&event, Duration::from_millis(at));
        if let Some(line) = line(&event, &state, detail) {
            out.push_str(&format!("{:7?} {}\n", line.weight, line.text));
        }
    }
    out
}

#[test]
fn every_event_in_words() {
    expect![[r#"
        Passing Pinning the change
        Passing Pinning the change: 10 ms
        Passing Choosing what to review
        Lasting warning: the base is 3 days old\u{1b}[2J
        Lasting 2 files under review, for at most 2.00 USD
        Passing Reviewing
        Passing sub-agent-1 begins: parser, 1 file
        Passing sub-agent-2 begins: 2 files
        Passing sub-agent-2: read a.rs
        Passing sub-agent-2 was refused: not twice
        Passing reviewed a.rs
        Status 1 of 2 files reviewed, 2 runs at work, 12.3k tokens, 0.07 of 2.00 USD
        Status 1 of 2 files reviewed, 2 runs at work, 12.3k tokens, 0.07 of 2.00 USD
        Lasting sub-agent-1 failed: no answer
        Lasting sub-agent-2 met its limit of tokens: 1 finding in 12.3 s
        Passing sub-agent-3 is done: 2 findings in 12.3 s
    "#]]
    .assert_eq(&said(Detail::Every));
    expect![[r#"
        Passing Pinning the change
        Passing Choosing what to review
        Lasting warning: the base is 3 days old\u{1b}[2J
        Lasting 2 files under review, for at most 2.00 USD
        Passing Reviewing
        Passing sub-agent-1 begins: parser, 1 file
        Passing sub-agent-2 begins: 2 files
        Status 1 of 2 files reviewed, 2 runs at work, 0 tokens, 0.00 of 2.00 USD
        Status 1 of 2 files reviewed, 2 runs at work, 12.3k tokens, 0.07 of 2.00 USD
        Status 1 of 2 files reviewed, 2 runs at work, 12.3k tokens, 0.07 of 2.00 USD
        Lasting sub-agent-1 failed: no answer
        Lasting sub-agent-2 met its limit of tokens: 1 finding in 12.3 s
        Passing sub-agent-3 is done: 2 findings in 12.3 s
    "#]]
    .assert_eq(&said(Detail::Brief));
}

/// Lines that are offered at some time, and what is printed when. The clock ticks five times a second.
fn check(offered: &[(u64, Weight, &str)], expected: Expect) {
    let mut pace = Pace::default();
    let mut out = String::new();
    let mut say = |at: u64, lines: Vec<String>| {
        for line in lines {
            out.push_str(&format!("{at:<5} {line}\n"));
        }
    };
    let mut offered = offered.iter().peekable();
    for at in (0..=15_000).step_by(200) {
        while let Some((when, weight, text)) = offered.next_if(|(when, ..)| *when <= at) {
            pace.offer(Line { text: (*text).to_owned(), weight: *weight });
            say(*when, pace.due(Duration::from_millis(*when)));
        }
        say(at, pace.due(Duration::from_millis(at)));
    }
    assert_eq!(offered.next(), None);
    for line in pace.rest() {
        out.push_str(&format!("end   {line}\n"));
    }
    expected.assert_eq(&out);
}

#[test]
fn at_most_one_line_a_second_and_the_newest_wins() {
    use Weight::Passing;
    check(
        &[(0, Passing, "a"), (100, Passing, "b"), (300, Passing, "c"), (2_000, Passing, "d")],
        expect![[r#"
            0     a
            1000  c
            2000  d
        "#]],
    );
}

#[test]
fn what_must_be_said_waits_and_is_said_with_the_next() {
    use Weight::{Lasting, Passing};
    check(
        &[
            (0, Passing, "a"),
            (100, Lasting, "warning: 1"),
            (150, Passing, "b"),
            (200, Lasting, "warning: 2"),
            (250, Passing, "c"),
            (15_000, Lasting, "warning: 3"),
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
fn what_waits_at_the_end_is_not_lost() {
    use Weight::{Lasting, Passing};
    check(
        &[(14_500, Passing, "a"), (14_900, Lasting, "warning"), (14_950, Passing, "b")],
        expect![[r#"
            14500 a
            end   warning
        "#]],
    );
}

#[test]
fn how_far_it_is_is_said_now_and_then() {
    use Weight::{Passing, Status};
    check(
        &[
            (0, Passing, "a"),
            (1_500, Status, "1 of 9"),
            (3_000, Status, "2 of 9"),
            (9_900, Status, "3 of 9"),
            (12_000, Passing, "b"),
            (12_100, Passing, "c"),
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
