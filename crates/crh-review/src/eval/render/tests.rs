//! One evaluation in every form, compared whole; and text that tries to break out of each.

mod example;
mod page;

use expect_test::{expect, expect_file};
use pulldown_cmark::{Event, Options, Parser, Tag};

use self::example::{
    comparison, full, hostile, hostile_comparison, hostile_noise, panel, silent, troubled,
};
use super::*;

#[test]
fn an_evaluation_with_everything() {
    expect_file!["../../../tests/data/eval/full.txt"].assert_eq(&text(&full()));
    expect_file!["../../../tests/data/eval/full.md"].assert_eq(&markdown(&full()));
}

#[test]
fn an_evaluation_of_silence() {
    expect_file!["../../../tests/data/eval/silent.txt"].assert_eq(&text(&silent()));
    expect_file!["../../../tests/data/eval/silent.md"].assert_eq(&markdown(&silent()));
}

#[test]
fn runs_that_went_wrong_are_named_first_and_loudly() {
    expect_file!["../../../tests/data/eval/troubled.txt"].assert_eq(&text(&troubled()));
    expect_file!["../../../tests/data/eval/troubled.md"].assert_eq(&markdown(&troubled()));
}

/// The head of a sheet, and what it says of the reviewers of a panel.
fn of_panel(shown: &str, title: &str) -> String {
    let (head, rest) = shown.split_once("cases, ").unwrap();
    let (_, rest) = rest.split_once(title).unwrap();
    let (section, _) = rest.split_once("Whether its confidence").unwrap();
    format!("{head}…\n{title}{}\n", section.trim_end_matches(['#', ' ', '\n']))
}

