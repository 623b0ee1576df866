//! Tests for the rendered panel.

use std::time::Duration;

use expect_test::{Expect, expect};

use super::*;
use crh_agent::UsageTotals;
use crh_llm::{Money, TokenUsage};
use crh_pipeline::events::{ReviewEvent, Stage};

const WIDE: TerminalSize = TerminalSize { columns: 80, rows: 24 };
const SMALL: TerminalSize = TerminalSize { columns: 40, rows: 24 };

fn check(events: &[ReviewEvent], size: TerminalSize, expected: Expect) {
    let mut state = ProgressState::default();
    for event in events {
        state.apply(event, Duration::ZERO);
    }
    let lines = panel_lines(&state, Duration::from_secs(83), size);
    for line in &lines {
        assert!(columns(line) < size.columns, "{line}");
    }
    assert!(lines.len() < size.rows);
    expected.assert_eq(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
}

fn started(run: &str, label: &str) -> ReviewEvent {
    ReviewEvent::RunStarted { run: run.to_owned(), label: label.to_owned(), files: 3 }
}

fn called(run: &str, tool: &str, about: &str) -> ReviewEvent {
    ReviewEvent::ToolCalled { run: run.to_owned(), tool: tool.to_owned(), about: about.to_owned() }
}

/// Events up to the middle of a review.
fn middle() -> Vec<ReviewEvent> {
    let reviewed =
        (0..12).map(|number| ReviewEvent::FileReviewed { path: format!("src/file_{number}.rs") });
    let usage = TokenUsage { input: 180_000, cache_read: 120_000, cache_written: 0, output: 4_321 };
    let totals =
        UsageTotals { llm_calls: 14, usage, money: Money::cents(42), ..UsageTotals::default() };
    let mut events = vec![
        ReviewEvent::StageStarted { stage: Stage::Review },
        ReviewEvent::Planned { files: 34, budget: Money::cents(200) },
        started("secrets", ""),
        ReviewEvent::RunEnded {
            run: "secrets".to_owned(),
            failure: None,
            limited: None,
            findings: 3,
            took_ms: 20,
        },
        started("sub-agent-1", "parser and lexer"),
        started("sub-agent-2", "payments: charging, refunds and the receipts that customers get"),
        started("sub-agent-3", "設定画面と翻訳"),
        called("sub-agent-1", "repo_grep", "fn parse_expression in src/**"),
        called("sub-agent-2", "diff_get_file", "src/payments/providers/stripe/webhooks/handler.rs"),
    ];
    events.extend(reviewed);
    events.push(ReviewEvent::Spent { totals });
    events
}

#[test]
fn panel_of_running_review() {
    check(
        &middle(),
        WIDE,
        expect![[r#"
            ⠴ Reviewing  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0/3 reviewers                 1:23
              sub-agent-1  parser and lexer            repo_grep fn pa…ssion in src/** 1:23
              sub-agent-2  payments: charging, refun…  diff_get_file s…ooks/handler.rs 1:23
              sub-agent-3  設定画面と翻訳              thinking                        1:23
              0.42 of 2.00 USD · 184.3k tokens · 3 findings · 66 % cached
        "#]],
    );
    check(
        &middle(),
        SMALL,
        expect![[r#"
            ⠴ Reviewing  ░░░░░░  0/3 reviewers 1:23
              parser and le…  repo_grep … in src/**
              payments: cha…  diff_get_f…handler.rs
              設定画面と翻訳  thinking
              0.42 of 2.00 USD · 184.3k tokens
        "#]],
    );
}

/// One of eight reviewers has read all files.
#[test]
fn bar_counts_reviewers_that_are_done() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let team = names.map(|name| (name.to_owned(), "always".to_owned())).to_vec();
    let mut events = vec![
        ReviewEvent::TeamChosen { team },
        ReviewEvent::StageStarted { stage: Stage::Review },
        ReviewEvent::Planned { files: 1, budget: Money::cents(200) },
    ];
    events.extend(names[..7].iter().map(|name| started(name, "")));
    events.push(ReviewEvent::FileReviewed { path: "src/a.rs".to_owned() });
    events.push(ReviewEvent::RunEnded {
        run: "a".to_owned(),
        failure: None,
        limited: None,
        findings: 0,
        took_ms: 20,
    });
    check(
        &events,
        WIDE,
        expect![[r#"
        ⠴ Reviewing  ███░░░░░░░░░░░░░░░░░░░░░░░░░░░  1/8 reviewers                 1:23
          b  thinking                                                              1:23
          c  thinking                                                              1:23
          d  thinking                                                              1:23
          e  thinking                                                              1:23
          f  thinking                                                              1:23
          g  thinking                                                              1:23
          0.00 of 2.00 USD · 0 tokens · 0 findings
    "#]],
    );
}

#[test]
fn panel_of_starting_review() {
    check(
        &[],
        WIDE,
        expect![[r#"
        ⠴ Starting                                                                 1:23
          0.00 USD · 0 tokens · 0 findings
    "#]],
    );
    check(
        &[ReviewEvent::StageStarted { stage: Stage::Workspace }],
        SMALL,
        expect![[r#"
        ⠴ Preparing the workspace          1:23
          0.00 USD · 0 tokens · 0 findings
    "#]],
    );
    let empty = ReviewEvent::Planned { files: 0, budget: Money::cents(200) };
    check(
        &[empty],
        WIDE,
        expect![[r#"
        ⠴ Starting                                                                 1:23
          0.00 of 2.00 USD · 0 tokens · 0 findings
    "#]],
    );
}

#[test]
fn runs_that_do_not_fit_are_counted_only() {
    let runs: Vec<ReviewEvent> =
        (1..=30).map(|number| started(&format!("sub-agent-{number}"), "")).collect();
    check(
        &runs,
        WIDE,
        expect![[r#"
            ⠴ Starting                                                                 1:23
              sub-agent-1  thinking                                                    1:23
              sub-agent-2  thinking                                                    1:23
              sub-agent-3  thinking                                                    1:23
              sub-agent-4  thinking                                                    1:23
              sub-agent-5  thinking                                                    1:23
              sub-agent-6  thinking                                                    1:23
              sub-agent-7  thinking                                                    1:23
              … and 23 more runs
              0.00 USD · 0 tokens · 0 findings
        "#]],
    );
    check(
        &runs,
        TerminalSize { columns: 80, rows: 6 },
        expect![[r#"
            ⠴ Starting                                                                 1:23
              sub-agent-1  thinking                                                    1:23
              sub-agent-2  thinking                                                    1:23
              … and 28 more runs
              0.00 USD · 0 tokens · 0 findings
        "#]],
    );
    check(
        &runs,
        TerminalSize { columns: 10, rows: 2 },
        expect![[r#"
            ⠴ S… 1:23
        "#]],
    );
}

#[test]
fn panel_fits_any_terminal_size() {
    for columns in 1..120 {
        let lines =
            panel_lines(&middle_state(), Duration::ZERO, TerminalSize { columns, rows: columns });
        assert!(lines.len() < columns, "{lines:?}");
        for line in lines {
            assert!(crh_review::columns(&line) < columns, "{line}");
        }
    }
}

fn middle_state() -> ProgressState {
    let mut state = ProgressState::default();
    middle().iter().for_each(|event| state.apply(event, Duration::ZERO));
    state
}

#[test]
fn text_of_the_change_is_escaped() {
    check(
        &[
            started("sub-agent-1", "a\u{1b}[2Jb\nc\u{202e}d"),
            called("sub-agent-1", "read\r", "x\ty\u{7}"),
        ],
        WIDE,
        expect![[r#"
            ⠴ Starting                                                                 1:23
              sub-agent-1  a\u{1b}[2Jb c\u{202e}d  read\u{d} x y\u{7}                  1:23
              0.00 USD · 0 tokens · 0 findings
        "#]],
    );
}