#[test]
fn a_panel_has_a_row_for_each_of_its_reviewers() {
    expect![[r#"
        tool crh 0.1.0 · suite shipped (3f2a91c07b66) · strategy panel
          reviewers correctness, security, testing · model anthropic:claude-sonnet-4-5 · budget standard
          prompts 9c1d2e3f4a5b · runs 2 of each case · repeatable no
          rule family (same file, same family of categories, at most 3 lines apart)
        14 …
        What each reviewer had a part in
          Matched of the expected issues of its category, and how many others; wrong is what is known to be
          so, and a second report of one issue. A report of several reviewers counts for each of them.
          Reviewer        Category  Matched  Others  Wrong  On clean  Unlabelled  On twins
          concurrency  concurrency      2/2       0      1         0           0         0
          correctness          bug      2/4       5      3         1           0         1
          ruff                   –        –       0      0         0           1         0
          security        security      2/2       0      1         0           0         0
          testing          testing      0/0       0      0         0           0         0
    "#]]
    .assert_eq(&of_panel(&text(&panel()), "What each reviewer"));
    expect![[r#"
        ## Evaluation

        **tool** crh 0.1.0 · **suite** shipped (3f2a91c07b66) · **strategy** panel · **reviewers** correctness, security, testing · **model** anthropic:claude-sonnet-4-5 · **budget** standard · **prompts** 9c1d2e3f4a5b · **runs** 2 of each case · **repeatable** no · **rule** family (same file, same family of categories, at most 3 lines apart)

        14 …
        ### What each reviewer had a part in

        Matched of the expected issues of its category, and how many others; wrong is what is known to be so, and a second report of one issue. A report of several reviewers counts for each of them.

        | Reviewer | Category | Matched | Others | Wrong | On clean | Unlabelled | On twins |
        |---|---:|---:|---:|---:|---:|---:|---:|
        | concurrency | concurrency | 2/2 | 0 | 1 | 0 | 0 | 0 |
        | correctness | bug | 2/4 | 5 | 3 | 1 | 0 | 1 |
        | ruff | – | – | 0 | 0 | 0 | 1 | 0 |
        | security | security | 2/2 | 0 | 1 | 0 | 0 | 0 |
        | testing | testing | 0/0 | 0 | 0 | 0 | 0 | 0 |
    "#]]
    .assert_eq(&of_panel(&markdown(&panel()), "### What each reviewer"));
}

#[test]
fn a_comparison() {
    expect![[r#"
        Before: crh 0.0.9 single anthropic:claude-sonnet-4-5
        After:  crh 0.1.0 delegate anthropic:claude-sonnet-4-5
        10 cases in both, 2 left out, without 1 run that only one has. A change is real if zero is not in
        its interval and at least 6 cases differ.

        What changed
          Number                 Before  After  Change  Interval of 95 %          Meaning
          paired recall               –  0.400       –                        not defined
          precision               0.380  0.430  +0.050  −0.031 to +0.120    may be chance
          recall                  0.250  0.500  +0.250  +0.083 to +0.417     real: better
          clean changes flagged   0.125  0.500  +0.375  +0.100 to +0.600      real: worse
          findings per change     0.450  0.780  +0.330  +0.110 to +0.520  real: different
          cost of a run, USD      0.016  0.016   0.000    0.000 to 0.000         the same

        Cases that flipped
          worse   java-tenant-attachments: a report on a clean change: `owner` may be null
          better  python-late-fee: issue 1 is found in 2 of 2 runs, before in none

        Left out: only one has them, they are labelled differently, or no repeat was begun in both
          c-old-name
          rust-relabelled
    "#]]
    .assert_eq(&comparison_text(&comparison()));
    expect![[r#"
        ## Evaluations compared

        **Before:** crh 0.0.9 single anthropic:claude-sonnet-4-5<br>
        **After:** crh 0.1.0 delegate anthropic:claude-sonnet-4-5

        10 cases in both, 2 left out, without 1 run that only one has. A change is real if zero is not in its interval and at least 6 cases differ.

        ### What changed

        | Number | Before | After | Change | Interval of 95 % | Meaning |
        |---|---:|---:|---:|---:|---:|
        | paired recall | – | 0.400 | – |  | not defined |
        | precision | 0.380 | 0.430 | +0.050 | −0.031 to +0.120 | may be chance |
        | recall | 0.250 | 0.500 | +0.250 | +0.083 to +0.417 | real: better |
        | clean changes flagged | 0.125 | 0.500 | +0.375 | +0.100 to +0.600 | real: worse |
        | findings per change | 0.450 | 0.780 | +0.330 | +0.110 to +0.520 | real: different |
        | cost of a run, USD | 0.016 | 0.016 | 0.000 | 0.000 to 0.000 | the same |

        ### Cases that flipped

        - worse: `java-tenant-attachments`: a report on a clean change: `owner` may be null
        - better: `python-late-fee`: issue 1 is found in 2 of 2 runs, before in none

        ### Left out: only one has them, they are labelled differently, or no repeat was begun in both

        - `c-old-name`
        - `rust-relabelled`
    "#]]
    .assert_eq(&comparison_markdown(&comparison()));
}

#[test]
fn no_line_for_a_terminal_is_too_wide_and_nothing_acts_on_it() {
    let mut sheet = hostile();
    for case in &mut sheet.evaluation.cases {
        case.runs[0].ending = crate::eval::Ending::Failed("予算が尽きた ".repeat(30));
    }
    for shown in [text(&sheet), comparison_text(&hostile_comparison())] {
        for line in shown.lines() {
            assert!(crate::columns(line) <= 100, "{line}");
        }
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        assert!(!shown.contains("\n# Forged"), "{shown}");
    }
}

/// Links, images, mentions and HTML that a Markdown parser finds, and rows of tables that have another number of cells than their head.
fn foreign(page: &str) -> Vec<String> {
    let acts = Parser::new_ext(page, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) => {
            Some(dest_url.to_string())
        }
        Event::Html(html) | Event::InlineHtml(html) if html.as_ref() != "<br>" => {
            Some(html.to_string())
        }
        Event::Text(text) if text.contains("@team") => Some(text.to_string()),
        _ => None,
    });
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut of_head = 0;
    let mut odd = Vec::new();
    for line in page.lines() {
        match line.starts_with('|') {
            true if of_head == 0 => of_head = bars(line),
            true if bars(line) != of_head => odd.push(line.to_owned()),
            true => {}
            false => of_head = 0,
        }
    }
    acts.chain(odd).collect()
}

#[test]
fn no_text_breaks_a_table_or_acts_in_markdown() {
    let pages = [
        markdown(&hostile()),
        comparison_markdown(&hostile_comparison()),
        hostile_noise().markdown(),
    ];
    for page in pages {
        assert_eq!(foreign(&page), Vec::<String>::new(), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(!page.contains("\n# Forged"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "it is there, as text: {page}");
    }
}
